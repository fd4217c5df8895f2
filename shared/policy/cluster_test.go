package policy_test

import (
	"testing"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func parse(t *testing.T, text string) *policy.Document {
	t.Helper()
	d, err := policy.Parse([]byte("apiVersion: rollcall/v1\n" + text))
	must.Succeed(t, err)
	return d
}

func TestClusterLowersTheModeAndNeverRaisesIt(t *testing.T) {
	tests := []struct {
		document, tag string
		permitted     policy.Mode
		want          policy.Mode
	}{
		{"", "", policy.Remediate, policy.Remediate}, // no mode anywhere: that of the caller
		{"", "", policy.Observe, policy.Observe},
		{"mode: remediate\n", "", policy.Observe, policy.Observe},
		{"mode: remediate\n", "", policy.Notify, policy.Notify},
		{"mode: observe\n", "", policy.Remediate, policy.Observe},
		{"mode: remediate\n", "notify", policy.Remediate, policy.Notify},
		{"", "off", policy.Remediate, policy.Observe}, // a tag that is not a mode
		// The tag raises neither the document's mode nor an override's.
		{"mode: observe\n", "remediate", policy.Remediate, policy.Observe},
		{"mode: notify\n", "remediate", policy.Remediate, policy.Notify},
		{"overrides: [{match: {cluster: demo}, mode: observe}]\n", "remediate", policy.Remediate, policy.Observe},
		{"overrides: [{match: {group: asg/w}, mode: notify}]\n", "remediate", policy.Remediate, policy.Notify},
		// And it lowers an override that names the group.
		{"overrides: [{match: {group: asg/w}, mode: remediate}]\n", "observe", policy.Remediate, policy.Observe},
		{"overrides: [{match: {group: asg/w}, mode: remediate}]\n", "off", policy.Remediate, policy.Observe},
		// If nothing names a mode, the permitted one applies, and the tag lowers that.
		{"", "notify", policy.Remediate, policy.Notify},
		{"", "observe", policy.Remediate, policy.Observe},
		{"", "remediate", policy.Remediate, policy.Remediate},
		{"", "remediate", policy.Notify, policy.Notify},
		{"", "remediate", policy.Observe, policy.Observe},
		{"overrides: [{match: {group: asg/w}, mode: observe}]\n", "", policy.Remediate, policy.Observe},
	}
	for _, tt := range tests {
		got := parse(t, tt.document).Cluster("demo", tt.tag, tt.permitted)(roll.GroupSelector("asg/w")).Mode
		expect.That(t, got == tt.want, "%q, tag %q, started with %s: %s, want %s", tt.document, tt.tag, tt.permitted, got, tt.want)
	}
}

func TestADeploymentsTimesGoBeforeTheBuiltInOnesAlone(t *testing.T) {
	deployed := policy.Registration{WarnAfter: 2 * time.Minute, Deadline: 9 * time.Minute}
	got := func(d *policy.Document, g roll.Group) policy.Registration {
		return d.For("demo", "", roll.GroupSelector(g)).Registration
	}
	expect.Equal(t, got(policy.Default().Deployed(deployed), ""), deployed, "no document")
	expect.Equal(t, got(policy.Default().Deployed(policy.Registration{}), ""), got(policy.Default(), ""), "a deployment that says nothing")
	d := parse(t, "registration: {deadline: 20m}\noverrides: [{match: {group: asg/w}, registration: {warnAfter: 1m}}]\n").Deployed(deployed)
	expect.Equal(t, got(d, ""), policy.Registration{WarnAfter: 2 * time.Minute, Deadline: 20 * time.Minute}, "the document's deadline")
	expect.Equal(t, got(d, "asg/w"), policy.Registration{WarnAfter: time.Minute, Deadline: 20 * time.Minute}, "the override's warning")
	for _, s := range policy.Default().Deployed(deployed).Explain("demo", "", roll.Selector{}) {
		if s.Key == "registration.deadline" && (s.Value != "9m" || s.From != "deployment") {
			t.Errorf("explained as %+v", s)
		}
	}
}
