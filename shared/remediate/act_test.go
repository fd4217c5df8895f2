package remediate

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestRecordsTheIntentThenActsThenRecordsTheOutcome(t *testing.T) {
	for name, build := range map[string]func(*testing.T) *world{"a silent node": silentNode, "an instance that never registered": unregistered} {
		t.Run(name, func(t *testing.T) {
			w := build(t)
			o := w.order(t)
			w.terminating = func(context.Context) error {
				got := w.actions(t)
				expect.That(t, len(got) == 1 && got[0].ID == o.ID && got[0].Outcome == nil, "at the time of the call the ledger holds %+v, want the open intent", got)
				return nil
			}
			at := now.Add(3 * time.Second)
			out := w.remediator(t).Act(t.Context(), o, at)
			expect.That(t, out.Result == Acted && out.Reason == "" && out.Detail == "terminated i-00000000000000001" && out.News && out.Order.ID == o.ID, "got %+v", out)
			expect.List(t, w.events, sequence(plan.Terminate), "events")
			expect.That(t, len(w.calls) == 1 && slices.Equal(w.calls[0].InstanceIds, []string{string(target)}), "calls %+v, want one for the target alone", w.calls)
			got := w.actions(t)
			must.That(t, len(got) == 1 && got[0].Outcome != nil && got[0].Outcome.Result == ledger.Done, "the ledger holds %+v, want the act and its outcome", got)
			if a := got[0]; a.ID != o.ID || a.Do != "terminate" || a.Instance != target || a.Group != "asg/w" || a.Kind != o.Kind || a.Node != o.Node || !a.At.Equal(at) {
				t.Errorf("the intent is %+v", a)
			}
		})
	}
}

// Only the ledger can explain the act later: the instance is gone then.
func TestTheIntentSaysWhatItRestsOn(t *testing.T) {
	for name, tt := range map[string]struct {
		summary, why string
	}{
		"a sentence": {"node node-1 has stopped reporting", "node node-1 has stopped reporting"},
		"a long one": {strings.Repeat("é", 2*ledger.WhyRunes), strings.Repeat("é", ledger.WhyRunes-3) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			w.diagnoses = map[roll.FindingKey]roll.Diagnosis{{Instance: target, Kind: roll.Unknown}: {Causes: []roll.Cause{
				{Code: "KernelPanic", Confidence: roll.Decisive}, {Code: "OutOfMemory", Confidence: roll.Suggestive},
			}}}
			var at ledger.Action
			w.terminating = func(context.Context) error {
				at = w.actions(t)[0]
				return nil
			}
			r := w.remediator(t)
			r.Plan = func(in plan.Input) plan.Plan {
				p := plan.Make(in)
				for i := range p.Orders {
					p.Orders[i].Why = tt.summary
				}
				return p
			}
			out := r.Act(t.Context(), o, now)
			must.That(t, out.Result == Acted && out.Cause == "KernelPanic", "%+v", out)
			want := ledger.Action{Why: tt.why, Since: o.Since, Cause: "KernelPanic", Evidence: "file:///evidence/" + o.ID + "/"}
			for when, got := range map[string]ledger.Action{"before the call": at, "after it": w.actions(t)[0]} {
				if got.Why != want.Why || !got.Since.Equal(want.Since) || got.Cause != want.Cause || got.Evidence != want.Evidence {
					t.Errorf("%s the ledger holds %+v, want %+v", when, got, want)
				}
			}
		})
	}
}

// Once the instance is gone, EC2 no longer lists its volumes and interfaces.
func TestTheIntentRecordsWhatOutlivesTheInstance(t *testing.T) {
	w := silentNode(t)
	w.instances[0].Outlives = []string{"eni-1", "vol-1"}
	o := w.order(t)
	var before ledger.Action
	w.terminating = func(context.Context) error {
		before = w.actions(t)[0]
		return nil
	}
	out := w.remediator(t).Act(t.Context(), o, now)
	must.That(t, out.Result == Acted && o.Action == plan.Terminate, "%+v", out)
	expect.That(t, slices.Equal(before.Outlives, []string{"eni-1", "vol-1"}), "recorded %v", before.Outlives)
}

