package template

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/shared/lambdas/trigger"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/python"
)

// matches reports, for each event, whether a rule of the template matches it.
func matches(t *testing.T, rule string, events []json.RawMessage) []bool {
	t.Helper()
	pattern, err := read(t).EventPattern(rule)
	must.Succeed(t, err)
	return python.Answers[bool](t, root, "match.py", map[string]any{"pattern": json.RawMessage(pattern), "events": events}, len(events))
}

// bodies returns the messages of a sample batch.
func bodies(t *testing.T, file string) []string {
	t.Helper()
	data := must.Read(t, file)
	var batch struct{ Records []struct{ Body string } }
	err := json.Unmarshal(data, &batch)
	must.That(t, err == nil && len(batch.Records) != 0, "%s is no batch: %v", file, err)
	var out []string
	for _, r := range batch.Records {
		out = append(out, r.Body)
	}
	return out
}

func TestTheRuleLetsTheSampleEventsThrough(t *testing.T) {
	for state, want := range map[string]bool{"running": true, "stopping": true, "stopped": true, "shutting-down": true, "terminated": true, "pending": false} {
		var events []json.RawMessage
		for _, body := range bodies(t, filepath.Join(root, "events", "statechange-"+state+".json")) {
			events = append(events, json.RawMessage(body))
		}
		for i, got := range matches(t, "StateChanges", events) {
			expect.That(t, got == want, "event %d of statechange-%s.json is let through: %v, want %v", i+1, state, got, want)
		}
	}
}

// Events of the mixed batch that the function would drop or ignore must not match the
// rule, except for what no pattern can express: another account or another version.
func TestTheRuleLetsThroughNothingOfAnotherKind(t *testing.T) {
	var events []json.RawMessage
	var understood []bool
	for _, body := range bodies(t, filepath.Join(root, "events", "statechange-mixed.json")) {
		if !json.Valid([]byte(body)) {
			continue
		}
		e, _, _ := trigger.ParseEvent([]byte(body), trigger.Home{})
		events, understood = append(events, json.RawMessage(body)), append(understood, e.State != "")
	}
	let := 0
	for i, got := range matches(t, "StateChanges", events) {
		if understood[i] && !got {
			t.Errorf("the function understands what the rule keeps from it: %s", events[i])
		}
		if got {
			let++
			var e struct {
				Source     string
				DetailType string `json:"detail-type"`
			}
			err := json.Unmarshal(events[i], &e)
			expect.That(t, err == nil && e.Source == "aws.ec2" && strings.Contains(e.DetailType, "State-change"), "the rule lets through %s", events[i])
		}
	}
	expect.That(t, let != 0 && let != len(events), "of %d events %d are let through", len(events), let)
}

func TestTheRuleTellsSourcesAndTypesApart(t *testing.T) {
	event := func(source, kind, state string) json.RawMessage {
		data, err := json.Marshal(map[string]any{
			"version": "0", "id": "7bf73129-1428-4cd3-a780-95db273d1602", "source": source, "detail-type": kind, "account": Account, "region": Region,
			"time": "2026-03-10T12:00:00Z", "resources": []string{}, "detail": map[string]string{"instance-id": "i-0a1b2c3d4e5f60718", "state": state},
		})
		must.Succeed(t, err)
		return data
	}
	const kind = "EC2 Instance State-change Notification"
	want := []bool{true, false, false, false, false}
	got := matches(t, "StateChanges", []json.RawMessage{
		event("aws.ec2", kind, "running"), event("aws.ec2", kind, "pending"), event("aws.autoscaling", kind, "running"),
		event("aws.ec2", "EC2 Spot Instance Interruption Warning", "running"), event("rollcall", kind, "running"),
	})
	for i := range want {
		expect.That(t, got[i] == want[i], "event %d is let through: %v, want %v", i+1, got[i], want[i])
	}
}

func TestTheSpotRuleLetsThroughWhatIsAnnounced(t *testing.T) {
	sample := bodies(t, filepath.Join(root, "events", "statechange-mixed.json"))[5]
	s, ignored, err := trigger.ParseEvent([]byte(sample), trigger.Home{})
	expect.That(t, err == nil && ignored == "" && s.Spot != "", "the function makes of the sample %+v, %v, %v", s, ignored, err)
	as := func(detailType string) json.RawMessage {
		return json.RawMessage(strings.Replace(sample, trigger.SpotInterruptionDetailType, detailType, 1))
	}
	events := []json.RawMessage{json.RawMessage(sample), as(trigger.SpotRebalanceDetailType), as("EC2 Spot Instance Request Fulfillment"), as(trigger.StateChangeDetailType)}
	for i, got := range matches(t, "SpotEvents", events) {
		expect.Equal(t, got, i < 2, "event %d is let through", i+1)
	}
}

func TestTheHealthRuleLetsThroughWhatIsAboutEC2(t *testing.T) {
	sample := bodies(t, filepath.Join(root, "events", "health-scheduled.json"))[0]
	h, ignored, err := trigger.ParseEvent([]byte(sample), trigger.Home{})
	expect.That(t, err == nil && ignored == "" && len(h.Instances) == 2, "the function makes of the sample %+v, %v, %v", h, ignored, err)
	var events []json.RawMessage
	want := []bool{true, false, false, false}
	for _, body := range []string{
		sample, strings.Replace(sample, `"service":"EC2"`, `"service":"EBS"`, 1), strings.Replace(sample, `"aws.health"`, `"aws.ec2"`, 1),
		strings.Replace(sample, "AWS Health Event", "AWS Health Abuse Event", 1),
	} {
		events = append(events, json.RawMessage(body))
	}
	for i, got := range matches(t, "HealthEvents", events) {
		expect.That(t, got == want[i], "event %d is let through: %v, want %v", i+1, got, want[i])
	}
	for i, got := range matches(t, "StateChanges", events) {
		expect.That(t, !got, "event %d is let through by the rule for state changes, and so twice", i+1)
	}
}
