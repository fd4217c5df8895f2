package cause

import (
	"slices"

	"rollcall/shared/roll"
)

// entry is what is known of a code whatever the case.
type entry struct {
	code Code
	cure roll.Cure
}

// catalogue lists the codes in the order in which they are told where several are
// decisive: what makes every other verdict doubtful first, then what a person has to
// change, from the cluster's door inwards, and what only shows it last: no symptom
// (explainedBy) stands before what explains it.
var catalogue = []entry{
	{ControlPlaneUnreachable, roll.CureWait},
	{ClusterNotActive, roll.CureWait},
	{ClusterUnhealthy, roll.CureChange},
	{ZoneOutage, roll.CureWait},
	{OwnerGone, roll.CureUnclear},
	{InstanceStopped, roll.CureNone},

	// A fleet request tells a failure for each offering: what a person must change comes before
	// what passes by itself.
	{LaunchDenied, roll.CureChange},
	{LaunchKmsDenied, roll.CureChange},
	{LaunchAmiInvalid, roll.CureChange},
	{LaunchSnapshotMissing, roll.CureChange},
	{LaunchSubnetInvalid, roll.CureChange},
	{LaunchTemplateInvalid, roll.CureChange},
	{LaunchTypeUnavailable, roll.CureChange},
	{LaunchQuotaExceeded, roll.CureChange},
	{LaunchSpotPriceTooLow, roll.CureChange},

	{ImdsDisabled, roll.CureChange},
	{InstanceProfileMissing, roll.CureChange},
	{RoleTrustInvalid, roll.CureChange},
	{AwsAuthUnparseable, roll.CureChange},
	{ControllerRoleMapped, roll.CureChange},
	{AwsAuthArnIsInstanceProfile, roll.CureChange},
	{AwsAuthArnHasPath, roll.CureChange},
	{AwsAuthDuplicateRole, roll.CureChange},
	{AwsAuthWrongGroups, roll.CureChange},
	{AwsAuthWrongUsername, roll.CureChange},
	{AccessEntryWrongType, roll.CureChange},
	{AccessEntryStale, roll.CureChange},
	{NodeRoleNotMapped, roll.CureChange},

	{ArchitectureMismatch, roll.CureChange},
	{UserDataEmpty, roll.CureChange},
	{UserDataTooLarge, roll.CureChange},
	{UserDataWrongFormat, roll.CureChange},
	{UserDataUnparseable, roll.CureChange},
	{UserDataClusterMismatch, roll.CureChange},
	{UserDataPrivateClusterArgs, roll.CureChange},
	{UserDataMalformedFlags, roll.CureChange},
	{UserDataTaintConflict, roll.CureChange},
	{StartupTaintMissing, roll.CureChange},
	{AmiWithoutKubernetes, roll.CureChange},
	{KubeletVersionSkew, roll.CureChange},
	{AmiFamilyUnsupported, roll.CureChange},

	{WrongVpc, roll.CureChange},
	{DnsDisabled, roll.CureChange},
	{ApiEndpointUnreachable, roll.CureChange},
	{PublicAccessCidrBlocked, roll.CureChange},
	{SecurityGroupBlocksApi, roll.CureChange},
	{NaclBlocksApi, roll.CureChange},
	{VpcEndpointMissing, roll.CureChange},
	{DhcpOptionsWrong, roll.CureChange},
	{ClusterTagMissing, roll.CureChange},
	{SubnetIpsExhausted, roll.CureChange},
	{LaunchNoCapacity, roll.CureWait},
	{LaunchInternalError, roll.CureWait},
	{AdmissionWebhookBlocks, roll.CureChange},

	{UndeclaredStartupTaint, roll.CureChange},
	{KubeletRestartedDuringStartup, roll.CureWait},
	{ResourceNotRegistered, roll.CureUnclear},
	{StartupTaintNotRemoved, roll.CureUnclear},
	{NodeLabelsMismatch, roll.CureChange},

	{FinalizerOwnerGone, roll.CureChange},
	{InstanceNotTerminating, roll.CureUnclear},
	{VolumesAttached, roll.CureUnclear},
	{DrainBlocked, roll.CureChange},
	{FinalizerHeld, roll.CureUnclear},
	{VolumeLeft, roll.CureUnclear},
	{InterfaceLeft, roll.CureUnclear},

	{SystemStatusImpaired, roll.CureReplace},
	{KernelPanic, roll.CureReboot},
	{MemoryPressurePreceded, roll.CureReboot},
	{DiskPressurePreceded, roll.CureReplace},
	{PidPressurePreceded, roll.CureReboot},
	{OutOfMemory, roll.CureReboot},
	// A line on the console may be weeks old, and the disk cleaned up since: that alone must
	// not have a node ended without a reboot before.
	{DiskFull, roll.CureReboot},
	// Some reasons need another instance; which, the policy's repair decides.
	{AcceleratorFault, roll.CureReboot},
	// These are not the machine's: they move with the pods, or the machine works all the same.
	{AttachedEbsImpaired, roll.CureUnclear},
	{ApplicationStatusImpaired, roll.CureUnclear},
	{PerformanceStatusImpaired, roll.CureUnclear},
	{MonitoringConditionLatched, roll.CureNone},
	{RolePoliciesMissing, roll.CureChange},
	{ImdsHopLimit, roll.CureChange},
	{LaunchTemplateDrift, roll.CureChange},

	// Symptoms, those that lie nearer to the root first.
	{InstanceStatusImpaired, roll.CureReplace},
	{NodeadmFailed, roll.CureUnclear},
	{CloudInitFailed, roll.CureUnclear},
	{CniNotReady, roll.CureUnclear},
	{NeverReported, roll.CureUnclear},
	{KubeletSilent, roll.CureUnclear},
	{ReplacementRepeats, roll.CureChange},
	{NodeGroupUnhealthy, roll.CureUnclear},
	{DuplicateLaunch, roll.CureUnclear},
}

var rank = func() map[Code]int {
	m := make(map[Code]int, len(catalogue))
	for i, e := range catalogue {
		m[e.code] = i
	}
	return m
}()

// Codes lists the catalogue in the order in which its causes are told.
func Codes() []Code {
	out := make([]Code, len(catalogue))
	for i, e := range catalogue {
		out[i] = e.code
	}
	return out
}

// Known reports whether the code is one of the catalogue.
func Known(c Code) bool { _, ok := rank[c]; return ok }

// weak are codes of which an answer of AWS or Kubernetes alone is never proof: the console is, or
// nothing.
var weak = []Code{AmiWithoutKubernetes, ArchitectureMismatch, ImdsHopLimit, LaunchTemplateDrift}

// Spares reports the codes that speak against ending an instance, since a replacement has the cause
// too or it passes by itself, and that an answer of AWS or Kubernetes proves: while that could not be
// read, nobody knows that ending it helps.
func Spares(c Code) bool { return OutlastsEnd(c) && !slices.Contains(weak, c) }

// OutlastsEnd reports the codes against which ending an instance does not help: a replacement has the cause too,
// or it passes by itself.
func OutlastsEnd(c Code) bool {
	cure := CureOf(c)
	return cure == roll.CureChange || cure == roll.CureWait
}

// CureOf is what helps against the cause.
func CureOf(c Code) roll.Cure {
	if i, ok := rank[c]; ok {
		return catalogue[i].cure
	}
	return roll.CureUnclear
}
