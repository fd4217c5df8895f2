package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	scaling "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// The ways in which a group does not replace lost machines.
const (
	haltedProcesses = "processes"
	failingLaunches = "launches"
	unwellNodeGroup = "nodegroup"
	spareRoom       = "room" // Karpenter launches none, since the other nodes have room for the pods
)

// replacing are the processes that an Auto Scaling group needs to replace machines.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
var replacing = []string{"Launch", "Terminate", "HealthCheck", "ReplaceUnhealthy"}

// launchFailures are messages of failed launches, except for lack of capacity.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
var launchFailures = []string{
	"The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist. Launching EC2 instance failed.",
	"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InternalError: Client error on launch",
	"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state",
	"Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name. Launching EC2 instance failed.",
	"You are not authorized to perform this operation. Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm-abcdefghijklmn-abcdefghijklmn. Launching EC2 instance failed.",
	"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. Launching EC2 instance failed.",
	"The key pair 'nodes' does not exist. Launching EC2 instance failed.",
	"You've reached your quota for maximum Fleet Requests for this account. Launching EC2 instance failed.",
}

// issueCodes are codes of managed node groups' health issues.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
var issueCodes = []string{
	string(ekstypes.NodegroupIssueCodeAutoScalingGroupNotFound), string(ekstypes.NodegroupIssueCodeEc2LaunchTemplateNotFound), string(ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures),
	string(ekstypes.NodegroupIssueCodeIamNodeRoleNotFound), string(ekstypes.NodegroupIssueCodeInsufficientFreeAddresses), string(ekstypes.NodegroupIssueCodeAccessDenied),
}

// EKS shows for good that the first instances of a node group became nodes too late.
// https://github.com/aws/containers-roadmap/issues/764
const (
	createFailed = string(ekstypes.NodegroupStatusCreateFailed)
	createdBare  = ekstypes.NodegroupIssueCodeNodeCreationFailure
)

// noReplacement: for hours a group replaces nothing or must not be disturbed, while its machines fail.
var noReplacement = faultType{
	kind: FaultNoReplacement, weight: 3, need: 150 * time.Minute, least: 3 * time.Hour, most: 5 * time.Hour, count: 3,
	values: []string{haltedProcesses, failingLaunches, unwellNodeGroup, spareRoom},
	fits: func(g GroupSpec, value string) bool {
		switch value {
		case haltedProcesses:
			return actedOnSoon(g)
		case unwellNodeGroup:
			return g.Owner == nodeGroup && !g.Repair
		case spareRoom:
			return g.Owner == karpenter && !g.Repair
		}
		return fitsUnrepaired(g, value)
	},
	shape: []GroupSpec{managedNodes(6), scaledNodes(10), pooledNodes(6)},
	strike: func(a *account, f Fault, d dice) {
		for _, g := range a.targets(f) {
			if g.owner == nobody || g.asgName() == "" && f.Value != failingLaunches && f.Value != spareRoom {
				continue
			}
			g.troubled = a.Now()
			switch f.Value {
			case haltedProcesses:
				g.halted = []string{oneOf(d.of("process"), replacing...)}
				if d.of("another").chance(0.3) {
					g.halted = append([]string{"AZRebalance"}, g.halted...)
				}
			case spareRoom:
				if g.owner == karpenter {
					g.roomBy, g.wanted = f.ID, g.desired
				}
			case failingLaunches:
				g.fail(f, oneOf(d.of("message"), launchFailures...))
			case unwellNodeGroup:
				g.status = oneOf(d.of("status"), "DEGRADED", "UPDATING", createFailed, "")
				if g.status == "" || g.status == "DEGRADED" {
					g.issues = []string{oneOf(d.of("issue"), issueCodes...)}
				}
				if g.status == createFailed {
					g.issues = []string{string(createdBare)}
				}
				if g.lacking != nil {
					g.lacking.mixed = true
				}
			}
			a.arose(f, g.c, nil, strings.Join(slices.Concat(g.halted, g.issues, []string{g.status, g.failing}), " "))
		}
		one, n := f.one(), 0
		ails := []ailment{notReady, silent, notReady, impaired}
		for at := time.Minute; at < f.For-30*time.Minute && n < 2*f.Count+1; at += d.of("next").nth(n).between(20*time.Minute, 50*time.Minute) {
			ail := oneOf(d.of("ail").nth(n), ails...)
			one.ID = f.ID + 1000*(n+1) // a different victim each time
			next := one
			a.in(at, func() {
				if a.healedNow() {
					return
				}
				for _, m := range a.victims(next) {
					m.fall(ail, false, false)
				}
			})
			n++
		}
	},
	relent: eachGroup(func(g *group, f Fault, _ dice) {
		if g.unwell() {
			g.refused = g.c.a.Now() // EKS reported the failure until now
		}
		g.halted, g.status, g.issues, g.troubled = nil, "", nil, time.Time{}
		g.failed(f)
		if g.roomBy == f.ID {
			g.filled()
		}
		g.reconcile()
	}),
}

