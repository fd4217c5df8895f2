package collect

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// Of two nodes in each of six groups, a check reads eight.
func TestOfManyNodesOthersAreReadInTurn(t *testing.T) {
	a := healthy()
	var findings []roll.Finding
	for n := range 12 {
		group := roll.NodePoolGroup(fmt.Sprintf("p%d", n/2))
		a.launch(n, group)
		a.join(n)
		findings = append(findings, found(n, roll.Unknown, group))
	}
	read := map[roll.Group]bool{}
	for n := range 24 {
		s := seen(findings...)
		s.At = at.Add(time.Duration(n) * 5 * time.Minute)
		e := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: findings})
		for i, f := range findings {
			read[f.Group] = read[f.Group] || e.Nodes[nodeName(i)].Object.Known()
		}
	}
	for g, was := range read {
		expect.That(t, was, "no node of %s was ever read", g)
	}
}

// A long hold in some groups does not leave a finding of another one without a cause forever, and until its
// turn no act about it is ordered.
func TestOfManyGroupsOthersAreSampledInTurn(t *testing.T) {
	const groups = 30
	a := healthy()
	var findings []roll.Finding
	for n := range 2 * groups {
		group := roll.NodePoolGroup(fmt.Sprintf("p%d", n/2))
		a.launch(n, group)
		findings = append(findings, found(n, roll.Unregistered, group))
	}
	read := map[roll.Group]bool{}
	for n := range 24 {
		s := seen(findings...)
		s.At = at.Add(time.Duration(n) * 5 * time.Minute)
		e := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: findings})
		for n := 0; n < len(findings); n += 2 {
			one, other := e.Instances[findings[n].Instance].UserData, e.Instances[findings[n+1].Instance].UserData
			passing, unread := e.Unread[one.Gap()]
			sampled := one.Known() || other.Known()
			expect.That(t, sampled || n > 4 && unread && passing, "%s: %+v", findings[n].Group, one)
			read[findings[n].Group] = read[findings[n].Group] || sampled
		}
	}
	for g, was := range read {
		expect.That(t, was, "%s was never sampled", g)
	}
}
