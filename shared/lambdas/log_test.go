package lambdas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"rollcall/shared/ledger"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/logtest"
	"rollcall/tests/harness/must"
)

// An unchanged finding is neither logged nor counted again.
func TestAFindingIsLoggedAndCountedWhenItChanges(t *testing.T) {
	w := newWorld()
	of := []string{"Kind", "Unregistered"}
	for _, step := range []struct {
		after                        time.Duration
		gone                         bool
		opened, escalated, resolved  int
		findings, oldest, oldestOver float64
	}{
		{0, false, 1, 0, 0, 1, 360, 360},
		{time.Minute, false, 0, 0, 0, 1, 420, 420},
		{10 * time.Minute, false, 0, 1, 0, 1, 960, 960},
		{11 * time.Minute, false, 0, 0, 0, 1, 1020, 1020},
		{12 * time.Minute, true, 0, 0, 1, 0, 0, 0},
		{13 * time.Minute, true, 0, 0, 0, 0, 0, 0},
	} {
		w.page, w.gone = nil, step.gone
		w.metrics.Reset()
		w.checkAt(t, policy.Observe, now.Add(step.after))
		for message, want := range map[string]int{opened: step.opened, escalated: step.escalated, resolved: step.resolved} {
			got := len(w.logged(message, "kind"))
			expect.That(t, got == want, "after %s: %d lines %q, want %d", step.after, got, message, want)
		}
		for metric, want := range map[string]int{"FindingsOpened": step.opened, "FindingsEscalated": step.escalated, "FindingsResolved": step.resolved} {
			got := w.counted(t, metric, of...)
			expect.That(t, got == float64(want) && w.counted(t, metric, "Cluster", "demo") == got, "after %s: %s is %v, want %d", step.after, metric, got, want)
		}
		expect.Equal(t, w.counted(t, "FindingsOpened", "Kind", "Unregistered", "Cause", "none"), float64(step.opened), "after %s: opened without a cause", step.after)
		if got := w.counted(t, "Findings", "Cluster", "demo"); got != step.findings || w.counted(t, "Findings", "Cluster", "demo", "Kind", "Unregistered") != got {
			t.Errorf("after %s: %v findings, want %v", step.after, got, step.findings)
		}
		if got, over := w.counted(t, "OldestFindingSeconds", "Cluster", "demo"), w.counted(t, "OldestFindingSeconds"); got != step.oldest || over != step.oldestOver {
			t.Errorf("after %s: the oldest is %v s old, over all %v, want %v and %v", step.after, got, over, step.oldest, step.oldestOver)
		}
		lines := w.logged("checked", "findings")
		expect.That(t, slices.Equal(lines, []string{fmt.Sprint(step.findings)}), "after %s: checked with %v findings", step.after, lines)
	}
}

// With a part of the cluster unread, fewer findings would look like an improvement.
func TestACheckThatIsNotWholeDoesNotSayHowTheClusterStands(t *testing.T) {
	w := newWorld()
	w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Call: "list nodes", Detail: "no answer"}}
	w.check(t, policy.Observe, demo)
	for _, metric := range []string{"Nodes", "ReadyNodes", "Findings", "Held", "OldestFindingSeconds"} {
		expect.That(t, !strings.Contains(w.metrics.String(), `"`+metric+`"`), "%s is written: %s", metric, &w.metrics)
	}
	if w.counted(t, "ChecksIncomplete", "Cluster", "demo") != 1 || !slices.Equal(w.logged("not read", "reason"), []string{"ClusterUnreachable"}) {
		t.Errorf("%s\n%v", &w.metrics, w.page)
	}
}

