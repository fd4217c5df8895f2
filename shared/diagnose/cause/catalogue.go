package cause

import (
	"cmp"
	"slices"

	"rollcall/shared/roll"
)

// entry holds what the catalogue knows about a code, whatever the case.
type entry struct {
	code Code
	cure roll.Cure
}

// catalogue lists the codes in the order in which several decisive causes are reported: first
// the causes that make every other verdict doubtful, then what a person must change, from the
// cluster inwards, and symptoms last. No symptom (explainedBy) comes before what explains it.
var catalogue = []entry{
	{ControlPlaneUnreachable, roll.CureWait},
	{ClusterNotActive, roll.CureWait},
	{ClusterUnhealthy, roll.CureChange},
	{ZoneOutage, roll.CureWait},
	{OwnerGone, roll.CureUnclear},
	{InstanceStopped, roll.CureNone},

	// A fleet request reports a failure per offering. Failures that a person must fix come
	// before those that pass by themselves.
	{LaunchDenied, roll.CureChange},
	{LaunchKmsDenied, roll.CureChange},
	{LaunchAmiInvalid, roll.CureChange},
	{LaunchSnapshotMissing, roll.CureChange},
	{LaunchSubnetInvalid, roll.CureChange},
	{LaunchTemplateInvalid, roll.CureChange},
	{LaunchTypeUnavailable, roll.CureChange},
	{LaunchQuotaExceeded, roll.CureChange},
	{LaunchSpotPriceTooLow, roll.CureChange},
	{NodePoolNotReady, roll.CureChange},

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
	{LaunchThrottled, roll.CureWait},
	{LaunchInternalError, roll.CureWait},
	{LaunchRefused, roll.CureUnclear},
	{AdmissionWebhookBlocks, roll.CureChange},
	{CniMissing, roll.CureChange},

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
	// A line on the console may be weeks old, and the disk cleaned up since. The line alone
	// must not terminate an instance that was not rebooted first.
	{DiskFull, roll.CureReboot},
	// Some reasons need another instance; the policy's repair decides which.
	{AcceleratorFault, roll.CureReboot},
	// These are not faults of the machine: they move with the pods, or the machine works
	// anyway.
	{AttachedEbsImpaired, roll.CureUnclear},
	{ApplicationStatusImpaired, roll.CureUnclear},
	{PerformanceStatusImpaired, roll.CureUnclear},
	{MonitoringConditionLatched, roll.CureNone},
	{RolePoliciesMissing, roll.CureChange},
	{ImdsHopLimit, roll.CureChange},
	{LaunchTemplateDrift, roll.CureChange},

	// Symptoms, those nearest to the root first.
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
	m := make(map[Code]int, len(codes))
	for i, code := range codes {
		m[code] = i
	}
	return m
}()

// Codes returns the codes of the catalogue in the order in which they are reported.
func Codes() []Code { return slices.Clone(codes) }

var codes = roll.Map(catalogue, func(e entry) Code { return e.code })

// Known reports whether the code is in the catalogue.
func Known(c Code) bool { _, ok := rank[c]; return ok }

// weak lists the codes that an answer of AWS or Kubernetes alone never proves: only the console
// does, or nothing.
var weak = []Code{AmiWithoutKubernetes, ArchitectureMismatch, ImdsHopLimit, LaunchTemplateDrift}

// Spares reports whether a termination does not help against the code, and the code can be proven
// by an answer of AWS or Kubernetes. While that answer is unreadable, it is unknown whether a
// termination helps.
func Spares(c Code) bool { return OutlastsEnd(c) && !slices.Contains(weak, c) }

// OutlastsEnd reports whether terminating the instance does not help against the code: a
// replacement has the same cause, or the cause passes by itself.
func OutlastsEnd(c Code) bool {
	cure := CureOf(c)
	return cure == roll.CureChange || cure == roll.CureWait
}

// CureOf returns what helps against the cause.
func CureOf(c Code) roll.Cure {
	if i, ok := rank[c]; ok {
		return catalogue[i].cure
	}
	return roll.CureUnclear
}

