package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// runs changes the pods of the first node.
func (w *world) runs(change func(*roll.NodePods)) {
	w.detail(func(d *roll.Detail) {
		has := *nothingRuns
		change(&has)
		d.Pods = &has
	})
}

const kept = "karpenter.sh/do-not-disrupt=true"

// A silent node is not terminated while it may still run something that holds.
func TestWhatASilentNodeRunsHoldsItsEnd(t *testing.T) {
	tests := map[string]struct {
		has  func(*roll.NodePods)
		doc  string
		want string // reasons and the detail of the hold, or the act
	}{
		"nothing":    {func(*roll.NodePods) {}, "", "terminate"},
		"a bare pod": {func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/web-1"}} }, "", "terminate"},
		"a kept pod": {func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}} }, "", "PodsNotToDisrupt: shop/db-0 (" + kept + ")"},
		"a kept pod that waits for the end of the node": {func(n *roll.NodePods) {
			n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept, Waits: true}}
		}, "", "PodsNotToDisrupt: shop/db-0"},
		"a kept pod whose replacement runs elsewhere": {func(n *roll.NodePods) {
			n.Pods = []roll.Pod{{Name: "shop/web-1", NotToDisrupt: kept, Replaced: true}}
		}, "", "terminate"},
		"kept, by a policy that ignores it": {func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}} }, "silentNode: {doNotDisrupt: ignore}", "terminate"},
		"a budget with one to spare": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 3, Desired: 2, Pods: []string{"shop/web-1"}, Ready: 1}}
		}, "", "terminate"},
		"a budget with none to spare": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 2, Desired: 2, Pods: []string{"shop/web-1"}, Ready: 1}}
		}, "", "DisruptionBudget: shop/web wants 2 healthy, and has 1 without shop/web-1"},
		"a budget that is met without its pods": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 2, Desired: 2, Pods: []string{"shop/web-1"}}}
		}, "", "terminate"},
		"a budget that is not met": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 1, Desired: 2, Pods: []string{"shop/web-1"}}}
		}, "", "DisruptionBudget: shop/web wants 2 healthy, and has 1"},
		"a budget of yesterday": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 3, Desired: 2, Unknown: true, Pods: []string{"shop/web-1"}}}
		}, "", "DisruptionBudget: shop/web covers shop/web-1, and its status is not up to date"},
		"a budget, by a policy that ignores it": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Desired: 2, Pods: []string{"shop/web-1"}}}
		}, "silentNode: {budgets: ignore}", "terminate"},
		"a local volume": {func(n *roll.NodePods) {
			n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data"}}
		}, "", "LocalVolume: pv-1 of claim shop/data"},
		"a local volume, by a policy that ignores it": {func(n *roll.NodePods) {
			n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data"}}
		}, "silentNode: {localVolumes: ignore}", "terminate"},
		"unread":                        {func(n *roll.NodePods) { *n = roll.NodePods{} }, "", "PodsUnread: " + roll.CallPods},
		"unread, and ignored":           {func(n *roll.NodePods) { *n = roll.NodePods{} }, "silentNode: {doNotDisrupt: ignore, budgets: ignore, localVolumes: ignore}", "terminate"},
		"budgets unread":                {func(n *roll.NodePods) { n.BudgetsRead = roll.Unreadable }, "", "PodsUnread: " + roll.CallBudgets},
		"budgets unread, and ignored":   {func(n *roll.NodePods) { n.BudgetsRead = roll.Unreadable }, "silentNode: {budgets: ignore}", "terminate"},
		"volumes unread":                {func(n *roll.NodePods) { n.VolumesRead = roll.Unreadable }, "", "PodsUnread: " + roll.CallVolumes},
		"not its turn":                  {func(n *roll.NodePods) { *n = roll.NodePods{Read: roll.Unreadable, Later: true} }, "", "NotReadYet: read by another check"},
		"nobody to ask, as of a bundle": {func(n *roll.NodePods) { *n = roll.NodePods{Read: roll.No, BudgetsRead: roll.No, VolumesRead: roll.No} }, "", "terminate"},
		"ignored for another group":     {func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}} }, "overrides: [{match: {group: asg/other}, silentNode: {doNotDisrupt: ignore}}]", "PodsNotToDisrupt: node-1"},
		"ignored for its group":         {func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}} }, "overrides: [{match: {group: asg/w}, silentNode: {doNotDisrupt: ignore}}]", "terminate"},
		"what would object, in their order": {func(n *roll.NodePods) {
			n.Pods, n.LocalVolumes = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}}, []roll.LocalVolume{{Name: "pv-1"}}
		}, "", "PodsNotToDisrupt: node-1"},
		"more pods than a sentence may name": {func(n *roll.NodePods) { n.Pods = many(7) }, "", "PodsNotToDisrupt: and 2 more"},
	}
	for name, tt := range tests {
		w := sick()
		w.doc = with(tt.doc + "\n")
		w.runs(tt.has)
		_, p := w.make(now)
		reason, says, held := strings.Cut(tt.want, ": ")
		if !held {
			expect.That(t, ordered1(p) == tt.want, "%s: %s, want %s", name, ordered1(p), tt.want)
			continue
		}
		if len(p.Orders) != 0 || len(p.Held) != 1 || p.Held[0].Reason != Reason(reason) || !strings.Contains(p.Held[0].Detail, says) {
			t.Errorf("%s: orders %+v, held %+v, want %s", name, p.Orders, p.Held, tt.want)
		}
	}
}

