// Package ledger remembers what the world forgets: since when a finding has been
// seen and how far it has come, since when a node has not been ready and what it ran
// short of before, which groups ever had nodes and how long those took to register,
// which instances could not be found, what kept Rollcall from acting on a cluster,
// which notices were sent, which refusals of orders were told, and every act with its
// intent and its outcome.
//
// The world itself is read anew at every check; the ledger is never asked what is
// true now, only what was seen and done before. Writes happen on change only.
//
// Acts follow one protocol: Begin records the intent and takes its share of the
// budget in one step, before anything is done; Finish records the outcome. An
// intent without an outcome is an act that is still going on, as a drain does over
// several checks, or the trace of a crash: the act may or may not have happened, and
// only a look at the instance can tell.
//
// An instance never has two acts without an outcome, of whatever sort. A group has one
// at a time that takes something; an act that is Free gives back what an earlier one
// took, so it neither waits for another of its group, nor keeps one waiting, nor uses
// up a budget.
//
// A budget counts instances and not acts: to cordon, drain and terminate one instance is
// one interruption. Acts count that happened or may have happened, and those that came
// half-way (Unfinished); those that failed with nothing done, and free ones, do not.
package ledger

import (
	"context"
	"errors"
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
	// RaiseNotices raises the version of a cluster's notices by one: the caller is about to
	// write or send what it decided on by the version that it read. If that is not the
	// version any more, another check does so, and it is ErrNoticesMoved.
	RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error
	// Begin records the intent to act, unless an act of that id was begun before
	// and did not fail for certain (ErrBegun), another one awaits its outcome, on the
	// instance or, where neither is free, in its group (ErrUnresolved), another instance
	// of its group was acted on since it was decided on (ErrOvertaken), or the budget is
	// spent and the act is not free (ErrBudgetSpent). All are decided and the intent
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
	ErrOvertaken   = errors.New("another instance of the group was acted on since this was decided")
	ErrBudgetSpent = errors.New("the budget of actions per hour is spent")
	ErrNotBegun    = errors.New("no such act was begun")
)

// ErrNoticesMoved says that the notices of the cluster are another check's to write since
// they were read.
var ErrNoticesMoved = errors.New("another check has written or sent notices of the cluster since this one read them")

// State is all that is remembered of one cluster.
type State struct {
	// RemediateSince is, for each group with findings or nodes whose mode is remediate,
	// when a check first found it so. Findings opened before it are not acted on:
	// turning remediate on must not sweep away a backlog.
	RemediateSince map[roll.Group]time.Time    `json:"remediateSince,omitempty"`
	Findings       map[roll.FindingKey]Finding `json:"findings,omitempty"`
	// NotReady is since when the node of an instance has not been ready. A node that
	// turns from Unknown to False starts a new transition time; this one goes on.
	NotReady map[roll.InstanceID]NotReady `json:"notReady,omitempty"`
	// Rests tells of instances that a warm pool or Standby keeps, or kept: those need
	// not register, and their launch says nothing about when they should have.
	Rests map[roll.InstanceID]Rest `json:"rests,omitempty"`
	// GroupsWithNodes is when an Auto Scaling group, or a version of a launch template, was
	// last seen to have a node, to the day: it is meant for nodes, until IntentRetention
	// after that.
	GroupsWithNodes map[roll.Origin]time.Time `json:"groupsWithNodes,omitempty"`
	Notices         map[NoticeKey]Notice      `json:"notices,omitempty"`
	// NoticesVersion is how often a check set out to write or send notices: of two that
	// decided by the same version only one may.
	NoticesVersion int64    `json:"noticesVersion,omitempty"`
	Actions        []Action `json:"actions,omitempty"` // in the order in which they began

	// First is when a check first saw the whole cluster. Trouble that began before it was
	// nobody's to see. One from before the cluster was created is of an earlier cluster of
	// its name, as RemediateSince may be, and is written anew.
	First time.Time `json:"first,omitzero"`
	// Checked is when a check last saw the whole cluster. It is written every few
	// minutes, not with every check. What was wrong then is among Findings; what is
	// not among them and was there was in order.
	Checked time.Time `json:"checked,omitzero"`
	// Missing is when an instance that was known was first looked up and not found,
	// or was first said to be gone while its node was Ready. One that is found again is
	// dropped: only looks that agree with each other add up.
	Missing map[roll.InstanceID]time.Time `json:"missing,omitempty"`
	// Spot is when EC2 announced that it takes Spot Instances back, or may. It lasts for
	// SpotRetention, and answers one question: why an instance went.
	Spot map[SpotKey]time.Time `json:"spot,omitempty"`
	// Flips are the times at which a node became Ready again within the last hour, as
	// far as checks saw them, oldest first.
	Flips map[roll.InstanceID][]time.Time `json:"flips,omitempty"`
	// Pressures are the last pressures of a node that still told of them.
	Pressures map[roll.InstanceID]Pressure `json:"pressures,omitempty"`
	// Groups is what is remembered of the nodes of a group.
	Groups map[roll.Group]GroupMemory `json:"groups,omitempty"`
	// Trouble is what lately kept Rollcall from acting on the cluster as a whole; nil
	// if nothing did.
	Trouble *Trouble `json:"trouble,omitempty"`
	// Refusals are the orders that were not carried out when they were looked at again,
	// as far as somebody was told so. The order of a finding is the same in every check,
	// and what refused it once may refuse it each time.
	Refusals map[RefusalKey]Refusal `json:"refusals,omitempty"`
}

