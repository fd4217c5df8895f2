package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	scaling "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
)

// Durations of the owners' own actions, from their sources.
const (
	registrationTTL = 15 * time.Minute // when Karpenter gives up on a NodeClaim that has not registered
	repairAfter     = 30 * time.Minute // when Karpenter's and EKS's node repair replace a node that is not ready
	replaceImpaired = 4 * time.Minute  // about how long an Auto Scaling group tolerates a failing status check
)

// reconcile makes the owner soon launch missing machines and terminate surplus ones.
func (g *group) reconcile() {
	if g.due || g.owner == nobody {
		return
	}
	g.due = true
	least, most := 20*time.Second, 80*time.Second
	if g.owner == karpenter {
		least, most = 3*time.Second, 15*time.Second
	}
	g.c.a.in(g.d.of("reconcile").nth(g.launches+len(g.activities)).between(least, most), func() {
		g.due = false
		g.balance()
	})
}

// balance launches missing machines and terminates surplus ones.
func (g *group) balance() {
	if !g.c.exists() {
		return
	}
	if !g.misses() {
		g.missed = nil
	}
	for g.serving() > g.desired && !g.halt("Terminate") && g.shrink() {
	}
	if g.serving() >= g.desired {
		g.relaunched()
		return
	}
	if g.suspended || g.halt("Launch") || g.failing != "" || g.c.a.Now().Before(g.dry) {
		g.refuse()
		return
	}
	g.relaunched()
	for g.serving() < g.desired {
		g.add()
	}
}

// serving returns how many machines the group counts for its pods: not those that EC2 takes back. Kubernetes deletes
// the pods of a node that is not Ready for five minutes; in some groups Karpenter then launches for them.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
func (g *group) serving() int {
	n := len(g.members) + len(g.missed)
	for _, m := range g.members {
		if m.relieved || g.moves && m.unreadyFor(5*time.Minute) {
			n--
		}
	}
	return n
}

// unreadyFor reports whether the machine's node was Ready, and has not been for that long.
func (m *machine) unreadyFor(long time.Duration) bool {
	if m.node == nil {
		return false
	}
	r := m.node.ready()
	return r.Status != corev1.ConditionTrue && r.LastTransitionTime.After(m.node.created.Add(time.Minute)) && m.c.a.Now().Sub(r.LastTransitionTime.Time) >= long
}

// refuse records a failed launch; the owner retries later.
func (g *group) refuse() {
	g.refused = g.c.a.Now()
	switch {
	case g.suspended, g.halt("Launch"):
	case g.lacking != nil && g.lacking.value == endedAtLaunch:
		g.breakOff()
	case g.lacking != nil && g.owner == karpenter && g.atOnce():
		g.drop()
	case g.failing != "" && g.owner == karpenter:
		g.unlaunched()
	case g.failing != "":
		g.active(false, g.failing)
	default:
		g.active(false, "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "+g.kind.Type+" capacity in the Availability Zone you requested. Launching EC2 instance failed.")
	}
	g.c.a.in(g.d.of("again").nth(g.launches).between(time.Minute, 2*time.Minute), g.reconcile)
}

func (g *group) active(ok bool, message string) {
	if g.asgName() == "" {
		return
	}
	g.activities = append([]scaling.Activity{g.activity(ok, message)}, g.activities[:min(len(g.activities), 19)]...)
}

// add launches one machine, in the zone that has the fewest.
func (g *group) add() *machine {
	a := g.c.a
	m := g.launch(g.zone())
	g.active(true, "Launching a new EC2 instance: "+m.id)
	if g.owner == karpenter {
		g.claimFor(m)
	}
	if !a.founding && g.owner != nobody {
		a.in(g.patience(), func() { g.watch(m) })
	}
	return m
}

// patience returns the minimum time after which the owner repairs a machine that it launched.
func (g *group) patience() time.Duration {
	if g.owner == karpenter {
		return repairAfter
	}
	return replaceImpaired
}

