package generate

// Who owns a group of machines.
const (
	byKarpenter = "karpenter"
	byNodeGroup = "managed node group"
	byASG       = "Auto Scaling group"
)

// The operating systems.
const (
	al2023       = "AL2023"
	al2          = "AL2"
	bottlerocket = "Bottlerocket"
	windows      = "Windows"
)

// Image is an AMI.
type Image struct{ ID, Name, Owner, Arch, OS, Kubelet string }

// The owners of EKS's own images, and of Bottlerocket's.
const (
	ownerEKS          = "123456789012"
	ownerBottlerocket = "123456789012"
)

var (
	imageAL2023       = Image{"ami-0a23aaaaaaaaaaaa1", "amazon-eks-node-al2023-x86_64-standard-1.35-v20260224", ownerEKS, "x86_64", al2023, "v1.35.0-eks-70ce843"}
	imageAL2023arm    = Image{"ami-0a23aaaaaaaaaaaa2", "amazon-eks-node-al2023-arm64-standard-1.35-v20260224", ownerEKS, "arm64", al2023, "v1.35.0-eks-70ce843"}
	imageAL2          = Image{"ami-0a02aaaaaaaaaaaa1", "amazon-eks-node-1.32-v20251112", ownerEKS, "x86_64", al2, "v1.32.9-eks-113cf36"}
	imageBottlerocket = Image{"ami-0b07aaaaaaaaaaaa1", "bottlerocket-aws-k8s-1.35-x86_64-v1.55.0-f3ac4e6c", ownerBottlerocket, "x86_64", bottlerocket, "v1.35.0-eks-70ce843"}
	imageBottlerArm   = Image{"ami-0b07aaaaaaaaaaaa2", "bottlerocket-aws-k8s-1.35-aarch64-v1.55.0-f3ac4e6c", ownerBottlerocket, "arm64", bottlerocket, "v1.35.0-eks-70ce843"}
	imageWindows      = Image{"ami-0d0eaaaaaaaaaaaa1", "Windows_Server-2022-English-Core-EKS_Optimized-1.35-2026.02.24", ownerEKS, "x86_64", windows, "v1.35.0-eks-70ce843"}
	imageOwn          = Image{"ami-0c05aaaaaaaaaaaa1", "payments-golden-base-2026-02", Account, "x86_64", al2023, "v1.35.0-eks-70ce843"}
)

// Group is a node pool, a managed node group or an Auto Scaling group.
type Group struct {
	Owner, Name string
	Role        string // name of its IAM role
	Path        string // of that role, "/" by default
	InAwsAuth   bool   // the role is mapped by aws-auth, not by an access entry
	Image       Image
	Type        string // instance type
	Firewall    string // ID of its security group; the cluster's by default
	Template    string // ID of its launch template
	Version     int    // of the template
	// Custom says that the template names the AMI and holds the user data itself.
	Custom bool
}

// The groups of the account. The first four have healthy nodes.
var (
	Default    = Group{Owner: byKarpenter, Name: "default", Role: "KarpenterNodeRole-payments", Image: imageAL2023, Type: "m6i.large", Template: "lt-0d1a0000000000000", Version: 1}
	System     = Group{Owner: byKarpenter, Name: "system", Role: "KarpenterNodeRole-payments", Image: imageBottlerocket, Type: "m6i.large", Template: "lt-0b4d0000000000000", Version: 1}
	Workers    = Group{Owner: byNodeGroup, Name: "workers", Role: "payments-workers-node", Image: imageAL2023, Type: "m6i.xlarge", Template: "lt-0e2b0000000000000", Version: 3}
	Legacy     = Group{Owner: byASG, Name: "payments-legacy", Role: "payments-legacy-node", InAwsAuth: true, Image: imageAL2, Type: "m5.large", Firewall: legacyGroup, Template: "lt-0f3c0000000000000", Version: 7, Custom: true}
	Batch      = Group{Owner: byKarpenter, Name: "batch", Role: "payments-batch-node", Image: imageAL2023, Type: "c6i.xlarge", Template: "lt-0ba70000000000000", Version: 1}
	BatchGroup = Group{Owner: byNodeGroup, Name: "batch", Role: "payments-batch-node", Image: imageAL2023, Type: "c6i.xlarge", Template: "lt-0ba80000000000000", Version: 1}
	Edge       = Group{Owner: byASG, Name: "payments-edge", Role: "payments-edge-node", InAwsAuth: true, Image: imageAL2023, Type: "m6i.large", Template: "lt-0ed60000000000000", Version: 2, Custom: true}
	Reports    = Group{Owner: byNodeGroup, Name: "reports", Role: "payments-reports-node", Image: imageAL2, Type: "m5.large", Template: "lt-04e90000000000000", Version: 4, Custom: true}
	Arm        = Group{Owner: byNodeGroup, Name: "arm", Role: "payments-arm-node", Image: imageAL2023arm, Type: "m7g.large", Template: "lt-0a640000000000000", Version: 1}
)

// ASG returns the name of the Auto Scaling group behind a group, "" for Karpenter.
func (g Group) ASG() string {
	switch g.Owner {
	case byNodeGroup:
		return "eks-" + g.Name + "-4ac6f0d2-6f4e-4b0a-9d6c-2f6f5d1c7a10"
	case byASG:
		return g.Name
	}
	return ""
}

// Profile returns the name of the instance profile.
func (g Group) Profile() string {
	switch g.Owner {
	case byKarpenter:
		return Cluster + "_" + g.Role
	case byNodeGroup:
		return "eks-" + g.Role
	}
	return g.Role
}

func (g Group) path() string {
	if g.Path == "" {
		return "/"
	}
	return g.Path
}

// RoleARN returns the ARN of the group's role.
func (g Group) RoleARN() string { return "arn:aws:iam::" + Account + ":role" + g.path() + g.Role }

func (g Group) firewall() string {
	if g.Firewall == "" {
		return clusterGroup
	}
	return g.Firewall
}
