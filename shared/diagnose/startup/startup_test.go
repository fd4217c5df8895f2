package startup_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/startup"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	instance = roll.InstanceID("i-0123456789abcdef0")
	name     = "ip-10-0-1-17.eu-west-1.compute.internal"
	twin     = "ip-10-0-1-18.eu-west-1.compute.internal"
	group    = roll.Group("nodepool/default")

	cilium      = "node.cilium.io/agent-not-ready"
	ebs         = "ebs.csi.aws.com/agent-not-ready"
	noNetwork   = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	unstarted   = "[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful, " + noNetwork + "]"
	starting    = "Starting kubelet."
	noExecute   = "NoExecute"
	noSchedule  = "NoSchedule"
	stillExists = "StartupTaint \"node.cilium.io/agent-not-ready:NoExecute\" still exists"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func taint(key, effect string) evidence.Taint { return evidence.Taint{Key: key, Effect: effect} }

// world is a finding about a new Karpenter node and what was read about it.
type world struct {
	finding roll.Finding
	node    evidence.Node
	other   evidence.Node // of another NodeClaim, if one names it
	claims  evidence.Fact[[]evidence.NodeClaim]
	pool    evidence.Fact[evidence.NodePool]
	data    evidence.Fact[userdata.Boot]

	templates map[string]evidence.Fact[evidence.LaunchTemplate]
	webhooks  evidence.Fact[[]evidence.Webhook]
	networked evidence.Fact[string]
	sets      evidence.Fact[[]evidence.DaemonSet]
	findings  []roll.Finding // of other instances
}

func (w *world) object() *evidence.NodeObject { return &w.node.Object.Value }
func (w *world) claim() *evidence.NodeClaim   { return &w.claims.Value[0] }

// aged makes the node have been created this long ago, and the finding due 15 minutes later.
func aged(age time.Duration) func(*world) {
	return func(w *world) {
		w.object().Created = now.Add(-age)
		w.claim().Created = now.Add(-age - 40*time.Second)
		w.claim().Conditions[0].Since = w.object().Created.Add(10 * time.Second)
		w.finding.Stage = roll.Watching
		if age >= 15*time.Minute {
			w.finding.Stage = roll.Overdue
		}
	}
}

func tainted(taints ...evidence.Taint) func(*world) {
	return func(w *world) { w.object().Taints = append(w.object().Taints, taints...) }
}

// declares sets the startup taints of the NodePool and of the NodeClaim made from it.
func declares(taints ...evidence.Taint) func(*world) {
	return func(w *world) { w.pool.Value.StartupTaints, w.claim().Startup = taints, taints }
}

func unready(message string) func(*world) {
	return func(w *world) {
		w.object().Conditions[0] = evidence.Condition{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: message, Since: w.object().Created}
	}
}

// starts adds kubelet starts, this long after the node's creation.
func starts(after ...time.Duration) func(*world) {
	return func(w *world) {
		for _, a := range after {
			at := w.object().Created.Add(a)
			w.node.Events.Value = append(w.node.Events.Value, evidence.Event{Reason: "Starting", Message: starting, First: at, Last: at, Count: 1})
		}
	}
}

