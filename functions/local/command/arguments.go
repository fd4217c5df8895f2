package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

// arguments refuses too few and too many arguments, and names the one that is missing or too many.
// cobra's own checks say how many there are, and call the extra one an unknown command.
func arguments(least, most int, name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("missing argument, %s: see %s --help", name, c.CommandPath())
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q: see %s --help", args[most], c.CommandPath())
		}
		return nil
	}
}

// mistyped points to the usage text, which an error does not print.
func mistyped(c *cobra.Command, err error) error {
	return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
}
