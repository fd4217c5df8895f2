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

	// Checked is when a check last saw the whole cluster. It is written every few
	// minutes, not with every check. What was wrong then is among Findings; what is
	// not among them and was there was in order.
	Checked time.Time
	// Missing is when an instance that was known was first looked up and not found,
	// or was first said to be gone while its node was Ready.
	Missing map[roll.InstanceID]time.Time
	// Flips are the times at which a node became Ready again within the last hour, as
	// far as checks saw them, oldest first.
	Flips map[roll.InstanceID][]time.Time
	// Pressures are the last pressures of a node that still told of them.
	Pressures map[roll.InstanceID]Pressure
	// Groups is what is remembered of the nodes of a group.
	Groups map[roll.Group]GroupMemory
	// Trouble is what lately kept Rollcall from acting on the cluster as a whole; nil
	// if nothing did.
	Trouble *Trouble
}

// Pressure is what a node ran short of while it still told.
type Pressure struct {
	Types []string  `json:"types"`          // such as MemoryPressure, sorted
	Since time.Time `json:"since"`          // when the earliest of them began
	Until time.Time `json:"until,omitzero"` // when it was first seen gone; zero while it lasts
}

// RegistrationSamples is how many registration times of a group are kept.
const RegistrationSamples = 256

// GroupMemory is what is remembered of the nodes of a group.
type GroupMemory struct {
	// Seconds are the times from launch to Node of its latest nodes, oldest first, at
	// most RegistrationSamples.
	Seconds []int `json:"seconds"`
	// Counted is when the latest node was created that Seconds counts.
	Counted time.Time `json:"counted,omitzero"`
	// Good is the latest launch of an instance whose node was seen Ready: an act
	// before it was followed by a replacement that works.
	Good time.Time `json:"good,omitzero"`
}

// Trouble is what keeps Rollcall from acting on a cluster as a whole: its API server
// does not answer, a zone is down, too many nodes are unhealthy at once.
type Trouble struct {
	Reason string    `json:"reason"` // the latest, such as ClusterUnreachable
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"`          // when it was last seen; written once a minute at most
	Told   time.Time `json:"told,omitzero"` // when a notice told of it
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
	Condition string          `json:"condition,omitempty"`
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
	// Known: EC2 knew the instance then.
	Known bool `json:"known,omitempty"`
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
	// Over is when the last of its members was first seen without the trouble; zero
	// while there is one.
	Over time.Time `json:"over,omitzero"`
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
	// Free: it gives back what an earlier act took, and counts against no budget.
	Free    bool     `json:"free,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
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

// Budget bounds how many instances of a cluster are acted on: at most Max by acts whose
// intent lies after Since. A drain and the termination that follows it are about one
// instance and count once. Acts that failed for certain, and free ones, do not count:
// they interrupted nothing.
type Budget struct {
	Max   int
	Since time.Time
}

// Spent counts the instances on which a budget is used up, but for the one named: to
// act on it once more takes nothing further.
func (b Budget) Spent(actions []Action, but roll.InstanceID) int {
	used := map[roll.InstanceID]bool{}
	for _, a := range actions {
		if !a.Free && a.Instance != but && a.At.After(b.Since) && (a.Outcome == nil || a.Outcome.Result != Failed) {
			used[a.Instance] = true
		}
	}
	return len(used)
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

	PutChecked time.Time // zero: as it is

	PutMissing  map[roll.InstanceID]time.Time
	DropMissing []roll.InstanceID

	PutFlips  map[roll.InstanceID][]time.Time
	DropFlips []roll.InstanceID

	PutPressures  map[roll.InstanceID]Pressure
	DropPressures []roll.InstanceID

	PutGroupMemory map[roll.Group]GroupMemory

	PutTrouble  *Trouble
	DropTrouble bool
}

// Empty reports whether there is nothing to write.
func (c Changes) Empty() bool {
	return len(c.PutRemediate) == 0 && len(c.DropRemediate) == 0 &&
		len(c.PutFindings) == 0 && len(c.DropFindings) == 0 &&
		len(c.PutNotReady) == 0 && len(c.DropNotReady) == 0 &&
		len(c.PutRests) == 0 && len(c.DropRests) == 0 &&
		len(c.PutGroups) == 0 && len(c.PutNotices) == 0 && len(c.DropNotices) == 0 &&
		c.PutChecked.IsZero() &&
		len(c.PutMissing) == 0 && len(c.DropMissing) == 0 &&
		len(c.PutFlips) == 0 && len(c.DropFlips) == 0 &&
		len(c.PutPressures) == 0 && len(c.DropPressures) == 0 &&
		len(c.PutGroupMemory) == 0 && c.PutTrouble == nil && !c.DropTrouble
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
	if !c.PutChecked.IsZero() {
		s.Checked = c.PutChecked
	}
	maps.Copy(s.Missing, c.PutMissing)
	for _, id := range c.DropMissing {
		delete(s.Missing, id)
	}
	for id, times := range c.PutFlips {
		s.Flips[id] = slices.Clone(times)
	}
	for _, id := range c.DropFlips {
		delete(s.Flips, id)
	}
	for id, p := range c.PutPressures {
		s.Pressures[id] = p.clone()
	}
	for _, id := range c.DropPressures {
		delete(s.Pressures, id)
	}
	for g, m := range c.PutGroupMemory {
		s.Groups[g] = m.clone()
	}
	if c.PutTrouble != nil {
		t := *c.PutTrouble
		s.Trouble = &t
	}
	if c.DropTrouble {
		s.Trouble = nil
	}
}

func (p Pressure) clone() Pressure {
	p.Types = slices.Clone(p.Types)
	return p
}

func (m GroupMemory) clone() GroupMemory {
	m.Seconds = slices.Clone(m.Seconds)
	return m
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
	if spent := budget.Spent(s.Actions, intent.Instance); !intent.Free && spent >= budget.Max {
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
	if s.Missing == nil {
		s.Missing = map[roll.InstanceID]time.Time{}
	}
	if s.Flips == nil {
		s.Flips = map[roll.InstanceID][]time.Time{}
	}
	if s.Pressures == nil {
		s.Pressures = map[roll.InstanceID]Pressure{}
	}
	if s.Groups == nil {
		s.Groups = map[roll.Group]GroupMemory{}
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
		v.Members = maps.Clone(v.Members)
		c.Notices[k] = v
	}
	c.Checked = s.Checked
	maps.Copy(c.Missing, s.Missing)
	for id, times := range s.Flips {
		c.Flips[id] = slices.Clone(times)
	}
	for id, p := range s.Pressures {
		c.Pressures[id] = p.clone()
	}
	for g, m := range s.Groups {
		c.Groups[g] = m.clone()
	}
	if s.Trouble != nil {
		t := *s.Trouble
		c.Trouble = &t
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
