//go:build unix

package bench

import (
	"os"
	"runtime"
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

// residentMemory returns the largest resident memory of a process that has ended, in bytes.
func residentMemory(tb testing.TB, p *os.ProcessState) int64 {
	tb.Helper()
	used, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		tb.Fatal("no usage of the process")
	}
	if runtime.GOOS == "darwin" {
		return used.Maxrss // in bytes there, in kilobytes elsewhere
	}
	return used.Maxrss * 1024
}