func TestASecondDeliveryOfAnOrderDoesNothing(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediator(t)
	if out := r.Act(t.Context(), o, now); out.Result != Acted {
		t.Fatal(out)
	}
	if out := r.Act(t.Context(), o, now.Add(time.Second)); out.Result != Refused || out.Reason != plan.AlreadyBegun {
		t.Errorf("got %s for %s", out.Result, out.Reason)
	}
	// EC2 is eventually consistent: it may still show the instance running.
	w.instances[0].State = roll.StateRunning
	out := r.Act(t.Context(), o, now.Add(2*time.Second))
	expect.That(t, out.Result == Refused && out.Reason == plan.AlreadyBegun, "got %s for %s", out.Result, out.Reason)
	if len(w.calls) != 1 || len(w.actions(t)) != 1 {
		t.Errorf("%d calls and %d acts, want one each", len(w.calls), len(w.actions(t)))
	}
}

func apiError(code, message string) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "TerminateInstances", Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func httpError(status int, err error) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "TerminateInstances", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}, RequestID: "11111111-2222-3333-4444-555555555555",
	}}
}

func TestACallThatAWSRefusedFailed(t *testing.T) {
	tests := map[string]struct {
		err    error
		detail string
	}{
		"denied": {
			apiError("UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: abc"),
			"ec2:TerminateInstances was denied to arn:aws:sts::111122223333:assumed-role/remediate/demo: allow ec2:TerminateInstances for that role",
		},
		"protected": {
			apiError("OperationNotPermitted", "The instance 'i-00000000000000001' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again."),
			"ec2:TerminateInstances was refused: the instance has termination protection (disableApiTermination)",
		},
		"protected from a stop": {
			apiError("OperationNotPermitted", "The instance 'i-00000000000000001' may not be terminated. Modify its 'disableApiStop' instance attribute and try again."),
			"ec2:TerminateInstances was refused: the instance has stop protection (disableApiStop)",
		},
		"incorrect state": {apiError("IncorrectInstanceState", "The instance is not in a valid state"), ""},
		"not found":       {apiError("InvalidInstanceID.NotFound", "The instance ID 'i-00000000000000001' does not exist"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			w.terminating = func(context.Context) error { return tt.err }
			out := w.remediator(t).Act(t.Context(), o, now.Add(plan.TagSettles))
			if out.Result != Failed || out.Detail == "" || tt.detail != "" && out.Detail != tt.detail {
				t.Errorf("got %s: %s", out.Result, out.Detail)
			}
			got := w.actions(t)
			if len(got) != 1 || got[0].Outcome == nil || got[0].Outcome.Result != ledger.Failed || got[0].Outcome.Detail != out.Detail {
				t.Errorf("the ledger holds %+v, want the failure", got)
			}
			spent := (ledger.Budget{Since: now.Add(-plan.Hour)}).Spent(got, "")
			expect.That(t, spent == 0, "the failure counts as %d acts, want 0: nothing was destroyed", spent)
		})
	}
}

// AWS returns these errors before it processes the request: nothing can have happened.
func TestACallWithCredentialsThatAWSDoesNotAcceptFailed(t *testing.T) {
	for _, code := range []string{"AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "RequestExpired"} {
		w := silentNode(t)
		o := w.order(t)
		w.terminating = func(context.Context) error { return apiError(code, "no") }
		out := w.remediator(t).Act(t.Context(), o, now)
		expect.That(t, out.Result == Failed, "%s: got %s, want failed", code, out.Result)
	}
}

