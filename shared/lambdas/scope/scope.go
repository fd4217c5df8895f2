// Package scope reads which VPC a cluster is in: a deployment may be for the clusters of some VPCs.
package scope

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/aws/awserr"
)

// Clusters describes clusters; *eks.Client implements it.
type Clusters interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// VPC returns the VPC of a cluster. known is false if EKS does not know the cluster.
func VPC(ctx context.Context, api Clusters, cluster string) (vpc string, known bool, err error) {
	out, err := api.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(cluster)})
	switch {
	case awserr.IsNotFound(err):
		return "", false, nil
	case err != nil:
		return "", false, awserr.Described(err, "eks:DescribeCluster")
	case out.Cluster == nil || out.Cluster.ResourcesVpcConfig == nil:
		return "", true, nil
	}
	return aws.ToString(out.Cluster.ResourcesVpcConfig.VpcId), true, nil
}
