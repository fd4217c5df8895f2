//go:build !linux

package testbed

import "syscall"

// dieWithParent does nothing where the kernel has no such signal: there, only Close ends the children.
func dieWithParent() *syscall.SysProcAttr { return nil }
