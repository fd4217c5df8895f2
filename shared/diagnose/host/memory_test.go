package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	mi = 1 << 20
	gi = 1 << 30
)

// pressed returns a Ready node with a condition that the finding is about.
func pressed(kind string) *world {
	w := of(roll.ConditionFailed)
	do(condition("KernelReady", "True"), condition(kind, "True"))(w)
	w.finding.Condition = kind
	return w
}

// free returns a pod without a memory limit.
func free(name string, request, used int64) evidence.Pod {
	return evidence.Pod{Namespace: "shop", Name: name, Phase: "Running", Unlimited: true, MemoryRequest: request, MemoryUsed: used}
}

func causeOf(t *testing.T, w *world, code cause.Code) roll.Cause {
	t.Helper()
	causes := w.analyze().Causes()
	i := slices.IndexFunc(causes, func(c roll.Cause) bool { return c.Code == code })
	must.That(t, i >= 0, "no %s among %v", code, causes)
	return causes[i]
}

func TestAReadyNodeThatRunsShort(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*world)
		want  string
	}{
		{"of memory", func(*world) {}, "MemoryPressurePreceded"},
		{"of memory and disk space", condition(roll.DiskPressure, "True"), "MemoryPressurePreceded DiskPressurePreceded?"},
		{"it is over", condition(roll.MemoryPressure, "False"), ""},
		{"it is no longer told", condition(roll.MemoryPressure, "Unknown"), ""},
		{"the node could not be read", func(w *world) { w.node.Object = evidence.Failed[evidence.NodeObject]("denied") }, ""},
	} {
		w := pressed(roll.MemoryPressure)
		tt.spoil(w)
		expect.Equal(t, causetest.Told(w.analyze()), tt.want, "%s", tt.name)
	}
	for condition, code := range map[string]cause.Code{roll.DiskPressure: cause.DiskPressurePreceded, roll.PIDPressure: cause.PidPressurePreceded} {
		w := pressed(condition)
		expect.Equal(t, causetest.Told(w.analyze()), code, "%s", condition)
		// The node works: no command in the fix terminates or reboots it.
		if fix := causeOf(t, w, code).Fix; strings.Contains(fix, "terminate") || strings.Contains(fix, "reboot") {
			t.Error(fix)
		}
	}
}

// What used most comes first; without a measurement only the request is reported.
func TestPodsWithoutAMemoryLimitAreNamed(t *testing.T) {
	limited := evidence.Pod{Namespace: "shop", Name: "tame", Phase: "Running", MemoryRequest: 8 * gi, MemoryUsed: 9 * gi}
	killed := free("killed", 0, 0)
	killed.OutOfMemory = true
	daemon := free("aaa", 0, 0)
	daemon.Owner = "DaemonSet/aaa"
	done := free("done", gi, 0)
	done.Phase = "Succeeded"
	evicted := free("cache", 256*mi, 3*gi+200*mi)
	evicted.Phase = "Failed"
	for _, tt := range []struct {
		name    string
		pods    []evidence.Pod
		summary string // its end
		shown   string
	}{
		{"none", nil, "", "no pod is on the node"},
		{"all have one", []evidence.Pod{limited}, "", "a limit for each"},
		{"one", []evidence.Pod{limited, free("web", 512*mi, 0)}, "; 1 of its pods has no memory limit: shop/web (requests 512Mi)", "none for shop/web (requests 512Mi)"},
		{"what was measured, then what was killed", []evidence.Pod{free("big", 2*gi, 0), killed, free("small", 0, 700*mi), evicted},
			"; 4 of its pods have no memory limit: shop/cache (used 3.2Gi when it was evicted, requests 256Mi), shop/small (used 700Mi when it was evicted, requests none), and 2 more",
			"none for shop/cache (used 3.2Gi when it was evicted, requests 256Mi), shop/small (used 700Mi when it was evicted, requests none), shop/killed (killed for lack of memory, requests none), shop/big (requests 2Gi)"},
		{"what requests most; daemons last; what is done not at all", []evidence.Pod{daemon, done, free("b", 0, 0), free("a", 100, 0)},
			"; 3 of its pods have no memory limit: shop/a (requests 1Ki), shop/b (requests none), and 1 more", ""},
	} {
		for name, w := range map[string]*world{"lasts": pressed(roll.MemoryPressure), "preceded": of(roll.Unknown)} {
			w.node.Pods = evidence.Read(tt.pods)
			if name == "preceded" {
				remember(roll.MemoryPressure, "True", time.Minute)(w)
			}
			c := causeOf(t, w, cause.MemoryPressurePreceded)
			_, end, _ := strings.Cut(c.Summary, ";")
			expect.That(t, end == strings.TrimPrefix(tt.summary, ";"), "%s, %s: %s", tt.name, name, c.Summary)
			last := c.Evidence[len(c.Evidence)-1]
			if last.Source != "pods" || tt.shown != "" && last.Observed != tt.shown {
				t.Errorf("%s, %s: %+v", tt.name, name, last)
			}
		}
	}
	w := pressed(roll.MemoryPressure)
	w.node.Pods = evidence.Failed[[]evidence.Pod]("pods: no permission")
	c := causeOf(t, w, cause.MemoryPressurePreceded)
	expect.That(t, c.Evidence[1].Observed == "unknown: pods: no permission", "%+v", c)
}

