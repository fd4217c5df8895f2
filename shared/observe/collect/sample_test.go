package collect

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// Of two nodes in each of six groups, a check reads eight.
func TestOfManyNodesOthersAreReadInTurn(t *testing.T) {
	eachIsRead(t, 6, roll.Unknown, func(e *evidence.Evidence, n int) bool {
		return e.Nodes[nodeName(n)].Object.Known() || e.Nodes[nodeName(n+1)].Object.Known()
	})
}

// A long hold in some groups does not leave a finding of another one without a cause forever, and until its
// turn no act about it is ordered.
func TestOfManyGroupsOthersAreSampledInTurn(t *testing.T) {
	eachIsRead(t, 30, roll.Unregistered, func(e *evidence.Evidence, n int) bool {
		one, other := e.Instances[instanceID(n)].UserData, e.Instances[instanceID(n+1)].UserData
		passing, unread := e.Unread[one.Gap()]
		sampled := one.Known() || other.Known()
		expect.That(t, sampled || n > 4 && unread && passing, "the group of instance %d: %+v", n, one)
		return sampled
	})
}

// eachIsRead makes 24 checks, five minutes apart, of groups with two findings each. reads reports whether a
// check read something of the findings n and n+1; one check must have, for each group.
func eachIsRead(t *testing.T, groups int, kind roll.Kind, reads func(e *evidence.Evidence, n int) bool) {
	t.Helper()
	a := healthy()
	var findings []roll.Finding
	for n := range 2 * groups {
		f := found(n, kind, roll.NodePoolGroup(fmt.Sprintf("p%d", n/2)))
		a.launch(n, f.Group)
		if f.Node != "" {
			a.join(n)
		}
		findings = append(findings, f)
	}
	read := make([]bool, groups)
	for n := range 24 {
		s := seen(findings...)
		s.At = at.Add(time.Duration(n) * 5 * time.Minute)
		e := a.collector().Collect(t.Context(), Input{Snapshot: s, Findings: findings})
		for g := range read {
			read[g] = reads(e, 2*g) || read[g] // reads has its own expectations
		}
	}
	for g, was := range read {
		expect.That(t, was, "nothing of %s was ever read", findings[2*g].Group)
	}
}
