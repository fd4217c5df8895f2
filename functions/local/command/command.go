// Package command is the command line of rollcall: flags in, tables and JSON out,
// and an exit code.
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
)

// Exit codes.
const (
	ExitOK       = 0 // everything was checked and nothing found
	ExitError    = 1 // something could not be checked or done, so the answer is not whole
	ExitFindings = 2 // everything was checked, and something found
	// ExitInterrupted is that of a shell for SIGINT: what was printed is not all there is.
	ExitInterrupted = 130
)

// Environment is what the command line takes from its process.
type Environment struct {
	Stdout, Stderr io.Writer
	Now            func() time.Time
	// Terminal: a person watches standard error.
	Terminal bool
	// PageInterval is that of observe.Options; zero is its default.
	PageInterval time.Duration
	// OpenBundle opens what --bundle names; nil is bundle.Open.
	OpenBundle func(dir string) (*bundle.Bundle, error)
	// Color: standard output is a terminal that takes colours.
	Color bool
}

// exit is an error that only sets the exit code: what there is to say was said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// interrupted says how far a command came that a signal ended: "2 of 5 clusters checked".
type interrupted string

func (i interrupted) Error() string { return "interrupted: " + string(i) }

// Run runs the command line and returns its exit code. A command ends soon after ctx does,
// and tells what it has by then.
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
	err := root.ExecuteContext(ctx)
	var code exit
	var stopped interrupted
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &stopped):
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %v\n", stopped)
		return ExitInterrupted
	case ctx.Err() != nil: // whatever failed then, failed for that
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

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
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
