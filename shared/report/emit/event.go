package emit

import (
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
)

// Source is the source of all events. AWS reserves sources that begin with "aws.".
const Source = trigger.OwnSource

// Version is the version of the details. It changes when a field is removed or changes
// its meaning, not when one is added.
const Version = 1

// The detail-types.
const (
	// FindingOpened: a finding is past its warning time. Its detail is a Finding.
	FindingOpened = "Finding Opened"
	// FindingEscalated: an open finding is past its tolerance. Its detail is a Finding.
	FindingEscalated = "Finding Escalated"
	// FindingResolved: an open finding is over. Its detail is a Resolved.
	FindingResolved = "Finding Resolved"
	// ActionTaken: an instance, or its node, was acted on. Its detail is an Action.
	ActionTaken = "Action Taken"
	// ActionHeld: an act was held, or refused right before it. Its detail is an Action.
	ActionHeld = "Action Held"
	// ActionFailed: an act failed, or its effect is unclear. Its detail is an Action.
	ActionFailed = "Action Failed"
	// CheckCompleted: a cluster was checked, perhaps in part. Its detail is a Completed.
	CheckCompleted = "Check Completed"
)

// Event is one event to put on a bus. Its source is Source.
type Event struct {
	DetailType string
	Detail     any // a Finding, Resolved, Action or Completed; marshals to what the schema describes
	// Resources are the ARNs of the instance, if it is about one, and of the cluster, if
	// its account is known.
	Resources []string
}

// Head has the fields of every detail.
type Head struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	// Account and Region are missing if EKS does not know the cluster and no instance shows them.
	// Those on the event's envelope are the deployment's.
	Account string `json:"account,omitempty"`
	Region  string `json:"region,omitempty"`
	Cluster string `json:"cluster"`
}

// Subject is the instance and the finding that an event is about.
type Subject struct {
	// Finding is the id of the finding. All events of one finding share it; a later finding
	// of the same kind on the instance has another. It is missing from an uncordon, and from
	// an act that a later check settles if the finding is no longer known.
	Finding  string `json:"finding,omitempty"`
	Instance string `json:"instance"` // "" if the event is about no instance
	Node     string `json:"node,omitempty"`
	Group    string `json:"group"`
	Kind     string `json:"kind"`

	about string // the subject if that is no instance, such as nodepool/general
}

// Message is an event in words, for people. Title and Text contain no quotation mark,
// backslash, angle bracket or line break, because EventBridge does not escape values that
// an input transformer puts into a template.
type Message struct {
	Severity report.Severity `json:"severity"`
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	// Console is the AWS console page of the instance, or of the cluster if there is no
	// instance. It is missing if the address is unknown.
	Console string `json:"console,omitempty"`
}

// Finding is the detail of Finding Opened and Finding Escalated.
type Finding struct {
	Head
	Subject
	Message
	About     string `json:"subject,omitempty"`   // the subject, where instance is ""
	Condition string `json:"condition,omitempty"` // the node condition that failed, for that kind only
	// Event is what EC2 has scheduled, for that kind only.
	Event   *report.EventDocument `json:"event,omitempty"`
	Owner   string                `json:"owner"`
	Zone    string                `json:"zone,omitempty"`
	Stage   string                `json:"stage"`
	Since   time.Time             `json:"since"`  // when the fault began
	Opened  time.Time             `json:"opened"` // when a check first observed it past its warning time
	Due     time.Time             `json:"due"`    // when its tolerance ends, or ended
	Summary string                `json:"summary"`
	// Contradiction is what a second source says against it. A contradicted finding is only reported.
	Contradiction string               `json:"contradiction,omitempty"`
	Next          *report.StepDocument `json:"next,omitempty"`     // the next step if nothing changes
	Ordered       *Ordered             `json:"ordered,omitempty"`  // the act that this check ordered
	Held          *Hold                `json:"held,omitempty"`     // the act that this check held
	Cause         string               `json:"cause,omitempty"`    // code of the first decisive cause
	Why           string               `json:"why,omitempty"`      // that cause as a sentence
	Fix           string               `json:"fix,omitempty"`      // commands to paste to fix it
	Causes        []report.NoticeCause `json:"causes,omitempty"`   // in the order of the diagnosis, mostCauses at most
	Evidence      string               `json:"evidence,omitempty"` // where the evidence is stored
}

