package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan/replay"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

type replayFlags struct {
	access
	from, stack, cluster, mode, html string
	policies                         []string
	days                             int
	daysGiven                        bool // by --days
	output                           form
}

func replayCommand(env Environment) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay",
		Short: "Show what another policy would have done in past checks",
		Long: `Makes the plans of past checks again under another policy, and compares it with what happened:
acts, held acts with their reasons, notices, and machine-hours saved. It only reads.

--stack NAME reads the checks that a deployment recorded, --from PATH those of rollcall simulate
--record, or bundles of rollcall capture, each in its own folder; PATH may be s3://BUCKET/PREFIX.
Reading a deployment's bucket needs s3:ListBucket and s3:GetObject.

Without --policy it compares what happened with the same policy in mode remediate; with one --policy,
with that policy; with two, these two. A policy counts as in force from the first check on: acts on
what was wrong before are held as FoundBeforeRemediate.

Exit codes: 0 replayed, 1 error, 130 interrupted.`,
		Example: `  rollcall replay --stack rollcall --days 30
  rollcall replay --stack rollcall --policy gentle.yaml --policy bold.yaml --html replay.html
  rollcall simulate --seed 7 --record seed7` + replay.Extension + ` && rollcall replay --from seed7` + replay.Extension,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.daysGiven = cmd.Flags().Changed("days")
			return runReplay(cmd.Context(), env, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.from, "from", "", "record `FILE`, folder of records or bundles, or s3://BUCKET/PREFIX")
	flags.StringVar(&f.stack, "stack", "", "`NAME` of the CloudFormation stack of a deployment, whose recorded checks to read")
	flags.IntVar(&f.days, "days", 30, "replay the checks of the last `DAYS`; needs --stack")
	flags.StringVar(&f.cluster, "cluster", "", "replay the checks of the cluster with this `NAME` only")
	flags.StringArrayVar(&f.policies, "policy", nil, "policy `FILE` to replay; repeat it for two (default: the recorded policy in mode remediate)")
	flags.StringVar(&f.mode, "mode", "", "`MODE`, observe, notify or remediate: for --policy (default: the mode in the file; remediate if it names none)")
	flags.StringVar(&f.html, "html", "", "also write a standalone HTML page to this `FILE`")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML)
	f.oneRegion(c)
	f.accountFlags(c, 15*time.Minute)
	values(c, "mode", fixed(modes...))
	values(c, "cluster", f.namesOfClusters)
	return c
}

// candidate is a policy to replay. The zero source is the recorded one in mode remediate.
type candidate struct {
	name   string
	source policy.Source
}

func (f *replayFlags) settle(env Environment) (all []candidate, err error) {
	_, wrong := f.access.settle("")
	faults := []error{f.output.check(), placeable(f.html), wrong}
	switch {
	case (f.from == "") == (f.stack == ""):
		faults = append(faults, errors.New("give either --stack NAME or --from PATH"))
	case f.stack != "" && f.days < 1:
		faults = append(faults, fmt.Errorf("--days %d: it takes a number of days, at least 1", f.days))
	case f.from != "" && f.daysGiven:
		faults = append(faults, errors.New("--days needs --stack NAME: --from PATH replays all that is recorded there"))
	}
	if len(f.policies) > 2 {
		faults = append(faults, errors.New("--policy: two policies can be compared"))
	}
	if f.mode != "" && len(f.policies) == 0 {
		faults = append(faults, errors.New("--mode needs --policy FILE"))
	}
	for _, file := range f.policies {
		text, err := policyInMode(env, file, f.mode)
		faults = append(faults, err)
		all = append(all, candidate{filepath.Base(file), policy.Source{Text: text}})
	}
	return all, errors.Join(faults...)
}