func TestACallThatBrokeOffIsUnclear(t *testing.T) {
	tests := map[string]error{
		"a server error":        httpError(http.StatusInternalServerError, &smithy.GenericAPIError{Code: "InternalError", Message: "An internal error has occurred"}),
		"an unavailable server": httpError(http.StatusServiceUnavailable, &smithy.GenericAPIError{Code: "Unavailable", Message: "The service is unavailable"}),
		"a gateway timeout":     httpError(http.StatusGatewayTimeout, errors.New("deserialization failed")),
		// The throttle may have met the second try of a call whose first took effect.
		"a throttle":          apiError("RequestLimitExceeded", "Request limit exceeded."),
		"a deadline":          &smithy.OperationError{ServiceID: "EC2", OperationName: "TerminateInstances", Err: context.DeadlineExceeded},
		"a cancellation":      &smithy.OperationError{ServiceID: "EC2", OperationName: "TerminateInstances", Err: &smithy.CanceledError{Err: context.Canceled}},
		"a broken connection": &smithy.OperationError{ServiceID: "EC2", OperationName: "TerminateInstances", Err: &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}},
		"an unknown code":     apiError("SomethingNew", "nobody knows"),
		"no code":             errors.New("unexpected EOF"),
	}
	for name, err := range tests {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			w.terminating = func(context.Context) error { return err }
			r := w.remediator(t)
			out := r.Act(t.Context(), o, now)
			expect.That(t, out.Result == Unclear && out.Detail != "" && !strings.Contains(out.Detail, "11111111-2222"), "got %s: %s", out.Result, out.Detail)
			expect.That(t, !strings.Contains(out.Detail, "tries again"), "it is never tried again, and a person is told: %s", out.Detail)
			got := w.actions(t)
			expect.That(t, len(got) == 1 && got[0].Outcome == nil, "the ledger holds %+v, want the intent left open", got)
			expect.That(t, !slices.Contains(w.events, "outcome"), "an outcome was recorded: %v", w.events)
			// There is no further act on it until a check has settled the first one.
			for _, later := range []time.Duration{time.Second, 5 * time.Minute} {
				again := r.Act(t.Context(), o, now.Add(later))
				expect.That(t, again.Result == Refused && again.Reason == plan.ActionUnresolved, "%s later: %s for %s", later, again.Result, again.Reason)
			}
			expect.That(t, len(w.calls) == 1, "%d calls, want 1", len(w.calls))
		})
	}
}

// EC2 may not show a tag to its own permission check yet. That is not reported, and is
// tried again soon. A permission that is really missing is reported then.
func TestARefusalRightAfterTaggingMeansNotYet(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	denied := apiError("UnauthorizedOperation", "You are not authorized to perform this operation.")
	w.terminating = func(context.Context) error { return denied }
	r := w.remediator(t)
	if out := r.Act(t.Context(), o, now.Add(plan.TagSettles-time.Second)); out.Result != Failed || out.News || !strings.HasPrefix(out.Detail, ledger.NotYet) {
		t.Fatalf("right after tagging: %+v", out)
	}
	at := now.Add(2*plan.TagSettles - time.Second)
	o.At, o.Expires = at.Add(-time.Second), at.Add(plan.OrderLife)
	if out := r.Act(t.Context(), o, at.Add(-time.Second)); out.Reason != plan.ActionFailed {
		t.Errorf("too early: %+v", out)
	}
	o.At = at
	out := r.Act(t.Context(), o, at)
	expect.That(t, out.Result == Failed && out.News && !strings.HasPrefix(out.Detail, ledger.NotYet), "refused again: %+v", out)
}

