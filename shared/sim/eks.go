package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	arctypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/roll"
)

type eksAPI struct{ v *env }

const kubernetesVersion = "1.33" // the version of every cluster

// clustersOnPage is the default page size of ListClusters. Some accounts have pages of one.
const clustersOnPage = 100

// ListClusters lists the names of the region's clusters.
func (e eksAPI) ListClusters(in *eks.ListClustersInput, out *eks.ListClustersOutput) error {
	var names []string
	for _, c := range e.v.a.clusters {
		if c.exists() {
			names = append(names, c.name)
		}
	}
	size := in.MaxResults
	switch {
	case !e.v.a.sc.Quiet && e.v.a.d.of("clusters on a page").chance(0.25):
		size = aws.Int32(1)
	case size == nil:
		size = aws.Int32(clustersOnPage)
	}
	out.Clusters, out.NextToken = cut(names, in.NextToken, size)
	e.v.inv.swept(len(out.Clusters), 0)
	return nil
}

// eksCluster returns an existing cluster, or EKS's error for an unknown name.
func (a *account) eksCluster(name *string) (*cluster, error) {
	if c := a.byName[aws.ToString(name)]; c != nil && c.exists() {
		return c, nil
	}
	return nil, noSuch("ResourceNotFoundException", "No cluster found for name: %s.", aws.ToString(name))
}

// DescribeCluster returns a cluster.
func (e eksAPI) DescribeCluster(ctx context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	inv := e.v.inv
	out := new(eks.DescribeClusterOutput)
	status := ""
	err := e.v.call(ctx, "eks:DescribeCluster", reads, aws.ToString(in.Name), func() error {
		c, err := e.v.a.eksCluster(in.Name)
		if err == nil {
			out.Cluster, status = c.describe(), c.status
		}
		return err
	})
	inv.seen.described = status                                 // "" if it failed
	if err == nil && inv.seen.tagged != aws.ToString(in.Name) { // a check goes by the mode that it read first, whatever its diagnosis reads
		inv.seen.tagged, inv.seen.mode = aws.ToString(in.Name), out.Cluster.Tags[roll.TagMode]
	}
	return answered(out, err)
}

func (c *cluster) describe() *types.Cluster {
	out := &types.Cluster{
		Name: aws.String(c.name), Arn: aws.String(c.arn()), Status: types.ClusterStatus(c.status), Version: aws.String(kubernetesVersion), PlatformVersion: aws.String("eks.14"),
		CreatedAt: aws.Time(c.created), Endpoint: aws.String(c.endpoint()), RoleArn: aws.String(roleARN(c.name + "-cluster")),
		CertificateAuthority: &types.Certificate{Data: aws.String(c.authority())},
		AccessConfig:         &types.AccessConfigResponse{AuthenticationMode: types.AuthenticationModeApiAndConfigMap},
		ResourcesVpcConfig: &types.VpcConfigResponse{
			VpcId: aws.String(c.vpc()), SubnetIds: c.subnets(), ClusterSecurityGroupId: aws.String(c.securityGroup()),
			EndpointPublicAccess: true, EndpointPrivateAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
		},
		KubernetesNetworkConfig: &types.KubernetesNetworkConfigResponse{IpFamily: types.IpFamilyIpv4, ServiceIpv4Cidr: aws.String("172.20.0.0/16")},
		ZonalShiftConfig:        &types.ZonalShiftConfigResponse{Enabled: aws.Bool(true)},
		Health:                  &types.ClusterHealth{},
		Tags:                    map[string]string{},
	}
	if c.mode != "" {
		out.Tags[roll.TagMode] = c.mode
	}
	return out
}

// ListNodegroups lists the names of a cluster's managed node groups.
func (e eksAPI) ListNodegroups(in *eks.ListNodegroupsInput, out *eks.ListNodegroupsOutput) error {
	c, err := e.v.a.eksCluster(in.ClusterName)
	if err != nil {
		return err
	}
	var names []string
	for _, g := range c.groups {
		if g.owner == nodeGroup {
			names = append(names, g.name)
		}
	}
	out.Nodegroups, out.NextToken = cut(names, in.NextToken, in.MaxResults)
	return nil
}

// DescribeNodegroup returns a managed node group.
func (e eksAPI) DescribeNodegroup(in *eks.DescribeNodegroupInput, out *eks.DescribeNodegroupOutput) error {
	c, err := e.v.a.eksCluster(in.ClusterName)
	if err != nil {
		return err
	}
	if g := c.group(aws.ToString(in.NodegroupName)); g != nil && g.owner == nodeGroup {
		out.Nodegroup = g.describe()
		return nil
	}
	return noSuch("ResourceNotFoundException", "No node group found for name: %s.", aws.ToString(in.NodegroupName))
}

