package mutate

import (
	"slices"

	"rollcall/shared/sim"
)

// Table returns all mutations, ordered by package in the order in which a check runs.
func Table() []Mutation {
	return slices.Concat(assessed(), limited(), climbed(), approved(), owned(), paced(), told(), remembered(), carriedOut(), read(), kept(), handled())
}

func faults(kinds ...sim.FaultKind) []sim.FaultKind { return kinds }

func rules(rules ...sim.Rule) []sim.Rule { return rules }
