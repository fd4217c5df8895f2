package bundle

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	shifttypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/evidence"
)

// contents holds all files of a bundle, in the types of the clients that return them.
type contents struct {
	at time.Time // zero if unknown

	cluster     table[ekstypes.Cluster]
	nodeGroups  table[ekstypes.Nodegroup]
	entries     table[accessEntry]
	policies    table[accessPolicies]
	instances   table[instance]
	statuses    table[types.InstanceStatus]
	protections table[protection]
	userData    table[document]
	consoles    table[document]
	images      table[types.Image]
	subnets     table[types.Subnet]
	routeTables table[types.RouteTable]
	acls        table[types.NetworkAcl]
	groups      table[types.SecurityGroup]
	gateways    table[types.NatGateway]
	endpoints   table[types.VpcEndpoint]
	vpcs        table[types.Vpc]
	dhcp        table[types.DhcpOptions]
	vpcFlags    table[vpcFlags]
	templates   table[types.LaunchTemplateVersion]

	asgInstances table[asgtypes.AutoScalingInstanceDetails]
	asgs         table[asgtypes.AutoScalingGroup]
	activities   table[asgtypes.Activity]

	profiles table[iamtypes.InstanceProfile]
	roles    table[iamtypes.Role]
	attached table[attachedPolicies]
	inline   table[inlinePolicies]
	// the texts of policies
	inlineTexts table[inlinePolicy]
	managed     table[iamtypes.Policy]
	policyTexts table[policyVersion]

	shifts table[shifttypes.GetManagedResourceOutput]

	objects    map[string]*table[item] // Kubernetes objects, by file
	refused    map[string]refusal      // what the API server answered instead, by file
	remembered table[remembered]
}

// instance is an instance with the data of its reservation.
type instance struct {
	types.Instance
	reservation types.Reservation // without its instances
}

// accessEntry is an access entry as describe-access-entry prints it, or only the ARN from
// list-access-entries.
type accessEntry struct {
	ekstypes.AccessEntry
	listed bool // only PrincipalArn is known
}

// accessPolicies are the policies that list-associated-access-policies prints for one principal.
type accessPolicies struct {
	principal                string
	AssociatedAccessPolicies []ekstypes.AssociatedAccessPolicy
}

// protection holds attributes of an instance other than its user data.
type protection struct {
	instance              string
	DisableApiTermination *types.AttributeBooleanValue //nolint:revive // the API's name
}

// document is a file that does not contain JSON.
type document struct {
	instance string
	text     []byte
}

type vpcFlags struct {
	vpc                string
	EnableDnsSupport   *types.AttributeBooleanValue //nolint:revive // the API's name
	EnableDnsHostnames *types.AttributeBooleanValue //nolint:revive // the API's name
}

type attachedPolicies struct {
	role             string
	AttachedPolicies []iamtypes.AttachedPolicy
}

type inlinePolicies struct {
	role        string
	PolicyNames []string
}

// inlinePolicy is the answer of get-role-policy.
type inlinePolicy struct {
	RoleName, PolicyName, PolicyDocument *string
}

func inlineKey(role, policy string) string { return role + "/" + policy }

// policyVersion is the answer of get-policy-version for one policy.
type policyVersion struct {
	arn           string
	PolicyVersion *iamtypes.PolicyVersion
}

type remembered struct {
	node string
	evidence.Remembered
}

func newContents() *contents {
	c := &contents{
		cluster:     newTable(fileCluster, func(c *ekstypes.Cluster) string { return aws.ToString(c.Name) }),
		nodeGroups:  newTable(fileNodeGroups, func(g *ekstypes.Nodegroup) string { return aws.ToString(g.NodegroupName) }),
		entries:     newTable(fileAccessEntries, func(e *accessEntry) string { return aws.ToString(e.PrincipalArn) }),
		policies:    newTable(fileAccessPolicies, func(p *accessPolicies) string { return p.principal }),
		instances:   newTable(fileInstances, func(i *instance) string { return aws.ToString(i.InstanceId) }),
		statuses:    newTable(fileStatuses, func(s *types.InstanceStatus) string { return aws.ToString(s.InstanceId) }),
		protections: newTable(fileAttributes, func(p *protection) string { return p.instance }),
		userData:    newTable(folderUserData, func(d *document) string { return d.instance }),
		consoles:    newTable(folderConsole, func(d *document) string { return d.instance }),
		images:      newTable(fileImages, func(i *types.Image) string { return aws.ToString(i.ImageId) }),
		subnets:     newTable(fileSubnets, func(s *types.Subnet) string { return aws.ToString(s.SubnetId) }),
		routeTables: newTable(fileRouteTables, func(r *types.RouteTable) string { return aws.ToString(r.RouteTableId) }),
		acls:        newTable(fileNetworkACLs, func(a *types.NetworkAcl) string { return aws.ToString(a.NetworkAclId) }),
		groups:      newTable(fileSecurityGroups, func(g *types.SecurityGroup) string { return aws.ToString(g.GroupId) }),
		gateways:    newTable(fileNATGateways, func(g *types.NatGateway) string { return aws.ToString(g.NatGatewayId) }),
		endpoints:   newTable(fileVPCEndpoints, func(e *types.VpcEndpoint) string { return aws.ToString(e.VpcEndpointId) }),
		vpcs:        newTable(fileVPCs, func(v *types.Vpc) string { return aws.ToString(v.VpcId) }),
		dhcp:        newTable(fileDHCPOptions, func(o *types.DhcpOptions) string { return aws.ToString(o.DhcpOptionsId) }),
		vpcFlags:    newTable(fileVPCAttributes, func(f *vpcFlags) string { return f.vpc }),
		templates:   newTable(fileTemplates, templateKey),

		asgInstances: newTable(fileASGInstances, func(i *asgtypes.AutoScalingInstanceDetails) string { return aws.ToString(i.InstanceId) }),
		asgs:         newTable(fileASGs, func(g *asgtypes.AutoScalingGroup) string { return aws.ToString(g.AutoScalingGroupName) }),
		activities:   newTable(fileActivities, func(a *asgtypes.Activity) string { return aws.ToString(a.ActivityId) }),

		profiles: newTable(fileProfiles, func(p *iamtypes.InstanceProfile) string { return aws.ToString(p.InstanceProfileName) }),
		roles:    newTable(fileRoles, func(r *iamtypes.Role) string { return aws.ToString(r.RoleName) }),
		attached: newTable(fileAttached, func(p *attachedPolicies) string { return p.role }),
		inline:   newTable(fileInline, func(p *inlinePolicies) string { return p.role }),

		inlineTexts: newTable(fileInlineTexts, func(p *inlinePolicy) string { return inlineKey(aws.ToString(p.RoleName), aws.ToString(p.PolicyName)) }),
		managed:     newTable(filePolicies, func(p *iamtypes.Policy) string { return aws.ToString(p.Arn) }),
		policyTexts: newTable(filePolicyTexts, func(p *policyVersion) string { return p.arn }),

		shifts:     newTable(fileShifts, func(*shifttypes.GetManagedResourceOutput) string { return "" }),
		remembered: newTable(fileLedger, func(r *remembered) string { return r.node }),
		objects:    map[string]*table[item]{},
		refused:    map[string]refusal{},
	}
	for _, r := range served {
		if c.objects[r.file] == nil {
			t := newTable(r.file, (*item).key)
			c.objects[r.file] = &t
		}
	}
	return c
}

func templateKey(v *types.LaunchTemplateVersion) string {
	return aws.ToString(v.LaunchTemplateId) + ":" + strconv.FormatInt(aws.ToInt64(v.VersionNumber), 10)
}
