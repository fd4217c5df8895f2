package evidence

import (
	"time"

	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// Instance is what was read of one EC2 instance.
type Instance struct {
	// Config is the instance itself; Absent if EC2 does not know it.
	Config Fact[InstanceConfig]
	// Status are EC2's status checks. Absent: EC2 has none of an instance that does not run.
	Status Fact[InstanceStatus]
	// UserData is what its user data says; Absent if it has none.
	UserData Fact[userdata.Boot]
	// Console is what its console shows. Known and without lines: EC2 had no output yet,
	// which proves nothing.
	Console Fact[console.Log]
	// ConsoleAt is when EC2 took the output, zero if it does not tell.
	ConsoleAt time.Time
}

// InstanceConfig is what EC2 says of an instance.
type InstanceConfig struct {
	State        string // running, stopped...
	StateReason  string // message of the last transition
	Launched     time.Time
	Type         string
	Architecture string // x86_64 or arm64, of its AMI
	Platform     string // windows or ""
	Image        string // AMI id
	VPC          string
	Subnet       string
	PrivateIP    string
	PublicIP     string // "" if it has none
	IPv6         bool   // has an IPv6 address
	// SecurityGroups of its primary network interface.
	SecurityGroups []string
	ProfileARN     string // instance profile, "" if it has none
	HopLimit       int    // of the metadata service; 0 if not told
	IMDSDisabled   bool
	// ClusterTags are the clusters that kubernetes.io/cluster/ keys name.
	ClusterTags []string
	Group       roll.Group
	NodeGroup   string // eks:nodegroup-name, "" if none
	ASG         string // aws:autoscaling:groupName, "" if none
	NodeClass   string // karpenter.k8s.aws/ec2nodeclass, "" if none
	// LaunchTemplate and its version as EC2 or Auto Scaling wrote them into
	// aws:ec2launchtemplate:id and :version; "" if none.
	LaunchTemplate, LaunchTemplateVersion string
}

// InstanceStatus is EC2's view of an instance's health.
type InstanceStatus struct {
	Instance      string    // ok, impaired, initializing, insufficient-data, not-applicable
	System        string    // likewise
	InstanceSince time.Time // impairedSince of the instance's check, zero if not told
	SystemSince   time.Time
	// AttachedEBS, Application and Performance are the checks beside these two, "" where EC2
	// makes none.
	AttachedEBS, Application, Performance                string
	AttachedEBSSince, ApplicationSince, PerformanceSince time.Time
	// Remediation is what EC2 recommends against an impaired performance.
	Remediation string
	Events      []roll.Event // that are scheduled and not completed
}

// Image is an AMI. Absent means that it was deregistered, or is not shared any more.
type Image struct {
	Name         string
	Owner        string // account id
	OwnerAlias   string // amazon, aws-marketplace or ""
	Architecture string // x86_64 or arm64
	// Family is what the name tells of EKS's own and Bottlerocket's images: al2,
	// al2023, bottlerocket, windows, ubuntu; "" if it does not.
	Family string
	// EKS: it is one that AWS publishes for EKS nodes.
	EKS bool
	// Kubernetes is the minor version that its name tells, such as 1.35, "" if none.
	Kubernetes string
}

// LaunchTemplate is one version of a launch template.
type LaunchTemplate struct {
	ID, Version string
	Image       string // AMI id or "resolve:ssm:..."; "" if it names none
	ProfileARN  string // or name, as it is written
	UserData    Fact[userdata.Boot]
	HasUserData bool
	Subnets     []string
}
