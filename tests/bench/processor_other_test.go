//go:build !unix

package bench

import (
	"testing"
	"time"
)

// processorTime is not available without getrusage.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	tb.Skip("the processor time of a process is read with getrusage, which this system lacks")
	return 0
}
