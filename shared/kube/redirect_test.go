package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// A connection that is lost before the answer, as when an API server stops, is no answer.
func TestAReadWhoseConnectionIsLostIsSentAgain(t *testing.T) {
	for _, lost := range []int{attempts - 1, attempts} {
		s := newAPIServer(t)
		for i := range lost {
			s.answer[i+1] = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}
		err := s.client(t).Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {})
		expect.That(t, (err == nil) == (lost < attempts) && len(s.requests) == attempts, "%d lost: %d requests, %v", lost, len(s.requests), err)
	}
}

// What answers in place of an API server may not send a request, and its token, anywhere else.
func TestARedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": []}`))
	}))
	t.Cleanup(other.Close)
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := newAPIServer(t)
		s.answer[0] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+r.URL.Path, code) }
		c := s.client(t)
		reading := c.Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {})
		for what, err := range map[string]error{"list": reading, "delete": c.DeleteNode(t.Context(), "node-1", "uid-1"), "cordon": c.Cordon(t.Context(), "node-1", "uid-1", "order-1")} {
			expect.That(t, err != nil, "%d: the %s succeeded", code, what)
		}
		if reading == nil {
			continue
		}
		kind, said := Fault(s.cluster(), reading, "")
		expect.That(t, kind == roll.GapClusterUnreachable && strings.Contains(said, "redirects to "+other.URL), "%d: %s: %s", code, kind, said)
	}
	n := elsewhere.Load()
	expect.That(t, n <= 0, "%d requests went elsewhere", n)
}
