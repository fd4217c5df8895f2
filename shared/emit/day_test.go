package emit_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rollcall/shared/emit"
	"rollcall/shared/sim"
)

// told is what an event on the bus tells that others must agree with.
type told struct {
	Finding, Cluster, Instance, Kind, Order, Text string
	Since                                         time.Time
}

// subject is what a finding's id stands for.
type subject struct {
	cluster, instance, kind string
	since                   time.Time
}

// A whole day of the functions as they are deployed: every event has the published form,
// and a listener can tell what belongs together.
func TestADayOfEvents(t *testing.T) {
	days := map[string]sim.Scenario{"the demo's day": sim.Day()}
	for seed := range uint64(4) {
		days[fmt.Sprintf("seed %d", seed)] = sim.Random(sim.Options{Seed: seed, Hours: sim.LeastHours, Clusters: 2, Nodes: 12})
	}
	for name, day := range days {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, resolved, of := map[string]bool{}, map[string]bool{}, map[string]subject{}
			count := map[string]int{}
			listen := func(at time.Time, detailType, detail string, resources []string) {
				data, err := json.Marshal(envelope{Version: "0", ID: "7bf73129-1428-4cd3-a780-95db273d1602", DetailType: detailType, Source: emit.Source, Account: "111122223333", Time: at, Region: "eu-west-1", Resources: append([]string{}, resources...), Detail: json.RawMessage(detail)})
				if err != nil {
					t.Fatal(err)
				}
				if err := load(t).strict.Validate(parsed(t, data)); err != nil {
					t.Errorf("%s %s\n%v", detailType, detail, err)
				}
				var e told
				if err := json.Unmarshal([]byte(detail), &e); err != nil {
					t.Fatal(err)
				}
				count[detailType]++
				if detailType == emit.CheckCompleted || e.Finding == "" {
					return
				}
				if s := (subject{e.Cluster, e.Instance, e.Kind, e.Since.UTC()}); of[e.Finding] == (subject{}) {
					of[e.Finding] = s
				} else if of[e.Finding] != s {
					t.Errorf("the id %s is of %+v and of %+v", e.Finding, of[e.Finding], s)
				}
				switch detailType {
				case emit.FindingOpened:
					opened[e.Finding] = true
				case emit.FindingResolved:
					resolved[e.Finding] = true
				}
				if day.Quiet && !opened[e.Finding] {
					t.Errorf("%s: %s about %s, which was not opened: %s", at.Format(time.TimeOnly), detailType, e.Finding, detail)
				}
			}
			if _, err := sim.Run(day, sim.Watch{Bus: listen, GoOn: true}); err != nil {
				t.Fatal(err)
			}
			for _, detailType := range emit.DetailTypes() {
				if day.Quiet && count[detailType] == 0 && detailType != emit.ActionFailed {
					t.Errorf("a day without %s", detailType)
				}
			}
			// The day ends when all has been well for a while. In the others functions die, and
			// what they had to tell is lost.
			for id := range opened {
				if day.Quiet && !resolved[id] {
					t.Errorf("%+v was opened and never resolved", of[id])
				}
			}
		})
	}
}
