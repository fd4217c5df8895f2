package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// denial is the message with which EC2 refuses a launch. cause is the cause that Rollcall should
// report, "" for an unknown one.
type denial struct{ message, cause string }

var denials = map[string]denial{
	"capacity": {"InsufficientInstanceCapacity: We currently do not have sufficient m5.large capacity in the Availability Zone you requested (eu-west-1a).", "LaunchNoCapacity"},
	"quota":    {"VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to.", "LaunchQuotaExceeded"},
	"denied":   {"UnauthorizedOperation: You are not authorized to perform this operation. with an explicit deny in a service control policy", "LaunchDenied"},
	"ami":      {"InvalidAMIID.NotFound: The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist", "LaunchAmiInvalid"},
	"subnet":   {"InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet 'subnet-0123456789abcdef0' to satisfy the requested number of instances.", "SubnetIpsExhausted"},
	"profile":  {"Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name. Launching EC2 instance failed.", "InstanceProfileMissing"},
	"unknown":  {"SomethingElse: it did not work out", ""},
	// Auto Scaling and Karpenter do not report the reason of these two. EKS reports it as a health
	// issue, and EC2 reports it for instances that it terminates at launch.
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

// unlaunchedGroup: a group needs one more machine, and for an hour or more each launch fails for
// the same reason. For some reasons, Karpenter deletes the NodeClaims at once.
var unlaunchedGroup = faultType{
	kind: FaultUnlaunched, weight: 2, need: 100 * time.Minute, least: time.Hour, most: 4 * time.Hour,
	values: []string{"capacity", "quota", "denied", "ami", "subnet", "unknown", nodeGroupIssue, endedAtLaunch, "profile"},
	fits: func(g GroupSpec, value string) bool {
		return g.Owner == string(nodeGroup) || value != nodeGroupIssue && g.Owner != string(nobody)
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

// drop records the event of a Karpenter NodeClaim that was deleted at once for lack of capacity:
// nothing else of it remains.
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

// breakOff launches a machine that EC2 terminates before it runs. The owner treats that launch as
// successful, and waits before the next one.
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
