package ledger

import "context"

// Fleet remembers how large clusters are, so that the sweep comes by less often where a
// look costs much.
type Fleet interface {
	// Sizes tells the nodes of the region's clusters, by name, as last written.
	Sizes(ctx context.Context, region string) (map[string]int, error)
	// PutSize remembers a cluster's nodes.
	PutSize(ctx context.Context, region, cluster string, nodes int) error
}

const (
	// sweptEverySweep is the size up to which every sweep checks a cluster: two pages
	// of instances and four of nodes.
	sweptEverySweep = 2000
	// sweptRarest is how many sweeps go by at most between two checks of one cluster:
	// an hour at five minutes each. Deadlines do not wait for it, events carry them.
	sweptRarest = 12
)

// SweepFactor is of how many sweeps one checks a cluster of that size: 1 up to 2,000
// nodes, then one more for every further 2,000, and 12 at most.
func SweepFactor(nodes int) int {
	return min(max(1, (nodes+sweptEverySweep-1)/sweptEverySweep), sweptRarest)
}
