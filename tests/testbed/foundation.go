package testbed

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

const (
	// imageID is the AMI of nodes: Amazon Linux 2023 for EKS on x86_64. The emulator has it from the start.
	imageID = "ami-0a2023e5d00000001"
	// version is the Kubernetes version of clusters and of the AMI of nodes.
	version = "1.36"
	// hopLimit lets pods reach the instance metadata service, as EKS and Karpenter set it.
	hopLimit = 2
)

// foundation holds the resources that a cluster and its instances need.
type foundation struct {
	VPCID         string            `json:"vpcId"`
	Subnets       map[string]string `json:"subnets"` // subnet IDs by zone; the subnets are private
	RouteTable    string            `json:"routeTable"`
	SecurityGroup string            `json:"securityGroup"` // the cluster's, which nodes have too
	Profile       string            `json:"profile"`       // the ARN of the instance profile of nodes
}

// VPCID returns the id of the VPC of the cluster; it changes with every Reset.
func (b *Bed) VPCID() string { return b.ground.VPCID }

// SubnetID returns the id of the cluster's subnet in a zone; it changes with every Reset.
func (b *Bed) SubnetID(zone string) string { return b.ground.Subnets[zone] }

// RouteTableID returns the id of the route table of the cluster's subnets; it changes with every Reset.
func (b *Bed) RouteTableID() string { return b.ground.RouteTable }

// SecurityGroupID returns the id of the cluster's security group, which its instances have too; it changes with every
// Reset.
func (b *Bed) SecurityGroupID() string { return b.ground.SecurityGroup }

// NodeUserData returns the user data with which an instance becomes a node of a cluster of the bed.
func (b *Bed) NodeUserData(cluster string) string { return b.nodeConfig(cluster, "") }

// karpenterKubelet is the part of a NodeConfig that makes Karpenter's nodes register with its
// taint.
const karpenterKubelet = `  kubelet:
    config:
      registerWithTaints:
      - effect: NoExecute
        key: karpenter.sh/unregistered
`

// nodeConfig returns user data for nodeadm, with more settings below its spec.
func (b *Bed) nodeConfig(cluster, more string) string {
	return fmt.Sprintf(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: %s
%s
--//--
`, cluster, b.apiServer, base64.StdEncoding.EncodeToString(b.ca.pem), serviceCIDR, more)
}

// serviceCIDR is the range of Services that EKS returns for its clusters.
const serviceCIDR = "172.20.0.0/16"

// lay creates, in one call, all resources of an ordinary cluster, so that only a fault made by the test keeps an
// instance from becoming a node: see "post_foundation" in emulator.py.
func (b *Bed) lay(ctx context.Context) error {
	role := NodeRoleARN[strings.LastIndexByte(NodeRoleARN, '/')+1:]
	var f foundation
	if err := b.control(ctx, http.MethodPost, "foundation", map[string]string{"cluster": ClusterName, "role": role}, &f); err != nil {
		return fmt.Errorf("lay what the cluster stands on: %w", err)
	}
	b.ground = f
	return nil
}

// makeTemplate creates a launch template for the nodes of a cluster, like that of an Auto Scaling group.
func (b *Bed) makeTemplate(ctx context.Context, name, cluster string) (string, error) {
	data := &ec2types.RequestLaunchTemplateData{
		ImageId: aws.String(imageID), InstanceType: ec2types.InstanceTypeM5Large, SecurityGroupIds: []string{b.ground.SecurityGroup},
		IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: aws.String(b.ground.Profile)},
		MetadataOptions:    &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(hopLimit), HttpTokens: ec2types.LaunchTemplateHttpTokensStateRequired},
	}
	if cluster != "" {
		data.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(b.NodeUserData(cluster))))
	}
	out, err := b.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: data})
	if err != nil {
		return "", fmt.Errorf("create the launch template %s: %w", name, err)
	}
	return aws.ToString(out.LaunchTemplate.LaunchTemplateId), nil
}

// clusterAge is the age of the bed's clusters: they are older than any instance that a test launches in the past.
const clusterAge = 90 * 24 * time.Hour

// CreateCluster creates an ACTIVE EKS cluster whose endpoint is the bed's API server. That server refuses tokens
// for any cluster but [ClusterName].
func (b *Bed) CreateCluster(ctx context.Context, name string) error {
	_, err := b.eks.CreateCluster(ctx, &eks.CreateClusterInput{
		Name:                    aws.String(name),
		Version:                 aws.String(version),
		RoleArn:                 aws.String("arn:aws:iam::" + AccountID + ":role/" + name + "-cluster"),
		ResourcesVpcConfig:      &ekstypes.VpcConfigRequest{SubnetIds: strings.Split(b.subnetList(), ",")},
		KubernetesNetworkConfig: &ekstypes.KubernetesNetworkConfigRequest{IpFamily: ekstypes.IpFamilyIpv4, ServiceIpv4Cidr: aws.String(serviceCIDR)},
	})
	if err != nil {
		return fmt.Errorf("create EKS cluster %s: %w", name, err)
	}
	yes := true
	return b.SetCluster(ctx, name, ClusterChange{
		Endpoint:           b.apiServer,
		CA:                 base64.StdEncoding.EncodeToString(b.ca.pem),
		CreatedAt:          time.Now().Add(-clusterAge).UTC().Format(time.RFC3339),
		AuthenticationMode: "API_AND_CONFIG_MAP",
		Network: &ClusterNetwork{
			VPCID: b.ground.VPCID, SubnetIDs: strings.Split(b.subnetList(), ","), ClusterSecurityGroupID: b.ground.SecurityGroup, SecurityGroupIDs: []string{},
			PublicAccess: &yes, PrivateAccess: &yes, PublicAccessCIDRs: []string{"0.0.0.0/0"},
		},
	})
}
