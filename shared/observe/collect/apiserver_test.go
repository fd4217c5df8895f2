package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

type thing = map[string]any

// apiServer is the Kubernetes API of the cluster in memory, as a transport. It serves objects by
// path and selects from lists as the real one does.
type apiServer struct {
	mu       sync.Mutex
	requests []string
	objects  map[string]thing // by path
	denied   map[string]bool  // resources that may not be read
	down     error            // what every request meets
	broken   map[string]bool  // resources of which every request is answered with 500
	slow     map[string]bool  // resources of which no request is answered in time
	groups   []string         // API groups that are served beside the core's
	heard    func(string)     // called for every request; may be nil
}

func newAPIServer() *apiServer {
	return &apiServer{objects: map[string]thing{}, denied: map[string]bool{}, groups: []string{"karpenter.sh", "karpenter.k8s.aws"}}
}

func (s *apiServer) put(path string, o thing) {
	metadata, _ := o["metadata"].(thing)
	if metadata == nil {
		metadata = thing{}
		o["metadata"] = metadata
	}
	o["apiVersion"], o["kind"] = versions[resourceOf(path)][0], versions[resourceOf(path)][1]
	metadata["name"] = path[strings.LastIndexByte(path, '/')+1:]
	s.objects[path] = o
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.heard != nil {
		s.heard(r.URL.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.Path)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if s.down != nil {
		return nil, s.down
	}
	if r.URL.Path == "/apis" {
		list := []any{}
		for _, g := range s.groups {
			list = append(list, thing{"name": g})
		}
		return answer(r, 200, thing{"kind": "APIGroupList", "apiVersion": "v1", "groups": list})
	}
	resource := resourceOf(r.URL.Path)
	switch {
	case s.slow[resource]:
		return nil, context.DeadlineExceeded
	case s.broken[resource]:
		return answer(r, 500, status(500, "", "conversion webhook for karpenter.sh/v1beta1, Kind=NodeClaim failed: no endpoints available for service \"karpenter\""))
	}
	if s.denied[resource] {
		return answer(r, 403, status(403, "Forbidden", fmt.Sprintf(`%s is forbidden: User "demo" cannot get resource %q in API group ""`, resource, resource)))
	}
	if strings.Contains(r.URL.Path, "karpenter") && !slices.Contains(s.groups, strings.Split(r.URL.Path, "/")[2]) {
		return &http.Response{StatusCode: 404, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("404 page not found\n")), Request: r}, nil
	}
	if o, ok := s.objects[r.URL.Path]; ok {
		return answer(r, 200, o)
	}
	if isList(r.URL.Path) {
		return answer(r, 200, thing{"apiVersion": "v1", "kind": "List", "metadata": thing{}, "items": s.list(r)})
	}
	return answer(r, 404, status(404, "NotFound", r.URL.Path+" not found"))
}

func status(code int, reason, message string) thing {
	return thing{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, "details": thing{}}
}

var versions = map[string][2]string{
	"nodes": {"v1", "Node"}, "configmaps": {"v1", "ConfigMap"}, "events": {"v1", "Event"}, "pods": {"v1", "Pod"}, "serviceaccounts": {"v1", "ServiceAccount"}, "daemonsets": {"apps/v1", "DaemonSet"},
	"leases":     {"coordination.k8s.io/v1", "Lease"},
	"nodeclaims": {"karpenter.sh/v1", "NodeClaim"}, "nodepools": {"karpenter.sh/v1", "NodePool"}, "ec2nodeclasses": {"karpenter.k8s.aws/v1", "EC2NodeClass"},
	"mutatingwebhookconfigurations":   {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
	"validatingwebhookconfigurations": {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
	"endpointslices":                  {"discovery.k8s.io/v1", "EndpointSlice"},
}

var plurals = []string{"nodes", "leases", "configmaps", "events", "pods", "nodeclaims", "nodepools", "ec2nodeclasses", "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "endpointslices", "serviceaccounts", "daemonsets"}

func resourceOf(path string) string {
	parts := strings.Split(path, "/")
	for _, p := range slices.Backward(parts) {
		if slices.Contains(plurals, p) {
			return p
		}
	}
	return ""
}

func isList(path string) bool {
	return slices.Contains(plurals, path[strings.LastIndexByte(path, '/')+1:])
}

// list returns the objects of a resource that the selectors of the request select, sorted by name.
func (s *apiServer) list(r *http.Request) []thing {
	out := []thing{}
	var paths []string
	for path := range s.objects {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		o := s.objects[path]
		if resourceOf(path) != resourceOf(r.URL.Path) || strings.Contains(r.URL.Path, "/namespaces/") && !strings.HasPrefix(path, r.URL.Path) {
			continue
		}
		if selected(o, r.URL.Query().Get("fieldSelector"), field) && selected(o, r.URL.Query().Get("labelSelector"), label) {
			out = append(out, o)
		}
	}
	return out
}

func selected(o thing, selector string, value func(thing, string) string) bool {
	for _, term := range strings.Split(selector, ",") {
		if key, want, ok := strings.Cut(term, "="); ok && value(o, key) != want {
			return false
		}
	}
	return true
}

func field(o thing, path string) string {
	var at any = o
	for _, key := range strings.Split(path, ".") {
		m, _ := at.(thing)
		at = m[key]
	}
	text, _ := at.(string)
	return text
}

func label(o thing, key string) string {
	labels, _ := o["metadata"].(thing)["labels"].(thing)
	text, _ := labels[key].(string)
	return text
}

func answer(r *http.Request, code int, body thing) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: r}, nil
}
