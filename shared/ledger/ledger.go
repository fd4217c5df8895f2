// Package ledger stores what AWS and Kubernetes do not keep:
//
//   - findings and their stage
//   - times of Ready transitions, and pressures before a node went silent
//   - registration times of groups
//   - instances that EC2 no longer knows
//   - sent notices and refused orders
//   - every act with its intent and outcome
//
// The ledger does not describe the current state, only earlier observations and acts. It is
// written only on change.
//
// Acts follow one protocol. Begin records the intent and takes its share of the budget in
// one step, before anything is done. Finish records the outcome. An intent without an
// outcome is an act in progress, such as a drain, or the result of a crash. After a crash
// the act may or may not have happened, and a check of the instance settles it.
//
// An instance has at most one act without an outcome. A group has at most one that takes
// capacity. A Free act gives back what an earlier act took: it does not wait for its group,
// does not block it, and uses no budget.
//
// A budget counts instances, not acts: cordon, drain and termination of one instance are
// one interruption. Acts that failed without an effect, and free acts, do not count;
// unfinished acts do.
package ledger

import (
	"context"
	"errors"
	"time"

	"rollcall/shared/roll"
)

// Ledger is the memory of all clusters. Implementations are safe for concurrent use, also
// by processes that share the store.
type Ledger interface {
	// Read returns the memory of a cluster, an empty State if there is none.
	Read(ctx context.Context, cluster roll.ClusterID) (State, error)
	// Record applies changes to a cluster's memory, all or none. A store that limits the
	// size of a write continues in an order in which a crash loses nothing. Record is
	// idempotent.
	Record(ctx context.Context, cluster roll.ClusterID, changes Changes) error
	// RaiseNotices increments the version of a cluster's notices, before a check writes or
	// sends any. It returns ErrNoticesMoved if the version is no longer the one that the
	// check read: then another check has taken over the notices.
	RaiseNotices(ctx context.Context, cluster roll.ClusterID, read int64) error
	// Begin records the intent to act, or returns why not:
	//   - ErrBegun: an act of that id was begun before and did not fail for certain.
	//   - ErrUnresolved: another act has no outcome yet, on the instance or, where neither
	//     is free, in its group.
	//   - ErrOvertaken: another instance of the group was acted on since the decision.
	//   - ErrBudgetSpent: the budget is spent and the act is not free.
	//
	// The decision and the write are one step: of two callers at once, one succeeds.
	Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error
	// Finish records the outcome of an act. Only the first outcome is recorded.
	Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error
	// Approve records that a person approved the question of an order, and returns the question. It
	// returns ErrNotAsked, ErrOver, ErrActed, ErrApproved or ErrTooLate if it may not be approved, and
	// then changes nothing: only the first approval is recorded.
	Approve(ctx context.Context, cluster roll.ClusterID, order string, a Approval) (ApprovalRequest, error)
	// Persistent reports whether the memory outlives the process. Acts require that.
	Persistent() bool
}

// OfClusters is a ledger that lists its clusters; *Dynamo and *File implement it.
type OfClusters interface {
	Ledger
	// Clusters returns the clusters of an account and region.
	Clusters(ctx context.Context, account, region string) ([]roll.ClusterID, error)
}

// Errors of Begin, and ErrNotBegun of Finish.
var (
	ErrBegun       = errors.New("this act was begun before")
	ErrUnresolved  = errors.New("an earlier act on the instance or its group has no outcome yet")
	ErrOvertaken   = errors.New("another instance of the group was acted on since this was decided")
	ErrBudgetSpent = errors.New("the budget of actions per hour is spent")
	ErrNotBegun    = errors.New("no such act was begun")
)

// ErrNoticesMoved means that another check took over the notices since they were read.
var ErrNoticesMoved = errors.New("another check has written or sent notices of the cluster since this one read them")

