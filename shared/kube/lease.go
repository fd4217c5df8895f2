package kube

import (
	"context"
	"errors"
	"time"
)

// LeaseRenewed returns when the kubelet of a node last renewed its Lease. The error is [ErrGone] if
// there is no Lease.
func (c *Client) LeaseRenewed(ctx context.Context, node string) (time.Time, error) {
	leases, err := decoded[struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}](ctx, c, LeaseOf(node))
	switch {
	case err != nil:
		return time.Time{}, err
	case leases[0].Spec.RenewTime.IsZero():
		return time.Time{}, LeaseOf(node).unexpected(errors.New("it has no renewTime"))
	}
	return leases[0].Spec.RenewTime.UTC(), nil
}