// A drain spares single pods that are annotated, and for the annotation of the node all of them.
func TestANodeThatIsNotToBeDisruptedIsNotDrained(t *testing.T) {
	w := healthy(10)
	w.notReady(1, time.Hour)
	w.snapshot.Nodes[0].NotToDisrupt = kept
	if _, p := w.make(now); ordered1(p) != "none: [PodsNotToDisrupt]" || !strings.Contains(p.Held[0].Detail, kept) {
		t.Errorf("%s, held %+v", ordered1(p), p.Held)
	}
	w.doc = with("silentNode: {doNotDisrupt: ignore}\n")
	if _, p := w.make(now); len(p.Orders) != 1 {
		t.Errorf("with a policy that ignores it: %s", ordered1(p))
	}
	w.doc, w.snapshot.Nodes[0].Ready.Status = policy.Default(), roll.ConditionUnknown
	w.runs(func(*roll.NodePods) {})
	w.remembered(1, roll.Unknown, now.Add(-time.Hour))
	if _, p := w.make(now); ordered1(p) != "none: [PodsNotToDisrupt]" || !strings.Contains(p.Held[0].Detail, "node-1 carries "+kept) {
		t.Errorf("silent: %s, held %+v", ordered1(p), p.Held)
	}
	w.snapshot.Instances[0].State = roll.StateTerminated // nothing is left to disrupt
	w.remembered(1, roll.Ghost, now.Add(-time.Hour))
	_, p := w.make(now)
	expect.That(t, ordered1(p) == string(DeleteNode), "a ghost: %s", ordered1(p))
}

func many(n int) []roll.Pod {
	var out []roll.Pod
	for range n {
		out = append(out, roll.Pod{Name: "shop/p", NotToDisrupt: kept})
	}
	return out
}

// A reboot interrupts the pods, too.
func TestARebootIsHeldForPodsAndDisks(t *testing.T) {
	for want, change := range map[string]func(*roll.NodePods){
		"none: [LocalVolume]":      func(n *roll.NodePods) { n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1"}} },
		"none: [PodsNotToDisrupt]": func(n *roll.NodePods) { n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: kept}} },
		"none: [PodsUnread]":       func(n *roll.NodePods) { n.BudgetsRead = roll.Unreadable },
	} {
		w := sick()
		w.doc = mustParse("apiVersion: rollcall/v1\n")
		w.runs(change)
		_, p := w.make(now)
		expect.That(t, ordered1(p) == want, "ordered %s, want %s", ordered1(p), want)
	}
}

