package assess

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// node judges a node on an EC2 instance.
func (a *assessor) node(m roll.Member) {
	n, i := m.Node, m.Instance
	if i != nil && i.OtherCluster != "" {
		a.note("node %s: the tags of its instance %s name another cluster, %s; it is not judged here", n.Name, n.Instance, i.OtherCluster)
		return
	}
	a.pressures(n)
	returns := a.returns(n)
	fate := a.fate(m)
	late := n.Ready.Status == roll.ConditionTrue && i != nil && i.State == roll.StatePending // EC2 shows that it runs a moment later
	if late || fate == dead && a.takenOver(n) {
		a.countInZone(m)
	}
	switch fate {
	case leaving:
		a.absence(m, time.Time{})
		a.note("node %s: its instance %s is %s; it is not judged", n.Name, n.Instance, i.Fate())
	case dead:
		if n.Ready.Status == roll.ConditionTrue {
			a.readyGhost(m)
			return
		}
		a.ghost(m, a.absence(m, time.Time{}))
	default:
		a.present(m, returns)
	}
}

// present judges a node whose instance exists, as far as is known.
func (a *assessor) present(m roll.Member, returns []time.Time) {
	if m.Node.Ready.Status != roll.ConditionTrue {
		a.presentAway(m, returns)
		return
	}
	group, missing := a.countNode(m), a.missingForReady(m)
	a.pressGroup(m, group)
	a.registered(m, group, missing == "")
	primary := missing != "" && a.uninitialized(m, missing, false)
	a.impaired(m)
	a.scheduled(m)
	if primary {
		a.keepHidden(m, returns)
		return
	}
	a.conditionFailed(m)
	a.flapping(m, returns)
}

// presentAway judges a node that is not Ready and whose instance exists. An instance in a warm pool
// or Standby need not be ready, and is not counted.
func (a *assessor) presentAway(m roll.Member, returns []time.Time) {
	n, i := m.Node, m.Instance
	a.keepHidden(m, returns)
	does, left := serves, time.Time{}
	if i != nil {
		does, left = a.rest(i)
	}
	w := a.absence(m, left)
	if does == rests {
		a.note("node %s: its Auto Scaling group keeps its instance %s in %s; it is not judged", n.Name, i.ID, a.Snapshot.Details[i.ID].Lifecycle)
		return
	}
	group := a.countNode(m)
	a.pressGroup(m, group)
	a.registered(m, group, false)
	// A node on a stopped instance is silent for that reason.
	if n.Ready.Status != roll.ConditionFalse && !m.Off() {
		a.out.Silent = append(a.out.Silent, w.began)
	}
	if does == unknownRest && a.mayRest(i) {
		a.keepResting(m)
		return
	}
	a.absent(m, w)
	if n.Ready.Status == roll.ConditionFalse { // no check may see it Ready
		a.flapping(m, returns)
	}
	a.impaired(m)
	a.scheduled(m)
}

// mayRest reports whether an instance whose state in its Auto Scaling group is unknown may be in a
// warm pool or Standby: it was there before, or it is stopped as a warm pool stops instances. Any
// other instance is judged; an act on it needs more evidence.
func (a *assessor) mayRest(i *roll.Instance) bool {
	_, rested := a.State.Rests[i.ID]
	return rested || i.State != roll.StateRunning
}

// keepResting keeps the findings of an instance that may be in a warm pool or Standby.
func (a *assessor) keepResting(m roll.Member) {
	id := m.Instance.ID
	a.keep(id)
	a.ask(roll.Question{Instance: id, AutoScaling: true}, m.Group())
	if a.Snapshot.Details[id].LifecycleRead == roll.Unreadable {
		a.unreadable++
	}
}

// neverReady is the maximum time from the creation of a Node to its first status. Its Ready
// condition is written with it or shortly after, with a resolution of one second.
const neverReady = 10 * time.Second

// absent judges a node that is not Ready.
func (a *assessor) absent(m roll.Member, w absence) {
	n := m.Node
	if n.Ready.Status != roll.ConditionFalse {
		a.unready(m, roll.Unknown, roll.ConditionUnknown, "has not reported its status", w)
		return
	}
	if !w.since.After(n.Created.Add(neverReady)) {
		a.uninitialized(m, "has never been ready", true)
		return
	}
	// Once it has been Ready for long, its pods may be running without the label, unless a taint keeps them away.
	starts := n.StartupTaint != "" || w.since.Before(n.Created.Add(a.Policy(m.Selector()).Initialization.Deadline))
	if missing := a.missingLabel(m); missing != "" && starts {
		a.uninitialized(m, missing, false)
		return
	}
	a.unready(m, roll.NotReady, roll.ConditionFalse, "has not been ready", w)
}

