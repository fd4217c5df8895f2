package bundle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/observe"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const node = "ip-10-0-1-6.eu-west-1.compute.internal"

func client(t *testing.T, b *Bundle) *kube.Client {
	t.Helper()
	c, err := b.Kube().Dial(roll.Cluster{})
	must.Succeed(t, err)
	return c
}

// names returns kind/name of an answer's objects.
func names(t *testing.T, answer []*kube.Item) string {
	t.Helper()
	var out []string
	for _, i := range answer {
		o, err := kube.Decode[struct {
			Kind     string
			Metadata struct{ Name string }
		}](i)
		must.Succeed(t, err)
		out = append(out, o.Kind+"/"+o.Metadata.Name)
	}
	return strings.Join(out, " ")
}

func TestAnswersEveryQuestionOfADiagnosis(t *testing.T) {
	c := client(t, opened(t, small(t)))
	for _, q := range []struct {
		kube.Question
		want string
	}{
		{kube.ANode(node), "Node/" + node},
		{kube.AllNodes(), "Node/" + node},
		{kube.LeaseOf(node), "Lease/" + node},
		{kube.AllLeases(), "Lease/" + node},
		{kube.AwsAuth(), "ConfigMap/aws-auth"},
		{kube.EventsOfNode(node), "Event/ip-10-0-1-6.1"},
		{kube.EventsOfNodeClaim("default-abc12"), "Event/default-abc12.1"},
		{kube.EventsOfNode("another"), ""},
		{kube.EventsOfPod("web", "web"), "Event/web.1"},
		{kube.EventsOfPod("other", "web"), ""},
		{kube.PodsOf(node), "Pod/aws-node-1"},
		{kube.NodeClaimsOf("default"), "NodeClaim/default-abc12"},
		{kube.NodeClaimsOf("none"), ""},
		{kube.PodsLike("shop", map[string]string{"app": "db"}), "Pod/db-0"},
		{kube.PodsLike("web", map[string]string{"app": "db"}), ""},
		{kube.AllBudgets(), "PodDisruptionBudget/db"},
		{kube.AllVolumes(), "PersistentVolume/local-1"},
		{kube.ControllerAccounts(), "ServiceAccount/karpenter"},
		{kube.DaemonSets(), "DaemonSet/aws-node"},
		{kube.ANodePool("default"), "NodePool/default"},
		{kube.AllNodePools(), "NodePool/default"},
		{kube.AnEC2NodeClass("default"), "EC2NodeClass/default"},
		{kube.Webhooks(), "MutatingWebhookConfiguration/m ValidatingWebhookConfiguration/guard"},
		{kube.EndpointSlicesOf("policy", "guard"), "EndpointSlice/guard-1"},
		{kube.EndpointSlicesOf("web", "guard"), ""},
	} {
		answer, err := c.Read(t.Context(), q.Question)
		if err != nil {
			t.Errorf("%v: %v", q.Question, err)
			continue
		}
		expect.Equal(t, names(t, answer), q.want, "%v", q.Question)
	}
	for _, q := range []kube.Question{kube.ANode("none"), kube.LeaseOf("none"), kube.ANodePool("none")} {
		_, err := c.Read(t.Context(), q)
		expect.That(t, errors.Is(err, kube.ErrGone), "%v: %v", q, err)
	}
}

func TestAMissingFileIsNotAnEmptyList(t *testing.T) {
	c := client(t, opened(t, least(t)))
	for file, q := range map[string]kube.Question{
		"leases.json": kube.LeaseOf(node), "aws-auth.json": kube.AwsAuth(), "k8s-events.json": kube.EventsOfNode(node), "pods.json": kube.PodsOf(node), "poddisruptionbudgets.json": kube.AllBudgets(), "persistentvolumes.json": kube.AllVolumes(), "serviceaccounts.json": kube.ControllerAccounts(), "daemonsets.json": kube.DaemonSets(),
		"nodeclaims.json": kube.NodeClaimsOf("default"), "nodepools.json": kube.ANodePool("default"), "ec2nodeclasses.json": kube.AnEC2NodeClass("default"),
		"webhooks.json": kube.Webhooks(), "endpointslices.json": kube.EndpointSlicesOf("a", "b"),
	} {
		_, err := c.Read(t.Context(), q)
		kind, said := kube.Fault(roll.Cluster{ID: roll.ClusterID{Name: "demo"}}, err, "")
		expect.That(t, errors.Is(err, kube.ErrNotCaptured) && kind == roll.GapFailed && strings.HasSuffix(said, ": "+file+" is not in the bundle"), "%v: %v: %s", q, err, said)
	}
}

func TestAConfigMapThatIsNotThereIsGone(t *testing.T) {
	_, err := client(t, opened(t, with(least(t), "aws-auth.json", `{"kind": "List", "items": []}`))).Read(t.Context(), kube.AwsAuth())
	expect.That(t, errors.Is(err, kube.ErrGone), "got %v", err)
}

