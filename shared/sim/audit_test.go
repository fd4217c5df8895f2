package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// broke reports whether the auditor recorded a violation of the rule.
func (u *auditor) broke(rule Rule) bool {
	return slices.ContainsFunc(u.violations, func(v Violation) bool { return v.Rule == rule })
}

// No guard lets another function act, so the test makes one act.
func TestOnlyRemediateMayAct(t *testing.T) {
	c, m := worker(t)
	m.tags = append(m.tags, tag{roll.TagOrder, "any"})
	m.touch()
	c.a.until(c.a.Now().Add(10 * time.Minute)) // until EC2 shows it
	inside(t, c.a, inspect, func(v *env) {
		_, err := (ec2API{v}).TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{m.id}})
		expect.Succeed(t, err)
	})
	expect.That(t, m.state != running && c.a.audit.broke(RuleRole), "%s is %s, and broken are %+v", m.id, m.state, c.a.audit.violations)
}

// A schedule for a time that has passed stays forever.
func TestAScheduleThatNeverFiresIsNoticed(t *testing.T) {
	a := bare(t, false)
	a.until(dawn.Add(time.Hour))
	in := asks(a, trigger.Check{Cluster: "demo", Due: dawn.Add(30 * time.Minute)})
	must.Succeed(t, a.dep.create(in))
	a.audit.end()
	expect.That(t, a.audit.broke(RuleSchedule), "%s is not noticed; broken are %+v", aws.ToString(in.Name), a.audit.violations)
}

// A violation is part of the history, at the time when it happened.
func TestAViolationIsTold(t *testing.T) {
	a := bare(t, false)
	all := a.told()
	a.audit.broken(RuleOnce, "%s twice", "i-1")
	told := *all
	expect.That(t, len(told) == 1 && told[0].Kind == EventViolated && told[0].At.Equal(a.Now()) && strings.Contains(told[0].String(), "once: i-1 twice"), "told %+v", told)
}

// An incomplete check holds too. The hold is reported once for each reason, and again if the finding was
// over in between.
func TestWhatIsHeldAfterALookThatIsNotWholeIsTold(t *testing.T) {
	a := bare(t, false)
	var told []string
	a.tell = func(e Event) {
		if e.Kind == EventHeld {
			told = append(told, e.Instance+" "+e.Reason)
		}
	}
	held := func(whole bool, reason string, ids ...string) checkup {
		c := checkup{cluster: "demo", whole: whole}
		for _, id := range ids {
			c.held = append(c.held, withheld{about: about{id, "Unknown"}, reason: reason})
		}
		return c
	}
	for _, tt := range []struct {
		name string
		over string
		c    checkup
		want []string
	}{
		{"held", "", held(false, "SnapshotIncomplete", "i-1", "i-2"), []string{"i-1 SnapshotIncomplete", "i-2 SnapshotIncomplete"}},
		{"held as before", "", held(false, "SnapshotIncomplete", "i-1"), nil},
		{"seen again", "", held(false, "SnapshotIncomplete", "i-1", "i-2"), nil},
		{"for another reason", "", held(true, "SharedCause", "i-1", "i-2"), []string{"i-1 SharedCause", "i-2 SharedCause"}},
		{"over", "i-1", held(false, ""), nil},
		{"held anew", "", held(false, "SharedCause", "i-1"), []string{"i-1 SharedCause"}},
		{"held no more", "", held(true, ""), nil},
		{"held once more", "", held(true, "SharedCause", "i-2"), []string{"i-2 SharedCause"}},
	} {
		told = nil
		if tt.over != "" {
			a.audit.forgets("demo", about{tt.over, "Unknown"})
		}
		a.audit.planned(&invocation{v: &env{a: a, fn: inspect}}, tt.c)
		expect.List(t, told, tt.want, "%s: told", tt.name)
	}
}

// A notice shows each instance of its incident, and calls only some of them news.
func TestNewsIsComparedWithWhatWasShownLast(t *testing.T) {
	shows := func(held string, news bool) noticedInstance {
		return noticedInstance{Instance: "i-1", Held: held, New: news}
	}
	for _, tt := range []struct {
		name  string
		shown []noticedInstance
		twice bool
	}{
		{"news, and the same again", []noticedInstance{shows("CauseOutside", true), shows("CauseOutside", true)}, true},
		{"shown, and then news", []noticedInstance{shows("CauseOutside", false), shows("CauseOutside", true)}, true},
		{"something else was shown in between", []noticedInstance{shows("CauseOutside", true), shows("ActionFailed", false), shows("CauseOutside", true)}, false},
		{"the same was shown in between", []noticedInstance{shows("CauseOutside", true), shows("CauseOutside", false), shows("CauseOutside", true)}, true},
	} {
		a := bare(t, false)
		for n, i := range tt.shown {
			at := dawn.Add(time.Duration(n) * time.Hour)
			inv := &invocation{process: &process{}, v: &env{a: a, fn: inspect}, begun: at, ended: at.Add(time.Minute)}
			a.audit.repeated(inv, noticed{Cluster: "demo", Group: "asg/w", Kind: "Unknown", Instances: []noticedInstance{i}})
		}
		expect.That(t, a.audit.broke(RuleReport) == tt.twice, "%s: broken are %+v", tt.name, a.audit.violations)
	}
}

