package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// paged are nodes in memory, with the requests for them.
type paged struct {
	nodes []corev1.Node
	// fails is the error of the n-th requested page, from 1.
	fails map[int]error
	asked []string
}

func (p *paged) page(_ context.Context, limit int64, token string) (nodes []*NodeObject, next string, err error) {
	p.asked = append(p.asked, fmt.Sprintf("%d after %q", limit, token))
	if err := p.fails[len(p.asked)]; err != nil {
		return nil, "", err
	}
	from, _ := strconv.Atoi(token)
	to := min(from+int(limit), len(p.nodes))
	for i := range p.nodes[from:to] {
		nodes = append(nodes, nodeOf(&p.nodes[from+i]))
	}
	if to < len(p.nodes) {
		next = strconv.Itoa(to)
	}
	return nodes, next, nil
}

// listed are objects in memory, in pages of two, with the requests for them.
type listed struct {
	items []string
	fails error
	asked []string
}

func (l *listed) page(_ context.Context, path string, o metav1.ListOptions) (items []*Item, next string, err error) {
	for name, selector := range map[string]string{"fieldSelector": o.FieldSelector, "labelSelector": o.LabelSelector} {
		if selector != "" {
			path += "?" + name + "=" + selector
		}
	}
	l.asked = append(l.asked, fmt.Sprintf("%s after %q", path, o.Continue))
	if l.fails != nil {
		return nil, "", l.fails
	}
	from, _ := strconv.Atoi(o.Continue)
	to := min(from+2, len(l.items))
	for _, item := range l.items[from:to] {
		items = append(items, NewItem(json.RawMessage(item)))
	}
	if to < len(l.items) {
		next = strconv.Itoa(to)
	}
	return items, next, nil
}

// overItems returns a client of those objects. It serves nothing else.
func overItems(t *testing.T, l *listed) *Client {
	t.Helper()
	c, err := NewClientOverPages(&memory{answer: saying(http.StatusOK, `{"apiVersion":"v1","kind":"APIGroupList","groups":[]}`)}, nil, l.page)
	must.Succeed(t, err)
	return c
}

// overPages returns a client of those nodes. Any other request fails the test.
func overPages(t *testing.T, p *paged) *Client {
	t.Helper()
	c, err := NewClientOverPages(&memory{answer: func(r *http.Request) (int, string, error) {
		t.Errorf("asked for %s", r.URL)
		return http.StatusNotFound, "404 page not found", nil
	}}, p.page, nil)
	must.Succeed(t, err)
	return c
}

func TestPagesInMemoryTellWhatTheirJSONDoes(t *testing.T) {
	p := &paged{nodes: manyNodes(1201)}
	at := metav1.NewTime(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	for i := range p.nodes {
		n := &p.nodes[i]
		n.UID, n.CreationTimestamp, n.Labels = "u", at, map[string]string{"karpenter.sh/nodepool": "default", "topology.kubernetes.io/zone": "eu-west-1a"}
		n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastTransitionTime: at}}
	}
	body, err := json.Marshal(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: p.nodes})
	must.Succeed(t, err)
	asJSON, _ := over(t, saying(http.StatusOK, string(body)))
	want, _, err := list(t, asJSON)
	must.Succeed(t, err)
	for _, c := range []*Client{overPages(t, p), overPages(t, p).Noting(nil)} {
		p.asked = nil
		got, restarts, err := list(t, c)
		must.That(t, err == nil && restarts == 0, "%d restarts, %v", restarts, err)
		diff := cmp.Diff(want, got)
		expect.That(t, diff == "", "(-as JSON +as pages)\n%s", diff)
		expect.Same(t, p.asked, []string{`500 after ""`, `500 after "500"`, `500 after "1000"`}, "asked for")
	}
}

