// Package ledger remembers what the world forgets: since when a finding has been
// seen and how far it has come, since when a node has not been ready, which
// groups ever had nodes, which notices were sent, and every act with its intent
// and its outcome.
//
// The world itself is read anew at every check; the ledger is never asked what is
// true now, only what was seen and done before. Writes happen on change only.
//
// Acts follow one protocol: Begin records the intent and takes its share of the
// budget in one step, before anything is done; Finish records the outcome. An
// intent without an outcome is the trace of a crash: the act may or may not have
// happened, and only a look at the instance can tell.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// Ledger is the memory of all clusters. Its implementations are safe for
// concurrent use, by processes as far as they share the store.
type Ledger interface {
	// Read returns what is remembered of a cluster, an empty State if nothing is.
	Read(ctx context.Context, cluster roll.ClusterID) (State, error)
	// Record applies changes to a cluster's memory, all or none; a store that can only
	// take so many at once goes on in an order in which a crash loses nothing. Applying
	// the same changes twice leaves what applying them once leaves.
	Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error
	// Begin records the intent to act, unless an act of that id was begun before
	// and did not fail for certain (ErrBegun), one for the same instance or group awaits its outcome (ErrUnresolved) or
	// the budget is spent (ErrBudgetSpent). The three are decided and the intent
	// written in one step: of two callers at once, one gets nil.
	Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error
	// Finish records the outcome of an act that was begun. A second outcome for
	// one act changes nothing.
	Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error
	// Persistent reports whether the memory outlives the process. Only then may
	// anything be destroyed on its word.
	Persistent() bool
}

// The refusals of Begin.
var (
	ErrBegun       = errors.New("this act was begun before")
	ErrUnresolved  = errors.New("an earlier act on the instance or its group has no outcome yet")
	ErrBudgetSpent = errors.New("the budget of actions per hour is spent")
	ErrNotBegun    = errors.New("no such act was begun")
)

// State is all that is remembered of one cluster.
type State struct {
	// RemediateSince is, for each group with findings whose mode is remediate,
	// when a check first found it so. Findings opened before it are not acted on:
	// turning remediate on must not sweep away a backlog.
	RemediateSince map[roll.Group]time.Time
	Findings       map[roll.FindingKey]Finding
	// NotReady is since when the node of an instance has not been ready. A node that
	// turns from Unknown to False starts a new transition time; this one goes on.
	NotReady map[roll.InstanceID]NotReady
	// Rests tells of instances that a warm pool or Standby keeps, or kept: those need
	// not register, and their launch says nothing about when they should have.
	Rests map[roll.InstanceID]Rest
	// GroupsWithNodes is when a group, or a launch template (by its id), was first
	// seen to have a node: it is meant for nodes.
	GroupsWithNodes map[string]time.Time
	Notices         map[NoticeKey]Notice
	Actions         []Action // by time of intent, oldest first
}

// Finding is what is remembered of a finding.
type Finding struct {
	Instance  roll.InstanceID `json:"instance"`
	Kind      roll.Kind       `json:"kind"`
	Node      string          `json:"node,omitempty"`
	Group     roll.Group      `json:"group"`
	Stage     roll.Stage      `json:"stage"`
	FirstSeen time.Time       `json:"firstSeen"`       // by a complete check, at any stage
	Opened    time.Time       `json:"opened,omitzero"` // when it was first past Watching
	Since     time.Time       `json:"since"`
	Began     time.Time       `json:"began"` // another one is another trouble, which was not seen before
}

// Key identifies the finding.
func (f Finding) Key() roll.FindingKey {
	return roll.FindingKey{Instance: f.Instance, Kind: f.Kind}
}

// NotReady is what is remembered of a node that is not ready.
type NotReady struct {
	Since      time.Time            `json:"since"`
	Status     roll.ConditionStatus `json:"status"`     // of Ready, when last written
	Transition time.Time            `json:"transition"` // likewise
}

// Rest is what is remembered of an instance that rests in its Auto Scaling group.
type Rest struct {
	Left time.Time `json:"left,omitzero"` // when it was first seen to have left; zero while it rests
}

// NoticeKey is what one notice is about: a group of a cluster and a kind.
type NoticeKey struct {
	Group roll.Group
	Kind  roll.Kind
}

// Notice is the last notice of its key: what it said of each instance.
type Notice struct {
	SentAt  time.Time                  `json:"sentAt"`
	Members map[roll.InstanceID]string `json:"members"`
}

// Action is one act: the intent, and the outcome once it is known.
type Action struct {
	ID       string          `json:"id"` // of the order
	Do       string          `json:"do"` // such as terminate
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	Group    roll.Group      `json:"group"`
	Kind     roll.Kind       `json:"kind"`
	At       time.Time       `json:"at"` // of the intent
	Outcome  *Outcome        `json:"outcome,omitempty"`
}

// Result is how an act ended. A call whose answer leaves open whether it took
// effect has no result yet: a look at the instance will tell.
type Result string

// The results.
const (
	Done   Result = "done"   // AWS accepted it
	Failed Result = "failed" // AWS refused it, or it could not be asked; nothing happened
)

// NotYet begins the detail of a failure that a little time cures: EC2 did not show the
// order's tag yet, and so did not let the act happen.
const NotYet = "not yet: "

