//go:build unix

package command

import (
	"syscall"
	"time"
)

// processorTime is how long this process has run on processors, in user and in system mode;
// 0 if that is not known.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
