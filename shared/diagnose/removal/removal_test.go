package removal_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/removal"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

var at = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

const karpenters = "karpenter.sh/termination"

// parts are what a case changes.
type parts struct {
	f      *roll.Finding
	n      *evidence.Node
	c      *evidence.NodeClaim
	shifts []string
}

// do combines the changes of a case.
func do(steps ...func(*parts)) func(*parts) { return causetest.Do(steps...) }

func unready(p *evidence.Pod) { p.Ready = false }

// pod leaves a pod on the node.
func pod(change ...func(*evidence.Pod)) func(*parts) {
	return func(w *parts) {
		p := web
		causetest.Do(change...)(&p)
		w.n.Pods.Value = []evidence.Pod{p}
	}
}

// ended ends the instance of the node 80 minutes ago.
func ended(w *parts) {
	w.f.Removal.State = roll.StateTerminated
	w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-80 * time.Minute)}
}

// ofWeb returns a budget that covers the pod; ready counts those of the healthy pods on the node.
func ofWeb(healthy, desired, ready int) roll.Budget {
	return roll.Budget{Name: "shop/web", Healthy: healthy, Desired: desired, Pods: []string{"shop/web-1"}, Ready: ready}
}

func budgets(all ...roll.Budget) func(*parts) { return func(w *parts) { w.n.Budgets.Value = all } }

// stuck returns a Karpenter node that was deleted 90 minutes ago with its NodeClaim, and whose
// drain is not over. Nothing is left on it.
func stuck(change func(*parts)) *evidence.Case {
	f := roll.Finding{
		Kind: roll.Stuck, Instance: "nodeclaim/default-abc", Node: "ip-1", Group: "nodepool/default", Owner: roll.OwnerKarpenter, Stage: roll.Overdue, Since: at.Add(-90 * time.Minute),
		Removal: roll.Removal{Claim: "default-abc", ClaimFinalizers: karpenters, NodeFinalizers: karpenters, Machine: "i-0bad0000000000001", State: roll.StateRunning},
	}
	n := evidence.Node{
		Pods: evidence.Read([]evidence.Pod{}), Budgets: evidence.Read([]roll.Budget{}), Events: evidence.Read([]evidence.Event{}),
		Object: evidence.Read(evidence.NodeObject{Name: "ip-1", Conditions: []evidence.Condition{{Type: "Ready", Status: "True", Since: at.Add(-24 * time.Hour)}}}),
	}
	c := evidence.NodeClaim{Name: "default-abc", Node: "ip-1", Conditions: []evidence.Condition{{Type: "Drained", Status: "Unknown", Reason: "Draining", Since: f.Since}}}
	w := &parts{&f, &n, &c, nil}
	change(w)
	e := &evidence.Evidence{At: at, Region: "eu-west-1", Shifts: w.shifts, Nodes: map[string]evidence.Node{"ip-1": n}, Groups: map[roll.Group]evidence.Group{}}
	if f.Removal.Claim != "" {
		e.Groups["nodepool/default"] = evidence.Group{NodeClaims: evidence.Read([]evidence.NodeClaim{c})}
	}
	return &evidence.Case{Evidence: e, Finding: f}
}

func event(reason string, ago time.Duration) evidence.Event {
	return evidence.Event{Reason: reason, Message: reason, Last: at.Add(-ago)}
}

var web = evidence.Pod{Namespace: "shop", Name: "web-1", Owner: "ReplicaSet/web", Phase: "Running", Ready: true}

