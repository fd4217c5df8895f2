//go:build !race

package sim

// raced: the race detector watches, and everything takes ten times as long.
const raced = false
