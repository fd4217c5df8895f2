package mutate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"rollcall/shared/sim"
)

// Binary is the product with all mutations built in.
type Binary struct {
	path string
	// mu guards right, the outcomes of runs without a mutation.
	mu    sync.Mutex
	right map[string]Outcome
}

// Verdict is the result of trying a mutation.
type Verdict struct {
	Mutation
	// Caught is the run in which a rule was broken; nil if none was.
	Caught *Outcome
	// Runs is the number of runs. Differs reports whether any of them differed from the same
	// run without the mutation.
	Runs    int
	Differs bool
	// Fault says why the table is wrong about the mutation; "" if it is right.
	Fault string
}

// Try runs a mutation, counted from 1, up to the first broken rule, for at most seeds
// runs.
func (b *Binary) Try(ctx context.Context, number int, m Mutation, seeds int) (Verdict, error) {
	v := Verdict{Mutation: m}
	runs := Runs(m.Faults, seeds)
	for i := range runs {
		if runs[i].Faults != nil {
			runs[i].Policy, runs[i].Days = m.Policy, m.Days
		}
	}
	outcomes, err := b.run(ctx, number, runs)
	if err != nil && ctx.Err() == nil {
		v.Fault = err.Error() // such as a panic: a version that crashes proves nothing
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	v.Runs = len(outcomes)
	if last := outcomes[len(outcomes)-1]; last.Rule != "" {
		v.Caught = &last
	}
	for i, o := range outcomes {
		if i < len(outcomes)-1 && (v.Caught != nil || v.Differs) {
			continue // already known to make a difference
		}
		right, err := b.without(ctx, o.Run)
		if err != nil {
			return v, err
		}
		v.Differs = v.Differs || right.Digest != o.Digest
		if right.Rule != "" {
			v.Fault = fmt.Sprintf("the product itself breaks %s in seed %d: %s", right.Rule, o.Seed, right.Detail)
			return v, nil
		}
	}
	v.Fault = v.wrong()
	return v, nil
}

// wrong returns why the table is wrong about the mutation; "" if it is right.
func (v Verdict) wrong() string {
	switch {
	case v.Caught == nil && v.Survives == "":
		return fmt.Sprintf("breaks no rule in %d runs, and should break one of %v%s", v.Runs, v.Rules, map[bool]string{false: "; it makes no difference in any"}[v.Differs])
	case v.Caught == nil:
		return ""
	case v.Survives != "":
		return fmt.Sprintf("breaks %s (%s), and is said to survive", v.Caught.Rule, v.Caught.Detail)
	case !v.caughtBy(v.Caught.Rule):
		return fmt.Sprintf("breaks %s first (%s), and should break one of %v", v.Caught.Rule, v.Caught.Detail, v.Rules)
	}
	return ""
}

// without returns the outcome of a run without any mutation.
func (b *Binary) without(ctx context.Context, r Run) (Outcome, error) {
	key := fmt.Sprint(r.Seed, r.Faults, r.Policy, r.Days)
	b.mu.Lock()
	known, ok := b.right[key]
	b.mu.Unlock()
	if ok {
		return known, nil
	}
	got, err := b.run(ctx, 0, []Run{r})
	if err != nil {
		return Outcome{}, fmt.Errorf("without a mutation: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.right[key] = got[0]
	return got[0], nil
}

// run runs the binary up to the first broken rule, with a mutation in force, or none if
// number is 0.
func (b *Binary) run(ctx context.Context, number int, runs []Run) ([]Outcome, error) {
	in, err := json.Marshal(runs)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, b.path)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", Variable, number), "GOMAXPROCS=1", "GOGC=400")
	c.Stdin = strings.NewReader(string(in))
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil && strings.HasPrefix(errs.String(), "panic: ") {
		// The functions of a run have no caller that recovers: a panic terminates the run.
		first, _, _ := strings.Cut(errs.String(), "\n")
		return nil, fmt.Errorf("run: %s", first)
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w: %s", err, errs.String())
	}
	var outcomes []Outcome
	if err := json.Unmarshal(out, &outcomes); err != nil {
		return nil, fmt.Errorf("decode what came of %d runs: %w", len(runs), err)
	}
	return outcomes, nil
}

// Simulate runs the scenarios in order, up to the first broken rule.
func Simulate(runs []Run) (outcomes []Outcome, err error) {
	for _, r := range runs {
		result, err := sim.Run(r.Scenario(), sim.Watch{})
		if err != nil {
			return nil, err
		}
		o := Outcome{Run: r, Digest: result.Digest}
		if len(result.Violations) > 0 {
			o.Rule, o.Detail = result.Violations[0].Rule, result.Violations[0].Detail
		}
		outcomes = append(outcomes, o)
		if o.Rule != "" {
			break
		}
	}
	return outcomes, nil
}