// A node whose kubelet answers is drained, and the drain respects its pods. No drain moves the data on
// its own disks.
func TestThePodsOfANodeThatAnswersAreLeftToTheDrain(t *testing.T) {
	disk := func(n *roll.NodePods) { n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data"}} }
	tests := map[string]struct {
		has  func(*roll.NodePods)
		doc  string
		want string
	}{
		"a kept pod": {func(n *roll.NodePods) { n.Pods = many(1) }, "", "cordon"},
		"a budget with none to spare": {func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/web", Healthy: 2, Desired: 2, Pods: []string{"shop/web-1"}, Ready: 1}}
		}, "", "cordon"},
		"a local volume":              {disk, "", "none: [LocalVolume]"},
		"a local volume, and ignored": {disk, "silentNode: {localVolumes: ignore}", "cordon"},
		"volumes unread":              {func(n *roll.NodePods) { n.VolumesRead = roll.Unreadable }, "", "none: [PodsUnread]"},
		"unread":                      {func(n *roll.NodePods) { *n = roll.NodePods{} }, "", "none: [PodsUnread]"},
		"unread, and ignored":         {func(n *roll.NodePods) { *n = roll.NodePods{} }, "silentNode: {localVolumes: ignore}", "cordon"},
		"not its turn":                {func(n *roll.NodePods) { *n = roll.NodePods{Read: roll.Unreadable, Later: true} }, "", "none: [NotReadYet]"},
		"unread, and the ladder ends no instance":         {func(n *roll.NodePods) { *n = roll.NodePods{} }, "ladders: {NotReady: [{do: cordon}, {do: drain}]}", "cordon"},
		"a local volume, and the ladder ends no instance": {disk, "ladders: {NotReady: [{do: cordon}, {do: drain}]}", "cordon"},
	}
	for name, tt := range tests {
		w := healthy(10)
		w.notReady(1, time.Hour)
		w.doc = mustParse("apiVersion: rollcall/v1\n" + tt.doc + "\n")
		w.runs(tt.has)
		_, p := w.make(now)
		expect.That(t, ordered1(p) == tt.want, "%s: ordered %s, want %s", name, ordered1(p), tt.want)
	}
}

