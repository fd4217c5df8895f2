// Package mutate tries whether the simulator would notice a careless change of the product.
//
// A Mutation is such a change: a few words of one function, replaced by others. All of them
// are woven into one binary, in which an environment variable chooses the one that is in
// force, so that the product is built once and not once for each. A mutation is caught if the
// auditor of shared/sim sees a rule broken in one of its runs, and the product itself breaks
// none in the same run.
//
//	make mutate                     all of them
//	go test ./tests/mutate          that each still applies, and a sample
//	go run ./tests/mutate/cmd/mutate -only hold
package mutate

import (
	"slices"
	"strconv"
	"strings"

	"rollcall/shared/sim"
)

// Mutation is a wrong version of the product, as somebody could make it by mistake.
type Mutation struct {
	Name string
	File string // from the root of the repository
	// Old is what New replaces. It occurs exactly once in the file, in the body of a function.
	Old, New string
	// Harm is what it would do in an account.
	Harm string
	// Faults befall the first runs for certain, all of them in each, in this order; without
	// any, every run is a random one. A fault may say more than its kind: people=hold is one
	// of its forms, silence=2 on how many machines, and api-errors=0.3 on what share of calls.
	Faults []sim.FaultKind
	// Rules are those of which one is the first that is broken.
	Rules []sim.Rule
	// Survives says why no rule is broken: what else keeps the mutation from harm.
	Survives string
	// Missed says what harm the auditor does not notice yet.
	Missed string
	// Sample: it is tried in every run of the tests.
	Sample bool
}

// caughtBy reports whether breaking the rule is what the table expects.
func (m Mutation) caughtBy(rule sim.Rule) bool { return slices.Contains(m.Rules, rule) }

// Run is one run of the simulator.
type Run struct {
	Seed   uint64
	Faults []sim.FaultKind `json:",omitempty"`
}

// Options are what the scenario is made for: with certain faults a small account, as rollcall
// simulate makes it, and without any a larger one.
func (r Run) Options() sim.Options {
	if len(r.Faults) == 0 {
		return sim.Options{Seed: r.Seed, Hours: 8, Clusters: 2, Nodes: 20}
	}
	o := sim.Options{Seed: r.Seed, Hours: sim.CertainHours, Clusters: len(r.Faults), Nodes: 12}
	for _, f := range r.Faults {
		kind, form, _ := strings.Cut(string(f), "=")
		if _, err := strconv.ParseFloat(form, 64); err == nil {
			form = ""
		}
		o.Certain, o.Values = append(o.Certain, sim.FaultKind(kind)), append(o.Values, form)
	}
	return o
}

// Scenario is what the run is made from. Several faults meet: they begin at the same time, in
// the cluster and the group of the first, and there is no other cluster. Of people there is one
// for each machine, or they would hardly ever meddle with the one that is ill.
func (r Run) Scenario() sim.Scenario {
	sc := sim.Random(r.Options())
	certain := sc.Faults[len(sc.Faults)-len(r.Faults):]
	for i, said := range r.Faults {
		_, form, _ := strings.Cut(string(said), "=")
		if n, err := strconv.ParseFloat(form, 64); err == nil {
			amount(&certain[i], n)
		}
	}
	if len(certain) < 2 {
		return sc
	}
	first, meet := certain[0], sc.Clusters[0].Name
	for _, f := range certain {
		if f.Kind == sim.FaultDeleted {
			meet = f.Cluster
		}
	}
	for i := range certain {
		f := &certain[i]
		if f.Kind == sim.FaultPeople {
			f.Count = everybody
		}
		if f.At = first.At; f.For > 0 {
			f.For = min(f.For, sc.Storm-f.At) // or the calm would be none
		}
		if f.Cluster != "" {
			f.Cluster = meet
		}
		if f.Count > 0 && first.Group != "" && first.Cluster == meet {
			f.Group = first.Group
		}
	}
	sc.Clusters = slices.DeleteFunc(sc.Clusters, func(c sim.ClusterSpec) bool { return c.Name != meet && meet == first.Cluster })
	return sc
}

// amount is on how much a row has a fault: the share of calls, or the number of machines.
func amount(f *sim.Fault, n float64) {
	if f.Share > 0 {
		f.Share = n
		return
	}
	f.Count = int(n)
}

// everybody is more machines than a group has.
const everybody = 100

// Seeds is in how many runs a mutation that does harm is caught.
const Seeds = 50

// Runs are the runs in which a mutation is tried, in order: half of them with its faults.
func Runs(faults []sim.FaultKind) (all []Run) {
	certain := 0
	if len(faults) > 0 {
		certain = Seeds / 2
	}
	for i := range Seeds {
		if i < certain {
			all = append(all, Run{uint64(i + 1), faults})
		} else {
			all = append(all, Run{Seed: uint64(i - certain + 1)})
		}
	}
	return all
}

// Outcome is what came of a run.
type Outcome struct {
	Run
	Digest string
	Rule   sim.Rule `json:",omitempty"` // the first that was broken
	Detail string   `json:",omitempty"`
}
