package observe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// Clusters lists the names of the region's EKS clusters, sorted.
func (o *Observer) Clusters(ctx context.Context) ([]string, error) {
	var names []string
	err := project.EachPage(ctx, direct(o, o.eks.ListClusters), &eks.ListClustersInput{}, func(out *eks.ListClustersOutput) { names = append(names, out.Clusters...) })
	if err != nil {
		return nil, errors.New(awserr.Describe(err, "eks:ListClusters", o.Principal(ctx)))
	}
	slices.Sort(names)
	return names, nil
}

const callDescribeCluster = "eks:DescribeCluster"

// maxSkew is the maximum difference between the clocks of this machine and AWS.
const maxSkew = time.Minute

// Cluster describes one EKS cluster. If that fails, the gap holds the reason.
func (o *Observer) Cluster(ctx context.Context, name string) (roll.Cluster, *roll.Gap) {
	cluster, _, gap := o.describeCluster(ctx, name)
	return cluster, gap
}

// describeCluster also returns the cluster's ARN, by which other services know it. For a cluster
// that could not be described, or does not exist, the id holds what is known without it.
func (o *Observer) describeCluster(ctx context.Context, name string) (cluster roll.Cluster, arn string, gap *roll.Gap) {
	unknown := roll.Cluster{ID: roll.ClusterID{Name: name}, ModeTag: roll.ModeTagUnread}
	if o.Account != "" {
		unknown.ID.Account, unknown.ID.Region = o.Account, o.AWS.Region
	}
	out, err := direct(o, o.eks.DescribeCluster)(ctx, &eks.DescribeClusterInput{Name: aws.String(name)})
	if err != nil {
		gap := o.gap(ctx, unknown, roll.ScopeCluster, callDescribeCluster, err)
		if awserr.IsNotFound(err) {
			// A deleted cluster has no tags, and does not report its region. Its instances show the account.
			unknown = roll.Cluster{ID: roll.ClusterID{Region: o.AWS.Region, Name: name}}
			gap.Kind = roll.GapClusterGone
			gap.Detail = fmt.Sprintf("there is no EKS cluster %q in this account and region: check the name, AWS_REGION and the profile (names are case-sensitive; aws eks list-clusters shows them)", name)
		}
		return unknown, "", &gap
	}
	if skew, ok := awsmiddleware.GetAttemptSkew(out.ResultMetadata); ok && skew.Abs() > maxSkew {
		// Every tolerance is measured with this machine's clock.
		return unknown, "", &roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapFailed, Call: callDescribeCluster, Detail: fmt.Sprintf("this machine's clock differs from that of AWS by %s: set it right, since every age is counted with it", skew.Abs().Round(time.Second))}
	}
	cluster, err = readCluster(out.Cluster)
	if err != nil {
		return unknown, "", &roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapFailed, Call: callDescribeCluster, Detail: fmt.Sprintf("eks:DescribeCluster of %s: %v", name, err)}
	}
	arn = aws.ToString(out.Cluster.Arn)
	if cluster.Status != roll.ClusterActive {
		return cluster, arn, &roll.Gap{Scope: roll.ScopeCluster, Kind: roll.GapClusterNotActive, Call: callDescribeCluster, Detail: fmt.Sprintf("cluster %s is %s, not %s: nothing is concluded about its nodes", name, cluster.Status, roll.ClusterActive)}
	}
	return cluster, arn, nil
}

func readCluster(c *ekstypes.Cluster) (roll.Cluster, error) {
	if c == nil {
		return roll.Cluster{}, errors.New("the answer holds no cluster")
	}
	id, ok := roll.ParseClusterARN(aws.ToString(c.Arn))
	if !ok {
		return roll.Cluster{}, fmt.Errorf("the ARN %q has not the form arn:<partition>:eks:<region>:<account>:cluster/<name>", aws.ToString(c.Arn))
	}
	out := roll.Cluster{
		ID: id, Created: aws.ToTime(c.CreatedAt), Status: string(c.Status), Version: aws.ToString(c.Version),
		Endpoint: aws.ToString(c.Endpoint), LocalID: aws.ToString(c.Id), ModeTag: c.Tags[roll.TagMode],
		AutoMode:   c.ComputeConfig != nil && aws.ToBool(c.ComputeConfig.Enabled),
		ZonalShift: c.ZonalShiftConfig != nil && aws.ToBool(c.ZonalShiftConfig.Enabled),
	}
	if c.CertificateAuthority != nil {
		ca, err := base64.StdEncoding.DecodeString(aws.ToString(c.CertificateAuthority.Data))
		if err != nil {
			return roll.Cluster{}, fmt.Errorf("the certificate authority data is not base64: %w", err)
		}
		out.CA = ca
	}
	return out, nil
}
