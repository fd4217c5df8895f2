package sim

import (
	"testing"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
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
		mode policy.Mode
	}{
		{"", false, policy.Observe}, // nothing is done without a policy
		{"apiVersion: rollcall/v1\nmode: notify\n", true, policy.Notify},
		{"apiVersion: rollcall/v1\nmode: remediate\n", true, policy.Remediate},
		{"apiVersion: rollcall/v1\nmode: destroy\n", false, policy.Default().Cluster("demo", "", policy.Remediate)(pick(g)).Mode},
	} {
		a.dep.setPolicy(tt.text)
		if doc, err := read(); (err == nil) != tt.ok || err == nil && doc.Cluster("demo", "", policy.Remediate)(pick(g)).Mode != tt.mode {
			t.Errorf("%q: %v", tt.text, err)
		}
		if got := a.dep.policyNow(c, g).Mode; got != tt.mode {
			t.Errorf("%q: mode %s now, want %s", tt.text, got, tt.mode)
		}
	}
}

func pick(g *group) roll.Selector { return roll.GroupSelector(roll.Group(g.groupName())) }
