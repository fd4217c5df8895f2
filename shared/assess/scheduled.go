package assess

import (
	"fmt"

	"rollcall/shared/roll"
)

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
