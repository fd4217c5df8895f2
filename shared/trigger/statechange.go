package trigger

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// An EventBridge event is told by its version, source and detail-type:
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html.
// The version is that of the envelope, and has always been "0".
const (
	EventVersion          = "0"
	EC2Source             = "aws.ec2"
	StateChangeDetailType = "EC2 Instance State-change Notification"

	// OwnSource is the source of the events that Rollcall emits.
	OwnSource = "rollcall"
)

// StateChange says that an instance entered a state; see
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html.
// EC2 sends these on a best-effort basis, perhaps twice and out of order: it is a
// hint to look, never a fact to act on.
type StateChange struct {
	EventID  string // of the event; a second delivery has the same
	Account  string // 12 digits
	Region   string
	Instance roll.InstanceID
	State    roll.InstanceState
	At       time.Time // when the state was entered, in UTC
}

// Ignored is an event that is well formed and not for us.
type Ignored struct {
	Reason Reason
	Detail string // a sentence for a log
}

// Reason is why an event is ignored. The values stay few: they are counted.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	// OwnEvent: Rollcall emitted it. To react to it would be a loop.
	OwnEvent Reason = "OwnEvent"
	// ForeignSource: it does not come from EC2, nor from AWS Health.
	ForeignSource Reason = "ForeignSource"
	// OtherDetailType: EC2 says something else than that an instance changed state.
	OtherDetailType Reason = "OtherDetailType"
	// UnknownVersion: the envelope has a version that this code does not know, so
	// nothing in it is taken to mean what it meant before.
	UnknownVersion Reason = "UnknownVersion"
	// OtherAccount and OtherRegion: it happened elsewhere, and a bus forwards it.
	OtherAccount Reason = "OtherAccount"
	OtherRegion  Reason = "OtherRegion"
	// UnknownState: EC2 has a state that this code does not know.
	UnknownState Reason = "UnknownState"
	// OtherEntities: AWS Health speaks of another service, or names no instances.
	OtherEntities Reason = "OtherEntities"
)

// Home is where events are expected from. An empty field expects any.
type Home struct {
	Account string
	Region  string
}

var (
	accountForm = regexp.MustCompile(`^[0-9]{12}$`)
	regionForm  = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}[a-z0-9]$`)
	eventIDForm = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`) // a UUID, and what emulators make of it
)

var states = []roll.InstanceState{
	roll.StatePending, roll.StateRunning, roll.StateStopping, roll.StateStopped, roll.StateShuttingDown, roll.StateTerminated,
}

// ParseStateChange reads the body of an SQS record that an EventBridge rule put
// there: the event itself. An event that is not for us is Ignored, and no error. A
// body that cannot be read, or wraps the event in something else, is Malformed.
// Fields that are not needed, such as resources, are not looked at: AWS may add to
// them.
func ParseStateChange(body []byte, home Home) (StateChange, *Ignored, error) {
	f := &faults{what: "state-change event"}
	o, ok := parse(f, body)
	if !ok {
		return StateChange{}, nil, f.err()
	}
	if what := wrapping(o); what != "" {
		f.add("", "%s", what)
		return StateChange{}, nil, f.err()
	}
	if i := foreign(o, f, EC2Source, StateChangeDetailType); i != nil {
		return StateChange{}, i, nil
	}
	s := StateChange{
		EventID: o.match("id", eventIDForm, "an event id"),
		Account: o.match("account", accountForm, "an account of 12 digits"),
		Region:  o.match("region", regionForm, "a region"),
		At:      o.moment("time"),
	}
	if raw, ok := o.fields["detail"]; !ok {
		f.add("detail", "missing")
	} else if d, ok := readObject(f, "detail", raw); ok {
		s.Instance = d.instance("instance-id")
		state, _ := d.text("state")
		s.State = roll.InstanceState(state)
	}
	if err := f.err(); err != nil {
		return StateChange{}, nil, err
	}
	if i := elsewhere(s.Account, s.Region, home, f); i != nil {
		return StateChange{}, i, nil
	}
	if !slices.Contains(states, s.State) {
		return StateChange{}, &Ignored{UnknownState, fmt.Sprintf("%s is said to be %s", s.Instance, f.quote(string(s.State)))}, nil
	}
	return s, nil, nil
}

// wrapping tells what the body is if it holds the event instead of being it. It is
// a fault and not "not ours": somebody wired the queue up wrong, and ignored events
// would be missed by nobody.
func wrapping(o object) string {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := o.fields[n]; !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("source") || has("detail-type"):
		return ""
	case has("TopicArn", "Message"):
		return "an SNS notification; the body must be the EventBridge event itself, so let the rule send to the queue directly"
	case has("Records"):
		return "a batch of records; each record's body is to be read on its own"
	case has("body") && (has("messageId") || has("receiptHandle")):
		return "an SQS record; its body is to be read"
	}
	return ""
}

// foreign finds what shows that the event is not for us. Source, detail-type and
// version are faults only where they are missing or no strings.
func foreign(o object, f *faults, wantSource, wantType string) *Ignored {
	source, known := o.text("source")
	switch {
	case !known:
	case source == OwnSource:
		return &Ignored{OwnEvent, "an event that Rollcall emitted"}
	case source != wantSource:
		return &Ignored{ForeignSource, "the source is " + f.quote(source)}
	}
	detailType, ok := o.text("detail-type")
	if known && ok && detailType != wantType {
		return &Ignored{OtherDetailType, "the detail-type is " + f.quote(detailType)}
	}
	version, said := o.text("version")
	if known && ok && said && version != EventVersion {
		return &Ignored{UnknownVersion, "the version is " + f.quote(version)}
	}
	return nil
}

// elsewhere finds out whether the event happened away from home.
func elsewhere(account, region string, home Home, f *faults) *Ignored {
	switch {
	case home.Account != "" && account != home.Account:
		return &Ignored{OtherAccount, fmt.Sprintf("the account is %s, not %s", f.quote(account), home.Account)}
	case home.Region != "" && region != home.Region:
		return &Ignored{OtherRegion, fmt.Sprintf("the region is %s, not %s", f.quote(region), home.Region)}
	}
	return nil
}
