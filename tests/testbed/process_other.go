//go:build !linux

package testbed

import "syscall"

// dieWithParent does nothing where the kernel has no such signal: there, only Close stops the
// children.
func dieWithParent() *syscall.SysProcAttr { return nil }
