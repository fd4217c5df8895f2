package sim

import (
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// untended returns a shop in which Rollcall only observes.
func untended(t *testing.T) (*account, *cluster) {
	t.Helper()
	a, c := shop(t)
	c.mode = "observe"
	return a, c
}

// endings collects the events of terminated machines.
func endings(a *account) *[]Event {
	var ends []Event
	tell := a.tell
	a.tell = func(e Event) {
		if e.Kind == EventEnd {
			ends = append(ends, e)
		}
		tell(e)
	}
	return &ends
}

// Karpenter gives up on what has not registered within 15 min, and launches another machine.
func TestKarpenterGivesUpOnWhatDoesNotRegister(t *testing.T) {
	a, c := untended(t)
	ends := endings(a)
	g := c.group("general")
	g.template.breaks = neverJoins
	g.grow(1)
	a.pass(time.Minute)
	m := g.members[len(g.members)-1]
	must.That(t, len(g.members) == 4 && m.claim != nil && m.node == nil, "%d machines, the last with claim %v and node %v", len(g.members), m.claim, m.node)
	a.until(m.launched.Add(registrationTTL - time.Second))
	expect.That(t, m.state == running, "before its time is up it is %s", m.state)
	g.template.breaks = well
	a.until(m.launched.Add(registrationTTL + 3*time.Minute))
	expect.That(t, !m.alive() && len(*ends) == 1 && strings.Contains((*ends)[0].Detail, "karpenter"), "it is %s, ended are %v", m.state, *ends)
	next := g.members[len(g.members)-1]
	expect.That(t, len(g.members) == 4 && next.node != nil && !next.claim.initialized.IsZero(), "%d machines, the last with node %v", len(g.members), next.node)
	expect.That(t, m.claim == nil, "its NodeClaim is still there")
}

func TestKarpenterKeepsWhatRegisters(t *testing.T) {
	a, c := untended(t)
	ends := endings(a)
	g := c.group("general")
	g.grow(1)
	a.pass(time.Hour)
	m := g.members[len(g.members)-1]
	expect.That(t, len(*ends) == 0 && m.node != nil && m.node.initialized && !m.claim.registered.IsZero(), "ended are %v, its node is %+v", *ends, m.node)
}

// An Auto Scaling group replaces what fails its status checks, unless that process is suspended.
func TestAutoScalingReplacesWhatIsImpaired(t *testing.T) {
	for name, suspended := range map[string]bool{"it does": false, "it is suspended": true} {
		a, c := untended(t)
		a.pass(time.Hour)
		g := c.group("batch")
		g.suspended = suspended
		m := g.members[0]
		m.fall(impaired, false, false)
		a.pass(replaceImpaired - time.Minute)
		expect.That(t, m.state == running, "%s: it is ended at once", name)
		a.pass(3 * time.Minute)
		expect.That(t, m.alive() == suspended, "%s: it is %s", name, m.state)
		if a.pass(5 * time.Minute); !suspended && (len(g.members) != 2 || g.members[1].node == nil) {
			t.Errorf("%s: %d machines", name, len(g.members))
		}
	}
}

// Node repair, where it is on, replaces what is not ready for half an hour, unless too many nodes are
// ill at once.
func TestNodeRepair(t *testing.T) {
	tests := map[string]struct {
		group string
		on    bool
		ill   int
		ail   ailment
		want  bool // that the first machine is terminated
	}{
		"a node group that repairs":         {"system", true, 1, notReady, true},
		"one that does not":                 {"system", false, 1, notReady, false},
		"Karpenter's, which repairs":        {"general", true, 1, silent, true},
		"Karpenter's, which does not":       {"general", false, 1, silent, false},
		"too many are ill":                  {"general", true, 3, silent, false},
		"a part of it failed, which is not": {"system", true, 1, failedPart, false},
	}
	for name, tt := range tests {
		a, c := untended(t)
		a.pass(time.Hour)
		g := c.group(tt.group)
		g.repair = tt.on
		m := g.members[0]
		for _, other := range g.members[:tt.ill] {
			other.fall(tt.ail, false, false)
		}
		a.pass(repairAfter - time.Minute)
		expect.That(t, m.state == running, "%s: it is ended after less than %s", name, repairAfter)
		a.pass(3 * time.Minute)
		ends := !m.alive() || m.aside == leaving // EKS drains its node first
		expect.That(t, ends == tt.want, "%s: it is %s", name, m.state)
	}
}

func TestGroupsHaveWhatTheyWant(t *testing.T) {
	a, c := untended(t)
	g := c.group("batch")
	g.grow(2)
	a.pass(5 * time.Minute)
	expect.That(t, len(g.members) == 4 && len(c.nodes) == 9, "grown to %d machines, %d nodes", len(g.members), len(c.nodes))
	g.grow(-3)
	a.pass(5 * time.Minute)
	expect.That(t, len(g.members) == 1 && len(c.nodes) == 6, "shrunk to %d machines, %d nodes", len(g.members), len(c.nodes))
	g.members[0].end("a person")
	a.pass(5 * time.Minute)
	expect.That(t, len(g.members) == 1 && g.members[0].node != nil, "what was ended by hand is not replaced: %d machines", len(g.members))
}

// Without capacity nothing is launched. The group reports that, and tries again.
func TestWithoutCapacityNothingIsLaunched(t *testing.T) {
	a, c := untended(t)
	g := c.group("batch")
	g.dry = a.Now().Add(20 * time.Minute)
	g.grow(1)
	a.pass(18 * time.Minute)
	last := g.activities[0]
	expect.That(t, len(g.members) == 2 && last.StatusCode == "Failed" && strings.Contains(*last.StatusMessage, "InsufficientInstanceCapacity"), "%d machines, %+v", len(g.members), last)
	a.pass(10 * time.Minute)
	expect.That(t, len(g.members) == 3 && g.members[2].node != nil, "%d machines once there is capacity", len(g.members))
}

// A machine without an owner is not replaced.
func TestWhatNobodyOwnsIsNotReplaced(t *testing.T) {
	a := bare(t, false)
	a.found(ClusterSpec{Name: "shop", Groups: []GroupSpec{{Name: "single", Owner: "none", Type: "m5.large", Desired: 2}}})
	c := a.clusters[0]
	g := c.groups[0]
	g.members[0].end("a person")
	a.pass(time.Hour)
	expect.That(t, len(g.members) == 1 && g.desired == 1 && len(c.nodes) == 1, "%d machines, %d wanted, %d nodes", len(g.members), g.desired, len(c.nodes))
}

// Machines are launched in the zone with the fewest, and not where a zone is down.
func TestMachinesAreSpreadOverTheZonesThatAreUp(t *testing.T) {
	a, c := untended(t)
	g := c.group("batch")
	g.grow(4)
	a.pass(5 * time.Minute)
	in := map[string]int{}
	for _, m := range g.members {
		in[m.zone]++
	}
	expect.That(t, in[zones[0]] == 2 && in[zones[1]] == 2 && in[zones[2]] == 2, "6 machines in %v", in)
	a.silenced[zones[1]], c.shifted = true, zones[2]
	g.grow(3)
	a.pass(5 * time.Minute)
	for _, m := range g.members[6:] {
		expect.That(t, m.zone == zones[0], "%s is launched in %s", m.id, m.zone)
	}
}

// Karpenter terminates the instance of a deleted NodeClaim.
func TestKarpenterEndsWhatItsClaimIsDeletedOf(t *testing.T) {
	a, c := untended(t)
	ends := endings(a)
	m := c.group("general").members[0]
	c.claimDeleted(m.claim)
	a.pass(5 * time.Minute)
	expect.That(t, !m.alive() && m.claim == nil && len(*ends) == 1 && len(c.claims) == 3, "it is %s with claim %v; ended are %v, claims %d", m.state, m.claim, *ends, len(c.claims))
}

// An Auto Scaling group replaces a member that somebody else terminated, once each process that it needs for
// that runs.
func TestAutoScalingMissesWhatSomebodyElseTerminates(t *testing.T) {
	for process, replaced := range map[string]bool{"HealthCheck": false, "ReplaceUnhealthy": false, "Terminate": false, "AZRebalance": true} {
		a, c := untended(t)
		a.pass(time.Hour)
		g := c.group("batch")
		want := len(g.members)
		g.halted = []string{process}
		g.members[0].end("a person, by hand")
		a.pass(20 * time.Minute)
		expect.That(t, (len(g.members) == want) == replaced, "%s: %d machines of %d", process, len(g.members), want)
		g.halted = nil
		g.reconcile()
		a.pass(5 * time.Minute)
		expect.That(t, len(g.members) == want, "%s is resumed: %d machines of %d", process, len(g.members), want)
	}
}