func TestPagesInMemoryBeginOnceMoreWhenTheirListIsGone(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old")
	p := &paged{nodes: manyNodes(1201), fails: map[int]error{3: gone}}
	nodes, restarts, err := list(t, overPages(t, p))
	expect.That(t, err == nil && restarts == 1 && len(nodes) == 1201 && len(p.asked) == 6, "%d nodes, %d restarts, asked for %q, %v", len(nodes), restarts, p.asked, err)
	p = &paged{nodes: manyNodes(1201), fails: map[int]error{2: gone, 4: gone}}
	_, restarts, err = list(t, overPages(t, p))
	expect.That(t, apierrors.IsResourceExpired(err) && restarts == 1, "%d restarts, %v", restarts, err)
}

// A fault has the same meaning whether or not a page came as JSON.
func TestPagesInMemoryFailLikeRequests(t *testing.T) {
	demo := roll.Cluster{ID: roll.ClusterID{Name: "demo"}, Endpoint: "https://in-memory.invalid"}
	for name, failed := range map[string]error{
		"throttled":    apierrors.NewTooManyRequests("too many requests", 0),
		"server error": apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		"forbidden":    apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New(`User "r" cannot list resource "nodes" in API group "" at the cluster scope`)),
		"unauthorized": apierrors.NewUnauthorized("Unauthorized"),
		"no answer":    fmt.Errorf("no answer: %w", context.DeadlineExceeded),
		"no such host": &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "in-memory.invalid", IsNotFound: true}},
		"not captured": fmt.Errorf("k8s-nodes.json: %w", ErrNotCaptured),
		"broken":       errors.New("unexpected EOF"),
	} {
		inJSON := refusing(t, failed)
		for _, read := range []struct {
			from *Client
			all  func(*Client) error
		}{
			{overPages(t, &paged{fails: map[int]error{1: failed}}), func(c *Client) error { _, _, err := list(t, c); return err }},
			{overItems(t, &listed{fails: failed}), func(c *Client) error { _, err := c.printed(t.Context(), PodsOf("n")); return err }},
		} {
			want, got := read.all(inJSON), read.all(read.from)
			kind, text := Fault(demo, got, "")
			wantKind, wantText := Fault(demo, want, "")
			expect.That(t, kind == wantKind && text == wantText && Refused(got) == Refused(want), "%s:\n%s: %s\nas JSON\n%s: %s", name, kind, text, wantKind, wantText)
			a, b := strings.Split(got.Error(), "?")[0], strings.Split(want.Error(), "?")[0]
			expect.That(t, a == b, "%s: %q, as JSON %q", name, a, b)
		}
	}
}

// refusing returns a client whose every request fails, with the Status of the error if it has one.
func refusing(t *testing.T, failed error) *Client {
	t.Helper()
	c, _ := over(t, func(*http.Request) (int, string, error) {
		status, ok := errors.AsType[*apierrors.StatusError](failed)
		if !ok {
			return 0, "", failed
		}
		status.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		body, err := json.Marshal(status.ErrStatus)
		return int(status.ErrStatus.Code), string(body), err
	})
	return c
}

