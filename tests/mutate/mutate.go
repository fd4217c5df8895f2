// Package mutate tests whether the simulator would notice a careless change of the product.
//
// A Mutation is such a change: a few words of one function, replaced by others. All mutations
// are woven into one binary, so the product is built only once. An environment variable
// selects the mutation in force. A mutation is caught if the auditor of shared/sim sees a
// rule broken in one of its runs, and the unmutated product breaks none in the same run.
//
//	make mutate                     all of them
//	go test ./tests/mutate          that each still applies, and a sample
//	go run ./tests/mutate/cmd/mutate -only hold
package mutate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/shared/sim"
)

// Mutation is a wrong version of the product, as somebody could write it by mistake.
type Mutation struct {
	Name string
	File string // relative to the repository's root
	// Old is the text that New replaces. It occurs exactly once in the file, in the body of a
	// function.
	Old, New string
	// Harm says what the mutation would do in an account.
	Harm string
	// Faults occur in each of the first runs, all of them and in this order. Without any,
	// every run is random. A fault may have a parameter: people=hold selects a form, silence=2
	// the number of machines, api-errors=0.3 the share of calls, and denied=acts:0.9 both.
	Faults []sim.FaultKind
	// Policy is the policy of the runs with Faults; "" draws one. Days is how long they last, 0 as
	// long as rollcall simulate makes them.
	Policy string
	Days   int
	// Rules are the expected rules: the first broken rule is one of them.
	Rules []sim.Rule
	// Survives says why no rule is broken: what else prevents harm.
	Survives string
	// Sample marks a mutation that every run of the tests includes.
	Sample bool
}

// caughtBy reports whether the table expects the rule to be broken.
func (m Mutation) caughtBy(rule sim.Rule) bool { return slices.Contains(m.Rules, rule) }

// Run is one run of the simulator.
type Run struct {
	Seed   uint64
	Faults []sim.FaultKind `json:",omitempty"`
	Policy string          `json:",omitempty"` // "" draws one
	Days   int             `json:",omitempty"` // 0 is less than one
}

// Options returns the options of the run's scenario: a small account, as rollcall simulate
// makes it, if the run has faults, and a larger one otherwise.
func (r Run) Options() sim.Options {
	if len(r.Faults) == 0 {
		return sim.Options{Seed: r.Seed, Hours: 8, Clusters: 2, Nodes: 20}
	}
	o := sim.Options{Seed: r.Seed, Hours: cmp.Or(24*r.Days, sim.CertainHours), Clusters: len(r.Faults), Nodes: 12, Policy: r.Policy}
	for _, f := range r.Faults {
		kind, form, _ := parameters(f)
		o.Certain, o.Values = append(o.Certain, kind), append(o.Values, form)
	}
	return o
}

// Scenario returns the run's scenario. Several faults coincide: they begin at the same time, in
// the cluster and group of the first, and there is no other cluster. There is one person per
// machine; with fewer, a person would hardly ever act on the faulty one.
func (r Run) Scenario() sim.Scenario {
	sc := sim.Random(r.Options())
	certain := sc.Faults[len(sc.Faults)-len(r.Faults):]
	if r.Days > 0 {
		certain[0].At = time.Hour
	}
	for i, said := range r.Faults {
		if _, _, n := parameters(said); n != 0 {
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
			f.For = min(f.For, sc.Storm-f.At) // otherwise there would be no calm
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

// parameters returns the kind of a fault, its form, "" if it names none, and how much it affects, 0
// if it does not say.
func parameters(f sim.FaultKind) (kind sim.FaultKind, form string, much float64) {
	name, form, _ := strings.Cut(string(f), "=")
	if n, err := strconv.ParseFloat(form, 64); err == nil {
		return sim.FaultKind(name), "", n
	}
	form, of, _ := strings.Cut(form, ":")
	much, _ = strconv.ParseFloat(of, 64) // "" is 0
	return sim.FaultKind(name), form, much
}

// amount sets how much a fault affects: the share of calls, or the number of machines.
func amount(f *sim.Fault, n float64) {
	if f.Share > 0 {
		f.Share = n
		return
	}
	f.Count = int(n)
}

// everybody is more machines than a group has.
const everybody = 100

// Seeds is the number of runs in which a harmful mutation must be caught.
const Seeds = 50

// Runs returns the first n runs in which a mutation is tried. Of the first Seeds, half have
// its faults; all later ones are random.
func Runs(faults []sim.FaultKind, n int) (all []Run) {
	certain := 0
	if len(faults) > 0 {
		certain = Seeds / 2
	}
	for i := range n {
		if i < certain {
			all = append(all, Run{Seed: uint64(i + 1), Faults: faults})
		} else {
			all = append(all, Run{Seed: uint64(i - certain + 1)})
		}
	}
	return all
}

// Outcome is the result of a run.
type Outcome struct {
	Run
	Digest string
	Rule   sim.Rule `json:",omitempty"` // the first broken rule
	Detail string   `json:",omitempty"`
}
