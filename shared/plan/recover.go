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
// findings, such as a failed condition alone, do not keep it cordoned.
func (p *planner) notReadyForWork(id roll.InstanceID) bool {
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
			return ok
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
		if n.CordonedBy == "" || !n.DeletedAt.IsZero() || n.Ready.Status != roll.ConditionTrue && n.Unschedulable || p.notReadyForWork(n.Instance) {
			continue
		}
		cordon, ok := p.State.Action(n.CordonedBy)
		if !ok || !Action(cordon.Do).cordons() || cordon.Instance != n.Instance {
			continue
		}
		p.uncordon(n, cordon)
	}
}

// uncordon orders the uncordon of a node, or holds it.
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