// SpotKey is what EC2 announced of one instance.
type SpotKey struct {
	Instance roll.InstanceID `json:"instance"`
	Event    roll.SpotEvent  `json:"event"`
}

// SpotRetention is how long an announcement may have to do with the end of its instance.
const SpotRetention = 24 * time.Hour

// Announced is what EC2 announced of an instance, and when: that it takes it back, or else
// that it may; "" if neither.
func (s State) Announced(id roll.InstanceID) (roll.SpotEvent, time.Time) {
	for _, event := range []roll.SpotEvent{roll.SpotInterruption, roll.SpotRebalance} {
		if at, ok := s.Spot[SpotKey{id, event}]; ok {
			return event, at
		}
	}
	return "", time.Time{}
}

// SpotEnd is why a Spot Instance went, and when that was announced: what EC2 announced of it,
// or, at a zero time, that EC2 says it took it back. "" if neither; i is nil where EC2 knows
// the instance no more.
func (s State) SpotEnd(id roll.InstanceID, i *roll.Instance) (roll.SpotEvent, time.Time) {
	event, at := s.Announced(id)
	if event == "" && i != nil && i.SpotTaken {
		event = roll.SpotInterruption
	}
	return event, at
}

// RefusalKey is what one refusal is about: an order, and why it was refused.
type RefusalKey struct {
	Order  string `json:"order"`  // its id
	Reason string `json:"reason"` // such as VerdictChanged
}

// Refusal is a refusal that was told.
type Refusal struct {
	Instance roll.InstanceID `json:"instance"`
	Kind     roll.Kind       `json:"kind"` // of the finding that the order followed from
	Do       string          `json:"do"`   // such as terminate
	At       time.Time       `json:"at"`
	Given    time.Time       `json:"given,omitzero"` // when a check gave the order again; written every half hour at most
}

// Lately is when the refusal was told, or its order given again.
func (r Refusal) Lately() time.Time {
	if r.Given.After(r.At) {
		return r.Given
	}
	return r.At
}

// Pressure is what a node ran short of while it still told.
type Pressure struct {
	Types []string  `json:"types,omitempty"` // such as MemoryPressure, sorted
	Since time.Time `json:"since"`           // when the earliest of them began
	Until time.Time `json:"until,omitzero"`  // when it was first seen gone; zero while it lasts
}

// RegistrationSamples is how many registration times of a group are kept.
const RegistrationSamples = 256

// GroupMemory is what is remembered of the nodes of a group.
type GroupMemory struct {
	// Seconds are the times from launch to Node of its latest nodes, oldest first, at
	// most RegistrationSamples.
	Seconds []int `json:"seconds,omitempty"`
	// Counted is when the latest node was created that Seconds counts.
	Counted time.Time `json:"counted,omitzero"`
	// Good is the latest launch of an instance whose node was seen Ready: of an act before
	// it the replacement has come.
	Good time.Time `json:"good,omitzero"`
	// Proven is the latest launch of an instance whose node then stayed Ready for as long as
	// the policy asks (limits.provenAfter): replacements work.
	Proven time.Time `json:"proven,omitzero"`
	// Pressed are the latest nodes of the group that ran short of something, also of
	// instances that are gone: at most PressuresKept, the earliest first. It may hold more
	// than PressureMemory: it is cut when something is added to it.
	Pressed []GroupPressure `json:"pressed,omitempty"`
	// Ended is the latest instance of the group that Rollcall ended. It outlives the acts: a
	// replacement that never came is owed for as long as the group has nodes, and for
	// IntentRetention where it has none.
	Ended Ended `json:"ended,omitzero"`
}

