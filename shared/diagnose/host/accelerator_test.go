package host_test

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

// accelerator makes the monitoring agent report that about the node's accelerators.
func (w *world) accelerator(status, reason, message string) {
	w.node.Object.Value.Conditions = append(w.node.Object.Value.Conditions, evidence.Condition{Type: roll.AcceleratedHardware, Status: status, Reason: reason, Message: message, Since: silence})
}

// failedAccelerator returns a node about which the agent only reports that reason.
func failedAccelerator(reason, message string) *world {
	w := of(roll.ConditionFailed)
	w.finding.Condition, w.finding.Reason = roll.AcceleratedHardware, reason
	condition("KernelReady", "True")(w)
	w.accelerator("False", reason, message)
	return w
}

// Every reason in AWS's table that has a repair proves the fault, and no other does.
func TestTheAgentProvesAnAcceleratorFault(t *testing.T) {
	for _, reason := range roll.AcceleratorReasons() {
		want := "AcceleratorFault MonitoringConditionLatched?"
		if repair, _ := roll.AcceleratorRepair(reason); repair == roll.RepairHold {
			want = "MonitoringConditionLatched"
		}
		s := failedAccelerator(reason, "").analyze()
		expect.Equal(t, causetest.Told(s), want, "%s", reason)
		whole(t, reason, s)
	}
	for reason, fix := range map[string]string{"NvidiaXID48Error": "reboot-instances", "NvidiaXID79Error": "terminate-instance"} {
		c := failedAccelerator(reason, "detected XID on the instance").analyze().Causes()[0]
		expect.That(t, strings.Contains(c.Summary, reason) && strings.Contains(c.Fix, fix) && strings.Contains(c.Fix, "drain"), "%s: %q, to fix it\n%s", reason, c.Summary, c.Fix)
		// A drain's cordon outlasts a reboot, not the instance.
		expect.That(t, strings.Contains(c.Fix, "kubectl uncordon") == (fix == "reboot-instances"), "%s, to fix it\n%s", reason, c.Fix)
	}
}

func TestWhatOnlySuggestsAnAcceleratorFault(t *testing.T) {
	const unread = "?"
	tests := []struct {
		name string
		of   func() *world
		want string // "" none, "?" not checked
	}{
		{"a health check with a fatal Xid", func() *world {
			return failedAccelerator("DCGMHealthCode120", "detected XID-13 on it; detected XID-79 on it")
		}, "AcceleratorFault?"},
		{"a health check with an application's Xid", func() *world { return failedAccelerator("DCGMHealthCode120", "detected XID-13 on it") }, unread},
		{"an Xid that the table does not have", func() *world { return failedAccelerator("NvidiaXID31Error", "detected XID-31 on it") }, unread},
		{"the condition is True again", func() *world {
			w := failedAccelerator("NvidiaXID79Error", "")
			condition(roll.AcceleratedHardware, "True")(w)
			return w
		}, ""},
		{"the node fell silent with it", func() *world {
			w := of(roll.Unknown)
			w.accelerator("False", "NvidiaXID79Error", "")
			return w
		}, "AcceleratorFault?"},
		{"the node is not ready", func() *world {
			w := of(roll.NotReady)
			w.accelerator("False", "NeuronDMAError", "")
			return w
		}, "AcceleratorFault?"},
		{"a line on the console of a silent node", func() *world {
			w := of(roll.Unknown)
			shows(console.Xid, "13", 1)(w)
			shows(console.Xid, "79", 1)(w)
			return w
		}, "AcceleratorFault?"},
		{"an application's Xid on it", func() *world {
			w := of(roll.Unknown)
			shows(console.Xid, "31", 1)(w)
			shows(console.Xid, "43", 1)(w)
			return w
		}, ""},
		{"output from before", func() *world {
			w := of(roll.Unknown)
			shows(console.Xid, "79", 1)(w)
			w.instance.ConsoleAt = silence.Add(-time.Hour)
			return w
		}, ""},
		{"another condition failed", func() *world {
			w := of(roll.ConditionFailed)
			w.accelerator("True", "", "")
			return w
		}, ""},
		{"an event of what the agent does not call a failure", func() *world {
			w := of(roll.Unknown)
			event(roll.AcceleratedHardware, "NvidiaXID31Warning: detected unknown XID-31 on the instance", 0)(w)
			return w
		}, ""},
	}
	for _, tt := range tests {
		s := tt.of().analyze()
		got := ""
		for _, c := range strings.Fields(causetest.Told(s)) {
			if strings.HasPrefix(c, cause.AcceleratorFault) {
				got = c
			}
		}
		if causetest.Reason(s, cause.AcceleratorFault) != "" {
			got = unread
		}
		expect.Equal(t, got, tt.want, "%s", tt.name)
	}
}

// The console is reported as evidence next to the agent's verdict.
func TestTheConsoleBesideTheAgent(t *testing.T) {
	w := failedAccelerator("NvidiaXID79Error", "")
	shows(console.Xid, "79", 1)(w)
	c := w.analyze().Causes()[0]
	expect.That(t, c.Confidence == roll.Decisive && len(c.Evidence) == 2 && strings.Contains(c.Summary, "Xid 79"), "%+v", c)
}
