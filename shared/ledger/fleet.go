package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

const (
	// sweptEverySweep is the size up to which every sweep checks a cluster: two pages of
	// instances and four of nodes.
	sweptEverySweep = 2000
	// sweptRarest is the maximum number of sweeps between two checks of a cluster: an hour
	// at five minutes each. Deadlines do not depend on it; events schedule those checks.
	sweptRarest = 12
)

// SweepFactor returns n where every n-th sweep checks a cluster of that size: 1 up to 2,000
// nodes, one more for every further 2,000, at most 12.
func SweepFactor(nodes int) int {
	return min(max(1, (nodes+sweptEverySweep-1)/sweptEverySweep), sweptRarest)
}

const (
	sizePrefix = "size#"
	// policyPartition holds the policy parameters that were read.
	policyPartition = "policy"
)

func fleetPartition(region string) string { return "fleet#" + region }

// Sizes returns the number of nodes of the region's clusters, by name. The sweep checks large ones
// less often.
func (b *book) Sizes(ctx context.Context, region string) (map[string]int, error) {
	sizes := map[string]int{}
	records, err := b.store.read(ctx, fleetPartition(region), sizePrefix)
	for _, r := range records {
		var nodes int
		if err := json.Unmarshal([]byte(r.value), &nodes); err != nil {
			return nil, r.malformed(err)
		}
		sizes[strings.TrimPrefix(r.key, sizePrefix)] = nodes
	}
	if err != nil {
		return nil, fmt.Errorf("read the sizes of clusters: %w", err)
	}
	return sizes, nil
}

// PutSize stores a cluster's number of nodes.
func (b *book) PutSize(ctx context.Context, region, cluster string, nodes int) error {
	if err := b.put(ctx, fleetPartition(region), sizePrefix+cluster, nodes); err != nil {
		return fmt.Errorf("record the size of %s: %w", cluster, err)
	}
	return nil
}

// PolicySeen reports whether a parameter has ever been read.
func (b *book) PolicySeen(ctx context.Context, parameter string) (bool, error) {
	records, err := b.store.read(ctx, policyPartition, parameter)
	if err != nil {
		return false, fmt.Errorf("find out whether there was a policy before: %w", err)
	}
	return slices.ContainsFunc(records, func(r record) bool { return r.key == parameter }), nil
}

// SeePolicy records that a parameter was read.
func (b *book) SeePolicy(ctx context.Context, parameter string) error {
	if err := b.put(ctx, policyPartition, parameter, true); err != nil {
		return fmt.Errorf("record that there is a policy: %w", err)
	}
	return nil
}

func (b *book) put(ctx context.Context, partition, key string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.retry(ctx, func() error {
		_, err := b.store.write(ctx, partition, []write{{key: key, value: data}}, nil)
		return err
	})
}

// Clusters returns the clusters of an account and region that checks have seen, by name.
// The table has no index of clusters, but each check writes the size of its cluster.
func (d *Dynamo) Clusters(ctx context.Context, account, region string) ([]roll.ClusterID, error) {
	sizes, err := d.Sizes(ctx, region)
	of := func(name string) roll.ClusterID { return roll.ClusterID{Account: account, Region: region, Name: name} }
	return roll.Map(slices.Sorted(maps.Keys(sizes)), of), err
}
