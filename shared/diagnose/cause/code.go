// Package cause is the vocabulary of a diagnosis: the codes of the catalogue, what is known
// about each, and the sheet on which analyzers note what they found, ruled out or could not
// check.
//
// The package is pure.
package cause

// Code names a cause. The codes are a contract: notices, tags, events and JSON contain them,
// and people filter by them.
type Code = string

// Identity and authorization.
const (
	NodeRoleNotMapped           Code = "NodeRoleNotMapped"
	ControllerRoleMapped        Code = "ControllerRoleMapped"
	AccessEntryWrongType        Code = "AccessEntryWrongType"
	AccessEntryStale            Code = "AccessEntryStale"
	AwsAuthUnparseable          Code = "AwsAuthUnparseable"
	AwsAuthArnHasPath           Code = "AwsAuthArnHasPath"
	AwsAuthArnIsInstanceProfile Code = "AwsAuthArnIsInstanceProfile"
	AwsAuthWrongGroups          Code = "AwsAuthWrongGroups"
	AwsAuthWrongUsername        Code = "AwsAuthWrongUsername"
	AwsAuthDuplicateRole        Code = "AwsAuthDuplicateRole"
	InstanceProfileMissing      Code = "InstanceProfileMissing"
	RolePoliciesMissing         Code = "RolePoliciesMissing"
	RoleTrustInvalid            Code = "RoleTrustInvalid"
)

// Bootstrap: user data and AMI.
const (
	UserDataWrongFormat        Code = "UserDataWrongFormat"
	UserDataUnparseable        Code = "UserDataUnparseable"
	UserDataClusterMismatch    Code = "UserDataClusterMismatch"
	UserDataMalformedFlags     Code = "UserDataMalformedFlags"
	UserDataTaintConflict      Code = "UserDataTaintConflict"
	StartupTaintMissing        Code = "StartupTaintMissing"
	UserDataPrivateClusterArgs Code = "UserDataPrivateClusterArgs"
	UserDataEmpty              Code = "UserDataEmpty"
	UserDataTooLarge           Code = "UserDataTooLarge"
	AmiWithoutKubernetes       Code = "AmiWithoutKubernetes"
	ArchitectureMismatch       Code = "ArchitectureMismatch"
	KubeletVersionSkew         Code = "KubeletVersionSkew"
	AmiFamilyUnsupported       Code = "AmiFamilyUnsupported"
	CloudInitFailed            Code = "CloudInitFailed"
	NodeadmFailed              Code = "NodeadmFailed"
)

// Launch: why a group gets no instance.
const (
	LaunchNoCapacity      Code = "LaunchNoCapacity"
	LaunchQuotaExceeded   Code = "LaunchQuotaExceeded"
	LaunchDenied          Code = "LaunchDenied"
	LaunchAmiInvalid      Code = "LaunchAmiInvalid"
	LaunchTemplateInvalid Code = "LaunchTemplateInvalid"
	LaunchSpotPriceTooLow Code = "LaunchSpotPriceTooLow"
	LaunchKmsDenied       Code = "LaunchKmsDenied"
	LaunchSubnetInvalid   Code = "LaunchSubnetInvalid"
	LaunchSnapshotMissing Code = "LaunchSnapshotMissing"
	LaunchTypeUnavailable Code = "LaunchTypeUnavailable"
	LaunchInternalError   Code = "LaunchInternalError"
)

// Network.
const (
	ApiEndpointUnreachable  Code = "ApiEndpointUnreachable"
	PublicAccessCidrBlocked Code = "PublicAccessCidrBlocked"
	SecurityGroupBlocksApi  Code = "SecurityGroupBlocksApi"
	NaclBlocksApi           Code = "NaclBlocksApi"
	DnsDisabled             Code = "DnsDisabled"
	DhcpOptionsWrong        Code = "DhcpOptionsWrong"
	VpcEndpointMissing      Code = "VpcEndpointMissing"
	SubnetIpsExhausted      Code = "SubnetIpsExhausted"
	WrongVpc                Code = "WrongVpc"
	ClusterTagMissing       Code = "ClusterTagMissing"
	ImdsHopLimit            Code = "ImdsHopLimit"
)

