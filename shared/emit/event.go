package emit

import (
	"time"

	"rollcall/shared/report"
	"rollcall/shared/trigger"
)

// Source is the source of all events here. AWS keeps "aws." for itself, and leaves
// the rest to its customers.
const Source = trigger.OwnSource

// Version is the version of the details. It changes when a field is taken away or
// comes to mean something else; fields may be added without.
const Version = 1

// The detail-types.
const (
	// FindingOpened: something is wrong with an instance, for longer than its warning
	// time. Its detail is a Finding.
	FindingOpened = "Finding Opened"
	// FindingEscalated: the tolerance of an open finding has ended. A Finding.
	FindingEscalated = "Finding Escalated"
	// FindingResolved: an open finding is over. A Resolved.
	FindingResolved = "Finding Resolved"
	// ActionTaken: an instance, or its node, was acted on. An Action.
	ActionTaken = "Action Taken"
	// ActionHeld: an act was held back, or refused right before it. An Action.
	ActionHeld = "Action Held"
	// ActionFailed: an act failed, or it is unclear whether it took effect. An Action.
	ActionFailed = "Action Failed"
	// CheckCompleted: a cluster was checked, perhaps in part. A Completed.
	CheckCompleted = "Check Completed"
)

// DetailTypes lists the detail-types.
func DetailTypes() []string {
	return []string{FindingOpened, FindingEscalated, FindingResolved, ActionTaken, ActionHeld, ActionFailed, CheckCompleted}
}

// Event is one event as it goes onto a bus: its source is Source.
type Event struct {
	DetailType string
	Detail     any // one of the types here; json.Marshal writes what the schema describes
}

// Head is what every detail has.
type Head struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	// Account and Region are missing if the cluster could not be described. The
	// event's own, on its envelope, are those of the deployment.
	Account string `json:"account,omitempty"`
	Region  string `json:"region,omitempty"`
	Cluster string `json:"cluster"`
}

// Subject is the instance that an event is about, and in which trouble.
type Subject struct {
	Instance string `json:"instance"`
	Node     string `json:"node,omitempty"`
	Group    string `json:"group"`
	Kind     string `json:"kind"`
}

// Finding is the detail of Finding Opened and Finding Escalated.
type Finding struct {
	Head
	Subject
	Condition string               `json:"condition,omitempty"` // the node condition that failed, for that kind only
	Owner     string               `json:"owner"`
	Zone      string               `json:"zone,omitempty"`
	Stage     string               `json:"stage"`
	Since     time.Time            `json:"since"`  // when the trouble began
	Opened    time.Time            `json:"opened"` // when a check first saw it past its warning time
	Due       time.Time            `json:"due"`    // when its tolerance ends, or ended
	Summary   string               `json:"summary"`
	Next      *report.StepDocument `json:"next,omitempty"`     // what follows if nothing changes
	Cause     string               `json:"cause,omitempty"`    // code of the first decisive cause
	Why       string               `json:"why,omitempty"`      // that cause as a sentence
	Evidence  string               `json:"evidence,omitempty"` // where what was read is kept
}

// How is how a finding came to its end.
type How string

// The ends of a finding.
const (
	Cleared How = "cleared" // the instance runs on, and nothing of the kind is found any more
	Gone    How = "gone"    // the instance does not run any more
	Changed How = "changed" // another trouble of the instance took its place
)

// Resolved is the detail of Finding Resolved.
type Resolved struct {
	Head
	Subject
	Stage  string    `json:"stage"` // the last one
	Since  time.Time `json:"since"`
	Opened time.Time `json:"opened"`
	How    How       `json:"how"`
}

// Result is what became of an act.
type Result string

// The results.
const (
	Acted   Result = "acted"   // of Action Taken: it was accepted
	Failed  Result = "failed"  // of Action Failed: it was refused and nothing happened; or a drain left pods
	Unclear Result = "unclear" // of Action Failed: it broke off; a later check will tell
	Held    Result = "held"    // of Action Held: no order was given
	Refused Result = "refused" // of Action Held: an order was given, and a second look spoke against it, or against going on
)

// Action is the detail of Action Taken, Action Held and Action Failed.
type Action struct {
	Head
	Subject
	Owner    string    `json:"owner,omitempty"`
	Action   string    `json:"action"`
	Order    string    `json:"order,omitempty"` // the order's id; missing if none was given
	Result   Result    `json:"result"`
	Reason   string    `json:"reason,omitempty"`   // why it was held or refused: one of package plan's reasons; DrainUnfinished of a failure
	Detail   string    `json:"detail"`             // a sentence for a person
	Since    time.Time `json:"since,omitzero"`     // when the trouble began
	Cause    string    `json:"cause,omitempty"`    // code of the first decisive cause
	Evidence string    `json:"evidence,omitempty"` // where what was read before the act is kept
}

// Completed is the detail of Check Completed. It counts what was found, also what
// makes no event of its own.
type Completed struct {
	Head
	Mode     string         `json:"mode"`
	Complete bool           `json:"complete"` // only then no findings means that all is well
	Nodes    int            `json:"nodes"`
	Ready    int            `json:"ready"`
	Waiting  int            `json:"waiting"` // instances that still have time to register, and nodes to initialize
	Findings Stages         `json:"findings"`
	Orders   int            `json:"orders"`
	Held     map[string]int `json:"held"`     // by reason, each check anew
	Outcomes map[string]int `json:"outcomes"` // what became of this check's orders, by result
	Notes    int            `json:"notes"`    // what could not be read or done, and remarks
	// Registration is of the slowest groups first, registrationGroups at most.
	Registration []report.RegistrationDocument `json:"registration"`
	Next         time.Time                     `json:"next,omitzero"`
}

// registrationGroups bounds an event: EventBridge takes 256 KB.
const registrationGroups = 100

// Stages counts findings by stage.
type Stages struct {
	Watching int `json:"watching"`
	Warned   int `json:"warned"`
	Overdue  int `json:"overdue"`
}
