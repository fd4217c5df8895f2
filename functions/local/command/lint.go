package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/observe/lint"
	"rollcall/shared/observe/view"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// The forms of findings that tools of source code read.
const (
	outputSARIF  output = "sarif"
	outputGitHub output = "github"
)

type lintFlags struct {
	access
	cluster, bundle              string
	templates, userData, subnets []string
	output                       form
}

func lintCommand(env Environment) *cobra.Command {
	var f lintFlags
	c := &cobra.Command{
		Use:   "lint [FILE]...",
		Short: "Find what would keep nodes from joining, before anything is launched",
		Long: `Checks launch templates, Karpenter's NodePools and EC2NodeClasses, and user data for the causes
that explain finds after the launch, if a person has to change something, and prints the place
in the file and the fix. lint only reads.

FILE is what aws ec2 describe-launch-template-versions printed, a manifest with NodePools,
EC2NodeClasses or the ConfigMap aws-auth, access entries as JSON, or user data. Other files are
skipped, and named in the notes; a kind that Karpenter does not have, such as NodePol, is an error
if no FILE has anything else. The files replace what is in the cluster.

--cluster NAME reads the cluster and its network, --bundle DIR a capture of them. Without either,
only causes that need neither are checked. Without FILE and --launch-template, the NodePools of
the cluster are checked.

Exit codes: 0 nothing found, 1 error, 2 something would fail.`,
		Example: `  rollcall lint karpenter/*.yaml --cluster payments
  rollcall lint --launch-template lt-0123456789abcdef0:7 --cluster payments
  rollcall lint user-data.sh`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd.Context(), env, f, args) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.templates, "launch-template", nil, "`ID[:VERSION]` of a launch template of the account or the bundle (default: its default version), or a file; may be repeated")
	flags.StringArrayVar(&f.userData, "user-data", nil, "`FILE` with user data that lint does not recognize as such; may be repeated")
	flags.StringSliceVar(&f.subnets, "subnet", nil, "`ID` of a subnet to launch in, if no input names one; may be repeated")
	flags.StringVar(&f.cluster, "cluster", "", "`NAME` of the cluster that the nodes would join")
	flags.StringVar(&f.bundle, "bundle", "", "`DIR` written by rollcall capture, to use instead of the account")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML, outputSARIF, outputGitHub)
	f.clusterFlags(c, env, 3*time.Minute)
	_ = c.MarkFlagDirname("bundle") // it is there
	return c
}

// settle parses the flags and reads the files. Its error lists all faults at once.
func (f *lintFlags) settle(env Environment, files []string) (in lint.Request, err error) {
	var faults []error
	keep := func(err error) { faults = append(faults, err) } // errors.Join leaves out nil
	keep(f.output.check())
	f.current = f.current && f.bundle == "" && len(files)+len(f.userData) == 0 // files need no cluster
	f.cluster, err = f.access.settle(f.cluster)
	keep(err)
	in.Subnets, in.At, in.Cluster = f.subnets, env.Now(), f.cluster
	for _, name := range f.templates {
		if _, err := os.Stat(name); err == nil {
			files = append(files, name)
		} else {
			in.Templates = append(in.Templates, name)
		}
	}
	var misnamed, skipped []string
	for _, name := range files {
		data, unread := regular(name, maxInput)
		found, err := lint.Sources(name, data)
		keep(errors.Join(unread, err))
		in.Sources = append(in.Sources, found...)
		switch wrong := lint.Misnamed(data); {
		case unread != nil || err != nil:
		case len(wrong) > 0:
			misnamed = append(misnamed, roll.Map(wrong, func(w string) string { return name + ": " + w })...)
		case len(found) == 0:
			skipped = append(skipped, name)
		}
	}
	for _, name := range f.userData {
		data, err := regular(name, maxInput)
		keep(err)
		in.Sources = append(in.Sources, lint.UserDataOf(name, data))
	}
	if n := len(skipped); n > 0 {
		in.Skipped = []string{fmt.Sprintf("skipped %d %s without anything that lint reads: %s", n, roll.Plural(n, "file", "files"), roll.Few(skipped, filesNamed))}
	}
	in.Skipped = append(misnamed, in.Skipped...)
	if len(misnamed) > 0 && len(in.Sources)+len(in.Templates) == 0 {
		keep(fmt.Errorf("no FILE was judged: %s; lint reads %s", roll.Few(in.Skipped, filesNamed), accepted))
	}
	switch {
	case f.bundle != "":
		keep(f.besideBundle(f.cluster))
		keep(f.open(env, &in))
	case f.cluster != "":
	case len(in.Templates) > 0:
		keep(fmt.Errorf("--launch-template %s: there is no such file, and a template of the account needs --cluster NAME or --bundle DIR", in.Templates[0]))
	case len(files)+len(f.userData) == 0:
		keep(errors.New("name a FILE, or give --cluster NAME or --bundle DIR"))
	}
	return in, errors.Join(faults...)
}

// filesNamed is how many files lint names at most in a note.
const filesNamed = 10

// accepted is what lint reads in a FILE.
const accepted = "NodePools of karpenter.sh, EC2NodeClasses of karpenter.k8s.aws, NodeConfigs of node.eks.aws, the ConfigMap aws-auth, launch template versions, access entries and user data"

// maxInput is more than any manifest or launch template has, in bytes.
const maxInput = 16 << 20

func (f *lintFlags) open(env Environment, in *lint.Request) error {
	b, err := env.openBundle(f.bundle)
	if err != nil {
		return err
	}
	in.View, in.Cluster = view.OfBundle(b), b.ClusterID().Name
	if at, ok := b.At(); ok {
		in.At = at
	}
	return nil
}

func runLint(ctx context.Context, env Environment, f lintFlags, files []string) error {
	in, err := f.settle(env, files)
	if err != nil {
		return err
	}
	var out report.LintDocument
	err = f.within(ctx, env, func(ctx context.Context, p *progress) error {
		if f.cluster != "" {
			a, err := f.only(ctx, env, p)
			if err != nil {
				return err
			}
			in.View = a.view.View
			p.say("reading " + f.cluster)
		}
		out, err = lint.Run(ctx, in)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.print(env, out); err != nil {
		return err
	}
	if len(out.Findings) > 0 {
		return exit(ExitFindings)
	}
	return nil
}

func (f lintFlags) print(env Environment, out report.LintDocument) error {
	switch {
	case f.output.output == outputSARIF:
		return form{output: outputJSON}.print(env.Stdout, out.SARIF(version()))
	case f.output.output == outputGitHub:
		return out.GitHub(env.Stdout)
	case f.output.data():
		return f.output.print(env.Stdout, out)
	}
	return out.Write(env.Stdout, env.layout())
}