func TestAnOlderKarpenterIsNotTakenForNone(t *testing.T) {
	fsys := with(least(t), "nodeclaims.json", `{"kind": "List", "items": [{"apiVersion": "karpenter.sh/v1beta1", "kind": "NodeClaim", "metadata": {"name": "a", "creationTimestamp": "2026-03-02T11:19:40Z", "labels": {"karpenter.sh/nodepool": "default"}}}]}`)
	_, err := client(t, opened(t, fsys)).Read(t.Context(), kube.NodeClaimsOf("default"))
	expect.That(t, err != nil && !errors.Is(err, kube.ErrNoNodeClaims) && strings.Contains(err.Error(), "older than 1.0"), "got %v", err)
}

func TestListsOfManyPages(t *testing.T) {
	fsys := least(t)
	var items []string
	for i := range 2*kube.PageSize + 1 {
		items = append(items, fmt.Sprintf(`{"metadata": {"name": "n%d", "creationTimestamp": "2026-03-02T11:19:40Z"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T11:19:40Z"}]}}`, i))
	}
	with(fsys, "nodes.json", `{"apiVersion": "v1", "kind": "NodeList", "items": [`+strings.Join(items, ",")+`]}`)
	seen := map[string]bool{}
	err := client(t, opened(t, fsys)).Nodes(t.Context(), roll.Watch{}, func(n roll.Node) { seen[n.Name] = true }, func() {})
	expect.That(t, err == nil && len(seen) == len(items), "%d of %d nodes, %v", len(seen), len(items), err)
}

func TestABundleCannotBeChanged(t *testing.T) {
	err := client(t, opened(t, small(t))).DeleteNode(t.Context(), node, "5b6f6c6e-0000-4000-8000-000000000002")
	expect.That(t, err != nil && strings.Contains(err.Error(), "a bundle cannot be changed"), "got %v", err)
}

func look(t *testing.T, b *Bundle) *roll.Snapshot {
	t.Helper()
	o := observe.New(observe.Options{AWS: b.AWS(), Kube: b.Kube(), PageInterval: time.Nanosecond})
	s := o.Snapshot(t.Context(), "demo", time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), roll.Watch{})
	o.Details(t.Context(), s, []roll.Question{{Instance: "i-0f100000000000001", UserData: true, Protection: true, NodeClaim: true, AutoScaling: true}})
	return s
}

func TestObservedLikeAnAccount(t *testing.T) {
	s := look(t, opened(t, small(t)))
	must.That(t, len(s.Gaps) == 0 && s.Whole(), "gaps: %+v", s.Gaps)
	expect.That(t, len(s.Instances) == 2 && len(s.Nodes) == 1 && s.Nodes[0].Instance == "i-0f200000000000001" && s.StatusRead == roll.Yes && len(s.Impaired) == 1, "got %+v", s)
	d := s.Details["i-0f100000000000001"]
	expect.That(t, d.Bootstraps == roll.Yes && d.TerminationProtected == roll.No && d.HasNodeClaim == roll.Yes && d.LifecycleRead == roll.No, "got %+v", d)
}

// With three files, what the others would show is unread, and the observation itself is complete.
func TestThreeFilesMakeAWholeSnapshot(t *testing.T) {
	s := look(t, opened(t, least(t)))
	must.That(t, s.Whole() && len(s.Instances) == 2 && len(s.Nodes) == 1, "got %+v", s)
	expect.That(t, s.StatusRead == roll.Unreadable, "status checks that are not there were taken for passed")
	d := s.Details["i-0f100000000000001"]
	expect.That(t, d.Bootstraps == roll.Unreadable && d.HasNodeClaim == roll.Unreadable && d.LifecycleRead == roll.Unreadable, "got %+v", d)
	for _, file := range []string{"instance-status.json", "auto-scaling-instances.json", "nodeclaims.json", "user-data/i-0f100000000000001.txt"} {
		found := false
		for _, g := range s.Gaps {
			found = found || g.Scope == roll.ScopeDetail && g.Kind == roll.GapFailed && strings.HasSuffix(g.Detail, file+" is not in the bundle")
		}
		expect.That(t, found, "no gap tells of %s: %+v", file, s.Gaps)
	}
}

func TestANodeOfAnInstanceThatIsNotThere(t *testing.T) {
	s := look(t, opened(t, with(least(t), "instances.json", `{"Reservations": []}`)))
	expect.That(t, s.NotFound["i-0f200000000000001"] && s.Whole(), "got %+v", s)
}

// kubectl get --raw prints the API server's message instead of the nodes.
func TestAnAPIServerThatDoesNotAnswer(t *testing.T) {
	for code, kind := range map[int]roll.GapKind{503: roll.GapClusterUnreachable, 401: roll.GapUnauthorized, 403: roll.GapDenied} {
		s := look(t, opened(t, with(least(t), "nodes.json", fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": %q, "code": %d}`, reasons[code], code))))
		expect.That(t, !s.Whole() && len(s.Nodes) == 0 && len(s.Gaps) != 0 && s.Gaps[0].Scope == roll.ScopeNodes && s.Gaps[0].Kind == kind, "%d: got %+v", code, s.Gaps)
	}
}

func TestAnEndedContextEndsTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client(t, opened(t, small(t))).Read(ctx, kube.AwsAuth())
	expect.That(t, errors.Is(err, context.Canceled), "got %v", err)
}
