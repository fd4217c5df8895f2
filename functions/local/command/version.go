package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

type versionFlags struct {
	stack string
	access
}

func versionCommand(env Environment) *cobra.Command {
	var f versionFlags
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this tool, and with --stack that of a deployment",
		Long: `Prints the version of this tool. With --stack it also prints the version that the functions
of a deployment run, from the stack's outputs, and the deployment's mode; it needs
cloudformation:DescribeStacks then. The two versions should be the same, since they share the ledger.

Exit codes: 0 printed; 1 the stack could not be read.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	c.Flags().StringVar(&f.stack, "stack", "", "`NAME` of the CloudFormation stack of a deployment")
	f.oneRegion(c)
	f.accountFlags(c, time.Minute)
	return c
}

func (f versionFlags) run(ctx context.Context, env Environment) error {
	if _, err := f.settle(""); err != nil {
		return err
	}
	if f.stack == "" {
		_, err := fmt.Fprintf(env.Stdout, "rollcall %s\n", version())
		return err
	}
	return f.inOne(ctx, env, func(ctx context.Context, p *progress, a *account) error {
		p.say("reading the stack")
		d, err := a.deployment(ctx, f.stack)
		p.clear()
		if err != nil {
			return err
		}
		return d.printVersions(env.Stdout, version())
	})
}

func (d deployment) printVersions(w io.Writer, tool string) error {
	_, err := fmt.Fprintf(w, "rollcall %s\nstack %s in %s: %s, mode %s\n", tool, d.stack, d.region, cmp.Or(d.version, "no version in its outputs"), d.settings.Mode)
	return err
}
