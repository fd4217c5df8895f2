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

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var at = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// pod is a running pod of the node worker.
func podOf(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Time{Time: at.AddDate(0, 0, -1)}}}
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

func leavingAgo(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: at.Add(-d)} }
}

func createdAgo(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{Time: at.Add(-d)} }
}

func tolerating(t corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{t} }
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
		"a pod":                                 {podOf("p"), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"a pod that waits to start":             {podOf("p", phase(corev1.PodPending)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"a pod of a Deployment":                 {podOf("p", ownedBy("ReplicaSet", "apps/v1", true)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"a pod of a ReplicationController":      {podOf("p", ownedBy("ReplicationController", "v1", true)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"a DaemonSet's":                         {podOf("p", ownedBy("DaemonSet", "apps/v1", true)), Drained{}},
		"one that a DaemonSet owns, not runs":   {podOf("p", ownedBy("DaemonSet", "apps/v1", false)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"another group's DaemonSet":             {podOf("p", ownedBy("DaemonSet", "apps.kruise.io/v1alpha1", true)), Drained{}},
		"a static pod":                          {podOf("p", ownedBy("Node", "v1", true)), Drained{}},
		"of something else called Node":         {podOf("p", ownedBy("Node", "example.com/v1", true)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"of what is like a DaemonSet":           {podOf("p", ownedBy("NodeAgent", "example.com/v1", true), tolerating(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})), Drained{}},
		"it tolerates the cordon, and is kept":  {podOf("p", tolerating(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists}), annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=true"}}},
		"it tolerates another effect":           {podOf("p", tolerating(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"it tolerates another value":            {podOf("p", tolerating(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpEqual, Value: "x"})), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"it tolerates everything":               {podOf("p", tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"it came before the cordon":             {podOf("p", createdAgo(time.Hour)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"it came back after the cordon":         {podOf("p", createdAgo(time.Minute)), Drained{}},
		"a minute past its grace period":        {podOf("p", leavingAgo(time.Minute)), Drained{Leaving: []string{"shop/p: has until 2026-03-02 11:59:00Z to stop"}}},
		"more than that":                        {podOf("p", leavingAgo(time.Minute+time.Second)), Drained{Stuck: []string{"shop/p: in Terminating since 2026-03-02 11:58:59Z, past its grace period"}}},
		"stuck although it is to stay":          {podOf("p", leavingAgo(time.Hour), annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Stuck: []string{"shop/p: in Terminating since 2026-03-02 11:00:00Z, past its grace period"}}},
		"a mirror of a static pod":              {podOf("p", annotated("kubernetes.io/config.mirror", "x")), Drained{}},
		"a finished one":                        {podOf("p", phase(corev1.PodSucceeded)), Drained{}},
		"a failed one":                          {podOf("p", phase(corev1.PodFailed)), Drained{}},
		"one that stops already":                {podOf("p", leaving), Drained{Leaving: []string{"shop/p: has until 2026-03-02 12:00:00Z to stop"}}},
		"one that stops although it is to stay": {podOf("p", leaving, annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Leaving: []string{"shop/p: has until 2026-03-02 12:00:00Z to stop"}}},
		"of another node":                       {podOf("p", elsewhere), Drained{}},
		"not to be disrupted":                   {podOf("p", annotated("karpenter.sh/do-not-disrupt", "true")), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=true"}}},
		"not to be disrupted yet":               {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h"), startedAgo(time.Minute)), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=1h"}}},
		"not started yet":                       {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h")), Drained{Blocked: []string{"shop/p: karpenter.sh/do-not-disrupt=1h"}}},
		"its time of peace is over":             {podOf("p", annotated("karpenter.sh/do-not-disrupt", "1h"), startedAgo(time.Hour)), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"may be disrupted":                      {podOf("p", annotated("karpenter.sh/do-not-disrupt", "false")), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"a time that is none":                   {podOf("p", annotated("karpenter.sh/do-not-disrupt", "0s")), Drained{Evicted: []string{"shop/p: asked to leave"}}},
		"not safe to evict":                     {podOf("p", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), Drained{Blocked: []string{"shop/p: cluster-autoscaler.kubernetes.io/safe-to-evict=false"}}},
		"safe to evict":                         {podOf("p", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")), Drained{Evicted: []string{"shop/p: asked to leave"}}},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		s.pods = []corev1.Pod{tt.pod}
		got, err := s.client(t).Drain(t.Context(), "worker", Pass{Evictions: 5, Now: at, Since: at.Add(-10 * time.Minute)})
		expect.That(t, err == nil, "%s: %v", name, err)
		expect.Same(t, got, tt.want, "%s", name)
		if len(s.evicted) != len(tt.want.Evicted) || got.Done() != (len(tt.want.Evicted)+len(tt.want.Leaving)+len(tt.want.Blocked) == 0) {
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
		"a budget":                       {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Cannot evict pod", budget), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{"shop/a: The disruption budget front needs 2 healthy pods and has 2 currently"}}, ""},
		"a budget that asks to wait":     {patient, Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{"shop/a: The disruption budget front is still being processed by the server."}}, ""},
		"a budget with a secret":         {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Cannot evict pod", metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "token=hunter2hunter2hunter2"}), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{"shop/a: token=[redacted: token]"}}, ""},
		"two budgets":                    {refusalOf(http.StatusInternalServerError, "", "This pod has more than one PodDisruptionBudget"), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{"shop/a: the API server refused its eviction: This pod has more than one PodDisruptionBudget"}}, ""},
		"budgets that keep changing":     {refusalOf(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "couldn't update PodDisruptionBudget"), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{"shop/a: the API server refused its eviction: couldn't update PodDisruptionBudget"}}, ""},
		"an admission webhook":           {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "pods.example" denied the request: it cannot leave`, metav1.StatusCause{Type: "FieldValueInvalid", Message: "x"}), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: admission webhook "pods.example" denied the request: it cannot leave`}}, ""},
		"another one":                    {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, `the resource "a" is locked`), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: the resource "a" is locked`}}, ""},
		"a webhook that says to wait":    {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonForbidden, `pods "a" is forbidden: admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: VMI vm is configured with an eviction strategy but is not live-migratable`), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: pods "a" is forbidden: admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: VMI vm is configured with an eviction strategy but is not live-migratable`}}, ""},
		"a webhook that misses a thing":  {refusalOf(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "pods.example" denied the request: no such ring`), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: admission webhook "pods.example" denied the request: no such ring`}}, ""},
		"a webhook without explanation":  {refusalOf(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "pods.example" denied the request without explanation`), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: admission webhook "pods.example" denied the request without explanation`}}, ""},
		"an admission policy":            {refusalOf(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, `pods "a" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not now`), Drained{Evicted: []string{"shop/b: asked to leave"}, Blocked: []string{`shop/a: the API server refused its eviction: pods "a" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not now`}}, ""},
		"a namespace that goes":          {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), Drained{Evicted: []string{"shop/b: asked to leave"}, Leaving: []string{"shop/a: changes right now"}}, ""},
		"a pod that changed":             {refusalOf(http.StatusConflict, metav1.StatusReasonConflict, "uid"), Drained{Evicted: []string{"shop/b: asked to leave"}, Leaving: []string{"shop/a: changes right now"}}, ""},
		"a pod that is gone":             {refusalOf(http.StatusNotFound, metav1.StatusReasonNotFound, "not found"), Drained{Evicted: []string{"shop/b: asked to leave"}}, ""},
		"no permission":                  {refusalOf(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: User "x" cannot create resource "pods/eviction" in API group "" in the namespace "shop"`), Drained{}, "does not let it create pods/eviction: apply infra/rbac.yaml and give it the group rollcall:remediators"},
		"a token that ran out":           {refusalOf(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), Drained{}, "refused the token"},
		"a server that has too much":     {refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests"), Drained{}, "turned the eviction of pods away as too much (429)"},
		"a server that is not there yet": {refusalOf(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "not ready"), Drained{}, "did not answer"},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		s.pods = []corev1.Pod{podOf("a"), podOf("b")}
		s.budgets["shop/a"] = tt.refusal
		got, err := s.client(t).Drain(t.Context(), "worker", Pass{Evictions: 5, Now: at})
		expect.Same(t, got, tt.want, "%s", name)
		expect.That(t, (err != nil) == (tt.err != ""), "%s: %v", name, err)
		if err != nil {
			_, text := Fault(s.cluster(), err, "")
			expect.That(t, strings.Contains(text, tt.err) && strings.HasPrefix(err.Error(), "evict pod shop/a: "), "%s: %v: a person is told: %s", name, err, text)
		}
		n := len(slices.DeleteFunc(slices.Clone(s.evicted), func(e policyv1.Eviction) bool { return e.Name != "a" }))
		expect.That(t, n == 1, "%s: %d tries", name, n)
	}
}

func TestAPassEvictsNoMoreThanItMayAndTheNextGoesOn(t *testing.T) {
	s := newAPIServer(t)
	for i := range 1201 {
		s.pods = append(s.pods, podOf(fmt.Sprint("p", i)))
	}
	s.budgets["shop/p0"] = refusalOf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "no", metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "budget"})
	c := s.client(t)
	for pass, want := range [][4]int{ // evicted, leaving, waiting, blocked
		{2, 0, 1198, 1},
		{2, 2, 1196, 1},
		{0, 4, 1197, 0},
	} {
		got, err := c.Drain(t.Context(), "worker", Pass{Evictions: want[0], Now: at})
		must.Succeed(t, err)
		expect.Equal(t, [4]int{len(got.Evicted), len(got.Leaving), len(got.Waiting), len(got.Blocked)}, want, "pass %d", pass+1)
	}
	var pages int
	for _, q := range s.queries() {
		if q.Has("fieldSelector") {
			pages++
		}
	}
	expect.That(t, pages == 9, "%d pages of pods in three passes, want 3 each", pages)
	s.pods = []corev1.Pod{podOf("p")}
	if got, err := c.Drain(t.Context(), "worker", Pass{Now: at}); err != nil || got.Done() {
		t.Errorf("a pod that waits: %+v, %v", got, err)
	}
	s.pods = nil
	got, err := c.Drain(t.Context(), "worker", Pass{Evictions: 2, Now: at})
	expect.That(t, err == nil && got.Done(), "an empty node: %+v, %v", got, err)
}

// A pod of the same name that replaced it is not the one that was checked.
func TestOnlyThePodThatWasReadIsEvicted(t *testing.T) {
	s := newAPIServer(t)
	s.pods = []corev1.Pod{podOf("web-0")}
	s.before[2] = func() { s.pods[0].UID, s.pods[0].Spec.NodeName = "uid-later", "other" }
	got, err := s.client(t).Drain(t.Context(), "worker", Pass{Evictions: 5, Now: at})
	expect.That(t, err == nil && len(got.Evicted) == 0 && !got.Done() && s.pods[0].DeletionTimestamp == nil, "%+v, %v", got, err)
}

func TestADrainThatBreaksOffTellsWhatItDid(t *testing.T) {
	s := newAPIServer(t)
	s.pods = []corev1.Pod{podOf("a"), podOf("b")}
	s.answer[3] = hang
	ctx, cancel := contextFor(t, 200*time.Millisecond)
	defer cancel()
	got, err := s.client(t).Drain(ctx, "worker", Pass{Evictions: 5, Now: at})
	expect.That(t, errors.Is(err, context.DeadlineExceeded) && len(got.Evicted) == 1, "%+v, %v", got, err)
	kind, _ := Fault(s.cluster(), err, "")
	expect.That(t, kind == roll.GapClusterUnreachable, "%s: %v", kind, err)
}

// An empty name selects the pods that are not on a node yet.
func TestThePodsOfNoNodeAreNotDrained(t *testing.T) {
	s := newAPIServer(t)
	_, err := s.client(t).Drain(t.Context(), "", Pass{Evictions: 5, Now: at})
	expect.That(t, err != nil && len(s.requests) == 0, "%d requests, %v", len(s.requests), err)
}

func TestAListingOfPodsThatTheServerDropsBeginsOnceMore(t *testing.T) {
	s := newAPIServer(t)
	for i := range 600 {
		s.pods = append(s.pods, podOf(fmt.Sprint("p", i), leaving))
	}
	s.answer[2] = s.refuse(http.StatusGone, metav1.StatusReasonExpired, "too old")
	got, err := s.client(t).Drain(t.Context(), "worker", Pass{Evictions: 5, Now: at})
	expect.That(t, err == nil && len(got.Leaving) == 600, "%+v, %v", got, err)
}
