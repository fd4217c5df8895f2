package ledger_test

import (
	"testing"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/expect"
)

func TestSweepFactor(t *testing.T) {
	for nodes, want := range map[int]int{0: 1, 1: 1, 2000: 1, 2001: 2, 4000: 2, 4001: 3, 24_000: 12, 24_001: 12, 100_000: 12} {
		got := ledger.SweepFactor(nodes)
		expect.That(t, got == want, "%d nodes: every %d sweeps, want %d", nodes, got, want)
	}
}
