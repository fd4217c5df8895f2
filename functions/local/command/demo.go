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
		Short: "Watch a simulated account live through a day, in seconds; no AWS account needed",
		Long: `Plays a day in the life of a simulated account with several clusters: custom AMIs
whose startup taint is wrong, nodes that flap while they start and are launched
twice, an arm64 pool that does not register, the wrong role in aws-auth, memory
pressure and silence, a zone outage, a broken launch template, a deleted cluster.
It tells what was found, said, done and held back, and what that cost and saved.

The functions that run are the deployed ones; the account and its clock are
simulated. Nothing of yours is read or touched.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return demo.Run(demo.Options{Out: env.Stdout, Color: env.Color, HTML: html, Whole: whole})
		},
	}
	flags := c.Flags()
	flags.StringVar(&html, "html", "", "also write the day as a self-contained page to this file")
	flags.BoolVar(&whole, "whole", false, "print the whole text of every notice, not only of the first of each cause")
	return c
}