// registers makes the user data register the node with taints.
func registers(taints string) func(*world) {
	return func(w *world) {
		w.data = evidence.Read(userdata.Read([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh payments --kubelet-extra-args --register-with-taints=" + taints + "\n")))
	}
}

// template makes the user data known from the launch template only.
func (w *world) template() {
	w.templates = map[string]evidence.Fact[evidence.LaunchTemplate]{"lt-0123456789abcdef0:3": evidence.Read(evidence.LaunchTemplate{UserData: w.data})}
	w.data = evidence.Skipped[userdata.Boot]("sampled")
}

// pod adds a DaemonSet's pod to the node.
func pod(daemonSet string, change func(*evidence.Pod)) func(*world) {
	return func(w *world) {
		p := evidence.Pod{Namespace: "kube-system", Name: daemonSet + "-x7k2p", Owner: "DaemonSet/" + daemonSet, Phase: "Running", Ready: true}
		change(&p)
		w.node.Pods.Value = append(w.node.Pods.Value, p)
	}
}

// identified makes a pod wait that gets its role by EKS Pod Identity.
func identified(reason string) func(*evidence.Pod) {
	return func(p *evidence.Pod) { p.Ready, p.Waiting, p.PodIdentity = false, reason, true }
}

// A replacement has no agent either.
func TestAPluginWithoutTheAgentOfItsRoleOutlastsAReplacement(t *testing.T) {
	for _, tt := range []struct {
		change func(*world)
		want   roll.Cure
	}{
		{pod("aws-node", identified("CrashLoopBackOff")), roll.CureChange},
		{pod("aws-node", identified("ImagePullBackOff")), roll.CureUnclear},
		{pod("aws-node", waiting("CrashLoopBackOff")), roll.CureUnclear},
		{do(pod("aws-node", identified("CrashLoopBackOff")), pod("eks-pod-identity-agent", waiting("CrashLoopBackOff"))), roll.CureUnclear},
		{do(pod("aws-node", identified("CrashLoopBackOff")), pod("agent", func(p *evidence.Pod) {
			p.Labels = map[string]string{"app.kubernetes.io/name": "eks-pod-identity-agent"}
		})), roll.CureUnclear},
	} {
		w := of(roll.Uninitialized)
		do(unready(noNetwork), tt.change)(w)
		c := w.analyze().Causes()[0]
		expect.Equal(t, c.Code, cause.CniNotReady, "%s", c.Summary)
		expect.Equal(t, c.Cure, tt.want, "%s", c.Summary)
	}
}

// sibling adds a NodeClaim of the same NodePool, created this long after the node's own.
func sibling(after time.Duration, change ...func(*evidence.NodeClaim)) func(*world) {
	return func(w *world) {
		c := evidence.NodeClaim{Name: "default-zzzzz", NodePool: "default", Instance: "i-00000002", Created: w.claim().Created.Add(after)}
		for _, f := range change {
			f(&c)
		}
		w.claims.Value = append(w.claims.Value, c)
	}
}

// do combines the changes of a world.
func do(steps ...func(*world)) func(*world) { return causetest.Do(steps...) }

func owned(by roll.Owner) func(*world) { return func(w *world) { w.finding.Owner = by } }

// waiting changes a pod that waits for this reason.
func waiting(reason string) func(*evidence.Pod) {
	return func(p *evidence.Pod) { p.Ready, p.Waiting = false, reason }
}

// of returns a new Karpenter node, 20 minutes old, Ready, and found for no visible reason.
func of(kind roll.Kind) *world {
	w := &world{
		finding: roll.Finding{Instance: instance, Node: name, Kind: kind, Owner: roll.OwnerKarpenter, Group: group},
		node: evidence.Node{
			Object: evidence.Read(evidence.NodeObject{
				Name: name, Labels: map[string]string{"karpenter.sh/registered": "true"},
				Conditions: []evidence.Condition{{Type: "Ready", Status: "True", Reason: "KubeletReady"}},
			}),
			Lease:  evidence.Read(evidence.Lease{Renewed: now.Add(-5 * time.Second), Duration: 40 * time.Second}),
			Events: evidence.Read([]evidence.Event{}), Pods: evidence.Read([]evidence.Pod{}),
		},
		claims: evidence.Read([]evidence.NodeClaim{{
			Name: "default-x7k2p", NodePool: "default", Instance: instance, Node: name,
			Conditions: []evidence.Condition{{Type: "Registered", Status: "True"}, {Type: "Initialized", Status: "Unknown", Reason: "NodeNotReady"}},
		}}),
		pool:     evidence.Read(evidence.NodePool{Name: "default"}),
		webhooks: evidence.Read([]evidence.Webhook{}), networked: evidence.None[string](),
	}
	aged(20 * time.Minute)(w)
	if kind == roll.NotReady {
		unready("PLEG is not healthy")(w)
	}
	return w
}

func (w *world) analyze() *cause.Sheet {
	e := &evidence.Evidence{
		At: now, Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "payments"},
		Nodes:  map[string]evidence.Node{name: w.node, twin: w.other},
		Groups: map[roll.Group]evidence.Group{group: {NodePool: w.pool, NodeClaims: w.claims}},
		Instances: map[roll.InstanceID]evidence.Instance{instance: {UserData: w.data, Config: evidence.Read(evidence.InstanceConfig{
			ASG: "payments", LaunchTemplate: "lt-0123456789abcdef0", LaunchTemplateVersion: "3", Type: "m7i.large",
		})}},
		Templates: w.templates, Findings: append(w.findings, w.finding), Cluster: evidence.Cluster{Webhooks: w.webhooks, Networked: w.networked, DaemonSets: w.sets},
	}
	s := &cause.Sheet{}
	startup.Analyze(&evidence.Case{Evidence: e, Finding: w.finding}, s)
	return s
}

// test is a world and what must be reported about it; words must be in the first cause's
// summary or fix.
type test struct {
	name  string
	spoil func(*world)
	want  string
	words string
}

func check(t *testing.T, kind roll.Kind, tests []test) {
	t.Helper()
	for _, tt := range tests {
		w := of(kind)
		tt.spoil(w)
		s := w.analyze()
		if got := causetest.Told(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			continue
		}
		if causes := s.Causes(); tt.words != "" && !strings.Contains(causes[0].Summary+"\n"+causes[0].Fix, tt.words) {
			t.Errorf("%s: %s\n%s\nlacks %q", tt.name, causes[0].Summary, causes[0].Fix, tt.words)
		}
		whole(t, tt.name, s)
	}
}

// whole checks that every cause on a sheet is complete, has its subject, and that no reason is missing.
func whole(t *testing.T, name string, s *cause.Sheet) {
	t.Helper()
	causetest.Whole(t, name, s)
	for _, c := range s.Causes() {
		expect.That(t, (c.Subject == "") == (c.Code == cause.KubeletRestartedDuringStartup), "%s: %s of %q", name, c.Code, c.Subject)
	}
}

func TestStartupTaintsThatRemain(t *testing.T) {
	ciliumStays := do(tainted(taint(cilium, noExecute)), declares(taint(cilium, noExecute)))
	check(t, roll.Uninitialized, []test{
		{"no taint", func(*world) {}, "", ""},
		{"taints of the control plane", tainted(taint("node.kubernetes.io/not-ready", noSchedule), taint("karpenter.sh/disrupted", noSchedule)), "", ""},
		{"a lasting taint of the NodePool", do(tainted(taint("example.com/team", noSchedule)), func(w *world) { w.pool.Value.Taints = []evidence.Taint{taint("example.com/team", noSchedule)} }), "", ""},
		{"Cilium has no pod there", ciliumStays, "StartupTaintNotRemoved", "there is no such pod on the node"},
		{"Cilium has no pod there, and the node has another taint", do(ciliumStays, tainted(taint("nvidia.com/gpu", noSchedule))),
			"StartupTaintNotRemoved UndeclaredStartupTaint?", "nvidia.com/gpu:NoSchedule"},
		{"Cilium's image does not arrive", func(w *world) {
			ciliumStays(w)
			pod("cilium", func(p *evidence.Pod) {
				p.Ready, p.Phase, p.Waiting, p.Message = false, "Pending", "ImagePullBackOff", "Back-off pulling image \"quay.io/cilium/cilium:v1.18.3\""
			})(w)
		}, "StartupTaintNotRemoved", "that pod waits in ImagePullBackOff"},
		{"Cilium crashes, by its label", do(ciliumStays, pod("my-cilium", func(p *evidence.Pod) {
			p.Ready, p.Waiting, p.Labels = false, "CrashLoopBackOff", map[string]string{"k8s-app": "cilium"}
		})), "StartupTaintNotRemoved", "kubectl -n kube-system logs my-cilium-x7k2p"},
		{"Cilium is Pending", do(ciliumStays, pod("cilium", func(p *evidence.Pod) { p.Ready, p.Phase = false, "Pending" })), "StartupTaintNotRemoved", "that pod is Pending"},
		{"Cilium runs and is not ready", do(ciliumStays, pod("cilium", func(p *evidence.Pod) { p.Ready = false })), "StartupTaintNotRemoved", "runs and is not ready"},
		{"Cilium is ready", do(ciliumStays, pod("cilium", func(*evidence.Pod) {})), "StartupTaintNotRemoved", "deployment/cilium-operator"},
		{"the pods were not read", do(ciliumStays, func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("why") }), "StartupTaintNotRemoved", "the node's pods were not read"},
		{"within the tolerance", do(aged(12*time.Minute), ciliumStays), "StartupTaintNotRemoved?", ""},
		{"warned, and not overdue", do(ciliumStays, func(w *world) { w.finding.Stage = roll.Warned }), "StartupTaintNotRemoved?", ""},
		{"the EBS driver's", do(tainted(taint(ebs, noExecute)), declares(taint(ebs, noExecute))), "StartupTaintNotRemoved", "ebs-csi-node"},
		{"Karpenter's own", func(w *world) {
			tainted(taint("karpenter.sh/unregistered", noExecute))(w)
			w.claim().Conditions[0] = evidence.Condition{Type: "Registered", Status: "Unknown", Reason: "RegistrationHookPending", Message: "placement-group"}
		}, "StartupTaintNotRemoved", "Unknown (RegistrationHookPending): placement-group"},
		{"Karpenter's own, which it took off before", tainted(taint("karpenter.sh/unregistered", noExecute)), "StartupTaintNotRemoved", "does not take off again what came back since"},
		{"Karpenter's own, read as it was taken off", do(tainted(taint("karpenter.sh/unregistered", noExecute)), func(w *world) { w.claim().Conditions[0].Since = now.Add(-time.Minute + time.Second) }),
			"StartupTaintNotRemoved", "takes it off when it registers the node\n"},
		{"Karpenter's own, with another effect", tainted(taint("karpenter.sh/unregistered", noSchedule)), "StartupTaintNotRemoved", "takes off karpenter.sh/unregistered:NoExecute alone"},
		{"Karpenter's own, and no NodeClaim has the instance", do(tainted(taint("karpenter.sh/unregistered", noExecute)), func(w *world) { w.claims.Value = nil }),
			"StartupTaintNotRemoved", "no NodeClaim has its instance"},
		{"Karpenter's own, on a node that is not ready", do(tainted(taint("karpenter.sh/unregistered", noExecute)), unready("PLEG is not healthy")), "StartupTaintNotRemoved", ""},
		{"the cloud provider's", tainted(evidence.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: noSchedule}), "StartupTaintNotRemoved", "cloud controller manager"},
		{"a readiness rule's", tainted(taint("readiness.k8s.io/gpu", noSchedule)), "StartupTaintNotRemoved UndeclaredStartupTaint?", "nodereadinessrules"},
		{"one that only the NodePool declares", do(tainted(taint("example.com/warming-up", noSchedule)), declares(taint("example.com/warming-up", noSchedule))), "StartupTaintNotRemoved", "no agent is known"},
		{"one that is no startup taint, and declared as one", do(tainted(taint("nvidia.com/gpu", noSchedule)), declares(taint("nvidia.com/gpu", noSchedule))),
			"StartupTaintNotRemoved", "belongs to spec.template.spec.taints"},
		{"one that only the policy names", func(w *world) {
			tainted(taint("example.com/warming-up", noSchedule))(w)
			w.finding.Summary = "node " + name + " is Ready and still has the startup taint example.com/warming-up:NoSchedule since its creation"
		}, "StartupTaintNotRemoved UndeclaredStartupTaint?", "the policy names it"},
		{"Cilium's, with a key that Cluster Autoscaler ignores", do(tainted(taint("ignore-taint.cluster-autoscaler.kubernetes.io/cilium-agent-not-ready", noExecute)), pod("cilium", waiting("CrashLoopBackOff"))),
			"StartupTaintNotRemoved UndeclaredStartupTaint?", "the Cilium operator takes it off"},
		{"Cilium's, with a key of a startup taint", do(tainted(taint("startup-taint.cluster-autoscaler.kubernetes.io/cilium-agent-not-ready", noExecute)), unready(noNetwork), pod("cilium", waiting("CrashLoopBackOff"))),
			"StartupTaintNotRemoved UndeclaredStartupTaint? CniNotReady", "the Cilium operator takes it off"},
		{"one that only looks like one", tainted(taint("example.com/agent-not-ready", noSchedule)), "UndeclaredStartupTaint? StartupTaintNotRemoved?", ""},
		{"the network agent's, while the network is missing", do(ciliumStays, unready(noNetwork), pod("cilium", waiting("CrashLoopBackOff"))), "StartupTaintNotRemoved CniNotReady", "CrashLoopBackOff"},
		{"the network agent's, while the runtime is down", do(ciliumStays, unready("container runtime is down")), "StartupTaintNotRemoved?", ""},
		{"a driver's, while the network is missing", do(tainted(taint(ebs, noExecute)), declares(taint(ebs, noExecute)), unready(noNetwork)), "CniNotReady StartupTaintNotRemoved?", ""},
		{"two, and the node waits for the network", do(tainted(taint(ebs, noExecute), taint(cilium, noExecute)), declares(taint(ebs, noExecute), taint(cilium, noExecute)), unready(noNetwork)), "StartupTaintNotRemoved CniNotReady", "cilium"},
	})
}

