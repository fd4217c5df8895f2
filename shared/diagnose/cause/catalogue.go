package cause

import (
	"slices"

	"rollcall/shared/roll"
)

// entry is what is known of a code whatever the case.
type entry struct {
	code Code
	// symptom: it says how the trouble shows, and stands behind what explains it.
	symptom bool
	cure    roll.Cure
}

// catalogue lists the codes in the order in which they are told where several are
// decisive: what makes every other verdict doubtful first, then what a person has to
// change, from the cluster's door inwards, and what only shows it last.
var catalogue = []entry{
	{ControlPlaneUnreachable, false, roll.CureWait},
	{ClusterNotActive, false, roll.CureWait},
	{ClusterUnhealthy, false, roll.CureChange},
	{ZoneOutage, false, roll.CureWait},
	{OwnerGone, false, roll.CureUnclear},
	{InstanceStopped, false, roll.CureNone},

	// A fleet request tells a failure for each offering: what a person must change comes before
	// what passes by itself.
	{LaunchDenied, false, roll.CureChange},
	{LaunchKmsDenied, false, roll.CureChange},
	{LaunchAmiInvalid, false, roll.CureChange},
	{LaunchSnapshotMissing, false, roll.CureChange},
	{LaunchSubnetInvalid, false, roll.CureChange},
	{LaunchTemplateInvalid, false, roll.CureChange},
	{LaunchTypeUnavailable, false, roll.CureChange},
	{LaunchQuotaExceeded, false, roll.CureChange},
	{LaunchSpotPriceTooLow, false, roll.CureChange},

	{ImdsDisabled, false, roll.CureChange},
	{InstanceProfileMissing, false, roll.CureChange},
	{RoleTrustInvalid, false, roll.CureChange},
	{AwsAuthUnparseable, false, roll.CureChange},
	{ControllerRoleMapped, false, roll.CureChange},
	{AwsAuthArnIsInstanceProfile, false, roll.CureChange},
	{AwsAuthArnHasPath, false, roll.CureChange},
	{AwsAuthDuplicateRole, false, roll.CureChange},
	{AwsAuthWrongGroups, false, roll.CureChange},
	{AwsAuthWrongUsername, false, roll.CureChange},
	{AccessEntryWrongType, false, roll.CureChange},
	{AccessEntryStale, false, roll.CureChange},
	{NodeRoleNotMapped, false, roll.CureChange},

	{ArchitectureMismatch, false, roll.CureChange},
	{UserDataEmpty, false, roll.CureChange},
	{UserDataTooLarge, false, roll.CureChange},
	{UserDataWrongFormat, false, roll.CureChange},
	{UserDataUnparseable, false, roll.CureChange},
	{UserDataClusterMismatch, false, roll.CureChange},
	{UserDataPrivateClusterArgs, false, roll.CureChange},
	{UserDataMalformedFlags, false, roll.CureChange},
	{UserDataTaintConflict, false, roll.CureChange},
	{StartupTaintMissing, false, roll.CureChange},
	{AmiWithoutKubernetes, false, roll.CureChange},
	{KubeletVersionSkew, false, roll.CureChange},
	{AmiFamilyUnsupported, false, roll.CureChange},

	{WrongVpc, false, roll.CureChange},
	{DnsDisabled, false, roll.CureChange},
	{ApiEndpointUnreachable, false, roll.CureChange},
	{PublicAccessCidrBlocked, false, roll.CureChange},
	{SecurityGroupBlocksApi, false, roll.CureChange},
	{NaclBlocksApi, false, roll.CureChange},
	{VpcEndpointMissing, false, roll.CureChange},
	{DhcpOptionsWrong, false, roll.CureChange},
	{ClusterTagMissing, false, roll.CureChange},
	{SubnetIpsExhausted, false, roll.CureChange},
	{LaunchNoCapacity, false, roll.CureWait},
	{LaunchInternalError, false, roll.CureWait},
	{AdmissionWebhookBlocks, false, roll.CureChange},

	{UndeclaredStartupTaint, false, roll.CureChange},
	{KubeletRestartedDuringStartup, false, roll.CureWait},
	{ResourceNotRegistered, false, roll.CureUnclear},
	{StartupTaintNotRemoved, false, roll.CureUnclear},
	{NodeLabelsMismatch, false, roll.CureChange},

	{FinalizerOwnerGone, false, roll.CureChange},
	{InstanceNotTerminating, false, roll.CureUnclear},
	{VolumesAttached, false, roll.CureUnclear},
	{DrainBlocked, false, roll.CureChange},
	{FinalizerHeld, false, roll.CureUnclear},
	{VolumeLeft, false, roll.CureUnclear},
	{InterfaceLeft, false, roll.CureUnclear},

	{SystemStatusImpaired, false, roll.CureReplace},
	{KernelPanic, false, roll.CureReboot},
	{MemoryPressurePreceded, false, roll.CureReboot},
	{DiskPressurePreceded, false, roll.CureReplace},
	{PidPressurePreceded, false, roll.CureReboot},
	{OutOfMemory, false, roll.CureReboot},
	// A line on the console may be weeks old, and the disk cleaned up since: that alone must
	// not have a node ended without a reboot before.
	{DiskFull, false, roll.CureReboot},
	// Some reasons need another instance; which, the policy's repair decides.
	{AcceleratorFault, false, roll.CureReboot},
	// These are not the machine's: they move with the pods, or the machine works all the same.
	{AttachedEbsImpaired, false, roll.CureUnclear},
	{ApplicationStatusImpaired, false, roll.CureUnclear},
	{PerformanceStatusImpaired, false, roll.CureUnclear},
	{MonitoringConditionLatched, false, roll.CureNone},
	{RolePoliciesMissing, false, roll.CureChange},
	{ImdsHopLimit, false, roll.CureChange},
	{LaunchTemplateDrift, false, roll.CureChange},
	{ReplacementRepeats, true, roll.CureChange},
	{InstanceStatusImpaired, true, roll.CureReplace},
	{NodeGroupUnhealthy, true, roll.CureUnclear},
	{NodeadmFailed, true, roll.CureUnclear},
	{CloudInitFailed, true, roll.CureUnclear},
	{CniNotReady, true, roll.CureUnclear},
	{NeverReported, true, roll.CureUnclear},
	{KubeletSilent, true, roll.CureUnclear},
	{DuplicateLaunch, true, roll.CureUnclear},
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

// Symptom reports whether the code only says how trouble shows.
func Symptom(c Code) bool { i, ok := rank[c]; return ok && catalogue[i].symptom }

// CureOf is what helps against the cause.
func CureOf(c Code) roll.Cure {
	if i, ok := rank[c]; ok {
		return catalogue[i].cure
	}
	return roll.CureUnclear
}

// Before reports whether the first code is told before the second where both causes are
// decisive.
func Before(a, b Code) bool {
	return place(roll.Cause{Code: a, Confidence: roll.Decisive}) < place(roll.Cause{Code: b, Confidence: roll.Decisive})
}

// Order sorts causes as they are to be told: decisive ones first, among them the root
// before what only shows it, and equals in the order of the catalogue.
func Order(causes []roll.Cause) {
	slices.SortStableFunc(causes, func(a, b roll.Cause) int { return place(a) - place(b) })
}

func place(c roll.Cause) int {
	p := rank[c.Code]
	if Symptom(c.Code) {
		p += len(catalogue)
	}
	if c.Confidence != roll.Decisive {
		p += 2 * len(catalogue)
	}
	return p
}
