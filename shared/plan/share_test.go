package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// In small groups two nodes may be unhealthy, even if that is half of them. In the whole cluster
// the share applies as written. Of 16 nodes in groups of four, 20 % are four.
func TestTheShareOfTheClusterHoldsWhereNoGroupExceedsItsOwn(t *testing.T) {
	for _, tt := range []struct {
		unhealthy [4]int // of each group
		held      bool
	}{
		{[4]int{2, 1}, false}, {[4]int{2, 2}, false}, {[4]int{1, 1, 1, 1}, false},
		{[4]int{2, 2, 1}, true}, {[4]int{2, 1, 1, 1}, true}, {[4]int{2, 2, 2, 2}, true},
		{[4]int{3}, true}, // more than two of the group
	} {
		w := newWorld()
		var sick []int
		for g, unhealthy := range tt.unhealthy {
			name := fmt.Sprintf("w%d", g)
			group := roll.Group("asg/" + name)
			w.snapshot.Groups[group] = canLaunch
			w.state.Apply(ledger.Changes{Put: ledger.State{RemediateSince: map[roll.Group]time.Time{group: now.Add(-24 * time.Hour)}}})
			for i := range 4 {
				n, silent := 4*g+i+1, time.Duration(0)
				if i < unhealthy {
					silent = time.Duration(n) * time.Hour // each at its own time
					sick = append(sick, n)
				}
				inst := w.add(n, silent)
				inst.ASG, inst.Group = name, group
			}
		}
		for _, n := range sick {
			w.seen(n, 10*time.Minute)
		}
		_, p := w.make(now)
		held := slices.Contains(reasons(p), UnhealthyShare)
		if held != tt.held || held == (len(p.Orders) > 0) {
			t.Errorf("%v of four each: held for %v, ordered %d; want held for the share %v", tt.unhealthy, reasons(p), len(p.Orders), tt.held)
		}
	}
}