// unready finds a node whose Ready condition is False or Unknown, if the policy watches that. What
// was missing before and still is, is not over.
func (a *assessor) unready(m roll.Member, kind roll.Kind, status roll.ConditionStatus, told string, w absence) {
	tolerance, ok := a.Policy(m.Selector()).Tolerance("Ready", string(status))
	if !ok {
		return
	}
	if a.missingForReady(m) != "" && !m.Off() {
		a.keepOne(roll.FindingKey{Instance: m.Node.Instance, Kind: roll.Uninitialized})
	}
	f := a.finding(m, kind, w.since, w.proven.Add(tolerance))
	f.Began, f.Perhaps = w.began, w.perhaps
	f.Summary = fmt.Sprintf("node %s %s since %s", m.Node.Name, told, roll.Clock(w.since))
	if m.Node.Ready.Reason != "" {
		f.Summary += " (" + m.Node.Ready.Reason + ")"
	}
	a.add(f, m)
}

// missingForReady returns what prevents a Ready node from being initialized, "" if nothing does.
func (a *assessor) missingForReady(m roll.Member) string {
	n := m.Node
	if n.StartupTaint != "" {
		key, _, _ := strings.Cut(n.StartupTaint, ":")
		// The snapshot has the startup taints of every part of the policy.
		if roll.StartupTaint(key, a.Policy(m.Selector()).Initialization.Taints) {
			return "is Ready and still has the startup taint " + n.StartupTaint
		}
	}
	return a.missingLabel(m)
}

// missingLabel returns the label that Karpenter has not set on its node yet.
// https://karpenter.sh/docs/concepts/nodeclaims/ describes registration and initialization.
func (a *assessor) missingLabel(m roll.Member) string {
	switch n := m.Node; {
	case n.Registered && n.Initialized, m.Owner() != roll.OwnerKarpenter:
		return ""
	case !n.Registered:
		return "is Karpenter's and not marked as registered (label karpenter.sh/registered)"
	}
	return "is Karpenter's and not marked as initialized (label karpenter.sh/initialized)"
}

// uninitialized finds a node that is not ready for work, from its warning time on. always: the node
// was never ready, and its times are known. It reports whether there is a finding.
//
// A node that was initialized and is missing something again is a finding at once, within its
// tolerance: only the ledger knows since when.
func (a *assessor) uninitialized(m roll.Member, missing string, always bool) bool {
	n := m.Node
	warnAfter, deadline := a.Policy(m.Selector()).Initialization.WarnAfter, a.Policy(m.Selector()).Initialization.Deadline
	start, event := a.firstKnown(n.Created, time.Time{}), "its creation at "
	if m.Instance != nil && m.Instance.Launched.After(start) {
		start, event = a.firstKnown(m.Instance.Launched, time.Time{}), "its instance was started at " // a later boot of the same node
	}
	since, later, worked := start, false, false
	began := since
	if key := (roll.FindingKey{Instance: n.Instance, Kind: roll.Uninitialized}); !always {
		since, later = a.began(key, start, warnAfter, deadline)
		began = a.counted(key, since, later)
		worked = a.worked(m, key, start, deadline)
	}
	warnAt := since.Add(warnAfter)
	waits := !later && a.Now.Before(warnAt)
	if waits {
		a.wait(warnAt)
		if len(a.out.Starting) == startingKept {
			return false
		}
	}
	f := a.finding(m, roll.Uninitialized, since, began.Add(deadline))
	f.Began, f.Worked = began, worked
	a.warn(&f, warnAt)
	if later {
		event = ""
	}
	f.Summary = fmt.Sprintf("node %s %s since %s%s", n.Name, missing, event, roll.Clock(since))
	if worked && n.Ready.Status == roll.ConditionTrue {
		f.Summary += "; it worked before"
	}
	if waits {
		a.out.Starting = append(a.out.Starting, f)
		return false
	}
	a.add(f, m)
	return true
}

// shortest is the least time for which a node that starts is not Ready and may have worked before. It may
// be for seconds, several times, while its agents start.
const shortest = time.Minute

