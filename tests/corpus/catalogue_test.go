package corpus_test

// codes are the causes of the catalogue, but for VolumeLeft and InterfaceLeft: a bundle holds no
// memory of instances that ended.
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

	"NodeLabelsMismatch", // beyond the published ones
	"DrainBlocked", "VolumesAttached", "InstanceNotTerminating", "FinalizerHeld", "FinalizerOwnerGone",
	"LaunchNoCapacity", "LaunchQuotaExceeded", "LaunchDenied", "LaunchAmiInvalid", "LaunchTemplateInvalid", "LaunchSpotPriceTooLow", "LaunchKmsDenied",
	"LaunchSubnetInvalid", "LaunchSnapshotMissing", "LaunchTypeUnavailable", "LaunchInternalError",
}

// onlySuggestive are the codes that no evidence from outside can prove.
var onlySuggestive = []string{"RolePoliciesMissing", "DhcpOptionsWrong", "ImdsHopLimit", "LaunchTemplateDrift", "AttachedEbsImpaired", "ApplicationStatusImpaired", "PerformanceStatusImpaired"}

// besideAnother is the code that cannot stand first: without the nodes, the only
// findings are those that EC2 makes, and each of these has its own reason.
const besideAnother = "ControlPlaneUnreachable"
