package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

type simulateFlags struct {
	seed                   uint64
	hours, clusters, nodes int
	faults                 int
	certain                []string
	policy, mode           string
	policyText             string // content of --policy, in the mode of --mode
	seeds                  int
	soak                   time.Duration
	shrink                 int
	history, summary       bool
	record                 string
	output                 form
	guards                 sim.Guards // deliberately wrong guards, to show a broken rule
}

func simulateCommand(env Environment) *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Try to make Rollcall do harm in a simulated account, by random faults",
		Long: `Runs the deployed functions in a simulated account. A seed decides its workloads and its
faults: throttling, timeouts, missing pages, stale reads, clocks that differ, messages that
come twice, late or out of order, functions killed between two calls, API servers that hang,
kubelets that flap, owners that interfere. After every step it checks the rules that must
never be broken; shared/sim/README.md lists them.

The same seed and sizes give the same run. When a rule is broken, rollcall looks for the
smallest run that still breaks it and prints the history of that run.

  rollcall simulate --seed 7 --hours 24 --clusters 3 --nodes 60
  rollcall simulate --soak 10m
      One seed after the other for ten minutes, on all processors.
  rollcall simulate --seed 1000 --seeds 500 --summary
      Seeds 1000 to 1499, summed up in one line.
  rollcall simulate --fault taint-returns --seeds 200
      Up to 200 seeds with this fault in a small account, until one breaks a rule.
  rollcall simulate --policy policy.yaml --mode remediate --seeds 50
      Your own policy in mode remediate. The clusters are orders, search, media, batch,
      edge and staging, with groups such as nodepool/default, nodegroup/system and
      asg/workers; an override has an effect if it matches one of them. The simulated stack
      permits remediate, so a policy that names no mode is tried in that.

Exit codes: 0 no rule was broken; 1 a rule was broken, or the flags are wrong.`,
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			f = f.sized(c.Flags().Changed)
			var err error
			if f.policyText, err = policyInMode(env, f.policy, f.mode); err != nil {
				return errors.Join(f.check(), err)
			}
			return simulate(c.Context(), env, f)
		},
	}
	flags := c.Flags()
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the run; with --soak or --seeds the first one")
	flags.IntVar(&f.hours, "hours", 24, fmt.Sprintf("simulated hours, at least %d; no faults in the last part, so that everything can heal", sim.LeastHours))
	flags.IntVar(&f.clusters, "clusters", 2, "clusters in the account")
	flags.IntVar(&f.nodes, "nodes", 30, "nodes of each cluster, roughly")
	flags.IntVar(&f.faults, "faults", 0, "number of faults (default: about one per hour and cluster)")
	flags.StringArrayVar(&f.certain, "fault", nil, "include this `FAULT`, in a cluster made for it, and two random faults; repeat for several")
	flags.StringVar(&f.policy, "policy", "", "policy `FILE` to test (default: a random policy)")
	flags.StringVar(&f.mode, "mode", "", "`MODE`, observe, notify or remediate: for --policy (default: the mode in the file; remediate if it names none)")
	flags.IntVar(&f.seeds, "seeds", 1, "number of seeds to run; stops at the first that breaks a rule")
	flags.DurationVar(&f.soak, "soak", 0, "run further seeds for this long, such as 10m")
	flags.IntVar(&f.shrink, "shrink", 80, "number of runs for finding the smallest one that breaks a rule; 0 skips the search")
	flags.BoolVar(&f.summary, "summary", false, "print one line for all seeds, and do not stop at a broken rule")
	flags.StringVar(&f.record, "record", "", "also record the checks of one seed in this `FILE`, for rollcall replay")
	flags.BoolVar(&f.history, "history", false, "print every event, even if no rule is broken")
	outputFlag(c, &f.output, outputTable, outputJSON)
	values(c, "mode", fixed(modes...))
	values(c, "fault", fixed(sim.Kinds()...))
	return c
}

func (f simulateFlags) check() error {
	var faults []error
	for _, v := range []struct {
		flag        string
		value       int
		least, most int
	}{{"hours", f.hours, sim.LeastHours, 24 * 366}, {"clusters", f.clusters, 1, 1000}, {"nodes", f.nodes, 4, 100_000}, {"faults", f.faults, 0, 100_000}, {"shrink", f.shrink, 0, 10_000}, {"seeds", f.seeds, 1, 1_000_000}} {
		if v.value < v.least || v.value > v.most {
			faults = append(faults, fmt.Errorf("--%s %d: it takes %d to %d", v.flag, v.value, v.least, v.most))
		}
	}
	for _, name := range f.certain {
		if !slices.Contains(sim.Kinds(), sim.FaultKind(name)) {
			faults = append(faults, fmt.Errorf("--fault %s: the faults are %s", name, strings.Join(fixed(sim.Kinds()...)(context.Background()), ", ")))
		}
	}
	if f.record != "" && (f.seeds > 1 || f.soak > 0) {
		faults = append(faults, errors.New("--record: it takes one seed, without --seeds and --soak"))
	}
	if f.summary && (f.history || f.output.data()) {
		faults = append(faults, errors.New("--summary: it is one line, without --history and --output json"))
	}
	if f.soak < 0 {
		faults = append(faults, fmt.Errorf("--soak %s: it takes a duration such as 10m", f.soak))
	}
	faults = append(faults, f.output.check())
	return errors.Join(faults...)
}

