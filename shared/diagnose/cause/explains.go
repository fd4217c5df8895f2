package cause

import (
	"cmp"
	"slices"

	"rollcall/shared/roll"
)

// Groups of roots that show in the same ways.
var (
	// aboveTheNode: no node of the cluster, or of the zone, can be as it should.
	aboveTheNode = []Code{ControlPlaneUnreachable, ClusterNotActive, ClusterUnhealthy, ZoneOutage, OwnerGone, InstanceStopped}
	// notLetIn: the API server does not know the kubelet, or not as a node.
	notLetIn = []Code{
		InstanceProfileMissing, RoleTrustInvalid, AwsAuthUnparseable, ControllerRoleMapped, AwsAuthArnIsInstanceProfile, AwsAuthArnHasPath,
		AwsAuthDuplicateRole, AwsAuthWrongGroups, AwsAuthWrongUsername, AccessEntryWrongType, AccessEntryStale, NodeRoleNotMapped, RolePoliciesMissing,
	}
	// notBooted: the instance was not given what makes a node of it.
	notBooted = []Code{
		ArchitectureMismatch, UserDataEmpty, UserDataTooLarge, UserDataWrongFormat, UserDataUnparseable, UserDataClusterMismatch,
		UserDataPrivateClusterArgs, UserDataMalformedFlags, AmiWithoutKubernetes, LaunchTemplateDrift,
	}
	// cutOff: nothing, or not all that a node needs, can be reached.
	cutOff = []Code{
		ImdsDisabled, WrongVpc, DnsDisabled, ApiEndpointUnreachable, PublicAccessCidrBlocked, SecurityGroupBlocksApi, NaclBlocksApi,
		VpcEndpointMissing, DhcpOptionsWrong,
	}
	// brokenHost: the machine does not work.
	brokenHost = []Code{
		SystemStatusImpaired, KernelPanic, MemoryPressurePreceded, DiskPressurePreceded, PidPressurePreceded, OutOfMemory, DiskFull,
		AcceleratorFault, AttachedEbsImpaired,
	}
	// notLaunched: no instance comes, or none that fits.
	notLaunched = []Code{
		LaunchDenied, LaunchKmsDenied, LaunchAmiInvalid, LaunchSnapshotMissing, LaunchSubnetInvalid, LaunchTemplateInvalid, LaunchTypeUnavailable,
		LaunchQuotaExceeded, LaunchSpotPriceTooLow, LaunchNoCapacity, LaunchInternalError, SubnetIpsExhausted,
	}
	// notStarted: whatever keeps an instance from booting as a node that is let in.
	notStarted = slices.Concat(aboveTheNode, notLetIn, notBooted, cutOff, brokenHost)
	// neverJoined: whatever keeps an instance from becoming a node that works.
	neverJoined = slices.Concat(notStarted,
		[]Code{KubeletVersionSkew, AmiFamilyUnsupported, UserDataTaintConflict, SubnetIpsExhausted, ClusterTagMissing, AdmissionWebhookBlocks, ImdsHopLimit, StartupTaintNotRemoved, ResourceNotRegistered})
	// ofOneNode are the symptoms of single nodes: they explain those of a group.
	ofOneNode = []Code{InstanceStatusImpaired, NodeadmFailed, CloudInitFailed, CniNotReady, NeverReported, KubeletSilent}
)

// explainedBy has, of each symptom, the codes that explain it: a symptom only says how the
// trouble shows. A symptom may be explained by another one that lies nearer to the root.
// The relation has no cycles.
var explainedBy = map[Code][]Code{
	InstanceStatusImpaired: slices.Concat(aboveTheNode, brokenHost),
	NodeadmFailed:          notStarted,
	CloudInitFailed:        slices.Concat(notStarted, []Code{NodeadmFailed}),
	CniNotReady: slices.Concat(aboveTheNode, cutOff, brokenHost,
		[]Code{SubnetIpsExhausted, RolePoliciesMissing, ImdsHopLimit, KubeletVersionSkew, UndeclaredStartupTaint, KubeletRestartedDuringStartup, AdmissionWebhookBlocks}),
	NeverReported:      slices.Concat(aboveTheNode, notLetIn, cutOff, brokenHost, []Code{InstanceStatusImpaired}),
	KubeletSilent:      slices.Concat(aboveTheNode, notLetIn, cutOff, brokenHost, []Code{InstanceStatusImpaired, NeverReported}),
	ReplacementRepeats: slices.Concat(neverJoined, notLaunched, ofOneNode),
	NodeGroupUnhealthy: slices.Concat(neverJoined, notLaunched, ofOneNode, []Code{ReplacementRepeats}),
	DuplicateLaunch:    {UndeclaredStartupTaint, StartupTaintMissing, UserDataTaintConflict, UserDataMalformedFlags, KubeletRestartedDuringStartup, StartupTaintNotRemoved, CniNotReady},
}

// Symptom reports whether the code only says how trouble shows.
func Symptom(c Code) bool { return len(explainedBy[c]) > 0 }

// AboutAccess reports whether the code says that the API server does not let the kubelet in.
func AboutAccess(c Code) bool { return slices.Contains(notLetIn, c) }

// Explains reports whether the trouble that the one code names shows as the other one.
func Explains(root, symptom Code) bool { return slices.Contains(explainedBy[symptom], root) }

// Before reports whether the first code is told before the second where both causes are
// decisive.
func Before(a, b Code) bool { return rank[a] < rank[b] }

// Order sorts causes as they are to be told: proven roots, then likely roots of a symptom
// that no proven one explains, then the symptoms, then what is only suggested beside; equals
// in the order of the catalogue, which has all symptoms last.
func Order(causes []roll.Cause) {
	layer := make(map[Code]int, len(causes))
	for _, c := range causes {
		layer[c.Code] = layerOf(c, causes)
	}
	slices.SortStableFunc(causes, func(a, b roll.Cause) int {
		return cmp.Or(layer[a.Code]-layer[b.Code], rank[a.Code]-rank[b.Code])
	})
}

// layerOf is how many kinds of causes are told before it.
func layerOf(c roll.Cause, among []roll.Cause) int {
	switch {
	case c.Confidence == roll.Decisive && !Symptom(c.Code):
		return 0
	case c.Confidence == roll.Decisive:
		return 2
	case !Symptom(c.Code) && slices.ContainsFunc(among, func(s roll.Cause) bool {
		return s.Confidence == roll.Decisive && Explains(c.Code, s.Code) && !explained(s.Code, among)
	}):
		return 1
	}
	return 3
}

// explained reports whether one of the causes is a proven root of the symptom.
func explained(symptom Code, by []roll.Cause) bool {
	return slices.ContainsFunc(by, func(r roll.Cause) bool {
		return r.Confidence == roll.Decisive && !Symptom(r.Code) && Explains(r.Code, symptom)
	})
}
