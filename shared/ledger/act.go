package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Action is one act: the intent, and the outcome once it is known.
type Action struct {
	ID       string          `json:"id"` // of the order
	Do       string          `json:"do"` // such as terminate
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	Group    roll.Group      `json:"group"`
	Kind     roll.Kind       `json:"kind"`
	At       time.Time       `json:"at"` // of the intent
	// Free: it gives back what an earlier act took, and counts against no budget.
	Free    bool     `json:"free,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`

	// Desired is the desired capacity of its group when it was recorded, 0 if it has none.
	Desired int `json:"desired,omitempty"`
	// Launched is when its instance was launched, zero if that was not seen.
	Launched time.Time `json:"launched,omitzero"`

	// What it rests on, for whoever asks afterwards, when the instance can tell nothing any
	// more. It decides nothing, and what an earlier version wrote lacks it.
	Why      string    `json:"why,omitempty"`      // one sentence for a person, at most WhyRunes
	Since    time.Time `json:"since,omitzero"`     // of the trouble
	Cause    string    `json:"cause,omitempty"`    // code of the first decisive cause, "" if none was found
	Evidence string    `json:"evidence,omitempty"` // where what was read of it is kept, "" if it is not
}

// WhyRunes is how long the reason of an act may be: every check reads all acts of a month.
const WhyRunes = 500

// Result is how an act ended. A call whose answer leaves open whether it took
// effect has no result yet: a look at the instance will tell.
type Result string

// The results.
const (
	Done   Result = "done"   // AWS accepted it
	Failed Result = "failed" // AWS refused it, or it could not be asked; nothing happened, but see Unfinished
)

// NotYet begins the detail of a failure that a little time cures: EC2 did not show the
// order's tag yet, and so did not let the act happen.
const NotYet = "not yet: "

// Unfinished begins the detail of a failure that came half-way: a drain that left pods
// on the node when its time was over. It may be tried again like any failure, but it
// interrupted something.
const Unfinished = "unfinished"