// Startup.
const (
	StartupTaintNotRemoved        Code = "StartupTaintNotRemoved"
	UndeclaredStartupTaint        Code = "UndeclaredStartupTaint"
	CniNotReady                   Code = "CniNotReady"
	KubeletRestartedDuringStartup Code = "KubeletRestartedDuringStartup"
	DuplicateLaunch               Code = "DuplicateLaunch"
)

// Host.
const (
	KubeletSilent              Code = "KubeletSilent"
	NeverReported              Code = "NeverReported"
	MemoryPressurePreceded     Code = "MemoryPressurePreceded"
	DiskPressurePreceded       Code = "DiskPressurePreceded"
	PidPressurePreceded        Code = "PidPressurePreceded"
	OutOfMemory                Code = "OutOfMemory"
	KernelPanic                Code = "KernelPanic"
	DiskFull                   Code = "DiskFull"
	InstanceStatusImpaired     Code = "InstanceStatusImpaired"
	SystemStatusImpaired       Code = "SystemStatusImpaired"
	AttachedEbsImpaired        Code = "AttachedEbsImpaired"
	ApplicationStatusImpaired  Code = "ApplicationStatusImpaired"
	PerformanceStatusImpaired  Code = "PerformanceStatusImpaired"
	InstanceStopped            Code = "InstanceStopped"
	MonitoringConditionLatched Code = "MonitoringConditionLatched"
	AcceleratorFault           Code = "AcceleratorFault"
)

// Cluster and fleet.
const (
	ClusterNotActive        Code = "ClusterNotActive"
	ControlPlaneUnreachable Code = "ControlPlaneUnreachable"
	ZoneOutage              Code = "ZoneOutage"
	ReplacementRepeats      Code = "ReplacementRepeats"
	LaunchTemplateDrift     Code = "LaunchTemplateDrift"
	AdmissionWebhookBlocks  Code = "AdmissionWebhookBlocks"
	OwnerGone               Code = "OwnerGone"
	NodeGroupUnhealthy      Code = "NodeGroupUnhealthy"
)

// Further codes of these subjects.
const (
	// ClusterUnhealthy: eks:DescribeCluster reports health issues of the cluster itself,
	// such as a cluster role that is gone or an STS endpoint that is off.
	ClusterUnhealthy Code = "ClusterUnhealthy"
	// LaunchThrottled: AWS throttles the requests that launch instances.
	LaunchThrottled Code = "LaunchThrottled"
	// LaunchRefused: a launch is refused with a text that is not known.
	LaunchRefused Code = "LaunchRefused"
	// NodePoolNotReady: Karpenter does not launch for a NodePool, since it or its EC2NodeClass is
	// not ready.
	NodePoolNotReady Code = "NodePoolNotReady"
	// CniMissing: the cluster has no network plugin at all.
	CniMissing Code = "CniMissing"
	// ImdsDisabled: the instance's metadata service is off; nothing on it can join.
	ImdsDisabled Code = "ImdsDisabled"
	// ResourceNotRegistered: Karpenter waits for an extended resource, such as nvidia.com/gpu,
	// that no device plugin has registered.
	ResourceNotRegistered Code = "ResourceNotRegistered"
	// NodeLabelsMismatch: a node's labels contradict its NodeClaim, its NodePool or its
	// instance.
	NodeLabelsMismatch Code = "NodeLabelsMismatch"
)

// What blocks the deletion of a Node or NodeClaim.
const (
	// DrainBlocked: pods that must not be evicted keep Karpenter from draining the node.
	DrainBlocked Code = "DrainBlocked"
	// VolumesAttached: Karpenter waits for VolumeAttachments of the drained node.
	VolumesAttached Code = "VolumesAttached"
	// InstanceNotTerminating: only the instance is left, and EC2 does not terminate it.
	InstanceNotTerminating Code = "InstanceNotTerminating"
	// FinalizerHeld: a finalizer that is not Karpenter's keeps the object.
	FinalizerHeld Code = "FinalizerHeld"
	// FinalizerOwnerGone: nothing is left to wait for, and Karpenter does not remove its
	// finalizer.
	FinalizerOwnerGone Code = "FinalizerOwnerGone"
	// VolumeLeft: an EBS volume outlived its instance because DeleteOnTermination is false.
	VolumeLeft Code = "VolumeLeft"
	// InterfaceLeft: a network interface outlived its instance for the same reason.
	InterfaceLeft Code = "InterfaceLeft"
)
