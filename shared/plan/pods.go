package plan

import (
	"fmt"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// podsNamed is the maximum number of pods, budgets or volumes that a sentence names.
const podsNamed = 5

// silentNode returns the finding's node if its Ready condition is Unknown: its pods may still
// run.
func (p *planner) silentNode(f roll.Finding) (*roll.Node, bool) {
	n := p.nodes[f.Instance]
	return n, n != nil && n.Ready.Status == roll.ConditionUnknown
}

// podObjects checks what the end of a silent node would interrupt: pods marked not to be disrupted,
// pods that a disruption budget needs, and data on local disks. A reboot keeps the disks, but
// interrupts what uses them.
func (p *planner) podObjects(f roll.Finding, act Action, pol policy.Policy) *Refusal {
	n, silent := p.silentNode(f)
	if n == nil && f.Kind == roll.Unregistered && f.Worked && act.replaced() {
		return p.deletedObjects(f, pol)
	}
	if n != nil && !silent && act != DeleteNode {
		return p.answeringObjects(n, f, act, pol)
	}
	if !silent || act != Reboot && !act.replaced() {
		return nil
	}
	rules, has := pol.SilentNode, podsOf(p.Snapshot, f.Instance)
	kept, budgets, disks := !rules.IgnoreDoNotDisrupt, !rules.IgnoreBudgets, !rules.IgnoreLocalVolumes
	if !kept && !budgets && !disks {
		return nil
	}
	if no := p.podsUnread(n.Name, "silent", has, budgets, disks); no != nil {
		return no
	}
	if text := notToDisrupt(n, has); text != "" && kept {
		return &Refusal{Reason: PodsNotToDisrupt, Detail: text + ": it may still work, and would be terminated"}
	}
	if text := violated(has.Budgets); text != "" && budgets {
		return refuse(DisruptionBudget, "node %s is silent, and may still run pods that their budget cannot spare: %s", n.Name, text)
	}
	if text := onDisks(has.LocalVolumes); text != "" && disks {
		return refuse(LocalVolume, "node %s is silent, and has data on its own disks, and pods that use it may still run: %s", n.Name, text)
	}
	return nil
}

// deletedObjects checks whether data of a node that was deleted lies on the disks of its instance: pods are gone with
// the node, volumes are not.
func (p *planner) deletedObjects(f roll.Finding, pol policy.Policy) *Refusal {
	if pol.SilentNode.IgnoreLocalVolumes {
		return nil
	}
	return p.diskObjects(f, p.instances[f.Instance].PrivateDNS, "deleted", "node %s was deleted, and data lies on the disks of its instance, which would be lost: %s; restart its kubelet, or reboot the instance, and it registers again")
}

// diskObjects refuses with told, a format of the node's name and its volumes, if data lies on the node's disks. is says
// how the node is.
func (p *planner) diskObjects(f roll.Finding, node, is, told string) *Refusal {
	has := podsOf(p.Snapshot, f.Instance)
	if no := p.podsUnread(node, is, has, false, true); no != nil {
		return no
	}
	if text := onDisks(has.LocalVolumes); text != "" {
		return refuse(LocalVolume, told, node, text)
	}
	return nil
}

// answeringObjects checks the same of a node whose kubelet answers. The drain asks the budgets and the
// annotations of the pods; the annotation of the node counts for all of them. Where the ladder ends the
// instance, the data on its disks would be lost, and its pods cannot run elsewhere, so that it is not
// drained either. Nor is a Ready node long before an event: these pods would wait for a node until it is over.
// https://github.com/aws/karpenter-provider-aws/issues/8524
func (p *planner) answeringObjects(n *roll.Node, f roll.Finding, act Action, pol policy.Policy) *Refusal {
	if n.NotToDisrupt != "" && !pol.SilentNode.IgnoreDoNotDisrupt {
		return refuse(PodsNotToDisrupt, "node %s carries %s, and its kubelet still runs its pods", n.Name, n.NotToDisrupt)
	}
	const lost = "node %s has data on its own disks, which would be lost with its instance: %s"
	switch ready := n.Ready.Status == roll.ConditionTrue; {
	case pol.SilentNode.IgnoreLocalVolumes:
	case evictsEarly(f, act):
		return p.diskObjects(f, n.Name, "to be drained", "node %s has data on its own disks, and the pods that use it can run nowhere else until the event is over: %s")
	case !pol.StopsInstance(f):
	case !ready:
		return p.diskObjects(f, n.Name, "not ready", lost)
	case repaired(f, pol):
		return p.diskObjects(f, n.Name, "to be drained", lost)
	}
	return nil
}

// podsUnread refuses if what is needed of a node's pods was not read. The pods are always needed: a
// hostPath volume is that of the node on which a pod uses it. is says how the node is.
func (p *planner) podsUnread(node, is string, has roll.NodePods, budgets, disks bool) *Refusal {
	if has.Later {
		return refuse(NotReadYet, "node %s is %s, and so are others that come before it; what runs on it is read by another check", node, is)
	}
	for _, part := range []struct {
		read       roll.Answer
		call, what string
		asked      bool
	}{
		{has.Read, roll.CallPods, "what runs on it", true},
		{has.BudgetsRead, roll.CallBudgets, "the disruption budgets of its pods", budgets},
		{has.VolumesRead, roll.CallVolumes, "whether volumes lie on its own disks", disks},
	} {
		if part.asked && !part.read.Answered() {
			return unread(p.Snapshot, PodsUnread, part.call, fmt.Sprintf("node %s is %s, and %s could not be read (%s)", node, is, part.what, part.call))
		}
	}
	return nil
}

// notToDisrupt finds annotations against disruption on the node, or on its pods that are not
// replaced yet.
func notToDisrupt(n *roll.Node, has roll.NodePods) string {
	if n.NotToDisrupt != "" {
		return fmt.Sprintf("node %s carries %s", n.Name, n.NotToDisrupt)
	}
	var kept []string
	for _, pod := range has.Pods {
		if pod.NotToDisrupt != "" && !pod.Replaced {
			kept = append(kept, fmt.Sprintf("%s (%s)", pod.Name, pod.NotToDisrupt))
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return fmt.Sprintf("node %s is silent, and may still run %s", n.Name, roll.Few(kept, podsNamed))
}

// violated finds budgets that would have too few healthy pods.
func violated(budgets []roll.Budget) string {
	var short []string
	for _, b := range budgets {
		switch {
		case !b.Violated():
		case b.Unknown:
			short = append(short, fmt.Sprintf("%s covers %s, and its status is not up to date", b.Name, roll.Few(b.Pods, podsNamed)))
		default:
			short = append(short, fmt.Sprintf("%s wants %d healthy, and has %d without %s", b.Name, b.Desired, b.Healthy-b.Ready, roll.Few(b.Pods, podsNamed)))
		}
	}
	return roll.Few(short, podsNamed)
}

func onDisks(volumes []roll.LocalVolume) string {
	return roll.Few(roll.Map(volumes, func(v roll.LocalVolume) string { return fmt.Sprintf("%s of claim %s", v.Name, v.Claim) }), podsNamed)
}

// waiting names the pods that wait for the end of a silent instance, as part of its order's reason:
// their replacements cannot start earlier.
func (p *planner) waiting(f roll.Finding, act Action) []string {
	if _, silent := p.silentNode(f); !silent || !act.replaced() {
		return nil
	}
	pods := waitingPods(p.Snapshot, f.Instance)
	if len(pods) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s %s in Terminating until the instance is gone", roll.Few(pods, podsNamed), roll.Plural(len(pods), "hangs", "hang"))}
}

// podsOf returns what was read of the pods on an instance's node.
func podsOf(s *roll.Snapshot, id roll.InstanceID) roll.NodePods {
	if has := s.Details[id].Pods; has != nil {
		return *has
	}
	return roll.NodePods{}
}

// Left returns what the end of a silent node's instance leaves to the control plane, as the end of
// a sentence: volumes to detach, and pods that wait for it. It returns "" if there is nothing.
func Left(s *roll.Snapshot, id roll.InstanceID) string {
	volumes, pods := podsOf(s, id).Attached, waitingPods(s, id)
	out := ""
	if n := len(volumes); n > 0 {
		out = fmt.Sprintf("; %s still attached to it (%s), which the control plane detaches some minutes after it has removed the node", roll.Plural(n, "a volume is", "volumes are"), roll.Few(volumes, podsNamed))
	}
	if n := len(pods); n > 0 {
		out += fmt.Sprintf("; %s until its node is removed (%s)", roll.Plural(n, "a pod waits", "pods wait"), roll.Few(pods, podsNamed))
	}
	return out
}

// waitingPods names the pods that can start elsewhere only once the instance of their silent node
// is gone.
func waitingPods(s *roll.Snapshot, id roll.InstanceID) []string {
	var out []string
	for _, pod := range podsOf(s, id).Pods {
		if pod.Waits {
			out = append(out, pod.Name)
		}
	}
	return out
}
