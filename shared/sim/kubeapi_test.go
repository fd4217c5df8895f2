package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/kube"
	"rollcall/shared/kube/awsauth"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/kubetest"
	"rollcall/tests/harness/must"
)

var (
	withKarpenter = GroupSpec{Name: "default", Owner: "karpenter", Type: "m5.xlarge"}
	withNodeGroup = GroupSpec{Name: "core", Owner: "managed-nodegroup", Type: "m6g.large"}
)

// reached returns the cluster as EKS describes it to a client.
func (c *cluster) reached() roll.Cluster {
	return roll.Cluster{ID: roll.ClusterID{Account: accountID, Region: region, Name: c.name}, Endpoint: c.endpoint()}
}

// reaching runs a body within an invocation of remediate, with a client of the cluster.
func reaching(t *testing.T, c *cluster, body func(k *kube.Client, v *env)) {
	t.Helper()
	inside(t, c.a, remediator, func(v *env) {
		k, err := kubeDialer{v}.Dial(c.reached())
		must.Succeed(t, err)
		body(k, v)
	})
}

// spell injects a fault of calls into the account from now on.
func (a *account) spell(what FaultKind, share float64) {
	a.weather.spells = append(a.weather.spells, spell{from: a.Now(), to: a.Now().Add(24 * time.Hour), what: what, share: share})
}

func nodesOf(k *kube.Client) (nodes []roll.Node, restarts int, err error) {
	err = k.Nodes(context.Background(), roll.Watch{}, func(n roll.Node) { nodes = append(nodes, n) }, func() { nodes, restarts = nil, restarts+1 })
	return nodes, restarts, err
}

// read performs a read and decodes the answer: one object, or a list.
func read[T any](t *testing.T, k *kube.Client, q kube.Question) (out T) {
	t.Helper()
	objects, err := k.Read(context.Background(), q)
	must.Succeed(t, err)
	items := []json.RawMessage{}
	for _, o := range objects {
		items = append(items, o.JSON())
	}
	data, err := json.Marshal(map[string]any{"items": items})
	must.Succeed(t, err)
	if q.ByName() {
		data = items[0]
	}
	must.Succeed(t, json.Unmarshal(data, &out))
	return out
}

// listOf is a list as kubectl prints it.
type listOf[T any] struct{ Items []T }

