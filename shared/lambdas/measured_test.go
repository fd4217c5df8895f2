package lambdas

import (
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// Instances that a person keeps on purpose do not count: the alarm on the age of findings
// is for those that nobody has handled.
func TestTheOldestFindingIsOneThatNobodyKeeps(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	findings := []roll.Finding{
		{Instance: "i-00000001", Since: at.Add(-48 * time.Hour)},
		{Instance: "i-00000002", Since: at.Add(-time.Hour)},
		{Instance: "i-00000003", Since: at.Add(-72 * time.Hour)},
		{Instance: "i-00000002", Kind: roll.Scheduled, Since: at.Add(-14 * 24 * time.Hour)}, // announced weeks ahead
	}
	for name, tt := range map[string]struct {
		hold          string
		ignore, spare bool
		want          time.Duration
	}{
		"held":               {"true", true, false, time.Hour},
		"held until":         {"2026-03-03", true, false, time.Hour},
		"no longer":          {"2026-03-01", true, false, 48 * time.Hour},
		"kept from repairs":  {"", true, true, time.Hour},
		"not held":           {"", true, false, 48 * time.Hour},
		"none is spoken for": {"", false, false, 72 * time.Hour},
	} {
		s := &roll.Snapshot{At: at, Instances: []roll.Instance{{ID: "i-00000001", Hold: tt.hold}, {ID: "i-00000002"}, {ID: "i-00000003", Ignore: tt.ignore}}, Nodes: []roll.Node{{Instance: "i-00000001", DoNotRepair: tt.spare}}}
		got := oldest(findings, s)
		expect.That(t, got == tt.want.Seconds(), "%s: %v s, want %s", name, got, tt.want)
	}
	claimed := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{"i-00000003": {NodeClaim: &roll.NodeClaim{DoNotRepair: true}}}}
	if got := oldest(findings, claimed); got != (48 * time.Hour).Seconds() {
		t.Errorf("a NodeClaim that is kept from repairs: %v s", got)
	}
	hybrid := &roll.Snapshot{At: at, Nodes: []roll.Node{{Name: "mi-1", DoNotRepair: true}}}
	if got := oldest([]roll.Finding{{Kind: roll.Unlaunched, Since: at.Add(-time.Hour)}}, hybrid); got != time.Hour.Seconds() {
		t.Errorf("a finding of no instance, and a node of none that is kept from repairs: %v s", got)
	}
	got := oldest(nil, &roll.Snapshot{At: at})
	expect.That(t, got == 0, "without findings: %v s", got)
}
