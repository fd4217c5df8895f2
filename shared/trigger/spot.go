package trigger

import (
	"time"

	"rollcall/shared/roll"
)

// The detail-types with which EC2 announces that it takes a Spot Instance back, or may.
const (
	SpotInterruptionDetailType = "EC2 Spot Instance Interruption Warning"
	SpotRebalanceDetailType    = "EC2 Instance Rebalance Recommendation"
)

// Spot is what EC2 announces of a Spot Instance. Whoever drains the node, Karpenter or AWS Node
// Termination Handler, acts on it; Rollcall only remembers why the instance went.
type Spot struct {
	EventID  string // of the event; a second delivery has the same
	Account  string // 12 digits
	Region   string
	Instance roll.InstanceID
	Event    roll.SpotEvent
	At       time.Time // when it was announced, in UTC
}

// ParseSpot reads the body of an SQS record as ParseStateChange does.
func ParseSpot(body []byte, home Home) (Spot, *Ignored, error) {
	f := &faults{what: "Spot event"}
	o, ok := parse(f, body)
	if !ok {
		return Spot{}, nil, f.err()
	}
	event, detailType := roll.SpotInterruption, SpotInterruptionDetailType
	if said, _ := o.text("detail-type"); said == SpotRebalanceDetailType {
		event, detailType = roll.SpotRebalance, said
	}
	if i := foreign(o, f, EC2Source, detailType); i != nil {
		return Spot{}, i, nil
	}
	s := Spot{
		EventID: o.match("id", eventIDForm, "an event id"),
		Account: o.match("account", accountForm, "an account of 12 digits"),
		Region:  o.match("region", regionForm, "a region"),
		At:      o.moment("time"),
		Event:   event,
	}
	if raw, ok := o.fields["detail"]; !ok {
		f.add("detail", "missing")
	} else if d, ok := readObject(f, "detail", raw); ok {
		s.Instance = d.instance("instance-id")
	}
	if err := f.err(); err != nil {
		return Spot{}, nil, err
	}
	if i := elsewhere(s.Account, s.Region, home, f); i != nil {
		return Spot{}, i, nil
	}
	return s, nil, nil
}
