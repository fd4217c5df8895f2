package sim

import (
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
)

// stepped has remediate read a machine, and then the auditor audit what it does.
func stepped(t *testing.T, m *machine, does func(*auditor, *invocation)) {
	t.Helper()
	a := m.c.a
	inside(t, a, remediator, func(v *env) {
		v.inv.begun = a.Now()
		v.inv.sawPolicy(a.dep.policy, true)
		v.inv.seen.nodes.page(a.Now(), m.c.listNodes(), true, true, true)
		v.inv.sawInstance(m.id, m.shown, true)
		does(a.audit, v.inv)
	})
}

// A drain is over when no pod is left that had to leave.
func TestWhatAnswersIsEmptyBeforeItEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		force  string
		before func(m *machine, p *pod)
		broken bool
	}{
		{"a pod is left", "never", func(*machine, *pod) {}, true},
		{"a pod stops", "never", func(m *machine, p *pod) { p.leaving = m.c.a.Now() }, true},
		{"a pod hangs", "never", func(m *machine, p *pod) { p.leaving, m.hangs = m.c.a.Now(), true }, false},
		{"a pod of a DaemonSet is left", "never", func(_ *machine, p *pod) { p.daemon = true }, false},
		{"its kubelet is silent", "never", func(m *machine, _ *pod) { m.ail = silent; m.hush(); m.c.a.until(m.c.a.Now().Add(2 * time.Minute)) }, false},
		{"the policy forces it", "afterBudgetTimeout", func(*machine, *pod) {}, false},
	} {
		c, m := worker(t)
		c.a.dep.policy = remediating + "drain: {force: " + tt.force + "}\n"
		p := &pod{namespace: "shop", name: "web-1", uid: "1"}
		m.node.pods = append(m.node.pods, p)
		m.fall(notReady, false, false)
		tt.before(m, p)
		stepped(t, m, func(u *auditor, inv *invocation) {
			u.drained(inv, actTerminate, m, ledger.Action{Kind: roll.NotReady})
		})
		expect.That(t, c.a.audit.broke(RuleServing) == tt.broken, "%s: broken are %+v", tt.name, c.a.audit.violations)
	}
}

// A drain cordons what is not cordoned, by its own intent, if the ladder had a cordon before it or a
// person's cordon was lifted since.
func TestADrainCordonsByItsOwnIntent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		do     string
		before func(m *machine, at time.Time)
		rules  []Rule
	}{
		{"Rollcall's cordon was lifted", "drain", func(m *machine, at time.Time) {
			m.c.a.audit.taken[[2]string{m.id, "cordon"}] = at.Add(-10 * time.Minute)
		}, nil},
		{"a person lifted theirs", "drain", func(m *machine, at time.Time) { m.node.lifted = at }, nil},
		{"a person lifted theirs long ago", "drain", func(m *machine, at time.Time) { m.node.lifted = at.Add(-10 * time.Minute) }, []Rule{RuleLadder}},
		{"nobody cordoned it", "drain", func(*machine, time.Time) {}, []Rule{RuleLadder}},
		{"another intent", "reboot", func(*machine, time.Time) {}, []Rule{RuleIntent}},
	} {
		c, m := worker(t)
		c.a.dep.policy = remediating + "ladders: {NotReady: [{do: cordon}, {do: drain, after: 5m}]}\n"
		m.settledAt = c.a.Now()
		m.fall(notReady, false, false)
		c.a.until(c.a.Now().Add(time.Hour))
		at := c.a.Now()
		tt.before(m, at)
		stepped(t, m, func(u *auditor, inv *invocation) {
			cluster := roll.ClusterID{Account: accountID, Region: region, Name: c.name}
			intent := ledger.Action{ID: "a", Instance: roll.InstanceID(m.id), Kind: roll.NotReady, Do: tt.do, At: at}
			expect.Succeed(t, c.a.dep.newLedger(inv.v).Begin(t.Context(), cluster, intent, ledgertest.Wide))
			u.climbed(inv, actCordon, m, u.intent(inv, actCordon, c, m.id))
		})
		for _, rule := range []Rule{RuleLadder, RuleIntent} {
			expect.That(t, c.a.audit.broke(rule) == slices.Contains(tt.rules, rule), "%s: broken are %+v", tt.name, c.a.audit.violations)
		}
	}
}

// A node is uncordoned when it is Ready again, unless a person holds it.
func TestACordonIsLiftedFromWhatCameBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(m *machine)
		rule   Rule
	}{
		{"it is ready", func(*machine) {}, ""},
		{"it is not ready", func(m *machine) { m.fall(notReady, false, false) }, RuleTidy},
		{"a person holds it", func(m *machine) { m.tags = with(m.tags, tag{roll.TagHold, "true"}) }, RuleKept},
		{"a person held it", func(m *machine) { m.tags = with(m.tags, tag{roll.TagHold, "2020-01-01"}) }, ""},
	} {
		c, m := worker(t)
		m.node.cordoned = true
		tt.before(m)
		m.node.version = c.changed()
		m.touch()
		c.a.until(c.a.Now().Add(10 * time.Minute)) // until EC2 shows it
		stepped(t, m, func(u *auditor, inv *invocation) { u.givenBack(inv, m.id) })
		if got := c.a.audit.violations; tt.rule == "" && len(got) > 0 || tt.rule != "" && !c.a.audit.broke(tt.rule) {
			t.Errorf("%s: broken are %+v", tt.name, got)
		}
	}
}

// A check counts as complete only if it read every page.
func TestACompleteLookLacksNoPage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nodes  int
		last   bool
		broken bool
	}{
		{"all of it", 2, true, false},
		{"without the last page", 2, false, true},
		{"one of them twice", 3, true, true},
	} {
		c, m := worker(t)
		up(m.g, "node-2")
		inside(t, c.a, inspect, func(v *env) {
			v.inv.seen.instances.page(c.a.Now(), nil, true, true, true)
			v.inv.seen.nodes.page(c.a.Now(), c.listNodes(), true, tt.last, true)
			c.a.audit.readWhole(v.inv, checkup{cluster: c.name, whole: true, nodes: tt.nodes})
		})
		expect.That(t, c.a.audit.broke(RuleWhole) == tt.broken, "%s: broken are %+v", tt.name, c.a.audit.violations)
	}
}
