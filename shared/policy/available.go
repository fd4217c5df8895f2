package policy

import (
	"slices"

	"rollcall/shared/roll"
)

// thisVersion is what this version of Rollcall does of what a policy can say.
// Everything that depends on it reads it here: a version that learns more edits
// this table (and roll.Kinds) and nothing else in the package.
var thisVersion = struct {
	finds      []roll.Kind  // findings it makes
	does       []Do         // verbs it carries out
	zones      bool         // whether limits.zone is counted
	terminates []roll.Owner // owners whose instances it may terminate
}{
	finds:      roll.Kinds(),
	does:       []Do{DoTag, DoNotify, DoTerminate},
	zones:      false,
	terminates: []roll.Owner{roll.OwnerManagedNodeGroup, roll.OwnerAutoScalingGroup, roll.OwnerNone},
}

// The kinds of findings that a policy may name and roll does not have yet.
const (
	uninitialized   roll.Kind = "Uninitialized"
	conditionFailed roll.Kind = "ConditionFailed"
	impaired        roll.Kind = "Impaired"
	flapping        roll.Kind = "Flapping"
	ghost           roll.Kind = "Ghost"
	orphaned        roll.Kind = "Orphaned"
)

// kinds are all kinds of findings for which a policy may have a ladder.
var kinds = []roll.Kind{
	roll.Unregistered, uninitialized, roll.NotReady, roll.Unknown,
	conditionFailed, impaired, flapping, ghost, orphaned,
}

// conditionKind is the kind of finding that a condition leads to.
func conditionKind(conditionType, status string) roll.Kind {
	switch {
	case conditionType == "Ready" && status == string(roll.ConditionFalse):
		return roll.NotReady
	case conditionType == "Ready":
		return roll.Unknown
	}
	return conditionFailed
}

// notFound is the warning about a setting that serves only findings of a kind
// which this version does not make; "" when it makes them.
func notFound(kind roll.Kind) string {
	if slices.Contains(thisVersion.finds, kind) {
		return ""
	}
	return "accepted, but this version does not find " + string(kind) + " yet"
}