// A Ready node is drained for an event that EC2 has scheduled, and for the repair of its accelerator. The pods that use its
// own disks can run nowhere else: they would wait for the event for a day, or their data would be gone.
func TestDataOnTheDisksOfAReadyNodeHoldsItsDrain(t *testing.T) {
	disk := func(n *roll.NodePods) { n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data"}} }
	event := func(doc string) *world {
		w := healthy(10)
		w.doc = mustParse("apiVersion: rollcall/v1\n" + doc + "\n")
		w.scheduled(1, time.Hour)
		return w
	}
	repair := func(doc string) *world {
		return accelerated("repair: {accelerators: true}\n"+doc, "NvidiaDoubleBitError")
	}
	for name, of := range map[string]func(doc string) *world{"an event": event, "a repair": repair} {
		for _, tt := range []struct {
			has       func(*roll.NodePods)
			doc, want string
		}{
			{func(*roll.NodePods) {}, "", "cordon"},
			{func(n *roll.NodePods) { n.Pods = many(1) }, "", "cordon"},
			{disk, "", "none: [LocalVolume]"},
			{disk, "silentNode: {localVolumes: ignore}", "cordon"},
			{func(n *roll.NodePods) { n.VolumesRead = roll.Unreadable }, "", "none: [PodsUnread]"},
			{func(n *roll.NodePods) { *n = roll.NodePods{} }, "silentNode: {localVolumes: ignore}", "cordon"},
		} {
			w := of(tt.doc)
			w.runs(tt.has)
			_, p := w.make(now)
			expect.That(t, ordered1(p) == tt.want, "%s, %q: ordered %s, want %s; held %+v", name, tt.doc, ordered1(p), tt.want, p.Held)
		}
		w := of("")
		w.detail(func(d *roll.Detail) { d.Pods = nil })
		a, _ := w.make(now)
		expect.That(t, slices.ContainsFunc(a.Questions, func(q roll.Question) bool { return q.Instance == instanceID(1) && q.Pods == "node-1" }), "%s: asked %+v", name, a.Questions)
	}
}

// A check asks for whatever an act on a finding needs: no act is held for an answer that nobody asked for.
func TestNoActIsHeldForWhatIsNotAsked(t *testing.T) {
	ladders := map[roll.Kind][]string{roll.Scheduled: {"[{do: cordon}]", "[{do: cordon}, {do: drain}]"}}
	for _, kind := range []roll.Kind{roll.Unknown, roll.NotReady} {
		ladders[kind] = append(ladders[roll.Scheduled], "[{do: reboot}]", "[{do: terminate}]", "[{do: cordon}, {do: drain}, {do: terminate}]")
	}
	fails := map[roll.ConditionStatus]roll.Kind{roll.ConditionTrue: "", roll.ConditionFalse: roll.NotReady, roll.ConditionUnknown: roll.Unknown}
	groups := map[roll.Owner]roll.Group{roll.OwnerAutoScalingGroup: "asg/w", roll.OwnerManagedNodeGroup: "nodegroup/w", roll.OwnerKarpenter: "nodepool/w"}
	acts := 0
	for kind, each := range ladders {
		for _, ladder := range each {
			for owner, group := range groups {
				for status, trouble := range fails {
					if kind != roll.Scheduled && kind != trouble {
						continue
					}
					w := healthy(10)
					for i := range w.snapshot.Instances {
						w.snapshot.Instances[i].Owner, w.snapshot.Instances[i].Group = owner, group
						w.snapshot.Nodes[i].Registered, w.snapshot.Nodes[i].Initialized = true, true
					}
					told := roll.Unknown // what happens besides is only told
					if kind == told || trouble == roll.NotReady && kind == roll.Scheduled {
						told = roll.NotReady
					}
					w.doc = mustParse("apiVersion: rollcall/v1\nladders: {" + string(kind) + ": " + ladder + ", " + string(told) + ": [{do: notify}]}\n")
					w.snapshot.At, w.snapshot.Details, w.snapshot.Groups = now, map[roll.InstanceID]roll.Detail{}, map[roll.Group]roll.GroupDetail{}
					if trouble != "" {
						w.trouble(1, trouble, status, 2*time.Hour)
					}
					if kind == roll.Scheduled {
						w.scheduled(1, time.Hour)
					}
					w.state.RemediateSince = map[roll.Group]time.Time{group: now.Add(-24 * time.Hour)}
					in := assess.Input{Snapshot: w.snapshot, Policy: w.doc.Cluster("demo", "", w.mode), State: w.state, Now: now}
					p := Make(Input{Snapshot: w.snapshot, Assessment: assess.Thoroughly(in, w.answer), State: w.state, Policy: in.Policy, Now: now})
					about := slices.DeleteFunc(p.Held, func(h Held) bool { return h.Kind != kind })
					expect.That(t, len(about) == 0, "%s, %s of %s, node %s: orders %+v, held %+v", kind, ladder, owner, status, p.Orders, about)
					acts += len(p.Orders)
				}
			}
		}
	}
	expect.That(t, acts == 36, "%d orders", acts)
}

// answer answers what is asked and nothing else.
func (w *world) answer(questions []roll.Question) {
	for _, q := range questions {
		d := w.snapshot.Details[q.Instance]
		if q.AutoScaling {
			d.LifecycleRead, d.Lifecycle, d.ScaleInProtected = roll.Yes, "InService", roll.No
		}
		if q.NodeClaim {
			d.HasNodeClaim, d.NodeClaim = roll.Yes, &roll.NodeClaim{Name: "w-1"}
		}
		if q.Group {
			i := slices.IndexFunc(w.snapshot.Instances, func(i roll.Instance) bool { return i.ID == q.Instance })
			g := canLaunch
			g.Status = nodeGroupActive
			w.snapshot.Groups[w.snapshot.Instances[i].Group] = g
		}
		if q.Protection {
			d.TerminationProtected = roll.No
		}
		if q.Lease {
			d.LeaseRead = roll.No
		}
		if q.Pods != "" {
			d.Pods = nothingRuns
		}
		w.snapshot.Details[q.Instance] = d
	}
}

func TestAnOrderNamesThePodsThatWaitForIt(t *testing.T) {
	w := sick()
	w.runs(func(n *roll.NodePods) {
		n.Pods = []roll.Pod{{Name: "shop/db-0", Waits: true}, {Name: "shop/web-1"}}
	})
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && strings.HasSuffix(p.Orders[0].Why, "; shop/db-0 hangs in Terminating until the instance is gone"), "orders %+v, held %+v", p.Orders, p.Held)
}

