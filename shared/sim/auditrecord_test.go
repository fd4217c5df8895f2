package sim

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// An incident that is reported every half hour is noise. One that lasts for days is not.
func TestNoiseIsCountedByTheDay(t *testing.T) {
	for _, tt := range []struct {
		notices int
		every   time.Duration
		orders  int // of the first notices, each with a new order
		noise   bool
	}{
		{noticesADay + 1, 30 * time.Minute, 0, false}, {noticesADay + 2, 30 * time.Minute, 0, true},
		{noticesADay + 2, 30 * time.Minute, 1, false}, {noticesADay + 12, 30 * time.Minute, 10, true},
		{3 * noticesADay, time.Hour, 0, false}, {3 * noticesADay, 50 * time.Minute, 0, true},
	} {
		a := bare(t, false)
		for n := range tt.notices {
			d := noticed{Cluster: "demo", Group: "asg/workers", Kind: "Unknown", Incident: &noticedIncident{ID: "a"}, Instances: []noticedInstance{{Instance: "i-1"}}}
			if n < tt.orders {
				d.Instances[0].Order = fmt.Sprint("order ", n)
			}
			a.audit.tellsOf(&invocation{process: &process{}, name: "inspect#1"}, d)
			a.until(a.Now().Add(tt.every))
		}
		expect.That(t, a.audit.broke(RuleNoise) == tt.noise, "%d notices, one each %s, %d of orders: noise %v, want %v", tt.notices, tt.every, tt.orders, !tt.noise, tt.noise)
	}
}

// One more than three instances is no news, unless the notice of the three could not be recorded.
func TestOneMoreOfManyIsNoise(t *testing.T) {
	for _, tt := range []struct {
		what      string
		first     invocation
		instances int
		cause     string
		nextDay   bool // one more notice, a day later, could not be recorded
		noise     bool
	}{
		{"one more", invocation{}, 4, "KubeletSilent", false, true},
		{"half as many more", invocation{}, 5, "KubeletSilent", false, false},
		{"of another cause", invocation{}, 4, "MemoryPressurePreceded", false, false},
		{"that was not remembered", invocation{failed: true}, 4, "KubeletSilent", false, false},
		{"on the next day", invocation{}, 4, "KubeletSilent", true, false},
	} {
		a := bare(t, false)
		tell := func(inv *invocation, instances int, cause string, news string) {
			d := noticed{Cluster: "demo", Group: "asg/workers", Kind: "Unknown", Cause: cause, News: []string{news}, Incident: &noticedIncident{ID: "a"}, Truncated: instances}
			inv.process, inv.begun = &process{}, a.Now()
			a.audit.tellsOf(inv, d)
			a.until(a.Now().Add(time.Minute))
			inv.ended = a.Now()
			a.until(a.Now().Add(time.Minute))
		}
		tell(&invocation{name: "inspect#1"}, 1, "KubeletSilent", "opened")
		tt.first.name = "inspect#2"
		tell(&tt.first, 3, "KubeletSilent", "grown")
		if tt.nextDay {
			a.until(a.Now().Add(24 * time.Hour))
			tell(&invocation{name: "inspect#3", failed: true}, 3, "KubeletSilent", "grown")
		}
		tell(&invocation{name: "inspect#4"}, tt.instances, tt.cause, "grown")
		expect.That(t, a.audit.broke(RuleNoise) == tt.noise, "%s: broken are %+v, noise %v wanted", tt.what, a.audit.violations, tt.noise)
	}
}

// A cordon by a person stays as it is when Rollcall cordons the node.
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
		c, m := worker(t)
		n := m.node
		n.cordoned = true
		if tt.mark != "" {
			n.annotations = map[string]string{roll.AnnotationCordoned: tt.mark}
		}
		inside(t, c.a, remediator, func(v *env) {
			q := &kubeQuery{api: &kubeAPI{v: v}, c: c, name: n.name, body: fmt.Appendf(nil, tt.patch, roll.AnnotationCordoned)}
			_, err := q.patchNode()
			expect.Succeed(t, err)
		})
		expect.That(t, c.a.audit.broke(RuleKept) == tt.broken, "%s: broken are %+v", name, c.a.audit.violations)
	}
}

// A pod of a DaemonSet comes back to the same node, so a drain leaves it.
func TestAPodOfADaemonSetIsNotEvicted(t *testing.T) {
	for _, daemon := range []bool{true, false} {
		c, m := worker(t)
		n := m.node
		c.a.audit.evicted(&invocation{name: "remediate#1"}, n, &pod{name: "p", daemon: daemon})
		expect.That(t, c.a.audit.broke(RuleKept) == daemon, "of a DaemonSet %v: broken are %+v", daemon, c.a.audit.violations)
	}
}

// What is told to have recovered is a node that works, or failed again only just now.
func TestWhatIsToldToHaveRecoveredDid(t *testing.T) {
	for _, tt := range []struct {
		what   string
		kind   roll.Kind
		status corev1.ConditionStatus
		since  time.Duration
		broken bool
	}{
		{"it is in order", roll.Unknown, corev1.ConditionTrue, 2 * time.Hour, false},
		{"it has been silent all the time", roll.Unknown, corev1.ConditionUnknown, 2 * time.Hour, true},
		{"it is silent again", roll.Unknown, corev1.ConditionUnknown, time.Minute, false},
		{"it is silent, and was not ready", roll.NotReady, corev1.ConditionUnknown, 2 * time.Hour, true},
		{"it is silent, and was short of memory", roll.ConditionFailed, corev1.ConditionUnknown, 20 * time.Minute, true},
		{"it has not been ready all the time", roll.NotReady, corev1.ConditionFalse, 2 * time.Hour, true},
	} {
		c, m := worker(t)
		*m.node.ready() = corev1.NodeCondition{Type: corev1.NodeReady, Status: tt.status, LastTransitionTime: metav1.NewTime(c.a.Now().Add(-tt.since))}
		inside(t, c.a, inspect, func(v *env) {
			c.a.audit.endedAs(v.inv, noticed{Cluster: c.name, Kind: string(tt.kind), Ended: []noticedEnded{{Instance: m.id, How: "recovered"}}})
		})
		expect.That(t, c.a.audit.broke(RuleEnd) == tt.broken, "%s: broken are %+v", tt.what, c.a.audit.violations)
	}
}