// zone returns the zone of the next machine: the one with the fewest, except zones that are down.
func (g *group) zone() string {
	count := map[string]int{}
	for _, m := range g.members {
		count[m.zone]++
	}
	best := ""
	for i := range zones {
		z := zones[(i+g.launches)%len(zones)]
		if g.c.a.silenced[z] || z == g.c.shifted {
			continue
		}
		if best == "" || count[z] < count[best] {
			best = z
		}
	}
	if best == "" {
		best = zones[g.launches%len(zones)]
	}
	return best
}

// shrink terminates a machine, as a scale-in does, and reports whether there was one that may go.
func (g *group) shrink() bool {
	if len(g.missed) > 0 {
		g.missed = g.missed[1:]
		return true
	}
	able := g.members
	if slices.ContainsFunc(able, (*machine).kept) {
		able = slices.DeleteFunc(slices.Clone(able), (*machine).kept)
	}
	if len(able) == 0 {
		return false
	}
	i := g.d.of("shrink").nth(g.launches + len(g.members)).below(len(able))
	able[i].leave(string(g.owner) + ": scale-in")
	return true
}

// kept reports whether a scale-in leaves the machine.
func (m *machine) kept() bool { return m.aside != "" || !m.shielded.IsZero() }

// leave terminates a machine on behalf of its owner, without pods on it.
func (m *machine) leave(by string) {
	if m.node != nil {
		if m.g.owner == karpenter && m.node.deleting.IsZero() {
			m.node.deleting = m.c.stamp() // its finalizer keeps the node until the instance is terminated
		}
		m.node.version = m.c.changed()
	}
	m.deleteClaim()
	m.dismissed = true
	m.g.ends(m, m.g.endCause(by))
	if m.g.owner == nodeGroup && m.state == running && m.c.exists() && !m.taken && !m.warned {
		m.departs(by)
		return
	}
	m.end(by)
}

// endCause returns why the group terminates a machine, in the words of Auto Scaling.
func (g *group) endCause(by string) string {
	switch {
	case strings.HasSuffix(by, "status checks fail"):
		return endedForChecks
	case strings.HasSuffix(by, "EC2 stopped it"):
		return endedOutside
	case strings.HasSuffix(by, "scale-in"):
		return fmt.Sprintf("a difference between desired and actual capacity, shrinking the capacity from %d to %d", len(g.members), len(g.members)-1)
	}
	return "a user request"
}

const endedForChecks = "an EC2 instance status checks failure" // why an Auto Scaling group replaces a member that fails its status checks

// failures returns how many of the machines that the group ended lately failed their status checks when they were
// young.
func (g *group) failures() (n int) {
	for _, e := range g.endings {
		if e.cause == endedForChecks && e.at.Sub(e.m.launched) < time.Hour+slack {
			n++
		}
	}
	return n
}

// endedOutside is why an Auto Scaling group replaces a member that it did not terminate.
const endedOutside = "an EC2 health check indicating it has been terminated or stopped"

const leaving = "Terminating:Wait" // the lifecycle state of a machine whose termination a lifecycle hook delays

// departs has EKS drain the node of a machine that its node group terminates. Until then the lifecycle hook of its Auto
// Scaling group, which launches another one, keeps it running. The pods of a silent node do not end.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
func (m *machine) departs(by string) {
	a, g, n, d := m.c.a, m.g, m.node, m.d.of("departs")
	takes := d.of("hook").between(5*time.Second, 30*time.Second)
	switch {
	case n != nil && n.works:
		takes += d.of("drains").between(0, 5*time.Minute)
	case n != nil:
		takes = d.of("waits").between(12*time.Minute, 15*time.Minute)
	}
	m.setAside(leaving)
	if n != nil && !n.cordoned {
		n.cordoned, n.sealed = true, a.Now()
		n.version = m.c.changed()
	}
	g.members = slices.DeleteFunc(g.members, func(other *machine) bool { return other == m })
	g.reconcile()
	a.in(takes, func() { m.end(by) })
}

// deleteClaim marks the machine's NodeClaim, if there is one, as deleted, unless it is already.
func (m *machine) deleteClaim() {
	if m.claim != nil && m.claim.deleting.IsZero() {
		m.claim.deleting = m.c.stamp()
		m.claim.version = m.c.changed()
	}
}

