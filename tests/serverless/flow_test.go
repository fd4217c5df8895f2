package serverless

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// Covers RunInstances to the tag, the notice and the termination. Nothing is called by
// hand, and the sweep does not run.
func TestFromLaunchToTerminationByEventsAlone(t *testing.T) {
	s := deploy(t, "remediate")
	s.StopSweeping()
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, s.Settle(t.Context()))
	scheduled, err := s.Schedules(t.Context())
	must.Succeed(t, err)
	must.That(t, len(scheduled) == 2, "schedules %q, want the minutes of warning and deadline", scheduled)

	must.Succeed(t, s.Advance(t.Context(), 4*time.Minute))
	same(t, "before the warning", acts(t, "CreateTags", "TerminateInstances"), nil)
	must.Succeed(t, s.Advance(t.Context(), 3*time.Minute))
	same(t, "warned", acts(t, "CreateTags", "TerminateInstances"), []string{"CreateTags " + id})
	same(t, "notices of the warning", notices(t, s), []string{"warning none"})
	must.Succeed(t, s.Advance(t.Context(), 7*time.Minute))
	same(t, "before the deadline", acts(t, "TerminateInstances"), nil)
	must.Succeed(t, s.Advance(t.Context(), 3*time.Minute))
	same(t, "past the deadline", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices of the act", notices(t, s), []string{"critical terminate", "info terminated"})

	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "half an hour later", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	oneThread(t, s, 3)
	same(t, "notices half an hour later", notices(t, s), nil) // no check runs: only the sweep reports that a problem is over
	if left, err := s.Schedules(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("schedules left: %q, %v", left, err)
	}
}

// oneThread reports whether chats received that many messages, all in the same thread.
func oneThread(t *testing.T, s *Stack, times int) {
	t.Helper()
	all, err := s.Chats(t.Context())
	must.Succeed(t, err)
	threads := map[string]int{}
	for _, n := range all {
		var m report.ChatMessage
		must.Succeed(t, json.Unmarshal([]byte(n.Message), &m))
		expect.That(t, m.Version == "1.0" && m.Source == "custom" && m.Content.Title != "" && n.Attributes["cluster"] != "", "a chat is told %s", n.Message)
		threads[m.Metadata.ThreadID]++
	}
	expect.That(t, len(threads) == 1 && len(all) == times, "%d messages in the threads %v, want %d in one", len(all), threads, times)
}

// A node that is not ready is cordoned, drained as far as a disruption budget allows, and
// terminated when it is empty.
func TestANotReadyNodeIsCordonedDrainedAndTerminated(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 4)
	id := worn(t, corev1.ConditionFalse, 20*time.Minute)
	serve(t, id, 1)
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	same(t, "cordoned, and drained as far as it goes", distinct(changes(t)), []string{"patch nodes " + id, "create pods/eviction web-1", "create pods/eviction web-2 429"})
	same(t, "not yet ended", acts(t, "TerminateInstances"), nil)
	must.Succeed(t, bed.SetBudget(t.Context(), "web", map[string]string{"app": "web"}, 1))
	for range 5 {
		must.Succeed(t, s.Advance(t.Context(), time.Minute))
		if len(acts(t, "TerminateInstances")) > 0 {
			break
		}
	}
	same(t, "drained", distinct(changes(t)), []string{"patch nodes " + id, "create pods/eviction web-1", "create pods/eviction web-2 429", "create pods/eviction web-2"})
	same(t, "ended", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
	same(t, "notices", notices(t, s), []string{"critical none", "critical cordon", "critical terminate", "info terminated"})
	pods, err := bed.PodNames(t.Context())
	must.Succeed(t, err)
	same(t, "pods left", pods, []string{"agent"})

	must.Succeed(t, bed.DeleteNode(t.Context(), id)) // as the cloud controller manager does
	done := len(changes(t))
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute))
	same(t, "in the cluster afterwards", changes(t)[done:], nil)
	same(t, "ended once", acts(t, "TerminateInstances", "RebootInstances"), []string{"TerminateInstances " + id})
	same(t, "notices afterwards", notices(t, s), []string{"info resolved"})
}

