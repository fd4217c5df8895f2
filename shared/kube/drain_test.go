package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/roll"
)

var at = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// pod is a running pod of the node worker.
func podOf(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.NodeName, p.Status.Phase = "worker", corev1.PodRunning
	for _, change := range changes {
		change(&p)
	}
	return p
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func ownedBy(kind, version string, controller bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, APIVersion: version, Name: "owner", Controller: &controller}}
	}
}

func startedAgo(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: at.Add(-d)} }
}

func leaving(p *corev1.Pod)   { p.DeletionTimestamp = &metav1.Time{Time: at} }
func elsewhere(p *corev1.Pod) { p.Spec.NodeName = "other" }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func TestWhatADrainEvicts(t *testing.T) {
	tests := map[string]struct {
		pod  corev1.Pod
		want Drained
	}{
		"a pod":                                 {podOf("p"), Drained{Evicted: 1}},
		"a pod that waits to start":             {podOf("p", phase(corev1.PodPending)), Drained{Evicted: 1}},
		"a pod of a Deployment":                 {podOf("p", ownedBy("ReplicaSet", "apps/v1", true)), Drained{Evicted: 1}},
		"a DaemonSet's":                         {podOf("p", ownedBy("DaemonSet", "apps/v1", true)), Drained{}},
		"one that a DaemonSet owns, not runs":   {podOf("p", ownedBy("DaemonSet", "apps/v1", false)), Drained{Evicted: 1}},
		"another group's DaemonSet":             {podOf("p", ownedBy("DaemonSet", "example.com/v1", true)), Drained{Evicted: 1}},
		"a mirror of a static pod":              {podOf("p", annotated("kubernetes.io/config.mirror", "x")), Drained{}},
		"a finished one":                        {podOf("p", phase(corev1.PodSucceeded)), Drained{}},
		"a failed one":                          {podOf("p", phase(corev1.PodFailed)), Drained{}},
		"one that stops already":                {podOf("p", leaving), Drained{Leaving: 1}},
		"one that stops although it is to stay": {podOf("p", leaving, annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Leaving: 1}},
		"of another node":                       {podOf("p", elsewhere), Drained{}},
		"not to be disrupted":                   {podOf("p", annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=true"}}},
		"not to be disrupted yet":               {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h"), startedAgo(time.Minute)), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=1h"}}},
		"not started yet":                       {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h")), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=1h"}}},
		"its time of peace is over":             {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h"), startedAgo(2*time.Hour)), Drained{Evicted: 1}},
		"may be disrupted":                      {podOf("p", annotated("karpenter.sh/do-not-disrupt", "false")), Drained{Evicted: 1}},
		"a time that is none":                   {podOf("p", annotated("karpenter.sh/do-not-disrupt", "-1h")), Drained{Evicted: 1}},
		"not safe to evict":                     {podOf("p", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), Drained{Blocked: []string{"shop/p: cluster-autoscaler.kubernetes.io/safe-to-evict=false"}}},
		"safe to evict":                         {podOf("p", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")), Drained{Evicted: 1}},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		s.pods = []corev1.Pod{tt.pod}
		got, err := s.client(t).Drain(t.Context(), "worker", 5, at)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if len(s.evicted) != tt.want.Evicted || got.Done() != (tt.want.Evicted+tt.want.Leaving+len(tt.want.Blocked) == 0) {
			t.Errorf("%s: %d evictions, done is %v", name, len(s.evicted), got.Done())
		}
	}
}

func TestWhatRefusesAnEviction(t *testing.T) {
	budget := metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget front needs 2 healthy pods and has 2 currently"}
	patient := refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.", metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget front is still being processed by the server."})
	patient.Details.RetryAfterSeconds = 10
	tests := map[string]struct {
		refusal *metav1.Status
		want    Drained
		err     string
	}{
		"a budget":                       {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Cannot evict pod", budget), Drained{Evicted: 1, Blocked: []string{"shop/a: The disruption budget front needs 2 healthy pods and has 2 currently"}}, ""},
		"a budget that asks to wait":     {patient, Drained{Evicted: 1, Blocked: []string{"shop/a: The disruption budget front is still being processed by the server."}}, ""},
		"two budgets":                    {refusalOf(http.StatusInternalServerError, "", "This pod has more than one PodDisruptionBudget"), Drained{Evicted: 1, Blocked: []string{"shop/a: the API server refused its eviction: This pod has more than one PodDisruptionBudget"}}, ""},
		"budgets that keep changing":     {refusalOf(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "couldn't update PodDisruptionBudget"), Drained{Evicted: 1, Blocked: []string{"shop/a: the API server refused its eviction: couldn't update PodDisruptionBudget"}}, ""},
		"an admission webhook":           {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "pods.example" denied the request: no`), Drained{Evicted: 1, Blocked: []string{`shop/a: the API server refused its eviction: admission webhook "pods.example" denied the request: no`}}, ""},
		"a namespace that goes":          {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), Drained{Evicted: 1, Leaving: 1}, ""},
		"a pod that changed":             {refusalOf(http.StatusConflict, metav1.StatusReasonConflict, "uid"), Drained{Evicted: 1, Leaving: 1}, ""},
		"a pod that is gone":             {refusalOf(http.StatusNotFound, metav1.StatusReasonNotFound, "not found"), Drained{Evicted: 1}, ""},
		"no permission":                  {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: User "x" cannot create resource "pods/eviction" in API group "" in the namespace "shop"`), Drained{}, "does not let it create pods/eviction: apply infra/rbac.yaml and give it the group rollcall:remediators"},
		"a token that ran out":           {refusalOf(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), Drained{}, "refused the token"},
		"a server that has too much":     {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests"), Drained{}, "turned the eviction of pods away as too much (429)"},
		"a server that is not there yet": {refusalOf(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "not ready"), Drained{}, "did not answer"},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		s.pods = []corev1.Pod{podOf("a"), podOf("b")}
		s.budgets["shop/a"] = tt.refusal
		got, err := s.client(t).Drain(t.Context(), "worker", 5, at)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if (err != nil) != (tt.err != "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if _, text := Fault(s.cluster(), err, ""); !strings.Contains(text, tt.err) || !strings.HasPrefix(err.Error(), "evict pod shop/a: ") {
				t.Errorf("%s: %v: a person is told: %s", name, err, text)
			}
		}
		if n := len(slices.DeleteFunc(slices.Clone(s.evicted), func(e policyv1.Eviction) bool { return e.Name != "a" })); n != 1 {
			t.Errorf("%s: %d tries", name, n)
		}
	}
}