// Outcome is the end of an act.
type Outcome struct {
	Result Result    `json:"result"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Budget bounds the acts of a cluster: at most Max whose intent lies after Since.
// Acts that failed for certain do not count: nothing was destroyed.
type Budget struct {
	Max   int
	Since time.Time
}

// Spent counts the acts that use up a budget.
func (b Budget) Spent(actions []Action) int {
	n := 0
	for _, a := range actions {
		if a.At.After(b.Since) && (a.Outcome == nil || a.Outcome.Result != Failed) {
			n++
		}
	}
	return n
}

// Unresolved returns the act on the instance, or on another of its group, that has
// no outcome yet. Instances of no group have nothing to do with each other.
func (s State) Unresolved(instance roll.InstanceID, group roll.Group) (Action, bool) {
	for _, a := range s.Actions {
		if a.Outcome == nil && (a.Instance == instance || a.Group == group && group != roll.GroupNone) {
			return a, true
		}
	}
	return Action{}, false
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

// Changes is what one check makes of a cluster's memory.
type Changes struct {
	PutRemediate  map[roll.Group]time.Time
	DropRemediate []roll.Group

	PutFindings  []Finding
	DropFindings []roll.FindingKey

	PutNotReady  map[roll.InstanceID]NotReady
	DropNotReady []roll.InstanceID

	PutRests  map[roll.InstanceID]Rest
	DropRests []roll.InstanceID

	PutGroups map[string]time.Time

	PutNotices  map[NoticeKey]Notice
	DropNotices []NoticeKey
}

// Empty reports whether there is nothing to write.
func (c Changes) Empty() bool {
	return len(c.PutRemediate) == 0 && len(c.DropRemediate) == 0 &&
		len(c.PutFindings) == 0 && len(c.DropFindings) == 0 &&
		len(c.PutNotReady) == 0 && len(c.DropNotReady) == 0 &&
		len(c.PutRests) == 0 && len(c.DropRests) == 0 &&
		len(c.PutGroups) == 0 && len(c.PutNotices) == 0 && len(c.DropNotices) == 0
}

// ActionRetention is how long acts are kept: longer than any budget or
// look-back counts, and long enough to answer "who did this last week?".
const ActionRetention = 30 * 24 * time.Hour

// Apply makes the changes to a state in place.
func (s *State) Apply(c Changes) {
	s.init()
	maps.Copy(s.RemediateSince, c.PutRemediate)
	for _, g := range c.DropRemediate {
		delete(s.RemediateSince, g)
	}
	for _, f := range c.PutFindings {
		s.Findings[f.Key()] = f
	}
	for _, k := range c.DropFindings {
		delete(s.Findings, k)
	}
	maps.Copy(s.NotReady, c.PutNotReady)
	for _, id := range c.DropNotReady {
		delete(s.NotReady, id)
	}
	maps.Copy(s.Rests, c.PutRests)
	for _, id := range c.DropRests {
		delete(s.Rests, id)
	}
	maps.Copy(s.GroupsWithNodes, c.PutGroups)
	maps.Copy(s.Notices, c.PutNotices)
	for _, k := range c.DropNotices {
		delete(s.Notices, k)
	}
}

// begin decides on an intent and takes it into the state.
func (s *State) begin(intent Action, budget Budget) error {
	s.init()
	if intent.ID == "" || intent.Instance == "" || intent.At.IsZero() {
		return fmt.Errorf("begin %s: an intent needs an id, an instance and a time", intent.Do)
	}
	if earlier, ok := s.Action(intent.ID); ok && (earlier.Outcome == nil || earlier.Outcome.Result != Failed) {
		return fmt.Errorf("%s of %s, order %s, begun at %s: %w", intent.Do, intent.Instance, intent.ID, earlier.At.UTC().Format(time.RFC3339), ErrBegun)
	}
	if earlier, ok := s.Unresolved(intent.Instance, intent.Group); ok {
		return fmt.Errorf("%s of %s: %s of %s begun at %s: %w", intent.Do, intent.Instance, earlier.Do, earlier.Instance, earlier.At.UTC().Format(time.RFC3339), ErrUnresolved)
	}
	if spent := budget.Spent(s.Actions); spent >= budget.Max {
		return fmt.Errorf("%s of %s: %d of %d used since %s: %w", intent.Do, intent.Instance, spent, budget.Max, budget.Since.UTC().Format(time.RFC3339), ErrBudgetSpent)
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

func (s *State) init() {
	if s.RemediateSince == nil {
		s.RemediateSince = map[roll.Group]time.Time{}
	}
	if s.Findings == nil {
		s.Findings = map[roll.FindingKey]Finding{}
	}
	if s.NotReady == nil {
		s.NotReady = map[roll.InstanceID]NotReady{}
	}
	if s.Rests == nil {
		s.Rests = map[roll.InstanceID]Rest{}
	}
	if s.GroupsWithNodes == nil {
		s.GroupsWithNodes = map[string]time.Time{}
	}
	if s.Notices == nil {
		s.Notices = map[NoticeKey]Notice{}
	}
}

// Clone copies the state so deeply that neither side sees the other's changes.
func (s State) Clone() State {
	var c State
	c.init()
	maps.Copy(c.RemediateSince, s.RemediateSince)
	maps.Copy(c.Findings, s.Findings)
	maps.Copy(c.NotReady, s.NotReady)
	maps.Copy(c.Rests, s.Rests)
	maps.Copy(c.GroupsWithNodes, s.GroupsWithNodes)
	for k, v := range s.Notices {
		c.Notices[k] = Notice{SentAt: v.SentAt, Members: maps.Clone(v.Members)}
	}
	for _, a := range s.Actions {
		if a.Outcome != nil {
			o := *a.Outcome
			a.Outcome = &o
		}
		c.Actions = append(c.Actions, a)
	}
	return c
}