func (g *group) describe() *types.Nodegroup {
	c, t := g.c, g.template
	out := &types.Nodegroup{
		NodegroupName: aws.String(g.name), ClusterName: aws.String(c.name), Status: types.NodegroupStatusActive, Version: aws.String(kubernetesVersion),
		NodegroupArn: aws.String(fmt.Sprintf("arn:aws:eks:%s:%s:nodegroup/%s/%s/%s", region, accountID, c.name, g.name, uid(g.d.of("nodegroup")))),
		CreatedAt:    aws.Time(c.created.Add(10 * time.Minute)), CapacityType: g.nodeGroupCapacity(), NodeRole: aws.String(roleARN(g.role)), Subnets: c.subnets(),
		ScalingConfig:    &types.NodegroupScalingConfig{MinSize: aws.Int32(0), DesiredSize: aws.Int32(int32(g.desired)), MaxSize: aws.Int32(int32(2*g.desired + 1))},
		NodeRepairConfig: &types.NodeRepairConfig{Enabled: aws.Bool(g.repair)},
		Resources:        &types.NodegroupResources{AutoScalingGroups: []types.AutoScalingGroup{{Name: aws.String(g.asgName())}}},
		Health:           g.nodeGroupHealth(),
	}
	switch _, fails := g.launchFailure(); {
	case g.status != "":
		out.Status = types.NodegroupStatus(g.status)
	case fails:
		out.Status = types.NodegroupStatusDegraded
	}
	if g.custom {
		out.AmiType, out.ReleaseVersion = types.AMITypesCustom, aws.String(t.ami)
		out.LaunchTemplate = &types.LaunchTemplateSpecification{Id: aws.String(t.id), Version: aws.String(fmt.Sprint(t.version))}
		return out
	}
	out.InstanceTypes, out.AmiType = []string{g.kind.Type}, types.AMITypesAl2023X8664Standard
	if built(&t, g) == "arm64" {
		out.AmiType = types.AMITypesAl2023Arm64Standard
	}
	out.ReleaseVersion = aws.String(kubernetesVersion + ".8-" + published.FindStringSubmatch(t.amiName)[1])
	return out
}

const admin = "Admin" // the role that created the clusters, and has their only access entry

// ListAccessEntries lists the principals of a cluster's access entries.
func (e eksAPI) ListAccessEntries(in *eks.ListAccessEntriesInput, out *eks.ListAccessEntriesOutput) error {
	_, err := e.v.a.eksCluster(in.ClusterName)
	out.AccessEntries = []string{roleARN(admin)}
	return err
}

// accessEntry returns the cluster, or an error if it has no access entry for the principal.
func (a *account) accessEntry(cluster, principal *string) (*cluster, error) {
	c, err := a.eksCluster(cluster)
	if err == nil && aws.ToString(principal) != roleARN(admin) {
		err = noSuch("ResourceNotFoundException", "The specified principalArn could not be found. You should specify an existing principalArn: %s", aws.ToString(principal))
	}
	return c, err
}

// DescribeAccessEntry returns an access entry.
func (e eksAPI) DescribeAccessEntry(in *eks.DescribeAccessEntryInput, out *eks.DescribeAccessEntryOutput) error {
	c, err := e.v.a.accessEntry(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return err
	}
	out.AccessEntry = &types.AccessEntry{
		ClusterName: aws.String(c.name), PrincipalArn: in.PrincipalArn, Type: aws.String("STANDARD"), CreatedAt: aws.Time(c.created), ModifiedAt: aws.Time(c.created),
		Username: aws.String(strings.Replace(roleARN(admin), ":iam::", ":sts::", 1) + "/{{SessionName}}"),
	}
	return nil
}

// ListAssociatedAccessPolicies lists the access policies of an access entry.
func (e eksAPI) ListAssociatedAccessPolicies(in *eks.ListAssociatedAccessPoliciesInput, out *eks.ListAssociatedAccessPoliciesOutput) error {
	*out = eks.ListAssociatedAccessPoliciesOutput{ClusterName: in.ClusterName, PrincipalArn: in.PrincipalArn}
	c, err := e.v.a.accessEntry(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return err
	}
	out.AssociatedAccessPolicies = []types.AssociatedAccessPolicy{{
		PolicyArn: aws.String("arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"), AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster},
		AssociatedAt: aws.Time(c.created), ModifiedAt: aws.Time(c.created),
	}}
	return nil
}

type zonalShiftAPI struct{ v *env }

// GetManagedResource returns a cluster and its active zonal shifts.
func (s zonalShiftAPI) GetManagedResource(in *arczonalshift.GetManagedResourceInput, out *arczonalshift.GetManagedResourceOutput) error {
	*out = arczonalshift.GetManagedResourceOutput{Arn: in.ResourceIdentifier, AppliedWeights: map[string]float32{}}
	for _, c := range s.v.a.clusters {
		if !c.exists() || c.arn() != aws.ToString(in.ResourceIdentifier) {
			continue
		}
		out.Name = aws.String(c.name)
		if c.shifted != "" {
			from, to := c.shift()
			out.ZonalShifts = []arctypes.ZonalShiftInResource{{
				AppliedStatus: arctypes.AppliedStatusApplied, AwayFrom: aws.String(zoneID(c.shifted)), ResourceIdentifier: aws.String(c.arn()),
				StartTime: aws.Time(from), ExpiryTime: aws.Time(to), Comment: aws.String("trouble in the zone"), ZonalShiftId: aws.String(uid(c.d.of("shift").of(from.String()))),
			}}
		}
		return nil
	}
	return noSuch("ResourceNotFoundException", "%s is not a managed resource", aws.ToString(in.ResourceIdentifier))
}

// shift returns when the active shift began and when it ends, from the scenario.
func (c *cluster) shift() (from, to time.Time) {
	for _, f := range c.a.sc.Faults {
		if f.Kind != FaultShift || f.Zone != c.shifted || f.Cluster != "" && f.Cluster != c.name || c.a.start.Add(f.At).After(c.a.Now()) {
			continue
		}
		from, to = c.a.start.Add(f.At), c.a.start.Add(c.a.sc.Storm+c.a.sc.Calm)
		if f.For > 0 {
			to = from.Add(f.For)
		}
	}
	return from, to
}

// nodeGroupCapacity returns the capacity type of the group's machines, as EKS names it.
func (g *group) nodeGroupCapacity() types.CapacityTypes {
	if g.spot {
		return types.CapacityTypesSpot
	}
	return types.CapacityTypesOnDemand
}
