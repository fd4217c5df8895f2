// Package command implements the command line of rollcall: flags, output as tables or JSON,
// and exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/observe/bundle"
	"rollcall/shared/report"
	"rollcall/shared/roll"
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
	// Program is the path by which the program was started. kubectl starts kubectl-rollcall.
	Program        string
	Stdin          io.Reader // read for the file name -
	Stdout, Stderr io.Writer
	Now            func() time.Time
	// Terminal: a person watches standard error.
	Terminal bool
	// PageInterval is the time between two pages of instances after the first few; zero is the
	// default.
	PageInterval time.Duration
	// OpenBundle opens the bundle that --bundle names; nil is bundle.Open.
	OpenBundle func(dir string) (*bundle.Bundle, error)
	// Columns returns the width of the terminal that standard output is, 0 if it is none. nil is 0.
	Columns func() int
	// Color: standard output is a terminal, and colors are wanted.
	Color bool
}

func (e Environment) columns() int {
	if e.Columns == nil {
		return 0
	}
	return e.Columns()
}

func (e Environment) openBundle(dir string) (*bundle.Bundle, error) {
	if e.OpenBundle != nil {
		return e.OpenBundle(dir)
	}
	return bundle.Open(dir)
}

func (e Environment) layout() report.Layout {
	return report.Layout{Columns: e.columns(), Color: e.Color}
}

// again heads the results of a check that is repeated. A terminal shows the latest alone.
func (e Environment) again(round int, every time.Duration) {
	switch {
	case e.columns() > 0:
		_, _ = fmt.Fprint(e.Stdout, "\x1b[H\x1b[2J")
	case round > 0:
		_, _ = fmt.Fprintln(e.Stdout)
	}
	_, _ = fmt.Fprintf(e.Stdout, "%s, again every %s\n\n", roll.Clock(e.Now()), every)
}

func complain(env Environment, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			_, _ = fmt.Fprintf(env.Stderr, "rollcall: %s\n", roll.Visible(line))
		}
	}
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
		Use:   program,
		Short: "Finds EC2 instances of EKS clusters that never became healthy nodes",
		Long: `Rollcall checks whether the instances launched for EKS clusters registered as nodes and
stayed healthy. It only reads and reports, unless --mode lets it tag, notify, cordon, drain,
reboot or terminate. stop suspends all acts of a deployment, and resume allows them again.

Exit codes: 0 nothing found, 1 error, 2 findings, 130 interrupted.`,
		Example: `  rollcall demo                            # a simulated day; needs no account
  rollcall check --profile prod            # your clusters, read-only
  rollcall explain i-0123456789abcdef0     # why it is not a healthy node`,
		SilenceUsage: true, SilenceErrors: true,
		Version: version(),
	}
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(mistyped)
	// The commands are made before their flags are parsed.
	env.Color = env.Color && !slices.Contains(args, "--no-color")
	root.PersistentFlags().Bool("no-color", false, "print no colors; the variable NO_COLOR does the same")
	root.AddCommand(checkCommand(env), explainCommand(env), reportCommand(env), replayCommand(env), captureCommand(env), lintCommand(env), policyCommand(env), approveCommand(env), stopCommand(env), resumeCommand(env), uninstallCommand(env), demoCommand(env), simulateCommand(env), mcpCommand(env), versionCommand(env), manualCommand(root))
	root.SetVersionTemplate("rollcall {{.Version}}\n")
	if env.plugin() {
		asPlugin(root)
	}
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
	complain(env, err)
	return ExitError
}

// released is the version of a release, set by its build.
var released string

// version returns the version of the release, or else the module's version with the commit that
// it was built from and its time.
func version() string {
	if released != "" {
		return released
	}
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
