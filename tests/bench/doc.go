// Package bench measures the cost of observing a cluster and of deciding about it. "make
// bench" runs it.
//
// Absolute times and sizes depend on the machine. So an observation is measured next to
// its floor, in the same process and on the same bytes: fetching and decoding the same
// answers with the AWS SDK and client-go, and discarding them. Rollcall's overhead is the
// ratio of the two.
//
// The answers come from a second process, which runs the same test binary, so the cost of
// serving them is not measured.
package bench
