package kube

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// worker is a node for the tests of changes.
func worker(change func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", UID: "uid-1", ResourceVersion: "7"}}
	if change != nil {
		change(&n)
	}
	return n
}

func cordonedBy(order string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		if order != "" {
			n.Annotations = map[string]string{roll.AnnotationCordoned: order}
		}
	}
}

// managedBy adds the field manager of a cordon.
func managedBy(manager string, cordon func(*corev1.Node)) func(*corev1.Node) {
	return func(n *corev1.Node) {
		cordon(n)
		n.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &metav1.Time{Time: at},
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`),
		}}
	}
}

func TestCordonAndUncordon(t *testing.T) {
	cordon := func(c *Client, t *testing.T) error { return c.Cordon(t.Context(), "worker", "uid-1", "order-1") }
	uncordon := func(c *Client, t *testing.T) error { return c.Uncordon(t.Context(), "worker", "uid-1", "order-1") }
	tests := map[string]struct {
		node    corev1.Node
		do      func(*Client, *testing.T) error
		patches []string
		after   roll.Node
		err     error
	}{
		"a node is cordoned and says by which order": {
			worker(nil), cordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":"order-1"},"resourceVersion":"7","uid":"uid-1"},"spec":{"unschedulable":true}}`},
			roll.Node{Unschedulable: true, CordonedBy: "order-1"}, nil,
		},
		"a cordon of somebody else stays theirs": {worker(cordonedBy("")), cordon, nil, roll.Node{Unschedulable: true}, nil},
		"an own cordon stays as it is":           {worker(cordonedBy("order-0")), cordon, nil, roll.Node{Unschedulable: true, CordonedBy: "order-0"}, nil},
		"a note without a cordon, which somebody lifted by hand, is no cordon": {
			worker(func(n *corev1.Node) { cordonedBy("order-0")(n); n.Spec.Unschedulable = false }), cordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":"order-1"},"resourceVersion":"7","uid":"uid-1"},"spec":{"unschedulable":true}}`},
			roll.Node{Unschedulable: true, CordonedBy: "order-1"}, nil,
		},
		"an own cordon is lifted": {
			worker(cordonedBy("order-1")), uncordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":null},"resourceVersion":"7","uid":"uid-1"},"spec":{"unschedulable":null}}`},
			roll.Node{}, nil,
		},
		"a note whose cordon somebody lifted is taken off": {
			worker(func(n *corev1.Node) { cordonedBy("order-1")(n); n.Spec.Unschedulable = false }), uncordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":null},"resourceVersion":"7","uid":"uid-1"}}`},
			roll.Node{}, nil,
		},
		"an own cordon that the API server shows as such is lifted": {
			worker(managedBy("rollcall-remediate", cordonedBy("order-1"))), uncordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":null},"resourceVersion":"7","uid":"uid-1"},"spec":{"unschedulable":null}}`},
			roll.Node{}, nil,
		},
		"a cordon that somebody else made since stays, and the note is taken off": {
			worker(managedBy("kubectl", cordonedBy("order-1"))), uncordon,
			[]string{`{"metadata":{"annotations":{"rollcall/cordoned":null},"resourceVersion":"7","uid":"uid-1"}}`},
			roll.Node{Unschedulable: true}, nil,
		},
		"a cordon by another order is not lifted": {worker(cordonedBy("order-2")), uncordon, nil, roll.Node{Unschedulable: true, CordonedBy: "order-2"}, ErrChanged},
		"nor is it without an order": {
			worker(cordonedBy("")), func(c *Client, t *testing.T) error { return c.Uncordon(t.Context(), "worker", "uid-1", "") }, nil,
			roll.Node{Unschedulable: true}, ErrChanged,
		},
		"a cordon of somebody else is not lifted": {worker(cordonedBy("")), uncordon, nil, roll.Node{Unschedulable: true}, ErrChanged},
		"a later node of the name is left alone": {
			worker(func(n *corev1.Node) { cordonedBy("order-1")(n); n.UID = "uid-2" }), uncordon, nil,
			roll.Node{Unschedulable: true, CordonedBy: "order-1"}, ErrChanged,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, tt.node)
			if err := tt.do(s.client(t), t); !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			expect.Same(t, s.patches, tt.patches, "patches")
			got, _, err := list(t, s.client(t))
			must.Succeed(t, err)
			expect.That(t, got[0].Unschedulable == tt.after.Unschedulable && got[0].CordonedBy == tt.after.CordonedBy, "after it %+v", got[0])
		})
	}
}

