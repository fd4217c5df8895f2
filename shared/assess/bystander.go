package assess

import (
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// bystander counts a node other than the snapshot's target, so that an outage that began after the
// order is detected before the act. Since only nodes are listed, those that the last check found
// gone or out of service are left out. Its overdue findings count until a check finds otherwise.
func (a *assessor) bystander(m roll.Member) {
	n := m.Node
	a.beside[n.Instance] = true
	if rest, known := a.State.Rests[n.Instance]; known && rest.Left.IsZero() || a.foundGone(n.Instance) {
		return
	}
	g := a.countNode(m)
	ready := n.Ready.Status == roll.ConditionTrue
	if n.Ready.Status == roll.ConditionUnknown && !m.Off() {
		a.out.Silent = append(a.out.Silent, a.firstKnown(n.Ready.Since, n.Created))
	}
	if f, ok := a.knownGroup(n.Instance, wasOverdue); ok && !ready || a.overdueAlone(m) {
		if f != "" {
			g = a.group(f)
		}
		a.overdueIn(g)
	}
}

// overdueAlone reports whether a node is past the tolerance of its Ready condition.
func (a *assessor) overdueAlone(m roll.Member) bool {
	n := m.Node
	if n.Ready.Status == roll.ConditionTrue || a.starting(m) {
		return false
	}
	since := a.firstKnown(n.Ready.Since, n.Created)
	if known, ok := a.State.NotReady[n.Instance]; ok && known.Since.Before(since) && !known.Since.Before(n.Created) {
		since = known.Since
	}
	tolerance, ok := a.Policy(m.Selector()).Tolerance("Ready", string(n.Ready.Status))
	return ok && !a.Now.Before(since.Add(tolerance))
}

// absentBystanders counts instances without a node that the last check found overdue.
func (a *assessor) absentBystanders() {
	target := a.Snapshot.Target
	if target == "" {
		return
	}
	counted := map[roll.InstanceID]bool{target: true}
	for k, f := range a.State.Findings {
		if counted[k.Instance] || a.beside[k.Instance] || !wasOverdue(k.Kind, f) {
			continue
		}
		counted[k.Instance] = true
		g := a.group(f.Group)
		a.join(g)
		a.overdueIn(g)
	}
}

// wasOverdue reports whether a finding of the last check counts as overdue.
func wasOverdue(kind roll.Kind, f ledger.Finding) bool {
	return f.Stage == roll.Overdue && CountsAsOverdue(kind)
}
