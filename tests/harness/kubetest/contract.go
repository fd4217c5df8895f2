// Package kubetest holds what a Kubernetes API server answers to the requests with which Rollcall
// changes a cluster. A real one and the simulated one are both held to it.
package kubetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object names an object.
type Object struct{ Namespace, Name, UID string }

// Server is an API server with the objects that the contract changes.
type Server struct {
	URL       string // such as https://host
	Transport http.RoundTripper
	Node      Object // whose resource version changes only with the contract's requests
	Claim     Object // a NodeClaim with Karpenter's finalizer
	Pod       Object // on the node, of which it may be evicted; it takes a while to stop
	Guarded   Object // like Pod, but its disruption budget allows no eviction
	Leaving   Object // like Guarded, and already being deleted
}

// answer is what Rollcall reads of a response.
type answer struct {
	Code   int
	Reason metav1.StatusReason
	Causes []string // types and fields
}

// Contract makes one request after the other and compares the answers.
func Contract(t *testing.T, s Server) {
	t.Helper()
	const (
		nodes  = "/api/v1/nodes/"
		claims = "/apis/karpenter.sh/v1/nodeclaims/"
		other  = "00000000-0000-4000-8000-00000000dead"
	)
	ok, created, none := answer{Code: 200}, answer{Code: 201}, answer{Code: 404, Reason: metav1.StatusReasonNotFound}
	conflict := answer{Code: 409, Reason: metav1.StatusReasonConflict}
	budget := answer{Code: 429, Reason: metav1.StatusReasonTooManyRequests, Causes: []string{"DisruptionBudget "}}
	immutable := answer{Code: 422, Reason: metav1.StatusReasonInvalid, Causes: []string{"FieldValueInvalid metadata.uid"}}
	stale := s.version(t)
	cordon := func(uid, version string) string {
		return fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"unschedulable":true}}`, uid, version)
	}
	node := nodes + s.Node.Name
	for _, step := range []struct {
		name, method, path, body string
		want                     answer
	}{
		{"cordon what was read", http.MethodPatch, node, cordon(s.Node.UID, stale), ok},
		{"cordon what has changed since", http.MethodPatch, node, cordon(s.Node.UID, stale), conflict},
		{"cordon another one that has changed since", http.MethodPatch, node, cordon(other, stale), conflict},
		{"cordon another one", http.MethodPatch, node, cordon(other, ""), immutable},
		{"cordon what is not there", http.MethodPatch, nodes + "absent", cordon(other, ""), none},
		{"remove the annotation that it has not", http.MethodPatch, node, fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{"example.com/none":null}},"spec":{"unschedulable":null}}`, s.Node.UID), ok},
		{"read it", http.MethodGet, node, "", ok},
		{"read what is not there", http.MethodGet, nodes + "absent", "", none},

		{"evict a pod of that name", http.MethodPost, s.Pod.eviction(), s.Pod.evicted(other), conflict},
		{"evict a pod", http.MethodPost, s.Pod.eviction(), s.Pod.evicted(s.Pod.UID), created},
		{"evict it again", http.MethodPost, s.Pod.eviction(), s.Pod.evicted(s.Pod.UID), created},
		{"evict a guarded pod", http.MethodPost, s.Guarded.eviction(), s.Guarded.evicted(s.Guarded.UID), budget},
		{"evict a guarded pod of that name", http.MethodPost, s.Guarded.eviction(), s.Guarded.evicted(other), budget},
		{"evict a guarded pod that is leaving", http.MethodPost, s.Leaving.eviction(), s.Leaving.evicted(s.Leaving.UID), created},
		{"evict what is not there", http.MethodPost, strings.Replace(s.Pod.eviction(), s.Pod.Name, "absent", 1), Object{s.Pod.Namespace, "absent", ""}.evicted(other), none},

		{"delete another NodeClaim", http.MethodDelete, claims + s.Claim.Name, deleted(other), conflict},
		{"delete a NodeClaim", http.MethodDelete, claims + s.Claim.Name, deleted(s.Claim.UID), ok},
		{"delete it again", http.MethodDelete, claims + s.Claim.Name, deleted(s.Claim.UID), ok},
		{"delete a NodeClaim that is not there", http.MethodDelete, claims + "absent", deleted(other), none},

		{"delete another node", http.MethodDelete, node, deleted(other), conflict},
		{"delete a node", http.MethodDelete, node, deleted(s.Node.UID), ok},
		{"delete what is gone", http.MethodDelete, node, deleted(s.Node.UID), none},
		{"cordon what is gone", http.MethodPatch, node, cordon(s.Node.UID, ""), none},
	} {
		if diff := cmp.Diff(step.want, s.send(t, step.method, step.path, step.body, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// version returns the node's resource version.
func (s Server) version(t *testing.T) string {
	t.Helper()
	var n metav1.PartialObjectMetadata
	if a := s.send(t, http.MethodGet, "/api/v1/nodes/"+s.Node.Name, "", &n); a.Code != http.StatusOK || n.ResourceVersion == "" {
		t.Fatalf("read node %s: %+v", s.Node.Name, a)
	}
	return n.ResourceVersion
}

// send makes a request, and decodes the object that a successful one returns.
func (s Server) send(t *testing.T, method, path, body string, into any) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := s.Transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	out := answer{Code: response.StatusCode}
	if response.StatusCode < 300 {
		if into != nil {
			err = json.Unmarshal(data, into)
		}
	} else {
		var status metav1.Status
		err = json.Unmarshal(data, &status)
		out.Reason = status.Reason
		if status.Details != nil {
			for _, c := range status.Details.Causes {
				out.Causes = append(out.Causes, string(c.Type)+" "+c.Field)
			}
			out.Causes = slices.Compact(out.Causes) // a real one names the uid twice
		}
	}
	if err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
	return out
}

// eviction returns the path of a pod's eviction.
func (o Object) eviction() string {
	return fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", o.Namespace, o.Name)
}

// evicted returns an eviction of the pod with a uid.
func (o Object) evicted(uid string) string {
	return fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":%q,"name":%q},"deleteOptions":{"preconditions":{"uid":%q}}}`, o.Namespace, o.Name, uid)
}

// deleted returns the options of a deletion of the object with a uid.
func deleted(uid string) string {
	return fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":%q}}`, uid)
}
