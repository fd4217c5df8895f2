package serverless

import (
	"strings"
	"testing"
	"time"
)

// From RunInstances to the tag, the notice and the termination: nothing is called by
// hand, and the sweep does not help.
func TestFromLaunchToTerminationByEventsAlone(t *testing.T) {
	s := deploy(t, "remediate")
	s.StopSweeping()
	fleet(t, 3)
	id := launch(t)
	must(t, s.Settle(t.Context()))
	scheduled, err := s.Schedules(t.Context())
	must(t, err)
	if len(scheduled) != 2 {
		t.Fatalf("schedules %q, want the minutes of warning and deadline", scheduled)
	}

	must(t, s.Advance(t.Context(), 4*time.Minute))
	same(t, "before the warning", acts(t, "CreateTags", "TerminateInstances"), nil)
	must(t, s.Advance(t.Context(), 3*time.Minute))
	same(t, "warned", acts(t, "CreateTags", "TerminateInstances"), []string{"CreateTags " + id})
	same(t, "notices of the warning", notices(t, s), []string{"warning none"})
	must(t, s.Advance(t.Context(), 7*time.Minute))
	same(t, "before the deadline", acts(t, "TerminateInstances"), nil)
	must(t, s.Advance(t.Context(), 3*time.Minute))
	same(t, "past the deadline", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices of the act", notices(t, s), []string{"critical terminate", "info terminated"})

	must(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "half an hour later", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices half an hour later", notices(t, s), nil)
	if left, err := s.Schedules(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("schedules left: %q, %v", left, err)
	}
}

func TestTheSweepIsTheNetUnderTheEvents(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	s.drop(t)
	must(t, s.Advance(t.Context(), 26*time.Minute))
	same(t, "without events", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}

func TestEverythingTwiceChangesNothing(t *testing.T) {
	s := deploy(t, "remediate")
	s.Duplicate = true
	fleet(t, 3)
	id := launch(t)
	must(t, s.Advance(t.Context(), 40*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices", notices(t, s), []string{"warning none", "critical terminate", "info terminated"})
}

func TestANodeThatRegistersInTimeIsLeft(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	must(t, s.Advance(t.Context(), 6*time.Minute))
	same(t, "warned", acts(t, "CreateTags"), []string{"CreateTags " + id})
	join(t, id)
	must(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), nil)
	same(t, "its tags are removed", acts(t, "DeleteTags"), []string{"DeleteTags " + id})
}

func TestObserveOnlyLooks(t *testing.T) {
	s := deploy(t, "observe")
	fleet(t, 3)
	launch(t)
	must(t, s.Advance(t.Context(), 40*time.Minute))
	same(t, "writes", acts(t, "CreateTags", "DeleteTags", "TerminateInstances", "Publish"), nil)
}

func TestWhatIsNoEventIsDroppedAndTheRestOfTheBatchIsServed(t *testing.T) {
	s := deploy(t, "notify")
	fleet(t, 3)
	for _, body := range []string{"not JSON", "{}", `{"version":"0","source":"aws.s3","detail-type":"Object Created","id":"x","account":"123456789012","time":"2026-03-10T12:00:00Z","region":"eu-west-1","resources":[],"detail":{}}`, strings.Repeat("x", 200_000)} {
		must(t, s.send(t.Context(), s.eventsURL, body, ""))
	}
	id := launch(t)
	must(t, s.send(t.Context(), s.checksURL, `{"cluster":"demo"}`, "demo"))
	must(t, s.send(t.Context(), s.ordersURL, `{"id":"x"}`, "demo"))
	must(t, s.Advance(t.Context(), 7*time.Minute))
	same(t, "warned all the same", acts(t, "CreateTags"), []string{"CreateTags " + id})
	for _, l := range s.Log {
		if strings.HasPrefix(l, "dead letter") {
			t.Errorf("a malformed message was retried to death: %s", l)
		}
	}
}

// A bare instance whose user data bootstraps a node: everything that is read about a
// suspect is read, and policy from the SSM parameter decides.
func TestThePolicyParameterDecides(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	must(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nowners: {none: terminate}\n"))
	id := bare(t)
	must(t, s.Advance(t.Context(), 20*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})

	second := bare(t)
	must(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nowners: {none: terminat}\n"))
	must(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "with a policy that is not valid", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "it is marked all the same", acts(t, "CreateTags")[len(acts(t, "CreateTags"))-1:], []string{"CreateTags " + second})
}

// Events come late and in no order, and some never.
func TestLateAndDisorderedEvents(t *testing.T) {
	s := deploy(t, "remediate")
	s.StopSweeping()
	fleet(t, 3)
	id := launch(t)
	s.drop(t)
	must(t, s.Advance(t.Context(), 12*time.Minute)) // past the warning, and nobody has heard of it
	for _, state := range []string{"shutting-down", "pending", "running", "stopped", "running"} {
		must(t, bed.EmitStateChange(t.Context(), id, state))
	}
	must(t, s.Advance(t.Context(), 2*time.Minute))
	same(t, "warned late", acts(t, "CreateTags", "TerminateInstances"), []string{"CreateTags " + id})
	must(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "terminated once", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	must(t, bed.EmitStateChange(t.Context(), id, "terminated"))
	must(t, bed.EmitStateChange(t.Context(), id, "running"))
	must(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminated once, whatever came later", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}
