package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// notReadyForWork reports whether a finding means that the node is not ready for work. Other
// findings, such as a failed condition alone, do not keep it cordoned. act is Rollcall's cordon or drain of the node.
func (p *planner) notReadyForWork(act ledger.Action) bool {
	id := act.Instance
	if p.Assessment.Kept[roll.FindingKey{Instance: id, Kind: roll.Scheduled}] {
		return true // what EC2 has scheduled could not be read
	}
	if _, ok := p.instances[id]; !ok {
		return false
	}
	return slices.ContainsFunc(p.Assessment.Findings, func(f roll.Finding) bool {
		if f.Instance != id {
			return false
		}
		switch f.Kind {
		case roll.ConditionFailed: // the reason may change during the repair
			_, ok := p.Policy(f.Selector).Repairs(f)
			return ok || act.Kind == roll.ConditionFailed && f.Condition == roll.AcceleratedHardware
		case roll.Uninitialized:
			return act.Kind == roll.Uninitialized || !p.onlyUnmarked(f)
		case roll.Flapping, roll.Impaired:
			return false
		case roll.Scheduled:
			return f.Stage == roll.Overdue // before that it may be working
		}
		return true
	})
}

// recover uncordons nodes that Rollcall cordoned and that are healthy again. If somebody already
// lifted the cordon, the annotation is still removed: a later cordon is theirs. The annotation
// counts only if the ledger has the order, since anybody who may write nodes can set it.
func (p *planner) recover() {
	if p.fault != nil {
		return
	}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if !p.wholeCluster() && n.Instance != p.Snapshot.Target {
			continue
		}
		if n.CordonedBy == "" || !n.DeletedAt.IsZero() {
			continue
		}
		cordon, ok := p.State.Action(n.CordonedBy)
		if !ok || !Action(cordon.Do).cordons() || cordon.Instance != n.Instance {
			continue
		}
		if n.Ready.Status != roll.ConditionTrue && n.Unschedulable || p.notReadyForWork(cordon) {
			continue
		}
		p.uncordon(n, cordon)
	}
}

func (p *planner) uncordon(n *roll.Node, cordon ledger.Action) {
	m := roll.Member{Instance: p.Snapshot.Instance(n.Instance), Node: n}
	hold := func(no *Refusal) {
		p.out.Held = append(p.out.Held, Held{Instance: n.Instance, Node: n.Name, Group: m.Group(), Kind: cordon.Kind, Action: Uncordon, Refusal: *no})
	}
	if wasReplaced(p.State.Actions, n.Instance) || m.Instance != nil && m.Instance.State.Gone() {
		return // the node goes with its instance; it did not recover
	}
	if m.Instance != nil {
		if no := taggedOut(*m.Instance, p.Now); no != nil {
			hold(no)
			return
		}
	}
	id := uncordonID(p.Snapshot.Cluster.ID, cordon)
	if key, _, _ := strings.Cut(n.StartupTaint, ":"); key != "" && roll.StartupTaint(key, p.Policy(m.Selector()).Initialization.Taints) {
		return // it is not ready for work yet
	}
	if no := cmp.Or(triedBefore(p.State, id, p.Now), modeObjects(p.Policy(m.Selector()))); no != nil {
		hold(no)
		return
	}
	p.out.Orders = append(p.out.Orders, Order{
		ID: id, ClusterID: p.Snapshot.Cluster.ID, Instance: n.Instance, Node: n.Name, Group: m.Group(), Owner: m.Owner(),
		Kind: cordon.Kind, Action: Uncordon, FirstSeen: cordon.At, Since: cordon.At, At: p.Now, Expires: p.Now.Add(OrderLife),
		Why: fmt.Sprintf("node %s came back; Rollcall cordoned it at %s for %s", n.Name, roll.Clock(cordon.At), cordon.Kind),
	})
}

// uncordonID returns the id of the order that lifts a cordon.
func uncordonID(cluster roll.ClusterID, cordon ledger.Action) string {
	return hash(cluster.String(), cordon.ID, string(Uncordon))
}

// outOfService taints the nodes of instances that Rollcall terminated, if the policy enables it.
// The control plane then removes their pods and detaches their volumes at once. EC2 must report the
// instance as terminated, not as shutting-down: only then nothing runs there any more.
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
func (p *planner) outOfService() {
	if p.fault != nil {
		return
	}
	ends := map[roll.InstanceID]ledger.Action{}
	wanted := map[roll.InstanceID]bool{}
	for _, a := range p.State.Actions {
		if a.Do == string(Terminate) && a.Outcome != nil && a.Outcome.Result == ledger.Done && p.Now.Sub(a.Outcome.At) < forgottenAfter {
			ends[a.Instance], wanted[a.Instance] = a, true
		}
	}
	if len(ends) == 0 {
		return
	}
	instances, nodes := find(p.Snapshot, wanted)
	for _, a := range p.State.Actions { // in order, so that plans are repeatable
		i, n := instances[a.Instance], nodes[a.Instance]
		if end, ok := ends[a.Instance]; ok && end.ID == a.ID && a.Outcome != nil && i != nil && n != nil {
			p.orderTaint(a, i, n)
		}
	}
}

func (p *planner) orderTaint(end ledger.Action, i *roll.Instance, n *roll.Node) {
	m := roll.Member{Instance: i, Node: n}
	pol := p.Policy(m.Selector())
	switch {
	case !pol.SilentNode.OutOfServiceTaint, !n.DeletedAt.IsZero(), n.Ready.Status == roll.ConditionTrue:
		return
	case p.adopters[n.Name] != "": // another instance may have taken the Node over
		return
	case i.State == roll.StateShuttingDown:
		p.next(p.Now.Add(advance))
		return
	case i.State != roll.StateTerminated:
		return
	}
	id := taintID(p.Snapshot.Cluster.ID, end)
	if no := cmp.Or(triedBefore(p.State, id, p.Now), taggedOut(*i, p.Now), modeObjects(pol)); no != nil {
		if no.Reason != AlreadyBegun { // this reason remains until the node is gone
			p.out.Held = append(p.out.Held, Held{Instance: n.Instance, Node: n.Name, Group: m.Group(), Kind: end.Kind, Action: OutOfService, Refusal: *no})
		}
		return
	}
	p.out.Orders = append(p.out.Orders, Order{
		ID: id, ClusterID: p.Snapshot.Cluster.ID, Instance: n.Instance, Node: n.Name, Group: m.Group(), Owner: m.Owner(),
		Kind: end.Kind, Action: OutOfService, FirstSeen: end.At, Since: end.At, At: p.Now, Expires: p.Now.Add(OrderLife),
		Why: fmt.Sprintf("EC2 says that %s is terminated, which Rollcall terminated at %s for %s; other nodes still wait for its pods and volumes", i.ID, roll.Clock(end.Outcome.At), end.Kind),
	})
}

// taintID returns the id of the order that taints the node of a terminated instance.
func taintID(cluster roll.ClusterID, end ledger.Action) string {
	return hash(cluster.String(), end.ID, string(OutOfService))
}
