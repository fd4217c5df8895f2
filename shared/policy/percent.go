package policy

import "strconv"

// Percent is a whole percentage from 0 to 100. It is whole so that shares of nodes are counted with
// integers, and limits have no rounding errors.
type Percent int

// Of returns the percentage of n, rounded up: 20% of 6 is 2.
func (p Percent) Of(n int) int { return (int(p)*n + 99) / 100 }

// String returns the percentage as written in a policy, such as "20%".
func (p Percent) String() string { return strconv.Itoa(int(p)) + "%" }