// A webhook without endpoints that must approve changes of nodes keeps every agent from taking
// its taint off.
func TestTaintsThatNobodyCanTakeOff(t *testing.T) {
	stays := func(change ...func(*evidence.Webhook)) func(*world) {
		return func(w *world) {
			tainted(taint("karpenter.sh/unregistered", noExecute), taint("node.kubernetes.io/not-ready", noSchedule))(w)
			unready(noNetwork)(w)
			h := evidence.Webhook{
				Configuration: "guard", Kind: "ValidatingWebhookConfiguration", Name: "nodes.guard.io", FailurePolicy: "Fail",
				Resources: []string{"nodes"}, Operations: []string{"UPDATE"}, Namespace: "guard", Service: "guard", Endpoints: evidence.Read(0),
			}
			for _, f := range change {
				f(&h)
			}
			w.webhooks = evidence.Read([]evidence.Webhook{h})
		}
	}
	const barred, sure = "CniNotReady StartupTaintNotRemoved?", "StartupTaintNotRemoved CniNotReady"
	check(t, roll.Uninitialized, []test{
		{"nobody answers it", stays(), barred, ""},
		{"nobody answers it, and its selectors may spare the node", stays(func(h *evidence.Webhook) { h.Selective = true }), barred, ""},
		{"whether somebody answers it was not read", stays(func(h *evidence.Webhook) { h.Endpoints = evidence.Failed[int]("why") }), barred, ""},
		{"the webhooks were not read", do(stays(), func(w *world) { w.webhooks = evidence.Failed[[]evidence.Webhook]("why") }), barred, ""},
		{"somebody answers it", stays(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), sure, ""},
		{"nobody needs it", stays(func(h *evidence.Webhook) { h.FailurePolicy = "Ignore" }), sure, ""},
		{"it is asked when a node is created", stays(func(h *evidence.Webhook) { h.Operations = []string{"CREATE"} }), sure, ""},
		{"it is asked for the status", stays(func(h *evidence.Webhook) { h.Resources = []string{"nodes/status"} }), sure, ""},
		{"the node was changed since it is ready", do(stays(), func(w *world) { w.object().Taints, w.object().Conditions[0].Status = w.object().Taints[:1], "True" }), "StartupTaintNotRemoved", ""},
		{"the node is ready, and nobody has changed it since", do(stays(), func(w *world) { w.object().Conditions[0].Status = "True" }), "StartupTaintNotRemoved?", ""},
	})
}