func TestAFailedActIsTriedAgainLaterAndTheSameFailureIsNoNews(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	denied := apiError("UnauthorizedOperation", "You are not authorized to perform this operation.")
	w.terminating = func(context.Context) error { return denied }
	r := w.remediator(t)
	first := now.Add(plan.TagSettles)
	if out := r.Act(t.Context(), o, first); out.Result != Failed || !out.News {
		t.Fatalf("first: %+v", out)
	}
	now := first
	o.At, o.Expires = now.Add(plan.RetryAfter-time.Second), now.Add(plan.RetryAfter+plan.OrderLife) // from a later check
	if out := r.Act(t.Context(), o, now.Add(plan.RetryAfter-time.Second)); out.Reason != plan.ActionFailed {
		t.Errorf("too early: %+v", out)
	}
	if out := r.Act(t.Context(), o, now.Add(plan.RetryAfter)); out.Result != Failed || out.News {
		t.Errorf("the same failure again: %+v", out)
	}
	w.terminating = nil
	if out := r.Act(t.Context(), o, now.Add(2*plan.RetryAfter-time.Minute)); out.Result == Acted {
		t.Error("tried again too early after the second failure")
	}
	o.Expires = now.Add(time.Hour)
	out := r.Act(t.Context(), o, now.Add(2*plan.RetryAfter))
	expect.That(t, out.Result == Acted && out.News, "at last: %+v", out)
	expect.That(t, len(w.calls) == 3, "%d calls, want 3", len(w.calls))
}

func TestTheOutcomeIsRecordedAlsoWhenTheContextEndsDuringTheCall(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want ledger.Result
	}{
		{nil, ledger.Done},
		{apiError("UnauthorizedOperation", "no"), ledger.Failed},
	} {
		w := silentNode(t)
		o := w.order(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.terminating = func(context.Context) error {
			cancel()
			return tt.err
		}
		w.remediator(t).Act(ctx, o, now)
		got := w.actions(t)
		expect.That(t, len(got) == 1 && got[0].Outcome != nil && got[0].Outcome.Result == tt.want, "the ledger holds %+v, want %s", got, tt.want)
	}
}

func TestAnOutcomeThatCannotBeRecordedIsToldAndTheActIsNotRepeated(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w, finishErr: errDisk})
	out := r.Act(t.Context(), o, now)
	if out.Result != Acted || out.Detail != "terminated i-00000000000000001; its outcome could not be recorded (no space left on device), a later check will settle it" {
		t.Errorf("got %s: %s", out.Result, out.Detail)
	}
	w.instances[0].State = roll.StateRunning
	again := r.Act(t.Context(), o, now.Add(time.Second))
	expect.That(t, again.Reason == plan.ActionUnresolved && len(w.calls) == 1, "again: %+v, %d calls", again, len(w.calls))
}

// Two functions receive the same message at once, and EC2 still shows the instance running
// to both. Only the ledger prevents two acts.
func TestOfManyAtOnceExactlyOneActs(t *testing.T) {
	const many = 8
	w := silentNode(t)
	w.stale = true
	path := filepath.Join(t.TempDir(), "shared.json")
	var remediators []*Remediator
	for range many {
		own, err := ledger.OpenFile(path) // as in another process
		must.Succeed(t, err)
		remediators = append(remediators, w.remediatorWith(t, own))
		w.ledger = own
	}
	long := now.Add(-30 * 24 * time.Hour)
	must.Succeed(t, w.ledger.Record(t.Context(), cluster, ledger.Changes{Put: ledger.State{First: long}}))
	w.check(t, now.Add(-10*time.Minute)) // into the shared ledger
	o := w.order(t)

	start, outcomes := make(chan struct{}), make([]Outcome, many)
	var done sync.WaitGroup
	for i, r := range remediators {
		done.Go(func() {
			<-start
			outcomes[i] = r.Act(t.Context(), o, now)
		})
	}
	close(start)
	done.Wait()

	acted := 0
	for _, out := range outcomes {
		switch {
		case out.Result == Acted:
			acted++
		case out.Result != Refused || out.Reason != plan.AlreadyBegun && out.Reason != plan.ActionUnresolved:
			t.Errorf("another got %s for %s: %s", out.Result, out.Reason, out.Detail)
		}
	}
	if acted != 1 || len(w.calls) != 1 || len(w.actions(t)) != 1 {
		t.Errorf("%d acted, %d calls, %d intents; want one each", acted, len(w.calls), len(w.actions(t)))
	}
}

