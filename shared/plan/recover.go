package plan

import (
	"fmt"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// recover gives nodes back that Rollcall cordoned and that came back. The cordon is told
// by the node itself, and believed only if the ledger knows the order: a node's
// annotations are anybody's who may write nodes.
func (p *planner) recover() {
	if p.fault {
		return
	}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if n.CordonedBy == "" || !n.Unschedulable || n.Deleting || n.Ready.Status != roll.ConditionTrue || n.StartupTaint != "" {
			continue
		}
		if _, sick := p.instances[n.Instance]; sick {
			continue
		}
		cordon, ok := p.State.Action(n.CordonedBy)
		if !ok || cordon.Do != string(Cordon) || cordon.Instance != n.Instance {
			continue
		}
		p.uncordon(n, cordon)
	}
}

func (p *planner) uncordon(n *roll.Node, cordon ledger.Action) {
	m := roll.Member{Node: n}
	for i := range p.Snapshot.Instances {
		if p.Snapshot.Instances[i].ID == n.Instance {
			m.Instance = &p.Snapshot.Instances[i]
			break
		}
	}
	hold := func(reason Reason, detail string) {
		p.out.Held = append(p.out.Held, Held{Instance: n.Instance, Node: n.Name, Group: m.Group(), Kind: cordon.Kind, Action: Uncordon, Reason: reason, Detail: detail})
	}
	if m.Instance != nil {
		if reason, detail, ok := taggedOut(*m.Instance, p.Now); ok {
			hold(reason, detail)
			return
		}
	}
	id := hash(p.Snapshot.Cluster.ID.String(), cordon.ID, string(Uncordon))
	if reason, detail, ok := triedBefore(p.State, id, p.Now); ok && reason == ActionFailed {
		hold(reason, detail)
		return
	}
	if reason, detail, ok := modeObjects(p.Policy(m.Selector()).Mode); ok {
		hold(reason, detail)
		return
	}
	p.out.Orders = append(p.out.Orders, Order{
		ID: id, Cluster: p.Snapshot.Cluster.ID, Instance: n.Instance, Node: n.Name, Group: m.Group(), Owner: m.Owner(),
		Kind: cordon.Kind, Action: Uncordon, FirstSeen: cordon.At, Since: cordon.At, At: p.Now, Expires: p.Now.Add(OrderLife),
		Why: fmt.Sprintf("node %s is Ready again; Rollcall cordoned it at %s for %s", n.Name, roll.Clock(cordon.At), cordon.Kind),
	})
}