func TestWhatADeletedNodeWaitsFor(t *testing.T) {
	done := []evidence.Condition{{Type: "Drained", Status: "True"}, {Type: "VolumesDetached", Status: "True"}}
	tests := []struct {
		name   string
		change func(*parts)
		want   string // codes found, decisive ones with !
		says   string
		out    string // ruled out
	}{
		{"a budget that allows nothing", do(pod(), budgets(ofWeb(1, 1, 1))),
			"DrainBlocked!", "PodDisruptionBudget shop/web", "FinalizerHeld"},
		{"a budget that allows it", do(pod(), budgets(ofWeb(3, 2, 1))),
			"DrainBlocked", "no disruption budget", "FinalizerHeld"},
		{"do-not-disrupt", func(w *parts) {
			pod(func(p *evidence.Pod) {
				p.NotToDisrupt, p.Started = "karpenter.sh/do-not-disrupt=true", at.Add(-5*time.Hour)
			})(w)
			w.n.Events.Value = []evidence.Event{event("FailedDraining", time.Minute)}
		}, "DrainBlocked!", "shop/web-1 is annotated", "FinalizerHeld FinalizerOwnerGone"},
		{"two budgets of one pod, both of which allow it", do(pod(), budgets(roll.Budget{Name: "shop/all", Healthy: 9, Desired: 2, Pods: []string{"shop/web-1"}}, ofWeb(3, 2, 0))),
			"DrainBlocked!", "several PodDisruptionBudgets (shop/all, shop/web)", ""},
		{"a budget of a pod that is not ready, while enough are", do(pod(unready), budgets(ofWeb(2, 2, 0))), "DrainBlocked", "no disruption budget", ""},
		{"a budget of a pod that is not ready, and too few are",
			do(pod(unready), budgets(ofWeb(1, 2, 0))), "DrainBlocked!", "shop/web", ""},
		{"the same, and the budget always lets such pods go", do(pod(unready), budgets(ofWeb(1, 2, 0)), func(w *parts) { w.n.Budgets.Value[0].AlwaysAllow = true }),
			"DrainBlocked", "no disruption budget", ""},
		{"a budget of a pod that tolerates the drain", do(pod(func(p *evidence.Pod) { p.Stays = true }), budgets(ofWeb(1, 1, 0))),
			"FinalizerOwnerGone", "perhaps Karpenter does not run", "DrainBlocked"},
		{"a pod with a grace period of a day", pod(func(p *evidence.Pod) { p.Deleting = at.Add(20 * time.Hour) }), "DrainBlocked!", "grace period lasts until", ""},
		{"a pod that is beyond its grace period", pod(func(p *evidence.Pod) { p.Deleting = at.Add(-time.Hour) }), "FinalizerOwnerGone", "perhaps Karpenter does not run", "DrainBlocked"},
		{"an annotation whose time is over", pod(func(p *evidence.Pod) {
			p.NotToDisrupt, p.Started = "karpenter.sh/do-not-disrupt=4h", at.Add(-5*time.Hour)
		}), "DrainBlocked", "no disruption budget", ""},
		{"an annotation whose time is not over", pod(func(p *evidence.Pod) {
			p.NotToDisrupt, p.Started = "karpenter.sh/do-not-disrupt=24h", at.Add(-5*time.Hour)
		}), "DrainBlocked!", "do-not-disrupt=24h", ""},
		{"Karpenter names the budget, and budgets are unread", func(w *parts) {
			w.n.Pods.Value, w.n.Budgets = []evidence.Pod{web}, evidence.Failed[[]roll.Budget]("denied")
			e := event("FailedDraining", time.Minute)
			e.Message = "Failed to drain node, evicting pod violates a PDB (Pod=shop/web-1)"
			w.n.Events.Value = []evidence.Event{e, {Reason: "TerminationGracePeriodExpiring", Message: "All pods will be deleted by 2026-03-10T18:00:00Z", Last: at.Add(-time.Minute)}}
		}, "DrainBlocked!", "shop/web-1); Karpenter says: All pods will be deleted by", ""},
		{"an annotation with a time, and a pod whose start is not known", pod(func(p *evidence.Pod) { p.NotToDisrupt = "karpenter.sh/do-not-disrupt=4h" }), "DrainBlocked!", "do-not-disrupt=4h", ""},
		{"Karpenter drains, and names no budget", do(pod(), func(w *parts) { w.n.Events.Value = []evidence.Event{event("FailedDraining", time.Minute)} }), "DrainBlocked", "no disruption budget", ""},
		{"Karpenter drains, and pods are unread", func(w *parts) { w.n.Pods = evidence.Failed[[]evidence.Pod]("denied") }, "DrainBlocked", "Karpenter waits for the pods of node ip-1", ""},
		{"a budget of a pod that is Pending", do(pod(func(p *evidence.Pod) { p.Phase = "Pending" }), budgets(ofWeb(1, 1, 1))), "DrainBlocked", "no disruption budget", ""},
		{"a budget of a pod that is gone", do(pod(), budgets(roll.Budget{Name: "shop/db", Healthy: 1, Desired: 2, Pods: []string{"shop/db-1"}})), "DrainBlocked", "no disruption budget", ""},
		{"a budget whose status is old", do(pod(), budgets(roll.Budget{Name: "shop/web", Healthy: 3, Desired: 2, Pods: []string{"shop/web-1"}, Unknown: true})), "DrainBlocked!", "its status is not up to date", ""},
		{"a budget that needs none, of a pod that is not ready", do(pod(unready), budgets(ofWeb(0, 0, 0))), "DrainBlocked!", "shop/web", ""},
		{"a budget, and Karpenter's event alone", do(pod(), budgets(ofWeb(1, 1, 1)), func(w *parts) {
			w.c.Conditions, w.n.Events.Value = nil, []evidence.Event{event("FailedDraining", time.Minute)}
		}), "DrainBlocked!", "shop/web", "VolumesAttached"},
		{"a budget, and an old event of Karpenter's", do(pod(), budgets(ofWeb(1, 1, 1)), func(w *parts) {
			w.c.Conditions, w.n.Events.Value = nil, []evidence.Event{event("FailedDraining", 20*time.Minute)}
		}), "DrainBlocked", "shop/web", ""},
		{"a pod without a budget, and nothing says that anybody drains", do(func(w *parts) { w.c.Conditions = nil }, pod()), "", "", ""},
		{"drained, and a pod is left", do(pod(), budgets(ofWeb(1, 1, 1)), func(w *parts) { w.c.Conditions = done }), "InstanceNotTerminating!", "is running", "DrainBlocked"},
		{"a budget, and nothing says that anybody drains", do(func(w *parts) { w.c.Conditions = nil }, pod(), budgets(ofWeb(1, 1, 1))), "DrainBlocked", "shop/web", ""},
		{"a pod of a DaemonSet that does not tolerate the drain, and is not to be disrupted", pod(func(p *evidence.Pod) {
			p.Owner, p.NotToDisrupt = "DaemonSet/logs", "karpenter.sh/do-not-disrupt=true"
		}), "DrainBlocked!", "shop/web-1 is annotated", ""},
		{"such a pod has a grace period of a day", pod(func(p *evidence.Pod) { p.Owner, p.Deleting = "DaemonSet/logs", at.Add(20*time.Hour) }), "DrainBlocked!", "grace period lasts until", ""},
		{"a budget of such a pod", do(pod(func(p *evidence.Pod) { p.Owner = "DaemonSet/logs" }), budgets(ofWeb(1, 1, 1))), "DrainBlocked!", "PodDisruptionBudget shop/web", ""},
		{"only what a drain leaves there", pod(func(p *evidence.Pod) { p.Owner, p.Stays = "DaemonSet/cilium", true }), "FinalizerOwnerGone", "perhaps Karpenter does not run", "DrainBlocked"},
		{"volumes", func(w *parts) {
			w.c.Conditions = []evidence.Condition{{Type: "Drained", Status: "True"}, {Type: "VolumesDetached", Status: "Unknown", Reason: "AwaitingVolumeDetachment", Since: at.Add(-80 * time.Minute)}}
			w.n.Object.Value.Attached = []string{"vol-0123"}
		}, "VolumesAttached!", "vol-0123", "DrainBlocked"},
		{"volumes that the node does not list", func(w *parts) {
			w.c.Conditions = []evidence.Condition{{Type: "Drained", Status: "True"}, {Type: "VolumesDetached", Status: "Unknown"}}
		}, "VolumesAttached! FinalizerOwnerGone", "the node lists none", "DrainBlocked"},
		{"Karpenter says that it waits for volumes", func(w *parts) {
			w.n.Events.Value = []evidence.Event{event("AwaitingVolumeDetachment", time.Minute)}
		}, "VolumesAttached!", "the node lists none", "FinalizerOwnerGone"},
		{"volumes are detached, and the node lists one", func(w *parts) { w.c.Conditions, w.n.Object.Value.Attached = done, []string{"vol-0123"} }, "InstanceNotTerminating!", "", "VolumesAttached"},
		{"volumes during the drain", func(w *parts) { w.n.Object.Value.Attached = []string{"vol-0123"} }, "", "", ""},
		{"the instance runs on", func(w *parts) { w.c.Conditions = done }, "InstanceNotTerminating!", "is running", "DrainBlocked VolumesAttached"},
		{"it was launched, and its provider id is missing", func(w *parts) {
			w.f.Removal.Machine, w.f.Removal.State = "", ""
			w.c.Conditions = append(slices.Clone(done), evidence.Condition{Type: "Launched", Status: "True"})
		}, "", "", "DrainBlocked VolumesAttached"},
		{"a NodeClaim without a node, whose instance runs", func(w *parts) { w.f.Node, w.f.Removal.NodeFinalizers, w.c.Conditions = "", "", nil }, "InstanceNotTerminating!", "is running", "DrainBlocked VolumesAttached"},
		{"a NodeClaim whose node and instance are gone", func(w *parts) {
			w.f.Node, w.f.Removal.NodeFinalizers, w.f.Removal.State, w.f.Removal.Gone = "", "", "", true
			w.c.Conditions = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"})
		}, "FinalizerOwnerGone!", "does not run", "InstanceNotTerminating"},
		{"the same, and ARC shifts the cluster away from its zone", func(w *parts) {
			w.f.Node, w.f.Removal.NodeFinalizers, w.f.Removal.State, w.f.Removal.Gone = "", "", "", true
			w.c.Conditions, w.c.Labels = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"}), map[string]string{"topology.k8s.aws/zone-id": "euw1-az1"}
			w.shifts = []string{"euw1-az2", "euw1-az1"}
		}, "FinalizerOwnerGone", "until the shift is over", "InstanceNotTerminating"},
		{"the same, and its zone is not known", func(w *parts) {
			w.f.Node, w.f.Removal.NodeFinalizers, w.f.Removal.State, w.f.Removal.Gone = "", "", "", true
			w.c.Conditions, w.shifts = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"}), []string{"euw1-az1"}
		}, "FinalizerOwnerGone", "until the shift is over", "InstanceNotTerminating"},
		{"the same, and ARC shifts the cluster away from another zone", func(w *parts) {
			w.f.Node, w.f.Removal.NodeFinalizers, w.f.Removal.State, w.f.Removal.Gone = "", "", "", true
			w.c.Conditions, w.f.ZoneID, w.shifts = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"}), "euw1-az3", []string{"euw1-az1"}
		}, "FinalizerOwnerGone!", "does not run", "InstanceNotTerminating"},
		{"the instance runs on, and ARC shifts the cluster away from its zone", func(w *parts) { w.c.Conditions, w.f.ZoneID, w.shifts = done, "euw1-az1", []string{"euw1-az1"} },
			"InstanceNotTerminating!", "until the shift is over", "DrainBlocked VolumesAttached"},
		{"a node without a NodeClaim, whose instance is gone", func(w *parts) {
			w.f.Removal = roll.Removal{NodeFinalizers: karpenters, Machine: w.f.Removal.Machine, State: roll.StateTerminated}
			w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-80 * time.Minute)}
		}, "FinalizerOwnerGone!", "does not run", "DrainBlocked InstanceNotTerminating"},
		{"the instance is gone, and its node still says that it is Ready", func(w *parts) { w.f.Removal.State, w.c.Conditions = roll.StateTerminated, nil }, "", "", "InstanceNotTerminating"},
		{"a budget, and the provider id is missing", do(pod(), budgets(ofWeb(1, 1, 1)), func(w *parts) {
			w.f.Removal.Machine, w.c.Conditions = "", append(w.c.Conditions, evidence.Condition{Type: "Registered", Status: "True"})
		}), "DrainBlocked!", "shop/web", ""},
		{"it was launched without a node, and its provider id is missing", func(w *parts) {
			w.f.Node, w.f.Removal.Machine, w.f.Removal.State, w.c.Conditions = "", "", "", []evidence.Condition{{Type: "Launched", Status: "True"}}
		}, "", "", "DrainBlocked VolumesAttached"},
		{"nothing was launched", func(w *parts) { w.f.Removal.Machine, w.f.Removal.State, w.c.Conditions = "", "", done }, "", "", "DrainBlocked VolumesAttached InstanceNotTerminating"},
		{"the instance is gone, and Karpenter does nothing", func(w *parts) {
			w.f.Removal.State, w.c.Conditions = roll.StateTerminated, append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"})
			w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-80 * time.Minute)}
		}, "FinalizerOwnerGone!", "does not run", "InstanceNotTerminating"},
		{"the instance is gone, and Karpenter drains on", do(ended, pod(func(p *evidence.Pod) { p.Deleting = at.Add(2 * time.Hour) }), func(w *parts) {
			w.n.Events.Value = []evidence.Event{event("FailedDraining", time.Minute)}
		}), "DrainBlocked! FinalizerOwnerGone", "1.12.1 to 1.14.0", "InstanceNotTerminating"},
		{"the instance is gone, and Karpenter waits for volumes", do(ended, func(w *parts) {
			w.n.Events.Value = []evidence.Event{event("AwaitingVolumeDetachment", time.Minute)}
		}), "VolumesAttached! FinalizerOwnerGone", "before 1.6", "DrainBlocked InstanceNotTerminating"},
		{"the instance is gone, and Karpenter drained long ago", do(ended, func(w *parts) {
			w.n.Events.Value = []evidence.Event{event("FailedDraining", 20*time.Minute)}
		}), "FinalizerOwnerGone!", "does not run", "DrainBlocked"},
		{"the instance is gone, and whether Karpenter reports anything is unread", do(ended, func(w *parts) { w.n.Events = evidence.Failed[[]evidence.Event]("denied") }),
			"FinalizerOwnerGone", "does not run", "DrainBlocked"},
		{"the instance is gone just now", func(w *parts) {
			w.f.Removal.State, w.c.Conditions = roll.StateTerminated, done
			w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-time.Minute)}
		}, "", "", "InstanceNotTerminating"},
		{"a finalizer of somebody else's", func(w *parts) {
			w.f.Removal = roll.Removal{NodeFinalizers: "wrangler.cattle.io/node", Machine: w.f.Removal.Machine, State: roll.StateRunning}
			w.f.Instance = "node/ip-1"
		}, "FinalizerHeld!", "Rancher", "DrainBlocked FinalizerOwnerGone"},
		{"Karpenter let go of the node, and waits for somebody else's finalizer", func(w *parts) {
			w.f.Removal.NodeFinalizers, w.f.Removal.State = "wrangler.cattle.io/node", roll.StateTerminated
			w.c.Conditions = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "True"})
			w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-80 * time.Minute)}
		}, "FinalizerHeld!", "Rancher", "InstanceNotTerminating FinalizerOwnerGone"},
		{"it never registered the node, and need not wait for it", func(w *parts) {
			w.f.Removal.NodeFinalizers, w.f.Removal.State = "wrangler.cattle.io/node", roll.StateTerminated
			w.c.Conditions = append(slices.Clone(done), evidence.Condition{Type: "Registered", Status: "Unknown"})
			w.n.Object.Value.Conditions[0] = evidence.Condition{Type: "Ready", Status: "Unknown", Since: at.Add(-80 * time.Minute)}
		}, "FinalizerOwnerGone! FinalizerHeld!", "does not run", ""},
		{"one that nobody knows", func(w *parts) { w.f.Removal.NodeFinalizers = karpenters + ", acme.example/guard" }, "FinalizerHeld!", "acme.example/guard", ""},
	}
	for _, tt := range tests {
		s := &cause.Sheet{}
		removal.Analyze(stuck(tt.change), s)
		var codes, said []string
		for _, c := range s.Causes() {
			code := c.Code
			if c.Confidence == roll.Decisive {
				code += "!"
			}
			codes, said = append(codes, code), append(said, c.Summary)
			expect.That(t, c.Fix != "" && len(c.Evidence) != 0, "%s: %s has no fix, or no evidence", tt.name, c.Code)
			expect.That(t, !strings.Contains(c.Fix, "logs --all-namespaces"), "%s: kubectl has no logs of all namespaces: %s", tt.name, c.Fix)
		}
		if got := strings.Join(codes, " "); got != tt.want {
			t.Errorf("%s: found %q (%v), want %q; open %v", tt.name, got, said, tt.want, s.Open())
		}
		expect.That(t, strings.Contains(strings.Join(said, "\n"), tt.says), "%s: %v does not say %q", tt.name, said, tt.says)
		clear := map[string]bool{}
		for _, c := range s.Clear() {
			clear[c] = true
		}
		for code := range strings.FieldsSeq(tt.out) {
			expect.That(t, clear[code], "%s: %s is not ruled out", tt.name, code)
		}
	}
}

