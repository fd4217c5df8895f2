package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Action is one act: the intent, and later the outcome.
type Action struct {
	ID       string          `json:"id"` // id of the order
	Do       string          `json:"do"` // such as terminate
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	Group    roll.Group      `json:"group"`
	Kind     roll.Kind       `json:"kind"`
	At       time.Time       `json:"at"` // time of the intent
	// Free: the act gives back what an earlier act took, and uses no budget.
	Free    bool     `json:"free,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`

	// Desired is the group's desired capacity at that time, 0 if it has none.
	Desired int `json:"desired,omitempty"`
	// Launched is the launch time of the instance, zero if unknown.
	Launched time.Time `json:"launched,omitzero"`

	// Since is when the trouble began.
	Since time.Time `json:"since,omitzero"`

	// Outlives are the instance's volumes and interfaces that EC2 does not delete with it.
	// EC2 lists them only while the instance exists.
	Outlives []string `json:"outlives,omitempty"`

	// Reasons for the act, for a later review. No decision depends on them.
	Why      string `json:"why,omitempty"`      // one sentence for a person, at most WhyRunes
	Cause    string `json:"cause,omitempty"`    // code of the first decisive cause, "" if none was found
	Evidence string `json:"evidence,omitempty"` // where its evidence is stored, "" if it is not
	// Approved is who approved it, nil if it needed no approval.
	Approved *Approval `json:"approved,omitempty"`
}

// WhyRunes is the maximum length of Why in characters: every check reads all acts of a
// month.
const WhyRunes = 500

// Result is the result of an act. An act has none while it is unknown whether the call took
// effect; a check of the instance settles it.
type Result string

// The results.
const (
	Done   Result = "done"   // AWS accepted it
	Failed Result = "failed" // AWS refused it, or the call was not possible; nothing happened, unless it is Unfinished
)

// NotYet is the prefix of the detail of a temporary failure: EC2's permission check did not
// see the order's tag yet, a reboot was throttled, or calls took too long.
const NotYet = "not yet: "

// Unfinished is the prefix of the detail of a failure that did something: a drain that timed
// out with pods left. It may be tried again, and it counts as an interruption.
const Unfinished = "unfinished"

// Outcome is the result of an act, with its time and details.
type Outcome struct {
	Result Result    `json:"result"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Interrupted reports whether the act interrupted the workload, or may have: it is not
// free, and did not fail without an effect.
func (a Action) Interrupted() bool {
	failed := a.Outcome != nil && a.Outcome.Result == Failed && !strings.HasPrefix(a.Outcome.Detail, Unfinished)
	return !a.Free && !failed
}

// TookUntil returns when the act last interrupted the workload, as far as known: a drain
// evicts pods until its outcome.
func (a Action) TookUntil() time.Time {
	if a.Outcome != nil && a.Outcome.At.After(a.At) {
		return a.Outcome.At
	}
	return a.At
}

// interruptsAfter reports whether the act interrupted the workload after a time, or still
// does: a drain without an outcome.
func (a Action) interruptsAfter(t time.Time) bool {
	return a.TookUntil().After(t) || a.Do == drain && a.Outcome == nil
}

// drain is the Do of the only act that takes several checks.
const drain = "drain"

// Budget limits interruptions: at most Max instances of a cluster, by acts that ended after
// Since or are in progress. A drain and the termination after it count once, since they are
// about one instance. The zero budget permits nothing.
type Budget struct {
	Max   int
	Since time.Time
	// Ordered is the time of the decision, zero if it does not matter. A group gives up one
	// instance at a time, and the decision did not take later acts on other instances into
	// account.
	Ordered time.Time
}

// overtaken returns an act on another instance of the group that began at the time of the
// decision or later.
func (b Budget) overtaken(actions []Action, intent Action) (Action, bool) {
	if b.Ordered.IsZero() || intent.Free || intent.Group == roll.GroupNone {
		return Action{}, false
	}
	return roll.Find(actions, func(a Action) bool {
		return a.Group == intent.Group && a.Instance != intent.Instance && a.Interrupted() && !a.At.Before(b.Ordered)
	})
}

// Spent returns the number of interrupted instances, except one: another act on that
// instance takes nothing more. "" excepts none.
func (b Budget) Spent(actions []Action, but roll.InstanceID) int {
	used := map[roll.InstanceID]bool{}
	for _, a := range actions {
		if a.Interrupted() && a.interruptsAfter(b.Since) && a.Instance != but {
			used[a.Instance] = true
		}
	}
	return len(used)
}

// Unresolved returns an act without an outcome that blocks an act on the instance: one on
// the instance itself, or else one on another instance of its group that is not free.
// Instances in no group do not block each other. A free act waits for its own instance
// only: pass roll.GroupNone for it.
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

// ActsOf returns the acts on a group that ended after a time or are in progress, whatever
// their result. They are in the order of their Begin.
func (s State) ActsOf(group roll.Group, since time.Time) []Action {
	var out []Action
	for _, a := range s.Actions {
		if a.Group == group && a.interruptsAfter(since) {
			out = append(out, a)
		}
	}
	return out
}

// Action returns the latest try of an act by its id.
func (s State) Action(id string) (Action, bool) {
	for _, a := range slices.Backward(s.Actions) {
		if a.ID == id {
			return a, true
		}
	}
	return Action{}, false
}

// IntentRetention is how long an Auto Scaling group or launch template version counts as
// meant for nodes after its last one: longer than the 92 days of a quarter. Afterwards it
// may serve another purpose, and needs a node or user data to show its intent again.
// IntentRefresh is the maximum age of that record while it has nodes: one write a day.
const (
	IntentRetention = 100 * 24 * time.Hour
	IntentRefresh   = 24 * time.Hour
)

// ActionRetention is how long acts are kept: longer than the period of any limit, and long
// enough to answer "who did this last week?".
const ActionRetention = 30 * 24 * time.Hour

// refuse returns why an intent may not begin, nil if it may.
func (s State) refuse(intent Action, budget Budget) error {
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
	return nil
}
