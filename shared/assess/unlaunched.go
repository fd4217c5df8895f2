package assess

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// unlaunched finds groups whose launches fail or do not happen. There is one finding per group,
// since Karpenter creates another NodeClaim for each try. It lasts until a launch succeeds or none
// is wanted.
func (a *assessor) unlaunched() {
	if a.Snapshot.Target != "" {
		return
	}
	for _, group := range slices.Sorted(maps.Keys(a.Snapshot.Launches)) {
		l := a.Snapshot.Launches[group]
		id := roll.InstanceID(group) // the groups of launches have the same names as their subjects
		since, tolerance := a.firstKnown(l.Since, l.Failed), a.Policy(roll.GroupSelector(group)).Launch.Tolerance
		switch known, ok := a.State.Findings[roll.FindingKey{Instance: id, Kind: roll.Unlaunched}]; {
		case ok:
			since = known.Since.UTC()
		case l.Status == "" && a.inOrder(since, tolerance):
			// The group had what it wanted then. It lacks something anew, and its next launch may work.
			since = a.Now.UTC()
		}
		due := since.Add(tolerance)
		if l.Status != "" {
			due = since // EKS has already waited
		}
		f := roll.Finding{
			Instance: id, Group: group, Selector: roll.GroupSelector(group), Owner: l.Owner, Kind: roll.Unlaunched,
			Stage: a.stage(due), Since: since, Began: since, Due: due, Launch: l,
		}
		f.Summary = fmt.Sprintf("launches of %s have not succeeded since %s: %s", group, roll.Clock(since), said(l.Message))
		if l.Unready {
			f.Summary = fmt.Sprintf("%s has not been ready since %s, so Karpenter launches nothing for it: %s", group, roll.Clock(since), said(l.Message))
		}
		if l.Status != "" {
			f.Summary = fmt.Sprintf("EKS reports %s as %s: %s", group, l.Status, said(l.Message))
		}
		a.add(f, roll.Member{})
	}
	for _, g := range a.Snapshot.Suspended {
		a.note("%s has fewer instances than it should: its process Launch is suspended, so that is intended", g)
	}
}

// said returns the message of a failed launch on one line.
func said(message string) string {
	if message == "" {
		return "nothing says why"
	}
	const most = 300
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "..."
	}
	return message
}

// pending finds an instance that stays pending.
func (a *assessor) pending(m roll.Member) {
	i := m.Instance
	if i.Ambiguous || i.Unclaimed || i.OtherCluster != "" || i.Launched.IsZero() {
		return
	}
	if shows, _ := a.intent(i, a.Snapshot.Details[i.ID]); shows != intentShown {
		return
	}
	launched := a.firstKnown(i.Launched, i.Launched)
	f := a.finding(m, roll.Unlaunched, launched, launched.Add(a.Policy(m.Selector()).Launch.Pending))
	if f.Stage != roll.Overdue {
		a.next(f.Due) // normal at first
		return
	}
	f.Summary = fmt.Sprintf("instance %s, launched at %s, is still pending", i.ID, roll.Clock(launched))
	a.add(f, m)
}