func TestTaintsThatKarpenterWasNotToldOf(t *testing.T) {
	const minute = time.Minute
	check(t, roll.Uninitialized, []test{
		{"declared", do(aged(3*minute), tainted(taint(cilium, noExecute)), declares(taint(cilium, noExecute))), "StartupTaintNotRemoved?", ""},
		{"declared, with a value", do(aged(3*minute), tainted(evidence.Taint{Key: cilium, Value: "true", Effect: noExecute}), declares(taint(cilium, noExecute))),
			"StartupTaintNotRemoved?", ""},
		{"declared as a lasting one", do(aged(3*minute), tainted(taint(cilium, noExecute)), func(w *world) { w.claim().Taints = []evidence.Taint{taint(cilium, noExecute)} }),
			"StartupTaintNotRemoved?", ""},
		{"not declared", do(aged(3*minute), tainted(taint(cilium, noSchedule))), "UndeclaredStartupTaint StartupTaintNotRemoved?",
			`kubectl patch nodepool default --type=merge -p '{"spec":{"template":{"spec":{"startupTaints":[{"effect":"NoSchedule","key":"node.cilium.io/agent-not-ready"}]}}}}'`},
		{"declared with another effect", do(aged(3*minute), func(w *world) { tainted(taint(cilium, noSchedule))(w) }, func(w *world) { declares(taint(cilium, noExecute))(w) }),
			"UndeclaredStartupTaint StartupTaintNotRemoved?", "declares only with the effect NoExecute"},
		{"a moment before it is old", do(aged(10*minute-time.Second), tainted(taint(cilium, noSchedule))), "UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"no longer young", do(aged(10*minute), tainted(taint(cilium, noSchedule))), "UndeclaredStartupTaint? StartupTaintNotRemoved?", ""},
		{"long there, and overdue", tainted(taint(cilium, noSchedule)), "StartupTaintNotRemoved UndeclaredStartupTaint?", ""},
		{"not registered yet", do(aged(minute), tainted(taint(cilium, noSchedule), taint("karpenter.sh/unregistered", noExecute))),
			"UndeclaredStartupTaint? StartupTaintNotRemoved?", ""},
		{"Karpenter's and the cloud provider's own", do(aged(minute), tainted(taint("karpenter.sh/unregistered", noExecute), taint("node.cloudprovider.kubernetes.io/uninitialized", noSchedule))), "StartupTaintNotRemoved?", ""},
		{"a readiness rule's", do(aged(minute), tainted(taint("readiness.k8s.io/gpu", noSchedule))), "UndeclaredStartupTaint? StartupTaintNotRemoved?", ""},
		{"no agent's", do(aged(minute), tainted(taint("example.com/team", noSchedule))), "UndeclaredStartupTaint", "spec.template.spec.taints instead"},
		{"no agent's, declared", do(aged(minute), tainted(taint("example.com/team", noSchedule)), declares(taint("example.com/team", noSchedule))), "StartupTaintNotRemoved?", ""},
		{"no agent's, declared as a lasting one",
			do(aged(minute), tainted(taint("example.com/team", noSchedule)), func(w *world) { w.pool.Value.Taints = []evidence.Taint{taint("example.com/team", noSchedule)} }), "", ""},
		{"no agent's, declared with another effect", do(aged(minute), tainted(taint("example.com/team", noSchedule)), declares(taint("example.com/team", noExecute))),
			"UndeclaredStartupTaint", "declares only with the effect NoExecute"},
		{"no agent's, with which the user data registers", do(aged(minute), tainted(taint("example.com/team", noSchedule)), registers("example.com/team=a:NoSchedule")),
			"UndeclaredStartupTaint", "with which its user data has the kubelet register"},
		{"no agent's, with which the launch template registers", do(aged(minute), tainted(taint("example.com/team", noSchedule)), registers("example.com/team=a:NoSchedule"), func(w *world) { w.template() }),
			"UndeclaredStartupTaint", "take it out of the launch template lt-0123456789abcdef0:3"},
		{"an agent's before nobody's", do(aged(minute), tainted(taint("example.com/team", noSchedule), taint(cilium, noSchedule))),
			"UndeclaredStartupTaint StartupTaintNotRemoved?", "of Cilium"},
		{"no agent's, on a node that works for long",
			do(aged(5*time.Hour), func(w *world) { w.object().Labels["karpenter.sh/initialized"] = "true" }, tainted(taint("example.com/maintenance", noSchedule))), "", ""},
		{"those of nodes that are taken out of service", func(w *world) {
			aged(minute)(w)
			tainted(taint("node.kubernetes.io/unschedulable", noSchedule), taint("karpenter.sh/disrupted", noSchedule), taint("karpenter.sh/rebooting", noSchedule), taint("ToBeDeletedByClusterAutoscaler", noSchedule),
				taint("aws-node-termination-handler/spot-itn", noSchedule), taint("node.cloudprovider.kubernetes.io/shutdown", noSchedule))(w)
		}, "", ""},
		{"one that resembles Karpenter's", do(aged(minute), tainted(taint("karpenter.sh/unregistred", noExecute))), "UndeclaredStartupTaint", ""},
		{"one that keeps no pod away", do(aged(minute), tainted(taint(cilium, "PreferNoSchedule"))), "StartupTaintNotRemoved?", ""},
		{"a node that is not Karpenter's", do(aged(minute), owned(roll.OwnerManagedNodeGroup), tainted(taint(cilium, noSchedule))), "StartupTaintNotRemoved?", ""},
		{"the NodePool declares it by now", do(aged(3*minute), tainted(taint(cilium, noSchedule)), func(w *world) { w.pool.Value.StartupTaints = []evidence.Taint{taint(cilium, noSchedule)} }),
			"StartupTaintNotRemoved?", ""},
		{"the NodePool was edited, and the claim still declares it",
			do(aged(3*minute), tainted(taint(cilium, noSchedule)), func(w *world) { w.claim().Startup = []evidence.Taint{taint(cilium, noSchedule)} }), "StartupTaintNotRemoved?", ""},
		{"the NodeClaim was not read", do(aged(3*minute), tainted(taint(cilium, noSchedule)), func(w *world) { w.claims = evidence.Skipped[[]evidence.NodeClaim]("") }),
			"UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"the NodePool was not read", do(aged(3*minute), tainted(taint(cilium, noSchedule)), func(w *world) { w.pool = evidence.Failed[evidence.NodePool]("why") }),
			"UndeclaredStartupTaint? StartupTaintNotRemoved?", "kubectl edit nodepool default"},
		{"neither was read", func(w *world) {
			aged(3 * minute)(w)
			tainted(taint(cilium, noSchedule))(w)
			w.pool, w.claims = evidence.Failed[evidence.NodePool]("why"), evidence.Failed[[]evidence.NodeClaim]("why")
		}, "StartupTaintNotRemoved?", ""},
	})
	check(t, roll.NotReady, []test{{"a node that is not ready for another reason", do(aged(3*minute), tainted(taint(cilium, noSchedule))), "UndeclaredStartupTaint?", ""}})
}

func TestThePatchKeepsWhatIsDeclared(t *testing.T) {
	w := of(roll.Uninitialized)
	aged(time.Minute)(w)
	declares(taint(ebs, noExecute), taint(cilium, noExecute))(w)
	tainted(evidence.Taint{Key: cilium, Value: "true", Effect: noSchedule})(w)
	fix := w.analyze().Causes()[0].Fix
	_, patch, _ := strings.Cut(fix, "-p '")
	patch, _, _ = strings.Cut(patch, "'")
	var p struct {
		Spec struct {
			Template struct {
				Spec struct {
					StartupTaints []struct{ Key, Value, Effect string }
				}
			}
		}
	}
	err := json.Unmarshal([]byte(patch), &p)
	must.That(t, err == nil, "%s: %v", patch, err)
	if got, want := fmt.Sprint(p.Spec.Template.Spec.StartupTaints), "[{ebs.csi.aws.com/agent-not-ready  NoExecute} {node.cilium.io/agent-not-ready  NoExecute} {node.cilium.io/agent-not-ready true NoSchedule}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestANodeWithoutANetwork(t *testing.T) {
	tests := []test{
		{"it is not ready for another reason", unready("container runtime is down"), "", ""},
		{"no plugin's pod is there", unready(noNetwork), "CniNotReady", "there is no pod of a known one"},
		{"in the words of older kubelets", unready("docker: network plugin is not ready: cni config uninitialized"), "CniNotReady", ""},
		{"the VPC CNI crashes", do(unready(noNetwork), pod("aws-node", waiting("CrashLoopBackOff"))), "CniNotReady", "aws-node-x7k2p waits in CrashLoopBackOff"},
		{"kube-proxy crashes too", do(unready(noNetwork), pod("aws-node", waiting("CrashLoopBackOff")), pod("kube-proxy", waiting("CrashLoopBackOff"))),
			"CniNotReady", "the pod kube-proxy-x7k2p waits in CrashLoopBackOff, by which the plugin reaches the API server, and the pod aws-node-x7k2p waits"},
		{"the VPC CNI crashes without the agent of its role", do(unready(noNetwork), pod("aws-node", identified("CrashLoopBackOff"))),
			"CniNotReady", "aws-node-x7k2p waits in CrashLoopBackOff; it gets its IAM role from the EKS Pod Identity Agent, of which no pod is on the node"},
		{"the agent of its role crashes too", do(unready(noNetwork), pod("aws-node", identified("CrashLoopBackOff")), pod("eks-pod-identity-agent", waiting("CrashLoopBackOff"))),
			"CniNotReady", "the pod eks-pod-identity-agent-x7k2p waits in CrashLoopBackOff, from which the plugin gets its IAM role, and the pod aws-node-x7k2p waits"},
		{"the agent of its role works", do(unready(noNetwork), pod("aws-node", identified("CrashLoopBackOff")), pod("eks-pod-identity-agent", func(*evidence.Pod) {})),
			"CniNotReady", "no network plugin (CNI) has started on it: the pod aws-node-x7k2p waits in CrashLoopBackOff"},
		{"kube-proxy waits for its image too", do(unready(noNetwork), pod("aws-node", waiting("ImagePullBackOff")), pod("kube-proxy", waiting("ImagePullBackOff"))),
			"CniNotReady", "no network plugin (CNI) has started on it: the pod aws-node-x7k2p waits in ImagePullBackOff"},
		{"a plugin that is chained to the VPC CNI crashes", do(unready(noNetwork), pod("aws-node", func(p *evidence.Pod) { p.Ready = true }), pod("cilium", waiting("CrashLoopBackOff"))),
			"CniNotReady", "no network plugin (CNI) has started on it: the pod cilium-x7k2p waits in CrashLoopBackOff"},
		{"its pods were not read", do(unready(noNetwork), func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("why") }), "CniNotReady", "spec.nodeName=" + name},
		{"its runtime went down before a plugin started", unready("[container runtime is down, " + noNetwork + "]"), "", ""},
		{"its runtime hangs, and answers", unready("[PLEG is not healthy: pleg was last seen active 5m0s ago; threshold is 3m0s, " + noNetwork + "]"), "CniNotReady", ""},
		{"its kubelet has not finished its start", unready(unstarted), "", ""},
		{"it is silent with that message", do(unready(noNetwork), func(w *world) { w.object().Conditions[0].Status = "Unknown" }), "", ""},
	}
	check(t, roll.NotReady, tests)
	check(t, roll.Uninitialized, tests)
	w := of(roll.NotReady)
	unready("[container runtime is down, " + noNetwork + "]")(w)
	causetest.NotChecked(t, "its runtime went down", w.analyze(), "", cause.CniNotReady, cause.CniMissing)
	unready(unstarted)(w)
	causetest.NotChecked(t, "its kubelet has not finished its start", w.analyze(), "", cause.CniNotReady, cause.CniMissing)
}