func TestWhatIsHeldIsLoggedWhenItIsNewAndEveryHour(t *testing.T) {
	held := func(from, to int, reason plan.Reason) (all []plan.Held) {
		for i := from; i < to; i++ {
			all = append(all, plan.Held{Instance: roll.InstanceID(fmt.Sprintf("i-%d", i)), Kind: roll.Unknown, Action: plan.Terminate, Refusal: plan.Refusal{Reason: reason}})
		}
		return all
	}
	var b heldBook
	for n, step := range []struct {
		after time.Duration
		held  []plan.Held
		lines int
		first roll.InstanceID
	}{
		{0, held(0, 2, plan.NotSeenTwice), 2, "i-0"},
		{5 * time.Minute, held(0, 2, plan.NotSeenTwice), 0, ""},
		{10 * time.Minute, append(held(0, 1, plan.NotSeenTwice), held(1, 2, plan.SharedCause)...), 1, "i-1"},
		{59 * time.Minute, append(held(0, 1, plan.NotSeenTwice), held(1, 2, plan.SharedCause)...), 0, ""},
		{60 * time.Minute, append(held(0, 1, plan.NotSeenTwice), held(1, 2, plan.SharedCause)...), 1, "i-0"},
		{61 * time.Minute, held(1, 2, plan.SharedCause), 0, ""},
		{62 * time.Minute, held(0, 2, plan.SharedCause), 1, "i-0"}, // held again, after a check in which it was not held
		// The next check logs what does not fit.
		{65 * time.Minute, held(0, 252, plan.SharedCause), 100, "i-2"},
		{70 * time.Minute, held(0, 252, plan.SharedCause), 100, "i-102"},
		// New acts come before those due again: i-1 was logged an hour ago.
		{75 * time.Minute, held(0, 252, plan.SharedCause), 51, "i-202"},
		{80 * time.Minute, held(0, 252, plan.SharedCause), 0, ""},
		{81 * time.Minute, nil, 0, ""},
	} {
		due := b.due("demo", step.held, now.Add(step.after))
		if len(due) != step.lines || len(due) > 0 && due[0].Instance != step.first {
			t.Errorf("step %d, %s: %d lines, want %d from %s: %+v", n, step.after, len(due), step.lines, step.first, due)
		}
	}
	expect.That(t, len(b["demo"]) == 0, "what is held no more is remembered: %v", b)
	due := b.due("other", held(0, 1, plan.SharedCause), now)
	expect.That(t, len(due) == 1, "another cluster's acts are its own")
}

func TestTheVolumeOfTheLogDoesNotHangOnTheNumberOfFindings(t *testing.T) {
	w := newWorld()
	w.others = 1500
	h := w.handler(policy.Observe)
	for n, most := range []int{1000 + 100 + 10, 100 + 10, 100 + 10} {
		w.page = nil
		if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
			t.Fatal(err)
		}
		expect.That(t, len(w.page) <= most, "check %d logs %d lines, want %d at most", n+1, len(w.page), most)
		if left := w.logged("lines left out", "lines"); n == 0 && !slices.Equal(left, []string{"501"}) {
			t.Errorf("left out %v", left)
		}
	}
	// The lines of the next checks had those that did not fit into the first check's.
	expect.Equal(t, w.counted(t, "FindingsOpened", "Cluster", "demo"), 1501, "opened")
}

func TestWhatWentWrongIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*world)
		message string
		metric  string
	}{
		"no notice":    {func(w *world) { w.fail["notice"] = true }, "not done", "NoticesFailed"},
		"no sizes":     {func(w *world) { w.fail["sizes"] = true }, "sizes not read", ""},
		"no size kept": {func(w *world) { w.fail["size"], w.nodes = true, 5000 }, "size not recorded", ""},
		"no schedule":  {func(w *world) { w.fail["schedule"], w.nodes = true, 5000 }, "check not scheduled", ""},
		"bad policy":   {func(w *world) { w.policy = "mode: all" }, "policy unusable", "PolicyInvalid"},
		"no policy":    {func(w *world) { w.policy = "" }, "policy unusable", "PolicyInvalid"},
	} {
		w := newWorld()
		c.prepare(w)
		w.check(t, policy.Notify, demo)
		if len(w.logged(c.message, "error")) != 1 || c.metric != "" && w.counted(t, c.metric) != 1 {
			t.Errorf("%s: %v\n%s", name, w.page, &w.metrics)
		}
		// Without a policy it is unknown whether notices are allowed.
		if sent := w.counted(t, "NoticesSent"); (sent == 1) != (!w.fail["notice"] && w.policy == stackPolicy) {
			t.Errorf("%s: %v notices sent", name, sent)
		}
	}
	w := newWorld()
	h := w.handler(policy.Observe)
	h.Metrics = logtest.Broken{}
	_, err := h.Handle(t.Context(), logtest.Batch(demo))
	expect.That(t, err == nil && len(w.logged("metrics not written", "error")) != 0, "%v, %v", err, w.page)
}

