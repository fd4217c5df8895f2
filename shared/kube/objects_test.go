package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// objects are the objects of a cluster. Requests change them as the API server would.
type objects struct {
	nodes  []corev1.Node
	pods   []corev1.Pod
	claims []claim
	groups []string // the API groups that are served, beside the core
	// budgets refuses the eviction of namespace/name.
	budgets map[string]*metav1.Status
	evicted []policyv1.Eviction
	patches []string
	deletes []metav1.DeleteOptions
}

// claim holds the fields of a NodeClaim that the tests need.
type claim struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   map[string]any    `json:"status"`
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		page := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		page.Items, page.Continue = cut(r, s.nodes)
		s.send(w, http.StatusOK, &page)
	})
	mux.HandleFunc("GET /api/v1/nodes/{name}", func(w http.ResponseWriter, r *http.Request) {
		if n := s.node(w, r); n != nil {
			s.send(w, http.StatusOK, n)
		}
	})
	mux.HandleFunc("PATCH /api/v1/nodes/{name}", s.patchNode)
	mux.HandleFunc("DELETE /api/v1/nodes/{name}", s.deleteNode)
	mux.HandleFunc("GET /api/v1/pods", s.listPods)
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/pods/{name}/eviction", s.evict)
	if slices.Contains(s.groups, "karpenter.sh") {
		mux.HandleFunc("GET /apis/karpenter.sh/v1/nodeclaims", s.listClaims)
		mux.HandleFunc("DELETE /apis/karpenter.sh/v1/nodeclaims/{name}", s.deleteClaim)
	}
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, g := range s.groups {
			list.Groups = append(list.Groups, metav1.APIGroup{Name: strings.TrimSuffix(g, " of old")})
		}
		answerJSON(w, list)
	})
	mux.ServeHTTP(w, r) // what is not served is answered as the API server does: 404 page not found
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// body decodes the body of a request, which is never protobuf.
func body(r *http.Request, into any) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		panic(fmt.Sprintf("%s %s carries %q: %v", r.Method, r.URL.Path, data, err))
	}
}

