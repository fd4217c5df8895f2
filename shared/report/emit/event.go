package emit

import (
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/report"
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
	// Resources are the ARNs of the instance, if it is about one, and of the cluster, if
	// that could be described.
	Resources []string
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
	// Finding identifies the trouble: the same in all that is told of it, and another one
	// when the instance is in the same trouble anew. It is missing of an uncordon, and of an
	// act that a later check settles, if the trouble is not known any more.
	Finding  string `json:"finding,omitempty"`
	Instance string `json:"instance"` // "" of what is about no instance
	Node     string `json:"node,omitempty"`
	Group    string `json:"group"`
	Kind     string `json:"kind"`

	about string // what it is about if that is no instance, such as nodepool/general
}

// Message is an event in words, for whoever passes it on to people. Both texts hold no
// quotation mark, backslash, angle bracket or line break: EventBridge does not escape what
// an input transformer puts into a template.
type Message struct {
	Severity report.Severity `json:"severity"`
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	// Console is the page in the AWS console of the instance, or of the cluster where there is
	// none, missing where its address is not known.
	Console string `json:"console,omitempty"`
}

// Finding is the detail of Finding Opened and Finding Escalated.
type Finding struct {
	Head
	Subject
	Message
	About     string `json:"subject,omitempty"`   // what it is about, where instance is ""
	Condition string `json:"condition,omitempty"` // the node condition that failed, for that kind only
	// Event is what EC2 has scheduled, for that kind only.
	Event    *report.EventDocument `json:"event,omitempty"`
	Owner    string                `json:"owner"`
	Zone     string                `json:"zone,omitempty"`
	Stage    string                `json:"stage"`
	Since    time.Time             `json:"since"`  // when the trouble began
	Opened   time.Time             `json:"opened"` // when a check first saw it past its warning time
	Due      time.Time             `json:"due"`    // when its tolerance ends, or ended
	Summary  string                `json:"summary"`
	Next     *report.StepDocument  `json:"next,omitempty"`     // what follows if nothing changes
	Ordered  *Ordered              `json:"ordered,omitempty"`  // what this check ordered
	Held     *Hold                 `json:"held,omitempty"`     // what this check held back
	Cause    string                `json:"cause,omitempty"`    // code of the first decisive cause
	Why      string                `json:"why,omitempty"`      // that cause as a sentence
	Fix      string                `json:"fix,omitempty"`      // what a person can paste against it
	Causes   []report.NoticeCause  `json:"causes,omitempty"`   // all, as a diagnosis orders them, mostCauses at most
	Evidence string                `json:"evidence,omitempty"` // where what was read is kept
}

// mostCauses bounds the causes of an event.
const mostCauses = 5

// Ordered is an act that a check ordered.
type Ordered struct {
	Action string `json:"action"`
	Order  string `json:"order"`
}

// Hold is an act that a check held back.
type Hold struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Ends   string `json:"ends,omitempty"` // what ends the reason
	// Until is when the reason passes by itself, as far as that can be told.
	Until time.Time `json:"until,omitzero"`
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
	Message
	About     string    `json:"subject,omitempty"`
	Condition string    `json:"condition,omitempty"`
	Stage     string    `json:"stage"` // the last one
	Since     time.Time `json:"since"`
	Opened    time.Time `json:"opened"`
	How       How       `json:"how"`
	Lasted    int       `json:"lasted"`         // seconds from Since to this check
	Acts      []string  `json:"acts,omitempty"` // what Rollcall did about it, in that order
	Evidence  string    `json:"evidence,omitempty"`
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
	Message
	Owner    string    `json:"owner,omitempty"`
	Action   string    `json:"action"`
	Order    string    `json:"order,omitempty"` // the order's id; missing if none was given
	Result   Result    `json:"result"`
	Reason   string    `json:"reason,omitempty"`   // why it was held or refused: one of package plan's reasons; DrainUnfinished of a failure
	Detail   string    `json:"detail"`             // a sentence for a person
	Ends     string    `json:"ends,omitempty"`     // what ends the reason
	Until    time.Time `json:"until,omitzero"`     // when that passes by itself, as far as it can be told
	Summary  string    `json:"summary,omitempty"`  // what is wrong, a sentence for a person
	Since    time.Time `json:"since,omitzero"`     // when the trouble began; missing as Finding is
	Cause    string    `json:"cause,omitempty"`    // code of the first decisive cause
	Evidence string    `json:"evidence,omitempty"` // where what was read before the act is kept
}

// Completed is the detail of Check Completed. It counts what was found, also what
// makes no event of its own.
type Completed struct {
	Head
	Mode     string `json:"mode"`
	Complete bool   `json:"complete"` // only then no findings means that all is well
	Nodes    int    `json:"nodes"`
	Ready    int    `json:"ready"`
	Waiting  int    `json:"waiting"` // instances that still have time to register, and nodes to initialize
	Findings Stages `json:"findings"`
	// Kinds and Causes count the findings that are warned or overdue: by kind, and those
	// with a decisive cause by the code of the first.
	Kinds  map[string]int `json:"kinds"`
	Causes map[string]int `json:"causes"`
	// Oldest is when the oldest trouble among them began.
	Oldest   time.Time      `json:"oldest,omitzero"`
	Gaps     map[string]int `json:"gaps"` // what could not be read, by why
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
