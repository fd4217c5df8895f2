// Package bench measures what looking at a cluster costs, and what deciding about
// it costs. "make bench" runs it.
//
// Times and sizes of one machine say little about another, so observation is
// measured beside its floor, in the same process and on the same bytes: fetching
// and decoding the same answers with the AWS SDK and client-go, and dropping
// them. What Rollcall adds is the ratio of the two.
//
// The answers come from a second process, which is the test binary once more, so
// that what it costs to serve them is counted nowhere.
package bench