// The errors of a reboot mean what those of a termination mean.
func TestErrorsOfAReboot(t *testing.T) {
	tests := map[string]struct {
		err    error
		after  time.Duration
		result Result
		begins string // prefix of the detail
		news   bool
	}{
		"denied right after tagging": {apiError("UnauthorizedOperation", "no"), 0, Failed, ledger.NotYet + "ec2:RebootInstances was denied", false},
		"denied":                     {apiError("UnauthorizedOperation", "no"), plan.TagSettles, Failed, "ec2:RebootInstances was denied to arn:aws:sts::111122223333:assumed-role/remediate/demo: allow ec2:RebootInstances for that role", true},
		"incorrect state":            {apiError("IncorrectInstanceState", "The instance is not in a valid state"), 0, Failed, "ec2:RebootInstances failed", true},
		"not found":                  {apiError("InvalidInstanceID.NotFound", "no"), 0, Failed, "ec2:RebootInstances failed", true},
		"bad credentials":            {apiError("AuthFailure", "no"), 0, Failed, "", true},
		"throttled":                  {apiError("RequestLimitExceeded", "Request limit exceeded."), 0, Failed, ledger.NotYet + "ec2:RebootInstances was throttled (RequestLimitExceeded)", false},
		"a server error":             {httpError(http.StatusInternalServerError, &smithy.GenericAPIError{Code: "InternalError", Message: "no"}), 0, Unclear, "", true},
		"a deadline":                 {context.DeadlineExceeded, 0, Unclear, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, o := in(t, plan.Reboot)
			w.sending["reboot"] = func(context.Context) error { return tt.err }
			r := w.remediator(t)
			out := r.Act(t.Context(), o, now.Add(tt.after))
			expect.That(t, out.Result == tt.result && out.News == tt.news && strings.HasPrefix(out.Detail, tt.begins), "got %+v", out)
			got := w.actions(t)
			expect.That(t, len(got) == 1 && (got[0].Outcome == nil) == (tt.result == Unclear), "the ledger holds %+v", got)
			// It is not rebooted a second time before a check has settled the first reboot.
			again := r.Act(t.Context(), o, now.Add(tt.after+time.Second))
			// The ladder skips a step that failed, but not one that was not yet possible.
			want := map[Result]plan.Reason{Unclear: plan.ActionUnresolved, Failed: plan.VerdictChanged}[tt.result]
			if strings.HasPrefix(tt.begins, ledger.NotYet) {
				want = plan.ActionFailed
			}
			expect.That(t, again.Reason == want && len(w.sent) == 1, "again: %+v, sent %q", again, w.sent)
		})
	}
}

// A wrong plan must reach the act, or nothing behind the plan could be tested.
func TestAnotherPlanTakesThePlaceOfThePlan(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	w.permitted = policy.Notify
	w.refused(t, w.remediator(t).Act(t.Context(), o, now), plan.ModeNotify, 0)
	r, err := New(Options{Targets: w, EC2: w, Ledger: w.ledger, Policy: w.policySource, Why: w.why, Permitted: w.permitted, Plan: func(in plan.Input) plan.Plan {
		expect.That(t, in.Now.Equal(now) && len(in.Assessment.Findings) == 1, "the plan rests on %+v", in)
		return plan.Plan{Orders: []plan.Order{o}}
	}})
	must.Succeed(t, err)
	out := r.Act(t.Context(), o, now)
	expect.That(t, out.Result == Acted && len(w.calls) == 1, "%s: %s", out.Result, out.Detail)
}

// What remediate reads may come to another incident, as when the notice is not on record yet. The outcome
// belongs to the incident whose notice reported the order.
func TestTheOutcomeIsOfTheOrdersIncident(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	o.Incident = "31500b5705436699"
	out := w.remediator(t).Act(t.Context(), o, now.Add(3*time.Second))
	expect.That(t, out.Result == Acted && out.Order.Incident == o.Incident, "%s, of incident %q, want %q", out.Result, out.Order.Incident, o.Incident)
}