// fail makes each of the group's launches fail, unless another fault already does.
func (g *group) fail(f Fault, message string) bool {
	if g.failing != "" {
		return false
	}
	g.failing, g.failedBy = message, f.ID
	return true
}

func (g *group) failed(f Fault) {
	if g.failedBy == f.ID {
		g.failing, g.failedBy = "", 0
	}
}

// filled ends the spare room of a group: its pods need as many nodes as before.
func (g *group) filled() { g.desired, g.roomBy = max(g.desired, g.wanted), 0 }

// healedNow reports whether the final healing has happened: later faults would not be repaired.
func (a *account) healedNow() bool {
	return !a.Now().Before(a.sc.Start.Add(a.sc.Storm + a.sc.Calm))
}

// halts reports whether a process that the group needs for replacements is suspended.
func (g *group) halts() bool {
	return slices.ContainsFunc(g.halted, func(p string) bool { return slices.Contains(replacing, p) })
}

// misses reports whether a process is suspended without which an Auto Scaling group does not replace a member that
// somebody else stopped or terminated, until it is resumed.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/understand-how-suspending-processes-affects-other-processes.html
func (g *group) misses() bool {
	return g.halt("HealthCheck") || g.halt("ReplaceUnhealthy") || g.halt("Terminate")
}

func (g *group) halt(process string) bool { return slices.Contains(g.halted, process) }

// unwell reports whether EKS shows a problem of the managed node group.
func (g *group) unwell() bool {
	return g.status != "" || len(g.issues) > 0 || g.lacking != nil && g.lacking.value == nodeGroupIssue
}

// launchFailure returns why the latest launch of a node group failed. EKS shows that until another succeeds.
// https://github.com/aws/containers-roadmap/issues/2326
func (g *group) launchFailure() (message string, failed bool) {
	if g.owner != nodeGroup || len(g.activities) == 0 || g.activities[0].StatusCode != scaling.ScalingActivityStatusCodeFailed {
		return "", false
	}
	return aws.ToString(g.activities[0].StatusMessage), true
}

// launchWorked reports whether the latest launch of the group worked, for a check that may have missed failures since
// a time.
func (g *group) launchWorked(since time.Time) bool {
	for _, a := range g.activities {
		if a.StatusCode == scaling.ScalingActivityStatusCodeSuccessful {
			return true
		}
		if a.EndTime.Before(since) {
			return false
		}
	}
	return false
}

func (g *group) nodeGroupHealth() *ekstypes.NodegroupHealth {
	out := &ekstypes.NodegroupHealth{}
	for _, code := range g.issues {
		out.Issues = append(out.Issues, ekstypes.Issue{Code: ekstypes.NodegroupIssueCode(code), Message: aws.String("The node group " + g.name + " has the issue " + code + "."), ResourceIds: []string{g.asgName()}})
	}
	if message, fails := g.launchFailure(); fails {
		out.Issues = append(out.Issues, ekstypes.Issue{Code: ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, Message: aws.String(message), ResourceIds: []string{g.asgName()}})
	}
	if g.lacking != nil && g.lacking.value == nodeGroupIssue {
		out.Issues = append(out.Issues, ekstypes.Issue{Code: ekstypes.NodegroupIssueCodeEc2SubnetNotFound, Message: aws.String("The subnet of the node group " + g.name + " does not exist."), ResourceIds: []string{g.asgName()}})
	}
	return out
}