// The pods and disks of a suspect's node are read if the node is not Ready and an act may follow.
func TestPodsAreAskedOfNodesThatAreNotReady(t *testing.T) {
	asked := func(w *world) (out []string) {
		a, _ := w.make(now)
		for _, q := range a.Questions {
			if q.Pods != "" {
				out = append(out, string(q.Instance)+" "+q.Pods)
			}
		}
		return out
	}
	unasked := func(d *roll.Detail) { d.Pods = nil }
	w := sick()
	if got := asked(w); len(got) != 0 {
		t.Errorf("asked again %v", got)
	}
	w.detail(unasked)
	if got := asked(w); len(got) != 1 || got[0] != string(instanceID(1))+" node-1" {
		t.Errorf("asked %v", got)
	}
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}]}\n")
	if got := asked(w); len(got) != 0 {
		t.Errorf("where nothing follows, asked %v", got)
	}
	w = healthy(10)
	w.notReady(1, time.Hour)
	w.detail(unasked)
	got := asked(w)
	expect.That(t, len(got) == 1, "of a node that answers, asked %v", got)
}

// The pods of a deleted Node are gone. The data on the disks of its instance is not, until it is terminated.
func TestDataOfADeletedNodeHoldsItsTermination(t *testing.T) {
	local := []roll.LocalVolume{{Name: "pv-1", Claim: "shop/data"}}
	for name, tt := range map[string]struct {
		worked bool
		pods   *roll.NodePods
		doc    string
		want   string
	}{
		"data on its disks":                 {true, &roll.NodePods{Read: roll.Yes, VolumesRead: roll.Yes, LocalVolumes: local}, "", "[LocalVolume]"},
		"none":                              {true, &roll.NodePods{Read: roll.Yes, VolumesRead: roll.Yes}, "", "[]"},
		"the volumes could not be read":     {true, &roll.NodePods{Read: roll.Yes, VolumesRead: roll.Unreadable}, "", "[PodsUnread]"},
		"nothing was read":                  {true, nil, "", "[PodsUnread]"},
		"the policy ignores them":           {true, &roll.NodePods{Read: roll.Yes, VolumesRead: roll.Yes, LocalVolumes: local}, "silentNode: {localVolumes: ignore}\n", "[]"},
		"an instance that never had a Node": {false, nil, "", "[]"},
	} {
		w := newWorld()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unregistered: [{do: terminate}]}\n" + tt.doc)
		w.unregistered(1, 40*time.Minute)
		k := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unregistered}
		seen := w.state.Findings[k]
		seen.Worked = tt.worked
		w.state.Findings[k] = seen
		d := w.snapshot.Details[instanceID(1)]
		d.Pods, d.LeaseRead = tt.pods, roll.No
		w.snapshot.Details[instanceID(1)] = d
		_, p := w.make(now)
		expect.That(t, fmt.Sprint(reasons(p)) == tt.want && (len(p.Orders) == 1) == (tt.want == "[]"), "%s: held %+v, orders %+v", name, p.Held, p.Orders)
	}
}
