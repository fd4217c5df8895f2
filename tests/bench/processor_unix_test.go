//go:build unix

package bench

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns how long this process has run on processors, in user and in
// system mode. Unlike wall-clock time it excludes the server and other programs.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatalf("getrusage: %v", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