// serve puts two pods of an application with a disruption budget, and one pod of a
// DaemonSet, on a node.
func serve(t *testing.T, node string, allowed int) {
	t.Helper()
	web := map[string]string{"app": "web"}
	for _, p := range []testbed.PodSpec{{Name: "web-1", Labels: web}, {Name: "web-2", Labels: web}, {Name: "agent", DaemonSet: true}} {
		p.Node = node
		must.Succeed(t, bed.RunPod(t.Context(), p))
	}
	must.Succeed(t, bed.SetBudget(t.Context(), "web", web, allowed))
}

// distinct removes lines that occurred before.
func distinct(lines []string) (out []string) {
	for _, l := range lines {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// A silent node cannot be drained: its instance is rebooted once, and terminated if that
// does not help.
func TestASilentNodeIsRebootedOnceAndTerminated(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 4)
	id := worn(t, corev1.ConditionUnknown, 40*time.Minute)
	must.Succeed(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "rebooted", acts(t, "RebootInstances", "TerminateInstances"), []string{"RebootInstances " + id})
	must.Succeed(t, s.Advance(t.Context(), 4*time.Minute))
	same(t, "ended", acts(t, "RebootInstances", "TerminateInstances"), []string{"RebootInstances " + id, "TerminateInstances " + id})
	same(t, "in the cluster", changes(t), nil)
	same(t, "notices", notices(t, s), []string{"critical none", "critical reboot", "info rebooted", "critical terminate", "info terminated"})

	// Nobody deletes the Node of the terminated instance, as the cloud controller manager would.
	must.Succeed(t, s.Advance(t.Context(), 26*time.Minute))
	same(t, "the node that is left over", changes(t), []string{"delete nodes " + id})
	same(t, "ended once", acts(t, "RebootInstances", "TerminateInstances"), []string{"RebootInstances " + id, "TerminateInstances " + id})
	told := notices(t, s)
	slices.Sort(told) // the notices that the instance's and the node's problems are over come in either order
	same(t, "notices of it", told, []string{"critical delete-node", "info node-deleted", "info resolved", "info resolved"})
}

// What outlives an instance that Rollcall terminated is reported three hours later, and never
// deleted.
func TestWhatOutlivesAnInstanceIsTold(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", Keeps: true, KeepsInterface: true})
	must.Succeed(t, err)
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute)) // ten minutes before its termination counts as over
	same(t, "ended", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices of it", notices(t, s), []string{"warning none", "critical terminate", "info terminated"})
	s.Step, s.sweeping = time.Hour, false // no check runs for a while
	must.Succeed(t, s.Advance(t.Context(), 3*time.Hour))
	s.Step, s.sweeping = 0, true
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	all, err := s.Notices(t.Context())
	must.Succeed(t, err)
	var subjects []string
	for _, n := range all {
		var d report.NoticeDocument
		must.Succeed(t, json.Unmarshal([]byte(n.Message), &d))
		for _, i := range d.Instances {
			kind, _, _ := strings.Cut(i.Subject, "/")
			subjects = append(subjects, d.Kind+" "+kind)
		}
	}
	slices.Sort(subjects)
	same(t, "told", subjects, []string{"Stuck volume"}) // in the emulator the interface stays attached
	same(t, "asked and left", slices.Compact(acts(t, "DescribeNetworkInterfaces", "DeleteVolume", "DeleteNetworkInterface")), []string{"DescribeNetworkInterfaces"})
}

// When EC2 reclaims a Spot instance, the reason is reported where its problem was
// reported.
func TestASpotInterruptionIsSaid(t *testing.T) {
	s := deploy(t, "notify")
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, s.Advance(t.Context(), 7*time.Minute))
	same(t, "warned", notices(t, s), []string{"warning none"})
	must.Succeed(t, bed.EmitSpot(t.Context(), id, trigger.SpotInterruptionDetailType))
	must.Succeed(t, s.Advance(t.Context(), 2*time.Minute))
	must.Succeed(t, bed.ChangeInstance(t.Context(), id, testbed.InstanceChange{State: aws.String("terminated")}))
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "terminated"))
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute))
	all, err := s.Notices(t.Context())
	must.Succeed(t, err)
	must.That(t, len(all) == 1, "%d notices, want that it is over: %+v", len(all), all)
	var d report.NoticeDocument
	must.Succeed(t, json.Unmarshal([]byte(all[0].Message), &d))
	expect.That(t, len(d.Ended) == 1 && d.Ended[0].Instance == id && d.Ended[0].How == "gone" && d.Ended[0].Spot == "interruption", "%+v", d.Ended)
}