// unlaunched creates a Karpenter NodeClaim that gets no instance.
func (g *group) unlaunched() {
	c := g.c
	if slices.ContainsFunc(c.claims, func(cl *claim) bool { return cl.g == g && cl.failure != "" }) {
		return
	}
	d := g.d.of("unlaunched").nth(c.version)
	cl := &claim{g: g, name: g.name + "-" + shortID(d, 5), uid: uid(d), created: c.stamp(), failure: g.failing}
	cl.events = noted(cl.events, occurrence{at: c.stamp(), kind: "Warning", reason: "LaunchFailed", message: g.failing, count: 1})
	c.claims = append(c.claims, cl)
	cl.version = c.changed()
}

// relaunched removes the NodeClaims without an instance, when the next launch succeeds or none is wanted.
func (g *group) relaunched() {
	for _, cl := range slices.Clone(g.c.claims) {
		if cl.g == g && cl.failure != "" {
			g.c.dropClaim(cl)
		}
	}
}

// dryForAMonth is the form of FaultDry in which a pool has no capacity for longer than Rollcall keeps its acts, while
// two machines fall silent. Random scenarios do not have it.
const dryForAMonth = "for a month"

func (a *account) dryForAMonth(f Fault) {
	const day = 24 * time.Hour
	var groups []*group
	for _, c := range a.of(f) {
		groups = append(groups, c.groups...)
	}
	if g := find(groups, func(g *group) bool { return g.owner == karpenter && len(g.members) >= 3 }); g != nil {
		g.dry = a.Now().Add(32 * day)
		for i, m := range g.members[:2] {
			a.in(time.Duration(i)*31*day, func() { m.fall(silent, false, false) })
		}
	}
}

// The owners that do not act as they should.
const (
	idleRepair = "repair"   // node auto repair of a managed node group
	idleClaim  = "claim"    // Karpenter, which does not finish the deletion of a NodeClaim
	idleHealth = "impaired" // an Auto Scaling group, whose health check replaces nothing
)

// ownerIdle: an owner should repair the machine itself, but does not.
var ownerIdle = faultType{
	kind: FaultOwnerIdle, weight: 2, need: 75 * time.Minute, count: 1,
	values: []string{idleRepair, idleClaim, idleHealth},
	fits: func(g GroupSpec, value string) bool {
		switch value {
		case idleRepair:
			return g.Owner == nodeGroup
		case idleClaim:
			return g.Owner == karpenter
		}
		return actedOnSoon(g)
	},
	shape: groupsOfRepair,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		ail := oneOf(d.of("ail"), notReady, silent)
		m.unacted, m.g.idle = true, true
		switch f.Value {
		case idleRepair:
			m.g.repair = true
		case idleClaim:
			if m.claim == nil {
				return
			}
			m.deleteClaim()
		case idleHealth:
			ail = impaired
		}
		m.fall(ail, false, false)
		m.c.a.in(time.Hour, func() {
			if m.ail == ail && m.state == running {
				m.arose(f, string(ail)+" for an hour, and its owner does nothing")
			}
		})
	}),
}

// denial is EC2's message that refuses a launch, and the cause to report, "" for an unknown one.
type denial struct{ message, cause string }

