package policy

import "strconv"

// Percent is a whole percentage from 0 to 100. Whole, so that shares of nodes are
// counted with integers and a limit has no rounding surprises.
type Percent int

// Of is the percentage of n, rounded up: 20% of 6 is 2.
func (p Percent) Of(n int) int { return (int(p)*n + 99) / 100 }

// String is the percentage as it is written in a policy, such as "20%".
func (p Percent) String() string { return strconv.Itoa(int(p)) + "%" }
