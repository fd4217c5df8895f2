package observe

import (
	"context"
	"errors"
	"fmt"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// leaseReads bounds the leases that are read per round. What lies beyond is not known.
const leaseReads = 50

// readLeases reads when the kubelets of instances without a Node last renewed a lease: by
// the names that their Nodes would have.
func (o *Observer) readLeases(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	names := leaseNames(s, questions)
	if len(names) == 0 {
		return
	}
	gap := func(kind roll.GapKind, detail string) {
		s.Gaps = append(s.Gaps, roll.Gap{Scope: roll.ScopeDetail, Kind: kind, Call: roll.CallLease, Detail: detail})
	}
	client, err := o.kube.Dial(s.Cluster)
	reads, failed := 0, err
	for _, q := range questions {
		if !q.Lease {
			continue
		}
		d := s.Details[q.Instance]
		d.LeaseRead = roll.No
		for _, name := range names[q.Instance] {
			if failed != nil || reads == leaseReads {
				d.LeaseRead = roll.Unreadable
				break
			}
			reads++
			at, err := client.LeaseRenewed(ctx, name)
			switch {
			case errors.Is(err, kube.ErrGone):
			case err != nil:
				failed, d.LeaseRead = err, roll.Unreadable
			case at.After(d.LeaseRenewed):
				d.LeaseRead, d.LeaseRenewed, d.LeaseOf = roll.Yes, at, name
			}
		}
		s.Details[q.Instance] = d
	}
	switch {
	case failed != nil:
		gap(kube.Fault(s.Cluster, failed, o.principal(ctx)))
	case reads == leaseReads:
		gap(roll.GapFailed, fmt.Sprintf("the leases of %d instances without a node were wanted, and %d were read", len(names), leaseReads))
	}
}

// leaseNames are the names that the Nodes of the instances have that are asked about: the
// private DNS name, which nodes on EC2 are called by, and what Karpenter calls it.
func leaseNames(s *roll.Snapshot, questions []roll.Question) map[roll.InstanceID][]string {
	var names map[roll.InstanceID][]string
	for _, q := range questions {
		if !q.Lease {
			continue
		}
		if names == nil {
			names = map[roll.InstanceID][]string{}
		}
		names[q.Instance] = nil
		if c := s.Details[q.Instance].NodeClaim; c != nil && c.Node != "" {
			names[q.Instance] = append(names[q.Instance], c.Node)
		}
	}
	if names == nil {
		return nil
	}
	for i := range s.Instances {
		inst := &s.Instances[i]
		known, asked := names[inst.ID]
		if asked && inst.PrivateDNS != "" && (len(known) == 0 || known[0] != inst.PrivateDNS) {
			names[inst.ID] = append(known, inst.PrivateDNS)
		}
	}
	return names
}
