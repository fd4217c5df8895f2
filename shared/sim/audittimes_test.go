package sim

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// What was read long before an act proves nothing.
func TestAnActRestsOnWhatWasJustRead(t *testing.T) {
	for _, tt := range []struct {
		node, instance time.Duration // between the reads and the act
		broken         bool
	}{{0, 0, false}, {freshFor - time.Second, freshFor - time.Second, false}, {freshFor + time.Second, 0, true}, {0, freshFor + time.Second, true}} {
		c, m := worker(t)
		m.tags = with(m.tags, tag{roll.TagOrder, "any"})
		m.touch()
		m.fall(silent, false, false)
		c.a.until(c.a.Now().Add(time.Hour))
		inside(t, c.a, remediator, func(v *env) {
			act := c.a.Now().Add(15 * time.Second)
			read := func(before time.Duration, what func()) {
				if at := act.Add(-before); at.After(c.a.Now()) {
					v.inv.wait(at.Sub(c.a.Now()))
				}
				what()
			}
			node := func() { v.inv.sawNodes(c.listNodes(), true, true, true) }
			instance := func() { v.inv.sawInstance(m.id, m.shown, true) }
			if tt.node >= tt.instance {
				read(tt.node, node)
				read(tt.instance, instance)
			} else {
				read(tt.instance, instance)
				read(tt.node, node)
			}
			_, err := (ec2API{v}).TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{m.id}})
			expect.Succeed(t, err)
		})
		expect.That(t, c.a.audit.broke(RuleFresh) == tt.broken, "%+v: broken are %+v", tt, c.a.audit.violations)
	}
}

// An expired order is not carried out.
func TestAnOrderThatExpiredIsNotCarriedOut(t *testing.T) {
	for after, broken := range map[time.Duration]bool{0: false, time.Hour: true} {
		c, m := worker(t)
		u := c.a.audit
		u.times.expires["a"] = c.a.Now()
		c.a.until(c.a.Now().Add(after))
		inv := &invocation{name: "remediate#1"}
		inv.seen.nodes.at = c.a.Now()
		inv.seen.looked = map[string]lookup{m.id: {at: c.a.Now()}}
		u.fresh(inv, actTerminate, m.id, "a")
		expect.That(t, u.broke(RuleFresh) == broken, "after %s: broken are %+v", after, u.violations)
	}
}

// The policy is read after the node, since it may have been changed during the diagnosis.
func TestAnActRestsOnAPolicyThatWasReadLast(t *testing.T) {
	for before, broken := range map[time.Duration]bool{0: false, time.Second: true} {
		c, m := worker(t)
		now := c.a.Now()
		inv := &invocation{name: "remediate#1", v: &env{policy: policySight{at: now.Add(-before)}}}
		inv.seen.nodes.at, inv.seen.looked = now, map[string]lookup{m.id: {at: now}}
		c.a.audit.fresh(inv, actTerminate, m.id, "a")
		expect.That(t, c.a.audit.broke(RuleFresh) == broken, "read %s before: broken are %+v", before, c.a.audit.violations)
	}
}

// A check comes in time for the end of a tolerance.
func TestTheEndOfAToleranceHasItsCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		found, checked, cut time.Duration // after the end of the tolerance
		broken              bool
	}{
		"in time":                 {-10 * time.Minute, time.Second, -time.Hour, false},
		"before it":               {-10 * time.Minute, -time.Minute, -time.Hour, true},
		"it was not found":        {-31 * time.Minute, -time.Minute, -time.Hour, false},
		"it was found at its end": {-31 * time.Minute, -30 * time.Second, -time.Hour, false},
		"its function was killed": {-10 * time.Minute, -time.Minute, time.Minute, false},
	} {
		c, m := worker(t)
		u := c.a.audit
		u.verdicts.first[c.name], m.settledAt = c.a.Now(), c.a.Now()
		c.a.until(c.a.Now().Add(2 * time.Hour))
		m.fall(silent, false, false)
		c.a.until(c.a.Now().Add(10 * time.Minute))
		due := m.node.ready().LastTransitionTime.Add(30 * time.Minute)
		u.verdicts.whole[c.name] = []time.Time{due.Add(tt.found), due.Add(tt.checked)}
		u.times.cut = due.Add(tt.cut)
		c.a.until(due.Add(time.Minute - 1).Truncate(time.Minute).Add(dueWithin + time.Second))
		u.violations = nil
		u.dues(c)
		expect.That(t, u.broke(RuleDeadline) == tt.broken, "%s: broken are %+v; hindered by %q", name, u.violations, u.hindered(m))
	}
}

