package testbed

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// imageID is an Amazon Linux image for x86_64 that moto knows from the start; those that are registered later lose
// their architecture.
const imageID = "ami-076f415166b04f5fe"

// network is what instances are launched into.
type network struct {
	vpcID            string
	subnets          map[string]string // subnet id by zone
	launchTemplateID string
}

// VPCID returns the id of the VPC of the cluster; it changes with every Reset.
func (b *Bed) VPCID() string { return b.vpcID }

// SubnetID returns the id of the cluster's subnet in a zone; it changes with every Reset.
func (b *Bed) SubnetID(zone string) string { return b.subnets[zone] }

// subnetList returns the ids of the subnets as an Auto Scaling group wants them.
func (b *Bed) subnetList() string {
	ids := make([]string, 0, len(b.subnets))
	for _, id := range b.subnets {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// Reset empties the emulator (resources, call log, faults, page cap), deletes all nodes, leases, NodeClaims, pods and
// disruption budgets, puts aws-auth back, and makes an EKS cluster [ClusterName] anew whose endpoint is the bed's API server. What [Bed.Apply]
// applied stays.
func (b *Bed) Reset(ctx context.Context) error {
	b.beating.clear()
	if err := b.control(ctx, http.MethodPost, "reset", nil, nil); err != nil {
		return fmt.Errorf("reset the testbed: %w", err)
	}
	for _, step := range []func(context.Context) error{b.forgetNodes, b.forgetNodeClaims, b.ResetAWSAuth, b.seedAWS, b.ForgetCalls} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("reset the testbed: %w", err)
		}
	}
	return nil
}

// forgetNodes deletes the nodes, their leases, and the pods and disruption budgets of the default namespace, and waits
// until the nodes are gone.
func (b *Bed) forgetNodes(ctx context.Context) error {
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	core := b.kube.CoreV1()
	if err := core.Pods(metav1.NamespaceDefault).DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all pods: %w", err)
	}
	budgets := b.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	if err := budgets.DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all disruption budgets: %w", err)
	}
	if err := b.freeNodes(ctx); err != nil {
		return err
	}
	if err := core.Nodes().DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all nodes: %w", err)
	}
	leases := b.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all node leases: %w", err)
	}
	return poll(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		nodes, err := core.Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		if len(nodes.Items) > 0 {
			return fmt.Errorf("node %s is still there", nodes.Items[0].Name)
		}
		return nil
	})
}

// freeNodes takes the finalizers off the nodes.
func (b *Bed) freeNodes(ctx context.Context) error {
	nodes, err := b.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if len(n.Finalizers) == 0 {
			continue
		}
		if err := b.FinishNode(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// seedAWS makes what a cluster needs: a VPC with a subnet in each zone, a launch template, and the cluster itself.
func (b *Bed) seedAWS(ctx context.Context) error {
	cfg := b.AWSConfigFor(Seeder)
	b.ec2, b.autoscaling, b.eks = ec2.NewFromConfig(cfg), autoscaling.NewFromConfig(cfg), eks.NewFromConfig(cfg)
	b.sns, b.sqs = sns.NewFromConfig(cfg), sqs.NewFromConfig(cfg)

	vpc, err := b.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		return fmt.Errorf("create the VPC: %w", err)
	}
	n := network{vpcID: aws.ToString(vpc.Vpc.VpcId), subnets: map[string]string{}}
	for i, zone := range []string{Region + "a", Region + "b", Region + "c"} {
		subnet, err := b.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: vpc.Vpc.VpcId, AvailabilityZone: aws.String(zone), CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/18", i*64)),
		})
		if err != nil {
			return fmt.Errorf("create the subnet in %s: %w", zone, err)
		}
		n.subnets[zone] = aws.ToString(subnet.Subnet.SubnetId)
	}
	template, err := b.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(ClusterName),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: aws.String(imageID), InstanceType: "m5.large"},
	})
	if err != nil {
		return fmt.Errorf("create the launch template: %w", err)
	}
	n.launchTemplateID = aws.ToString(template.LaunchTemplate.LaunchTemplateId)
	b.network = n
	return b.CreateCluster(ctx, ClusterName)
}

// clusterAge is how long ago the bed's clusters were created: before any instance that a test launches into the past.
const clusterAge = 90 * 24 * time.Hour

// CreateCluster creates an ACTIVE EKS cluster whose endpoint is the bed's API server. Tokens for any cluster but
// [ClusterName] are refused there.
func (b *Bed) CreateCluster(ctx context.Context, name string) error {
	_, err := b.eks.CreateCluster(ctx, &eks.CreateClusterInput{
		Name:               aws.String(name),
		Version:            aws.String("1.36"),
		RoleArn:            aws.String("arn:aws:iam::" + AccountID + ":role/" + name + "-cluster"),
		ResourcesVpcConfig: &ekstypes.VpcConfigRequest{SubnetIds: strings.Split(b.subnetList(), ",")},
	})
	if err != nil {
		return fmt.Errorf("create EKS cluster %s: %w", name, err)
	}
	return b.SetCluster(ctx, name, ClusterChange{
		Endpoint:           b.apiServer,
		CA:                 base64.StdEncoding.EncodeToString(b.ca.pem),
		CreatedAt:          time.Now().Add(-clusterAge).UTC().Format(time.RFC3339),
		AuthenticationMode: "API_AND_CONFIG_MAP",
	})
}
