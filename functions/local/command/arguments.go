package command

import (
	"fmt"
	"time"

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
			hint := ""
			if most == 0 {
				hint = meant(c, args[most])
			}
			return fmt.Errorf("unexpected argument %q%s: see %s --help", args[most], hint, c.CommandPath())
		}
		return nil
	}
}

// meant says how to write what an argument was probably meant to be, or "".
func meant(c *cobra.Command, arg string) string {
	if _, err := time.ParseDuration(arg); err == nil && c.Flags().Lookup("watch") != nil {
		return "; write --watch=" + arg + ", with an equals sign"
	}
	if c.Flags().Lookup("cluster") != nil {
		return "; a cluster is named by --cluster " + arg
	}
	return ""
}

// mistyped points to the usage text, which an error does not print.
func mistyped(c *cobra.Command, err error) error {
	return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
}
