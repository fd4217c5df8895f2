package kube

import "context"

// reasonNoCapacity is the reason of the events in which Karpenter reports a failed launch: EC2 had no
// capacity, a quota was insufficient, or no subnet had an address. Karpenter deletes the NodeClaim at
// once, so only its Event remains, for an hour.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/events/reason.go
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodeclaim/lifecycle/launch.go
const reasonNoCapacity = "InsufficientCapacityError"

// LaunchesWithoutCapacity returns a question for the events in which Karpenter reports such
// launches. Like those of [EventsOfNodeClaim] they are in "default".
func LaunchesWithoutCapacity() Question { return Question{ask: askNoCapacity} }

// NoCapacity lists those events, the newest last. The NodeClaims are their involved objects.
func (c *Client) NoCapacity(ctx context.Context) ([]*Event, error) {
	return decoded[Event](ctx, c, LaunchesWithoutCapacity())
}