// mostCauses is the most causes of an event.
const mostCauses = 5

// Ordered is an act that a check ordered.
type Ordered struct {
	Action string `json:"action"`
	Order  string `json:"order"`
}

// Hold is an act that a check held.
type Hold struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Ends   string `json:"ends,omitempty"` // what ends the reason
	// Approve is the id of the order to approve, for that reason only.
	Approve string `json:"approve,omitempty"`
	// Until is when the reason passes by itself, if that is known.
	Until time.Time `json:"until,omitzero"`
}

// How is the way in which a finding ended.
type How string

// The ends of a finding.
const (
	Cleared How = "cleared" // the instance still runs, without a finding of the kind
	Gone    How = "gone"    // the instance does not run any more
	Changed How = "changed" // another finding of the instance took its place
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
	Acts      []string  `json:"acts,omitempty"` // Rollcall's acts on it, in order
	Evidence  string    `json:"evidence,omitempty"`
}

// Held is the Result of an act for which no order was given. Those of an order are of package
// remediate: acted is Action Taken, failed and unclear are Action Failed, refused is Action Held.
const Held remediate.Result = "held"

// Action is the detail of Action Taken, Action Held and Action Failed.
type Action struct {
	Head
	Subject
	Message
	Owner    string           `json:"owner,omitempty"`
	Action   string           `json:"action"`
	Order    string           `json:"order,omitempty"` // the order's id; missing if none was given
	Result   remediate.Result `json:"result"`
	Reason   string           `json:"reason,omitempty"`   // why it was held or refused: a plan.Reason; DrainUnfinished of a failure
	Detail   string           `json:"detail"`             // a sentence for a person
	Ends     string           `json:"ends,omitempty"`     // what ends the reason
	Until    time.Time        `json:"until,omitzero"`     // when the reason passes by itself, if known
	Summary  string           `json:"summary,omitempty"`  // what is wrong, a sentence for a person
	Since    time.Time        `json:"since,omitzero"`     // when the fault began; missing if Finding is
	Cause    string           `json:"cause,omitempty"`    // code of the first decisive cause
	Evidence string           `json:"evidence,omitempty"` // where the evidence read before the act is stored
	Approve  string           `json:"approve,omitempty"`  // the id of the order to approve, if it waits for that
	Approved *ledger.Approval `json:"approved,omitempty"` // who approved it; missing if it needed no approval
}

// Completed is the detail of Check Completed. Its counts include what causes no event of
// its own.
type Completed struct {
	Head
	Mode     string `json:"mode"`
	Complete bool   `json:"complete"` // only if true does an absence of findings mean that all is well
	Nodes    int    `json:"nodes"`
	Ready    int    `json:"ready"`
	Waiting  int    `json:"waiting"` // instances that still have time to register, and nodes to initialize
	Findings Stages `json:"findings"`
	// Kinds and Causes count the warned and overdue findings: by kind, and by the code of
	// the first decisive cause.
	Kinds  map[string]int `json:"kinds"`
	Causes map[string]int `json:"causes"`
	// Oldest is when the oldest of these findings began.
	Oldest   time.Time      `json:"oldest,omitzero"`
	Gaps     map[string]int `json:"gaps"` // failed reads, by gap kind
	Orders   int            `json:"orders"`
	Held     map[string]int `json:"held"`     // acts held by this check, by reason
	Outcomes map[string]int `json:"outcomes"` // of this check's orders, by result
	Notes    int            `json:"notes"`    // what could not be read or done, and remarks
	// Registration lists the slowest groups first, registrationGroups at most.
	Registration []report.RegistrationDocument `json:"registration"`
	Next         time.Time                     `json:"next,omitzero"`
}

// registrationGroups is the most groups of an event, which EventBridge limits to 256 KB.
const registrationGroups = 100

// Stages counts findings by stage.
type Stages struct {
	Watching int `json:"watching"`
	Warned   int `json:"warned"`
	Overdue  int `json:"overdue"`
}
