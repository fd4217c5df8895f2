package roll

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AcceleratedHardware is the node condition with which the EKS node monitoring agent reports a
// failed GPU or Neuron device.
const AcceleratedHardware = "AcceleratedHardwareReady"

// Repair is what to do about an instance with a failed accelerator.
type Repair string

// The repairs.
const (
	RepairReboot  Repair = "reboot"
	RepairReplace Repair = "replace"
	RepairHold    Repair = "hold" // do nothing: a person has to decide
)

// AllRepairs returns the repairs.
func AllRepairs() []Repair { return []Repair{RepairReboot, RepairReplace, RepairHold} }

// acceleratorRepairs maps the reasons of AcceleratedHardwareReady=False without a number to the
// repair of EKS node auto repair in managed node groups. None is a hold.
// https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html (November 2026)
//
// The agent has three more reasons, for which that page gives no action. Its own documentation asks
// for a replacement after NvidiaFabricError. For the other two it asks for an investigation, or to
// start a service.
// https://github.com/aws/eks-node-monitoring-agent/blob/main/docs/node-health-issues.adoc (2026-07-31)
var acceleratorRepairs = map[string]Repair{
	"DCGMDiagnosticFailure":        RepairHold,
	"DCGMError":                    RepairHold,
	"FabricManagerNotRunning":      RepairHold,
	"NeuronDMAError":               RepairReplace,
	"NeuronHBMUncorrectableError":  RepairReplace,
	"NeuronNCUncorrectableError":   RepairReplace,
	"NeuronSRAMUncorrectableError": RepairReplace,
	"NvidiaDeviceCountMismatch":    RepairHold,
	"NvidiaDoubleBitError":         RepairReplace,
	"NvidiaFabricError":            RepairReplace,
	"NvidiaNVLinkError":            RepairReplace,
}

// xidRepairs maps the Xids that the agent treats as fatal (WellKnownXidCodes) to the repair on the
// same page. For any other Xid, such as 13, 31 or 43 of a faulty application, the agent writes an
// event and sets no condition.
// https://github.com/aws/eks-node-monitoring-agent/blob/main/monitors/nvidia/dcgm/dcgm_policies.go (2026-08-18)
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
var xidRepairs = map[int]Repair{
	46: RepairReboot, 48: RepairReboot, 54: RepairReboot, 62: RepairReboot, 63: RepairReboot, 95: RepairReboot,
	109: RepairReboot, 110: RepairReboot, 136: RepairReboot, 140: RepairReboot, 143: RepairReboot, 155: RepairReboot,
	156: RepairReboot, 158: RepairReboot,
	64: RepairReplace, 74: RepairReplace, 79: RepairReplace, 119: RepairReplace, 120: RepairReplace, 142: RepairReplace,
	151: RepairReplace,
}

// The agent's reasons that contain a number.
const (
	xidPrefix, xidSuffix = "NvidiaXID", "Error"
	healthPrefix         = "DCGMHealthCode"
)

// AcceleratorRepair returns AWS's repair for a reason of AcceleratedHardwareReady=False. For a
// reason outside the table it returns RepairHold and false.
func AcceleratorRepair(reason string) (r Repair, known bool) {
	r, known = acceleratorRepairs[reason]
	if n, ok := numbered(reason, xidPrefix, xidSuffix); ok {
		r, known = xidRepairs[n]
	}
	if !known {
		r = RepairHold
	}
	return r, known
}

// FatalXid reports whether the agent treats an Xid of NVIDIA's driver as a hardware failure.
func FatalXid(xid string) bool {
	_, ok := AcceleratorRepair(xidPrefix + xid + xidSuffix)
	return ok
}

// AcceleratorReason reports whether the agent may give the reason: one in the table, or one with
// any number.
func AcceleratorReason(reason string) bool {
	_, known := acceleratorRepairs[reason]
	_, xid := numbered(reason, xidPrefix, xidSuffix)
	_, health := numbered(reason, healthPrefix, "")
	return known || xid || health
}

// AcceleratorReasons returns the reasons in AWS's table, in order.
func AcceleratorReasons() []string {
	all := slices.Collect(maps.Keys(acceleratorRepairs))
	for xid := range xidRepairs {
		all = append(all, xidPrefix+strconv.Itoa(xid)+xidSuffix)
	}
	slices.Sort(all)
	return all
}

// numbered returns the number between prefix and suffix, without leading zeros.
func numbered(text, prefix, suffix string) (int, bool) {
	text, begins := strings.CutPrefix(text, prefix)
	text, ends := strings.CutSuffix(text, suffix)
	n, err := strconv.Atoi(text)
	return n, begins && ends && err == nil && n >= 0 && strconv.Itoa(n) == text
}
