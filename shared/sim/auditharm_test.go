package sim

import (
	"fmt"
	"testing"
	"time"
)

// Only the interruption of what worked, and would have continued to, is harm.
func TestOnlyWhatWorkedIsHarm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(m *machine)
		harm   bool
	}{
		{"its kubelet comes and goes", func(m *machine) { m.ail, m.since = flapping, m.c.a.Now() }, true},
		{"its kubelet is dead, and it serves", func(m *machine) { m.ail, m.serving = silent, true }, true},
		{"its kubelet is dead, and it serves what the policy spares", func(m *machine) {
			m.serves(keptLocal)
			m.ail = silent
			m.c.a.dep.policy += "silentNode: {budgets: ignore}\n"
		}, true},
		{"no list shows its Node", func(m *machine) { m.node.unlisted, m.vanished = true, m.c.a.Now() }, true},
		{"its Node was deleted, with its pods", func(m *machine) {
			m.lost, m.vanished = m.node, m.c.a.Now()
			m.c.removeNode(m.node)
		}, false},
		{"the policy ignores what it serves", func(m *machine) {
			m.serves(keptLocal)
			m.ail = silent
			m.c.a.dep.policy += "silentNode: {localVolumes: ignore}\n"
		}, true},
		{"it is not ready", func(m *machine) { m.fall(notReady, false, false) }, false},
		{"it is silent", func(m *machine) { m.fall(silent, false, false) }, false},
		{"it has no network", func(m *machine) { m.mute(true) }, false},
	} {
		c, m := worker(t)
		other := up(m.g, "node-2")
		m.settledAt, other.settledAt = c.a.Now().Add(-time.Hour), c.a.Now().Add(-time.Hour)
		for i := range 12 {
			m.node.pods = append(m.node.pods, &pod{namespace: "shop", name: fmt.Sprint("web-", i), uid: uid(m.d.nth(i))})
		}
		m.touch()
		tt.before(m)
		ended(t, m, actTerminate)
		for range 5 {
			c.a.until(c.a.Now().Add(step))
			c.a.audit.interrupted()
		}
		accepted := tt.name == "the policy ignores what it serves" // it is counted, and breaks no rule
		if got := c.a.audit.harms.total; (got.Minutes > harmful) != tt.harm || c.a.audit.broke(RuleHarm) != (tt.harm && !accepted) || (got.Pods >= 12) != tt.harm {
			t.Errorf("%s: %+v; broken are %+v", tt.name, got, c.a.audit.violations)
		}
	}
}