func (s *apiServer) notFound(w http.ResponseWriter, what, name string) {
	s.send(w, http.StatusNotFound, refusalOf(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", what, name)))
}

func (s *apiServer) node(w http.ResponseWriter, r *http.Request) *corev1.Node {
	i := slices.IndexFunc(s.nodes, func(n corev1.Node) bool { return n.Name == r.PathValue("name") })
	if i < 0 {
		s.notFound(w, "nodes", r.PathValue("name"))
		return nil
	}
	s.nodes[i].TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
	return &s.nodes[i]
}

// patchNode merges a patch and checks its preconditions.
func (s *apiServer) patchNode(w http.ResponseWriter, r *http.Request) {
	n := s.node(w, r)
	if n == nil {
		return
	}
	if got := r.Header.Get("Content-Type"); got != "application/merge-patch+json" {
		panic("a patch of the type " + got)
	}
	var patch struct {
		Metadata struct {
			UID, ResourceVersion string
			Annotations          map[string]*string
		}
		Spec map[string]json.RawMessage
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	s.patches = append(s.patches, string(data))
	if err := json.Unmarshal(data, &patch); err != nil {
		panic(err)
	}
	if patch.Metadata.ResourceVersion != n.ResourceVersion {
		s.send(w, http.StatusConflict, refusalOf(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"))
		return
	}
	if patch.Metadata.UID != string(n.UID) {
		s.send(w, http.StatusUnprocessableEntity, refusalOf(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "field is immutable", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid"}))
		return
	}
	for k, v := range patch.Metadata.Annotations {
		if v == nil {
			delete(n.Annotations, k)
		} else {
			n.Annotations = map[string]string{k: *v}
		}
	}
	for k, v := range patch.Spec {
		switch k {
		case "unschedulable":
			n.Spec.Unschedulable = string(v) == "true"
		case "taints":
			if err := json.Unmarshal(v, &n.Spec.Taints); err != nil {
				panic(err)
			}
		default:
			panic("a patch of spec." + k)
		}
	}
	n.ResourceVersion += "1"
	s.send(w, http.StatusOK, n)
}

// preconditions reads the options of a deletion and checks its uid.
func (s *apiServer) preconditions(w http.ResponseWriter, r *http.Request, uid string) bool {
	var options metav1.DeleteOptions
	body(r, &options)
	s.deletes = append(s.deletes, options)
	if options.Kind != "DeleteOptions" || options.Preconditions == nil || options.Preconditions.UID == nil {
		panic(fmt.Sprintf("a deletion without a uid: %+v", options))
	}
	if string(*options.Preconditions.UID) != uid {
		s.send(w, http.StatusConflict, refusalOf(http.StatusConflict, metav1.StatusReasonConflict, "the UID in the precondition does not match the UID in record"))
		return false
	}
	return true
}

func (s *apiServer) deleteNode(w http.ResponseWriter, r *http.Request) {
	n := s.node(w, r)
	if n == nil || !s.preconditions(w, r, string(n.UID)) {
		return
	}
	s.nodes = slices.DeleteFunc(s.nodes, func(other corev1.Node) bool { return other.Name == r.PathValue("name") })
	s.send(w, http.StatusOK, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

func (s *apiServer) listPods(w http.ResponseWriter, r *http.Request) {
	node, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
	if !ok || node == "" {
		panic("pods of no node are listed: " + r.URL.RawQuery)
	}
	var found []corev1.Pod
	for _, p := range s.pods {
		if p.Spec.NodeName == node {
			found = append(found, p)
		}
	}
	page := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	page.Items, page.Continue = cut(r, found)
	s.send(w, http.StatusOK, &page)
}

// evict marks a pod as leaving, if it is the intended one and its budget allows it.
func (s *apiServer) evict(w http.ResponseWriter, r *http.Request) {
	var e policyv1.Eviction
	body(r, &e)
	if e.Kind != "Eviction" || e.APIVersion != "policy/v1" || e.Name != r.PathValue("name") || e.Namespace != r.PathValue("namespace") {
		panic(fmt.Sprintf("no eviction of %s: %+v", r.URL.Path, e))
	}
	s.evicted = append(s.evicted, e)
	i := slices.IndexFunc(s.pods, func(p corev1.Pod) bool { return p.Namespace == e.Namespace && p.Name == e.Name })
	if i < 0 {
		s.notFound(w, "pods", e.Name)
		return
	}
	if refusal := s.budgets[e.Namespace+"/"+e.Name]; refusal != nil {
		if refusal.Details != nil && refusal.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(refusal.Details.RetryAfterSeconds))
		}
		s.send(w, int(refusal.Code), refusal)
		return
	}
	if *e.DeleteOptions.Preconditions.UID != s.pods[i].UID {
		s.send(w, http.StatusConflict, refusalOf(http.StatusConflict, metav1.StatusReasonConflict, "the UID in the precondition does not match the UID in record"))
		return
	}
	s.pods[i].DeletionTimestamp = &metav1.Time{Time: time.Now()}
	s.send(w, http.StatusCreated, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

func (s *apiServer) listClaims(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Accept"); got != "application/json" {
		panic("custom resources are served in JSON, asked for is " + got)
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		panic(fmt.Sprintf("the selector %q: %v", r.URL.Query().Get("labelSelector"), err))
	}
	var found []claim
	for _, c := range s.claims {
		if selector.Matches(labels.Set(c.Metadata.Labels)) {
			found = append(found, c)
		}
	}
	page, next := cut(r, found)
	answerJSON(w, map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"continue": next}, "items": page})
}

func (s *apiServer) deleteClaim(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.claims, func(c claim) bool { return c.Metadata.Name == r.PathValue("name") })
	if i < 0 {
		s.notFound(w, "nodeclaims.karpenter.sh", r.PathValue("name"))
		return
	}
	if s.preconditions(w, r, string(s.claims[i].Metadata.UID)) {
		s.claims[i].Metadata.DeletionTimestamp = &metav1.Time{Time: time.Now()} // its finalizer holds it
		answerJSON(w, s.claims[i])
	}
}