// What keeps a pod from starting, such as its sandbox or a probe, may show in its events alone.
func TestWhatAPodsEventsSayIsEvidence(t *testing.T) {
	failed := []evidence.Event{{Message: "Back-off"}, {Message: "no runtime for \"nvidia\" is configured"}}
	for name, tt := range map[string]struct {
		pod  evidence.Pod
		want string
	}{
		"it waits, and says no more": {evidence.Pod{Waiting: "PodInitializing", Events: failed}, "waits in PodInitializing: no runtime for \"nvidia\" is configured"},
		"it says why itself":         {evidence.Pod{Waiting: "CrashLoopBackOff", Message: "back-off 5m0s", Events: failed}, "waits in CrashLoopBackOff: back-off 5m0s"},
		"it is ready by now":         {evidence.Pod{Ready: true, Events: failed}, "is ready"},
		"it has none":                {evidence.Pod{Phase: "Pending"}, "is Pending"},
	} {
		w := of(roll.NotReady)
		unready(noNetwork)(w)
		pod("aws-node", func(p *evidence.Pod) {
			p.Ready, p.Phase, p.Waiting, p.Message, p.Events = tt.pod.Ready, tt.pod.Phase, tt.pod.Waiting, tt.pod.Message, tt.pod.Events
		})(w)
		rows := w.analyze().Causes()[0].Evidence
		expect.Equal(t, rows[len(rows)-1].Observed, tt.want, "%s", name)
	}
}

// A cluster without any network plugin: no node has one, and no DaemonSet may be one.
func TestAClusterWithoutANetworkPlugin(t *testing.T) {
	sets := func(all ...evidence.DaemonSet) func(*world) {
		return do(unready(noNetwork), func(w *world) { w.sets = evidence.Read(append([]evidence.DaemonSet{}, all...)) })
	}
	with := func(name string, paths ...string) evidence.DaemonSet {
		return evidence.DaemonSet{Namespace: "kube-system", Name: name, HostPaths: paths}
	}
	but := func(change func(*world), all ...evidence.DaemonSet) func(*world) {
		return do(sets(all...), change)
	}
	tests := []test{
		{"there is no DaemonSet", sets(), "CniMissing CniNotReady", "aws eks create-addon --cluster-name payments --addon-name vpc-cni --region eu-west-1"},
		{"others are there", sets(with("kube-proxy", "/lib/modules", "/run/xtables.lock"), with("ebs-csi-node", "/var/lib/kubelet", "/dev")), "CniMissing CniNotReady", "none of its 2 DaemonSets is one"},
		{"an older node says it in other words", but(unready("docker: network plugin is not ready: cni config uninitialized")), "CniMissing CniNotReady", ""},
		{"the VPC CNI is there, and has no pod", sets(with("kube-proxy"), with("aws-node", "/opt/cni/bin", "/etc/cni/net.d")), "CniNotReady", ""},
		{"Cilium is there", sets(with("cilium")), "CniNotReady", ""},
		{"Calico is there, in Windows' name", sets(with("calico-node-windows")), "CniNotReady", ""},
		{"another node is Ready", but(func(w *world) { w.networked = evidence.Read("ip-10-0-0-9") }), "CniNotReady", ""},
		{"it is Auto Mode's", but(func(w *world) { w.finding.Owner = roll.OwnerAutoMode }), "CniNotReady", ""},
		{"it is a Windows node", but(func(w *world) { w.object().Labels["kubernetes.io/os"] = "windows" }), "CniNotReady", ""},
		{"it is not ready for another reason", but(unready("container runtime is down")), "", ""},
		{"a pod of the plugin is left", but(pod("aws-node", func(p *evidence.Pod) { p.Ready = false })), "CniNotReady", ""},
		{"an unknown one installs itself", sets(with("netd", "/etc/cni/net.d")), "CniNotReady", ""},
		{"an unknown one mounts the host", sets(with("net-agent", "/")), "CniNotReady", ""},
		{"an unknown one is called so", sets(with("acme-cni")), "CniNotReady", ""},
		{"the DaemonSets were not read", but(func(w *world) { w.sets = evidence.Failed[[]evidence.DaemonSet]("denied") }), "CniNotReady", ""},
		{"its pods were not read", but(func(w *world) { w.node.Pods = evidence.Failed[[]evidence.Pod]("denied") }), "CniNotReady", ""},
		{"the nodes were not all read", but(func(w *world) { w.networked = evidence.Skipped[string]("410") }), "CniNotReady", ""},
	}
	check(t, roll.NotReady, tests)
	check(t, roll.Uninitialized, tests)
	for _, tt := range tests[11:] {
		w := of(roll.NotReady)
		tt.spoil(w)
		s := w.analyze()
		expect.That(t, !s.Decided(cause.CniMissing) && s.Noted(cause.CniMissing), "%s: it is not told that it was not checked", tt.name)
	}
}

