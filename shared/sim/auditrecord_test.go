package sim

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/roll"
)

// An incident that is told of each half hour is noise, and one that goes on for days is not.
func TestNoiseIsCountedByTheDay(t *testing.T) {
	for _, tt := range []struct {
		notices int
		every   time.Duration
		noise   bool
	}{{noticesADay + 2, 30 * time.Minute, false}, {noticesADay + 3, 30 * time.Minute, true}, {3 * noticesADay, time.Hour, false}, {3 * noticesADay, 50 * time.Minute, true}} {
		a := bare(t, false)
		for range tt.notices {
			d := noticed{Cluster: "demo", Group: "asg/workers", Kind: "Unknown", Incident: &noticedIncident{ID: "a"}, Instances: []noticedInstance{{Instance: "i-1"}}}
			a.audit.tellsOf(&invocation{name: "inspect#1"}, d)
			a.until(a.Now().Add(tt.every))
		}
		if a.audit.broke(RuleNoise) != tt.noise {
			t.Errorf("%d notices, one each %s: noise %v, want %v", tt.notices, tt.every, !tt.noise, tt.noise)
		}
	}
}

// Who cordons a node that a person cordoned leaves that cordon as it is.
func TestACordonOfAPersonIsNotTakenOver(t *testing.T) {
	for name, tt := range map[string]struct {
		mark, patch string
		broken      bool
	}{
		"marked":           {"", `{"metadata":{"annotations":{%q:"a"}},"spec":{"unschedulable":true}}`, true},
		"lifted":           {"", `{"metadata":{"annotations":{%q:null}},"spec":{"unschedulable":null}}`, true},
		"Rollcall's own":   {"a", `{"metadata":{"annotations":{%q:null}},"spec":{"unschedulable":null}}`, false},
		"marked once more": {"a", `{"metadata":{"annotations":{%q:"a"}},"spec":{"unschedulable":true}}`, false},
	} {
		c := handmade(t, GroupSpec{Name: "workers", Owner: "autoscaling-group", Type: "m5.large"})
		n := up(c.groups[0], "node-1").node
		n.cordoned = true
		if tt.mark != "" {
			n.annotations = map[string]string{roll.AnnotationCordoned: tt.mark}
		}
		inside(t, c.a, remediator, func(v *env) {
			q := &kubeQuery{api: &kubeAPI{v: v}, c: c, name: n.name, body: fmt.Appendf(nil, tt.patch, roll.AnnotationCordoned)}
			if _, err := q.patchNode(); err != nil {
				t.Error(err)
			}
		})
		if c.a.audit.broke(RuleKept) != tt.broken {
			t.Errorf("%s: broken are %+v", name, c.a.audit.violations)
		}
	}
}