// State is the memory of one cluster.
type State struct {
	// RemediateSince is when a check first saw mode remediate for a group with findings or
	// nodes. Findings opened earlier are not acted on: turning remediate on must not act on
	// a backlog.
	RemediateSince map[roll.Group]time.Time
	Findings       map[roll.FindingKey]Finding
	// NotReady records since when a node has not been ready. A change from Unknown to False
	// resets the transition time of the condition, but not this one.
	NotReady map[roll.InstanceID]NotReady
	// Rests are instances in a warm pool or Standby, or formerly in one. They need not
	// register, and their launch time does not determine when they should.
	Rests map[roll.InstanceID]Rest
	// GroupsWithNodes is the day on which an Auto Scaling group or a launch template
	// version last had a node. Its instances count as meant to be nodes for IntentRetention
	// after that.
	GroupsWithNodes map[roll.Origin]time.Time
	Notices         map[NoticeKey]Notice
	// NoticesVersion is incremented by each check that writes or sends notices: of two
	// checks that read the same version one may.
	NoticesVersion int64
	Actions        []Action // in the order of their Begin

	// First is when a check first saw the whole cluster. A time before the cluster's creation
	// belongs to an earlier cluster of the same name, and is replaced.
	First time.Time
	// Checked is when a check last saw the whole cluster, to a few minutes. Findings holds
	// what was wrong then; everything else that existed was healthy.
	Checked time.Time
	// ModeTag is the cluster's tag rollcall:mode, as a check last read it.
	ModeTag string
	// Missing is when EC2 first did not find a known instance, or first reported it gone
	// while its node was Ready. It is dropped when EC2 finds the instance again: only
	// consecutive answers count.
	Missing map[roll.InstanceID]time.Time
	// Doubts is since when an instance without a Node may have had a fault that checks could not
	// judge, because what they had to read was unreadable. It is dropped when the instance has a
	// Node.
	Doubts map[roll.InstanceID]time.Time
	// Spot is when EC2 announced a Spot interruption or rebalance recommendation. It is kept
	// for SpotRetention, to explain why an instance is gone.
	Spot map[SpotKey]time.Time
	// Flips are the times within the last hour at which a check saw a node become Ready
	// again, oldest first.
	Flips map[roll.InstanceID][]time.Time
	// Pressures are the latest pressure conditions of nodes, from before they went silent.
	Pressures map[roll.InstanceID]Pressure
	// Groups is the memory of each group's nodes.
	Groups map[roll.Group]GroupMemory
	// Trouble is what recently kept Rollcall from acting in the whole cluster, or nil.
	Trouble *Trouble
	// Refusals are the refusals of orders that a notice reported, or will report if they last. Every check gives the same
	// order for a finding, and it may be refused each time for the same reason.
	Refusals map[RefusalKey]Refusal
	// Questions are the questions that notices asked, and Approvals their answers, by the id of the
	// order.
	Questions map[string]ApprovalRequest
	Approvals map[string]Approval
}

// SpotKey identifies an announcement of EC2 about a Spot Instance.
type SpotKey struct {
	Instance roll.InstanceID `json:"instance"`
	Event    roll.SpotEvent  `json:"event"`
}

func (k SpotKey) String() string { return string(k.Instance) + "#" + string(k.Event) }

// SpotRetention is how long an announcement may explain the termination of its instance.
const SpotRetention = 24 * time.Hour

// Announced returns what EC2 announced about a Spot Instance, and when: an interruption, or
// else a rebalance recommendation; "" if neither.
func (s State) Announced(id roll.InstanceID) (roll.SpotEvent, time.Time) {
	for _, event := range []roll.SpotEvent{roll.SpotInterruption, roll.SpotRebalance} {
		if at, ok := s.Spot[SpotKey{id, event}]; ok {
			return event, at
		}
	}
	return "", time.Time{}
}

