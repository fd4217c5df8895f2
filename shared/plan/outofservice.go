package plan

import (
	"cmp"
	"fmt"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

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

// orderTaint orders the taint for a node, or holds it.
func (p *planner) orderTaint(end ledger.Action, i *roll.Instance, n *roll.Node) {
	m := roll.Member{Instance: i, Node: n}
	pol := p.Policy(m.Selector())
	switch {
	case !pol.SilentNode.OutOfServiceTaint, !n.DeletedAt.IsZero(), n.Ready.Status == roll.ConditionTrue:
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
		Why: fmt.Sprintf("EC2 says that %s is terminated, which Rollcall ended at %s for %s; its pods and volumes are waited for", i.ID, roll.Clock(end.Outcome.At), end.Kind),
	})
}

// taintID returns the id of the order that taints the node of a terminated instance.
func taintID(cluster roll.ClusterID, end ledger.Action) string {
	return hash(cluster.String(), end.ID, string(OutOfService))
}