// Machines that are no nodes may be in the Auto Scaling group of nodes: its launches are those of the
// nodes.
func TestTheLaunchesOfAGroupAreNotThoseOfStrays(t *testing.T) {
	for refused, broken := range map[time.Duration]bool{time.Minute: false, 2 * time.Hour: true} {
		c := handmade(t, GroupSpec{Name: "workers", Owner: "autoscaling-group", Type: "m5.large"}, GroupSpec{Name: "bastion", Owner: "autoscaling-group", Type: "m5.large"})
		g, stray := c.groups[0], c.groups[1]
		stray.stray, stray.known = true, g.name
		g.refused = c.a.Now().Add(-refused)
		inv := &invocation{process: &process{}, v: &env{a: c.a, fn: inspect}, begun: c.a.Now()}
		c.a.audit.unlaunched(inv, noticed{Cluster: c.name, Group: g.groupName(), Kind: string(roll.Unlaunched), Instances: []noticedInstance{{Subject: g.groupName()}}})
		expect.That(t, c.a.audit.broke(RuleUnlaunched) == broken, "refused %s ago: broken are %+v", refused, c.a.audit.violations)
	}
}

// A check reads the pods of a machine, which may leave before it ends. Later checks see that they left.
func TestAReasonAboutPodsIsTrueOnceTheyWereRead(t *testing.T) {
	for name, tt := range map[string]struct {
		keep  string
		more  string        // of the policy
		left  time.Duration // before the check began
		false bool
	}{
		"they left during the check":   {keptAnnotated, "", 0, false},
		"they left before it":          {keptAnnotated, "", 3 * time.Minute, true},
		"they are of another kind":     {keptLocal, "", 0, true},
		"it never had any such a pod":  {"", "", 0, true},
		"the annotation is the node's": {keptNode, "", 0, false},
		"the policy ignores them":      {keptAnnotated, "silentNode: {doNotDisrupt: ignore}\n", 0, true},
		"the policy ignores others":    {keptAnnotated, "silentNode: {budgets: ignore, localVolumes: ignore}\n", 0, false},
	} {
		c, m := worker(t)
		if tt.keep != "" {
			m.keeps(tt.keep)
		}
		c.a.audit.truths.remember(c.a)
		c.a.until(c.a.Now().Add(tt.left))
		m.unkept()
		inv := &invocation{process: &process{}, v: &env{a: c.a, fn: inspect}, begun: c.a.Now()}
		inv.sawPolicy("apiVersion: rollcall/v1\n"+tt.more, true)
		e := excuse{u: c.a.audit, inv: inv, c: c, m: m, g: m.g, withheld: withheld{about: about{m.id, "Unknown"}, reason: "PodsNotToDisrupt"}}
		why := e.false()
		expect.That(t, (why != "") == tt.false, "%s: %q", name, why)
	}
}

// A check that says that it found something must have read it.
func TestAnEarlierSightingIsOneThatWasRead(t *testing.T) {
	for status, sighted := range map[corev1.ConditionStatus]bool{corev1.ConditionUnknown: true, corev1.ConditionFalse: false, corev1.ConditionTrue: false} {
		c, m := worker(t)
		m.node.turn(status, "Test", "")
		look := func() *invocation {
			inv := &invocation{process: &process{}, v: &env{a: c.a, fn: inspect}, begun: c.a.Now()}
			inv.sawNodes(c.listNodes(), true, true, true)
			return inv
		}
		c.a.audit.sightings(look(), checkup{cluster: "demo", found: []about{{m.id, "Unknown"}}})
		c.a.until(c.a.Now().Add(2 * time.Minute))
		got := look().sawBefore(c.a.audit, order{Cluster: "demo", Instance: m.id, Kind: "Unknown"})
		expect.That(t, got == sighted, "Ready is %s: sighted %t", status, got)
	}
}

// The formula of the README, at its boundaries.
func TestHowManyMayBePastTheirTolerance(t *testing.T) {
	for _, tt := range []struct{ nodes, percent, want int }{
		{0, 20, 1}, {1, 20, 1}, {2, 20, 1}, {3, 20, 2}, {4, 20, 2}, {10, 20, 2}, {11, 20, 3}, {100, 20, 20}, {101, 20, 21}, {9, 0, 2}, {9, 100, 9},
	} {
		expect.Equal(t, allowedSick(tt.nodes, tt.percent), tt.want, "%d nodes, %d %%", tt.nodes, tt.percent)
	}
}