// lost is called when a machine of the group begins to terminate.
func (g *group) lost(m *machine) {
	if g.asgName() != "" && !m.dismissed && m.brokenOff == nil && slices.Contains(g.members, m) {
		g.missed = append(g.missed, m) // until the group's next health check
		g.c.a.in(m.d.of("noticed").between(10*time.Second, time.Minute), func() {
			if !g.misses() {
				g.ends(m, endedOutside)
			}
		})
	}
	g.members = slices.DeleteFunc(g.members, func(other *machine) bool { return other == m })
	if cl := m.claim; cl != nil {
		g.c.a.in(m.d.of("gc").between(20*time.Second, 2*time.Minute), func() { g.c.dropClaim(cl) })
	}
	if g.owner == nobody || g.roomBy != 0 && g.desired > g.wanted/2 {
		g.desired = max(0, g.desired-1)
	}
	g.reconcile()
}

func (g *group) claimFor(m *machine) {
	a := g.c.a
	cl := &claim{g: g, name: g.name + "-" + shortID(m.d.of("claim"), 5), uid: uid(m.d.of("claim")), created: g.c.stamp(), launched: g.c.stamp(), machine: m}
	m.claim = cl
	g.c.claims = append(g.c.claims, cl)
	cl.version = g.c.changed()
	a.in(registrationTTL+m.d.of("ttl").between(0, 30*time.Second), func() {
		if m.claim == cl && m.alive() && cl.registered.IsZero() && cl.deleting.IsZero() && g.c.exists() {
			a.audit.removed(m)
			cl.events = noted(cl.events, occurrence{at: g.c.stamp(), kind: "Warning", reason: "FailedRegistration", message: "Node not registered within 15m", count: 1})
			m.leave("karpenter: not registered within 15 min")
		}
	})
}

// watch makes the owner repair machines that stay unhealthy too long. Those that predate the run are watched together:
// an event per machine and minute would dominate the run of a large account.
func (g *group) watch(machines ...*machine) {
	watched := machines[:0]
	for _, m := range machines {
		if g.tends(m) {
			watched = append(watched, m)
		}
	}
	if len(watched) > 0 {
		g.c.a.in(time.Minute, func() { g.watch(watched...) })
	}
}

// tends makes the owner repair a machine that is unhealthy for too long, and reports whether it watches on.
func (g *group) tends(m *machine) bool {
	if !m.alive() || !g.c.exists() {
		return false
	}
	if m.ail == well {
		return true
	}
	ill := g.c.a.Now().Sub(m.since)
	switch {
	case g.idle && m.unacted, m.aside != "", m.claim != nil && !m.claim.deleting.IsZero():
	case m.ail == impaired && g.asgName() != "" && ill >= replaceImpaired && !g.suspended && !g.misses():
		m.leave(string(g.owner) + ": status checks fail")
		return false
	case g.repair && (m.ail == silent || m.ail == notReady || m.ail == failedGPU && m.gpu != gpuPerson) && ill >= repairAfter && g.mayRepair():
		m.leave(string(g.owner) + ": node repair")
		return false
	}
	return true
}

// mayRepair is the owners' own circuit breaker: no repairs while more than a fifth is unhealthy.
func (g *group) mayRepair() bool {
	return count(g.members, (*machine).isIll)*5 <= len(g.members)+4
}

// claimDeleted does what Karpenter does: it terminates the instance, then removes the claim.
func (c *cluster) claimDeleted(cl *claim) {
	m := cl.machine
	if m == nil || !m.alive() {
		c.dropClaim(cl)
		return
	}
	c.a.in(m.d.of("finalize").between(5*time.Second, 40*time.Second), func() {
		if m.alive() {
			m.leave("karpenter: its NodeClaim was deleted")
		}
	})
}

