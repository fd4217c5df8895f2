package trigger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// What tells an event of AWS Health about EC2.
// https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
const (
	HealthSource     = "aws.health"
	HealthDetailType = "AWS Health Event"
	healthEC2        = "EC2"
)

// Health says that AWS Health has something to say of instances, such as that they are to be
// retired. It is a hint to look, never a fact to act on: what is scheduled, and when, EC2
// tells itself.
type Health struct {
	EventID   string // of the event; a second delivery has the same
	Account   string // 12 digits
	Region    string
	Instances []roll.InstanceID
	At        time.Time // when it was sent, in UTC
}

// ParseHealth reads the body of an SQS record as ParseStateChange does. What it affects
// beside instances, such as volumes, is left out.
func ParseHealth(body []byte, home Home) (Health, *Ignored, error) {
	f := &faults{what: "health event"}
	o, ok := parse(f, body)
	if !ok {
		return Health{}, nil, f.err()
	}
	if i := foreign(o, f, HealthSource, HealthDetailType); i != nil {
		return Health{}, i, nil
	}
	h := Health{
		EventID: o.match("id", eventIDForm, "an event id"),
		Account: o.match("account", accountForm, "an account of 12 digits"),
		Region:  o.match("region", regionForm, "a region"),
		At:      o.moment("time"),
	}
	service := ""
	if raw, ok := o.fields["detail"]; !ok {
		f.add("detail", "missing")
	} else if d, ok := readObject(f, "detail", raw); ok {
		service, _ = d.text("service")
		h.Instances = affected(f, d)
	}
	if err := f.err(); err != nil {
		return Health{}, nil, err
	}
	if i := elsewhere(h.Account, h.Region, home, f); i != nil {
		return Health{}, i, nil
	}
	if service != healthEC2 || len(h.Instances) == 0 {
		return Health{}, &Ignored{OtherEntities, fmt.Sprintf("it is about %s, and names %d instances", f.quote(service), len(h.Instances))}, nil
	}
	return h, nil, nil
}

// affected are the instances among detail.affectedEntities, each once. An event about a
// service as a whole has none.
func affected(f *faults, detail object) (out []roll.InstanceID) {
	raw, ok := detail.fields["affectedEntities"]
	if !ok {
		return nil
	}
	var entities []struct {
		EntityValue string `json:"entityValue"`
	}
	if err := json.Unmarshal(raw, &entities); err != nil {
		f.add("detail.affectedEntities", "must be a list of entities")
		return nil
	}
	for _, e := range entities {
		if id, ok := roll.ParseInstanceID(e.EntityValue); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