// Groups of roots that show the same symptoms.
var (
	// aboveTheNode: no node of the cluster, or of the zone, can work properly.
	aboveTheNode = []Code{ControlPlaneUnreachable, ClusterNotActive, ClusterUnhealthy, ZoneOutage, OwnerGone, InstanceStopped}
	// notLetIn: the API server does not accept the kubelet, or not as a node.
	notLetIn = []Code{
		InstanceProfileMissing, RoleTrustInvalid, AwsAuthUnparseable, ControllerRoleMapped, AwsAuthArnIsInstanceProfile, AwsAuthArnHasPath,
		AwsAuthDuplicateRole, AwsAuthWrongGroups, AwsAuthWrongUsername, AccessEntryWrongType, AccessEntryStale, NodeRoleNotMapped, RolePoliciesMissing,
	}
	// notBooted: the instance is missing what makes it a node.
	notBooted = []Code{
		ArchitectureMismatch, UserDataEmpty, UserDataTooLarge, UserDataWrongFormat, UserDataUnparseable, UserDataClusterMismatch,
		UserDataPrivateClusterArgs, UserDataMalformedFlags, AmiWithoutKubernetes, LaunchTemplateDrift,
	}
	// cutOff: some or all of the endpoints that a node needs are unreachable.
	cutOff = []Code{
		ImdsDisabled, WrongVpc, DnsDisabled, ApiEndpointUnreachable, PublicAccessCidrBlocked, SecurityGroupBlocksApi, NaclBlocksApi,
		VpcEndpointMissing, DhcpOptionsWrong,
	}
	// brokenHost: the machine does not work.
	brokenHost = []Code{
		SystemStatusImpaired, KernelPanic, MemoryPressurePreceded, DiskPressurePreceded, PidPressurePreceded, OutOfMemory, DiskFull,
		AcceleratorFault, AttachedEbsImpaired,
	}
	// notLaunched: no instance is launched, or none that fits.
	notLaunched = []Code{
		LaunchDenied, LaunchKmsDenied, LaunchAmiInvalid, LaunchSnapshotMissing, LaunchSubnetInvalid, LaunchTemplateInvalid, LaunchTypeUnavailable,
		LaunchQuotaExceeded, LaunchSpotPriceTooLow, LaunchNoCapacity, LaunchThrottled, LaunchInternalError, LaunchRefused, NodePoolNotReady, SubnetIpsExhausted,
	}
	// notStarted: whatever keeps an instance from booting as an accepted node.
	notStarted = slices.Concat(aboveTheNode, notLetIn, notBooted, cutOff, brokenHost)
	// neverJoined: whatever keeps an instance from becoming a working node.
	neverJoined = slices.Concat(notStarted,
		[]Code{KubeletVersionSkew, AmiFamilyUnsupported, UserDataTaintConflict, SubnetIpsExhausted, ClusterTagMissing, AdmissionWebhookBlocks, CniMissing, ImdsHopLimit, StartupTaintNotRemoved, ResourceNotRegistered})
	// ofOneNode lists the symptoms of single nodes; they explain those of a group.
	ofOneNode = []Code{InstanceStatusImpaired, NodeadmFailed, CloudInitFailed, CniNotReady, NeverReported, KubeletSilent}
)

// explainedBy maps each symptom to the codes that explain it. A symptom only says how the
// trouble shows. Another symptom, nearer to the root, may explain it. The relation has no
// cycles.
var explainedBy = map[Code][]Code{
	InstanceStatusImpaired: slices.Concat(aboveTheNode, brokenHost),
	NodeadmFailed:          notStarted,
	CloudInitFailed:        slices.Concat(notStarted, []Code{NodeadmFailed}),
	CniNotReady: slices.Concat(aboveTheNode, cutOff, brokenHost,
		[]Code{AccessEntryWrongType, AwsAuthWrongGroups, SubnetIpsExhausted, RolePoliciesMissing, ImdsHopLimit, KubeletVersionSkew, UndeclaredStartupTaint, KubeletRestartedDuringStartup, AdmissionWebhookBlocks, CniMissing}),
	NeverReported:      slices.Concat(aboveTheNode, notLetIn, cutOff, brokenHost, []Code{InstanceStatusImpaired}),
	KubeletSilent:      slices.Concat(aboveTheNode, notLetIn, cutOff, brokenHost, []Code{UserDataClusterMismatch, AdmissionWebhookBlocks, InstanceStatusImpaired, NeverReported}),
	ReplacementRepeats: slices.Concat(neverJoined, notLaunched, ofOneNode),
	NodeGroupUnhealthy: slices.Concat(neverJoined, notLaunched, ofOneNode, []Code{ReplacementRepeats}),
	DuplicateLaunch:    {UndeclaredStartupTaint, StartupTaintMissing, UserDataTaintConflict, UserDataMalformedFlags, KubeletRestartedDuringStartup, StartupTaintNotRemoved, CniNotReady},
}

