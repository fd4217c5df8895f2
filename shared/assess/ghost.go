package assess

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// forgotten is the minimum time between the first and the last lookup that did not find an instance
// before it counts as gone. EC2 shows a terminated instance for about an hour, so a check usually
// sees it as terminated first. During a zone disruption, EC2 may fail to show existing instances.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html
const forgotten = 10 * time.Minute

// fate is the state of a node's instance.
type fate uint8

const (
	there   fate = iota // it exists, as far as is known
	leaving             // it is being started or terminated
	dead                // EC2 reported it as terminated, or has not found it for long enough
)

// fate returns the state of a node's instance in EC2. An incomplete listing does not prove that an
// instance is gone.
func (a *assessor) fate(m roll.Member) fate {
	i := m.Instance
	switch {
	case !a.instancesRead:
		return there
	case i == nil:
		return a.unfound(m)
	case i.State == roll.StateTerminated:
		a.terminated(m)
		return dead
	case i.State == roll.StateShuttingDown, i.State == roll.StatePending:
		return leaving
	}
	return there
}

// terminated records since when EC2 reports the instance of a Ready node as terminated.
func (a *assessor) terminated(m roll.Member) {
	id := m.ID()
	if at, ok := a.State.Missing[id]; ok {
		a.out.Missing[id] = at
	} else if m.Node.Ready.Status == roll.ConditionTrue {
		a.out.Missing[id] = a.Now
	}
}

// unfound judges a node whose instance EC2 does not return. That means nothing if no earlier check
// saw the instance: the node may run in another account, or may be left over from before the first
// check. It also means nothing for Auto Mode, whose instances EC2 hides by default.
func (a *assessor) unfound(m roll.Member) fate {
	n := m.Node
	if m.Owner() == roll.OwnerAutoMode {
		a.hidden++
		return there
	}
	missing, noted := a.State.Missing[n.Instance]
	gone := a.foundGone(n.Instance)
	known := noted || gone || a.State.NotReady[n.Instance].Known
	if !known || !a.Snapshot.NotFound[n.Instance] {
		a.note("node %s: EC2 does not show its instance %s, and no earlier check saw it; the node is judged by what Kubernetes says alone", n.Name, n.Instance)
		return there
	}
	if !noted {
		missing = a.Now
	}
	a.out.Missing[n.Instance] = missing
	// A terminated instance does not come back.
	if gone || a.Now.Sub(missing) >= forgotten {
		return dead
	}
	a.next(missing.Add(forgotten))
	a.note("node %s: EC2 has not known its instance %s since %s; for %.0f min that proves nothing", n.Name, n.Instance, roll.Clock(missing), forgotten.Minutes())
	return there
}

// foundGone reports whether the last check found that EC2 reports the instance as gone.
func (a *assessor) foundGone(id roll.InstanceID) bool {
	_, ghost := a.State.Findings[roll.FindingKey{Instance: id, Kind: roll.Ghost}]
	return ghost
}

// ghost finds a node that is not Ready and whose instance is gone.
func (a *assessor) ghost(m roll.Member, w absence) {
	tolerance, ok := a.tolerance(m, roll.Ghost)
	if !ok {
		return
	}
	n := m.Node
	since, began := w.since, w.began
	if known, ok := a.State.Findings[roll.FindingKey{Instance: n.Instance, Kind: roll.Ghost}]; ok && !known.Contradicted && !known.Since.Before(n.Created) {
		since, began = known.Since.UTC(), known.Began.UTC()
	} else {
		// A node may have been unready long before its instance went. Its time as a ghost begins after
		// the last check that saw no ghost, or that saw it Ready.
		if a.inOrder(since, 0) {
			since = a.firstKnown(a.State.Checked, time.Time{})
		}
		since = roll.Later(since, a.endedBy(n.Instance)) // the controller that removes such nodes starts counting then
	}
	f := a.finding(m, roll.Ghost, since, since.Add(tolerance))
	f.Began = began
	f.Summary = fmt.Sprintf("node %s has not been ready since %s, and %s", n.Name, roll.Clock(since), a.deathNote(m))
	a.add(f, m)
}

// endedBy returns when Rollcall itself terminated the instance, zero if it did not.
func (a *assessor) endedBy(id roll.InstanceID) time.Time {
	for _, act := range slices.Backward(a.State.Actions) {
		ends := act.Do == "terminate" || act.Do == "delete-nodeclaim" // the names in package plan
		if act.Instance == id && ends && act.Outcome != nil && act.Outcome.Result == ledger.Done {
			return act.Outcome.At.UTC()
		}
	}
	return time.Time{}
}

// readyGhost finds a node that is Ready although its instance is gone, which is normal for a moment
// after a termination.
func (a *assessor) readyGhost(m roll.Member) {
	tolerance, ok := a.tolerance(m, roll.Ghost)
	if !ok {
		return
	}
	since := a.firstKnown(a.out.Missing[m.ID()], time.Time{})
	f := a.finding(m, roll.Ghost, since, since.Add(tolerance))
	f.Contradiction = fmt.Sprintf("node %s is Ready", m.Node.Name)
	f.Summary = fmt.Sprintf("%s, but %s", f.Contradiction, a.deathNote(m))
	a.add(f, m)
}

func (a *assessor) deathNote(m roll.Member) string {
	if m.Instance != nil {
		return fmt.Sprintf("EC2 says that its instance %s is %s", m.ID(), m.Instance.Fate())
	}
	return fmt.Sprintf("EC2 no longer knows its instance %s", m.ID())
}
