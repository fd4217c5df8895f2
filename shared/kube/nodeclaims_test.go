package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func claimOf(n int, pool string) claim {
	return claim{
		Metadata: metav1.ObjectMeta{Name: fmt.Sprint(pool, "-", n), UID: "uid", Labels: map[string]string{"karpenter.sh/nodepool": pool}},
		Status:   map[string]any{"providerID": fmt.Sprintf("aws:///eu-west-1a/i-%017x", n)},
	}
}

// withClaims returns an API server that serves these NodeClaims.
func withClaims(t *testing.T, claims ...claim) *apiServer {
	t.Helper()
	s := newAPIServer(t)
	s.groups, s.claims = []string{"apps", "karpenter.sh"}, claims
	return s
}

// manyClaims returns n NodeClaims, of the pools in turn.
func manyClaims(n int, pools ...string) (all []claim) {
	for i := range n {
		all = append(all, claimOf(i, pools[i%len(pools)]))
	}
	return all
}

func TestListsTheNodeClaimsOfSomePoolsInPages(t *testing.T) {
	s := withClaims(t, manyClaims(1100, "default", "gpu", "other")...)
	got, err := s.client(t).NodeClaims(t.Context(), []string{"gpu", "default"})
	must.That(t, err == nil && len(got.Of) == 734, "%d NodeClaims, %v", len(got.Of), err)
	c := got.Of["i-00000000000000001"]
	expect.That(t, c.Name == "gpu-1", "got %+v", c)
	for _, q := range s.queries() {
		expect.That(t, q.Get("limit") == "500" && q.Get("labelSelector") == "karpenter.sh/nodepool in (default,gpu)" && !q.Has("resourceVersion"), "asked with %v", q)
	}
	expect.That(t, len(s.requests) == 2, "%d requests", len(s.requests))
}

func TestReadsOfANodeClaim(t *testing.T) {
	created, turned := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 12, 1, 0, 0, time.UTC)
	full := claimOf(1, "default")
	full.Metadata.CreationTimestamp = metav1.NewTime(created)
	full.Status["conditions"] = []metav1.Condition{
		{Type: "Launched", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(created)},
		{Type: "Registered", Status: metav1.ConditionUnknown, Reason: "NodeNotFound", Message: "long", LastTransitionTime: metav1.NewTime(turned)},
		{Type: "Initialized", Status: metav1.ConditionFalse, Reason: "NotInitialized", LastTransitionTime: metav1.NewTime(turned)},
		{Type: "DisruptionReason", Status: metav1.ConditionTrue, Reason: "Unhealthy", LastTransitionTime: metav1.NewTime(turned)},
		{Type: "Rebooting", Status: metav1.ConditionTrue, Reason: "RebootIssued", LastTransitionTime: metav1.NewTime(turned)},
	}
	going := claimOf(2, "default")
	going.Metadata.DeletionTimestamp = &metav1.Time{Time: turned}
	full.Metadata.Annotations = map[string]string{"karpenter.sh/do-not-repair": "true"}
	going.Metadata.Annotations = map[string]string{"karpenter.sh/do-not-repair": "false"}
	launching := claimOf(3, "default")
	launching.Status = map[string]any{"conditions": []metav1.Condition{{Type: "Launched", Status: metav1.ConditionUnknown, Reason: "AwaitingReconciliation"}}}
	failing := claimOf(4, "default")
	failing.Metadata.CreationTimestamp = metav1.NewTime(turned)
	failing.Status = map[string]any{"conditions": []metav1.Condition{{
		Type: "Launched", Status: metav1.ConditionUnknown, Reason: "LaunchFailed", Message: "no such image", LastTransitionTime: metav1.NewTime(turned),
	}}}
	s := withClaims(t, failing, full, going, launching)
	got, err := s.client(t).NodeClaims(t.Context(), []string{"default"})
	must.Succeed(t, err)
	want := map[roll.InstanceID]roll.NodeClaim{
		"i-00000000000000001": {
			Name: "default-1", UID: "uid", DoNotRepair: true,
			Initialized: roll.Condition{Status: roll.ConditionFalse, Since: turned, Reason: "NotInitialized"},
			Disrupted:   roll.Condition{Status: roll.ConditionTrue, Since: turned, Reason: "Unhealthy"},
			Rebooting:   roll.Condition{Status: roll.ConditionTrue, Since: turned, Reason: "RebootIssued"},
		},
		"i-00000000000000002": {Name: "default-2", UID: "uid", DeletedAt: turned},
	}
	expect.Same(t, got.Of, want, "got.Of")
	launches := map[string]Launch{"default": {Created: turned, Failed: turned, Message: "LaunchFailed: no such image"}}
	expect.Same(t, got.Latest, launches, "got.Latest")
}