func runReplay(ctx context.Context, env Environment, f replayFlags) error {
	candidates, err := f.settle(env)
	if err != nil {
		return err
	}
	var checks []replay.Recorded
	err = f.within(ctx, env, func(ctx context.Context, p *progress) (err error) {
		if f.stack != "" {
			checks, err = f.ofStack(ctx, env, p)
		} else {
			checks, err = f.ofPath(ctx, env, p)
		}
		return err
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	checks = slices.DeleteFunc(checks, func(c replay.Recorded) bool { return f.cluster != "" && c.Cluster().Name != f.cluster })
	if len(checks) == 0 {
		none := "there is no recorded check" + roll.Behind(" of cluster ", f.cluster) + roll.Behind(" in ", f.from)
		if f.from != "" {
			return errors.New(none + ": only checks in which something is or was wrong are recorded, also those of bundles")
		}
		return errors.New(none + ": a deployment records checks that found something, if its parameter KeepChecks is true")
	}
	r, err := compare(checks, candidates)
	if err != nil {
		return err
	}
	if err := writePage(f.html, "replay", r.Page); err != nil {
		return err
	}
	return answer(f.output, env, r.Document, r.Write)
}

// compare replays checks under the policies. One policy, or none, is compared with what happened.
func compare(checks []replay.Recorded, candidates []candidate) (report.Replay, error) {
	r := report.Replay{Checks: len(checks), From: checks[0].Now, To: checks[0].Now}
	byCluster := replay.ByCluster(checks)
	for _, of := range byCluster {
		r.Clusters = append(r.Clusters, of[0].Cluster().Name)
		r.From, r.To = roll.Earlier(r.From, of[0].Now), roll.Later(r.To, of[len(of)-1].Now)
	}
	if len(candidates) < 2 {
		var all []replay.Replayed
		for _, of := range byCluster {
			o, err := replay.AsItRan(of)
			if err != nil {
				return r, err
			}
			all = append(all, o)
		}
		r.Outcomes = append(r.Outcomes, replay.Sum(all))
	}
	if len(candidates) == 0 {
		candidates = []candidate{{name: "mode remediate"}}
	}
	for _, c := range candidates {
		o, err := played(byCluster, c, policy.Remediate)
		if err != nil {
			return r, err
		}
		r.Outcomes = append(r.Outcomes, o)
	}
	var err error
	r.Idle, err = played(byCluster, candidates[0], policy.Observe)
	return r, err
}

// played replays the checks of all clusters under a policy.
func played(byCluster [][]replay.Recorded, c candidate, permitted policy.Mode) (replay.Replayed, error) {
	var all []replay.Replayed
	for _, of := range byCluster {
		source := c.source
		if source == (policy.Source{}) {
			source = of[len(of)-1].Policy
			source.Halted = false
			text, err := inMode([]byte(cmp.Or(source.Text, builtIn)), string(policy.Remediate))
			if err != nil {
				return replay.Replayed{}, err
			}
			source.Text = text
		}
		doc, err := source.Document()
		if err != nil {
			return replay.Replayed{}, fmt.Errorf("policy %s: %w", c.name, err)
		}
		all = append(all, replay.Play(c.name, of, doc, permitted))
	}
	return replay.Sum(all), nil
}

// builtIn is a document that leaves everything to the built-in policy.
const builtIn = "apiVersion: rollcall/v1\n"

// ofStack reads the checks that a deployment recorded.
func (f replayFlags) ofStack(ctx context.Context, env Environment, p *progress) ([]replay.Recorded, error) {
	a, err := f.only(ctx, env, p)
	if err != nil {
		return nil, err
	}
	d, err := a.deployment(ctx, f.stack)
	if err != nil {
		return nil, err
	}
	since := env.Now().AddDate(0, 0, -f.days)
	place := d.settings.EvidenceBucket + "/" + archive.Checks(d.account, d.region, f.cluster)
	p.say("reading the recorded checks in s3://" + place)
	return gather(func(keep keeper) error {
		return eachObject(ctx, a.cfg, place, func(name string) bool {
			at, ok := archive.RecordedAt(name)
			return ok && !at.Before(since)
		}, keep)
	})
}

// ofPath reads records, or bundles.
func (f replayFlags) ofPath(ctx context.Context, env Environment, p *progress) ([]replay.Recorded, error) {
	p.say("reading " + f.from)
	each := func(keep keeper) error { return f.eachOf(ctx, f.from, replay.Extension, keep) }
	if strings.HasPrefix(f.from, "s3://") {
		return gather(each)
	}
	info, err := os.Stat(f.from)
	if err != nil {
		return nil, ofFlag("--from", err)
	}
	if !info.IsDir() {
		return gather(func(keep keeper) error {
			data, err := contents(f.from, maxRead)
			keep(f.from, data, err)
			return nil
		})
	}
	bundles, err := bundlesIn(f.from)
	if err != nil || len(bundles) > 0 {
		return f.ofBundles(ctx, env, bundles, err)
	}
	return gather(each)
}

// gather reads records. Its error names all that cannot be read.
func gather(each func(keeper) error) (checks []replay.Recorded, _ error) {
	var faults []error
	err := each(func(name string, data []byte, err error) {
		var of []replay.Recorded
		if err == nil {
			of, err = replay.Read(bytes.NewReader(data))
			err = ofFlag(name, err)
		}
		checks = append(checks, of...)
		faults = append(faults, err)
	})
	return checks, errors.Join(append(faults, err)...)
}

// bundlesIn returns the folders that are bundles: a folder itself, or those in it.
func bundlesIn(dir string) (out []string, _ error) {
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == "at.txt" {
			out = append(out, filepath.Dir(file))
		}
		return err
	})
	return out, ofFlag("--from", err)
}

// ofBundles checks bundles in the order of their times, each with what the ones before showed.
func (f replayFlags) ofBundles(ctx context.Context, env Environment, dirs []string, err error) (checks []replay.Recorded, _ error) {
	faults := []error{err}
	memory := ledger.NewMemory()
	type captured struct {
		at      time.Time
		cluster string
		look    *view.View
	}
	var all []captured
	for _, dir := range dirs {
		b, err := env.openBundle(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if at, ok := b.At(); ok {
			all = append(all, captured{at, b.ClusterID().Name, view.OfBundle(b)})
		} else {
			faults = append(faults, fmt.Errorf("%s: at.txt has no time", dir))
		}
	}
	slices.SortStableFunc(all, func(a, b captured) int { return a.at.Compare(b.at) })
	for _, c := range all {
		runner := &run.Runner{
			Observer: c.look.Observer, Why: c.look.Check, Ledger: memory, Policy: policy.Default(), Permitted: policy.Observe,
			Clock: func() time.Time { return c.at }, ReadTime: f.readTime(),
			Record: func(_ context.Context, check replay.Recorded) error {
				checks = append(checks, check)
				return nil
			},
		}
		faults = append(faults, roll.Map(runner.Check(ctx, c.cluster, c.at).Faults, errors.New)...)
	}
	return checks, errors.Join(faults...)
}

// recordTo returns a function that appends checks to a record file, and one that ends it.
func recordTo(file string) (write func(replay.Recorded) error, end func() error, _ error) {
	to, err := os.Create(file)
	if err != nil {
		return nil, nil, ofFlag("--record", err)
	}
	w, err := replay.NewWriter(to)
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	return w.Write, func() error { return ofFlag("--record "+file, errors.Join(w.Close(), to.Close())) }, nil
}
