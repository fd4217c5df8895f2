package sim

import (
	"testing"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestTheParameterHoldsThePolicyAsItIsNow(t *testing.T) {
	a := bare(t, false)
	v := a.environment(inspect)
	read := func() (doc *policy.Document, err error) {
		v.within(0, false, func() { doc, err = v.policies().Read(t.Context()) })
		return doc, err
	}
	c := &cluster{a: a, name: "demo"}
	g := &group{c: c, name: "w", owner: autoScaling}
	for _, tt := range []struct {
		text string
		ok   bool
		mode mode
	}{
		{"", false, mayObserve}, // nothing is done without a policy
		{"apiVersion: rollcall/v1\nmode: notify\n", true, mayNotify},
		{remediating, true, mayRemediate},
		{"apiVersion: rollcall/v1\nmode: destroy\n", false, mayObserve},
	} {
		a.dep.policy = tt.text
		if doc, err := read(); (err == nil) != tt.ok || err == nil && doc.Cluster("demo", "", policy.Remediate)(pick(g)).Mode != policy.Mode(tt.mode.String()) {
			t.Errorf("%q: %v", tt.text, err)
		}
		got := a.audit.policyNow(c, g).mode
		expect.That(t, got == tt.mode, "%q: mode %s now, want %s", tt.text, got, tt.mode)
	}
}

func pick(g *group) roll.Selector { return roll.GroupSelector(roll.Group(g.groupName())) }
