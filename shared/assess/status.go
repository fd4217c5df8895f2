package assess

import (
	"cmp"
	"fmt"
	"time"

	"rollcall/shared/roll"
)

// impaired finds a running instance with a failing status check. If neither the instance check nor
// the system check fails, the finding is only reported: see plan.MachineSound.
func (a *assessor) impaired(m roll.Member) {
	i := m.Instance
	if i == nil || i.State != roll.StateRunning || a.Snapshot.StatusRead != roll.Yes {
		return
	}
	failing, ok := a.Snapshot.Impaired[i.ID]
	if !ok || resting(a.Snapshot.Details[i.ID].Lifecycle) {
		return
	}
	tolerance, ok := a.tolerance(m, roll.Impaired)
	if !ok {
		return
	}
	since := a.firstKnown(failing.Since, time.Time{})
	if known, ok := a.State.Findings[roll.FindingKey{Instance: i.ID, Kind: roll.Impaired}]; ok && failing.Since.IsZero() && !known.Since.Before(i.Launched) {
		since = known.Since.UTC()
	}
	check := cmp.Or(failing.Only, "instance")
	if failing.System {
		check = "system"
	}
	f := a.finding(m, roll.Impaired, since, since.Add(tolerance))
	f.Summary = fmt.Sprintf("the %s status check of %s has failed since %s", check, i.ID, roll.Clock(since))
	a.add(f, m)
}

// impairedIfNode judges the status checks of an instance without a node, if the known evidence
// shows that it should be one.
func (a *assessor) impairedIfNode(m roll.Member) {
	shows, _ := a.intent(m.Instance, a.Snapshot.Details[m.Instance.ID])
	if shows == noIntent {
		return
	}
	if shows == bySiblings {
		a.out.Inherited[m.Instance.ID] = true
	}
	a.impaired(m)
}

// scheduled finds the node of a running instance with a scheduled EC2 event. It is reported when
// first seen, and overdue from the policy's lead before the event may begin. An event that is moved
// counts as a new one, for which earlier acts do not count.
func (a *assessor) scheduled(m roll.Member) {
	i := m.Instance
	if i == nil || i.State != roll.StateRunning || a.Snapshot.StatusRead != roll.Yes || resting(a.Snapshot.Details[i.ID].Lifecycle) {
		return
	}
	e, ok := a.Snapshot.Scheduled[i.ID]
	if !ok {
		return
	}
	since := a.Now.UTC()
	if known, ok := a.State.Findings[roll.FindingKey{Instance: i.ID, Kind: roll.Scheduled}]; ok && !known.Since.Before(i.Launched) {
		since = known.Since.UTC()
	}
	due := roll.Later(e.NotBefore.Add(-a.Policy(m.Selector()).Scheduled.Lead), since)
	f := a.finding(m, roll.Scheduled, since, due)
	f.Began, f.Event = e.NotBefore, e
	if f.Stage == roll.Watching {
		f.Stage = roll.Warned
	}
	f.Summary = fmt.Sprintf("EC2 has scheduled %s of %s for %s", e.Code, i.ID, roll.Clock(e.NotBefore))
	if e.NotAfter.After(e.NotBefore) {
		f.Summary += " to " + roll.Clock(e.NotAfter)
	}
	a.add(f, m)
}