func TestListsTheNodeClaimsThatAreDeleted(t *testing.T) {
	turned := time.Date(2026, 3, 2, 12, 1, 0, 0, time.UTC)
	going, bare := claimOf(2, "gpu"), claimOf(3, "")
	going.Metadata.DeletionTimestamp, going.Metadata.Finalizers = &metav1.Time{Time: turned}, []string{"karpenter.sh/termination"}
	bare.Metadata.DeletionTimestamp, bare.Metadata.Labels, bare.Status = &metav1.Time{Time: turned}, nil, nil
	s := withClaims(t, claimOf(1, "default"), going, bare)
	got, err := s.client(t).NodeClaims(t.Context(), nil)
	must.Succeed(t, err)
	want := []roll.NodeClaim{
		{Name: "gpu-2", UID: "uid", Instance: "i-00000000000000002", Group: "nodepool/gpu", Owner: roll.OwnerKarpenter, DeletedAt: turned, Finalizers: []string{"karpenter.sh/termination"}},
		{Name: "-3", UID: "uid", Group: roll.GroupNone, Owner: roll.OwnerKarpenter, DeletedAt: turned},
	}
	diff := cmp.Diff(want, got.Deleting)
	expect.That(t, diff == "" && len(got.Of) == 0, "of %v (-want +got)\n%s", got.Of, diff)
	if _, err := newAPIServer(t).client(t).NodeClaims(t.Context(), nil); !errors.Is(err, ErrNoNodeClaims) {
		t.Errorf("a cluster without Karpenter: %v", err)
	}
}

// Several NodeClaims of a pool are created in one second. If one of their launches failed, the
// latest launch failed, in any order of the listing.
func TestOfLaunchesOfTheSameTimeTheFailedOneCounts(t *testing.T) {
	created, failed := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 12, 1, 0, 0, time.UTC)
	at := func(n int, created time.Time, c metav1.Condition) claim {
		out := claimOf(n, "default")
		c.Type, c.LastTransitionTime = "Launched", metav1.NewTime(failed)
		out.Metadata.CreationTimestamp, out.Status["conditions"] = metav1.NewTime(created), []metav1.Condition{c}
		return out
	}
	works, fails := metav1.Condition{Status: metav1.ConditionTrue}, metav1.Condition{Status: metav1.ConditionUnknown, Reason: "LaunchFailed"}
	for name, tt := range map[string]struct {
		claims []claim
		failed bool
	}{
		"the failed one first":     {[]claim{at(1, created, fails), at(2, created, works)}, true},
		"the failed one last":      {[]claim{at(1, created, works), at(2, created, fails)}, true},
		"one works a second later": {[]claim{at(1, created.Add(time.Second), works), at(2, created, fails)}, false},
		"one fails a second later": {[]claim{at(1, created, works), at(2, created.Add(time.Second), fails)}, true},
		"both work":                {[]claim{at(1, created, works), at(2, created, works)}, false},
	} {
		s := withClaims(t, tt.claims...)
		got, err := s.client(t).NodeClaims(t.Context(), []string{"default"})
		l, known := got.Latest["default"]
		expect.That(t, err == nil && known && l.Failed.IsZero() != tt.failed, "%s: %+v, %v", name, got.Latest, err)
	}
}

