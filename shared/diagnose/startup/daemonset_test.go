package startup_test

import (
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

const warming = "example.com/warming-up" // which no known agent removes

func daemonSet(name string, change ...func(*evidence.DaemonSet)) evidence.DaemonSet {
	d := evidence.DaemonSet{Namespace: "infra", Name: name}
	for _, c := range change {
		c(&d)
	}
	return d
}

func tolerates(all ...evidence.Toleration) func(*evidence.DaemonSet) {
	return func(d *evidence.DaemonSet) { d.Tolerations = append(d.Tolerations, all...) }
}

func selects(key, value string) func(*evidence.DaemonSet) {
	return func(d *evidence.DaemonSet) { d.NodeSelector = map[string]string{key: value} }
}

var byKey = evidence.Toleration{Key: warming, Operator: "Exists"}

// Why the agent that should remove a startup taint has no pod on the node, as far as the DaemonSets
// show it.
func TestADaemonSetThatGetsNoPodOnTheNode(t *testing.T) {
	stays := do(tainted(taint(warming, noSchedule)), declares(taint(warming, noSchedule)))
	ebs := tainted(taint("ebs.csi.aws.com/agent-not-ready", noExecute))
	for name, tt := range map[string]struct {
		spoil func(*world)
		sets  []evidence.DaemonSet
		words string // of the summary or the fix
		not   string
	}{
		"of the DaemonSets of a driver, the one for such nodes counts": {do(ebs, pod("ebs-csi-node-io", waiting("ImagePullBackOff"))), []evidence.DaemonSet{daemonSet("ebs-csi-node", selects("storage", "usual"))},
			"that pod waits in ImagePullBackOff", "gets no pod there"},
		"of the DaemonSets of a driver, one selects the node": {ebs, []evidence.DaemonSet{daemonSet("ebs-csi-node", selects("storage", "usual")), daemonSet("ebs-csi-node-io")},
			"the DaemonSet infra/ebs-csi-node-io gets no pod there, since it does not tolerate ebs.csi.aws.com/agent-not-ready:NoExecute", "selects other nodes"},
		"none tolerates it": {stays, []evidence.DaemonSet{daemonSet("warmer")}, "It keeps pods of infra/warmer off the node, which do not tolerate it", "by its key"},
		"the fix adds the list": {stays, []evidence.DaemonSet{daemonSet("warmer")},
			`kubectl -n infra patch daemonset warmer --type json -p '[{"op":"add","path":"/spec/template/spec/tolerations","value":[]},{"op":"add","path":"/spec/template/spec/tolerations/-","value":{"key":"example.com/warming-up","operator":"Exists","effect":"NoSchedule"}}]'`, ""},
		"the fix adds to the list": {stays, []evidence.DaemonSet{daemonSet("warmer", tolerates(evidence.Toleration{Key: "team", Operator: "Exists"}))},
			`-p '[{"op":"add","path":"/spec/template/spec/tolerations/-"`, `"value":[]`},
		"with another effect": {stays, []evidence.DaemonSet{daemonSet("warmer", tolerates(evidence.Toleration{Key: warming, Operator: "Exists", Effect: noExecute}))}, "It keeps pods of infra/warmer off", ""},
		"with another value":  {stays, []evidence.DaemonSet{daemonSet("warmer", tolerates(evidence.Toleration{Key: warming, Operator: "Equal", Value: "yes"}))}, "It keeps pods of infra/warmer off", ""},
		"one tolerates it, and selects others": {stays, []evidence.DaemonSet{daemonSet("warmer", tolerates(byKey), selects("accelerator", "nvidia"))},
			"It is tolerated by its key, and the DaemonSet infra/warmer gets no pod there, since it selects other nodes (accelerator=nvidia)", "keeps pods"},
		"by its affinity": {stays, []evidence.DaemonSet{daemonSet("warmer", tolerates(byKey), func(d *evidence.DaemonSet) {
			d.Affinity = [][]evidence.Requirement{{{Key: "zone", Operator: "In", Values: []string{"a", "b"}}}}
		})}, "selects other nodes (zone In [a, b])", ""},
		"one tolerates it, and not another taint": {func(w *world) { stays(w); tainted(taint("dedicated", noSchedule))(w) },
			[]evidence.DaemonSet{daemonSet("warmer", tolerates(byKey))}, "the DaemonSet infra/warmer gets no pod there, since it does not tolerate dedicated:NoSchedule", ""},
		"one tolerates it, and its pod is not ready": {func(w *world) {
			stays(w)
			pod("warmer", func(p *evidence.Pod) { p.Namespace, p.Ready, p.Waiting = "infra", false, "CrashLoopBackOff" })(w)
		}, []evidence.DaemonSet{daemonSet("warmer", tolerates(byKey))}, "The DaemonSet infra/warmer tolerates it by its key, and its pod on the node waits in CrashLoopBackOff", ""},

		// What says nothing about this taint.
		"one tolerates everything":       {stays, []evidence.DaemonSet{daemonSet("logs", tolerates(evidence.Toleration{Operator: "Exists"}))}, "no agent is known", "infra/logs"},
		"one is for other nodes":         {stays, []evidence.DaemonSet{daemonSet("gpu", selects("accelerator", "nvidia"))}, "no agent is known", "infra/gpu"},
		"another taint keeps it off too": {func(w *world) { stays(w); tainted(taint("dedicated", noSchedule))(w) }, []evidence.DaemonSet{daemonSet("warmer")}, "no agent is known", "infra/warmer"},
		"it has a pod from before":       {func(w *world) { stays(w); pod("warmer", func(p *evidence.Pod) { p.Namespace = "infra" })(w) }, []evidence.DaemonSet{daemonSet("warmer")}, "no agent is known", "infra/warmer"},
		"no DaemonSet was read":          {func(w *world) { stays(w); w.sets = evidence.Failed[[]evidence.DaemonSet]("denied") }, nil, "no agent is known", "DaemonSet"},
		"the pods were not read":         {func(w *world) { stays(w); w.node.Pods = evidence.Failed[[]evidence.Pod]("denied") }, []evidence.DaemonSet{daemonSet("warmer")}, "no agent is known", "infra/warmer"},

		// A known agent.
		"the EBS driver does not tolerate it":     {ebs, []evidence.DaemonSet{daemonSet("ebs-csi-node")}, "the DaemonSet infra/ebs-csi-node gets no pod there, since it does not tolerate ebs.csi.aws.com/agent-not-ready:NoExecute", "there is no such pod"},
		"by the label of its pods":                {ebs, []evidence.DaemonSet{daemonSet("driver", func(d *evidence.DaemonSet) { d.Labels = map[string]string{"app": "ebs-csi-node"} })}, "the DaemonSet infra/driver gets no pod", ""},
		"the EBS driver should have a pod there":  {ebs, []evidence.DaemonSet{daemonSet("ebs-csi-node", tolerates(evidence.Toleration{Operator: "Exists"}))}, "there is no such pod on the node", "gets no pod"},
		"the EBS driver's DaemonSet was not read": {ebs, nil, "there is no such pod on the node", "gets no pod"},
	} {
		w := of(roll.Uninitialized)
		if tt.sets != nil {
			w.sets = evidence.Read(tt.sets)
		}
		tt.spoil(w)
		s := w.analyze()
		causes := s.Causes()
		if got, _, _ := strings.Cut(causetest.Told(s), " "); got != "StartupTaintNotRemoved" {
			t.Errorf("%s: %q", name, got)
			continue
		}
		text := causes[0].Summary + "\n" + causes[0].Fix
		if !strings.Contains(text, tt.words) || tt.not != "" && strings.Contains(text, tt.not) {
			t.Errorf("%s: %s\nwant %q, not %q", name, text, tt.words, tt.not)
		}
		whole(t, name, s)
	}
}

// A network plugin whose DaemonSet gets no pod on the node.
func TestANetworkPluginThatDoesNotTolerateTheNode(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*evidence.DaemonSet)
		words  string
	}{
		"it does not tolerate the node's taint": {tolerates(evidence.Toleration{Key: "node.kubernetes.io/not-ready", Operator: "Exists"}), "the DaemonSet kube-system/aws-node gets no pod there, since it does not tolerate team:NoSchedule"},
		"nor that of a node that is not ready":  {tolerates(evidence.Toleration{Key: "team", Operator: "Exists"}), "since it does not tolerate node.kubernetes.io/not-ready:NoSchedule"},
		"it selects other nodes": {func(d *evidence.DaemonSet) {
			tolerates(evidence.Toleration{Operator: "Exists"})(d)
			selects("team", "a")(d)
		}, "since it selects other nodes (team=a)"},
		"it should have a pod": {tolerates(evidence.Toleration{Operator: "Exists"}), "there is no pod of a known one on the node"},
	} {
		w := of(roll.NotReady)
		unready(noNetwork)(w)
		tainted(taint("team", noSchedule), taint("node.kubernetes.io/not-ready", noSchedule))(w)
		w.pool.Value.Taints, w.claim().Taints = []evidence.Taint{taint("team", noSchedule)}, []evidence.Taint{taint("team", noSchedule)}
		d := evidence.DaemonSet{Namespace: "kube-system", Name: "aws-node"}
		tt.change(&d)
		w.sets = evidence.Read([]evidence.DaemonSet{d})
		s := w.analyze()
		causes := s.Causes()
		expect.That(t, causetest.Told(s) == "CniNotReady" && strings.Contains(causes[0].Summary, tt.words), "%s: %+v", name, causes)
	}
}

