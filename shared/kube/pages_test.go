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

	"rollcall/shared/roll"
)

// paged are nodes in memory, and what was asked for of them.
type paged struct {
	nodes []corev1.Node
	// fails is the error of the n-th page that is asked for, from 1.
	fails map[int]error
	asked []string
}

func (p *paged) page(_ context.Context, limit int64, token string) (*corev1.NodeList, error) {
	p.asked = append(p.asked, fmt.Sprintf("%d after %q", limit, token))
	if err := p.fails[len(p.asked)]; err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(token)
	to := min(from+int(limit), len(p.nodes))
	list := &corev1.NodeList{Items: p.nodes[from:to:to]}
	if to < len(p.nodes) {
		list.Continue = strconv.Itoa(to)
	}
	return list, nil
}

// overPages is a client of those nodes; all else it asks for fails the test.
func overPages(t *testing.T, p *paged) *Client {
	t.Helper()
	c, err := NewClientOverPages(&memory{answer: func(r *http.Request) (int, string, error) {
		t.Errorf("asked for %s", r.URL)
		return http.StatusNotFound, "404 page not found", nil
	}}, p.page)
	if err != nil {
		t.Fatal(err)
	}
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
		n.Status.NodeInfo.BootID = "b"
	}
	body, err := json.Marshal(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: p.nodes})
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := over(t, saying(http.StatusOK, string(body)))
	want, _, err := list(t, asJSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Client{overPages(t, p), overPages(t, p).Noting(nil)} {
		p.asked = nil
		got, restarts, err := list(t, c)
		if err != nil || restarts != 0 {
			t.Fatalf("%d restarts, %v", restarts, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-as JSON +as pages)\n%s", diff)
		}
		if diff := cmp.Diff([]string{`500 after ""`, `500 after "500"`, `500 after "1000"`}, p.asked); diff != "" {
			t.Errorf("asked for (-want +got)\n%s", diff)
		}
	}
}

func TestPagesInMemoryBeginOnceMoreWhenTheirListIsGone(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old")
	p := &paged{nodes: manyNodes(1201), fails: map[int]error{3: gone}}
	nodes, restarts, err := list(t, overPages(t, p))
	if err != nil || restarts != 1 || len(nodes) != 1201 || len(p.asked) != 6 {
		t.Errorf("%d nodes, %d restarts, asked for %q, %v", len(nodes), restarts, p.asked, err)
	}
	p = &paged{nodes: manyNodes(1201), fails: map[int]error{2: gone, 4: gone}}
	if _, restarts, err = list(t, overPages(t, p)); !apierrors.IsResourceExpired(err) || restarts != 1 {
		t.Errorf("%d restarts, %v", restarts, err)
	}
}

// A fault means the same whether a page came as JSON or not.
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
		inJSON, _ := over(t, func(*http.Request) (int, string, error) {
			status, ok := errors.AsType[*apierrors.StatusError](failed)
			if !ok {
				return 0, "", failed
			}
			status.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			body, err := json.Marshal(status.ErrStatus)
			return int(status.ErrStatus.Code), string(body), err
		})
		_, _, want := list(t, inJSON)
		_, _, got := list(t, overPages(t, &paged{fails: map[int]error{1: failed}}))
		kind, text := Fault(demo, got, "")
		wantKind, wantText := Fault(demo, want, "")
		if kind != wantKind || text != wantText || Refused(got) != Refused(want) {
			t.Errorf("%s:\n%s: %s\nas JSON\n%s: %s", name, kind, text, wantKind, wantText)
		}
		if a, b := strings.Split(got.Error(), "?")[0], strings.Split(want.Error(), "?")[0]; a != b {
			t.Errorf("%s: %q, as JSON %q", name, a, b)
		}
	}
}

func TestNoPageInMemoryIsAskedForAfterTheEnd(t *testing.T) {
	p := &paged{nodes: manyNodes(3)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := overPages(t, p).Nodes(ctx, roll.Watch{}, func(roll.Node) {}, func() {})
	if !errors.Is(err, context.Canceled) || len(p.asked) != 0 {
		t.Errorf("asked for %q, %v", p.asked, err)
	}
}

// The pages are somebody else's: what is read of them is never changed.
func TestPagesInMemoryAreOnlyRead(t *testing.T) {
	p := &paged{nodes: manyNodes(700)}
	before, err := json.Marshal(p.nodes)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := list(t, overPages(t, p)); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(p.nodes)
	if err != nil || string(before) != string(after) {
		t.Errorf("the nodes were changed, %v", err)
	}
}
