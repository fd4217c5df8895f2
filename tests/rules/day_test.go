package rules

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"rollcall/shared/report/emit"
	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// day returns the events of a whole simulated day, in order.
func day(t *testing.T) (events []map[string]any) {
	t.Helper()
	hear := func(at time.Time, detailType, detail string, resources []string) {
		var d any
		expect.Succeed(t, json.Unmarshal([]byte(detail), &d))
		events = append(events, map[string]any{"detail-type": detailType, "source": emit.Source, "time": at.Format(time.RFC3339), "resources": resources, "detail": d})
	}
	if _, err := sim.Run(sim.Day(), sim.Watch{Bus: hear, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	return events
}

// reached returns the events that match a rule with an input transformer. Such a rule
// requires of a stage, if there is one, only that it is overdue.
func reached(t *testing.T, r rule, events []map[string]any) (out []map[string]any) {
	t.Helper()
	var pattern struct {
		DetailType []string `json:"detail-type"`
		Detail     struct{ Stage []any }
	}
	must.Succeed(t, json.Unmarshal(r.EventPattern, &pattern))
	for _, event := range events {
		detail := event["detail"].(map[string]any)
		stage, staged := detail["stage"]
		if !slices.Contains(pattern.DetailType, event["detail-type"].(string)) || pattern.Detail.Stage != nil && staged && stage != "overdue" || detail["finding"] == nil {
			continue
		}
		out = append(out, event)
	}
	return out
}

// The events of a whole simulated day reach the targets in the form that they require.
func TestADayReachesTheTargets(t *testing.T) {
	told, made := day(t), everything(t)
	for id, r := range rules(t, made) {
		if r.Targets[0].InputTransformer == nil {
			continue
		}
		wanted, events := schema(t, consumers[r.Targets[0].Arn]), reached(t, r, told)
		for _, event := range events {
			if err := wanted.Validate(body(t, made, id, r, event)); err != nil {
				t.Errorf("%s of %v: %v", id, event, err)
			}
		}
		expect.That(t, len(events) >= 5, "%s takes %d events of a day", id, len(events))
	}
}

// The day ends after a period without problems, so no incident is open.
func TestADayLeavesNoIncidentOpen(t *testing.T) {
	told, made := day(t), everything(t)
	open, opened := map[any]bool{}, 0
	for _, event := range told {
		for _, id := range []string{"IncidentOpens", "IncidentOver"} {
			r := rules(t, made)[id]
			if len(reached(t, r, []map[string]any{event})) == 0 {
				continue
			}
			switch call := body(t, made, id, r, event); call["event_action"] {
			case "trigger":
				open[call["dedup_key"]] = true
				opened++
			case "resolve":
				delete(open, call["dedup_key"])
			}
		}
	}
	expect.That(t, len(open) == 0 && opened >= 5, "of %d incidents these stay open: %v", opened, open)
}
