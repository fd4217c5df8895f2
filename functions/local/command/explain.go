package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/shared/bundle"
	"rollcall/shared/evidence"
	"rollcall/shared/eyes"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/shared/run"
)

// explainFlags are the flags of rollcall explain as they were given.
type explainFlags struct {
	bundle, at, cluster, mode, policy, output, ledger, region string
	timeout                                                   time.Duration
}

func explainCommand(env Environment) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain [INSTANCE]",
		Short: "Say why an instance is no healthy node, with the evidence and a fix",
		Long: `Says everything about one instance: what is wrong with it, the causes that were
found with the evidence for each and what can be pasted to fix it, what was ruled
out, what could not be checked and why, and what Rollcall would do or hold back.

INSTANCE is an EC2 instance id. With --bundle DIR the answer comes from files
alone, such as rollcall capture writes, or anybody with the AWS CLI and kubectl;
INSTANCE may be left out then: everything that is wrong is explained.

It only reads, and answers "what if": the finding counts as seen twice, and as
opened after mode remediate was turned on; every other limit applies. With
--mode remediate it tells what would be ordered.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return explain(cmd.Context(), env, f, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.bundle, "bundle", "", "directory of captured answers, instead of the account")
	flags.StringVar(&f.at, "at", "", "time of the capture, RFC 3339 (default at.txt of the bundle)")
	flags.StringVar(&f.cluster, "cluster", "", "cluster of the instance (default as its tags tell)")
	flags.StringVar(&f.mode, "mode", string(policy.Observe), "observe, notify or remediate: what would be done in it?")
	flags.StringVar(&f.policy, "policy", "", "policy file (default: the built-in policy)")
	flags.StringVar(&f.output, "output", string(outputTable), "table or json")
	flags.StringVar(&f.ledger, "ledger", "", "file in which rollcall check remembers, to be read only")
	flags.StringVar(&f.region, "region", "", "AWS region (default from the environment or profile)")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "longest time to read the cluster, and again to find out why")
	return c
}

// question is what is asked, understood.
type question struct {
	instance roll.InstanceID // "" for all
	mode     policy.Mode
	output   output
	policy   *policy.Document
	at       time.Time // zero: as the bundle or the clock tells
	bundle   *bundle.Bundle
}

// settle reads every flag, and reports all that is wrong at once.
func (f explainFlags) settle(args []string) (question, error) {
	var q question
	var faults []error
	keep := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(args) > 0 {
		var ok bool
		if q.instance, ok = roll.ParseInstanceID(args[0]); !ok {
			keep(fmt.Errorf("%q is no EC2 instance id: it takes i- and 8 or 17 hexadecimal digits", args[0]))
		}
	}
	var err error
	if q.mode, err = policy.ParseMode(f.mode); err != nil {
		keep(fmt.Errorf("--mode: %w", err))
	}
	q.output, err = parseOutput(f.output)
	keep(err)
	q.policy, err = readPolicy(f.policy)
	keep(err)
	if f.timeout <= 0 {
		keep(fmt.Errorf("--timeout %s: it must be more than zero", f.timeout))
	}
	if f.at != "" {
		if q.at, err = time.Parse(time.RFC3339, f.at); err != nil {
			keep(fmt.Errorf("--at %q: it takes a time as RFC 3339 has it, such as 2026-03-02T12:00:00Z", f.at))
		}
	}
	switch {
	case f.bundle != "":
		for _, flag := range []struct{ name, given string }{{"--cluster", f.cluster}, {"--region", f.region}, {"--ledger", f.ledger}} {
			if flag.given != "" {
				keep(fmt.Errorf("%s is of no use with --bundle, which tells it", flag.name))
			}
		}
		q.bundle, err = bundle.Open(f.bundle)
		keep(err)
	case len(args) == 0:
		keep(errors.New("name an INSTANCE, or give --bundle DIR"))
	case f.at != "":
		keep(errors.New("--at is for --bundle: the account can only be looked at now"))
	}
	if q.bundle != nil && q.at.IsZero() {
		if at, ok := q.bundle.At(); ok {
			q.at = at
		} else {
			keep(fmt.Errorf("--bundle %s has no at.txt: say by --at when it was captured", f.bundle))
		}
	}
	return q, errors.Join(slices.DeleteFunc(faults, func(err error) bool { return err == nil })...)
}

func explain(ctx context.Context, env Environment, f explainFlags, args []string) error {
	q, err := f.settle(args)
	if err != nil {
		return err
	}
	runner := &run.Runner{Policy: q.policy, Permitted: q.mode, Clock: env.Now, ReadTime: f.timeout, WhyTime: f.timeout}
	p := newProgress(env, 1)
	runner.Progress = p.tell
	var cluster string
	if q.bundle != nil {
		look := eyes.OfBundle(q.bundle)
		runner.Observer, runner.Why = look.Observer, look.Explain
		runner.Memory = func(s *roll.Snapshot) ledger.State { return memory(s, q.bundle) }
		runner.Clock = func() time.Time { return q.at }
		cluster = q.bundle.ClusterID().Name
	} else {
		if cluster, err = f.live(ctx, runner, q); err != nil {
			return err
		}
		q.at = env.Now()
	}
	c := runner.Look(ctx, cluster, q.at)
	p.clear()
	if q.bundle != nil {
		for _, name := range q.bundle.Ignored() {
			c.Assessment.Notes = append(c.Assessment.Notes, fmt.Sprintf("%s is no file of a bundle, and was not read: is it misnamed?", name))
		}
	}
	return printExplanation(env, q, c)
}

// live plugs the account into the runner, and finds the instance's cluster.
func (f explainFlags) live(ctx context.Context, runner *run.Runner, q question) (string, error) {
	a, err := connect(ctx, f.region, "")
	if err != nil {
		return "", err
	}
	runner.Observer, runner.Why, runner.Ledger = a.eyes.Observer, a.eyes.Explain, ledger.NewMemory()
	if f.ledger != "" {
		if runner.Ledger, err = ledger.OpenFile(f.ledger); err != nil {
			return "", fmt.Errorf("--ledger: %w", err)
		}
	}
	if f.cluster != "" {
		return f.cluster, nil
	}
	clusters, err := a.eyes.Observer.ClustersOf(ctx, q.instance)
	switch {
	case err != nil:
		return "", err
	case len(clusters) == 0:
		return "", fmt.Errorf("the tags of %s name no cluster: say which by --cluster", q.instance)
	case len(clusters) > 1:
		return "", fmt.Errorf("the tags of %s name several clusters (%s): say which by --cluster", q.instance, strings.Join(clusters, ", "))
	}
	return clusters[0], nil
}

// memory is what the ledger.json of a bundle makes of the ledger: the pressures of nodes,
// and when they came back to Ready.
func memory(s *roll.Snapshot, b *bundle.Bundle) ledger.State {
	var state ledger.State
	nodes, ok := b.Remembered()
	if !ok {
		return state
	}
	changes := ledger.Changes{
		PutFlips: map[roll.InstanceID][]time.Time{}, PutPressures: map[roll.InstanceID]ledger.Pressure{}, PutNotReady: map[roll.InstanceID]ledger.NotReady{},
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		r, ok := nodes[n.Name]
		if !ok || n.Instance == "" {
			continue
		}
		if len(r.ReadyFlips) > 0 {
			changes.PutFlips[n.Instance] = slices.SortedFunc(slices.Values(r.ReadyFlips), time.Time.Compare)
		}
		if p, ok := pressure(r); ok {
			changes.PutPressures[n.Instance] = p
		}
		// The longer of two absences counts: Unknown and False take turns.
		if c, ok := r.Condition("Ready"); ok && c.Status != string(roll.ConditionTrue) && c.Since.Before(n.Ready.Since) && n.Ready.Status != roll.ConditionTrue {
			changes.PutNotReady[n.Instance] = ledger.NotReady{Since: c.Since, Status: roll.ConditionStatus(c.Status), Transition: c.Since, Known: true}
		}
	}
	state.Apply(changes)
	return state
}

// pressure is what a node ran short of when it was remembered.
func pressure(r evidence.Remembered) (ledger.Pressure, bool) {
	var p ledger.Pressure
	for _, kind := range []string{roll.DiskPressure, roll.MemoryPressure, roll.PIDPressure} {
		c, ok := r.Condition(kind)
		if !ok || c.Status != string(roll.ConditionTrue) {
			continue
		}
		p.Types = append(p.Types, kind)
		if p.Since.IsZero() || c.Since.Before(p.Since) {
			p.Since = c.Since
		}
	}
	return p, len(p.Types) > 0
}

// printExplanation prints what was found out about the instance asked for, or about all.
func printExplanation(env Environment, q question, c report.Check) error {
	if q.instance != "" {
		c = c.Only(q.instance)
	}
	if q.output == outputJSON {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(c.Explanation()); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	} else if err := c.Explain(env.Stdout); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case len(c.Explained()) > 0:
		return exit(ExitFindings)
	case !c.Snapshot.Whole() || len(c.Faults) > 0:
		return exit(ExitError)
	}
	return nil
}
