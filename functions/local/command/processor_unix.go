//go:build unix

package command

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process, in user and system mode; 0 if
// unknown.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
