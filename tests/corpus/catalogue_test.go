package corpus_test

// codes are the causes of the catalogue, except VolumeLeft and InterfaceLeft: a bundle has no
// record of terminated instances.
var codes = []string{
	"NodeRoleNotMapped", "ControllerRoleMapped", "AccessEntryWrongType", "AccessEntryStale", "AwsAuthUnparseable", "AwsAuthArnHasPath",
	"AwsAuthArnIsInstanceProfile", "AwsAuthWrongGroups", "AwsAuthWrongUsername", "AwsAuthDuplicateRole", "InstanceProfileMissing",
	"RolePoliciesMissing", "RoleTrustInvalid",

	"UserDataWrongFormat", "UserDataUnparseable", "UserDataClusterMismatch", "UserDataMalformedFlags", "UserDataTaintConflict",
	"StartupTaintMissing", "UserDataPrivateClusterArgs", "UserDataEmpty", "UserDataTooLarge", "AmiWithoutKubernetes",
	"ArchitectureMismatch", "KubeletVersionSkew", "AmiFamilyUnsupported", "CloudInitFailed", "NodeadmFailed",

	"ApiEndpointUnreachable", "PublicAccessCidrBlocked", "SecurityGroupBlocksApi", "NaclBlocksApi", "DnsDisabled", "DhcpOptionsWrong",
	"VpcEndpointMissing", "SubnetIpsExhausted", "WrongVpc", "ClusterTagMissing", "ImdsHopLimit",

	"StartupTaintNotRemoved", "UndeclaredStartupTaint", "CniNotReady", "KubeletRestartedDuringStartup", "DuplicateLaunch",

	"KubeletSilent", "NeverReported", "MemoryPressurePreceded", "DiskPressurePreceded", "PidPressurePreceded", "OutOfMemory",
	"KernelPanic", "DiskFull", "InstanceStatusImpaired", "SystemStatusImpaired", "InstanceStopped", "MonitoringConditionLatched",
	"AcceleratorFault", "AttachedEbsImpaired", "ApplicationStatusImpaired", "PerformanceStatusImpaired",

	"ClusterNotActive", "ControlPlaneUnreachable", "ZoneOutage", "ReplacementRepeats", "LaunchTemplateDrift", "AdmissionWebhookBlocks",
	"OwnerGone", "NodeGroupUnhealthy",

	"NodeLabelsMismatch", "CniMissing", "ResourceNotRegistered", // not in the published catalogue
	"DrainBlocked", "VolumesAttached", "InstanceNotTerminating", "FinalizerHeld", "FinalizerOwnerGone",
	"LaunchNoCapacity", "LaunchQuotaExceeded", "LaunchDenied", "LaunchAmiInvalid", "LaunchTemplateInvalid", "LaunchSpotPriceTooLow", "LaunchKmsDenied",
	"LaunchSubnetInvalid", "LaunchSnapshotMissing", "LaunchTypeUnavailable", "LaunchInternalError", "LaunchThrottled", "LaunchRefused", "NodePoolNotReady",
}

// onlySuggestive are the codes that no outside evidence can prove.
var onlySuggestive = []string{"LaunchRefused", "ClusterTagMissing", "RolePoliciesMissing", "DhcpOptionsWrong", "ImdsHopLimit", "LaunchTemplateDrift", "KubeletVersionSkew", "AttachedEbsImpaired", "ApplicationStatusImpaired", "PerformanceStatusImpaired"}

// besideAnother is the code that cannot come first: without the nodes, the only findings are
// EC2's, and each of these has its own reason.
const besideAnother = "ControlPlaneUnreachable"