// "No NodeClaims" leads to the termination of instances. It requires an API server that lists its
// groups without Karpenter's.
func TestAClusterWithoutNodeClaims(t *testing.T) {
	tests := map[string]struct {
		arrange func(*apiServer)
		none    bool
		err     string
	}{
		"no Karpenter":               {func(s *apiServer) { s.groups = []string{"apps", "policy"} }, true, "list NodeClaims: the cluster serves no karpenter.sh"},
		"one that is older than v1":  {func(s *apiServer) { s.groups = []string{"karpenter.sh of old"} }, false, "is its Karpenter older than 1.0?"},
		"what is served is not told": {func(s *apiServer) { s.answer[2] = s.refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no") }, false, "is karpenter.sh served at all?"},
		"somebody else answers": {func(s *apiServer) {
			s.answer[2] = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, map[string]string{"hello": "x"}) }
		}, false, "/apis answered with a \"\""},
		"a proxy that knows no paths": {func(s *apiServer) { s.answer[0] = http.NotFound }, false, "is karpenter.sh served at all?"},
		"no permission":               {func(s *apiServer) { s.answer[1] = s.refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no") }, false, "list NodeClaims: no"},
		"an answer that is not JSON": {func(s *apiServer) {
			s.answer[1] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte("<html>"))
			}
		}, false, "the answer of /apis/karpenter.sh/v1/nodeclaims is not what it should be"},
		"an error on the second page": {func(s *apiServer) {
			s.answer[2] = s.refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is sad")
		}, false, "etcd is sad"},
		"a listing that is gone twice": {func(s *apiServer) { s.answer[0] = s.refuse(http.StatusGone, metav1.StatusReasonExpired, "too old") }, false, "too old"},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		if strings.Contains(name, "page") {
			s = withClaims(t, manyClaims(600, "default")...)
		}
		tt.arrange(s)
		got, err := s.client(t).NodeClaims(t.Context(), []string{"default"})
		expect.That(t, len(got.Of) == 0 && errors.Is(err, ErrNoNodeClaims) == tt.none && err != nil && strings.Contains(err.Error(), tt.err), "%s: %v, %v", name, got, err)
	}
}

func TestAListingOfNodeClaimsThatTheServerDropsBeginsOnceMore(t *testing.T) {
	s := withClaims(t, manyClaims(600, "default")...)
	s.answer[2] = func(w http.ResponseWriter, r *http.Request) {
		s.claims = slices.Delete(s.claims, 0, 1) // seen before the drop, gone after it
		s.refuse(http.StatusGone, metav1.StatusReasonExpired, "too old")(w, r)
	}
	got, err := s.client(t).NodeClaims(t.Context(), []string{"default"})
	_, stale := got.Of["i-00000000000000000"]
	expect.That(t, err == nil && len(got.Of) == 599 && !stale, "%d NodeClaims, %v", len(got.Of), err)
}

func TestFaultOfTheListingOfNodeClaims(t *testing.T) {
	s := newAPIServer(t)
	s.answer[0] = s.refuse(http.StatusForbidden, metav1.StatusReasonForbidden, `nodeclaims.karpenter.sh is forbidden`)
	_, err := s.client(t).NodeClaims(t.Context(), []string{"default"})
	if kind, text := Fault(s.cluster(), err, principal); kind != roll.GapDenied || text != "the Kubernetes API of demo knows "+principal+" but does not let it list nodeclaims.karpenter.sh: apply infra/rbac.yaml and give it the group rollcall:viewers (nodeclaims.karpenter.sh is forbidden)" {
		t.Errorf("%s: %s", kind, text)
	}
}

func TestNodePoolsThatCannotBe(t *testing.T) {
	for name, want := range map[string]bool{"default": true, "gpu-a.b_C": true, "": false, "a b": false, "a,b": false, strings.Repeat("x", 64): false} {
		expect.Equal(t, ValidPool(name), want, "ValidPool(%q) is", name)
	}
	s := newAPIServer(t)
	_, err := s.client(t).NodeClaims(t.Context(), []string{"a b"})
	expect.That(t, err != nil && len(s.requests) == 0, "%d requests, %v", len(s.requests), err)
}
