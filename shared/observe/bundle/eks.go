package bundle

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// answerEKS answers about the one cluster of the bundle. Its files hold all node groups and access
// entries.
func (c *contents) answerEKS(in any) (any, error) {
	switch in := in.(type) {
	case *eks.ListClustersInput:
		return &eks.ListClustersOutput{Clusters: c.cluster.keys()}, nil
	case *eks.DescribeClusterInput:
		if at, ok := c.cluster.at[aws.ToString(in.Name)]; ok {
			return &eks.DescribeClusterOutput{Cluster: &c.cluster.rows[at]}, nil
		}
		return nil, notFound("No cluster found for name: %s.", aws.ToString(in.Name))
	case *eks.ListNodegroupsInput:
		return &eks.ListNodegroupsOutput{Nodegroups: c.nodeGroups.keys()}, c.nodeGroups.listing()
	case *eks.DescribeNodegroupInput:
		if err := c.nodeGroups.cutDown(aws.ToString(in.NodegroupName)); err != nil {
			return nil, err
		}
		if at, ok := c.nodeGroups.at[aws.ToString(in.NodegroupName)]; ok {
			return &eks.DescribeNodegroupOutput{Nodegroup: &c.nodeGroups.rows[at]}, nil
		}
		if err := c.nodeGroups.listing(); err != nil {
			return nil, err
		}
		return nil, notFound("No node group found for name: %s.", aws.ToString(in.NodegroupName))
	case *eks.ListAccessEntriesInput:
		return &eks.ListAccessEntriesOutput{AccessEntries: c.entries.keys()}, c.entries.missing()
	case *eks.DescribeAccessEntryInput:
		return c.accessEntry(aws.ToString(in.PrincipalArn))
	case *eks.ListAssociatedAccessPoliciesInput:
		p, err := c.policies.find(aws.ToString(in.PrincipalArn))
		return &eks.ListAssociatedAccessPoliciesOutput{AssociatedAccessPolicies: p.AssociatedAccessPolicies, PrincipalArn: in.PrincipalArn, ClusterName: in.ClusterName}, err
	}
	return c.answerAutoScaling(in)
}

func notFound(format string, args ...any) error {
	return &types.ResourceNotFoundException{Message: aws.String(fmt.Sprintf(format, args...))}
}

func (c *contents) accessEntry(principal string) (*eks.DescribeAccessEntryOutput, error) {
	if err := c.entries.missing(); err != nil {
		return nil, err
	}
	if err := c.entries.cutDown(principal); err != nil {
		return nil, err
	}
	at, ok := c.entries.at[principal]
	if !ok {
		return nil, notFound("The specified principalArn could not be found: %s", principal)
	}
	if c.entries.rows[at].listed {
		return nil, c.entries.lacks("the access entry of " + principal + " beyond its ARN")
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: &c.entries.rows[at].AccessEntry}, nil
}
