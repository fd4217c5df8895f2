package kube

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// apiServer implements the part of the Kubernetes API that this package uses, over TLS, and lists
// nodes in protobuf or JSON. Its objects are in objects_test.go.
type apiServer struct {
	*httptest.Server
	json    bool // even to clients that accept protobuf
	accepts string

	mu sync.Mutex
	objects
	requests []*http.Request
	// answer handles the n-th request (from 1) instead of the objects.
	answer map[int]http.HandlerFunc
	// before is run before the n-th request is answered.
	before map[int]func()
}

func newAPIServer(t *testing.T, nodes ...corev1.Node) *apiServer {
	t.Helper()
	s := &apiServer{objects: objects{nodes: nodes, budgets: map[string]*metav1.Status{}}, answer: map[int]http.HandlerFunc{}, before: map[int]func(){}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) cluster() roll.Cluster {
	return roll.Cluster{
		ID:       roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"},
		Endpoint: s.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
}

func (s *apiServer) client(t *testing.T) *Client {
	t.Helper()
	c, err := NewClient(s.URL, s.cluster().CA, "rollcall/test", nil)
	must.Succeed(t, err)
	return c
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests, s.accepts = append(s.requests, r.Clone(r.Context())), r.Header.Get("Accept")
	answer, before := s.answer[len(s.requests)], s.before[len(s.requests)]
	if answer == nil {
		answer = s.answer[0] // of every request
	}
	s.mu.Unlock()
	if before != nil {
		before()
	}
	if answer != nil {
		answer(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve(w, r)
}

// cut returns the requested page of a list, and the token of the next.
func cut[T any](r *http.Request, all []T) ([]T, string) {
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("continue"), "after-"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	all = all[from:]
	if limit == 0 || len(all) <= limit {
		return all, ""
	}
	return all[:limit], fmt.Sprintf("after-%d", from+limit)
}

func (s *apiServer) send(w http.ResponseWriter, code int, o runtime.Object) {
	var encoder runtime.Encoder = protobufserializer.NewSerializer(everyType, everyType)
	w.Header().Set("Content-Type", protobuf)
	if s.json || !strings.Contains(s.accepts, protobuf) {
		encoder = json.NewSerializerWithOptions(json.DefaultMetaFactory, everyType, everyType, json.SerializerOptions{})
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(code)
	if err := encoder.Encode(o, w); err != nil {
		panic(err)
	}
}

// refuse answers with a Status, as the API server does.
func (s *apiServer) refuse(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { s.send(w, code, refusalOf(code, reason, message)) }
}

func refusalOf(code int, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) *metav1.Status {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}
	if causes != nil {
		status.Details = &metav1.StatusDetails{Causes: causes}
	}
	return status
}

// hang never answers. A server notices that its client is gone only after it has read the request's
// body.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func (s *apiServer) queries() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []url.Values
	for _, r := range s.requests {
		out = append(out, r.URL.Query())
	}
	return out
}

// otherCA is a certificate that signed nothing.
func otherCA(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must.Succeed(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must.Succeed(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func manyNodes(n int) []corev1.Node {
	out := make([]corev1.Node, n)
	for i := range out {
		out[i].Name = fmt.Sprintf("node-%d", i)
		out[i].Spec.ProviderID = fmt.Sprintf("aws:///eu-west-1a/i-%017x", i)
	}
	return out
}