func TestNodesOfASimulatedClusterAreListed(t *testing.T) {
	c := handmade(t, withKarpenter, withNodeGroup)
	m := up(c.group("default"), "a")
	other := up(c.group("core"), "b")
	other.node.turn(corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	other.node.taint(corev1.Taint{Key: "ebs.csi.aws.com/agent-not-ready", Effect: corev1.TaintEffectNoExecute})
	other.node.deleting = other.c.stamp()
	reaching(t, c, func(k *kube.Client, v *env) {
		nodes, restarts, err := nodesOf(k)
		must.That(t, err == nil && restarts == 0 && len(nodes) == 2, "%d nodes, %d restarts, %v", len(nodes), restarts, err)
		a, b := nodes[0], nodes[1]
		expect.That(t, a.Name == "a" && string(a.Instance) == m.id && a.Group == "nodepool/default" && a.Zone == zones[0] && a.Initialized && a.Ready.Status == roll.ConditionTrue && a.UID == m.node.uid && a.DeletedAt.IsZero(), "%+v", a)
		expect.That(t, b.Ready.Status == roll.ConditionUnknown && b.Group == "nodegroup/core" && b.StartupTaint == "ebs.csi.aws.com/agent-not-ready:NoExecute" && !b.DeletedAt.IsZero() && b.Created.Equal(other.node.created), "%+v", b)
		expect.That(t, v.inv.calls == 1 && v.inv.seen.nodes.whole() && len(v.inv.seen.nodesOf(m.id)) == 1, "%d calls, seen %+v", v.inv.calls, v.inv.seen.nodes)
	})
}

func TestAListingOfNodesIsAsItWasWhenItBegan(t *testing.T) {
	c := handmade(t, withNodeGroup)
	for i := range 1201 {
		up(c.group("core"), fmt.Sprintf("n%04d", i))
	}
	for i := range 20 { // at each of the times at which a page may be in transit
		c.a.in(time.Duration(i)*10*time.Millisecond, func() {
			c.removeNode(c.nodes[0])
			c.nodes[len(c.nodes)-1].turn(corev1.ConditionFalse, fmt.Sprint(i), "")
		})
	}
	reaching(t, c, func(k *kube.Client, v *env) {
		names := map[string]bool{}
		reasons := map[string]bool{}
		nodes, restarts, err := nodesOf(k)
		for _, n := range nodes {
			names[n.Name], reasons[n.Ready.Reason] = true, true
		}
		must.That(t, err == nil && restarts == 0 && v.inv.calls == 3 && len(names) == len(nodes), "%d nodes by %d names, %d restarts, %d calls, %v", len(nodes), len(names), restarts, v.inv.calls, err)
		expect.That(t, len(nodes) != len(c.nodes) && len(reasons) <= 2, "%d nodes of one moment? reasons %v", len(nodes), reasons)
		expect.That(t, v.inv.seen.nodes.whole() && len(v.inv.seen.nodes.all) == len(nodes), "seen %d nodes", len(v.inv.seen.nodes.all))
	})
}

// The list that the API server returns is shared and never changes. It is built again only when
// something changed.
func TestListedNodesAreSharedAndNeverChanged(t *testing.T) {
	c := handmade(t, withNodeGroup)
	n := up(c.group("core"), "a").node
	first := c.listNodes()
	again := c.listNodes()
	expect.That(t, again[0] == first[0], "made anew without a change")
	n.initialized = true
	n.annotations["x"] = "y"
	n.turn(corev1.ConditionFalse, "KubeletNotReady", "")
	n.conditions[0].Reason = "other"
	second := c.listNodes()
	expect.That(t, len(first[0].Labels) != len(second[0].Labels) && len(first[0].Annotations) == 0 && first[0].Status.Conditions[0].Reason != "other" && first[0].Status.Conditions[1].Status == corev1.ConditionTrue, "%+v", first[0])
	expect.That(t, second[0].ResourceVersion != first[0].ResourceVersion && second[0].Status.Conditions[1].Status == corev1.ConditionFalse, "%+v", second[0])
}

func TestAListingMayBeForgottenWhileTheAPIServerFails(t *testing.T) {
	c := handmade(t, withNodeGroup)
	for i := range 1201 {
		up(c.group("core"), fmt.Sprintf("n%04d", i))
	}
	c.a.spell(FaultAPIErrors, 0) // nothing else fails
	again, twice, fine := 0, 0, 0
	for range 200 {
		reaching(t, c, func(k *kube.Client, _ *env) {
			nodes, restarts, err := nodesOf(k)
			switch {
			case apierrors.IsResourceExpired(err) && restarts == 1:
				twice++
			case err != nil || len(nodes) != 1201:
				t.Fatalf("%d nodes, %v", len(nodes), err)
			case restarts == 1:
				again++
			default:
				fine++
			}
		})
	}
	expect.That(t, again != 0 && twice != 0 && fine >= again && again >= twice, "%d fine, %d begun once more, %d given up", fine, again, twice)
}

func TestAClusterThatIsGoneHasNoAPI(t *testing.T) {
	c := handmade(t, withKarpenter)
	up(c.group("default"), "a")
	to := c.reached()
	c.deleted = c.a.Now()
	check := func(what string, err error) {
		kind, text := kube.Fault(to, err, "")
		expect.That(t, kind == roll.GapClusterUnreachable && strings.Contains(text, "no such host") && kube.Refused(err), "%s: %s: %s", what, kind, text)
	}
	reaching(t, c, func(k *kube.Client, v *env) {
		_, _, err := nodesOf(k)
		check("nodes", err)
		check("delete", k.DeleteNode(t.Context(), "a", "u"))
		_, err = k.Read(t.Context(), kube.ANode("a"))
		check("read", err)
		unknown, err := kubeDialer{v}.Dial(roll.Cluster{ID: roll.ClusterID{Name: "nobodys"}, Endpoint: "https://nobodys"})
		must.Succeed(t, err)
		_, _, err = nodesOf(unknown)
		check("nobody's", err)
		if _, err := (kubeDialer{v}).Dial(roll.Cluster{}); !errors.Is(err, kube.ErrNoEndpoint) {
			t.Errorf("without an endpoint: %v", err)
		}
		expect.That(t, v.inv.calls == 4, "%d calls", v.inv.calls)
	})
}

// A call fails as it would with the real API server and client.
func TestFaultsOfAnAPIServer(t *testing.T) {
	c := handmade(t, withNodeGroup)
	q := &kubeQuery{verb: "list", resource: "nodes"}
	fault := func(what string, i int) (roll.GapKind, string, bool) {
		q.d = c.d.nth(i)
		err := q.told(errOf(what, "kubernetes:list nodes"))
		if what == faultHang {
			err = q.told(errTimeout("kubernetes:list nodes"))
		}
		k, dialErr := kube.NewClientOverPages(nil, func(context.Context, int64, string) ([]*kube.NodeObject, string, error) { return nil, "", err }, nil)
		must.Succeed(t, dialErr)
		_, _, err = nodesOf(k)
		kind, text := kube.Fault(c.reached(), err, "")
		return kind, text, kube.Refused(err)
	}
	for _, tt := range []struct {
		what    string
		kind    roll.GapKind
		refused bool
		texts   []string
	}{
		{faultThrottle, roll.GapThrottled, true, []string{"turned the listing"}},
		{faultDenied, roll.GapDenied, true, []string{`cannot list resource "nodes"`}},
		{faultHang, roll.GapClusterUnreachable, false, []string{"did not answer in time"}},
		{faultServer, roll.GapClusterUnreachable, false, []string{"etcdserver", "currently unable"}},
	} {
		said := ""
		for i := range 20 {
			kind, text, refused := fault(tt.what, i)
			expect.That(t, kind == tt.kind && refused == tt.refused, "%s: %s: %s, refused %v", tt.what, kind, text, refused)
			said += text + "\n"
		}
		for _, part := range tt.texts {
			expect.That(t, strings.Contains(said, part), "%s: nothing says %q:\n%s", tt.what, part, said)
		}
	}
}

func TestASlowAPIServerTakesItsTime(t *testing.T) {
	c := handmade(t, withNodeGroup)
	up(c.group("core"), "a")
	c.a.spell(FaultAPIDown, 1)
	reaching(t, c, func(k *kube.Client, v *env) {
		before := c.a.Now()
		_, _, err := nodesOf(k)
		expect.That(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
		took := c.a.Now().Sub(before)
		expect.That(t, took >= hangs, "after %s", took)
		expect.That(t, !v.inv.seen.nodes.whole(), "the listing counts as whole")
	})
}

func TestALostAnswerTakesEffect(t *testing.T) {
	c := handmade(t, withNodeGroup)
	n := up(c.group("core"), "a").node
	c.a.spell(FaultLostAnswers, 1)
	reaching(t, c, func(k *kube.Client, _ *env) {
		err := k.Cordon(t.Context(), "a", n.uid, "order-1")
		expect.That(t, errors.Is(err, context.DeadlineExceeded) && !kube.Refused(err), "got %v", err)
		expect.That(t, n.cordoned && n.annotations[roll.AnnotationCordoned] == "order-1", "it is not cordoned: %v", n.annotations)
	})
}

func TestANodeIsCordonedAndUncordoned(t *testing.T) {
	c := handmade(t, withNodeGroup)
	n := up(c.group("core"), "a").node
	reaching(t, c, func(k *kube.Client, v *env) {
		was := n.version
		must.Succeed(t, k.Cordon(t.Context(), "a", n.uid, "order-1"))
		nodes, _, err := nodesOf(k)
		expect.That(t, err == nil && nodes[0].Unschedulable && nodes[0].CordonedBy == "order-1" && n.version != was, "%+v, %v", nodes, err)
		object := read[corev1.Node](t, k, kube.ANode("a"))
		expect.That(t, len(object.Spec.Taints) == 1 && object.Spec.Taints[0].Key == corev1.TaintNodeUnschedulable, "taints %v", object.Spec.Taints)
		if err := k.Uncordon(t.Context(), "a", n.uid, "order-2"); !errors.Is(err, kube.ErrChanged) || !n.cordoned {
			t.Errorf("by another order: %v", err)
		}
		if err := k.Uncordon(t.Context(), "a", n.uid, "order-1"); err != nil || n.cordoned || len(n.annotations) != 0 {
			t.Errorf("%v, %v", n.annotations, err)
		}
		if err := k.Cordon(t.Context(), "a", "other", "order-1"); !errors.Is(err, kube.ErrChanged) || n.cordoned {
			t.Errorf("another uid: %v", err)
		}
		if err := k.Cordon(t.Context(), "b", "u", "order-1"); !errors.Is(err, kube.ErrGone) {
			t.Errorf("no such node: %v", err)
		}
	})
}

// A node that changes, or is replaced by another, between the read and the change.
func TestAPatchMeetsOnlyWhatItWasMadeFor(t *testing.T) {
	c := handmade(t, withNodeGroup)
	n := up(c.group("core"), "a").node
	inside(t, c.a, remediator, func(v *env) {
		patch := func(uid string, version int) error {
			q := &kubeQuery{api: &kubeAPI{v: v, name: c.name}, verb: "patch", version: "v1", resource: "nodes", name: "a"}
			q.body = fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":"%d"},"spec":{"unschedulable":true}}`, uid, version)
			return q.send(t.Context(), func() error { _, err := q.serve(); return err })
		}
		if err := patch(n.uid, n.version-1); !apierrors.IsConflict(err) {
			t.Errorf("an old version: %v", err)
		}
		if err := patch("other", n.version); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.uid") {
			t.Errorf("another uid: %v", err)
		}
		expect.That(t, !n.cordoned, "it was changed")
		err := patch(n.uid, n.version)
		expect.That(t, err == nil && n.cordoned, "got %v", err)
	})
	// Something else keeps changing it: the client gives up in the end, with a conflict, or succeeds.
	n.cordoned = false
	for i := range 400 {
		c.a.in(time.Duration(i)*5*time.Millisecond, func() { n.version = c.changed() })
	}
	reaching(t, c, func(k *kube.Client, _ *env) {
		err := k.Cordon(t.Context(), "a", n.uid, "order-1")
		expect.That(t, errors.Is(err, kube.ErrChanged) && kube.Refused(err), "got %v", err)
	})
}

// tests/testbed holds a real API server to the same contract.
func TestChangesAreAnsweredAsByARealAPIServer(t *testing.T) {
	c := handmade(t, withKarpenter)
	m := up(c.group("default"), "a")
	n := m.node
	inside(t, c.a, remediator, func(v *env) {
		n.pods = []*pod{
			{namespace: "shop", name: "web", uid: uid(c.d.of("web"))}, {namespace: "shop", name: "db", uid: uid(c.d.of("db")), guarded: true},
			{namespace: "shop", name: "old", uid: uid(c.d.of("old")), guarded: true, leaving: c.stamp()},
		}
		object := func(i int) kubetest.Object {
			return kubetest.Object{Namespace: "shop", Name: n.pods[i].name, UID: n.pods[i].uid}
		}
		kubetest.Contract(t, kubetest.Server{
			URL: "https://demo.example", Transport: &kubeAPI{v: v, name: c.name},
			Node: kubetest.Object{Name: n.name, UID: n.uid}, Claim: kubetest.Object{Name: m.claim.name, UID: m.claim.uid},
			Pod: object(0), Guarded: object(1), Leaving: object(2),
		})
	})
}

func TestNodesLookAsInARealCluster(t *testing.T) {
	c := handmade(t, withNodeGroup)
	for state, want := range kubetest.Looks {
		m := up(c.group("core"), string(state))
		if m.report(); state == kubetest.Registered {
			c.removeNode(m.node)
			m.join()
		}
		n := m.node
		n.set("KernelReady", corev1.ConditionTrue, "KernelIsReady", "")
		switch state {
		case kubetest.NotReady:
			m.fall(notReady, false, false)
		case kubetest.Pressed:
			n.pressures(true)
		case kubetest.Cordoned:
			n.cordoned = true
		case kubetest.Silent:
			m.hush()
			c.a.pass(graceful + 10*time.Second)
		}
		o := n.object()
		expect.Same(t, kubetest.LookOf(&o), want, "%s", state)
	}
}

func TestNodesAndClaimsAreDeletedByUID(t *testing.T) {
	c := handmade(t, withKarpenter)
	m := up(c.group("default"), "a")
	n, cl := m.node, m.claim
	reaching(t, c, func(k *kube.Client, _ *env) {
		if err := k.DeleteNodeClaim(t.Context(), cl.name, "other"); !errors.Is(err, kube.ErrChanged) || !cl.deleting.IsZero() {
			t.Errorf("another uid: %v", err)
		}
		if err := k.DeleteNodeClaim(t.Context(), cl.name, cl.uid); err != nil || cl.deleting.IsZero() {
			t.Errorf("got %v", err)
		}
		if err := k.DeleteNodeClaim(t.Context(), "b", "u"); !errors.Is(err, kube.ErrGone) {
			t.Errorf("no such claim: %v", err)
		}
		if err := k.DeleteNode(t.Context(), "a", "other"); !errors.Is(err, kube.ErrChanged) || c.byNode["a"] != n {
			t.Errorf("another uid: %v", err)
		}
		if err := k.DeleteNode(t.Context(), "a", n.uid); err != nil || c.byNode["a"] != nil || len(c.nodes) != 0 || m.node != nil {
			t.Errorf("got %v", err)
		}
		err := k.DeleteNode(t.Context(), "a", n.uid)
		expect.That(t, errors.Is(err, kube.ErrGone) && kube.Refused(err), "once more: %v", err)
	})
}

// load puts pods on the node: one of a DaemonSet, two that may be evicted, and one that its budget
// keeps.
func load(n *node) {
	n.pods = append(n.pods,
		&pod{namespace: "kube-system", name: "aws-node-x1", uid: "d", daemon: true},
		&pod{namespace: "shop", name: "web-1", uid: "1"}, &pod{namespace: "shop", name: "web-2", uid: "2"},
		&pod{namespace: "shop", name: "db-0", uid: "3", guarded: true})
}

func TestANodeIsDrained(t *testing.T) {
	c := handmade(t, withNodeGroup)
	m := up(c.group("core"), "a")
	load(m.node)
	reaching(t, c, func(k *kube.Client, v *env) {
		drain := func() kube.Drained {
			d, err := k.Drain(t.Context(), "a", kube.Pass{Evictions: 50, Now: v.now()})
			must.Succeed(t, err)
			return d
		}
		if d := drain(); len(d.Evicted) != 2 || len(d.Blocked) != 1 || !strings.Contains(d.Blocked[0], "disruption budget db") {
			t.Errorf("at first %+v", d)
		}
		if d := drain(); len(d.Leaving) != 2 || len(d.Evicted) != 0 {
			t.Errorf("right after %+v", d)
		}
		v.inv.wait(stopsSlowest)
		if d := drain(); len(d.Leaving) != 0 || len(d.Evicted) != 0 || len(d.Blocked) != 1 || len(m.node.pods) != 2 {
			t.Errorf("a minute later %+v", d)
		}
		m.node.pods[1].guarded = false
		drain()
		v.inv.wait(stopsSlowest)
		d := drain()
		expect.That(t, d.Done(), "in the end %+v", d)
		expect.That(t, len(m.node.pods) == 1 && m.node.pods[0].daemon, "%d pods", len(m.node.pods))
	})
}

func TestPodsOfASilentNodeStayLeaving(t *testing.T) {
	c := handmade(t, withNodeGroup)
	m := up(c.group("core"), "a")
	load(m.node)
	m.reporting = false
	reaching(t, c, func(k *kube.Client, v *env) {
		if _, err := k.Drain(t.Context(), "a", kube.Pass{Evictions: 50, Now: v.now()}); err != nil {
			t.Fatal(err)
		}
		v.inv.wait(10 * time.Minute)
		if d, err := k.Drain(t.Context(), "a", kube.Pass{Evictions: 50, Now: v.now()}); err != nil || len(d.Stuck) != 2 {
			t.Errorf("%+v, %v", d, err)
		}
		m.reporting = true
		v.inv.wait(3 * stopsSlowest)
		d, err := k.Drain(t.Context(), "a", kube.Pass{Evictions: 50, Now: v.now()})
		expect.That(t, err == nil && len(d.Stuck) == 0, "once it is heard of again: %+v, %v", d, err)
	})
}

func TestANodeIsReadWithWhatIsAboutIt(t *testing.T) {
	c := handmade(t, withNodeGroup)
	c.skew = 2 * time.Second
	m := up(c.group("core"), "a")
	load(m.node)
	m.node.happened("Normal", "Starting", "Starting kubelet.")
	m.node.events[0].at = m.node.events[0].at.Add(-2 * time.Hour) // longer than events are kept
	m.node.happened("Warning", "NodeNotReady", "Node a status is now: NodeNotReady")
	type lease struct {
		Spec struct {
			RenewTime            time.Time
			LeaseDurationSeconds int
		}
	}
	reaching(t, c, func(k *kube.Client, v *env) {
		n := read[corev1.Node](t, k, kube.ANode("a"))
		expect.That(t, n.Kind == "Node" && string(n.UID) == m.node.uid && n.Status.NodeInfo.Architecture == "arm64" && strings.HasSuffix(n.Status.NodeInfo.KernelVersion, "aarch64") && n.Spec.ProviderID == m.providerID(), "%+v", n)
		ready := n.Status.Conditions[1]
		if age := c.stamp().Sub(ready.LastHeartbeatTime.Time); age < 0 || age > statusEvery+time.Second {
			t.Errorf("reported %s ago", age)
		}
		var last time.Time
		for range 30 {
			v.inv.wait(time.Second)
			l := read[lease](t, k, kube.LeaseOf("a"))
			age := c.a.Now().Add(c.skew).Sub(l.Spec.RenewTime)
			must.That(t, l.Spec.LeaseDurationSeconds == 40 && age >= 0 && age <= renewEvery+slowest && !l.Spec.RenewTime.Before(last), "renewed %s ago, before that at %s", age, last)
			last = l.Spec.RenewTime
		}
		m.reporting, m.renewed = false, c.a.Now()
		v.inv.wait(time.Hour / 2)
		l := read[lease](t, k, kube.LeaseOf("a"))
		expect.That(t, l.Spec.RenewTime.Equal(m.renewed.Add(c.skew)), "renewed at %s, and silent since %s", l.Spec.RenewTime, m.renewed)
		events := read[listOf[corev1.Event]](t, k, kube.EventsOfNode("a")).Items
		expect.That(t, len(events) == 1 && events[0].Reason == "NodeNotReady" && events[0].Type == "Warning" && string(events[0].InvolvedObject.UID) == m.node.uid && events[0].Source.Component == "node-controller" && events[0].Count == 1 && !events[0].LastTimestamp.IsZero(), "%+v", events)
		pods := read[listOf[corev1.Pod]](t, k, kube.PodsOf("a")).Items
		expect.That(t, len(pods) == 4 && pods[0].OwnerReferences[0].Kind == "DaemonSet" && pods[0].OwnerReferences[0].Name == "aws-node" && pods[1].Status.ContainerStatuses[0].State.Running != nil, "%+v", pods)
		m.settledAt, m.g.desired = m.node.created, 3
		wait, err := k.PodsWait(t.Context())
		expect.That(t, wait && err == nil && c.waiting() == 2, "%d pods wait; %v, %v", c.waiting(), wait, err)
		m.g.desired = 1
		wait, err = k.PodsWait(t.Context())
		expect.That(t, !wait && err == nil && c.waiting() == 0, "%d pods wait; %v, %v", c.waiting(), wait, err)
		other := read[listOf[corev1.Pod]](t, k, kube.PodsOf("b")).Items
		expect.That(t, len(other) == 0, "%d pods of another node", len(other))
		if events := read[listOf[corev1.Event]](t, k, kube.EventsOfPod("shop", "web-1")).Items; len(events) != 0 {
			t.Errorf("%+v", events)
		}
		_, err = k.Read(t.Context(), kube.LeaseOf("b"))
		expect.That(t, errors.Is(err, kube.ErrGone), "the lease of no node: %v", err)
	})
}

func TestKarpentersObjects(t *testing.T) {
	c := handmade(t, withKarpenter, GroupSpec{Name: "other", Owner: "karpenter", Type: "m5.large"}, withNodeGroup)
	g := c.group("default")
	g.template.taints, g.template.declared = []string{"node.cilium.io/agent-not-ready=true:NoExecute"}, []string{"node.cilium.io/agent-not-ready=true:NoExecute"}
	g.template.userData = "#!/bin/sh"
	done, starts, none := up(g, "done"), up(g, "starts"), up(g, "none")
	up(c.group("other"), "elsewhere")
	starts.claim.initialized = time.Time{}
	starts.node.taint(parseTaint(g.template.taints[0]))
	none.claim.registered, none.claim.initialized = time.Time{}, time.Time{}
	c.removeNode(none.node)
	none.claim.events = noted(nil, occurrence{at: c.stamp(), kind: "Warning", reason: "FailedRegistration", message: "Node not registered within 15m", count: 1})
	reaching(t, c, func(k *kube.Client, _ *env) {
		claims, err := k.NodeClaims(t.Context(), []string{"other", "default"})
		must.That(t, err == nil && len(claims.Of) == 4, "%v, %v", claims, err)
		if cl := claims.Of[roll.InstanceID(done.id)]; cl.Name != done.claim.name || cl.UID != done.claim.uid || cl.Initialized.Status != roll.ConditionTrue || !cl.DeletedAt.IsZero() {
			t.Errorf("%+v", cl)
		}
		cl := claims.Of[roll.InstanceID(none.id)]
		expect.That(t, cl.Name == none.claim.name && cl.Initialized.Status != roll.ConditionTrue, "%+v", cl)
		listed := read[listOf[nodeClaim]](t, k, kube.NodeClaimsOf("default")).Items
		must.That(t, len(listed) == 3 && len(listed[1].Spec.StartupTaints) == 1 && listed[1].Status.NodeName == "starts" && listed[2].Status.NodeName == "", "%+v", listed)
		i := listed[1].Status.Conditions[2]
		expect.That(t, i.Reason == "StartupTaintsExist" && strings.Contains(i.Message, "agent-not-ready=true:NoExecute"), "%+v", i)
		expect.That(t, slices.ContainsFunc(listed[2].Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Registered" && c.Reason == "NodeNotFound" }), "%+v", listed[2])
		pool := read[nodePool](t, k, kube.ANodePool("default")).Spec.Template.Spec
		expect.That(t, len(pool.StartupTaints) == 1 && pool.NodeClassRef.Name == "default" && pool.Requirements[0].Values[0] == "amd64", "%+v", pool)
		class := read[nodeClass](t, k, kube.AnEC2NodeClass("default")).Spec
		expect.That(t, class.AMIFamily == "AL2023" && class.Role == g.role && class.UserData == "#!/bin/sh", "%+v", class)
		g.template.amiOwner = accountID
		if class := read[nodeClass](t, k, kube.AnEC2NodeClass("default")).Spec; class.AMIFamily != "Custom" || class.AMISelectorTerms[0].ID != g.template.ami {
			t.Errorf("%+v", class)
		}
		if _, err := k.Read(t.Context(), kube.ANodePool("core")); !errors.Is(err, kube.ErrGone) {
			t.Errorf("the node pool of a node group: %v", err)
		}
		events := read[listOf[corev1.Event]](t, k, kube.EventsOfNodeClaim(none.claim.name)).Items
		expect.That(t, len(events) == 1 && events[0].InvolvedObject.Kind == "NodeClaim" && events[0].Source.Component == "karpenter", "%+v", events)
	})
}

func TestAClusterWithoutKarpenterServesNoneOfIt(t *testing.T) {
	c := handmade(t, withNodeGroup)
	reaching(t, c, func(k *kube.Client, _ *env) {
		if _, err := k.NodeClaims(t.Context(), []string{"default"}); !errors.Is(err, kube.ErrNoNodeClaims) {
			t.Errorf("got %v", err)
		}
		if _, err := k.Read(t.Context(), kube.ANodePool("default")); !errors.Is(err, kube.ErrNoNodeClaims) {
			t.Errorf("got %v", err)
		}
		_, err := k.Read(t.Context(), kube.AnEC2NodeClass("default"))
		expect.That(t, errors.Is(err, kube.ErrNoEC2NodeClasses), "got %v", err)
	})
}

func TestWhatAClusterIsSetUpWith(t *testing.T) {
	c := handmade(t, withKarpenter)
	c.mapped = []string{"demo-node", "KarpenterController"}
	reaching(t, c, func(k *kube.Client, _ *env) {
		auth := awsauth.Parse(read[corev1.ConfigMap](t, k, kube.AwsAuth()).Data)
		expect.That(t, auth.Unparseable == "" && len(auth.Rejected) == 0 && len(auth.Roles) == 2 && auth.Roles[0].ARN == "arn:aws:iam::"+accountID+":role/demo-node" && slices.Equal(auth.Roles[0].Groups, nodeGroups) && auth.Roles[0].Username == nodeUser, "%+v", auth)
		c.mapped = []string{}
		if auth := awsauth.Parse(read[corev1.ConfigMap](t, k, kube.AwsAuth()).Data); auth.Unparseable != "" || len(auth.Roles) != 0 {
			t.Errorf("%+v", auth)
		}
		sets := read[listOf[appsv1.DaemonSet]](t, k, kube.DaemonSets()).Items
		expect.That(t, len(sets) == 1 && sets[0].Name == "aws-node", "%+v", sets)
		for _, q := range []kube.Question{kube.Webhooks(), kube.EndpointSlicesOf("kube-system", "hooks")} {
			list := read[listOf[any]](t, k, q)
			expect.That(t, len(list.Items) == 0, "%s: %v", q, list)
		}
	})
}

// Lists that come as JSON have pages too.
func TestNodeClaimsComeInPages(t *testing.T) {
	c := handmade(t, withKarpenter)
	for i := range 501 {
		up(c.group("default"), fmt.Sprintf("n%03d", i))
	}
	reaching(t, c, func(k *kube.Client, v *env) {
		claims, err := k.NodeClaims(t.Context(), []string{"default"})
		expect.That(t, err == nil && len(claims.Of) == 501 && v.inv.calls == 2, "%d claims in %d calls, %v", len(claims.Of), v.inv.calls, err)
	})
}

func TestWhatASilentNodeRunsIsRead(t *testing.T) {
	c := handmade(t, withNodeGroup)
	m := up(c.group("core"), "a")
	load(m.node)
	m.node.turn(corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	reaching(t, c, func(k *kube.Client, v *env) {
		budgets, err := k.Budgets(t.Context())
		must.Succeed(t, err)
		volumes, err := k.Volumes(t.Context())
		must.Succeed(t, err)
		got, err := k.SilentNode(t.Context(), "a", v.now(), budgets, volumes)
		want := roll.NodePods{
			Read: roll.Yes, Pods: []roll.Pod{{Name: "shop/web-1"}, {Name: "shop/web-2"}, {Name: "shop/db-0"}},
			BudgetsRead: roll.Yes, Budgets: []roll.Budget{{Name: "shop/db-0", Healthy: 1, Desired: 2, Pods: []string{"shop/db-0"}}}, VolumesRead: roll.Yes,
		}
		expect.That(t, err == nil && reflect.DeepEqual(got, want) && got.Budgets[0].Violated(), "%+v, %v", got, err)
	})
}

func TestANodeOutOfServiceLosesItsPods(t *testing.T) {
	c := handmade(t, withNodeGroup)
	m := up(c.group("core"), "a")
	load(m.node)
	m.node.turn(corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	m.node.cordoned, m.state = true, terminated
	reaching(t, c, func(k *kube.Client, _ *env) {
		must.Succeed(t, k.OutOfService(t.Context(), "a", m.node.uid))
		expect.That(t, len(m.node.pods) == 0 && len(m.node.taints) == 1 && m.node.taints[0].Key == corev1.TaintNodeOutOfService && m.node.cordoned, "%d pods, taints %v, cordoned %v", len(m.node.pods), m.node.taints, m.node.cordoned)
	})
}