func (c *cluster) dropClaim(cl *claim) {
	before := len(c.claims)
	c.claims = slices.DeleteFunc(c.claims, func(other *claim) bool { return other == cl })
	if len(c.claims) != before {
		c.changed()
	}
	if cl.machine != nil && cl.machine.claim == cl {
		cl.machine.claim, cl.machine.unclaimed = nil, c.a.Now()
	}
}

// populate launches the groups' desired machines as if long ago: they are up and healthy.
func (c *cluster) populate() {
	for _, g := range c.groups {
		for len(g.members) < g.desired {
			g.settled(g.zone())
		}
		if g.owner != nobody {
			founders := slices.Clone(g.members)
			c.a.in(g.patience(), func() { g.watch(founders...) })
		}
	}
}

// settled creates a machine that was launched a while ago and has been healthy since.
func (g *group) settled(zone string) {
	m := g.add()
	m.zone = zone
	age := m.d.of("age").between(2*time.Hour, 90*time.Hour)
	m.launched = m.launched.Add(-age).Truncate(time.Second)
	m.state, m.boots = running, 1
	m.ail = well
	m.touch()
	m.register()
	n := m.node
	n.created = m.launched.Add(m.d.of("took").between(25*time.Second, 75*time.Second))
	n.taints, n.events = nil, nil
	if cl := m.claim; cl != nil {
		cl.created, cl.launched = m.launched, m.launched
		cl.registered, cl.initialized = n.created, n.created.Add(20*time.Second)
		n.labels["karpenter.sh/registered"], n.initialized = "true", true
	}
	m.report()
	for i := range n.conditions {
		n.conditions[i].LastTransitionTime.Time = n.created.Add(15 * time.Second)
	}
	n.schedule()
	n.version = g.c.changed()
	m.settledAt = n.created.Add(20 * time.Second)
}

func (c *cluster) newGroup(s GroupSpec) *group {
	g := &group{
		c: c, d: c.d.of("group").of(s.Name), name: s.Name, owner: s.Owner, kind: kindOf(s.Type), spec: GroupSpec{Type: s.Type}, patterns: map[string]types.Instance{}, desired: s.Desired, repair: s.Repair, spot: s.Spot,
		role: c.name + "-" + s.Name + "-node",
	}
	g.template = template{
		id: "lt-0" + shortID(g.d.of("template"), 16), version: 1, ami: "ami-0" + shortID(c.a.d.of("ami").of(g.kind.Arch), 16), amiOwner: "amazon",
		amiName: fmt.Sprintf("amazon-eks-node-al2023-%s-standard-1.33-v20260215", map[string]string{"amd64": "x86_64", "arm64": "arm64"}[g.kind.Arch]),
	}
	g.template.userData = c.nodeConfig(g)
	return g
}

// nodeConfig returns the user data of a node that joins: what EKS writes for AL2023.
func (c *cluster) nodeConfig(g *group) string {
	taints := ""
	if g.owner == karpenter {
		taints = "      registerWithTaints:\n        - {key: karpenter.sh/unregistered, effect: NoExecute}\n"
	}
	return fmt.Sprintf(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 172.20.0.0/16
  kubelet:
    config:
      maxPods: 29
%s--//--
`, c.name, c.endpoint(), c.authority(), taints)
}

// machineKinds holds the instance types. The prices are on demand, Linux, in us-east-1:
// https://aws.amazon.com/ec2/pricing/on-demand/
var machineKinds = map[string]machineKind{
	"m5.large":    {Arch: "amd64", Price: 0.096},
	"m5.xlarge":   {Arch: "amd64", Price: 0.192},
	"c5.xlarge":   {Arch: "amd64", Price: 0.17},
	"r5.xlarge":   {Arch: "amd64", Price: 0.252},
	"g4dn.xlarge": {Arch: "amd64", Price: 0.526},
	"m5.metal":    {Arch: "amd64", Price: 4.608, Boots: 20 * time.Minute},
	"m6g.large":   {Arch: "arm64", Price: 0.077},
}

func kindOf(instanceType string) machineKind {
	k, ok := machineKinds[instanceType]
	if !ok {
		panic("the price of " + instanceType + " is not known here")
	}
	k.Type = instanceType
	return k
}