func TestANodeIsTaintedAsOutOfService(t *testing.T) {
	const taint = `{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}`
	own := []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}, {Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoSchedule}}
	for name, tt := range map[string]struct {
		node    corev1.Node
		patches []string
		err     error
	}{
		"a node": {worker(func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}), []string{`{"metadata":{"resourceVersion":"7","uid":"uid-1"},"spec":{"taints":[` + taint + `]}}`}, nil},
		"one with taints": {worker(func(n *corev1.Node) { n.Spec.Taints = own }),
			[]string{`{"metadata":{"resourceVersion":"7","uid":"uid-1"},"spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"},{"key":"node.kubernetes.io/out-of-service","effect":"NoSchedule"},` + taint + `]}}`}, nil},
		"one that a person tainted": {worker(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
		}), nil, nil},
		"a Ready one": {worker(func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}), nil, ErrChanged},
		"a later one of the name": {worker(func(n *corev1.Node) { n.UID = "uid-2" }), nil, ErrChanged},
	} {
		s := newAPIServer(t, tt.node)
		if err := s.client(t).OutOfService(t.Context(), "worker", "uid-1"); !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%s: error %v, want %v", name, err, tt.err)
		}
		expect.Same(t, s.patches, tt.patches, "%s: patches", name)
	}
}

// A kubelet reports every few seconds, which creates a new version of its node.
func TestAChangeIsMadeAnewWhenTheNodeChangedMeanwhile(t *testing.T) {
	s := newAPIServer(t, worker(nil))
	s.before[2] = func() { s.nodes[0].ResourceVersion = "8" }
	err := s.client(t).Cordon(t.Context(), "worker", "uid-1", "order-1")
	expect.That(t, err == nil && s.nodes[0].Spec.Unschedulable, "%v, %+v", err, s.nodes[0])
	expect.That(t, len(s.patches) == 2 && strings.Contains(s.patches[1], `"resourceVersion":"8"`), "patches %q", s.patches)
}

func TestANodeThatKeepsChangingIsGivenUp(t *testing.T) {
	s := newAPIServer(t, worker(nil))
	for i := 2; i <= 2*changeTries; i += 2 {
		s.before[i] = func() { s.nodes[0].ResourceVersion += "1" }
	}
	err := s.client(t).Cordon(t.Context(), "worker", "uid-1", "order-1")
	expect.That(t, errors.Is(err, ErrChanged) && len(s.patches) == changeTries && !s.nodes[0].Spec.Unschedulable, "%v after %d patches", err, len(s.patches))
}

// Between the read and the write, a node may be deleted and created again, or cordoned by a person.
func TestAChangeMeetsOnlyTheNodeThatWasRead(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(*apiServer)
		err       error
	}{
		"made anew":            {func(s *apiServer) { s.nodes[0].UID, s.nodes[0].ResourceVersion = "uid-2", "9" }, ErrChanged},
		"of the same version":  {func(s *apiServer) { s.nodes[0].UID = "uid-2" }, ErrChanged},
		"gone":                 {func(s *apiServer) { s.nodes = nil }, ErrGone},
		"cordoned by a person": {func(s *apiServer) { s.nodes[0].Spec.Unschedulable, s.nodes[0].ResourceVersion = true, "8" }, nil},
	}
	for name, tt := range tests {
		s := newAPIServer(t, worker(nil))
		s.before[2] = func() { tt.meanwhile(s) }
		err := s.client(t).Cordon(t.Context(), "worker", "uid-1", "order-1")
		if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		}
		if len(s.nodes) > 0 && s.nodes[0].Annotations != nil {
			t.Errorf("%s: changed %+v", name, s.nodes[0].ObjectMeta)
		}
	}
	for field, want := range map[string]bool{"metadata.uid": true, "spec.taints": false} {
		invalid := refusalOf(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "invalid", metav1.StatusCause{Field: field})
		err := met(&apierrors.StatusError{ErrStatus: *invalid})
		expect.That(t, errors.Is(err, ErrChanged) == want, "an invalid %s: %v", field, err)
	}
}

