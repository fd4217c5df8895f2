package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manualCommand writes what a release ships beside the binary. It is hidden, since who has
// the release has the files.
func manualCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "manual DIR",
		Hidden: true,
		Short:  "Write the man pages and the shell completions into a directory",
		Long: `Writes man pages into DIR/man1 and completions for bash, zsh, fish and PowerShell into
DIR/completions. SOURCE_DATE_EPOCH sets the date of the pages.`,
		Args: arguments(1, 1, "a DIR to write to"),
		RunE: func(_ *cobra.Command, args []string) error {
			pages, completions := filepath.Join(args[0], "man1"), filepath.Join(args[0], "completions")
			for _, dir := range []string{pages, completions} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return fmt.Errorf("manual: %w", err)
				}
			}
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "rollcall " + version(), Manual: "Rollcall"}, pages); err != nil {
				return fmt.Errorf("manual: %w", err)
			}
			for name, write := range map[string]func(string) error{
				"rollcall.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
				"_rollcall":     root.GenZshCompletionFile,
				"rollcall.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
				"rollcall.ps1":  root.GenPowerShellCompletionFileWithDesc,
			} {
				if err := write(filepath.Join(completions, name)); err != nil {
					return fmt.Errorf("manual: %w", err)
				}
			}
			return nil
		},
	}
}