func TestAPassEvictsNoMoreThanItMayAndTheNextGoesOn(t *testing.T) {
	s := newAPIServer(t)
	for i := range 1201 {
		s.pods = append(s.pods, podOf(fmt.Sprint("p", i)))
	}
	s.budgets["shop/p0"] = refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "no", metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "budget"})
	c := s.client(t)
	for pass, want := range []Drained{
		{Evicted: 2, Waiting: 1198, Blocked: []string{"shop/p0: budget"}},
		{Evicted: 2, Leaving: 2, Waiting: 1196, Blocked: []string{"shop/p0: budget"}},
	} {
		got, err := c.Drain(t.Context(), "worker", 2, at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pass %d (-want +got)\n%s", pass+1, diff)
		}
	}
	var pages int
	for _, q := range s.queries() {
		if q.Has("fieldSelector") {
			pages++
		}
	}
	if pages != 6 {
		t.Errorf("%d pages of pods in two passes, want 3 each", pages)
	}
	s.pods = nil
	if got, err := c.Drain(t.Context(), "worker", 2, at); err != nil || !got.Done() {
		t.Errorf("an empty node: %+v, %v", got, err)
	}
}

// A pod of the same name that came in its place is not the one that was looked at.
func TestOnlyThePodThatWasReadIsEvicted(t *testing.T) {
	s := newAPIServer(t)
	s.pods = []corev1.Pod{podOf("web-0")}
	s.before[2] = func() { s.pods[0].UID, s.pods[0].Spec.NodeName = "uid-later", "other" }
	got, err := s.client(t).Drain(t.Context(), "worker", 5, at)
	if err != nil || got.Evicted != 0 || got.Done() || s.pods[0].DeletionTimestamp != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestADrainThatBreaksOffTellsWhatItDid(t *testing.T) {
	s := newAPIServer(t)
	s.pods = []corev1.Pod{podOf("a"), podOf("b")}
	s.answer[3] = hang
	ctx, cancel := contextFor(t, 200*time.Millisecond)
	defer cancel()
	got, err := s.client(t).Drain(ctx, "worker", 5, at)
	if !errors.Is(err, context.DeadlineExceeded) || got.Evicted != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if kind, _ := Fault(s.cluster(), err, ""); kind != roll.GapClusterUnreachable {
		t.Errorf("%s: %v", kind, err)
	}
}

// An empty name selects the pods that no node runs yet.
func TestThePodsOfNoNodeAreNotDrained(t *testing.T) {
	s := newAPIServer(t)
	if _, err := s.client(t).Drain(t.Context(), "", 5, at); err == nil || len(s.requests) != 0 {
		t.Errorf("%d requests, %v", len(s.requests), err)
	}
}

func TestAListingOfPodsThatTheServerDropsBeginsOnceMore(t *testing.T) {
	s := newAPIServer(t)
	for i := range 600 {
		s.pods = append(s.pods, podOf(fmt.Sprint("p", i), leaving))
	}
	s.answer[2] = s.refuse(http.StatusGone, metav1.StatusReasonExpired, "too old")
	if got, err := s.client(t).Drain(t.Context(), "worker", 5, at); err != nil || got.Leaving != 600 {
		t.Errorf("%+v, %v", got, err)
	}
}
