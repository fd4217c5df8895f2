package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func defaultPolicy() Policy {
	return Policy{
		Mode:           Observe,
		Registration:   Registration{WarnAfter: 5 * time.Minute, Deadline: 15 * time.Minute},
		Initialization: Initialization{WarnAfter: 5 * time.Minute, Deadline: 15 * time.Minute},
		Conditions: []Condition{
			{Type: "Ready", Status: "False", Tolerate: 15 * time.Minute},
			{Type: "Ready", Status: "Unknown", Tolerate: 30 * time.Minute},
			{Type: "AcceleratedHardwareReady", Status: "False", Tolerate: 10 * time.Minute},
			{Type: "StorageReady", Status: "False", Tolerate: 30 * time.Minute},
			{Type: "NetworkingReady", Status: "False", Tolerate: 30 * time.Minute},
			{Type: "KernelReady", Status: "False", Tolerate: 30 * time.Minute},
			{Type: "ContainerRuntimeReady", Status: "False", Tolerate: 30 * time.Minute},
			{Type: "MemoryPressure", Status: "True", Tolerate: 10 * time.Minute},
			{Type: "DiskPressure", Status: "True", Tolerate: 10 * time.Minute},
			{Type: "PIDPressure", Status: "True", Tolerate: 10 * time.Minute},
		},
		Tolerances: map[roll.Kind]time.Duration{
			roll.Impaired: 5 * time.Minute, roll.Ghost: 5 * time.Minute, roll.Orphaned: 15 * time.Minute, roll.Stuck: time.Hour,
		},
		Ladders: map[roll.Kind][]Step{
			roll.Unregistered:    {{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate}},
			roll.Uninitialized:   {{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}},
			roll.NotReady:        {{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}},
			roll.Unknown:         {{Do: DoTag}, {Do: DoNotify}, {Do: DoReboot, Once: true}, {Do: DoTerminate, After: 10 * time.Minute}},
			roll.ConditionFailed: {{Do: DoTag}, {Do: DoNotify}},
			roll.Impaired:        {{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 10 * time.Minute}},
			roll.Scheduled:       {{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}},
			roll.Flapping:        {{Do: DoTag}, {Do: DoNotify}},
			roll.Ghost:           {{Do: DoNotify}, {Do: DoDeleteNode}},
			roll.Orphaned:        {{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 45 * time.Minute}},
			roll.Stuck:           {{Do: DoNotify}},
			roll.Unlaunched:      {{Do: DoNotify}},
		},
		Reboot: Reboot{Wait: 10 * time.Minute}, Scheduled: Scheduled{Lead: 24 * time.Hour}, Launch: Launch{Tolerance: 5 * time.Minute, Pending: 10 * time.Minute},
		Drain: Drain{Timeout: 10 * time.Minute, BudgetTimeout: time.Hour},
		Limits: Limits{
			Unhealthy: 20, Zone: 55, MassSilence: 10, StormCooldown: 15 * time.Minute,
			Replacements: 2, ProvenAfter: time.Hour, ReplacementWait: 30 * time.Minute, ActionsPerCheck: 1, ActionsPerHour: 5,
		},
		Owners: map[roll.Owner]OwnerRule{
			roll.OwnerNone:             OwnerNotify,
			roll.OwnerAutoScalingGroup: OwnerTerminate,
			roll.OwnerManagedNodeGroup: OwnerTerminate,
			roll.OwnerKarpenter:        OwnerTerminate,
			roll.OwnerAutoMode:         OwnerNotify,
			roll.OwnerClusterAPI:       OwnerNotify,
		},
	}
}

func TestDefaults(t *testing.T) {
	diff := cmp.Diff(defaultPolicy(), Default().For("any", "", roll.GroupSelector("asg/any")))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	got := Default().Warnings()
	expect.That(t, len(got) == 0, "warnings: %v", got)
	for _, s := range Default().Explain("any", "", roll.Selector{}) {
		if s.From != "default" && s.Key != "mode" {
			t.Errorf("%s comes from %q", s.Key, s.From)
		}
	}
}

func TestEveryOwnerHasARule(t *testing.T) {
	owners := Default().For("", "", roll.Selector{}).Owners
	for _, o := range roll.Owners() {
		expect.That(t, slices.Contains(allowedRules[o], owners[o]), "%s: %q", o, owners[o])
	}
	if len(owners) != len(roll.Owners()) {
		t.Errorf("%d rules for %d owners", len(owners), len(roll.Owners()))
	}
}

func TestEveryKindHasALadderOfUsefulSteps(t *testing.T) {
	ladders := Default().For("", "", roll.Selector{}).Ladders
	for _, k := range roll.Kinds() {
		expect.That(t, len(ladders[k]) > 0, "%s has none", k)
		for _, s := range ladders[k] {
			becomes, why := useOf(s.Do, k)
			expect.That(t, becomes == useful, "%s: %s %s", k, s.Do, why)
		}
	}
}

func TestTolerance(t *testing.T) {
	p := Default().For("", "", roll.Selector{})
	for _, c := range []struct {
		conditionType, status string
		want                  time.Duration
		ok                    bool
	}{
		{"Ready", "False", 15 * time.Minute, true},
		{"Ready", "Unknown", 30 * time.Minute, true},
		{"Ready", "True", 0, false},
		{"AcceleratedHardwareReady", "False", 10 * time.Minute, true},
		{"StorageReady", "Unknown", 0, false},
		{"ready", "False", 0, false},
		{"", "", 0, false},
	} {
		got, ok := p.Tolerance(c.conditionType, c.status)
		expect.That(t, got == c.want && ok == c.ok, "%s %s: %v, %v", c.conditionType, c.status, got, ok)
	}
}

func TestPoliciesShareNothing(t *testing.T) {
	d, err := Parse([]byte("apiVersion: rollcall/v1\nladders: {NotReady: [{do: tag}, {do: terminate}]}\ninitialization: {taints: [a]}\n"))
	must.Succeed(t, err)
	p := d.For("a", "", roll.Selector{})
	p.Ladders[roll.NotReady][0].Do = DoTerminate
	p.Owners[roll.OwnerAutoMode] = OwnerTerminate
	p.Conditions[0].Tolerate = 0
	p.Initialization.Taints[0] = "b"
	p.Tolerances[roll.Ghost] = 0
	again := d.For("a", "", roll.Selector{})
	expect.Equal(t, again.Ladders[roll.NotReady][0].Do, DoTag, "ladder changed to")
	expect.Equal(t, again.Owners[roll.OwnerAutoMode], OwnerNotify, "owner changed to")
	expect.List(t, again.Initialization.Taints, []string{"a"}, "taints changed to")
	expect.Equal(t, again.Tolerances[roll.Ghost], 5*time.Minute, "tolerance changed to")
	w := d.Watch()
	expect.That(t, slices.Equal(w.Taints, []string{"a"}), "watches %s", w.Taints)
	expect.Equal(t, again.Conditions[0].Tolerate, 15*time.Minute, "condition changed to")
}

func TestPercentRoundsUp(t *testing.T) {
	for _, c := range []struct {
		share   Percent
		n, want int
	}{
		{20, 0, 0}, {20, 1, 1}, {20, 5, 1}, {20, 6, 2}, {20, 100, 20}, {20, 101, 21},
		{0, 100, 0}, {100, 7, 7}, {55, 100_000, 55_000}, {1, 100_001, 1001},
	} {
		expect.Equal(t, c.share.Of(c.n), c.want, "%s of %d is", c.share, c.n)
	}
}
