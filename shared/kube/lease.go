package kube

import (
	"context"
	"errors"
	"time"
)

// LeaseRenewed returns when the kubelet of a node last renewed its Lease. The error is [ErrGone] if
// there is no Lease.
func (c *Client) LeaseRenewed(ctx context.Context, node string) (time.Time, error) {
	items, err := c.Read(ctx, LeaseOf(node))
	if err != nil {
		return time.Time{}, err
	}
	lease, err := Decode[struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}](items[0])
	if err == nil && lease.Spec.RenewTime.IsZero() {
		err = errors.New("it has no renewTime")
	}
	if err != nil {
		return time.Time{}, LeaseOf(node).unexpected(err)
	}
	return lease.Spec.RenewTime.UTC(), nil
}