// worked reports whether a node that is missing something was ready for work before, as far as is
// known. If it is too late to know, the answer is yes. Agents restore their startup taint whenever
// they are down, and the workload of such a node continues. For a node of Karpenter, its label or
// its NodeClaim shows it. Any other node never worked if a check saw in time what was missing, and
// no check saw the node ready.
func (a *assessor) worked(m roll.Member, key roll.FindingKey, start time.Time, deadline time.Duration) bool {
	n := m.Node
	if m.Owner() == roll.OwnerKarpenter {
		// Karpenter takes both marks off for a reboot, and pods run on through it.
		// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/reboot/controller.go
		claim := a.Snapshot.Details[m.ID()].NodeClaim
		return n.Initialized || claim != nil && (claim.Initialized.Status == roll.ConditionTrue || claim.Rebooting.Status != "")
	}
	if away, ok := a.State.NotReady[n.Instance]; ok && n.Ready.Status == roll.ConditionTrue && n.Ready.Since.Sub(away.Since) >= shortest {
		return true // no check may have seen it between what it was missing first and its silence
	}
	if known, ok := a.State.Findings[key]; ok && !known.Since.Before(start) {
		return known.Worked
	}
	switch {
	case !a.State.Checked.Before(n.Created.Add(listed)):
		return true // the last complete check found nothing wrong with it
	case a.Presume:
		return !a.Now.Before(start.Add(deadline + presumed))
	}
	return !a.Now.Before(start.Add(deadline)) // too late to know
}

const (
	// listed is how long before the time of a check its listing of nodes may have begun: a check
	// runs for the minute for which it was scheduled.
	listed = time.Minute
	// presumed is how long after its deadline a node that was never ready would have been handled,
	// for a check without a ledger.
	presumed = time.Hour
)

// startingKept is the maximum number of listed nodes that still have time.
const startingKept = 100

// conditionFailed finds a Ready node with another condition that the policy does not tolerate. Of
// several, an overdue one that the policy repairs comes first, then the one whose tolerance ends
// first.
func (a *assessor) conditionFailed(m roll.Member) {
	n := m.Node
	if len(n.Conditions) == 0 {
		return // as of most nodes: their policy is not looked up
	}
	policy := a.Policy(m.Selector())
	var first *roll.TypedCondition
	var began, due time.Time
	leads := false
	for i := range n.Conditions {
		c := &n.Conditions[i]
		tolerance, ok := policy.Tolerance(c.Type, string(c.Status))
		if !ok {
			continue
		}
		b := a.failedSince(n, c)
		if m.Instance != nil && m.Instance.Launched.After(b) {
			b = a.firstKnown(m.Instance.Launched, time.Time{}) // from another boot
		}
		d := b.Add(tolerance)
		repair, ok := policy.Repairs(roll.Finding{Kind: roll.ConditionFailed, Condition: c.Type, Reason: c.Reason})
		acts := ok && repair != roll.RepairHold && !a.Now.Before(d)
		if first == nil || acts || !leads && (d.Before(due) || d.Equal(due) && c.Type < first.Type) {
			first, began, due, leads = c, b, d, acts
		}
	}
	if first == nil {
		return
	}
	f := a.finding(m, roll.ConditionFailed, began, due)
	f.Condition, f.Reason = first.Type, first.Reason
	f.Summary = fmt.Sprintf("condition %s of node %s is %s since %s", first.Type, n.Name, first.Status, roll.Clock(began))
	if first.Reason != "" {
		f.Summary += " (" + first.Reason + ")"
	}
	a.add(f, m)
}

// failedSince returns since when a condition of a Ready node has failed. The agent or kubelet that writes it dates it with
// the clock of its machine, which may be slow: the last complete check found none failed.
func (a *assessor) failedSince(n *roll.Node, c *roll.TypedCondition) time.Time {
	since := a.firstKnown(c.Since, n.Created)
	known, found := a.State.Findings[roll.FindingKey{Instance: n.Instance, Kind: roll.ConditionFailed}]
	_, away := a.State.NotReady[n.Instance] // that check did not judge its conditions
	switch {
	case found && known.Condition == c.Type:
		return roll.Later(since, known.Since.UTC())
	case !found && !away && a.seen(n):
		return a.foundSince(since)
	}
	return since
}

// keepHidden keeps Flapping, and ConditionFailed while the condition lasts, while the node has a
// finding of another kind. Both are about Ready nodes, but are not over yet.
func (a *assessor) keepHidden(m roll.Member, returns []time.Time) {
	a.keepFlapping(m.Node, returns)
	k := roll.FindingKey{Instance: m.Node.Instance, Kind: roll.ConditionFailed}
	known, ok := a.State.Findings[k]
	if !ok {
		return
	}
	for _, c := range m.Node.Conditions {
		if _, fails := a.Policy(m.Selector()).Tolerance(c.Type, string(c.Status)); fails && c.Type == known.Condition {
			a.keepOne(k)
		}
	}
}
