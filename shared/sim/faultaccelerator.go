package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The outcomes for a machine whose GPU the node monitoring agent reports on.
const (
	gpuReboots  = "reboot"      // a reboot cures it
	gpuAgain    = "again"       // a reboot may cure it, but it fails again soon
	gpuReplaced = "replace"     // only a replacement works
	gpuPerson   = "person"      // the agent does not reach DCGM; the machine works
	gpuWorks    = "application" // an application crashed on it; the machine works
)

var gpuSays = map[string][2]string{
	gpuReboots:  {"NvidiaXID48Error", "detected XID-48 on the instance, review kernel logs for additional information."},
	gpuAgain:    {"NvidiaXID95Error", "detected XID-95 on the instance, review kernel logs for additional information."},
	gpuReplaced: {"NvidiaXID79Error", "detected XID-79 on the instance, review kernel logs for additional information."},
	gpuPerson:   {"DCGMError", "failed to connect to the DCGM host engine"},
}

const accelerated = corev1.NodeConditionType("AcceleratedHardwareReady") // the condition type that only the agent writes

// accelerators: the node monitoring agent reports that a Ready node's GPU, or an application on it, failed.
var accelerators = faultType{
	kind: FaultAccelerator, weight: 2, need: 100 * time.Minute, count: 2,
	values: []string{gpuReboots, gpuAgain, gpuReplaced, gpuPerson, gpuWorks},
	fits:   fitsOwned,
	shape: []GroupSpec{
		managedNodes(4), {Name: "repaired", Owner: "managed-nodegroup", Type: "g4dn.xlarge", Desired: 4, Repair: true},
		{Name: "workers", Owner: "autoscaling-group", Type: "g4dn.xlarge", Desired: 4}, {Name: "default", Owner: "karpenter", Type: "g4dn.xlarge", Desired: 4},
	},
	strike: eachVictim(func(m *machine, f Fault, _ dice) {
		if f.Value == gpuWorks {
			m.node.happened("Warning", string(accelerated), "NvidiaXID31Warning: detected unknown XID-31 on the instance, review kernel logs for additional information.")
		} else {
			m.gpu, m.gpuFailed = f.Value, m.c.a.Now()
			m.fall(failedGPU, false, f.Value == gpuReboots)
		}
		m.arose(f, gpuSays[f.Value][0])
	}),
}

// gpuTold makes the agent write its condition, before or after it has seen a fault.
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

// gpuStarts runs the agent after a boot: its condition stays the old one, then is True until it sees the fault.
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

const repairsAccelerators = "repair: {accelerators: true}\n" // the policy line that opts in to accelerator repairs
