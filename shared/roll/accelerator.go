package roll

import (
	"slices"
	"strconv"
	"strings"
)

// AcceleratedHardware is the node condition by which the EKS node monitoring agent tells
// that a GPU or a Neuron device failed.
const AcceleratedHardware = "AcceleratedHardwareReady"

// Repair is what to do about an instance with a failed accelerator.
type Repair string

// The repairs.
const (
	RepairReboot  Repair = "reboot"
	RepairReplace Repair = "replace"
	RepairHold    Repair = "hold" // nothing: it needs a person
)

// AllRepairs returns the repairs.
func AllRepairs() []Repair { return []Repair{RepairReboot, RepairReplace, RepairHold} }

// acceleratorRepairs has the reasons of AcceleratedHardwareReady=False that have no number.
// What to do is what EKS node auto repair does in a managed node group; None is a hold.
// https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html (November 2026)
//
// The agent knows three more, of which no action is published there. Its own description
// of NvidiaFabricError says that the instance has to be replaced; that of the other two asks
// for an investigation, or for a service to be started.
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

// xidRepairs are the Xids that are fatal to the agent, its WellKnownXidCodes, with the
// repair of the same page. Any other Xid, such as 13, 31 or 43 of an application that is at
// fault itself, is an event to the agent and no condition.
// https://github.com/aws/eks-node-monitoring-agent/blob/main/monitors/nvidia/dcgm/dcgm_policies.go (2026-08-18)
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
var xidRepairs = map[int]Repair{
	46: RepairReboot, 48: RepairReboot, 54: RepairReboot, 62: RepairReboot, 63: RepairReboot, 95: RepairReboot,
	109: RepairReboot, 110: RepairReboot, 136: RepairReboot, 140: RepairReboot, 143: RepairReboot, 155: RepairReboot,
	156: RepairReboot, 158: RepairReboot,
	64: RepairReplace, 74: RepairReplace, 79: RepairReplace, 119: RepairReplace, 120: RepairReplace, 142: RepairReplace,
	151: RepairReplace,
}

// How the agent names reasons that have a number.
const (
	xidPrefix, xidSuffix = "NvidiaXID", "Error"
	healthPrefix         = "DCGMHealthCode"
)

// AcceleratorRepair returns the repair in AWS's table for a reason of
// AcceleratedHardwareReady=False. A reason outside the table is held; known is then false.
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

// AcceleratorReason reports whether the agent may give the reason: one of the table, or one
// with any number.
func AcceleratorReason(reason string) bool {
	_, known := acceleratorRepairs[reason]
	_, xid := numbered(reason, xidPrefix, xidSuffix)
	_, health := numbered(reason, healthPrefix, "")
	return known || xid || health
}

// AcceleratorReasons returns the reasons of AWS's table, in order.
func AcceleratorReasons() []string {
	var all []string
	for reason := range acceleratorRepairs {
		all = append(all, reason)
	}
	for xid := range xidRepairs {
		all = append(all, xidPrefix+strconv.Itoa(xid)+xidSuffix)
	}
	slices.Sort(all)
	return all
}

// numbered returns the number between two parts of a text, without leading zeros.
func numbered(text, prefix, suffix string) (int, bool) {
	text, begins := strings.CutPrefix(text, prefix)
	text, ends := strings.CutSuffix(text, suffix)
	n, err := strconv.Atoi(text)
	return n, begins && ends && err == nil && n >= 0 && strconv.Itoa(n) == text
}
