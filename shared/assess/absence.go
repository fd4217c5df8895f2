package assess

import (
	"cmp"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// absence is since when a node has not been Ready.
type absence struct {
	since time.Time // start of the whole absence, including an earlier status
	began time.Time // start of the current status: its transition, or a later boot
	// proven is since when the node was certainly not Ready. It is later than since if no check saw
	// the node for a while before its status changed: it may have been Ready then.
	proven time.Time
	// perhaps is since when it may not have been Ready, if that is earlier than since: no check saw
	// whether it was Ready in between. Zero otherwise.
	perhaps time.Time
}

// Unseen is the longest time without a check in which a node that was not Ready before, and is not
// Ready after, counts as not Ready. It is a little more than the default time between two sweeps.
const Unseen = 6 * time.Minute

// absence returns since when a node has not been Ready, and records it for the ledger. Time before
// left, when a check saw its instance leave a warm pool or Standby, does not count.
func (a *assessor) absence(m roll.Member, left time.Time) absence {
	n := m.Node
	if n.Ready.Status == roll.ConditionTrue {
		return absence{}
	}
	turned := n.Ready.Since
	if turned.IsZero() {
		turned = a.firstKnown(n.Created, time.Time{})
	}
	// Stopped and started again: the earlier status is from another boot.
	if m.Instance != nil && m.Instance.Launched.After(turned) {
		turned = m.Instance.Launched
	}
	turned = roll.Later(turned, left).UTC()
	began := a.firstKnown(turned, time.Time{}) // turned is the same in all checks, even if their clocks differ
	known, ok := a.State.NotReady[n.Instance]
	w := absence{since: began, began: began, proven: began}
	var told time.Time
	switch checked := a.State.Checked; {
	case ok && known.Transition.Equal(turned):
		w.proven = roll.Later(began, known.Proven).UTC()
	case !a.seen(n):
	case !checked.After(began):
		if !ok {
			told = checked
		}
	case n.Ready.Status == roll.ConditionFalse:
		// That check saw it Ready, or with another status, so the clock of its kubelet, which dates this one, is slow.
		// (The control plane dates Unknown.)
		w.proven = a.foundSince(began)
		if w.proven.After(checked) {
			w.since = w.proven // people are not told a time at which a check saw it Ready
		}
	}
	switch {
	case !ok || cutShort(m, known, turned, w.proven, left) || wasReady(n) && !known.Transition.Equal(turned):
	case known.Status == n.Ready.Status && !known.Transition.Equal(turned):
		// It was Ready in between, or it had the other status that is not Ready, as after a reboot. (The
		// change from Unknown to False has a new transition time too, and then the earlier time counts.)
		w.perhaps = cmp.Or(known.Perhaps, known.Since).UTC()
	default:
		w.since, w.perhaps, told = known.Since.UTC(), known.Perhaps, known.Told
		if known.Transition.Equal(turned) || began.Sub(a.State.Checked) <= Unseen {
			w.proven = cmp.Or(known.Proven, known.Since).UTC()
		}
	}
	record := ledger.NotReady{
		Since: w.since, Status: n.Ready.Status, Transition: turned,
		Known: m.Instance != nil || known.Known, // once known, always known
		Told:  told, Perhaps: w.perhaps,
	}
	if !w.proven.Equal(w.since) {
		record.Proven = w.proven
	}
	a.out.NotReady[n.Instance] = record
	return w
}

// seen reports whether the last complete check saw the node as its instance's. One without a provider id is nobody's.
func (a *assessor) seen(n *roll.Node) bool {
	_, alone := a.State.Findings[roll.FindingKey{Instance: n.Instance, Kind: roll.Unregistered}]
	return !alone && a.State.Checked.After(n.Created)
}

// foundSince returns from when a fault counts that the last complete check did not find, though a clock of the node's
// machine dates it before: that clock is slow, and when the fault began is unknown. Unless the check was only a little
// later: it may have judged ahead of its listing.
func (a *assessor) foundSince(dated time.Time) time.Time {
	if checked := a.State.Checked; checked.Add(-listed).Before(dated) {
		return roll.Later(dated, checked).UTC()
	}
	return a.Now.UTC()
}

// SameAbsence reports whether a node that is not Ready had been so, with another status, when it was last seen,
// and cannot have been Ready in between.
func SameAbsence(n *roll.Node, status roll.ConditionStatus, seen time.Time) bool {
	return n.Ready.Status != status && !wasReady(n) && n.Ready.Since.Sub(seen) <= Unseen
}

// wasReady reports whether the node was Ready right before its status became False: its kubelet had
// been reporting for a while, so the status changed from True, and not from Unknown.
func wasReady(n *roll.Node) bool {
	return !n.Reporting.IsZero() && n.Ready.Since.Sub(n.Reporting) > oneReport
}

// oneReport is more than the difference between the times of conditions in one report of a kubelet,
// which reads its clock for each of them.
const oneReport = 5 * time.Second

// cutShort reports whether the absence in the ledger is another one in any case: it is of another
// Node object, or from before a boot, or a time in a warm pool or Standby.
func cutShort(m roll.Member, known ledger.NotReady, turned, began, left time.Time) bool {
	since := known.Since
	slow := m.Node.Ready.Status == roll.ConditionFalse && known.Transition.Equal(turned) // the same status, dated before a check that saw another
	return since.After(began) && !slow || since.Before(m.Node.Created) || since.Before(left) || m.Instance != nil && since.Before(m.Instance.Launched)
}

// repose is whether the Auto Scaling group of an instance keeps it out of service.
type repose uint8

const (
	serves      repose = iota // in service, in no group, or not read
	rests                     // in a warm pool or Standby, or leaving the group
	unknownRest               // unreadable, or not yet read
)

// rest returns whether an instance's Auto Scaling group keeps it out of service, and when a check
// saw that end; zero if none did. It records both for the ledger.
func (a *assessor) rest(i *roll.Instance) (does repose, left time.Time) {
	d := a.Snapshot.Details[i.ID]
	known, rested := a.State.Rests[i.ID]
	if resting(d.Lifecycle) {
		a.out.Rests[i.ID] = ledger.Rest{Warm: strings.HasPrefix(d.Lifecycle, warmed)}
		return rests, time.Time{}
	}
	if rested {
		a.out.Rests[i.ID] = known
	}
	switch {
	case i.ASG != "" && d.LifecycleRead == roll.Unreadable && !a.Presume:
		return unknownRest, known.Left
	case !rested || !known.Left.IsZero():
		return serves, known.Left
	case i.ASG != "" && d.LifecycleRead == roll.NotAsked:
		return unknownRest, time.Time{}
	}
	// It went into service just now; its time starts here.
	a.out.Rests[i.ID] = ledger.Rest{Left: a.Now, Warm: known.Warm}
	return serves, a.Now
}

// warmed is the prefix of the lifecycle states of a warm pool.
const warmed = "Warmed:"

// resting reports whether an instance in the lifecycle state need not be a node: it is in a warm
// pool, in Standby, or leaving its Auto Scaling group.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func resting(lifecycle string) bool {
	return strings.HasPrefix(lifecycle, warmed) || lifecycle == "Standby" || lifecycle == "EnteringStandby" ||
		strings.HasPrefix(lifecycle, "Terminating") || strings.HasPrefix(lifecycle, "Detach")
}
