//go:build !linux

package emulator

import "syscall"

// dieWithParent does nothing where the kernel has no such signal.
func dieWithParent() *syscall.SysProcAttr { return nil }
