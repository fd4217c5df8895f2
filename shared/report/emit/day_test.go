package emit_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rollcall/shared/report/emit"
	"rollcall/shared/sim"
	"rollcall/tests/harness/must"
)

// told has the fields of an event that must agree with other events.
type told struct {
	Finding, Cluster, Instance, Kind string
	Since                            time.Time
}

// subject is what a finding's id identifies.
type subject struct {
	cluster, instance, kind string
	since                   time.Time
}

// listen runs a scenario and returns the events on the bus.
func listen(t *testing.T, day sim.Scenario) (bus []envelope) {
	t.Helper()
	hear := func(at time.Time, detailType, detail string, resources []string) {
		on := delivered(emit.Event{DetailType: detailType, Detail: json.RawMessage(detail), Resources: resources})
		on.Time = at
		bus = append(bus, on)
	}
	if _, err := sim.Run(day, sim.Watch{Bus: hear, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	return bus
}

// In a whole day of the functions as deployed, every event matches the schema, and a listener
// can correlate events.
func TestADayOfEvents(t *testing.T) {
	days := map[string]sim.Scenario{"the demo's day": sim.Day()}
	for seed := range uint64(4) {
		days[fmt.Sprintf("seed %d", seed)] = sim.Random(sim.Options{Seed: seed, Hours: sim.LeastHours, Clusters: 2, Nodes: 12})
	}
	for name, day := range days {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := listen(t, day)
			opened, resolved, of := map[string]bool{}, map[string]bool{}, map[string]subject{}
			count := map[string]int{}
			for _, on := range bus {
				data, err := json.Marshal(on)
				must.Succeed(t, err)
				if err := load(t).strict.Validate(parsed(t, data)); err != nil {
					t.Errorf("%s\n%v", data, err)
				}
				count[on.DetailType]++
				var e told
				must.Succeed(t, json.Unmarshal(on.Detail.(json.RawMessage), &e))
				if on.DetailType == emit.CheckCompleted || e.Finding == "" {
					continue
				}
				if s := (subject{e.Cluster, e.Instance, e.Kind, e.Since.UTC()}); of[e.Finding] == (subject{}) {
					of[e.Finding] = s
				} else if of[e.Finding] != s {
					t.Errorf("the id %s is of %+v and of %+v", e.Finding, of[e.Finding], s)
				}
				switch on.DetailType {
				case emit.FindingOpened:
					opened[e.Finding] = true
				case emit.FindingResolved:
					resolved[e.Finding] = true
				}
				if day.Quiet && !opened[e.Finding] {
					t.Errorf("about a finding that was not opened: %s", data)
				}
			}
			for _, detailType := range detailTypes {
				if day.Quiet && count[detailType] == 0 && detailType != emit.ActionFailed {
					t.Errorf("a day without %s", detailType)
				}
			}
			// A quiet day ends after a healthy period. In the others functions fail, and their
			// events are lost.
			for id := range opened {
				if day.Quiet && !resolved[id] {
					t.Errorf("%+v was opened and never resolved", of[id])
				}
			}
		})
	}
}
