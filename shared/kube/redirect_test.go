package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"rollcall/shared/roll"
)

// What answers in place of an API server may not send a request, and its token, anywhere else.
func TestARedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": []}`))
	}))
	t.Cleanup(other.Close)
	for _, code := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := newAPIServer(t)
		s.answer[0] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+r.URL.Path, code) }
		c := s.client(t)
		reading := c.Nodes(t.Context(), roll.Watch{}, func(roll.Node) {}, func() {})
		for what, err := range map[string]error{"list": reading, "delete": c.DeleteNode(t.Context(), "node-1", "uid-1"), "cordon": c.Cordon(t.Context(), "node-1", "uid-1", "order-1")} {
			if err == nil {
				t.Errorf("%d: the %s succeeded", code, what)
			}
		}
		if reading == nil {
			continue
		}
		kind, said := Fault(s.cluster(), reading, "")
		if kind != roll.GapClusterUnreachable || !strings.Contains(said, "redirects to "+other.URL) {
			t.Errorf("%d: %s: %s", code, kind, said)
		}
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