const (
	// PressureMemory is how long the pressure of a node has to do with the next one of its
	// group.
	PressureMemory = 24 * time.Hour
	// PressuresKept is how many pressures of a group are remembered.
	PressuresKept = 10
)

// GroupPressure is what a node of a group ran short of.
type GroupPressure struct {
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node"`
	Type     string          `json:"type"` // such as MemoryPressure
	Since    time.Time       `json:"since"`
}

// Ended is an instance that Rollcall ended, and that its group is to replace.
type Ended struct {
	Instance roll.InstanceID `json:"instance"`
	At       time.Time       `json:"at"`   // what is launched after it counts as the replacement
	Done     time.Time       `json:"done"` // of the act's outcome
	// Desired is the desired capacity of the group then, 0 if it has none.
	Desired int `json:"desired,omitempty"`
}

// Trouble is what keeps Rollcall from acting on a cluster as a whole: its API server
// does not answer, a zone is down, too many nodes are unhealthy at once.
type Trouble struct {
	Reason string    `json:"reason"` // the latest, such as ClusterUnreachable
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"` // when it was last seen; written once a minute at most
	// Outage is the latest time in which nothing could be said of any of its nodes, and
	// Told when a notice told of that; zero if none did, or it was told to be over.
	Outage Outage    `json:"outage,omitzero"`
	Told   time.Time `json:"told,omitzero"`
}

// Outage is a time in which a cluster cannot be judged. Other trouble may begin in it and
// outlast it.
type Outage struct {
	Reason string    `json:"reason,omitempty"` // the latest
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"last,omitzero"`
}

// Finding is what is remembered of a finding.
type Finding struct {
	Instance  roll.InstanceID `json:"instance"`
	Kind      roll.Kind       `json:"kind"`
	Node      string          `json:"node,omitempty"`
	Group     roll.Group      `json:"group"`
	Stage     roll.Stage      `json:"stage"`
	FirstSeen time.Time       `json:"firstSeen"`         // by a complete check, at any stage
	Opened    time.Time       `json:"opened,omitzero"`   // when it was first past Watching
	Allowed   bool            `json:"allowed,omitempty"` // mode remediate was on then, and no stop
	Since     time.Time       `json:"since"`
	Condition string          `json:"condition,omitempty"` // that failed, "" for other kinds
	Began     time.Time       `json:"began"`               // another one is another trouble, which was not seen before
	Worked    bool            `json:"worked,omitempty"`    // as roll.Finding has it
	Evidence  string          `json:"evidence,omitempty"`  // where what was read of it is kept, "" if it is not
	Proven    []roll.Proof    `json:"proven,omitempty"`    // its decisive causes that last, as they were first found
	// Outlives are the ids of the volumes and interfaces of an orphan that EC2 does not delete
	// with it; Left is the instance that left behind what the finding is about.
	Outlives []string        `json:"outlives,omitempty"`
	Left     roll.InstanceID `json:"left,omitempty"`
}

// Key identifies the finding.
func (f Finding) Key() roll.FindingKey {
	return roll.FindingKey{Instance: f.Instance, Kind: f.Kind}
}

func (f Finding) clone() Finding {
	f.Proven, f.Outlives = slices.Clone(f.Proven), slices.Clone(f.Outlives)
	for i := range f.Proven {
		f.Proven[i].Evidence = slices.Clone(f.Proven[i].Evidence)
	}
	return f
}

// NotReady is what is remembered of a node that is not ready.
type NotReady struct {
	Since      time.Time            `json:"since"`
	Status     roll.ConditionStatus `json:"status"`     // of Ready, when last written
	Transition time.Time            `json:"transition"` // likewise
	// Known: EC2 knew the instance then.
	Known bool `json:"known,omitempty"`
	// Told is when the last complete check before saw what the kubelet says of the node;
	// zero if none did.
	Told time.Time `json:"told,omitzero"`
}

// Rest is what is remembered of an instance that rests in its Auto Scaling group.
type Rest struct {
	Left time.Time `json:"left,omitzero"` // when it was first seen to have left; zero while it rests
}
