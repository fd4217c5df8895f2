package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
)

// What becomes of a machine with a GPU that the node monitoring agent tells of.
const (
	gpuReboots  = "reboot"      // a reboot cures it
	gpuAgain    = "again"       // a reboot might, and it fails again soon after
	gpuReplaced = "replace"     // only another machine works
	gpuPerson   = "person"      // the agent does not reach DCGM; the machine works
	gpuWorks    = "application" // an application crashed on it; the machine works
)

// gpuSays is what the agent gives as reason, and says.
var gpuSays = map[string][2]string{
	gpuReboots:  {"NvidiaXID48Error", "detected XID-48 on the instance, review kernel logs for additional information."},
	gpuAgain:    {"NvidiaXID95Error", "detected XID-95 on the instance, review kernel logs for additional information."},
	gpuReplaced: {"NvidiaXID79Error", "detected XID-79 on the instance, review kernel logs for additional information."},
	gpuPerson:   {"DCGMError", "failed to connect to the DCGM host engine"},
}

// accelerated is the condition that the agent writes, and nobody else.
const accelerated = corev1.NodeConditionType("AcceleratedHardwareReady")

// accelerators: the node monitoring agent says of Ready nodes that their GPU failed, or that
// an application on it did. Policies that opt in have what AWS repairs repaired.
var accelerators = situation{
	kind: FaultAccelerator, need: 100 * time.Minute, count: 2,
	values: []string{gpuReboots, gpuAgain, gpuReplaced, gpuPerson, gpuWorks},
	fits:   func(g GroupSpec, _ string) bool { return g.Owner != string(nobody) },
	shape: []GroupSpec{
		{Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: 4}, {Name: "repaired", Owner: "managed-nodegroup", Type: "g4dn.xlarge", Desired: 4, Repair: true},
		{Name: "workers", Owner: "autoscaling-group", Type: "g4dn.xlarge", Desired: 4}, {Name: "default", Owner: "karpenter", Type: "g4dn.xlarge", Desired: 4},
	},
	strike: func(a *account, f Fault, _ dice) {
		for _, m := range a.victims(f) {
			if f.Value == gpuWorks {
				m.node.happened("Warning", string(accelerated), "NvidiaXID31Warning: detected unknown XID-31 on the instance, review kernel logs for additional information.")
			} else {
				m.gpu, m.gpuFailed = f.Value, a.Now()
				m.fall(failedGPU, false, f.Value == gpuReboots)
			}
			a.arose(f, m.c, m, gpuSays[f.Value][0])
		}
	},
}

// gpuTold has the agent write the condition: as the machine is, or as it is while the agent
// has seen nothing yet.
func (m *machine) gpuTold(seen bool) {
	n, changed := m.node, false
	switch {
	case n == nil || m.state != running:
	case seen && m.ail == failedGPU:
		changed = n.set(accelerated, corev1.ConditionFalse, gpuSays[m.gpu][0], gpuSays[m.gpu][1])
	case n.has(accelerated):
		changed = n.set(accelerated, corev1.ConditionTrue, "AcceleratedHardwareIsReady", "Monitoring for the AcceleratedHardware system is active")
	}
	if changed {
		n.version = m.c.changed()
	}
}

// gpuStarts is the agent after a boot: its condition is the old one until its pod is up, and
// then True until it sees the fault.
func (m *machine) gpuStarts() {
	if m.gpu == "" {
		return
	}
	d, boot := m.d.of("agent").nth(m.boots), m.boots
	then := func(after time.Duration, do func()) {
		m.c.a.in(after, func() {
			if m.boots == boot && !m.booting {
				do()
			}
		})
	}
	then(d.of("up").between(15*time.Second, 4*time.Minute), func() {
		m.gpuTold(false)
		then(d.of("sees").between(time.Minute, 9*time.Minute), func() { m.gpuTold(true) })
	})
}

// The rule of accelerators, and the time that AWS gives them.
const (
	// RuleAccelerator: a node that is Ready is interrupted for its accelerator only where the
	// policy opts in, after ten minutes, and only by what cures it: a machine is ended for what a
	// reboot may cure only after a reboot, it is not rebooted for what a reboot does not cure,
	// and nothing is done where neither cures it.
	RuleAccelerator Rule = "accelerator"
	// repairAccelerated is how long AWS waits before it repairs an accelerator.
	repairAccelerated = 10 * time.Minute
)

// repairing looks at an act on a machine whose node was last seen with a failed accelerator. It
// reports whether it was.
func (u *auditor) repairing(inv *invocation, what act, m *machine, n *corev1.Node) bool {
	if m == nil || !failedAccelerator(n) {
		return false
	}
	ends := what == actTerminate || what == actDeleteClaim
	switch {
	case !optedIn(inv):
		u.broken(RuleAccelerator, "%s: %s of %s, which is Ready; the policy does not say that accelerators are repaired", inv.name, what, m.id)
	case m.ail != failedGPU: // it is well by now, which the other rules are about
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

// failedAccelerator reports a node of which the agent said so.
func failedAccelerator(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == accelerated && c.Status == corev1.ConditionFalse
	})
}

// rebootTried reports a reboot of the machine within the last day, or one that was begun and
// that EC2 refused.
func (u *auditor) rebootTried(m *machine) bool {
	if at, ok := u.reboots[m.id]; ok && u.a.Now().Sub(at) < 24*time.Hour {
		return true
	}
	for _, a := range u.a.dep.state(m.c.name).Actions {
		if string(a.Instance) == m.id && a.Do == string(plan.Reboot) && (a.Outcome == nil || a.Outcome.Result == ledger.Failed) {
			return true
		}
	}
	return false
}

// optedIn reads the one line that the policies of the simulation have of accelerators.
func optedIn(inv *invocation) bool {
	text := inv.v.policy.text
	if !inv.v.policy.read {
		text = inv.v.policy.good
	}
	return strings.Contains(text, repairsAccelerators)
}

const repairsAccelerators = "repair: {accelerators: true}\n"

// needsRepair says why a machine should be rebooted or replaced for its accelerator, "" if not.
func (m *machine) needsRepair() string {
	if m.ail != failedGPU || m.gpu == gpuPerson || !strings.Contains(m.c.a.dep.parameters.policy, repairsAccelerators) {
		return ""
	}
	return fmt.Sprintf("its accelerator failed (%s)", m.gpu)
}