func TestDeletions(t *testing.T) {
	for _, what := range []string{"node", "NodeClaim"} {
		remove := func(c *Client, name, uid string) error {
			if what == "node" {
				return c.DeleteNode(t.Context(), name, uid)
			}
			return c.DeleteNodeClaim(t.Context(), name, uid)
		}
		arrange := func() *apiServer {
			s := newAPIServer(t, worker(nil))
			s.groups = []string{"karpenter.sh"}
			s.claims = []claim{{Metadata: metav1.ObjectMeta{Name: "worker", UID: "uid-1"}}}
			return s
		}
		left := func(s *apiServer) bool {
			if what == "node" {
				return len(s.nodes) == 1
			}
			return s.claims[0].Metadata.DeletionTimestamp == nil
		}
		s := arrange()
		if err := remove(s.client(t), "worker", "uid-1"); err != nil || left(s) {
			t.Errorf("%s: %v", what, err)
		}
		s = arrange()
		if err := remove(s.client(t), "worker", "uid-0"); !errors.Is(err, ErrChanged) || !left(s) || !Refused(err) {
			t.Errorf("another %s of the name: %v", what, err)
		}
		if err := remove(s.client(t), "other", "uid-1"); !errors.Is(err, ErrGone) || !Refused(err) || !strings.HasPrefix(err.Error(), "delete "+what+" other: ") {
			t.Errorf("no such %s: %v", what, err)
		}
		s = arrange()
		s.answer[1] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "0")
			s.refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down")(w, r)
		}
		err := remove(s.client(t), "worker", "uid-1")
		expect.That(t, err != nil && len(s.requests) == 1 && left(s), "a %s after %d requests: %v", what, len(s.requests), err)
	}
}

// The API server treats an empty uid as no condition.
func TestNothingIsChangedWithoutANameAndAUID(t *testing.T) {
	s := newAPIServer(t, worker(func(n *corev1.Node) { cordonedBy("order-1")(n) }))
	c := s.client(t)
	for name, err := range map[string]error{
		"cordon":             c.Cordon(t.Context(), "worker", "", "order-1"),
		"uncordon":           c.Uncordon(t.Context(), "worker", "", "order-1"),
		"uncordon no name":   c.Uncordon(t.Context(), "", "uid-1", "order-1"),
		"delete":             c.DeleteNode(t.Context(), "worker", ""),
		"delete no name":     c.DeleteNode(t.Context(), "", "uid-1"),
		"NodeClaim":          c.DeleteNodeClaim(t.Context(), "worker", ""),
		"NodeClaim, no name": c.DeleteNodeClaim(t.Context(), "", "uid-1"),
	} {
		expect.That(t, err != nil && Refused(err), "%s: %v", name, err)
	}
	expect.That(t, len(s.requests) == 0, "%d requests", len(s.requests))
}

// A webhook chooses the code of its answer: 404 does not mean that the object is gone, 429 not that the API server
// has too much to do, and 500 not that the change may have been made.
func TestADenialByAdmissionIsARefusalWhateverItsCode(t *testing.T) {
	const text = `admission webhook "nodes.example" denied the request: not today`
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		s := newAPIServer(t, worker(nil))
		s.answer[1] = s.refuse(code, "", text)
		err := s.client(t).DeleteNode(t.Context(), "worker", "uid-1")
		kind, told := Fault(s.cluster(), err, "")
		expect.That(t, Refused(err) && !errors.Is(err, ErrGone) && !errors.Is(err, ErrChanged), "%d: %v", code, err)
		expect.That(t, kind == roll.GapFailed && told == "the deletion of node worker of demo failed: "+text, "%d: %s: %s", code, kind, told)
	}
}