// Auto Mode's Karpenter has no pods and no logs in the cluster.
func TestNobodyIsSentToPodsThatAutoModeLacks(t *testing.T) {
	for owner, want := range map[roll.Owner]string{roll.OwnerKarpenter: "kubectl get pods --all-namespaces -l app.kubernetes.io/name=karpenter", roll.OwnerAutoMode: "aws eks describe-cluster --region eu-west-1 --name shop"} {
		e := stuck(func(w *parts) { w.f.Owner = owner })
		e.ClusterID.Name = "shop"
		s := &cause.Sheet{}
		removal.Analyze(e, s)
		found := s.Causes()
		expect.That(t, len(found) == 1 && found[0].Code == cause.FinalizerOwnerGone && strings.Contains("\n"+found[0].Fix, "\n"+want), "%s: %+v", owner, found)
	}
}

// What was not read is not checked, and never a pass.
func TestWhatWasNotReadOfADeletedNodeIsNotChecked(t *testing.T) {
	const denied = "no permission"
	done := []evidence.Condition{{Type: "Drained", Status: "True"}, {Type: "VolumesDetached", Status: "True"}}
	object := func(w *parts) { w.n.Object = evidence.Failed[evidence.NodeObject](denied) }
	pods := func(w *parts) { w.c.Conditions, w.n.Pods = nil, evidence.Failed[[]evidence.Pod](denied) }
	budgets := func(w *parts) { w.n.Budgets = evidence.Failed[[]roll.Budget](denied) }
	events := func(w *parts) { w.n.Events = evidence.Failed[[]evidence.Event](denied) }
	state := func(w *parts) { w.f.Removal.State = "" }
	for name, tt := range map[string]struct {
		change func(*parts)
		open   []cause.Code
	}{
		"everything":                           {do(object, pods, budgets, events, state), []cause.Code{cause.DrainBlocked, cause.VolumesAttached, cause.InstanceNotTerminating, cause.FinalizerOwnerGone}},
		"the node":                             {object, []cause.Code{cause.VolumesAttached, cause.FinalizerOwnerGone}},
		"the node of an instance that is gone": {do(object, func(w *parts) { w.f.Removal.State = roll.StateTerminated }), []cause.Code{cause.FinalizerOwnerGone}},
		"the pods":                             {pods, []cause.Code{cause.DrainBlocked, cause.FinalizerOwnerGone}},
		"the budgets of a pod":                 {do(pod(), budgets), []cause.Code{cause.DrainBlocked}},
		"the events":                           {events, []cause.Code{cause.FinalizerOwnerGone}},
		"EC2":                                  {do(state, func(w *parts) { w.c.Conditions = done }), []cause.Code{cause.InstanceNotTerminating}},
		"the instance's id": {func(w *parts) {
			w.f.Removal.Machine, w.c.Conditions = "", append(slices.Clone(done), evidence.Condition{Type: "Launched", Status: "True"})
		}, []cause.Code{cause.InstanceNotTerminating}},
		"the names of what registered": {func(w *parts) {
			w.f.Node, w.f.Removal.Machine, w.c.Conditions = "", "", []evidence.Condition{{Type: "Registered", Status: "True"}}
		}, []cause.Code{cause.DrainBlocked, cause.VolumesAttached, cause.InstanceNotTerminating}},
		"volumes, before the drain is over": {func(w *parts) { w.n.Object.Value.Attached = []string{"vol-0123"} }, []cause.Code{cause.VolumesAttached}},
	} {
		s := &cause.Sheet{}
		removal.Analyze(stuck(tt.change), s)
		if len(s.Causes()) != 0 {
			t.Errorf("%s: found %+v", name, s.Causes())
		}
		causetest.NotChecked(t, name, s, "", tt.open...)
	}
}