func TestATroubledClusterIsLoggedAsOften(t *testing.T) {
	w := newWorld()
	w.gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "no answer"}}
	for _, after := range []time.Duration{0, 10 * time.Minute, 16 * time.Minute, 18 * time.Minute} {
		w.checkAt(t, policy.Notify, now.Add(after))
	}
	got := w.logged("cluster troubled", "reason")
	expect.That(t, len(got) == 1 && got[0] != "", "logged %v", got)
}

func TestARemarkIsLogged(t *testing.T) {
	w := newWorld()
	h := w.handler(policy.Observe)
	h.Runner.Observer = nameless{w}
	_, err := h.Handle(t.Context(), logtest.Batch(demo))
	expect.That(t, err == nil && len(w.logged("remark", "detail")) == 1, "%v: %v", err, w.page)
}

// The check that settles an act whose function died counts it.
func TestAnActThatIsSettledLaterIsLoggedAndCounted(t *testing.T) {
	w := newWorld()
	w.gone = true
	id := roll.ClusterID{Account: w.account, Region: "eu-west-1", Name: "demo"}
	intent := ledger.Action{ID: "3f9a0c5d7e1b2468", Instance: "i-00000001", Group: "nodegroup/w", Kind: roll.Unregistered, Do: string(plan.Terminate), At: now.Add(-11 * time.Minute)}
	must.Succeed(t, w.Begin(t.Context(), id, intent, ledger.Budget{Max: 5, Since: now.Add(-time.Hour)}))
	for range 2 {
		w.check(t, policy.Observe, demo)
	}
	got := w.logged(settled, "order")
	expect.That(t, slices.Equal(got, []string{intent.ID}) && w.counted(t, "ActionsTaken", "Action", "terminate") == 1, "settled %v\n%s", got, &w.metrics)
}

// A drain whose reason disappeared was not continued: a refused act.
func TestEventsOfActsAreCountedAsWhatTheyAre(t *testing.T) {
	action := func(order, reason string) emit.Action {
		return emit.Action{Action: "drain", Order: order, Reason: reason, Subject: emit.Subject{Kind: "NotReady"}}
	}
	for name, c := range map[string]struct {
		event      emit.Event
		of         metric.Series
		dimensions []string
	}{
		"taken":                  {emit.Event{DetailType: emit.ActionTaken, Detail: action("o", "")}, metric.ActionsTaken, []string{"Action", "drain"}},
		"failed":                 {emit.Event{DetailType: emit.ActionFailed, Detail: action("o", "DrainUnfinished")}, metric.ActionsFailed, []string{"Action", "drain"}},
		"refused":                {emit.Event{DetailType: emit.ActionHeld, Detail: action("o", "VerdictChanged")}, metric.ActionsRefused, []string{"Reason", "VerdictChanged"}},
		"refused without a word": {emit.Event{DetailType: emit.ActionHeld, Detail: action("o", "")}, metric.ActionsRefused, []string{"Action", "drain"}},
		"held":                   {emit.Event{DetailType: emit.ActionHeld, Detail: action("", "SharedCause")}, metric.Series{}, nil},
	} {
		w := newWorld()
		s := &sums{cluster: "demo"}
		s.changed(c.event)
		s.changed(c.event)
		around(now, &w.metrics).Count(s.samples...)
		if c.of.Name == "" {
			expect.That(t, w.metrics.Len() == 0, "%s: %s", name, &w.metrics)
			continue
		}
		expect.That(t, w.counted(t, c.of.Name, c.dimensions...) == 2 && w.counted(t, c.of.Name, "Cluster", "demo") == 2, "%s: %s", name, &w.metrics)
	}
}

