package roll

import (
	"testing"

	"rollcall/tests/harness/expect"
)

// AWS's table, written again by repair.
func TestAcceleratorRepair(t *testing.T) {
	for repair, reasons := range map[Repair][]string{
		RepairReboot: {
			"NvidiaXID46Error", "NvidiaXID48Error", "NvidiaXID54Error", "NvidiaXID62Error", "NvidiaXID63Error", "NvidiaXID95Error", "NvidiaXID109Error",
			"NvidiaXID110Error", "NvidiaXID136Error", "NvidiaXID140Error", "NvidiaXID143Error", "NvidiaXID155Error", "NvidiaXID156Error", "NvidiaXID158Error",
		},
		RepairReplace: {
			"NvidiaXID64Error", "NvidiaXID74Error", "NvidiaXID79Error", "NvidiaXID119Error", "NvidiaXID120Error", "NvidiaXID142Error", "NvidiaXID151Error",
			"NvidiaDoubleBitError", "NvidiaFabricError", "NvidiaNVLinkError",
			"NeuronDMAError", "NeuronHBMUncorrectableError", "NeuronNCUncorrectableError", "NeuronSRAMUncorrectableError",
		},
		RepairHold: {"DCGMDiagnosticFailure", "DCGMError", "FabricManagerNotRunning", "NvidiaDeviceCountMismatch"},
	} {
		for _, reason := range reasons {
			got, known := AcceleratorRepair(reason)
			expect.That(t, got == repair && known && AcceleratorReason(reason), "%s: %s, known %v, want %s", reason, got, known, repair)
		}
	}
	n := len(AcceleratorReasons())
	expect.That(t, n == 14+14+4, "the table has %d reasons", n)
}

// Faults of applications, and unknown reasons, are held.
func TestAcceleratorRepairHoldsTheRest(t *testing.T) {
	for reason, named := range map[string]bool{
		"NvidiaXID13Error": true, "NvidiaXID31Error": true, "NvidiaXID43Error": true, "NvidiaXID999Error": true, "DCGMHealthCode84": true,
		"": false, "NvidiaXIDError": false, "NvidiaXID079Error": false, "NvidiaXID-79Error": false, "NvidiaXID+79Error": false, "NvidiaXID79": false,
		"nvidiaxid79error": false, "NvidiaXID79Warning": false, "NvidiaThermalError": false, "KernelIsReady": false, "DCGMHealthCode": false,
	} {
		if got, known := AcceleratorRepair(reason); got != RepairHold || known || AcceleratorReason(reason) != named {
			t.Errorf("%q: %s, known %v, may be named %v", reason, got, known, AcceleratorReason(reason))
		}
	}
	for xid, fatal := range map[string]bool{"79": true, "48": true, "13": false, "31": false, "43": false, "45": false, "94": false, "": false, "x": false} {
		expect.That(t, FatalXid(xid) == fatal, "Xid %q: fatal %v", xid, !fatal)
	}
}
