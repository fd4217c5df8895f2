package assess

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// unjudged is an instance without a node for which the evidence that it should be one was
// unreadable.
type unjudged struct {
	member roll.Member
	due    time.Time // when it would be overdue; zero if it is counted elsewhere
}

// noteUnjudged records an instance past its warning time that could not be judged, and since when it may
// have had a fault.
func (a *assessor) noteUnjudged(m roll.Member, due, doubt time.Time) {
	a.unjudged = append(a.unjudged, unjudged{m, due})
	a.out.Unjudged = append(a.out.Unjudged, m.Instance.ID)
	a.out.Doubts[m.Instance.ID] = doubt
}

// countUnjudged counts instances that could not be judged as overdue, if they share their group,
// launch template version, instance profile or subnet with an overdue one. Something unreadable
// must not leave room for an act. A bastion with unreadable user data shares none of these with the
// nodes.
func (a *assessor) countUnjudged() {
	slices.Sort(a.out.Unjudged)
	overdue := map[roll.InstanceID]roll.Group{}
	for _, f := range a.out.Findings {
		if f.Stage == roll.Overdue && CountsAsOverdue(f.Kind) {
			overdue[f.Instance] = f.Group
		}
	}
	tied := map[roll.Tie]bool{}
	for n := range a.Snapshot.Instances {
		i := &a.Snapshot.Instances[n]
		if g, ok := overdue[i.ID]; ok {
			for _, t := range roll.Ties(g, i) {
				tied[t] = true
			}
		}
	}
	for _, u := range a.unjudged {
		if u.due.IsZero() || a.Now.Before(u.due) || !slices.ContainsFunc(roll.Ties(u.member.Group(), u.member.Instance), func(t roll.Tie) bool { return tied[t] }) {
			continue
		}
		g := a.group(u.member.Group())
		a.join(g)
		a.overdueIn(g)
	}
}