// Symptom reports whether the code only describes how a fault shows.
func Symptom(c Code) bool { return len(explainedBy[c]) > 0 }

// AboutAccess reports whether the code says that the API server does not accept the kubelet.
func AboutAccess(c Code) bool { return slices.Contains(notLetIn, c) }

// AboutNetwork reports whether the code says that the node cannot reach an endpoint.
func AboutNetwork(c Code) bool { return slices.Contains(cutOff, c) }

// Explains reports whether the root cause may show as the symptom.
func Explains(root, symptom Code) bool { return slices.Contains(explainedBy[symptom], root) }

// Before reports whether code a is reported before code b when both causes are decisive.
func Before(a, b Code) bool { return Compare(a, b) < 0 }

// Compare orders codes as the catalogue does.
func Compare(a, b Code) int { return cmp.Compare(rank[a], rank[b]) }

// Order sorts causes into the order of a report: proven roots, likely roots of symptoms that no
// proven root explains, symptoms, then everything else that is only suggested. Equals keep the
// order of the catalogue, which lists all symptoms last.
func Order(causes []roll.Cause) {
	layer := make(map[Code]int, len(causes))
	for _, c := range causes {
		layer[c.Code] = layerOf(c, causes)
	}
	slices.SortStableFunc(causes, func(a, b roll.Cause) int {
		return cmp.Or(layer[a.Code]-layer[b.Code], rank[a.Code]-rank[b.Code])
	})
}

// layerOf returns the number of kinds of causes that are reported before it.
func layerOf(c roll.Cause, among []roll.Cause) int {
	switch {
	case c.Confidence == roll.Decisive && !Symptom(c.Code):
		return 0
	case c.Confidence == roll.Decisive:
		return 2
	case !Symptom(c.Code) && !c.Over && explainsFirst(c.Code, among):
		return 1
	}
	return 3
}

// explainsFirst reports whether the code explains the first of the symptoms, and no proven root
// does. What explains only a later one does not explain the finding: an Auto Scaling group that
// cannot launch is not why one of its nodes went silent.
func explainsFirst(root Code, among []roll.Cause) bool {
	var proven []Code
	for _, c := range among {
		if c.Confidence == roll.Decisive && Symptom(c.Code) {
			proven = append(proven, c.Code)
		}
	}
	if len(proven) == 0 {
		return false
	}
	top := slices.MinFunc(proven, func(a, b Code) int { return rank[a] - rank[b] })
	return Explains(root, top) && !explained(top, among)
}

// explained reports whether one of the causes is a proven root of the symptom.
func explained(symptom Code, by []roll.Cause) bool {
	return slices.ContainsFunc(by, func(r roll.Cause) bool {
		return r.Confidence == roll.Decisive && !Symptom(r.Code) && Explains(r.Code, symptom)
	})
}

// InDoubt reports whether another cause may explain a symptom of the diagnosis: no proven root
// cause does, and a possible one is only suggested, is another symptom, or could not be read. These
// do not count: causes that are never proven, causes that were over before, and unread causes that
// only the console or events would show, since those prove no absence.
func InDoubt(symptom roll.Cause, d roll.Diagnosis) bool {
	if explained(symptom.Code, d.Causes) {
		return false
	}
	return slices.ContainsFunc(d.Causes, func(c roll.Cause) bool {
		return Explains(c.Code, symptom.Code) && !c.Over && !slices.Contains(weak, c.Code)
	}) ||
		slices.ContainsFunc(d.NotChecked, func(n roll.NotChecked) bool {
			return n.Unread && Explains(n.Code, symptom.Code) && (Spares(n.Code) || Symptom(n.Code))
		})
}