func TestKubeletsThatStartTwice(t *testing.T) {
	const minute, second = time.Minute, time.Second
	young := func(age time.Duration, at ...time.Duration) func(*world) {
		return do(aged(age), unready("PLEG is not healthy"), starts(at...))
	}
	const flap = "KubeletRestartedDuringStartup"
	check(t, roll.NotReady, []test{
		{"once", young(5*minute, -2*second), "", ""},
		{"no start is told", young(5 * minute), "", ""},
		{"twice", young(5*minute, -2*second, 90*second), flap, "which passes"},
		{"twice, and overdue", young(20*minute, -2*second, 90*second), flap, ""},
		{"twice, long ago", young(30*minute, -2*second, 90*second), flap + "?", ""},
		{"twice, the second time late", young(20*minute, -2*second, 11*minute), "", ""},
		{"three times, the last late", young(20*minute, -2*second, 90*second, 11*minute), flap + "?", "again and again"},
		{"five times", young(5*minute, 0, minute, 2*minute, 3*minute, 4*minute), flap, ""},
		{"six times", young(6*minute, 0, minute, 2*minute, 3*minute, 4*minute, 5*minute), flap + "?", "again and again"},
		{"twice in one event", do(young(5*minute, 0), func(w *world) {
			w.node.Events.Value[0].Count, w.node.Events.Value[0].Last = 2, w.object().Created.Add(minute)
		}), flap, ""},
		{"in one event, begun by another node of its name",
			do(young(5*minute, 0), func(w *world) {
				w.node.Events.Value[0].Count, w.node.Events.Value[0].First = 2, w.object().Created.Add(-20*minute)
			}), "", ""},
		{"another node of its name did", young(5*minute, -30*minute, -20*minute, 0), "", ""},
		{"the kube-proxy started too",
			do(young(5*minute, 0), func(w *world) {
				w.node.Events.Value = append(w.node.Events.Value, evidence.Event{Reason: "Starting", Last: w.object().Created.Add(minute), Count: 1})
			}), "", ""},
		{"twice, and its lease ran out", do(young(5*minute, 0, minute), func(w *world) { w.node.Lease.Value.Renewed = now.Add(-3 * minute) }), "", ""},
		{"twice, and it has no lease", do(young(5*minute, 0, minute), func(w *world) { w.node.Lease = evidence.None[evidence.Lease]() }), "", ""},
		{"twice, and its lease was not read", do(young(5*minute, 0, minute), func(w *world) { w.node.Lease = evidence.Failed[evidence.Lease]("why") }), "", ""},
		{"twice, and the network is missing", do(young(5*minute, 0, minute), unready(noNetwork)), flap + " CniNotReady", ""},
		{"twice, and the network is missing beyond its time", do(young(20*minute, 0, minute), unready(noNetwork)), "CniNotReady", ""},
		{"again and again, and the network is missing as well", do(young(20*minute, 0, 6*second, 12*second, 18*second, 24*second, 30*second, 36*second), unready(unstarted)), flap + "?", "again and again"},
		{"twice, and the runtime went down after it answered", do(young(20*minute, 0, minute), unready("container runtime is down")), "", ""},
		{"twice, and the runtime hangs since it answered", do(young(20*minute, 0, minute), unready("PLEG is not healthy: pleg was last seen active 12m0s ago; threshold is 3m0s")), "", ""},
		{"twice, and the runtime has not answered since", do(young(20*minute, 0, minute), unready("[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]")), flap, ""},
	})
	check(t, roll.Uninitialized, []test{
		{"a node that has its flap behind it", do(starts(0, minute), tainted(taint(ebs, noExecute)), declares(taint(ebs, noExecute))), "StartupTaintNotRemoved " + flap + "?", ""},
		{"a node that is Ready again within its time", do(aged(6*minute), starts(0, minute)), flap, ""},
		{"a node that is Ready again, and has a taint left", do(aged(6*minute), starts(0, minute), tainted(taint(cilium, noSchedule))), "UndeclaredStartupTaint " + flap + "? StartupTaintNotRemoved?", ""},
		{"a node that is Ready again, and waits for a resource", do(aged(6*minute), starts(0, minute), func(w *world) { w.claim().Conditions[1].Reason = "ResourceNotRegistered" }),
			flap + "? ResourceNotRegistered?", ""},
		{"a node that is Ready again, and is not in time", starts(0, minute), flap + "?", ""},
	})
	check(t, roll.Flapping, []test{{"a node that is Ready again", do(aged(8*minute), starts(0, minute, 3*minute)), flap, ""}})
}