// sized returns the flags with default sizes for a run that tests certain faults. The sizes
// are small, so that many seeds take little time. Flags that were given keep their values.
func (f simulateFlags) sized(changed func(flag string) bool) simulateFlags {
	if len(f.certain) == 0 {
		return f
	}
	for _, size := range []struct {
		flag  string
		value *int
		small int
	}{{"hours", &f.hours, sim.CertainHours}, {"clusters", &f.clusters, len(f.certain)}, {"nodes", &f.nodes, 12}} {
		if !changed(size.flag) {
			*size.value = size.small
		}
	}
	return f
}

func (f simulateFlags) options() sim.Options {
	return sim.Options{
		Policy: f.policyText, Seed: f.seed, Hours: f.hours, Clusters: f.clusters, Nodes: f.nodes, Faults: f.faults,
		Certain: roll.Map(f.certain, func(name string) sim.FaultKind { return sim.FaultKind(name) }),
	}
}

// simulated is the result of a run, as JSON.
type simulated struct {
	Seed      uint64                `json:"seed"`
	Hours     int                   `json:"hours"`
	Clusters  int                   `json:"clusters"`
	Nodes     int                   `json:"nodes"`
	Digest    string                `json:"digest"`
	NodeHours float64               `json:"nodeHours"`
	Seconds   float64               `json:"seconds"` // duration of the run
	Counts    map[sim.EventKind]int `json:"counts"`
	// PodMinutes is the downtime in minutes of pods that Rollcall interrupted and no fault
	// did.
	PodMinutes float64 `json:"podMinutes"`
	// Situations are the decisions of the run.
	Situations []situation `json:"situations"`
	Broken     []broken    `json:"broken"`
}

type situation struct {
	sim.Situation
	Times int `json:"times"`
}

type broken struct {
	At     time.Time `json:"at"`
	Rule   sim.Rule  `json:"rule"`
	Detail string    `json:"detail"`
}

// tally sums up the results of several runs.
type tally struct {
	runs, arose, acts int
	nodeHours         float64
	situations        map[sim.Situation]int
	harm              sim.Harm
	broken            []string // seeds that broke a rule, with the rule, if more seeds followed
}

// simulate runs one seed, or consecutive seeds in parallel, one per processor. The output
// does not depend on the number of processors: it is in the order of the seeds, and ends
// with the first seed that breaks a rule.
func simulate(ctx context.Context, env Environment, f simulateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
	atOnce := runtime.GOMAXPROCS(0)
	if f.history {
		atOnce = 1 // a verbose run prints as it goes
	}
	began, first, begun, used := env.Now(), f.seed, 0, processorTime()
	more := func() bool {
		return ctx.Err() == nil && (begun < f.seeds || f.soak > 0 && env.Now().Sub(began) < f.soak)
	}
	var queue []chan ran
	all := tally{situations: map[sim.Situation]int{}}
	failed := false
	for !failed {
		for len(queue) < atOnce && more() {
			done := make(chan ran, 1)
			go func(seed uint64) { done <- f.run(ctx, env, seed) }(first + uint64(begun))
			queue, begun = append(queue, done), begun+1
		}
		if len(queue) == 0 {
			break
		}
		r, ok := f.next(ctx, queue[0])
		if !ok {
			break
		}
		queue = queue[1:]
		if r.err != nil {
			return r.err
		}
		f.seed = r.seed
		var err error
		if failed, err = f.report(ctx, env, r, &all); err != nil {
			return err
		}
	}
	switch {
	case f.summary:
		f.summarize(env, all, first, processorTime()-used)
	case all.runs > 1 && !f.output.data():
		f.tally(env, all, first, failed)
	}
	switch {
	case ctx.Err() != nil:
		return interrupted(fmt.Sprintf("%d of the %d %s begun were completed", all.runs, begun, roll.Plural(begun, "run", "runs")))
	case failed || len(all.broken) > 0:
		return exit(ExitError)
	}
	return nil
}

