package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"rollcall/shared/lambdas/trigger"
)

// ruled is the maximum time from EC2 through the rule to the queue.
const ruled = 3 * time.Second

// stateChanged sends the event of the state that a machine has just entered, as the template's
// rule matches it: every state but pending.
func (a *account) stateChanged(m *machine) {
	if a.dep == nil || m.state == pending {
		return
	}
	d := m.d.of("state").of(string(m.state)).of(a.Now().String())
	body := stateChangeEvent(uid(d), m.id, m.state, a.Now())
	a.arrives(body, d.of("ruled").between(0, ruled), d)
}

// stateChangeEvent returns the event as EventBridge delivers it to a queue; events/ has samples.
func stateChangeEvent(id, instance string, state machineState, at time.Time) string {
	return ec2Event(id, trigger.StateChangeDetailType, region+":"+accountID, instance, fmt.Sprintf(`"state":%q`, state), at)
}

// ec2Event returns an EC2 event about an instance. where is the part of its ARN before the
// instance, and said the part of the detail beside its ID.
func ec2Event(id, detailType, where, instance, said string, at time.Time) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":%q,"source":%q,"account":%q,"time":%q,"region":%q,`+
		`"resources":["arn:aws:ec2:%s:instance/%s"],"detail":{"instance-id":%q,%s}}`,
		id, detailType, trigger.EC2Source, accountID, at.UTC().Format(time.RFC3339), region, where, instance, instance, said)
}

// spotWarning is how long before reclaiming a Spot Instance EC2 warns.
const spotWarning = 2 * time.Minute

// interrupted sends the event that EC2 will reclaim the machine.
func (a *account) interrupted(m *machine) {
	body := ec2Event(uid(m.d.of("interrupted")), trigger.SpotInterruptionDetailType, m.zone, m.id, `"instance-action":"terminate"`, a.Now())
	a.arrives(body, m.d.of("announced").between(0, ruled), m.d.of("announced"))
}

// eventsAPI is EventBridge, as an environment calls it.
type eventsAPI struct{ v *env }

// PutEvents puts at most ten events on the bus.
func (e eventsAPI) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	out := new(eventbridge.PutEventsOutput)
	err := e.v.call(ctx, "events:PutEvents", writes, "", func() error {
		if n := len(in.Entries); n < 1 || n > 10 {
			return badRequest("ValidationException", "PutEvents takes 1 to 10 entries, not %d", n)
		}
		out.Entries, out.FailedEntryCount = e.v.puts(in.Entries)
		return nil
	})
	return answered(out, err)
}
