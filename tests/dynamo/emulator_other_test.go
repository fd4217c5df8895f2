//go:build !linux

package dynamo

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