func TestNodeClaimsThatFollowEachOther(t *testing.T) {
	const second, minute = time.Second, time.Minute
	surprised := do(aged(3*minute), tainted(taint(cilium, noSchedule)))
	const undeclared = "UndeclaredStartupTaint DuplicateLaunch StartupTaintNotRemoved?"
	check(t, roll.Uninitialized, []test{
		{"one alone", aged(3 * minute), "", ""},
		{"a second after an undeclared taint", do(surprised, sibling(70*second)), undeclared, ""},
		{"a second in the same decision", do(surprised, sibling(10*second)), "UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"a second in the same decision, and times to the second", do(surprised, func(w *world) { w.claim().Conditions[0].Since = w.claim().Created }, sibling(10*second)),
			"UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"a second before the first was a node", do(surprised, sibling(45*second)), undeclared, ""},
		{"a second much later", do(aged(9*minute), tainted(taint(cilium, noSchedule)), sibling(5*minute+second)), "UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"a second of another NodePool", do(surprised, sibling(70*second, func(c *evidence.NodeClaim) { c.NodePool = "gpu" })), "UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"a second after the first was initialized", func(w *world) {
			surprised(w)
			w.object().Labels["karpenter.sh/initialized"] = "true"
			w.claim().Conditions[1] = evidence.Condition{Type: "Initialized", Status: "True", Since: w.claim().Created.Add(60 * second)}
			sibling(70 * second)(w)
		}, "UndeclaredStartupTaint StartupTaintNotRemoved?", ""},
		{"a second, initialized since", func(w *world) {
			surprised(w)
			w.claim().Conditions[1] = evidence.Condition{Type: "Initialized", Status: "True", Since: w.claim().Created.Add(100 * second)}
			sibling(70 * second)(w)
		}, undeclared, ""},
		{"a second, for no reason that shows", do(aged(3*minute), sibling(70*second)), "DuplicateLaunch?", ""},
		{"an old node, and two claims at its start", do(aged(40*minute), sibling(70*second)), "", ""},
		{"a second after a flap of the first", do(aged(3*minute), unready("PLEG is not healthy"), starts(0, minute), sibling(2*minute)), "KubeletRestartedDuringStartup DuplicateLaunch", ""},
		{"it is the second, and the first has the taint", func(w *world) {
			aged(minute)(w)
			w.other = of(roll.Uninitialized).node
			w.other.Object.Value.Created = now.Add(-4 * minute)
			w.other.Object.Value.Taints = []evidence.Taint{taint(cilium, noSchedule)}
			sibling(-2*minute, func(c *evidence.NodeClaim) {
				c.Node = twin
				c.Conditions = []evidence.Condition{{Type: "Registered", Status: "True", Since: now.Add(-3 * minute)}}
			})(w)
		}, "DuplicateLaunch", "default-zzzzz"},
	})
	check(t, roll.Unregistered, []test{
		{"it never became a node, and follows one with the taint", func(w *world) {
			w.finding.Node = ""
			aged(minute)(w)
			w.other = of(roll.Uninitialized).node
			w.other.Object.Value.Created = now.Add(-4 * minute)
			w.other.Object.Value.Taints = []evidence.Taint{taint(cilium, noSchedule)}
			sibling(-2*minute, func(c *evidence.NodeClaim) {
				c.Node = twin
				c.Conditions = []evidence.Condition{{Type: "Registered", Status: "True", Since: now.Add(-3 * minute)}}
			})(w)
		}, "DuplicateLaunch?", ""},
	})
}

// A settled duplicate only costs money; that is reported once.
func TestADuplicateThatHasSettled(t *testing.T) {
	const minute = time.Minute
	initialized := evidence.Condition{Type: "Initialized", Status: "True"}
	// pair returns two nodes that both work, of which the first flapped while it started.
	pair := func(age time.Duration, more ...func(*world)) func(*world) {
		return func(w *world) {
			aged(age)(w)
			initialized.Since = w.object().Created.Add(5 * minute)
			w.claim().Conditions[1] = initialized
			w.claim().Type, w.claim().Capacity = "m7i.large", "on-demand"
			w.object().Labels["karpenter.sh/initialized"] = "true"
			sibling(2*minute, func(c *evidence.NodeClaim) {
				c.Conditions = []evidence.Condition{{Type: "Registered", Status: "True"}, initialized}
				c.Type, c.Capacity = "m7i.xlarge", "spot"
			})(w)
			for _, f := range more {
				f(w)
			}
		}
	}
	other := func(kind roll.Kind, stage roll.Stage) func(*world) {
		return func(w *world) {
			w.findings = append(w.findings, roll.Finding{Instance: "i-00000002", Kind: kind, Stage: stage})
		}
	}
	check(t, roll.Flapping, []test{
		{"both work", pair(40 * minute), "DuplicateLaunch?", "both work by now, and both are billed: m7i.large (on-demand) for 41 min and m7i.xlarge (spot) for 39 min"},
		{"both work, and only EC2 tells the type of one", pair(40*minute, func(w *world) {
			w.claim().Type, w.claim().Capacity = "", ""
			w.claims.Value[1].Type, w.claims.Value[1].Capacity = "", ""
		}), "DuplicateLaunch?", "m7i.large for 41 min and an instance of unknown type for 39 min"},
		{"both flap, and this is the first", pair(40*minute, other(roll.Flapping, roll.Overdue)), "", ""},
		{"both flap, and nobody is told of the second", pair(40*minute, other(roll.Flapping, roll.Watching)), "DuplicateLaunch?", ""},
		{"the second is not ready", pair(40*minute, other(roll.NotReady, roll.Watching)), "", ""},
		{"the second is not initialized", pair(40*minute, func(w *world) { w.claims.Value[1].Conditions = nil }), "", ""},
		{"at the end of what is remembered", pair(90*minute - time.Minute), "DuplicateLaunch?", ""},
		{"long ago", pair(90 * minute), "", ""},
		{"an ordinary scale-up", pair(40*minute, func(w *world) { w.claims.Value[1].Created = w.claim().Created.Add(time.Second) }), "", ""},
	})
}

func TestResourcesThatNobodyRegisters(t *testing.T) {
	waits := func(reason, message string) func(*world) {
		return func(w *world) {
			w.claim().Conditions[1] = evidence.Condition{Type: "Initialized", Status: "Unknown", Reason: reason, Message: message}
		}
	}
	const gpu = `Resource "nvidia.com/gpu" was requested but not registered`
	const podENI = `Resource "vpc.amazonaws.com/pod-eni" was requested but not registered`
	check(t, roll.Uninitialized, []test{
		{"a GPU", waits("ResourceNotRegistered", gpu), "ResourceNotRegistered", "the resource nvidia.com/gpu, which no device plugin has registered"},
		{"a GPU, whose plugin crashes", do(waits("ResourceNotRegistered", gpu), pod("nvidia-device-plugin-daemonset", waiting("CrashLoopBackOff"))),
			"ResourceNotRegistered", "waits in CrashLoopBackOff"},
		{"a GPU, whose plugin was installed by Helm and crashes", do(waits("ResourceNotRegistered", gpu), pod("nvdp-nvidia-device-plugin", waiting("CrashLoopBackOff"))),
			"ResourceNotRegistered", "nvdp-nvidia-device-plugin-x7k2p waits in CrashLoopBackOff"},
		{"a GPU, whose plugin selects nodes with a label of node feature discovery", do(waits("ResourceNotRegistered", gpu), pod("kube-proxy", func(*evidence.Pod) {}), func(w *world) {
			w.sets = evidence.Read([]evidence.DaemonSet{{Namespace: "nvidia", Name: "nvdp-nvidia-device-plugin", Affinity: [][]evidence.Requirement{
				{{Key: "feature.node.kubernetes.io/pci-10de.present", Operator: "In", Values: []string{"true"}}}, {{Key: "nvidia.com/gpu.present", Operator: "In", Values: []string{"true"}}},
			}}})
		}), "ResourceNotRegistered", "the DaemonSet nvidia/nvdp-nvidia-device-plugin gets no pod there, since it selects other nodes (feature.node.kubernetes.io/pci-10de.present In [true], or nvidia.com/gpu.present In [true])"},
		{"a GPU, and there is no plugin", do(waits("ResourceNotRegistered", gpu), pod("kube-proxy", func(*evidence.Pod) {}), func(w *world) {
			w.sets = evidence.Read([]evidence.DaemonSet{{Namespace: "kube-system", Name: "kube-proxy"}})
		}), "ResourceNotRegistered", "which no device plugin has registered"},
		{"an EFA, whose plugin was installed by the chart of EKS and crashes", do(waits("ResourceNotRegistered", `Resource "vpc.amazonaws.com/efa" was requested but not registered`), pod("aws-efa-k8s-device-plugin", waiting("CrashLoopBackOff"))),
			"ResourceNotRegistered", "aws-efa-k8s-device-plugin-x7k2p waits in CrashLoopBackOff"},
		{"cores of a Neuron device", do(waits("ResourceNotRegistered", `Resource "aws.amazon.com/neuroncore" was requested but not registered`), pod("neuron-device-plugin", waiting("ImagePullBackOff"))),
			"ResourceNotRegistered", "neuron-device-plugin-x7k2p waits in ImagePullBackOff"},
		{"a GPU, within the tolerance", do(aged(5*time.Minute), waits("ResourceNotRegistered", gpu)), "ResourceNotRegistered?", ""},
		{"huge pages, of a NodeOverlay", waits("ResourceNotRegistered", `Resource "hugepages-2Mi" was requested but not registered`), "ResourceNotRegistered", "hugepages-2Mi: its kubelet found none that the kernel had set aside"},
		{"huge pages: how to set them aside", waits("ResourceNotRegistered", `Resource "hugepages-1Gi" was requested but not registered`), "ResourceNotRegistered", "before the kubelet starts"},
		{"another resource", waits("ResourceNotRegistered", `Resource "example.com/fpga" was requested but not registered`), "ResourceNotRegistered", "example.com/fpga"},
		{"a trunk interface", do(waits("ResourceNotRegistered", podENI), pod("aws-node", func(*evidence.Pod) {})), "ResourceNotRegistered",
			"which the VPC resource controller of EKS has not registered: it does once aws-node has ENABLE_POD_ENI=true"},
		{"a trunk interface, which the controller may not create", do(waits("ResourceNotRegistered", podENI), func(w *world) {
			w.node.Events.Value = append(w.node.Events.Value,
				evidence.Event{Type: "Warning", Reason: "TrunkENICreationFailed", Message: "Failed to create trunk interface: Error Code: UnauthorizedOperation: Please verify the cluster IAM role has AmazonEKSVPCResourceController policy"},
				evidence.Event{Type: "Normal", Reason: "NodeTrunkFailedInit", Message: "The node failed initializing trunk interface"})
		}), "ResourceNotRegistered", "has not registered: Failed to create trunk interface: Error Code: UnauthorizedOperation"},
		{"addresses of Windows", waits("ResourceNotRegistered", `Resource "vpc.amazonaws.com/PrivateIPv4Address" was requested but not registered`), "ResourceNotRegistered", "enable-windows-ipam"},
		{"a driver", waits("DRADriverPoolsNotPublished", `DRA driver "gpu.nvidia.com" has not published a complete resource pool`), "ResourceNotRegistered", "the DRA driver gpu.nvidia.com"},
		{"a startup taint", waits("StartupTaintsExist", stillExists), "", ""},
		{"it was said before it was initialized", do(waits("ResourceNotRegistered", gpu), func(w *world) { w.claim().Conditions[1].Status = "True" }), "", ""},
		{"a node that is not Karpenter's", do(waits("ResourceNotRegistered", gpu), owned(roll.OwnerAutoScalingGroup)), "", ""},
		{"the NodeClaim was not read", do(waits("ResourceNotRegistered", gpu), func(w *world) { w.claims = evidence.Failed[[]evidence.NodeClaim]("why") }), "", ""},
	})
}

func TestWhatIsInOrderIsRuledOut(t *testing.T) {
	tests := []struct {
		kind  roll.Kind
		owner roll.Owner
		want  []cause.Code
	}{
		{roll.Uninitialized, roll.OwnerKarpenter, []cause.Code{
			cause.CniMissing, cause.UndeclaredStartupTaint, cause.KubeletRestartedDuringStartup, cause.ResourceNotRegistered, cause.StartupTaintNotRemoved, cause.NodeLabelsMismatch, cause.CniNotReady, cause.DuplicateLaunch}},
		{roll.Uninitialized, roll.OwnerManagedNodeGroup, []cause.Code{cause.CniMissing, cause.KubeletRestartedDuringStartup, cause.StartupTaintNotRemoved, cause.NodeLabelsMismatch, cause.CniNotReady}},
		{roll.NotReady, roll.OwnerKarpenter, []cause.Code{cause.CniMissing, cause.UndeclaredStartupTaint, cause.KubeletRestartedDuringStartup, cause.NodeLabelsMismatch, cause.CniNotReady, cause.DuplicateLaunch}},
		{roll.Ghost, roll.OwnerKarpenter, nil},
	}
	for _, tt := range tests {
		w := of(tt.kind)
		w.finding.Owner = tt.owner
		starts(0)(w)
		expect.List(t, w.analyze().Clear(), tt.want, "%s of %s: ruled out", tt.kind, tt.owner)
	}
}

func TestWhatWasNotReadIsNotChecked(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*world)
		codes []cause.Code
		words string
	}{
		{"the node", func(w *world) { w.node.Object = evidence.Failed[evidence.NodeObject]("no permission") },
			[]cause.Code{cause.StartupTaintNotRemoved, cause.CniNotReady, cause.CniMissing, cause.UndeclaredStartupTaint, cause.KubeletRestartedDuringStartup, cause.NodeLabelsMismatch}, "no permission"},
		{"the node is gone", func(w *world) { w.node.Object = evidence.None[evidence.NodeObject]() }, []cause.Code{cause.StartupTaintNotRemoved}, "there is no node"},
		{"the events", func(w *world) { w.node.Events = evidence.Failed[[]evidence.Event]("no permission") }, []cause.Code{cause.KubeletRestartedDuringStartup}, "no permission"},
		{"the events tell nothing", func(*world) {}, []cause.Code{cause.KubeletRestartedDuringStartup}, "proves nothing"},
		{"the lease", do(starts(0, time.Minute), func(w *world) { w.node.Lease = evidence.Skipped[evidence.Lease]("") }), []cause.Code{cause.KubeletRestartedDuringStartup}, "was not read"},
		{"the NodeClaims", func(w *world) { w.claims = evidence.Failed[[]evidence.NodeClaim]("forbidden") }, []cause.Code{cause.ResourceNotRegistered, cause.DuplicateLaunch}, "forbidden"},
		{"what is declared", func(w *world) {
			tainted(taint("example.com/warming-up", noSchedule))(w)
			w.claims, w.pool = evidence.Failed[[]evidence.NodeClaim]("forbidden"), evidence.Failed[evidence.NodePool]("forbidden")
		}, []cause.Code{cause.StartupTaintNotRemoved, cause.UndeclaredStartupTaint}, "forbidden"},
		{"the first of two nodes", func(w *world) {
			aged(3 * time.Minute)(w)
			w.node.Object = evidence.Failed[evidence.NodeObject]("sampled")
			w.claim().Conditions = nil
			sibling(70 * time.Second)(w)
		}, []cause.Code{cause.DuplicateLaunch}, "sampled"},
	}
	for _, tt := range tests {
		w := of(roll.Uninitialized)
		tt.spoil(w)
		causetest.NotChecked(t, tt.name, w.analyze(), tt.words, tt.codes...)
	}
}

