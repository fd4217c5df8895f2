package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/roll"
)

// readNodeClaims reads which suspects have a NodeClaim of Karpenter, with one listing for all of
// their node pools.
func (o *Observer) readNodeClaims(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	pools := poolsOf(s, questions)
	unclear := 0
	for id, pool := range pools {
		setNodeClaim(s, id, roll.Unreadable, nil)
		if pool != "" && !kube.ValidPool(pool) {
			delete(pools, id)
			unclear++
		}
	}
	if unclear > 0 {
		unknown(s, roll.CallNodeClaims, roll.GapFailed, fmt.Sprintf("the node pool of %d %s of Karpenter's is not known, so neither is whether a NodeClaim has %s", unclear, roll.Plural(unclear, "instance", "instances"), roll.Plural(unclear, "it", "them")))
	}
	if len(pools) == 0 {
		return
	}
	claims, err := o.nodeClaims(ctx, s.Cluster, slices.Compact(slices.Sorted(maps.Values(pools))))
	if err != nil && !errors.Is(err, kube.ErrNoNodeClaims) {
		o.fail(ctx, s, roll.ScopeDetail, roll.CallNodeClaims, err)
		return
	}
	for id := range pools {
		if claim, ok := claims.Of[id]; ok {
			setNodeClaim(s, id, roll.Yes, &claim)
		} else {
			setNodeClaim(s, id, roll.No, nil)
		}
	}
	if s.Groups == nil {
		s.Groups = map[roll.Group]roll.GroupDetail{}
	}
	for _, pool := range pools {
		if pool == "" {
			continue // NodeClaims without a node pool have nothing in common
		}
		l := claims.Latest[pool]
		setGroup(s, roll.NodePoolGroup(pool), func(d *roll.GroupDetail) {
			d.Removed, d.LaunchesRead, d.LaunchFailed, d.LaunchMessage = err != nil, roll.Yes, l.Failed, harmless(l.Message)
		})
	}
	if s.Target != "" {
		o.readTargetLaunches(ctx, s, claims, err)
	}
}

// targetLaunches limits the reading of launches before an act, which must follow soon after the node
// was read.
const targetLaunches = 10 * time.Second

// readTargetLaunches reads again, right before an act, what its NodeClaims do not show of launches:
// Karpenter deletes those without capacity at once, and creates none for a node pool that is not ready.
// An order is up to 10 minutes old, for instance if its first delivery was cut short, and a check may
// have held the act meanwhile.
func (o *Observer) readTargetLaunches(ctx context.Context, s *roll.Snapshot, claims kube.NodeClaims, unread error) {
	ctx, cancel := deadline.In(ctx, targetLaunches)
	defer cancel()
	s.Launches = map[roll.Group]roll.Launch{}
	s.ClaimsRead = o.readClaimLaunches(ctx, s, claims, unread)
}

// readClaims lists the NodeClaims of a cluster whose nodes could be read, once a check: which of
// them are being deleted, and the results of the node pools' launches. The nodes are read first: an
// error that affects them affects the NodeClaims too.
func (o *Observer) readClaims(ctx context.Context, s *roll.Snapshot) (kube.NodeClaims, error) {
	if !s.Has(roll.ScopeNodes) {
		return kube.NodeClaims{}, nil
	}
	claims, err := o.nodeClaims(ctx, s.Cluster, nil)
	s.Deleting = claims.Deleting
	if err == nil || errors.Is(err, kube.ErrNoNodeClaims) {
		s.DeletingRead = roll.Yes
	} else {
		s.DeletingRead = o.unread(ctx, s, roll.CallNodeClaims, err)
	}
	return claims, err
}

func (o *Observer) nodeClaims(ctx context.Context, c roll.Cluster, pools []string) (kube.NodeClaims, error) {
	client, err := o.Kube.Dial(c)
	if err != nil {
		return kube.NodeClaims{}, err
	}
	return client.NodeClaims(ctx, pools)
}

func setNodeClaim(s *roll.Snapshot, id roll.InstanceID, has roll.Answer, claim *roll.NodeClaim) {
	setDetail(s, id, func(d *roll.Detail) { d.HasNodeClaim, d.NodeClaim = has, claim })
}

// unknownPool is no name of a node pool.
const unknownPool = "?"

// poolsOf returns the node pool of each instance whose NodeClaim is needed: "" if Karpenter launched it for a NodeClaim
// without one, unknownPool if neither its tags nor its node show whose it is.
func poolsOf(s *roll.Snapshot, questions []roll.Question) map[roll.InstanceID]string {
	pools := map[roll.InstanceID]string{}
	for _, q := range questions {
		if q.NodeClaim {
			pools[q.Instance] = unknownPool
		}
	}
	if len(pools) == 0 {
		return nil
	}
	note := func(m roll.Member) {
		if pools[m.ID()] != unknownPool {
			return
		}
		if pool, ok := m.Group().NodePool(); ok {
			pools[m.ID()] = pool
		} else if m.Owner() == roll.OwnerKarpenter {
			pools[m.ID()] = ""
		}
	}
	for i := range s.Instances {
		note(roll.Member{Instance: &s.Instances[i]})
	}
	for i := range s.Nodes {
		note(roll.Member{Node: &s.Nodes[i]})
	}
	return pools
}