// SpotEnd returns why a Spot Instance is gone, and when EC2 announced it. The time is zero
// if only the instance's state reason says so; the event is "" if nothing does. i is nil if
// EC2 no longer knows the instance.
func (s State) SpotEnd(id roll.InstanceID, i *roll.Instance) (roll.SpotEvent, time.Time) {
	event, at := s.Announced(id)
	if event == "" && i != nil && i.SpotTaken {
		event = roll.SpotInterruption
	}
	return event, at
}

// RefusalKey identifies a refusal: an order and the reason.
type RefusalKey struct {
	Order  string `json:"order"`  // its id
	Reason string `json:"reason"` // such as VerdictChanged
}

func (k RefusalKey) String() string { return k.Order + "#" + k.Reason }

// Refusal is a refusal that a notice reported, or will report if it lasts.
type Refusal struct {
	Instance roll.InstanceID `json:"instance"`
	Kind     roll.Kind       `json:"kind"` // of the finding that caused the order
	Do       string          `json:"do"`   // such as terminate
	At       time.Time       `json:"at"`
	Given    time.Time       `json:"given,omitzero"` // when a check last repeated the order, to half an hour
	// Untold: no notice has reported it yet.
	Untold bool `json:"untold,omitempty"`
}

// Latest returns when the refusal was recorded, or its order repeated if that was later.
func (r Refusal) Latest() time.Time { return roll.Later(r.At, r.Given) }

// Pressure is the latest pressure that a node reported.
type Pressure struct {
	Types []string  `json:"types,omitempty"` // such as MemoryPressure, sorted
	Since time.Time `json:"since"`           // when the earliest of them began
	Until time.Time `json:"until,omitzero"`  // when a check first saw it gone; zero while it lasts
}

// RegistrationSamples is the number of registration times kept for a group.
const RegistrationSamples = 256

// GroupMemory is the memory of a group's nodes.
type GroupMemory struct {
	// Seconds are the times from launch to registration of its latest nodes, oldest first,
	// at most RegistrationSamples.
	Seconds []int `json:"seconds,omitempty"`
	// Counted is the creation time of the latest node in Seconds.
	Counted time.Time `json:"counted,omitzero"`
	// Good is the latest launch of an instance whose node became Ready. Every termination before it
	// has its replacement.
	Good time.Time `json:"good,omitzero"`
	// Proven is the latest launch of an instance whose node stayed Ready for
	// limits.provenAfter: replacements work.
	Proven time.Time `json:"proven,omitzero"`
	// Pressed are the latest pressures of the group's nodes, including instances that are
	// gone: at most PressuresKept, oldest first. Adding an entry drops those older than
	// PressureMemory.
	Pressed []GroupPressure `json:"pressed,omitempty"`
	// Ended is the latest instance of the group that Rollcall terminated. It outlives the
	// act: a replacement that never came remains due as long as the group has nodes, and
	// for IntentRetention if it has none.
	Ended Ended `json:"ended,omitzero"`
}

const (
	// PressureMemory is how long the pressure of one node may explain that of the next node
	// in its group.
	PressureMemory = 24 * time.Hour
	// PressuresKept is the number of pressures kept for a group.
	PressuresKept = 10
)

// GroupPressure is a pressure of one node of a group.
type GroupPressure struct {
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node"`
	Type     string          `json:"type"` // such as MemoryPressure
	Since    time.Time       `json:"since"`
}

// Ended is an instance that Rollcall terminated and that its group must replace.
type Ended struct {
	Instance roll.InstanceID `json:"instance"`
	At       time.Time       `json:"at"`   // a later launch counts as the replacement
	Done     time.Time       `json:"done"` // time of the act's outcome
	// Desired is the group's desired capacity at that time, 0 if it has none.
	Desired int `json:"desired,omitempty"`
}

// Trouble is what keeps Rollcall from acting in a whole cluster: the API server does not
// answer, a zone is down, too many nodes are unhealthy.
type Trouble struct {
	Reason string    `json:"reason"` // the latest, such as ClusterUnreachable
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"` // when it was last seen, to a minute
	// Outage is the latest period in which no node could be judged. Told is when a notice
	// reported it; zero if none did, or a notice reported its end.
	Outage Outage    `json:"outage,omitzero"`
	Told   time.Time `json:"told,omitzero"`
}