// The tolerance counts from when the trouble began, by the true state of the machine.
func TestWhatIsToleratedIsLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		name  string
		falls func(*machine)
		lasts time.Duration
	}{
		{"silent", func(m *machine) { m.fall(silent, false, false) }, 30 * time.Minute},
		{"not ready", func(m *machine) { m.fall(notReady, false, false) }, 15 * time.Minute},
		{"impaired", func(m *machine) { m.fall(impaired, false, false) }, 5 * time.Minute},
		{"never joins", func(m *machine) {
			m.c.removeNode(m.node)
			m.ail, m.launched, m.settledAt = neverJoins, m.c.a.Now(), time.Time{}
			m.since = m.launched
		}, 15 * time.Minute},
		{"never ready", func(m *machine) {
			m.ail, m.settledAt, m.node.created = neverReady, time.Time{}, m.c.stamp()
		}, 15 * time.Minute},
		{"silent, and its Node was made anew", func(m *machine) {
			m.settledAt, m.node.created = m.node.created, m.c.stamp()
			m.fall(silent, false, false)
		}, 15 * time.Minute},
	} {
		for extra, broken := range map[time.Duration]bool{-2 * time.Minute: true, 2 * time.Minute: false} {
			c, m := worker(t)
			m.settledAt = c.a.Now()
			tt.falls(m)
			c.a.until(c.a.Now().Add(tt.lasts + extra))
			stepped(t, m, func(u *auditor, inv *invocation) { u.tolerable(inv, "terminate", m) })
			expect.That(t, c.a.audit.broke(RuleTolerance) == broken, "%s for %s: broken are %+v", tt.name, tt.lasts+extra, c.a.audit.violations)
		}
	}
}

// A node that is in order, but stays cordoned by Rollcall, breaks the rule after an hour.
func TestACordonThatOutlivesItsCauseIsNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		is     func(*machine)
		broken bool
	}{
		"it is in order":  {func(*machine) {}, true},
		"it is ill":       {func(m *machine) { m.fall(notReady, false, false) }, false},
		"a person did it": {func(m *machine) { m.node.annotations = map[string]string{} }, false},
		"a person holds":  {func(m *machine) { m.tags = with(m.tags, tag{roll.TagHold, "true"}) }, false},
		"mode notify":     {func(m *machine) { m.c.a.dep.policy = "apiVersion: rollcall/v1\nmode: notify\n" }, false},
	} {
		c, m := worker(t)
		m.node.cordoned, m.node.annotations = true, map[string]string{roll.AnnotationCordoned: "a"}
		tt.is(m)
		for range 63 {
			c.a.until(c.a.Now().Add(step))
			c.a.audit.cordons(c)
		}
		expect.That(t, c.a.audit.broke(RuleCordon) == tt.broken, "%s: broken are %+v", name, c.a.audit.violations)
	}
}

// A message that a function did not finish, without a fault, must not end as a dead letter.
func TestADeadLetterThatNoFaultExplainsIsNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		does   func(*invocation, []message) []string
		broken bool
	}{
		"it fails":              {func(_ *invocation, batch []message) []string { return []string{batch[0].id} }, true},
		"it dies":               {func(inv *invocation, _ []message) []string { inv.die(); return nil }, false},
		"it cannot write":       {func(inv *invocation, batch []message) []string { inv.failed = true; return []string{batch[0].id} }, false},
		"it cannot read enough": {func(inv *invocation, batch []message) []string { inv.missed = true; return []string{batch[0].id} }, true},
	} {
		a := bare(t, false)
		q := a.dep.checkQueue()
		q.fn.build = func(v *env) func([]message) []string {
			return func(batch []message) []string { return tt.does(v.inv, batch) }
		}
		q.send("a", "g", "")
		a.until(a.Now().Add(time.Hour))
		q.send("b", "g", "")
		a.until(a.Now().Add(time.Hour))
		expect.That(t, len(q.dead) != 0 && a.audit.broke(RuleLetters) == tt.broken, "%s: %d dead letters; broken are %+v", name, len(q.dead), a.audit.violations)
	}
}
