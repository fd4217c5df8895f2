// Package inquiry finds out why: it has the evidence about findings collected, has it
// diagnosed, and keeps what was read where it outlives the instances.
//
// An inquiry never fails as a whole. What could not be read is told as not checked, and
// only keeping the evidence can come to nothing.
package inquiry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/archive"
	"rollcall/shared/bundle"
	"rollcall/shared/collect"
	"rollcall/shared/diagnose"
	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

type ec2API interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
	DescribeInstanceAttribute(context.Context, *ec2.DescribeInstanceAttributeInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error)
	GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	DescribeLaunchTemplateVersions(context.Context, *ec2.DescribeLaunchTemplateVersionsInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error)
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	DescribeRouteTables(context.Context, *ec2.DescribeRouteTablesInput, ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error)
	DescribeNetworkAcls(context.Context, *ec2.DescribeNetworkAclsInput, ...func(*ec2.Options)) (*ec2.DescribeNetworkAclsOutput, error)
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
	DescribeNatGateways(context.Context, *ec2.DescribeNatGatewaysInput, ...func(*ec2.Options)) (*ec2.DescribeNatGatewaysOutput, error)
	DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error)
	DescribeVpcs(context.Context, *ec2.DescribeVpcsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error)
	DescribeVpcAttribute(context.Context, *ec2.DescribeVpcAttributeInput, ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error)
	DescribeDhcpOptions(context.Context, *ec2.DescribeDhcpOptionsInput, ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error)
}

type eksAPI interface {
	ListClusters(context.Context, *eks.ListClustersInput, ...func(*eks.Options)) (*eks.ListClustersOutput, error)
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
	DescribeNodegroup(context.Context, *eks.DescribeNodegroupInput, ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error)
	ListAccessEntries(context.Context, *eks.ListAccessEntriesInput, ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error)
	DescribeAccessEntry(context.Context, *eks.DescribeAccessEntryInput, ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error)
	ListAssociatedAccessPolicies(context.Context, *eks.ListAssociatedAccessPoliciesInput, ...func(*eks.Options)) (*eks.ListAssociatedAccessPoliciesOutput, error)
}

type autoScalingAPI interface {
	DescribeAutoScalingInstances(context.Context, *autoscaling.DescribeAutoScalingInstancesInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error)
	DescribeAutoScalingGroups(context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error)
	DescribeScalingActivities(context.Context, *autoscaling.DescribeScalingActivitiesInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error)
}

type iamAPI interface {
	GetInstanceProfile(context.Context, *iam.GetInstanceProfileInput, ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
	GetRole(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error)
	ListAttachedRolePolicies(context.Context, *iam.ListAttachedRolePoliciesInput, ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error)
	ListRolePolicies(context.Context, *iam.ListRolePoliciesInput, ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error)
}

// dialer makes a client for a cluster's Kubernetes API; *kube.Dialer is one.
type dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// store keeps evidence; *archive.S3 and *archive.Dir do.
type store interface {
	Put(context.Context, archive.Key, map[string][]byte) (archive.Link, error)
}

// Options are what an inquirer is made of.
type Options struct {
	EC2         ec2API
	EKS         eksAPI
	AutoScaling autoScalingAPI
	IAM         iamAPI
	Kube        dialer
	Region      string // of the clients
	// Principal tells whose credentials are used, for messages; it may be nil.
	Principal func(context.Context) string
	// Store keeps evidence; nil keeps none.
	Store store
	// Free: reading costs nothing, as from a bundle.
	Free bool
}

// Inquirer makes inquiries in one account and region. It is safe for concurrent use.
type Inquirer struct{ o Options }

// New makes an inquirer.
func New(o Options) *Inquirer { return &Inquirer{o} }

// Inquiry is what came of one inquiry.
type Inquiry struct {
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	Evidence  *evidence.Evidence
	recorder  *bundle.Recorder // nil if nothing is to be kept
	store     store
	fault     error // why the evidence cannot be kept
}

// Keeps reports whether evidence can be kept at all.
func (i *Inquirer) Keeps() bool { return i.o.Store != nil }

// Inquire reads the evidence of the input's findings and diagnoses them. record says
// that it may be kept afterwards: the answers themselves are remembered until then.
func (i *Inquirer) Inquire(ctx context.Context, in collect.Input, record bool) *Inquiry {
	out := &Inquiry{}
	o := collect.Options{EC2: i.o.EC2, EKS: i.o.EKS, AutoScaling: i.o.AutoScaling, IAM: i.o.IAM, Kube: i.o.Kube, Region: i.o.Region, Principal: i.o.Principal, Free: i.o.Free}
	if record && i.o.Store != nil {
		out.recorder, out.store = bundle.NewRecorder(in.Snapshot.At), i.o.Store
		o.EC2, o.EKS, o.AutoScaling = out.recorder.EC2(i.o.EC2), out.recorder.EKS(i.o.EKS), out.recorder.AutoScaling(i.o.AutoScaling)
		o.IAM, o.Kube = out.recorder.IAM(i.o.IAM), out.recorder.Kube(i.o.Kube)
	}
	out.Evidence = collect.New(o).Collect(ctx, in)
	out.Diagnoses = diagnose.Diagnose(out.Evidence)
	if out.recorder != nil {
		out.recorder.Remember(out.Evidence.Remembered())
		out.fault = out.recorder.Snapshot(in.Snapshot)
	}
	return out
}

// ErrNotRecorded says that an inquiry was not made to be kept.
var ErrNotRecorded = errors.New("the answers were not recorded")

// Keep keeps what the inquiry read, as a bundle without secrets, together with the
// findings: any value that JSON can hold. It may be called again for the same key, which
// changes nothing.
func (q *Inquiry) Keep(ctx context.Context, key archive.Key, findings any) (archive.Link, error) {
	if q.recorder == nil {
		return archive.Link{}, ErrNotRecorded
	}
	if q.fault != nil {
		return archive.Link{}, q.fault
	}
	files, err := q.recorder.Files()
	if err != nil {
		return archive.Link{}, fmt.Errorf("put the evidence about %s together: %w", key.Instance, err)
	}
	if files[archive.Findings], err = json.MarshalIndent(findings, "", "  "); err != nil {
		return archive.Link{}, fmt.Errorf("encode the findings about %s: %w", key.Instance, err)
	}
	return q.store.Put(ctx, key, files)
}