// Outage is a period in which a cluster cannot be judged. Other trouble may begin in it and
// outlast it.
type Outage struct {
	Reason string    `json:"reason,omitempty"` // the latest
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"last,omitzero"`
}

// Finding is the memory of a finding.
type Finding struct {
	Instance  roll.InstanceID `json:"instance"`
	Kind      roll.Kind       `json:"kind"`
	Node      string          `json:"node,omitempty"`
	Group     roll.Group      `json:"group"`
	Stage     roll.Stage      `json:"stage"`
	FirstSeen time.Time       `json:"firstSeen"`         // by a complete check, at any stage
	Opened    time.Time       `json:"opened,omitzero"`   // when its stage left Watching
	Allowed   bool            `json:"allowed,omitempty"` // mode was remediate and not stopped at that time
	Since     time.Time       `json:"since"`
	Condition string          `json:"condition,omitempty"` // the failed condition, "" for other kinds
	Began     time.Time       `json:"began"`               // a finding that began at another time is a new one
	Worked    bool            `json:"worked,omitempty"`    // see roll.Finding
	// Contradicted: a second source spoke against it when it was last seen.
	Contradicted bool `json:"contradicted,omitempty"`
	// Outside: its cause lay outside the instance, or too many nodes were unhealthy, when that was last
	// known. Eased is when that ended, zero if it did not.
	Outside  bool         `json:"outside,omitempty"`
	Eased    time.Time    `json:"eased,omitzero"`
	Evidence string       `json:"evidence,omitempty"` // where its evidence is stored, "" if it is not
	Proven   []roll.Proof `json:"proven,omitempty"`   // its lasting decisive causes, as first found
	// Outlives are the volumes and interfaces of an orphan that EC2 does not delete with
	// it. Left is the instance that the finding's subject outlived.
	Outlives []string        `json:"outlives,omitempty"`
	Left     roll.InstanceID `json:"left,omitempty"`
}

// Key returns the key of the finding.
func (f Finding) Key() roll.FindingKey {
	return roll.FindingKey{Instance: f.Instance, Kind: f.Kind}
}

// Known returns the record of this same fault. The same kind with another launch or transition time
// is a new fault: the first one ended unseen. After a silence of its node, a failed condition must
// be seen again: a reboot may have fixed it, and the node's status may be from before that.
func (s State) Known(f roll.Finding) (Finding, bool) {
	k, ok := s.Findings[f.Key()]
	_, silent := s.NotReady[f.Instance]
	if !ok || !k.Began.Equal(f.Began) || silent && f.Kind == roll.ConditionFailed {
		return Finding{}, false
	}
	return k, true
}

// NotReady is the memory of a node that is not ready.
type NotReady struct {
	Since      time.Time            `json:"since"`
	Status     roll.ConditionStatus `json:"status"`     // of the Ready condition, when last written
	Transition time.Time            `json:"transition"` // of the Ready condition, when last written
	// Known reports whether EC2 knew the instance at that time.
	Known bool `json:"known,omitempty"`
	// Told is when a complete check last saw a status from the kubelet before this absence;
	// zero if none did.
	Told time.Time `json:"told,omitzero"`
	// Proven is since when the node was certainly not Ready, if no check saw it for a while before
	// that; zero if it was from Since on.
	Proven time.Time `json:"proven,omitzero"`
	// Perhaps is since when the node may not have been Ready, if no check saw whether it
	// was Ready before Since; zero otherwise.
	Perhaps time.Time `json:"perhaps,omitzero"`
}

// Rest is the memory of an instance in a warm pool or Standby.
type Rest struct {
	Left time.Time `json:"left,omitzero"`  // when a check first saw it in service; zero before
	Warm bool      `json:"warm,omitempty"` // it was in a warm pool, not in Standby
}
