// Package host looks for faults of the machine: a kubelet that went silent and what preceded
// that, kernel and disk faults that the console shows, EC2's status checks, a stopped instance,
// and conditions of the node monitoring agent that stay set.
//
// Once a node is silent, its memory, disk and process conditions are lost: the control plane
// overwrites them with Unknown. What preceded the silence comes from an earlier check, from
// events or from the console.
// https://kubernetes.io/docs/reference/node/node-status/#condition
//
// Console output has no timestamps. Signs from before the last boot are over. Output that EC2
// took before the trouble began says nothing about it. A sign in the last boot counts, however
// old it is.
//
// The package is pure.
package host

import (
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the machine of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	l := &look{cause.Look{Case: c, Sheet: s}}
	for _, rule := range rules[c.Finding.Kind] {
		rule(l)
	}
}

// look is the state for one finding.
type look struct{ cause.Look }

// slack is the allowed difference between clocks and heartbeats: the control plane marks a node
// silent up to a minute after its last heartbeat.
const slack = 2 * time.Minute

// began returns when the trouble began, as far as that is known.
func (l *look) began() time.Time {
	if l.Finding.Began.IsZero() {
		return l.Finding.Since
	}
	return l.Finding.Began
}

// quiet returns when the node was last heard from: by the control plane, which marks it as
// silent, and by its lease.
func (l *look) quiet() time.Time {
	at := l.began()
	if r, _ := l.Node().Object.Value.Condition("Ready"); r.Status == string(roll.ConditionUnknown) && !r.Since.IsZero() {
		at = r.Since
	}
	if lease := l.Node().Lease.Value; lease.Renewed.Before(at) && !lease.Renewed.IsZero() {
		at = lease.Renewed
	}
	return at
}

// rules lists the checks for each kind of finding.
var rules = map[roll.Kind][]func(*look){
	roll.Unknown:         {(*look).silent, (*look).preceded, (*look).console, (*look).accelerator, (*look).checks, (*look).stopped},
	roll.NotReady:        {(*look).pressures, (*look).console, (*look).accelerator, (*look).checks, (*look).stopped},
	roll.Uninitialized:   {(*look).pressures, (*look).console, (*look).accelerator, (*look).stopped},
	roll.Flapping:        {(*look).flaps, (*look).console},
	roll.Unregistered:    {(*look).console, (*look).checks, (*look).stopped},
	roll.Impaired:        {(*look).console, (*look).accelerator, (*look).checks, (*look).otherChecks, (*look).stopped},
	roll.ConditionFailed: {(*look).failedCondition, (*look).stopped},
}

// failedCondition checks what a failed condition is about.
func (l *look) failedCondition() {
	about := l.Finding.Condition
	switch {
	case slices.ContainsFunc(kinds, func(p pressure) bool { return p.condition == about }):
		l.pressures()
	case about == roll.AcceleratedHardware:
		l.accelerator()
	}
	l.Note(cause.MonitoringConditionLatched, l.latched())
}

func (l *look) id() string { return string(l.Finding.Instance) }

func condition(c evidence.Condition, kind, expected string) roll.Evidence {
	return roll.Evidence{Source: "node", Field: "status.conditions[" + kind + "]", Observed: cause.Said(c), Expected: expected}
}

// screen returns the command that shows the console's current text. --latest works only on
// Nitro instances.
func (l *look) screen() string {
	return l.AWS("ec2", "get-console-output", "--instance-id", l.id(), "--latest", "--query", "Output", "--output", "text")
}

// reboot returns the command that reboots the instance.
func (l *look) reboot() string {
	return l.AWS("ec2", "reboot-instances", "--instance-ids", l.id()) + "   # its pods are not drained"
}

// replace returns the command by which the instance's owner replaces it.
// https://docs.aws.amazon.com/cli/latest/reference/autoscaling/terminate-instance-in-auto-scaling-group.html
func (l *look) replace() string {
	const loss = "   # terminates the instance: data that is only on its own disks is lost"
	owner, claim := l.Finding.Owner, l.NodeClaim()
	switch {
	case claim.Known() && (owner == roll.OwnerKarpenter || owner == roll.OwnerAutoMode):
		return paste.Kubectl("delete", "nodeclaim", claim.Value.Name) + loss
	case owner == roll.OwnerManagedNodeGroup || owner == roll.OwnerAutoScalingGroup || l.Config().Value.ASG != "":
		return paste.Command("aws", "autoscaling", "terminate-instance-in-auto-scaling-group", "--region", l.Region,
			"--instance-id", l.id(), "--no-should-decrement-desired-capacity") + loss
	}
	return l.AWS("ec2", "terminate-instances", "--instance-ids", l.id()) + loss
}

// replaceAfter returns the command to replace the instance, for when a reboot did not help.
func (l *look) replaceAfter() string {
	return paste.If("if the reboot has not helped within 10 minutes", l.replace())
}

// limits returns the command that lists the memory limits of a node's pods.
func limits(node string) string {
	return paste.Kubectl("get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o",
		"custom-columns=POD:.metadata.name,REQUESTS:.spec.containers[*].resources.requests.memory,LIMITS:.spec.containers[*].resources.limits.memory") +
		"   # give those without limits some, or reserve more for the system (kubeReserved, systemReserved)"
}

func (l *look) showStatus() string {
	return l.AWS("ec2", "describe-instance-status", "--instance-ids", l.id())
}