// Each invocation counts its own calls only.
func TestCallsAreCountedWithTheInvocationThatMadeThem(t *testing.T) {
	answers := []int{http.StatusOK, http.StatusTooManyRequests, http.StatusForbidden}
	w, c := newWorld(), &apistats.Counter{}
	sending := c.Transport(roundTrip(func() int { return answers[0] }))
	send := func() {
		for ; len(answers) > 0; answers = answers[1:] {
			res, err := sending.RoundTrip(&http.Request{})
			must.Succeed(t, err)
			_ = res.Body.Close()
		}
	}
	h := w.handler(policy.Observe)
	h.Calls = c
	send()
	for range 2 {
		if _, err := h.Handle(t.Context(), logtest.Batch(demo)); err != nil {
			t.Fatal(err)
		}
	}
	for metric, want := range map[string]float64{"APICalls": 3, "APICallsThrottled": 1, "APICallsDenied": 1} {
		if w.counted(t, metric) != want || w.counted(t, metric, "Service", "kubernetes") != want {
			t.Errorf("%s: %v, of kubernetes %v, want %v", metric, w.counted(t, metric), w.counted(t, metric, "Service", "kubernetes"), want)
		}
	}
	answers = []int{http.StatusOK}
	send()
	w.metrics.Reset()
	ours, o := around(now, &w.metrics), &hands{}
	ours.Calls = c
	_, err := (&Remediate{Ambient: ours, Remediator: o, Notices: o, Events: o}).Handle(t.Context(), logtest.Batch())
	expect.That(t, err == nil && w.counted(t, "APICalls", "Service", "kubernetes") == 1, "remediate: %v\n%s", err, &w.metrics)
}

type roundTrip func() int

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f(), Body: http.NoBody}, nil
}

func TestAListingInFullIsLoggedAndCounted(t *testing.T) {
	w := newWorld()
	w.check(t, policy.Observe, demo)
	expect.That(t, w.counted(t, "ChecksRelisted") == 0 && len(w.logged("listed in full", "detail")) == 0, "%v", w.page)
	w.relisted = "the tags could not be read"
	w.check(t, policy.Observe, demo)
	got := w.logged("listed in full", "detail")
	expect.That(t, w.counted(t, "ChecksRelisted", "Cluster", "demo") == 1 && slices.Equal(got, []string{w.relisted}), "%v\n%s", got, &w.metrics)
}

func TestANoticeThatFailedIsCountedAsThat(t *testing.T) {
	w := newWorld()
	n := &notified{publisher: w}
	_ = n.Publish(t.Context(), report.Message{})
	w.fail["notice"] = true
	if err := n.Publish(t.Context(), report.Message{}); err == nil || n.sent != 1 || n.failed != 1 {
		t.Errorf("%v: %+v", err, n)
	}
	// It reached the email topic, but not the chat topic.
	half := &notified{publisher: report.NewTopic(half{}, "notices", "chat", func(context.Context) string { return "" })}
	err := half.Publish(t.Context(), report.Message{})
	expect.That(t, err != nil && half.sent == 1 && half.failed == 1, "%v: %+v", err, half)
	expect.That(t, len((&notified{}).samples("demo")) == 0, "nothing sent is counted")
}

// half publishes to one topic only.
type half struct{}

func (half) Publish(_ context.Context, in *sns.PublishInput, _ ...func(*sns.Options)) (*sns.PublishOutput, error) {
	if aws.ToString(in.TopicArn) == "chat" {
		return nil, errors.New("no topic")
	}
	return &sns.PublishOutput{}, nil
}
