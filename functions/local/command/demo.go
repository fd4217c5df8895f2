package command

import (
	"errors"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"rollcall/functions/local/demo"
)

func demoCommand(env Environment) *cobra.Command {
	var o demo.Options
	var open bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a day in a simulated account, in seconds; no AWS account needed",
		Long: `Plays a day in a simulated account with four clusters. Custom AMIs have a wrong startup taint,
nodes flap during startup and are launched twice, an arm64 pool does not register, aws-auth
maps the wrong role, nodes run short of memory, a zone fails, a launch template is broken and
a cluster is deleted.

One screen shows what broke, why, what Rollcall did or held, and the sick time that it saved.
--verbose prints every event and notice, --html writes the day as a page, and --open shows it.

The deployed functions run; the account and its clock are simulated. Nothing of yours is
read or changed.`,
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			o.Out, o.Color = env.Stdout, env.Color
			if env.columns() == 0 && !c.Flags().Changed("pace") {
				o.Pace = 0 // no person is watching
			}
			if open && o.HTML == "" {
				return errors.New("--open needs --html FILE: the page that it opens")
			}
			if err := placeable(o.HTML); err != nil {
				return err
			}
			p := newProgress(env)
			o.Progress = func(doing string) {
				if doing == "" {
					p.clear()
					return
				}
				p.say(doing)
			}
			if err := demo.Run(c.Context(), o); err != nil || !open {
				return err
			}
			return show(c.Context(), runtime.GOOS, o.HTML)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.HTML, "html", "", "also write the day as a standalone HTML page to this `FILE`")
	flags.BoolVar(&open, "open", false, "open the page of --html in the browser")
	flags.BoolVar(&o.Verbose, "verbose", false, "print every event, and the first notice of each cause in full")
	flags.BoolVar(&o.Whole, "whole", false, "like --verbose, with every notice in full")
	flags.DurationVar(&o.Pace, "pace", 250*time.Millisecond, "pause between two entries; none unless standard output is a terminal")
	return c
}
