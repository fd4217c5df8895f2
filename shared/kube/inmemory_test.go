package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// memory answers requests without a network.
type memory struct {
	answer   func(*http.Request) (code int, body string, err error)
	requests []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests = append(m.requests, r)
	code, body, err := m.answer(r)
	if err != nil {
		return nil, err
	}
	kind := applicationJSON
	if !strings.HasPrefix(body, "{") {
		kind = "text/plain; charset=utf-8"
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// paths are the requested paths, with selectors unescaped and without the page parameters.
func (m *memory) paths() (out []string) {
	for _, r := range m.requests {
		q, path := r.URL.Query(), r.URL.Path
		for _, selector := range []string{"fieldSelector", "labelSelector"} {
			if q.Has(selector) {
				path += "?" + selector + "=" + q.Get(selector)
			}
		}
		out = append(out, path)
	}
	return out
}

// over returns a client with these answers.
func over(t *testing.T, answer func(*http.Request) (code int, body string, err error)) (*Client, *memory) {
	t.Helper()
	m := &memory{answer: answer}
	c, err := NewInMemoryClient(m)
	must.Succeed(t, err)
	return c, m
}

// saying answers every request in the same way.
func saying(code int, body string) func(*http.Request) (int, string, error) {
	return func(*http.Request) (int, string, error) { return code, body, nil }
}

func TestNodesAreReadAsKubectlPrintsThem(t *testing.T) {
	const (
		fields = `"metadata":{"name":"n"},"spec":{"providerID":"aws:///eu-west-1a/i-0123456789abcdef0"}}`
		bare   = `{` + fields
		typed  = `{"apiVersion":"v1","kind":"Node",` + fields
	)
	tests := map[string]struct {
		body string
		want int
		err  string
	}{
		"kubectl's list":            {`{"apiVersion":"v1","kind":"List","items":[` + typed + `],"metadata":{"resourceVersion":""}}`, 1, ""},
		"an empty one":              {`{"apiVersion":"v1","kind":"List","items":[]}`, 0, ""},
		"the API server's":          {`{"apiVersion":"v1","kind":"NodeList","items":[` + bare + `],"metadata":{"resourceVersion":"7"}}`, 1, ""},
		"its items with their kind": {`{"apiVersion":"v1","kind":"NodeList","items":[` + typed + `]}`, 1, ""},
		"a list of something else":  {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}`, 0, "item 1 of the list is no node"},
		"another list":              {`{"apiVersion":"v1","kind":"PodList","items":[]}`, 0, "not a list of nodes"},
		"a single node":             {typed, 0, "not a list of nodes"},
		"no kind":                   {`{}`, 0, "not a list of nodes"},
		"half a list":               {`{"apiVersion":"v1","kind":"List","items":[`, 0, "unexpected"},
	}
	for name, tt := range tests {
		c, _ := over(t, saying(http.StatusOK, tt.body))
		nodes, _, err := list(t, c)
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || len(nodes) != tt.want {
			t.Errorf("%s: %d nodes, %v", name, len(nodes), err)
		}
		if tt.want == 1 && err == nil && (nodes[0].Name != "n" || nodes[0].Instance != "i-0123456789abcdef0") {
			t.Errorf("%s: %+v", name, nodes[0])
		}
	}
}

func TestNodeClaimsAreReadAsKubectlPrintsThem(t *testing.T) {
	const item = `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"default-x"},"status":{"providerID":"aws:///eu-west-1a/i-0123456789abcdef0"}}`
	for body, want := range map[string]int{
		`{"apiVersion":"v1","kind":"List","items":[` + item + `]}`:                       1,
		`{"apiVersion":"karpenter.sh/v1","kind":"NodeClaimList","items":[` + item + `]}`: 1,
		`{"items":[` + item + `]}`: -1,
		`{}`:                       -1,
	} {
		c, m := over(t, saying(http.StatusOK, body))
		claims, err := c.NodeClaims(t.Context(), []string{"gpu", "default"})
		expect.That(t, (err != nil) == (want < 0) && len(claims.Of) == max(want, 0), "%s: %v, %v", body, claims, err)
		expect.Equal(t, m.paths()[0], "/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool in (default,gpu)", "asked for")
	}
}

// What was not captured is not absent.
func TestFaultOfWhatWasNotCaptured(t *testing.T) {
	c, _ := over(t, func(*http.Request) (int, string, error) {
		return 0, "", fmt.Errorf("k8s-events.json: %w", ErrNotCaptured)
	})
	demo := roll.Cluster{ID: roll.ClusterID{Name: "demo"}}
	_, err := c.printed(t.Context(), EventsOfNode("n"))
	kind, text := Fault(demo, err, "")
	want := "the listing of events of node n of demo was not made: k8s-events.json: it was not captured"
	expect.That(t, kind == roll.GapFailed && text == want, "%s: %s", kind, text)
	expect.That(t, !errors.Is(err, ErrGone) && errors.Is(err, ErrNotCaptured), "got %v", err)
	_, err = c.NodeClaims(t.Context(), []string{"default"})
	expect.That(t, !errors.Is(err, ErrNoNodeClaims) && errors.Is(err, ErrNotCaptured), "got %v", err)
}

func TestTheHostOfATransportInMemoryIsNeverLookedUp(t *testing.T) {
	c, m := over(t, saying(http.StatusOK, `{"apiVersion":"v1","kind":"List","items":[]}`))
	if _, _, err := list(t, c); err != nil {
		t.Fatal(err)
	}
	r := m.requests[0]
	expect.That(t, r.URL.Host == "in-memory.invalid" && r.Header.Get("Accept") == applicationJSON && r.Header.Get("Authorization") == "", "%s with %v", r.URL, r.Header)
}
