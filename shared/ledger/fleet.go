package ledger

import "context"

// Fleet stores the sizes of clusters: the sweep checks large ones less often.
type Fleet interface {
	// Sizes returns the number of nodes of the region's clusters, by name.
	Sizes(ctx context.Context, region string) (map[string]int, error)
	// PutSize stores a cluster's number of nodes.
	PutSize(ctx context.Context, region, cluster string, nodes int) error
}

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