// kubectl logs has no --all-namespaces.
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_logs/
func TestTheLogsOfKarpenterAreAskedForInItsNamespace(t *testing.T) {
	drained := []evidence.Condition{{Type: "Drained", Status: "True"}, {Type: "VolumesDetached", Status: "True"}}
	for name, change := range map[string]func(*parts){"gone": ended, "runs on": func(w *parts) { w.c.Conditions = drained }, "idle": func(*parts) {}} {
		s := &cause.Sheet{}
		removal.Analyze(stuck(change), s)
		causetest.Whole(t, name, s)
		expect.That(t, len(s.Causes()) == 1, "%s: %v", name, s.Causes())
		for _, c := range s.Causes() {
			expect.That(t, !strings.Contains(c.Fix, "logs --all-namespaces") && strings.Contains(c.Fix, `kubectl -n "$NAMESPACE" logs -l app.kubernetes.io/name=karpenter`), "%s:\n%s", name, c.Fix)
		}
	}
}

// Only Karpenter's finalizer is taken from what Karpenter left, and from both objects.
func TestOtherFinalizersAreLeft(t *testing.T) {
	s := &cause.Sheet{}
	removal.Analyze(stuck(do(ended, func(w *parts) { w.f.Removal.ClaimFinalizers = karpenters + ", acme.example/guard" })), s)
	c, _ := roll.Find(s.Causes(), func(c roll.Cause) bool { return c.Code == cause.FinalizerOwnerGone })
	for _, want := range []string{
		`# kubectl patch nodeclaim default-abc --type=merge -p '{"metadata":{"finalizers":["acme.example/guard"]}}'`,
		`# kubectl patch node ip-1 --type=merge -p '{"metadata":{"finalizers":[]}}'`,
	} {
		expect.That(t, strings.Contains(c.Fix+"\n", "\n"+want+"\n"), "the fix lacks %s:\n%s", want, c.Fix)
	}
}

// A NodeClaim's own terminationGracePeriod never changes, and another one in the NodePool makes all its nodes drift.
func TestABlockedDrainIsNotMetByReplacingTheWholeNodePool(t *testing.T) {
	s := &cause.Sheet{}
	removal.Analyze(stuck(do(pod(), budgets(ofWeb(1, 1, 1)))), s)
	fix := s.Causes()[0].Fix
	expect.That(t, strings.Contains(fix, "only bounds the drains of later nodes") && strings.Contains(fix, "(drift)"), "%s", fix)
}
