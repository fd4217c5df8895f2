//go:build !linux

package serverless

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