// Guides to another plugin let aws-node select nodes that do not exist.
func TestANetworkPluginThatIsOutOfUseIsNotNamed(t *testing.T) {
	w := of(roll.NotReady)
	unready(noNetwork)(w)
	tainted(taint("team", noSchedule))(w)
	w.pool.Value.Taints, w.claim().Taints = []evidence.Taint{taint("team", noSchedule)}, []evidence.Taint{taint("team", noSchedule)}
	unused := evidence.DaemonSet{Namespace: "kube-system", Name: "aws-node"}
	tolerates(evidence.Toleration{Operator: "Exists"})(&unused)
	selects("io.cilium/aws-node-enabled", "true")(&unused)
	w.sets = evidence.Read([]evidence.DaemonSet{unused, {Namespace: "kube-system", Name: "cilium"}})
	causes := w.analyze().Causes()
	if want := "the DaemonSet kube-system/cilium gets no pod there, since it does not tolerate team:NoSchedule"; len(causes) == 0 || !strings.Contains(causes[0].Summary, want) {
		t.Errorf("got %+v, want %q", causes, want)
	}
}

// Which taints are startup taints is known only once the NodePool was read.
func TestATaintOfANodePoolThatWasNotReadIsNotChecked(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*world)
		open  bool
	}{
		"the NodePool was read": {func(*world) {}, false},
		"it was not":            {func(w *world) { w.pool = evidence.Failed[evidence.NodePool]("denied") }, true},
		"it was not, and the NodeClaim has the taint": {func(w *world) {
			w.pool = evidence.Failed[evidence.NodePool]("denied")
			w.claim().Taints = []evidence.Taint{taint(warming, noSchedule)}
		}, false},
		"there is none, and no NodeClaim": {func(w *world) {
			w.pool, w.claims = evidence.None[evidence.NodePool](), evidence.Read([]evidence.NodeClaim{})
		}, true},
	} {
		w := of(roll.Uninitialized)
		tainted(taint(warming, noSchedule))(w)
		tt.spoil(w)
		s := w.analyze()
		if s.Decided(cause.StartupTaintNotRemoved) == tt.open || !s.Noted(cause.StartupTaintNotRemoved) {
			t.Errorf("%s: found %v, ruled out %v", name, s.Causes(), s.Clear())
		}
	}
}
