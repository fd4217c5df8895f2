package evidence

import (
	"slices"
	"time"

	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// Instance is what was read of one EC2 instance.
type Instance struct {
	// Config is the instance's description; Absent if EC2 does not know the instance.
	Config Fact[InstanceConfig]
	// Status holds EC2's status checks; Absent if EC2 has none because the instance does not run.
	Status Fact[InstanceStatus]
	// UserData is the parsed user data; Absent if there is none.
	UserData Fact[userdata.Boot]
	// Console is the parsed console output. If it is known and has no lines, EC2 had no output yet,
	// which proves nothing.
	Console Fact[console.Log]
	// ConsoleAt is when EC2 took the output, zero if unknown.
	ConsoleAt time.Time
	// HostLogs are the logs that the instance's SSM agent returned; Absent if SSM does not know the
	// instance. NotAsked without a reason means that they are not wanted.
	HostLogs Fact[hostlog.Log]
}

// Log returns what the console shows and what the host's logs show, in one, in this order: known if
// either is. The host's logs are of the current boot, and count as of the console's last, which is the
// same or an earlier one. They are tails: whatever follows from what a text lacks follows from the
// console alone.
func (i Instance) Log() Fact[console.Log] {
	if !i.HostLogs.Known() {
		return i.Console
	}
	out, host := i.Console.Value, i.HostLogs.Value.Console
	out.Found = slices.Clone(out.Found)
	for _, f := range host.Found {
		f.Boot, f.Line = out.Boots, f.Line+out.Lines
		out.Found = append(out.Found, f)
	}
	out.Lines += host.Lines
	out.Truncated = out.Truncated || !i.Console.Known()
	return Read(out)
}

// Unshown begins a sentence about what Log does not show, with the texts that it is made of.
func (i Instance) Unshown() string {
	switch {
	case !i.HostLogs.Known():
		return "the console does not show"
	case !i.Console.Known():
		return "the host's logs do not show"
	}
	return "the console and the host's logs do not show"
}

// LogsGap returns why the host's logs are not known; "" if they are, or are not wanted.
func (i Instance) LogsGap() string {
	if i.HostLogs.State == NotAsked && i.HostLogs.Why == "" || i.HostLogs.Known() {
		return ""
	}
	return i.HostLogs.Missing("SSM agent on the instance that SSM knows")
}

// AndLogs adds to why the console shows nothing why the host's logs are not known.
func (i Instance) AndLogs(why string) string {
	if gap := i.LogsGap(); gap != "" {
		return why + "; the host's logs: " + gap
	}
	return why
}

// InstanceConfig is an instance as EC2 describes it.
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
	// SecurityGroups are those of the primary network interface.
	SecurityGroups []string
	ProfileARN     string // instance profile, "" if it has none
	HopLimit       int    // of the metadata service; 0 if unknown
	IMDSDisabled   bool
	// ClusterTags are the clusters named by tag keys with the prefix kubernetes.io/cluster/.
	ClusterTags []string
	Group       roll.Group
	NodeGroup   string // eks:nodegroup-name, "" if none
	ASG         string // aws:autoscaling:groupName, "" if none
	NodeClass   string // karpenter.k8s.aws/ec2nodeclass, "" if none
	// LaunchTemplate and LaunchTemplateVersion are those that EC2 or Auto Scaling wrote into the
	// tags aws:ec2launchtemplate:id and :version; "" if none.
	LaunchTemplate, LaunchTemplateVersion string
}

// gone reports whether the instance is terminated or is being terminated.
func (i InstanceConfig) gone() bool { return roll.InstanceState(i.State).Gone() }

// InstanceStatus is EC2's view of an instance's health.
type InstanceStatus struct {
	Instance      string    // ok, impaired, initializing, insufficient-data, not-applicable
	System        string    // one of the same values
	InstanceSince time.Time // impairedSince of the instance's check, zero if unknown
	SystemSince   time.Time
	// AttachedEBS, Application and Performance are the checks beside these two, "" if EC2 makes
	// none.
	AttachedEBS, Application, Performance                string
	AttachedEBSSince, ApplicationSince, PerformanceSince time.Time
	// Remediation is what EC2 recommends for impaired performance.
	Remediation string
	Events      []roll.Event // scheduled and not completed
}

// Image is an AMI. Absent means that it was deregistered or is no longer shared.
type Image struct {
	Name         string
	Owner        string // account id
	OwnerAlias   string // amazon, aws-marketplace or ""
	Architecture string // x86_64 or arm64
	// Family is the family that the name of an EKS or Bottlerocket image shows: al2, al2023,
	// bottlerocket, windows, ubuntu; "" if it shows none.
	Family string
	// EKS reports whether AWS publishes the image for EKS nodes.
	EKS bool
	// Kubernetes is the minor version in its name, such as 1.35, "" if none.
	Kubernetes string
}

// LaunchTemplate is one version of a launch template.
type LaunchTemplate struct {
	ID, Version string
	Image       string // AMI id or "resolve:ssm:..."; "" if it names none
	ProfileARN  string // or name, as written
	UserData    Fact[userdata.Boot]
	HasUserData bool
	Subnets     []string
}