// next waits for a run. It returns false if the context ended first: building a large
// account takes seconds. A run that prints while it runs is always waited for.
func (f simulateFlags) next(ctx context.Context, done <-chan ran) (r ran, ok bool) {
	stop := ctx.Done()
	if f.history {
		stop = nil
	}
	select {
	case r = <-done:
		return r, ctx.Err() == nil
	case <-stop:
		return r, false
	}
}

func (f simulateFlags) tally(env Environment, all tally, first uint64, failed bool) {
	verdict, made := "no rule was broken", ""
	if failed {
		verdict = fmt.Sprintf("seed %d broke a rule", f.seed)
	}
	if len(f.certain) > 0 {
		made = fmt.Sprintf("; the situation of %s arose in %d", strings.Join(f.certain, " or "), all.arose)
	}
	say(env, "\n%d %s, of seeds %d to %d: %s; %.0f node-hours, %d acts, %d situations, %s%s\n", all.runs, roll.Plural(all.runs, "run", "runs"), first, f.seed, verdict, all.nodeHours, all.acts, len(all.situations), harm(all.harm), made)
}

// summarize prints the results of all seeds on one line, with the work done per second of
// processor time.
func (f simulateFlags) summarize(env Environment, all tally, first uint64, used time.Duration) {
	verdict := "no rule was broken"
	if len(all.broken) > 0 {
		verdict = "BROKEN: " + strings.Join(all.broken, ", ")
	}
	perSecond := ""
	if s := used.Seconds(); s > 0 {
		perSecond = fmt.Sprintf(", %.0f s of processor time: %.0f node-hours and %.2f acts per second", s, all.nodeHours/s, float64(all.acts)/s)
	}
	say(env, "seeds %d to %d, %d %s of %d nodes, %d h: %.0f node-hours, %d acts, %d situations; %s%s\n", first, f.seed, f.clusters, roll.Plural(f.clusters, "cluster", "clusters"), f.nodes, f.hours, all.nodeHours, all.acts, len(all.situations), verdict, perSecond)
}

// harm describes what the workload lost to acts, beyond its losses to the faults.
func harm(h sim.Harm) string {
	return fmt.Sprintf("%d working %s interrupted for %.0f min", h.Pods, roll.Plural(h.Pods, "pod", "pods"), h.Minutes.Minutes())
}

// ran is the result of one seed.
type ran struct {
	seed   uint64
	sc     sim.Scenario
	result sim.Result
	arose  bool
	took   time.Duration
	err    error
}

func (f simulateFlags) run(ctx context.Context, env Environment, seed uint64) ran {
	f.seed = seed
	r := ran{seed: seed, sc: sim.Random(f.options())}
	watch := sim.Watch{Guards: f.guards, Stop: ended(ctx), Tell: func(e sim.Event) {
		r.arose = r.arose || e.Kind == sim.EventArose && slices.Contains(f.certain, e.Stage)
		if f.history && !f.output.data() {
			say(env, "  %s\n", e)
		}
	}}
	end := func() error { return nil }
	if f.record != "" {
		if watch.Record, end, r.err = recordTo(f.record); r.err != nil {
			return r
		}
	}
	began := time.Now()
	r.result, r.err = sim.Run(r.sc, watch)
	r.took = time.Since(began)
	r.err = errors.Join(r.err, end())
	return r
}

// report counts and prints the result of a seed, and reports whether it broke a rule.
func (f simulateFlags) report(ctx context.Context, env Environment, r ran, all *tally) (failed bool, err error) {
	result := r.result
	all.runs++
	all.acts += result.Counts[sim.EventAct]
	all.nodeHours += result.NodeHours
	for s, n := range result.Situations {
		all.situations[s] += n
	}
	all.harm.Pods += result.Harm.Pods
	all.harm.Minutes += result.Harm.Minutes
	if r.arose {
		all.arose++
	}
	if f.summary {
		if len(result.Violations) > 0 {
			all.broken = append(all.broken, fmt.Sprintf("%s by seed %d", result.Violations[0].Rule, r.seed))
		}
		return false, nil
	}
	if f.output.data() {
		return len(result.Violations) > 0, f.json(env, result, r.took)
	}
	verdict := "no rule was broken"
	if len(result.Violations) > 0 {
		verdict = "BROKEN: " + string(result.Violations[0].Rule)
	}
	say(env, "seed %d: %s; %.0f node-hours, %d findings, %d orders, %d acts, %d held, %d functions killed, %s, in %s\n",
		r.seed, verdict, result.NodeHours, result.Counts[sim.EventFinding], result.Counts[sim.EventOrder], result.Counts[sim.EventAct], result.Counts[sim.EventHeld], result.Counts[sim.EventKilled], harm(result.Harm), r.took.Round(time.Millisecond))
	if len(result.Violations) == 0 {
		return false, nil
	}
	return true, f.explain(ctx, env, r.sc, result)
}

