// Package sweep implements the function that requests a check of every cluster.
package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/scope"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

type eksAPI interface {
	scope.Clusters
	ListClusters(context.Context, *eks.ListClustersInput, ...func(*eks.Options)) (*eks.ListClustersOutput, error)
}

type tagsAPI interface {
	DescribeTags(context.Context, *ec2.DescribeTagsInput, ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error)
}

type sizes interface {
	Sizes(ctx context.Context, region string) (map[string]int, error)
}

type checkQueue interface {
	Send(context.Context, trigger.Check) error
}

// Handler requests a check of every cluster.
type Handler struct {
	ambient.Ambient
	EKS eksAPI
	EC2 tagsAPI
	// Fleet has the sizes of the clusters in Region.
	Fleet  sizes
	Region string
	Checks checkQueue
	// Interval is the time between sweeps.
	Interval time.Duration
	// VPCs selects clusters; empty selects all.
	VPCs []string
}

// Handle sends one message per cluster. Sweeps are counted by the planned time in the input,
// because the clock at the start of a sweep may be on either side of the turn of an hour or
// interval. Without it, as when a person invokes the function, the clock counts. After an error
// Lambda retries; the queue drops repeated messages by their content.
func (h *Handler) Handle(ctx context.Context, input json.RawMessage) error {
	defer h.Spent()
	now := h.Clock().UTC()
	planned := now
	var schedule struct {
		Planned time.Time `json:"planned"`
	}
	if json.Unmarshal(input, &schedule) == nil && !schedule.Planned.IsZero() {
		planned = schedule.Planned.UTC()
	}
	// Use the current minute, not the next: the time of the check must not be ahead of its
	// observations.
	due := now.Truncate(time.Minute)
	clusters, err := h.clusters(ctx)
	if err != nil {
		return err
	}
	clusters, faults := h.inVPCs(ctx, clusters)
	listed := len(clusters)
	if planned.Sub(planned.Truncate(time.Hour)) < h.Interval { // the first sweep of its hour
		orphans, err := h.tagged(ctx)
		if err != nil {
			// The clusters that EKS lists are checked anyway.
			h.Log.Error("tags not read", "error", err.Error())
		}
		for _, name := range orphans {
			if !slices.Contains(clusters, name) {
				clusters = append(clusters, name)
			}
		}
	}
	sizes, err := h.Fleet.Sizes(ctx, h.Region)
	if err != nil {
		// Without sizes every cluster is checked.
		h.Log.Error("sizes not read", "error", err.Error())
	}
	sent := 0
	for i, name := range clusters {
		if i < listed && !h.turn(name, sizes[name], planned) {
			continue // those that EKS does not list are swept once an hour, whatever their size
		}
		sent++
		if err := h.Checks.Send(ctx, trigger.Check{Cluster: name, Due: due}); err != nil {
			faults = append(faults, err)
		}
	}
	h.Log.Info("swept", "clusters", len(clusters), "checks", sent, "failed", len(faults))
	h.Count(metric.Sample{Of: metric.Sweeps, Value: 1}, metric.Sample{Of: metric.Clusters, Value: float64(len(clusters))})
	if sent == 0 && len(faults) == 0 {
		// A sweep without checks counts as a completed check: an account without clusters, or
		// with only large ones, must not raise an alarm.
		h.Count(metric.Sample{Of: metric.ChecksCompleted, Value: 1})
	}
	return errors.Join(faults...)
}

// clusters returns the EKS clusters of the region.
func (h *Handler) clusters(ctx context.Context) (names []string, _ error) {
	pages := eks.NewListClustersPaginator(h.EKS, &eks.ListClustersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, errors.New(awserr.Describe(err, "eks:ListClusters", ""))
		}
		names = append(names, page.Clusters...)
	}
	return names, nil
}

// inVPCs returns those of the clusters that are in the VPCs, and why it could not tell of others: a
// policy may deny one cluster to the function. Without VPCs it returns all.
func (h *Handler) inVPCs(ctx context.Context, names []string) (ours []string, faults []error) {
	if len(h.VPCs) == 0 {
		return names, nil
	}
	for _, name := range names {
		vpc, _, err := scope.VPC(ctx, h.EKS, name) // it is not known if it was deleted since it was listed
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("the VPC of %s: %w", name, err))
		case slices.Contains(h.VPCs, vpc):
			ours = append(ours, name)
		}
	}
	return ours, faults
}

// turn reports whether this sweep checks the cluster: large clusters less often, and not all
// clusters of one size in the same sweep.
func (h *Handler) turn(cluster string, nodes int, planned time.Time) bool {
	factor := uint64(ledger.SweepFactor(nodes))
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(cluster)) // never fails
	return (uint64(planned.Unix()/int64(h.Interval.Seconds()))+sum.Sum64())%factor == 0
}

// tagged returns the names of clusters in instances' tags. A deployment for some VPCs
// cannot determine the VPC of such a cluster, and skips them.
func (h *Handler) tagged(ctx context.Context) ([]string, error) {
	if len(h.VPCs) > 0 {
		return nil, nil
	}
	found := map[string]bool{}
	pages := ec2.NewDescribeTagsPaginator(h.EC2, &ec2.DescribeTagsInput{Filters: []types.Filter{
		{Name: aws.String("resource-type"), Values: []string{"instance"}},
		{Name: aws.String("key"), Values: []string{roll.ClusterTagPrefix + "*"}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, errors.New(awserr.Describe(err, "ec2:DescribeTags", ""))
		}
		for _, t := range page.Tags {
			if name, ok := strings.CutPrefix(aws.ToString(t.Key), roll.ClusterTagPrefix); ok && trigger.ValidCluster(name) {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
