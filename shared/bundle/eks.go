package bundle

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// EKS answers as the SDK's EKS client does.
type EKS struct {
	c *contents
}

// EKS is the bundle's answers of EKS.
func (b *Bundle) EKS() *EKS { return &EKS{b.c} }

// ListClusters names the one cluster of the bundle.
func (e *EKS) ListClusters(context.Context, *eks.ListClustersInput, ...func(*eks.Options)) (*eks.ListClustersOutput, error) {
	out := &eks.ListClustersOutput{}
	for _, c := range e.c.cluster.rows {
		out.Clusters = append(out.Clusters, aws.ToString(c.Name))
	}
	return out, nil
}

// DescribeCluster answers from cluster.json.
func (e *EKS) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	if at, ok := e.c.cluster.at[aws.ToString(in.Name)]; ok {
		return &eks.DescribeClusterOutput{Cluster: &e.c.cluster.rows[at]}, nil
	}
	return nil, notFound("No cluster found for name: %s.", aws.ToString(in.Name))
}

func notFound(format string, args ...any) error {
	return &types.ResourceNotFoundException{Message: aws.String(fmt.Sprintf(format, args...))}
}

// ListNodegroups answers from nodegroups.json, which has all of the cluster.
func (e *EKS) ListNodegroups(context.Context, *eks.ListNodegroupsInput, ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error) {
	if err := e.c.nodeGroups.missing(); err != nil {
		return nil, err
	}
	if err := e.c.nodeGroups.listing(); err != nil {
		return nil, err
	}
	out := &eks.ListNodegroupsOutput{Nodegroups: []string{}}
	for i := range e.c.nodeGroups.rows {
		out.Nodegroups = append(out.Nodegroups, aws.ToString(e.c.nodeGroups.rows[i].NodegroupName))
	}
	return out, nil
}

// DescribeNodegroup answers from nodegroups.json, which has all of the cluster.
func (e *EKS) DescribeNodegroup(_ context.Context, in *eks.DescribeNodegroupInput, _ ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	if err := e.c.nodeGroups.missing(); err != nil {
		return nil, err
	}
	if at, ok := e.c.nodeGroups.at[aws.ToString(in.NodegroupName)]; ok {
		return &eks.DescribeNodegroupOutput{Nodegroup: &e.c.nodeGroups.rows[at]}, nil
	}
	if err := e.c.nodeGroups.listing(); err != nil {
		return nil, err
	}
	return nil, notFound("No node group found for name: %s.", aws.ToString(in.NodegroupName))
}

// ListAccessEntries answers from access-entries.json, which has all of the cluster.
func (e *EKS) ListAccessEntries(context.Context, *eks.ListAccessEntriesInput, ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error) {
	if err := e.c.entries.missing(); err != nil {
		return nil, err
	}
	out := &eks.ListAccessEntriesOutput{AccessEntries: []string{}}
	for i := range e.c.entries.rows {
		out.AccessEntries = append(out.AccessEntries, aws.ToString(e.c.entries.rows[i].PrincipalArn))
	}
	return out, nil
}

// DescribeAccessEntry answers from access-entries.json.
func (e *EKS) DescribeAccessEntry(_ context.Context, in *eks.DescribeAccessEntryInput, _ ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error) {
	if err := e.c.entries.missing(); err != nil {
		return nil, err
	}
	principal := aws.ToString(in.PrincipalArn)
	at, ok := e.c.entries.at[principal]
	if !ok {
		return nil, notFound("The specified principalArn could not be found: %s", principal)
	}
	if e.c.entries.rows[at].listed {
		return nil, e.c.entries.lacks("the access entry of " + principal + " beyond its ARN")
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: &e.c.entries.rows[at].AccessEntry}, nil
}

// ListAssociatedAccessPolicies answers from access-policies.json, or from
// associatedAccessPolicies in an access entry.
func (e *EKS) ListAssociatedAccessPolicies(_ context.Context, in *eks.ListAssociatedAccessPoliciesInput, _ ...func(*eks.Options)) (*eks.ListAssociatedAccessPoliciesOutput, error) {
	p, err := e.c.policies.find(aws.ToString(in.PrincipalArn))
	if err != nil {
		return nil, err
	}
	return &eks.ListAssociatedAccessPoliciesOutput{AssociatedAccessPolicies: p.AssociatedAccessPolicies, PrincipalArn: in.PrincipalArn, ClusterName: in.ClusterName}, nil
}