// Names come from the cluster's API, or from whoever wrote a bundle.
func TestNamesAreQuotedForTheShell(t *testing.T) {
	w := of(roll.Uninitialized)
	w.object().Name = "node; rm -rf x"
	tainted(taint(cilium, noExecute))(w)
	fix := w.analyze().Causes()[0].Fix
	if strings.Contains(strings.ReplaceAll(fix, "'node; rm -rf x'", ""), " node; rm") {
		t.Error(fix)
	}
}

// Whatever is unreadable, nothing becomes decisive that was not. NodeClaims are made from their
// NodePool: an edit of one is no longer visible once the other is hidden.
func TestWhatIsHiddenIsNeverAFault(t *testing.T) {
	spoil := []func(*world){
		aged(3 * time.Minute),
		aged(12 * time.Minute),
		tainted(taint(cilium, noSchedule)),
		declares(taint(cilium, noExecute)),
		declares(taint(cilium, noSchedule)),
		tainted(taint(ebs, noExecute)),
		tainted(taint("karpenter.sh/unregistered", noExecute)),
		tainted(taint("example.com/team", noSchedule)),
		unready(noNetwork),
		starts(0, time.Minute),
		sibling(80 * time.Second),
		func(w *world) { w.node.Lease.Value.Renewed = now.Add(-time.Hour) },
		func(w *world) { w.claim().Conditions[1].Reason = "ResourceNotRegistered" },
		func(w *world) { w.finding.Owner = roll.OwnerManagedNodeGroup },
		registers("example.com/team:NoSchedule"),
		func(w *world) { w.claim().Conditions[1].Status = "True" },
	}
	hide := []func(*world, string){
		func(w *world, why string) { w.node.Object = evidence.Failed[evidence.NodeObject](why) },
		func(w *world, why string) { w.node.Lease = evidence.Skipped[evidence.Lease](why) },
		func(w *world, why string) { w.node.Events = evidence.Failed[[]evidence.Event](why) },
		func(w *world, why string) { w.node.Pods = evidence.Skipped[[]evidence.Pod](why) },
		func(w *world, why string) { w.claims = evidence.Failed[[]evidence.NodeClaim](why) },
		func(w *world, why string) { w.pool = evidence.Skipped[evidence.NodePool](why) },
		func(w *world, why string) { w.data = evidence.Failed[userdata.Boot](why) },
	}
	causetest.Hidden(t, of, (*world).analyze, 3, spoil, hide, whole)
}

func ExampleAnalyze() {
	w := of(roll.Uninitialized)
	aged(3 * time.Minute)(w)
	tainted(taint(cilium, noSchedule))(w)
	declares(taint(cilium, noExecute))(w)
	for _, c := range w.analyze().Causes() {
		fmt.Println(c.Code, c.Confidence)
	}
	// Output:
	// UndeclaredStartupTaint decisive
	// StartupTaintNotRemoved suggestive
}
