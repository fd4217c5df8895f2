package command

import (
	"github.com/spf13/cobra"

	"rollcall/functions/local/demo"
)

func demoCommand(env Environment) *cobra.Command {
	var html string
	var whole bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a day in a simulated account, in seconds; no AWS account needed",
		Long: `Plays a day in a simulated account with several clusters: custom AMIs with a wrong startup
taint, nodes that flap during startup and are launched twice, an arm64 pool that does not
register, the wrong role in aws-auth, memory pressure and silent nodes, a zone outage, a
broken launch template, a deleted cluster. It reports what was found, notified, done and
held, and what that cost and saved.

The deployed functions run; the account and its clock are simulated. Nothing of yours is
read or changed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return demo.Run(c.Context(), demo.Options{Out: env.Stdout, Color: env.Color, HTML: html, Whole: whole})
		},
	}
	flags := c.Flags()
	flags.StringVar(&html, "html", "", "also write the day as a standalone HTML page to this file")
	flags.BoolVar(&whole, "whole", false, "print every notice in full, not only the first of each cause")
	return c
}
