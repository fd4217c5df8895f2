//go:build !unix

package bench

import (
	"os"
	"testing"
	"time"
)

// processorTime is not available without getrusage.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	tb.Skip("the processor time of a process is read with getrusage, which this system lacks")
	return 0
}

// residentMemory is not available without getrusage.
func residentMemory(tb testing.TB, _ *os.ProcessState) int64 {
	tb.Helper()
	return 0
}
