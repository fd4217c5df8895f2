// Package command implements the command line of rollcall: flags, output as tables or JSON,
// and exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/observe/bundle"
	"rollcall/shared/policy"
)

// Exit codes.
const (
	ExitOK       = 0 // everything was checked, no findings
	ExitError    = 1 // something could not be checked or done: the answer is incomplete
	ExitFindings = 2 // everything was checked, with findings
	// ExitInterrupted is a shell's code for SIGINT: the output is incomplete.
	ExitInterrupted = 130
)

// Environment is what the command line uses of its process.
type Environment struct {
	Stdin          io.Reader // read for the file name -
	Stdout, Stderr io.Writer
	Now            func() time.Time
	// Terminal: a person watches standard error.
	Terminal bool
	// PageInterval is passed to observe.Options; zero is its default.
	PageInterval time.Duration
	// OpenBundle opens the bundle that --bundle names; nil is bundle.Open.
	OpenBundle func(dir string) (*bundle.Bundle, error)
	// Color: standard output is a terminal that supports colors.
	Color bool
}

// exit is an error that only sets the exit code; everything was printed already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// interrupted describes how far an interrupted command came: "2 of 5 clusters checked".
type interrupted string

func (i interrupted) Error() string { return "interrupted: " + string(i) }

// Run runs the command line and returns its exit code. A command ends soon after ctx does,
// and prints the results that it has by then.
func Run(ctx context.Context, args []string, env Environment) int {
	root := &cobra.Command{
		Use:   "rollcall",
		Short: "Finds EC2 instances of EKS clusters that never became healthy nodes",
		Long: `Rollcall checks whether the instances launched for EKS clusters registered as nodes and
stayed healthy. It only reads and reports, unless --mode lets it tag, notify, cordon, drain,
reboot or terminate. stop and resume suspend all acts of a deployment, and allow them again.

Exit codes: 0 nothing found, 1 error, 2 findings, 130 interrupted.`,
		SilenceUsage: true, SilenceErrors: true,
		Version: version(),
	}
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(checkCommand(env), explainCommand(env), captureCommand(env), policyCommand(env), stopCommand(env), resumeCommand(env), demoCommand(env), simulateCommand(env))
	complete(root)
	err := root.ExecuteContext(ctx)
	var code exit
	var stopped interrupted
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &stopped):
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %v\n", stopped)
		return ExitInterrupted
	case ctx.Err() != nil: // the interruption caused any failure
		_, _ = fmt.Fprintln(env.Stderr, "rollcall: interrupted")
		return ExitInterrupted
	case errors.As(err, &code):
		return int(code)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %s\n", line)
	}
	return ExitError
}

// complete registers shell completion for flags with a fixed set of values, in all commands
// below.
func complete(c *cobra.Command) {
	for name, values := range map[string][]string{
		"mode": {string(policy.Observe), string(policy.Notify), string(policy.Remediate)}, "cluster-mode": {string(policy.Observe), string(policy.Notify), string(policy.Remediate)},
		"output": {string(outputTable), string(outputJSON)},
	} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists and is registered once
		}
	}
	for _, below := range c.Commands() {
		complete(below)
	}
}

// version returns the module's version, with the commit that it was built from and its
// time.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	revision, changed := built["vcs.revision"], ""
	if len(revision) < 12 {
		return info.Main.Version
	}
	if built["vcs.modified"] == "true" {
		changed = ", with changes"
	}
	return fmt.Sprintf("%s (commit %s of %s%s)", info.Main.Version, revision[:12], built["vcs.time"], changed)
}

// output is the form in which results are printed.
type output string

const (
	outputTable output = "table"
	outputJSON  output = "json"
)

func parseOutput(s string) (output, error) {
	switch o := output(s); o {
	case outputTable, outputJSON:
		return o, nil
	}
	return "", fmt.Errorf("--output %q: it takes table or json", s)
}
