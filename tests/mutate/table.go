package mutate

import (
	"slices"

	"rollcall/shared/sim"
)

// Table is all mutations, by the packages of the product in the order in which a check runs.
func Table() []Mutation {
	return slices.Concat(assessed(), limited(), climbed(), owned(), paced(), told(), remembered(), carriedOut(), read(), kept(), handled())
}

func faults(kinds ...sim.FaultKind) []sim.FaultKind { return kinds }

func rules(rules ...sim.Rule) []sim.Rule { return rules }

// noTolerance is said of what acts too early.
const noTolerance = "no rule knows the tolerance of a fault yet, before which nothing may be done"

// untried is said of what no rule noticed in the few runs that were made so far.
const untried = "not looked into yet: no rule was broken in its first four runs"
