package remediate

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const endsSilent = "ladders: {Unknown: [{do: tag}, {do: terminate}]}\n"

// runs changes the pods on the target's silent node.
func (w *world) runs(change func(*roll.NodePods)) {
	w.detail(func(d *roll.Detail) {
		has := roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}
		change(&has)
		d.Pods = &has
	})
}

// The pods of a silent node are read again right before its termination: an annotation that
// a person set in the meantime stops it.
func TestWhatASilentNodeRunsIsReadAgain(t *testing.T) {
	for reason, change := range map[plan.Reason]func(*roll.NodePods){
		plan.PodsNotToDisrupt: func(n *roll.NodePods) {
			n.Pods = []roll.Pod{{Name: "shop/db-0", NotToDisrupt: "karpenter.sh/do-not-disrupt=true"}}
		},
		plan.DisruptionBudget: func(n *roll.NodePods) {
			n.Budgets = []roll.Budget{{Name: "shop/db", Desired: 1, Pods: []string{"shop/db-0"}}}
		},
		plan.LocalVolume: func(n *roll.NodePods) { n.LocalVolumes = []roll.LocalVolume{{Name: "pv-1"}} },
		plan.PodsUnread:  func(n *roll.NodePods) { n.Read = roll.Unreadable },
	} {
		w := silent(t)
		w.doc = document(endsSilent)
		o := w.order(t)
		w.runs(change)
		out := w.remediator(t).Act(t.Context(), o, now)
		expect.That(t, out.Result == Refused && out.Reason == reason && len(w.sent) == 0, "%s: %s, %s: %s; sent %v", reason, out.Result, out.Reason, out.Detail, w.sent)
	}
}

// A person who waits for volumes needs the reason.
func TestTheEndOfASilentNodeTellsWhatItLeaves(t *testing.T) {
	w := silent(t)
	w.doc = document(endsSilent)
	w.runs(func(n *roll.NodePods) {
		n.Attached = []string{"vol-0abc", "vol-0def"}
		n.Pods = []roll.Pod{{Name: "shop/db-0", Waits: true}, {Name: "shop/web-1"}}
	})
	out := w.remediator(t).Act(t.Context(), w.order(t), now)
	const want = "; volumes are still attached to it (vol-0abc, vol-0def), which the control plane detaches some minutes after it has removed the node; a pod waits until its node is removed (shop/db-0)"
	expect.That(t, out.Result == Acted && strings.HasSuffix(out.Detail, want), "%s: %s", out.Result, out.Detail)
}

// Pods and volumes may be removed by force only if EC2 reports the machine as terminated.
func TestANodeIsMarkedOnceItsInstanceIsTerminated(t *testing.T) {
	ending := func(t *testing.T) *world {
		w := silent(t)
		w.doc = document(endsSilent + "silentNode: {outOfServiceTaint: true}\n")
		out := w.remediator(t).Act(t.Context(), w.order(t), now)
		must.That(t, out.Result == Acted, "%+v", out)
		w.instances[0].State = roll.StateTerminated
		return w
	}
	at := now.Add(time.Minute)
	given := func(t *testing.T, w *world) plan.Order {
		t.Helper()
		for _, o := range w.check(t, at).Orders {
			if o.Action == plan.OutOfService {
				return o
			}
		}
		t.Fatal("it is not ordered")
		return plan.Order{}
	}
	for name, tt := range map[string]struct {
		change func(*world)
		result Result
		reason plan.Reason
	}{
		"as it was":               {func(*world) {}, Acted, ""},
		"it runs again":           {func(w *world) { w.instances[0].State = roll.StateRunning }, Refused, plan.NotSeenTwice},
		"its node is Ready":       {func(w *world) { w.nodes[0].Ready.Status = roll.ConditionTrue }, Refused, plan.VerdictChanged},
		"its node is gone":        {func(w *world) { w.nodes = nil }, Refused, plan.VerdictChanged},
		"the policy asks no more": {func(w *world) { w.doc = document(endsSilent) }, Refused, plan.VerdictChanged},
		"mode notify":             {func(w *world) { w.permitted = policy.Notify }, Refused, plan.ModeNotify},
	} {
		w := ending(t)
		o := given(t, w)
		tt.change(w)
		sent := len(w.sent)
		out := w.remediator(t).Act(t.Context(), o, at)
		if out.Result != tt.result || out.Reason != tt.reason || (len(w.sent) > sent) != (tt.result == Acted) {
			t.Errorf("%s: %s %s: %s; sent %v", name, out.Result, out.Reason, out.Detail, w.sent[sent:])
		}
	}
	w := ending(t)
	o := given(t, w)
	r := w.remediator(t)
	r.Act(t.Context(), o, at)
	again := r.Act(t.Context(), o, at)
	expect.That(t, again.Result == Refused && again.Reason == plan.AlreadyBegun, "a second delivery: %+v", again)
}
