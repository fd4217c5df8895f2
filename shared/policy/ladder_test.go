package policy

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// Steps that are carried out (x), valid but without effect (-) or refused (.) in the ladder of each
// kind.
func TestStepsPerKind(t *testing.T) {
	const verbsInOrder = "warn tag notify cordon drain reboot terminate delete-node"
	for kind, want := range map[roll.Kind]string{
		roll.Unregistered:    "xxx--xx.",
		roll.Uninitialized:   "xxxxxxx.",
		roll.NotReady:        "xxxxxxx.",
		roll.Unknown:         "xxx--xx.",
		roll.ConditionFailed: "xxx----.",
		roll.Impaired:        "xxxxxxx.",
		roll.Flapping:        "xxx----.",
		roll.Ghost:           "x.x....x",
		roll.Orphaned:        "xxx--.x.",
		roll.Stuck:           "x.x.....",
		roll.Unlaunched:      "x.x.....",
	} {
		got := ""
		for do := range strings.FieldsSeq(verbsInOrder) {
			becomes, why := useOf(Do(do), kind)
			expect.That(t, (why == "") == (becomes == useful), "%s in %s: use %d because %q", do, kind, becomes, why)
			got += map[use]string{useful: "x", idle: "-", senseless: "."}[becomes]
		}
		expect.That(t, got == want, "%s: %s, want %s", kind, got, want)
	}
}

func TestStepsFollowEachOther(t *testing.T) {
	due := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	steps := []Step{{Do: DoTag}, {Do: DoNotify, After: 5 * time.Minute}, {Do: DoTerminate, After: 10 * time.Minute}}
	for i, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: 5 * time.Minute, 2: 15 * time.Minute, 3: 15 * time.Minute,
	} {
		if got := StepAt(steps, i, due); !got.Equal(due.Add(want)) {
			t.Errorf("step %d is at %s after due, want %s", i, got.Sub(due), want)
		}
	}
	if got := StepAt(nil, 0, due); !got.Equal(due) {
		t.Errorf("no steps: %s", got)
	}
	if got := StepAt([]Step{{Do: DoNotify, After: time.Minute}}, 0, due); !got.Equal(due.Add(time.Minute)) {
		t.Errorf("the first step's wait begins at due, got %s", got.Sub(due))
	}
}

func TestLadderText(t *testing.T) {
	for want, steps := range map[string][]Step{
		"nothing": nil,
		"notify, reboot once, terminate after 10m": {{Do: DoNotify}, {Do: DoReboot, Once: true}, {Do: DoTerminate, After: 10 * time.Minute}},
		"tag, approve within 2h or hold, cordon, drain, notify, approve within 30m or go, terminate after 10m": {
			{Do: DoTag}, {Do: DoCordon, Approve: Approve{1, 2 * time.Hour, false}}, {Do: DoDrain, Approve: Approve{1, 2 * time.Hour, false}},
			{Do: DoNotify}, {Do: DoTerminate, After: 10 * time.Minute, Approve: Approve{2, 30 * time.Minute, true}},
		},
		"reboot once after 1h30m": {{Do: DoReboot, Once: true, After: 90 * time.Minute}},
	} {
		expect.Equal(t, ladderText(steps), want, "the ladder")
	}
}

func TestDurationText(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1s": time.Second, "10s": 10 * time.Second, "10m": 10 * time.Minute, "1m30s": 90 * time.Second,
		"20h": 20 * time.Hour, "1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second, "720h": 720 * time.Hour,
	} {
		expect.Equal(t, roll.Span(d), want, "roll.Span(d)")
	}
}
