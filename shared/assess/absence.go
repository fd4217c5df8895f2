package assess

import (
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// absence is since when a node has not been ready.
type absence struct {
	since time.Time // the whole of it, also if it took another form before
	began time.Time // the form of it that this look shows: its transition, or a later boot
}

// absence tells since when a node that is not ready has not been, and has the ledger
// remember it. left is when its instance was seen to leave a rest; what was before
// does not count.
func (a *assessor) absence(m roll.Member, left time.Time) absence {
	n := m.Node
	if n.Ready.Status == roll.ConditionTrue {
		return absence{}
	}
	began := a.past(n.Ready.Since, n.Created)
	// Stopped and started again: what the node said before is about another boot.
	if m.Instance != nil && m.Instance.Launched.After(began) {
		began = a.past(m.Instance.Launched, time.Time{})
	}
	if left.After(began) {
		began = a.past(left, time.Time{})
	}
	known, ok := a.State.NotReady[n.Instance]
	w := absence{since: began, began: began}
	var told time.Time
	if checked := a.State.Checked; !ok && !checked.After(began) && checked.After(n.Created) {
		told = checked
	}
	if ok && a.sameAbsence(m, known, began, left) {
		w.since, told = known.Since.UTC(), known.Told
	}
	a.out.NotReady[n.Instance] = ledger.NotReady{
		Since: w.since, Status: n.Ready.Status, Transition: began,
		Known: m.Instance != nil || known.Known, // what was known once cannot be a mistake later
		Told:  told,
	}
	return w
}

// sameAbsence reports whether what an earlier check remembered is the beginning of this
// absence. The transition from Unknown to False starts a new time although the node was
// not ready in between, so what is longer ago counts. It does not count if the same
// status has another transition by now (the node was ready in between), nor across a
// new Node object, a new boot or a rest.
func (a *assessor) sameAbsence(m roll.Member, known ledger.NotReady, began, left time.Time) bool {
	n := m.Node
	switch {
	case known.Status == n.Ready.Status && !known.Transition.Equal(began):
		return false
	case known.Since.After(began), known.Since.Before(n.Created), known.Since.Before(left):
		return false
	case m.Instance != nil && known.Since.Before(m.Instance.Launched):
		return false
	}
	return true
}

// repose is what the Auto Scaling group of an instance does with it.
type repose uint8

const (
	serves repose = iota // it is in service, or in no group, or nobody asked
	rests                // it need not be a node now
	unsaid               // it could not be read, or must be read first
)

// rest tells what an instance's Auto Scaling group does with it, and when a rest ended
// that a check saw; zero if none did. It has the ledger remember both.
func (a *assessor) rest(i *roll.Instance) (does repose, left time.Time) {
	d := a.Snapshot.Details[i.ID]
	known, rested := a.State.Rests[i.ID]
	if resting(d.Lifecycle) {
		a.out.Rests[i.ID] = ledger.Rest{}
		return rests, time.Time{}
	}
	if rested {
		a.out.Rests[i.ID] = known
	}
	switch {
	case i.ASG != "" && d.LifecycleRead == roll.Unreadable && !a.Presume:
		return unsaid, known.Left
	case !rested || !known.Left.IsZero():
		return serves, known.Left
	case i.ASG != "" && d.LifecycleRead == roll.NotAsked:
		return unsaid, time.Time{}
	}
	// It has left its rest just now; its time begins here.
	a.out.Rests[i.ID] = ledger.Rest{Left: a.Now}
	return serves, a.Now
}

// resting reports lifecycle states of an Auto Scaling group in which an instance
// need not be a node: warm pools, Standby, and the way out of the group.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func resting(lifecycle string) bool {
	switch {
	case strings.HasPrefix(lifecycle, "Warmed:"), lifecycle == "Standby", lifecycle == "EnteringStandby":
		return true
	case strings.HasPrefix(lifecycle, "Terminating"), strings.HasPrefix(lifecycle, "Detach"):
		return true
	}
	return false
}
