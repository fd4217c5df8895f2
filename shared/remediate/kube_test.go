package remediate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var nodes = schema.GroupResource{Resource: "nodes"}

// refusals returns answers in which the API server says that it did nothing.
func refusals() map[string]error {
	return map[string]error{
		"forbidden":    apierrors.NewForbidden(nodes, "node-1", errors.New(`User "rollcall" cannot patch resource "nodes" in API group "" at the cluster scope`)),
		"unauthorized": apierrors.NewUnauthorized("Unauthorized"),
		"invalid":      apierrors.NewBadRequest("the server could not understand the request"),
		"no token":     fmt.Errorf("%w: %w", kube.ErrToken, errors.New("no credentials")),
	}
}

// failures returns errors that leave the effect of the call unknown.
func failures() map[string]error {
	return map[string]error{
		"a deadline":            context.DeadlineExceeded,
		"a cancellation":        context.Canceled,
		"a broken connection":   &net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		"a server error":        apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		"an unavailable server": apierrors.NewServiceUnavailable("apiserver is shutting down"),
		"a server timeout":      apierrors.NewTimeoutError("request did not complete in time", 1),
		"a gateway":             &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadGateway, Message: "bad gateway"}},
		"no code":               errors.New("unexpected EOF"),
	}
}

var throttled = apierrors.NewTooManyRequests("too many requests, please try again later", 1)

// What each error of the Kubernetes API means for each act in the cluster.
func TestErrorsOfTheKubernetesAPI(t *testing.T) {
	type meaning struct {
		result Result
		reason plan.Reason
		ledger ledger.Result // "": the intent stays open
	}
	failed, changed := meaning{Failed, "", ledger.Failed}, meaning{Refused, plan.VerdictChanged, ledger.Failed}
	type class struct {
		errs             map[string]error
		repeats, deletes meaning // for repeatable acts, and for deletions
		news             bool
	}
	for name, c := range map[string]class{
		"refused":   {refusals(), failed, failed, true},
		"broke off": {failures(), meaning{Ongoing, "", ""}, meaning{Unclear, "", ""}, true},
		"throttled": {map[string]error{"throttled": throttled}, failed, failed, false},
		"changed":   {map[string]error{"changed": fmt.Errorf("change node-1: %w: it has another uid", kube.ErrChanged)}, changed, changed, true},
		"gone":      {map[string]error{"gone": fmt.Errorf("change node-1: %w", kube.ErrGone)}, changed, meaning{Acted, "", ledger.Done}, true},
	} {
		for _, a := range []plan.Action{plan.Cordon, plan.Uncordon, plan.Drain, plan.DeleteNode, plan.DeleteNodeClaim} {
			want := c.repeats
			if a == plan.DeleteNode || a == plan.DeleteNodeClaim {
				want = c.deletes
			}
			for kind, err := range c.errs {
				t.Run(fmt.Sprintf("%s/%s/%s", name, a, kind), func(t *testing.T) {
					w, o := in(t, a)
					earlier := len(w.actions(t))
					w.sending[string(a)] = func(context.Context) error { return err }
					out := w.remediator(t).Act(t.Context(), o, now)
					expect.That(t, out.Result == want.result && out.Reason == want.reason && out.Detail != "", "got %s for %q: %s", out.Result, out.Reason, out.Detail)
					news := c.news && want.result != Ongoing
					expect.That(t, out.News == news, "news %v, want %v: %s", out.News, news, out.Detail)
					if n := strings.Count(out.Detail, "the next check"); n > 1 || want.result == Unclear && n > 0 {
						t.Errorf("the advice does not fit: %s", out.Detail)
					}
					got := w.actions(t)[earlier:]
					if len(got) != 1 || (got[0].Outcome == nil) != (want.ledger == "") || got[0].Outcome != nil && got[0].Outcome.Result != want.ledger {
						t.Errorf("the ledger holds %+v, want %q", got, want.ledger)
					}
				})
			}
		}
	}
}

func TestAMissingPermissionInTheClusterIsNamed(t *testing.T) {
	w, o := in(t, plan.Cordon)
	w.sending["cordon"] = func(context.Context) error { return refusals()["forbidden"] }
	out := w.remediator(t).Act(t.Context(), o, now)
	for _, word := range []string{"patch", "nodes", "infra/rbac.yaml"} {
		expect.That(t, strings.Contains(out.Detail, word), "the detail does not say %q: %s", word, out.Detail)
	}
}

// A cordon whose answer was lost is continued, and its time does not start again.
func TestACordonThatBrokeOffIsGoneOnWith(t *testing.T) {
	w, o := in(t, plan.Cordon)
	lost := true
	w.sending["cordon"] = func(context.Context) error {
		if lost {
			lost = false
			w.nodes[0].Unschedulable, w.nodes[0].CordonedBy = true, o.ID // the call took effect
			return context.DeadlineExceeded
		}
		return nil
	}
	r := w.remediator(t)
	if out := r.Act(t.Context(), o, now); out.Result != Ongoing {
		t.Fatalf("%+v", out)
	}
	next := w.orderAt(t, now.Add(time.Minute))
	must.That(t, next.ID == o.ID, "the next check orders %s %s", next.Action, next.ID)
	out := r.Act(t.Context(), next, now.Add(time.Minute))
	want := "node node-1 is cordoned, by order " + o.ID
	expect.That(t, out.Result == Acted && out.Detail == want, "got %s: %s", out.Result, out.Detail)
	got := w.actions(t)
	expect.That(t, len(got) == 1 && got[0].Outcome != nil && got[0].Outcome.Result == ledger.Done, "the ledger holds %+v", got)
}