func (f simulateFlags) json(env Environment, r sim.Result, took time.Duration) error {
	out := simulated{
		Seed: f.seed, Hours: f.hours, Clusters: f.clusters, Nodes: f.nodes, Digest: r.Digest, NodeHours: r.NodeHours, Seconds: took.Seconds(), Counts: r.Counts, PodMinutes: r.Harm.Minutes.Minutes(), Situations: []situation{}, Broken: []broken{},
	}
	for _, v := range r.Violations {
		out.Broken = append(out.Broken, broken{v.At, v.Rule, v.Detail})
	}
	for s, n := range r.Situations {
		out.Situations = append(out.Situations, situation{s, n})
	}
	slices.SortFunc(out.Situations, func(a, b situation) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.Decision, b.Decision))
	})
	return json.NewEncoder(env.Stdout).Encode(out)
}

// explain prints the smallest run that breaks the same rule as the failed run, its history,
// and the command that repeats the whole run.
func (f simulateFlags) explain(ctx context.Context, env Environment, sc sim.Scenario, r sim.Result) error {
	rule := r.Violations[0].Rule
	for _, v := range r.Violations {
		say(env, "  %s  %s: %s\n", v.At.Format("02 15:04:05"), v.Rule, v.Detail)
	}
	if f.shrink > 0 {
		say(env, "\nlooking for a smaller run ...\n")
		sc, r = sim.Shrink(sc, sim.Watch{Guards: f.guards, Stop: ended(ctx)}, rule, f.shrink, nil)
	}
	say(env, "\nthe smallest run that breaks the rule has %d %s:\n", len(sc.Faults), roll.Plural(len(sc.Faults), "fault", "faults"))
	for _, c := range sc.Clusters {
		say(env, "  cluster %s%s\n", c.Name, roll.Behind(", mode ", c.Mode))
		for _, g := range c.Groups {
			say(env, "    %d %s of %s %s\n", g.Desired, g.Type, g.Owner, g.Name)
		}
	}
	for _, fault := range sc.Faults {
		say(env, "  at %s %s\n", fault.At, fault)
	}
	say(env, "\nits history:\n")
	if _, err := sim.Run(sc, sim.Watch{Guards: f.guards, Stop: ended(ctx), Tell: func(e sim.Event) { say(env, "  %s\n", e) }}); err != nil {
		return err
	}
	words := strings.Fields(fmt.Sprintf("rollcall simulate --seed %d --hours %d --clusters %d --nodes %d --faults %d", f.seed, f.hours, f.clusters, f.nodes, f.faults))
	for _, name := range f.certain {
		words = append(words, "--fault", name)
	}
	if f.policy != "" {
		words = append(words, "--policy", f.policy)
	}
	if f.mode != "" {
		words = append(words, "--mode", f.mode)
	}
	say(env, "\nthe full run again: %s --history\n", paste.Command(words...))
	return nil
}

func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

func say(env Environment, format string, args ...any) {
	_, _ = fmt.Fprintf(env.Stdout, format, args...)
}

// policyInMode returns the policy in a file in a mode: see inMode.
func policyInMode(env Environment, path, mode string) (string, error) {
	var faults []error
	if mode != "" {
		_, err := policy.ParseMode(mode)
		faults = append(faults, ofFlag("--mode", err))
		if path == "" {
			faults = append(faults, errors.New("--mode needs --policy FILE"))
		}
	}
	if path == "" {
		return "", errors.Join(faults...)
	}
	_, data, err := policyFile(env, path)
	if err := errors.Join(append(faults, err)...); err != nil {
		return "", err
	}
	text, err := inMode(data, mode)
	return text, ofFlag("--policy "+path, err)
}

// inMode returns a valid policy as YAML with its sections on lines of their own, since simulated faults
// change its mode and stop it. With mode "" it keeps its own. If it has none, it allows what the
// deployment permits, which is remediate.
func inMode(data []byte, mode string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", err
	}
	root := doc.Content[0]
	root.Style = 0
	var own *yaml.Node
	for i := 0; i < len(root.Content); i += 2 { // keys and values alternate
		if root.Content[i].Value == "mode" {
			own = root.Content[i+1]
		}
	}
	if own == nil {
		own = &yaml.Node{Kind: yaml.ScalarNode, Value: string(policy.Remediate)}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "mode"}, own)
	}
	own.Value = cmp.Or(mode, own.Value)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(&doc)
	return out.String(), err
}