// A change that may have taken effect must not count as refused: it would be made twice, or assumed
// not to have been made.
func TestRefusedIsOnlyWhatCertainlyDidNotHappen(t *testing.T) {
	answers := map[int]bool{
		http.StatusBadRequest: true, http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusNotFound: true, http.StatusConflict: true, http.StatusTooManyRequests: true, http.StatusUnprocessableEntity: true,
		http.StatusRequestTimeout: false, 499: false, http.StatusInternalServerError: false, http.StatusBadGateway: false, http.StatusServiceUnavailable: false, http.StatusGatewayTimeout: false,
	}
	for code, want := range answers {
		s := newAPIServer(t, worker(nil))
		s.answer[1] = s.refuse(code, "", "no")
		if err := s.client(t).DeleteNode(t.Context(), "worker", "uid-1"); err == nil || Refused(err) != want {
			t.Errorf("%d: Refused is %v of %v", code, Refused(err), err)
		}
	}
	s := newAPIServer(t, worker(nil))
	c := s.client(t)
	s.answer[1] = hang
	ctx, cancel := contextFor(t, 50*time.Millisecond)
	defer cancel()
	if err := c.DeleteNode(ctx, "worker", "uid-1"); err == nil || Refused(err) {
		t.Errorf("no answer: %v", err)
	}
	s.Close()
	if err := c.DeleteNode(t.Context(), "worker", "uid-1"); err == nil || !Refused(err) {
		t.Errorf("nobody to be asked: %v", err)
	}
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Err: errors.New("x")}: true, &net.OpError{Op: "read", Err: errors.New("x")}: false,
		ErrChanged: true, ErrGone: true, ErrToken: true, ErrNoEndpoint: true, nil: false,
	} {
		expect.Equal(t, Refused(err), want, "refused by %v", err)
	}
}

// A person who reads that an act failed must know what to grant, and to whom.
func TestFaultOfAChangeNamesItsPermission(t *testing.T) {
	forbidden := func(verb, resource string) string {
		return `User "x" cannot ` + verb + ` resource "` + resource + `" in API group "" at the cluster scope`
	}
	tests := map[string]struct {
		answer string
		do     func(*Client) error
		want   string
	}{
		"cordon":           {forbidden("get", "nodes"), func(c *Client) error { return c.Cordon(t.Context(), "worker", "uid-1", "o") }, "patch nodes"},
		"delete":           {forbidden("delete", "nodes"), func(c *Client) error { return c.DeleteNode(t.Context(), "worker", "uid-1") }, "delete nodes"},
		"delete NodeClaim": {forbidden("delete", "nodeclaims"), func(c *Client) error { return c.DeleteNodeClaim(t.Context(), "worker", "uid-1") }, "delete nodeclaims.karpenter.sh"},
		"drain": {forbidden("list", "pods"), func(c *Client) error {
			_, err := c.Drain(t.Context(), "worker", Pass{Evictions: 1, Now: at})
			return err
		}, "list pods"},
	}
	for name, tt := range tests {
		s := newAPIServer(t, worker(nil))
		s.answer[1] = s.refuse(http.StatusForbidden, metav1.StatusReasonForbidden, tt.answer)
		kind, text := Fault(s.cluster(), tt.do(s.client(t)), principal)
		want := "the Kubernetes API of demo knows " + principal + " but does not let it " + tt.want + ": apply infra/rbac.yaml and give it the group rollcall:remediators (" + tt.answer + ")"
		expect.That(t, kind == roll.GapDenied && text == want, "%s: %s\ngot  %s\nwant %s", name, kind, text, want)
	}
}

func TestFaultOfAChangeThatWasNotDone(t *testing.T) {
	s := newAPIServer(t, worker(func(n *corev1.Node) { n.UID = types.UID("uid-2") }))
	kind, text := Fault(s.cluster(), s.client(t).Cordon(t.Context(), "worker", "uid-1", "o"), "")
	if want := "the cordoning of node worker of demo was not done: the object is not the one that was meant: it has the uid uid-2, not uid-1"; kind != roll.GapFailed || text != want {
		t.Errorf("%s: %s", kind, text)
	}
	// A policy engine forbids too, and no role would help.
	s.answer[2] = s.refuse(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "nodes.example" denied the request: leave it`)
	kind, text = Fault(s.cluster(), s.client(t).DeleteNode(t.Context(), "worker", "uid-2"), "")
	want := `the deletion of node worker of demo failed: admission webhook "nodes.example" denied the request: leave it`
	expect.That(t, kind == roll.GapFailed && text == want, "%s: %s", kind, text)
}
