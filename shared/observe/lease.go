package observe

import (
	"context"
	"errors"
	"fmt"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// leaseReads bounds the leases that are read per round. Leases beyond it are unknown until another
// check reads them.
const leaseReads = 50

// readLeases reads when the kubelets of instances without a Node last renewed a lease, by the names
// that their Nodes would have.
func (o *Observer) readLeases(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	names := leaseNames(s, questions)
	if len(names) == 0 {
		return
	}
	client, err := o.Kube.Dial(s.Cluster)
	over := err != nil // a failure that affects all of them is noted once
	if over {
		o.unread(ctx, s, roll.CallLease, err)
	}
	reads, left := 0, 0
	asked := wanting(questions, func(q roll.Question) bool { return q.Lease })
	for _, q := range roll.InTurn(asked, leaseReads/4, s.At) {
		d := s.Details[q.Instance]
		d.LeaseRead = roll.No
		unread := len(names[q.Instance]) == 0
		if unread {
			unknown(s, roll.CallLease, roll.GapFailed, fmt.Sprintf("%s has no private DNS name, after which its node and its lease are named", q.Instance))
		}
		for _, name := range names[q.Instance] {
			if over || reads == leaseReads {
				unread, left = true, left+1
				continue
			}
			reads++
			at, err := client.LeaseRenewed(ctx, name)
			switch {
			case errors.Is(err, kube.ErrGone):
			case errors.Is(err, kube.ErrNotCaptured): // the kubelet may be running
				unknown(s, roll.CallLease, roll.GapFailed, "whether instances without a node renew a lease was not captured")
				unread = true
			case err != nil:
				unread = o.unread(ctx, s, roll.CallLease, err) == roll.Unreadable || unread
				over = meetsAll(s.Cluster, err)
			case at.After(d.LeaseRenewed):
				d.LeaseRead, d.LeaseRenewed, d.LeaseOf = roll.Yes, at, name
			}
		}
		if unread {
			d.LeaseRead = roll.Unreadable
		}
		s.Details[q.Instance] = d
	}
	if left > 0 && !over {
		unknown(s, roll.CallLease, roll.GapLater, fmt.Sprintf("%d leases of instances without a node were wanted, and %d were read", reads+left, reads))
	}
}

// leaseNames returns the names that the Nodes of the instances in question would have: the private
// DNS name, which is the default on EC2, and the name that Karpenter reports.
func leaseNames(s *roll.Snapshot, questions []roll.Question) map[roll.InstanceID][]string {
	names := map[roll.InstanceID][]string{}
	for _, q := range questions {
		if !q.Lease {
			continue
		}
		names[q.Instance] = nil
		if c := s.Details[q.Instance].NodeClaim; c != nil && c.Node != "" {
			names[q.Instance] = append(names[q.Instance], c.Node)
		}
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