func TestAPressureOfTheGroupThatComesBack(t *testing.T) {
	since := silence.Add(-10 * time.Minute)
	was := func(n int, kind string, before time.Duration) evidence.Pressure {
		return evidence.Pressure{Instance: roll.InstanceID(fmt.Sprintf("i-%d", n)), Node: fmt.Sprintf("ip-%d", n), Type: kind, Since: since.Add(-before)}
	}
	own := func(before time.Duration) evidence.Pressure {
		p := was(0, roll.MemoryPressure, before)
		p.Instance = instance
		return p
	}
	ordinal := "; it is the %s node of " + string(group) + " within 24 h"
	for _, tt := range []struct {
		name   string
		before []evidence.Pressure
		want   string
	}{
		{"none", nil, ""},
		{"itself", []evidence.Pressure{own(0)}, ""},
		{"another one", []evidence.Pressure{was(1, roll.MemoryPressure, time.Hour), own(0)}, fmt.Sprintf(ordinal, "second")},
		{"two others", []evidence.Pressure{was(1, roll.MemoryPressure, 2*time.Hour), was(2, roll.MemoryPressure, time.Hour)}, fmt.Sprintf(ordinal, "third")},
		{"one of them twice", []evidence.Pressure{was(1, roll.MemoryPressure, 2*time.Hour), was(1, roll.MemoryPressure, time.Hour)}, fmt.Sprintf(ordinal, "second")},
		{"a day before", []evidence.Pressure{was(1, roll.MemoryPressure, 24*time.Hour)}, fmt.Sprintf(ordinal, "second")},
		{"more than a day before", []evidence.Pressure{was(1, roll.MemoryPressure, 24*time.Hour+time.Second)}, ""},
		{"after it", []evidence.Pressure{was(1, roll.MemoryPressure, -time.Second)}, ""},
		{"of another kind", []evidence.Pressure{was(1, roll.DiskPressure, time.Hour)}, ""},
		{"itself before", []evidence.Pressure{own(3 * time.Hour), own(0)}, "; it did so before within 24 h"},
	} {
		w := of(roll.Unknown)
		remember(roll.MemoryPressure, "True", time.Minute)(w)
		for i := range w.node.Remembered.Value.Conditions {
			if c := &w.node.Remembered.Value.Conditions[i]; c.Type == roll.MemoryPressure {
				c.Since = since
			}
		}
		w.node.Remembered.Value.GroupPressures = tt.before
		c := causeOf(t, w, cause.MemoryPressurePreceded)
		_, end, _ := strings.Cut(c.Summary, ";")
		expect.That(t, end == strings.TrimPrefix(tt.want, ";"), "%s: %s", tt.name, c.Summary)
		last := c.Evidence[len(c.Evidence)-2]
		expect.That(t, (last.Field == "MemoryPressure of nodes of "+string(group)) == (tt.want != ""), "%s: %+v", tt.name, last)
	}
}
