package mutate

import (
	"slices"
	"strings"

	"rollcall/shared/sim"
)

// Table returns all mutations, ordered by package in the order in which a check runs.
func Table() []Mutation {
	return slices.Concat(assessed(), limited(), climbed(), approved(), owned(), paced(), explained(), told(), remembered(), carriedOut(), read(), kept(), handled())
}

func faults(kinds ...sim.FaultKind) []sim.FaultKind { return kinds }

func rules(rules ...sim.Rule) []sim.Rule { return rules }

// remediating returns a policy in mode remediate that has these sections besides.
func remediating(sections ...string) string {
	return strings.Join(append([]string{"apiVersion: rollcall/v1", "mode: remediate"}, sections...), "\n") + "\n"
}
