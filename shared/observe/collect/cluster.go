package collect

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// readCluster describes the EKS cluster again: the snapshot keeps little of it.
func (l *look) readCluster() {
	name := l.in.Snapshot.Cluster.ID.Name
	l.ev.Cluster.Config = one(l.action("eks:DescribeCluster"), l.eks.DescribeCluster, &eks.DescribeClusterInput{Name: aws.String(name)}, func(out *eks.DescribeClusterOutput) evidence.Fact[evidence.ClusterConfig] {
		if out.Cluster == nil {
			return hollow[evidence.ClusterConfig](l, "eks:DescribeCluster of "+name+": the answer holds no cluster")
		}
		return evidence.Read(clusterConfig(out.Cluster))
	})
}

func clusterConfig(c *ekstypes.Cluster) evidence.ClusterConfig {
	out := evidence.ClusterConfig{
		Name: aws.ToString(c.Name), Status: string(c.Status), Version: aws.ToString(c.Version), Endpoint: aws.ToString(c.Endpoint),
	}
	if c.CertificateAuthority != nil {
		out.CAHash = userdata.CertificateOf(aws.ToString(c.CertificateAuthority.Data)).Value // in the same form as that of user data, for comparison
	}
	if c.AccessConfig != nil {
		out.AuthenticationMode = string(c.AccessConfig.AuthenticationMode)
	}
	if v := c.ResourcesVpcConfig; v != nil {
		out.VPC, out.Subnets = aws.ToString(v.VpcId), v.SubnetIds
		out.ClusterSecurityGroup, out.SecurityGroups = aws.ToString(v.ClusterSecurityGroupId), v.SecurityGroupIds
		out.PublicAccess, out.PrivateAccess, out.PublicCIDRs = v.EndpointPublicAccess, v.EndpointPrivateAccess, v.PublicAccessCidrs
	}
	if n := c.KubernetesNetworkConfig; n != nil {
		out.IPFamily = string(n.IpFamily)
	}
	if c.Health != nil {
		for _, i := range c.Health.Issues {
			out.Issues = append(out.Issues, roll.HealthIssue{Code: string(i.Code), Message: aws.ToString(i.Message)})
		}
	}
	return out
}