var denials = map[string]denial{
	"capacity": {"InsufficientInstanceCapacity: We currently do not have sufficient m5.large capacity in the Availability Zone you requested (eu-west-1a).", "LaunchNoCapacity"},
	"quota":    {"VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to.", "LaunchQuotaExceeded"},
	"denied":   {"UnauthorizedOperation: You are not authorized to perform this operation. with an explicit deny in a service control policy", "LaunchDenied"},
	"ami":      {"InvalidAMIID.NotFound: The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist", "LaunchAmiInvalid"},
	"subnet":   {"InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet 'subnet-0123456789abcdef0' to satisfy the requested number of instances.", "SubnetIpsExhausted"},
	"profile":  {"Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name. Launching EC2 instance failed.", "InstanceProfileMissing"},
	"unknown":  {"SomethingElse: it did not work out", ""},
	// Only EKS's health issue shows the reason of the first, and only EC2's terminated instance that of the second.
	nodeGroupIssue: {"SomethingElse: it did not work out", "LaunchSubnetInvalid"},
	endedAtLaunch:  {"Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state", "LaunchKmsDenied"},
}

const (
	nodeGroupIssue = "health"
	endedAtLaunch  = "kms"
)

// dropped is an event about a NodeClaim that Karpenter deleted at once.
type dropped struct {
	occurrence
	claim string
}

// unlaunchedGroup: a group needs one more machine, and each launch fails for the same reason.
var unlaunchedGroup = faultType{
	kind: FaultUnlaunched, weight: 2, need: 100 * time.Minute, least: time.Hour, most: 4 * time.Hour,
	values: []string{"capacity", "quota", "denied", "ami", "subnet", "unknown", nodeGroupIssue, endedAtLaunch, "profile"},
	fits: func(g GroupSpec, value string) bool {
		return g.Owner == nodeGroup || value != nodeGroupIssue && g.Owner != nobody
	},
	shape: groupsOfFour,
	strike: eachGroup(func(g *group, f Fault, _ dice) {
		a := g.c.a
		r := denials[f.Value]
		if g.owner == nobody || f.Value == nodeGroupIssue && g.owner != nodeGroup || !g.fail(f, r.message) {
			return
		}
		g.lacking, g.desired = &lack{began: a.Now(), since: a.Now(), cause: r.cause, value: f.Value, mixed: g.unwell()}, g.desired+1
		g.reconcile()
		a.arose(f, g.c, nil, r.message)
	}),
	relent: eachGroup(func(g *group, f Fault, _ dice) {
		if g.failedBy == f.ID {
			g.lacking = nil
			g.failed(f)
			g.reconcile()
		}
	}),
}

// lack is the state of a group whose launches fail, and of the reports about it.
type lack struct {
	began  time.Time
	since  time.Time // when nothing prevented its report any more
	full   time.Time // since when the group has what it should, zero if it lacks machines
	cause  string
	value  string    // of the fault
	next   time.Time // when the next machine is launched that EC2 terminates
	mixed  bool      // EKS also reports issues of the group from another fault
	opened []saying
	told   bool
}

// drop records all that is left of a NodeClaim that was deleted at once for lack of capacity: an event.
func (g *group) drop() {
	c := g.c
	c.dropped = append(c.dropped, dropped{
		occurrence{at: c.stamp(), kind: "Warning", reason: "InsufficientCapacityError", message: "creating instance, insufficient capacity, with fleet error(s), " + g.failing, count: 1},
		g.name + "-" + shortID(g.d.of("dropped").nth(len(c.dropped)), 5),
	})
	if len(c.dropped) > 500 {
		c.dropped = slices.Clone(c.dropped[250:])
	}
}

// breakOff launches a machine that EC2 terminates before it runs, which the owner takes for a success.
func (g *group) breakOff() {
	a := g.c.a
	if a.Now().Before(g.lacking.next) {
		return
	}
	g.lacking.next = a.Now().Add(5 * time.Minute)
	m := g.launch(g.zone())
	m.brokenOff = &types.StateReason{Code: aws.String("Client.InvalidKMSKey.InvalidState"), Message: aws.String(g.failing)}
	if g.owner == karpenter {
		g.claimFor(m)
	}
	g.active(false, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+g.failing)
	a.in(2*time.Second, func() { m.end("EC2, at its launch") })
}

// atOnce reports whether the failure makes Karpenter delete the NodeClaim at once.
func (g *group) atOnce() bool {
	return strings.HasPrefix(g.failing, "Insufficient") || strings.HasPrefix(g.failing, "VcpuLimitExceeded")
}