func TestNoPageInMemoryIsAskedForAfterTheEnd(t *testing.T) {
	p := &paged{nodes: manyNodes(3)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := overPages(t, p).Nodes(ctx, roll.Watch{}, func(roll.Node) {}, func() {})
	expect.That(t, errors.Is(err, context.Canceled) && len(p.asked) == 0, "asked for %q, %v", p.asked, err)
}

// The pages belong to the caller: they are only read.
func TestPagesInMemoryAreOnlyRead(t *testing.T) {
	p := &paged{nodes: manyNodes(700)}
	before, err := json.Marshal(p.nodes)
	must.Succeed(t, err)
	if _, _, err := list(t, overPages(t, p)); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(p.nodes)
	expect.That(t, err == nil && string(before) == string(after), "the nodes were changed, %v", err)
}

// Lists of items give the same results as lists of JSON, also for the fields of a pod that must not
// leave the package and for the newest events.
func TestItemsInMemoryTellWhatTheirJSONDoes(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":"s3cret"},"name":"p"},"spec":{"containers":[{"args":["s3cret"],"image":"b","name":"a"}]}}`
	claim := func(name string) string {
		return `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"` + name + `"},"status":{"providerID":"aws:///eu-west-1a/i-0123456789abcd` + name + `"}}`
	}
	event := func(name, at string) string {
		return `{"apiVersion":"v1","kind":"Event","lastTimestamp":"2026-03-02T` + at + `:00Z","metadata":{"name":"` + name + `"}}`
	}
	for q, items := range map[Question][]string{
		PodsOf("n"):             {pod, pod, pod},
		NodeClaimsOf("default"): {claim("001"), claim("002"), claim("003")},
		EventsOfNode("n"):       {event("b", "09:00"), event("c", "10:00"), event("a", "08:00")},
		AllLeases():             nil,
		Webhooks():              nil,
	} {
		l := &listed{items: items}
		got, err := overItems(t, l).printed(t.Context(), q)
		must.That(t, err == nil, "%s: %v", q, err)
		inJSON, m := over(t, saying(http.StatusOK, `{"apiVersion":"v1","kind":"List","items":[`+strings.Join(items, ",")+`]}`))
		want, err := inJSON.printed(t.Context(), q)
		must.That(t, err == nil, "%s: %v", q, err)
		diff := cmp.Diff(string(want), string(got))
		expect.That(t, diff == "" && !strings.Contains(string(got), "s3cret"), "%s (-as JSON +as items)\n%s", q, diff)
		if last := len(l.asked) - 1; len(items) > 0 && (last != 1 || l.asked[1] != m.paths()[0]+` after "2"`) {
			t.Errorf("%s: asked for %q, as JSON for %q", q, l.asked, m.paths())
		}
	}
	l := &listed{items: []string{claim("001"), claim("002"), claim("003")}}
	claims, err := overItems(t, l).NodeClaims(t.Context(), []string{"default"})
	expect.That(t, err == nil && len(claims.Of) == 3 && claims.Of["i-0123456789abcd002"].Name == "002", "%v, %v", claims, err)
}

// What is not served, not asked for in time or too large fails as if it came as JSON.
func TestItemsInMemoryThatAreNoAnswer(t *testing.T) {
	c := overItems(t, &listed{fails: apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{}, "", "404 page not found", 0, true)})
	if _, err := c.printed(t.Context(), NodeClaimsOf("default")); !errors.Is(err, ErrNoNodeClaims) {
		t.Errorf("what is not served: %v", err)
	}
	if _, err := c.NodeClaims(t.Context(), []string{"default"}); !errors.Is(err, ErrNoNodeClaims) {
		t.Errorf("what is not served: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := &listed{}
	if _, err := overItems(t, l).printed(ctx, PodsOf("n")); !errors.Is(err, context.Canceled) || len(l.asked) > 0 {
		t.Errorf("after the end: %v, asked for %q", err, l.asked)
	}
	large := &listed{items: []string{strings.Repeat(" ", maxAnswer) + "{}"}}
	_, err := overItems(t, large).printed(t.Context(), EventsOfNode("n"))
	expect.That(t, errors.Is(err, errTooLarge), "too large: %v", err)

	storm := &listed{} // its pages are too large together, and only the newest events are kept
	for i := range 9 {
		storm.items = append(storm.items, fmt.Sprintf(`{"count":%d,"lastTimestamp":"2026-03-02T12:00:0%dZ","message":%q}`, i, i, strings.Repeat("x", maxAnswer/4)))
	}
	got, err := decoded[Event](t.Context(), overItems(t, storm), EventsOfNode("n"))
	must.Succeed(t, err)
	expect.That(t, len(got) == 9 && got[8].Count == 8, "%d events", len(got))
}
