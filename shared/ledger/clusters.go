package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Knows reports whether the state mentions an instance.
func (s State) Knows(id roll.InstanceID) bool {
	_, notReady := s.NotReady[id]
	_, rests := s.Rests[id]
	_, missing := s.Missing[id]
	_, flips := s.Flips[id]
	_, pressed := s.Pressures[id]
	announced, _ := s.Announced(id)
	if notReady || rests || missing || flips || pressed || announced != "" {
		return true
	}
	for k := range s.Findings {
		if k.Instance == id {
			return true
		}
	}
	for _, n := range s.Notices {
		if _, ok := n.Members[id]; ok {
			return true
		}
	}
	for _, r := range s.Refusals {
		if r.Instance == id {
			return true
		}
	}
	return slices.ContainsFunc(s.Actions, func(a Action) bool { return a.Instance == id })
}

// Clusters returns the clusters of an account and region that checks have seen, by name.
// The table has no index of clusters, but each check writes the size of its cluster.
func (d *Dynamo) Clusters(ctx context.Context, account, region string) ([]roll.ClusterID, error) {
	sizes, err := d.Sizes(ctx, region)
	if err != nil {
		return nil, err
	}
	var out []roll.ClusterID
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, roll.ClusterID{Account: account, Region: region, Name: name})
	}
	return out, nil
}

// Clusters returns the clusters of an account and region in the file, by name.
func (f *File) Clusters(_ context.Context, account, region string) ([]roll.ClusterID, error) {
	states, err := f.load()
	if err != nil {
		return nil, err
	}
	var out []roll.ClusterID
	for _, key := range slices.Sorted(maps.Keys(states)) {
		if name, ok := strings.CutPrefix(key, account+"/"+region+"/"); ok {
			out = append(out, roll.ClusterID{Account: account, Region: region, Name: name})
		}
	}
	return out, nil
}
