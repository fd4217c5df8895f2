//go:build race

package sim

// raced is whether the race detector is on, with which everything takes ten times as long.
const raced = true
