package kube

import (
	"context"
	"time"

	"rollcall/shared/roll"
)

// NoCapacity is a failed launch reported by Karpenter: EC2 had no capacity, a quota was
// insufficient, or no subnet had an address. Karpenter deletes the NodeClaim at once, so only its
// Event remains, for an hour.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/launch.go
type NoCapacity struct {
	Claim       string
	First, Last time.Time
	Message     string
}

// reasonNoCapacity is the reason of those events.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/events/reason.go
const reasonNoCapacity = "InsufficientCapacityError"

// LaunchesWithoutCapacity returns a question for the events in which Karpenter reports such
// launches.
func LaunchesWithoutCapacity() Question { return Question{ask: askNoCapacity} }

// NoCapacity lists those events, the newest last.
func (c *Client) NoCapacity(ctx context.Context) ([]NoCapacity, error) {
	events, err := decoded[Event](ctx, c, LaunchesWithoutCapacity())
	return roll.Map(events, func(e *Event) NoCapacity {
		return NoCapacity{Claim: e.InvolvedObject.Name, First: e.First(), Last: e.Last(), Message: e.Message}
	}), err
}
