package sim

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestStateChangesAreTheEventsOfTheSamples(t *testing.T) {
	data, err := os.ReadFile("../../events/statechange-running.json")
	must.Succeed(t, err)
	var sample events.SQSEvent
	must.Succeed(t, json.Unmarshal(data, &sample))
	want := sample.Records[0].Body
	s, _, err := trigger.ParseEvent([]byte(want), trigger.Home{})
	must.Succeed(t, err)
	got := stateChangeEvent(s.ID, string(s.Instances[0]), machineState(s.State), s.At)
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
}

func TestTheRuleTellsOfEveryStateButPending(t *testing.T) {
	a := bare(t, false)
	c := a.consume(stateChange)
	m := &machine{d: a.d.of("machine"), id: "i-0123456789abcdef0"}
	for i, state := range []machineState{pending, running, stopped, shuttingDown, terminated} {
		a.at(dawn.Add(time.Duration(i)*time.Minute+time.Millisecond), func() { m.state = state; a.stateChanged(m) })
	}
	a.pass(10 * time.Minute)
	var states []string
	ids := map[string]bool{}
	for _, d := range c.got {
		for _, body := range d.bodies {
			s, ignored, err := trigger.ParseEvent([]byte(body), trigger.Home{Account: accountID, Region: region})
			expect.That(t, err == nil && ignored == "" && string(s.Instances[0]) == m.id && s.At.Sub(dawn)%time.Minute == 0, "%s: %+v, %v", body, ignored, err)
			states = append(states, string(s.State))
			ids[s.ID] = true
		}
	}
	expect.That(t, slices.Equal(states, []string{string(roll.StateRunning), string(roll.StateStopped), string(roll.StateShuttingDown), string(roll.StateTerminated)}) && len(ids) == 4, "told of %q, %d ids", states, len(ids))
}

func TestTheBusTakesTenEventsAtMost(t *testing.T) {
	a := bare(t, false)
	v := a.environment(inspect)
	for n, ok := range map[int]bool{0: false, 1: true, 10: true, 11: false} {
		in := &eventbridge.PutEventsInput{}
		for range n {
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{DetailType: aws.String("Check Completed"), Detail: aws.String("{}")})
		}
		v.within(0, false, func() {
			_, err := (eventsAPI{v}).PutEvents(t.Context(), in)
			expect.That(t, (err == nil) == ok, "%d entries: %v", n, err)
		})
	}
}

func TestAnIDIsAUUID(t *testing.T) {
	id := uid(newDice(1))
	parts := strings.Split(id, "-")
	expect.That(t, len(id) == 36 && len(parts) == 5 && len(parts[2]) == 4 && parts[2][0] == '4', "got %s", id)
}
