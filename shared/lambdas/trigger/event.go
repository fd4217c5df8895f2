package trigger

import (
	"encoding/json"
	"slices"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// An EventBridge event is identified by its version, source and detail-type:
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html.
// The version is that of the envelope, and has always been "0".
const (
	eventVersion = "0"
	EC2Source    = "aws.ec2"
	HealthSource = "aws.health"

	StateChangeDetailType      = "EC2 Instance State-change Notification"
	SpotInterruptionDetailType = "EC2 Spot Instance Interruption Warning"
	SpotRebalanceDetailType    = "EC2 Instance Rebalance Recommendation"
	HealthDetailType           = "AWS Health Event"

	// OwnSource is the source of the events that Rollcall emits.
	OwnSource = "rollcall"
)

// announcements are the detail-types of EC2's announcements about Spot Instances.
var announcements = map[string]roll.SpotEvent{SpotInterruptionDetailType: roll.SpotInterruption, SpotRebalanceDetailType: roll.SpotRebalance}

// Event is an event of EC2 or AWS Health about instances:
//
//   - An instance entered a state. EC2 sends these on a best-effort basis, perhaps twice
//     and out of order:
//     https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html.
//   - EC2 announces a Spot interruption or recommends a rebalance. Karpenter or the AWS
//     Node Termination Handler acts on it; Rollcall only records why the instance is gone.
//   - AWS Health reports an event of instances, such as their retirement:
//     https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html.
//
// It is a reason for a check, never a fact to act on.
type Event struct {
	ID        string // the same in a second delivery
	Account   string // 12 digits
	Region    string
	Instances []roll.InstanceID  // more than one only in AWS Health events
	State     roll.InstanceState // the state that was entered, "" for other events
	Spot      roll.SpotEvent     // the announced event, "" for other events
	At        time.Time          // in UTC
}

// Reason is why a well-formed event is not for Rollcall, "" if it is. There are few values.
type Reason string

// The reasons, in the order of the checks.
const (
	// OwnEvent: Rollcall emitted it. A reaction to it would be a loop.
	OwnEvent Reason = "OwnEvent"
	// ForeignSource: its source is neither EC2 nor AWS Health.
	ForeignSource Reason = "ForeignSource"
	// OtherDetailType: EC2 or AWS Health sent another type of event.
	OtherDetailType Reason = "OtherDetailType"
	// UnknownVersion: the version of the envelope is unknown, so its fields may have
	// another meaning.
	UnknownVersion Reason = "UnknownVersion"
	// OtherAccount and OtherRegion: it is from another account or region, and a bus
	// forwarded it.
	OtherAccount Reason = "OtherAccount"
	OtherRegion  Reason = "OtherRegion"
	// UnknownState: the instance state is unknown to this version.
	UnknownState Reason = "UnknownState"
	// OtherEntities: the AWS Health event is about another service, or names no instances.
	OtherEntities Reason = "OtherEntities"
)

// Home is the expected account and region of events. An empty field accepts any.
type Home struct {
	Account string
	Region  string
}

var eventIDForm = pattern.New(`^[0-9A-Za-z-]{1,64}$`) // a UUID, or an emulator's form of it

var states = []roll.InstanceState{
	roll.StatePending, roll.StateRunning, roll.StateStopping, roll.StateStopped, roll.StateShuttingDown, roll.StateTerminated,
}

// envelope is an event as EventBridge delivers it.
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Detail     json.RawMessage `json:"detail"`
}

// detail holds the fields that are read from the detail of any event.
type detail struct {
	Instance string `json:"instance-id"`
	State    string `json:"state"`
	Service  string `json:"service"`
	Affected []struct {
		Value string `json:"entityValue"`
	} `json:"affectedEntities"`
}

// ParseEvent parses the body of an SQS record that an EventBridge rule put there: the event
// itself. An event that is not for Rollcall has a Reason, and is not an error. A body that
// cannot be parsed, or wraps the event, is Malformed. Unknown fields are ignored, since AWS
// may add some.
func ParseEvent(body []byte, home Home) (Event, Reason, error) {
	const what = "event"
	var e envelope
	if err := decode(what, body, &e); err != nil {
		return Event{}, "", err
	}
	if e.Source == "" && e.DetailType == "" {
		return Event{}, "", &Malformed{what, []string{"not an EventBridge event: let the rule send to the queue directly"}}
	}
	if r := e.foreign(); r != "" {
		return Event{}, r, nil
	}
	var d detail
	if len(e.Detail) > 0 {
		if err := decode(what, e.Detail, &d); err != nil {
			return Event{}, "", err
		}
	}
	var f faults
	out := e.read(d, &f)
	if err := f.err(what); err != nil {
		return Event{}, "", err
	}
	switch {
	case home.Account != "" && e.Account != home.Account:
		return Event{}, OtherAccount, nil
	case home.Region != "" && e.Region != home.Region:
		return Event{}, OtherRegion, nil
	case e.Source == HealthSource && (d.Service != "EC2" || len(out.Instances) == 0):
		return Event{}, OtherEntities, nil
	case e.DetailType == StateChangeDetailType && !slices.Contains(states, out.State):
		return Event{}, UnknownState, nil
	}
	return out, "", nil
}

// foreign returns why the event is not for us, "" if it may be.
func (e envelope) foreign() Reason {
	known := e.Source == HealthSource && e.DetailType == HealthDetailType ||
		e.Source == EC2Source && (e.DetailType == StateChangeDetailType || announcements[e.DetailType] != "")
	switch {
	case e.Source == OwnSource:
		return OwnEvent
	case e.Source != EC2Source && e.Source != HealthSource:
		return ForeignSource
	case !known:
		return OtherDetailType
	case e.Version != eventVersion:
		return UnknownVersion
	}
	return ""
}

// read returns the fields, and adds missing and wrong ones to the faults.
func (e envelope) read(d detail, f *faults) Event {
	f.form("id", e.ID, eventIDForm, "an event id")
	f.form("account", e.Account, accountForm, "an account of 12 digits")
	f.form("region", e.Region, regionForm, "a region")
	out := Event{ID: e.ID, Account: e.Account, Region: e.Region, Spot: announcements[e.DetailType]}
	if err := out.At.UnmarshalText([]byte(e.Time)); err != nil {
		f.add("time", "%+.40q is not a time in RFC 3339", e.Time)
	} else {
		out.At = out.At.UTC()
		f.moment("time", out.At)
	}
	if e.Source == HealthSource { // other entities, such as volumes, are skipped; events about a whole service have none
		for _, a := range d.Affected {
			if id, ok := roll.ParseInstanceID(a.Value); ok && !slices.Contains(out.Instances, id) {
				out.Instances = append(out.Instances, id)
			}
		}
		return out
	}
	id, ok := roll.ParseInstanceID(d.Instance)
	if !ok {
		f.add("detail.instance-id", "%+.40q is not an instance id", d.Instance)
	}
	out.Instances = []roll.InstanceID{id}
	if e.DetailType == StateChangeDetailType && f.given("detail.state", d.State) {
		out.State = roll.InstanceState(d.State)
	}
	return out
}
