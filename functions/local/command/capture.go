package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/assess"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

type captureFlags struct {
	access
	cluster, out, policy, ledger string
}

func captureCommand(env Environment) *cobra.Command {
	var f captureFlags
	c := &cobra.Command{
		Use:   "capture --cluster CLUSTER --out DIR",
		Short: "Save what can be read from a cluster as files, with secrets removed",
		Long: `Reads a cluster and everything that its diagnosis may need, and writes a bundle: files in the
formats of the AWS CLI and kubectl. rollcall explain --bundle DIR diagnoses from it later, without
an account. capture only reads; with --host-logs it also runs a read-only command on instances.

Secrets are removed from user data, console output, host logs and all other text before anything
is written; still, review the files before you share them. User data and console output
are captured for at most 3 instances of a group.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return capture(cmd.Context(), env, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.cluster, "cluster", "", "`NAME` of the cluster")
	flags.StringVar(&f.out, "out", "", "`DIR` to write to; it must be empty or not exist")
	flags.StringVar(&f.policy, "policy", "", "policy `FILE`, which defines what is a finding (default: the built-in policy)")
	flags.StringVar(&f.ledger, "ledger", "", "ledger `FILE` of rollcall check; it is only read")
	f.clusterFlags(c, env, 5*time.Minute)
	f.hostLogsFlag(c, "up to 3 Linux instances of each group with a finding")
	_ = c.MarkFlagDirname("out") // it is there
	return c
}

func (f *captureFlags) settle(env Environment) (*policy.Document, ledger.Ledger, error) {
	named, err := f.access.settle(f.cluster)
	faults := []error{err} // errors.Join leaves out nil
	if f.cluster = named; named == "" && !f.byContext("") {
		faults = append(faults, errors.New("--cluster: name the cluster, or give --context"))
	}
	if f.out == "" {
		faults = append(faults, errors.New("--out: name the directory"))
	}
	if there, err := os.ReadDir(f.out); err == nil && len(there) > 0 {
		faults = append(faults, fmt.Errorf("--out %s: there is something in it already (%s): name another directory, or empty this one", f.out, there[0].Name()))
	} else if err != nil && f.out != "" && !errors.Is(err, os.ErrNotExist) {
		faults = append(faults, fmt.Errorf("--out: %w", err))
	}
	doc, wrong := readPolicy(env, f.policy)
	memory, err := openLedger(f.ledger)
	return doc, memory, errors.Join(append(faults, wrong, err)...)
}

func capture(ctx context.Context, env Environment, f captureFlags) error {
	doc, memory, err := f.settle(env)
	if err != nil {
		return err
	}
	return f.inOne(ctx, env, func(ctx context.Context, p *progress, a *account) error {
		return f.capture(ctx, env, p, a, doc, memory)
	})
}

func (f captureFlags) capture(ctx context.Context, env Environment, p *progress, a *account, doc *policy.Document, memory ledger.Ledger) error {
	p.say("reading " + f.cluster)
	now := env.Now()
	recorder := bundle.NewRecorder(now)
	look := a.view.Recorded(recorder)
	s := look.Observer.Snapshot(ctx, f.cluster, now, doc.Watch())
	if len(s.Gaps) > 0 && s.Cluster.Endpoint == "" {
		return errors.New(s.Gaps[0].Detail)
	}
	state, err := memory.Read(ctx, s.Cluster.ID)
	if err != nil {
		return fmt.Errorf("--ledger: %w", err)
	}
	pol := doc.Cluster(f.cluster, s.Cluster.ModeTag, policy.Observe)
	found := assess.Thoroughly(assess.Input{Snapshot: s, Policy: pol, State: state, Now: now, Presume: true},
		func(q []roll.Question) { look.Observer.Details(ctx, s, q) })
	findings := append(slices.Concat(found.Findings, found.Starting), specimens(s, found.Findings)...)
	p.say(fmt.Sprintf("reading the evidence about %d instances of %s", len(findings), f.cluster))
	e := look.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: state, Whole: true}, false).Evidence
	recorder.Remember(e.Remembered())
	whole(ctx, look, s)
	files, err := recorder.Files()
	if err != nil {
		return err
	}
	// An interrupted capture looks like a cluster with missing parts. What could not be read in
	// time is told.
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	p.clear()
	if err := bundle.Write(f.out, files); err != nil {
		return err
	}
	lacks := recorder.Lacks()
	for id, i := range e.Instances {
		if why := i.LogsGap(); why != "" {
			lacks["host-logs/"+string(id)+".txt"] = why
		}
	}
	return told(env, f.out, files, lacks)
}

// specimens returns one healthy instance of each group that has no finding. What is read of
// it shows how a healthy instance of the group is set up.
func specimens(s *roll.Snapshot, findings []roll.Finding) (out []roll.Finding) {
	seen := map[roll.Group]bool{}
	for _, f := range findings {
		seen[f.Group] = true
	}
	for _, m := range roll.Pair(s) {
		if m.Instance == nil || m.Instance.State != roll.StateRunning || seen[m.Group()] {
			continue
		}
		seen[m.Group()] = true
		out = append(out, roll.Finding{
			Instance: m.ID(), Node: m.NodeName(), Group: m.Group(), Selector: m.Selector(), Owner: m.Owner(), Zone: m.Zone(), ZoneID: m.ZoneID(), Kind: roll.Unregistered, Stage: roll.Watching,
		})
	}
	return out
}

// whole reads what no diagnosis reads completely, for the recorder: all nodes and leases,
// and the NodeClaims of every pool, since a pool that is not read looks as if it had none.
func whole(ctx context.Context, look *view.View, s *roll.Snapshot) {
	client, err := look.Dial(s.Cluster)
	if err != nil {
		return // nothing can be read; the bundle shows it by the missing files
	}
	questions := []kube.Question{kube.AllNodes(), kube.AllLeases(), kube.AwsAuth(), kube.Webhooks(), kube.DaemonSets()}
	asked := map[string]bool{}
	for _, m := range roll.Pair(s) {
		if pool, ok := m.Group().NodePool(); ok && !asked[pool] && kube.ValidPool(pool) {
			asked[pool] = true
			questions = append(questions, kube.NodeClaimsOf(pool))
		}
	}
	for _, q := range questions {
		_, _ = client.Read(ctx, q) // the recorder records the answer or the error
	}
}

// told prints what was written, and what is missing from it.
func told(env Environment, dir string, files map[string][]byte, lacks map[string]string) error {
	if _, err := fmt.Fprintf(env.Stdout, "wrote %d files into %s; to see what they show: %s\n", len(files), dir, paste.Command("rollcall", "explain", "--bundle", dir)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	for _, file := range slices.Sorted(maps.Keys(lacks)) {
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %s was left out: %s\n", file, roll.Visible(lacks[file]))
	}
	for _, file := range []string{"cluster.json", "instances.json", "nodes.json"} {
		if files[file] == nil {
			_, _ = fmt.Fprintf(env.Stderr, "rollcall: the bundle cannot be used without %s\n", file)
			return exit(ExitError)
		}
	}
	return nil
}
