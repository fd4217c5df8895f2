package rules

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"rollcall/shared/emit"
	"rollcall/shared/sim"
)

// What a whole simulated day tells reaches the targets in the form that they want.
func TestADayReachesTheTargets(t *testing.T) {
	var day []map[string]any
	hear := func(at time.Time, detailType, detail string, resources []string) {
		var d any
		if err := json.Unmarshal([]byte(detail), &d); err != nil {
			t.Error(err)
		}
		day = append(day, map[string]any{"detail-type": detailType, "source": emit.Source, "time": at.Format(time.RFC3339), "resources": resources, "detail": d})
	}
	if _, err := sim.Run(sim.Day(), sim.Watch{Bus: hear, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	made := with(t, all)
	for id, r := range rules(t, made) {
		if r.Targets[0].InputTransformer == nil {
			continue
		}
		var pattern struct {
			DetailType []string `json:"detail-type"`
		}
		if err := json.Unmarshal(r.EventPattern, &pattern); err != nil {
			t.Fatal(err)
		}
		wanted, reached := schema(t, consumers[r.Targets[0].Arn]), 0
		for _, event := range day {
			detail := event["detail"].(map[string]any)
			stage, staged := detail["stage"]
			if !slices.Contains(pattern.DetailType, event["detail-type"].(string)) || staged && stage != "overdue" || detail["finding"] == nil {
				continue
			}
			reached++
			if err := wanted.Validate(body(t, made, id, r, event)); err != nil {
				t.Errorf("%s of %v: %v", id, event, err)
			}
		}
		if reached < 5 {
			t.Errorf("%s takes %d events of a day", id, reached)
		}
	}
}