func TestTheSweepIsTheNetUnderTheEvents(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	s.drop(t)
	must.Succeed(t, s.Advance(t.Context(), 26*time.Minute))
	same(t, "without events", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}

func TestEverythingTwiceChangesNothing(t *testing.T) {
	s := deploy(t, "remediate")
	s.Duplicate = true
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, s.Advance(t.Context(), 40*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "notices", notices(t, s), []string{"warning none", "critical terminate", "info terminated", "info resolved"})
}

func TestANodeThatRegistersInTimeIsLeft(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	same(t, "warned", acts(t, "CreateTags"), []string{"CreateTags " + id})
	join(t, id)
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), nil)
	same(t, "its tags are removed", acts(t, "DeleteTags"), []string{"DeleteTags " + id})
}

func TestObserveOnlyLooks(t *testing.T) {
	s := deploy(t, "observe")
	fleet(t, 3)
	launch(t)
	must.Succeed(t, s.Advance(t.Context(), 40*time.Minute))
	same(t, "writes", acts(t, "CreateTags", "DeleteTags", "TerminateInstances", "Publish"), nil)
}

func TestWhatIsNoEventIsDroppedAndTheRestOfTheBatchIsServed(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	for _, body := range []string{"not JSON", "{}", `{"version":"0","source":"aws.s3","detail-type":"Object Created","id":"x","account":"123456789012","time":"2026-03-10T12:00:00Z","region":"eu-west-1","resources":[],"detail":{}}`, strings.Repeat("x", 200_000)} {
		must.Succeed(t, s.send(t.Context(), s.eventsURL, body, ""))
	}
	id := launch(t)
	must.Succeed(t, s.send(t.Context(), s.checksURL, `{"cluster":"demo"}`, "demo"))
	must.Succeed(t, s.send(t.Context(), s.ordersURL, `{"id":"x"}`, "demo"))
	must.Succeed(t, s.Advance(t.Context(), 7*time.Minute))
	same(t, "warned all the same", acts(t, "CreateTags"), []string{"CreateTags " + id})
	for _, l := range s.Log {
		expect.That(t, !strings.HasPrefix(l, "dead letter"), "a malformed message was retried to death: %s", l)
	}
}

// For a bare instance whose user data bootstraps a node, everything about a suspect is
// read, and the policy in the SSM parameter decides.
func TestThePolicyParameterDecides(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nowners: {none: terminate}\nlimits: {causeOutside: tryOnce}\n"))
	id := bare(t)
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})

	second := bare(t)
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nowners: {none: terminat}\n"))
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "with a policy that is not valid", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	same(t, "it is marked all the same", acts(t, "CreateTags")[len(acts(t, "CreateTags"))-1:], []string{"CreateTags " + second})

	must.Succeed(t, s.Policy(t.Context(), ""))
	launch(t) // which the built-in policy would terminate
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "with a policy that is gone", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}

// Events arrive late and in any order, and some never.
func TestLateAndDisorderedEvents(t *testing.T) {
	s := deploy(t, "remediate")
	s.StopSweeping()
	fleet(t, 3)
	id := launch(t)
	s.drop(t)
	must.Succeed(t, s.Advance(t.Context(), 11*time.Minute)) // past the warning, and no event has arrived
	for _, state := range []string{"shutting-down", "pending", "running", "stopped", "running"} {
		must.Succeed(t, bed.EmitStateChange(t.Context(), id, state))
	}
	// The event arrives within a minute. What is already late is checked in the next whole minute that is not too near.
	must.Succeed(t, s.Advance(t.Context(), 3*time.Minute))
	same(t, "warned late", acts(t, "CreateTags", "TerminateInstances"), []string{"CreateTags " + id})
	must.Succeed(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "terminated once", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "terminated"))
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminated once, whatever came later", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}
