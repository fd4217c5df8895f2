package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
)

// The rule of accelerators, and the time that AWS gives them.
const (
	// RuleAccelerator limits the interruption of a Ready node whose accelerator failed. The policy must
	// opt in, ten minutes must pass, and the act must cure the fault. A fault that a reboot may cure
	// leads to a termination only after a reboot. A fault that a reboot does not cure leads to no
	// reboot, and one that neither cures leads to no act.
	RuleAccelerator Rule = "accelerator"
	// repairAccelerated is how long AWS waits before it repairs an accelerator.
	repairAccelerated = 10 * time.Minute
)

// repairing audits an act on a machine whose node was last seen with a failed accelerator. It reports
// whether it was.
func (u *auditor) repairing(inv *invocation, what act, m *machine, n *corev1.Node) bool {
	if m == nil || !failedAccelerator(n) {
		return false
	}
	ends := what == actTerminate || what == actDeleteClaim
	switch {
	case !u.policy(inv, m.c, m.g.groupName()).repairs(gpuSays[m.gpu][0]):
		u.broken(RuleAccelerator, "%s: %s of %s, which is Ready; the policy does not say that accelerators are repaired", inv.name, what, m.id)
	case m.ail != failedGPU: // it is healthy by now, which other rules cover
	case m.gpu == gpuPerson:
		u.broken(RuleAccelerator, "%s: %s of %s, which works: only the agent does not reach DCGM", inv.name, what, m.id)
	case what == actReboot && m.gpu == gpuReplaced:
		u.broken(RuleAccelerator, "%s: %s of %s, whose GPU fell off the bus: a reboot does not cure that", inv.name, what, m.id)
	case ends && m.gpu != gpuReplaced && !u.rebootTried(m):
		u.broken(RuleAccelerator, "%s: %s of %s, which a reboot might have cured", inv.name, what, m.id)
	case u.a.Now().Add(slack).Before(m.gpuFailed.Add(repairAccelerated)):
		u.broken(RuleAccelerator, "%s: %s of %s, whose accelerator failed at %s", inv.name, what, m.id, m.gpuFailed.Format(time.TimeOnly))
	case m.g.owner == nodeGroup && m.g.repair && u.a.Now().Sub(m.gpuFailed) < repairAfter:
		u.broken(RuleOwner, "%s: %s of %s, of a node group that repairs its nodes", inv.name, what, m.id)
	}
	return true
}

// failedAccelerator reports whether the agent reported a failed accelerator of the node.
func failedAccelerator(n *corev1.Node) bool {
	return conditionOf(n.Status.Conditions, accelerated).Status == corev1.ConditionFalse
}

// rebootTried reports whether the machine was rebooted within the last day, or has a reboot on record.
// If a function ended before it recorded the outcome, nothing tries again.
func (u *auditor) rebootTried(m *machine) bool {
	if at, ok := u.reboots[m.id]; ok && u.a.Now().Sub(at) < 24*time.Hour {
		return true
	}
	return slices.ContainsFunc(u.a.dep.state(m.c.name).Actions, func(a ledger.Action) bool {
		return string(a.Instance) == m.id && a.Do == acts[actReboot]
	})
}

// needsRepair returns why a machine should be rebooted or replaced for its accelerator, or "" if it
// should not.
func (u *auditor) needsRepair(m *machine) string {
	if m.ail != failedGPU || m.gpu == gpuPerson || !u.policyNow(m.c, m.g).repairs(gpuSays[m.gpu][0]) {
		return ""
	}
	return fmt.Sprintf("its accelerator failed (%s)", m.gpu)
}