// Outcome is the end of an act.
type Outcome struct {
	Result Result    `json:"result"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Interrupted reports whether the act took something from the workload, or may have: it
// is not free, and did not fail with nothing done.
func (a Action) Interrupted() bool {
	failed := a.Outcome != nil && a.Outcome.Result == Failed && !strings.HasPrefix(a.Outcome.Detail, Unfinished)
	return !a.Free && !failed
}

// TookUntil is when the act last took something from the workload, as far as the ledger
// knows: a drain goes on for a while, and evicts until its end.
func (a Action) TookUntil() time.Time {
	if a.Outcome != nil && a.Outcome.At.After(a.At) {
		return a.Outcome.At
	}
	return a.At
}

// since reports an act that took something after a time, or goes on: a drain without an
// outcome.
func (a Action) since(t time.Time) bool {
	return a.TookUntil().After(t) || a.Do == drain && a.Outcome == nil
}

// drain is the Do of the act that goes on.
const drain = "drain"

// Budget bounds how many instances of a cluster are interrupted: at most Max by acts
// that ended after Since, or go on. A drain and the termination that follows it are about
// one instance and count once. A budget of zero permits nothing.
type Budget struct {
	Max   int
	Since time.Time
	// Ordered is when the act was decided on; zero if that does not matter. Another
	// instance of its group that was interrupted since then was not known to whoever
	// decided, and a group gives up one instance at a time.
	Ordered time.Time
}

// overtaken finds the act on another instance of the intent's group that was begun when
// the intent was decided on, or since.
func (b Budget) overtaken(actions []Action, intent Action) (Action, bool) {
	if b.Ordered.IsZero() || intent.Free || intent.Group == roll.GroupNone {
		return Action{}, false
	}
	for _, a := range actions {
		if a.Group == intent.Group && a.Instance != intent.Instance && a.Interrupted() && !a.At.Before(b.Ordered) {
			return a, true
		}
	}
	return Action{}, false
}

// Spent counts the instances on which a budget is used up, but for the one named: to
// act on it once more takes nothing further. "" names none.
func (b Budget) Spent(actions []Action, but roll.InstanceID) int {
	used := map[roll.InstanceID]bool{}
	for _, a := range actions {
		if a.Interrupted() && a.since(b.Since) && (but == "" || a.Instance != but) {
			used[a.Instance] = true
		}
	}
	return len(used)
}

// Unresolved returns the act that has no outcome yet and keeps another one on the
// instance waiting: one on the instance itself, or else one on another of its group,
// unless that is free. Instances of no group have nothing to do with each other, and
// for a free act, which waits for its own instance only, roll.GroupNone is the group to
// ask with.
func (s State) Unresolved(instance roll.InstanceID, group roll.Group) (Action, bool) {
	var of Action
	found := false
	for _, a := range s.Actions {
		switch {
		case a.Outcome != nil:
		case a.Instance == instance:
			return a, true
		case !found && !a.Free && a.Group == group && group != roll.GroupNone:
			of, found = a, true
		}
	}
	return of, found
}

// ActsOf lists the acts on members of a group that ended after a time, or go on, in the
// order in which they began, whatever came of them.
func (s State) ActsOf(group roll.Group, since time.Time) []Action {
	var out []Action
	for _, a := range s.Actions {
		if a.Group == group && a.since(since) {
			out = append(out, a)
		}
	}
	return out
}

// Action finds the latest try of an act by its id.
func (s State) Action(id string) (Action, bool) {
	for _, a := range slices.Backward(s.Actions) {
		if a.ID == id {
			return a, true
		}
	}
	return Action{}, false
}

// IntentRetention is how long an Auto Scaling group, or a version of a launch template,
// that had a node is taken to be meant for nodes. What runs once a quarter has had some
// within 92 days. Afterwards it takes a node, or user data, to show it anew: so long after
// its last node a group may well have been given another purpose. IntentRefresh is how old
// the memory of one that has nodes may grow: it costs one write a day for each.
const (
	IntentRetention = 100 * 24 * time.Hour
	IntentRefresh   = 24 * time.Hour
)

// ActionRetention is how long acts are kept: longer than any budget or
// look-back counts, and long enough to answer "who did this last week?".
const ActionRetention = 30 * 24 * time.Hour

// begin decides on an intent and takes it into the state.
func (s *State) begin(intent Action, budget Budget) error {
	s.init()
	if intent.ID == "" || intent.Instance == "" || intent.At.IsZero() {
		return fmt.Errorf("begin %s: an intent needs an id, an instance and a time", intent.Do)
	}
	if earlier, ok := s.Action(intent.ID); ok && (earlier.Outcome == nil || earlier.Outcome.Result != Failed) {
		return fmt.Errorf("%s of %s, order %s, begun at %s: %w", intent.Do, intent.Instance, intent.ID, earlier.At.UTC().Format(time.RFC3339), ErrBegun)
	}
	group := intent.Group
	if intent.Free {
		group = roll.GroupNone
	}
	if earlier, ok := s.Unresolved(intent.Instance, group); ok {
		return fmt.Errorf("%s of %s: %s of %s begun at %s: %w", intent.Do, intent.Instance, earlier.Do, earlier.Instance, earlier.At.UTC().Format(time.RFC3339), ErrUnresolved)
	}
	if a, ok := budget.overtaken(s.Actions, intent); ok {
		return fmt.Errorf("%s of %s was decided on at %s; %s of %s, of the same group %s, was begun at %s: %w", intent.Do, intent.Instance, budget.Ordered.UTC().Format(time.RFC3339), a.Do, a.Instance, a.Group, a.At.UTC().Format(time.RFC3339), ErrOvertaken)
	}
	if spent := budget.Spent(s.Actions, intent.Instance); !intent.Free && spent >= budget.Max {
		return fmt.Errorf("%s of %s: %d of %d instances used since %s: %w", intent.Do, intent.Instance, spent, budget.Max, budget.Since.UTC().Format(time.RFC3339), ErrBudgetSpent)
	}
	kept := s.Actions[:0:0]
	for _, a := range s.Actions {
		if a.Outcome == nil || intent.At.Sub(a.At) < ActionRetention {
			kept = append(kept, a)
		}
	}
	intent.Outcome = nil
	s.Actions = append(kept, intent)
	return nil
}

// finish takes an outcome into the state.
func (s *State) finish(id string, outcome Outcome) error {
	for i := range slices.Backward(s.Actions) {
		if s.Actions[i].ID == id {
			if s.Actions[i].Outcome == nil {
				s.Actions[i].Outcome = &outcome
			}
			return nil
		}
	}
	return fmt.Errorf("outcome of order %s: %w", id, ErrNotBegun)
}
