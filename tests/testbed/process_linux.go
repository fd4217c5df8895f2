package testbed

import "syscall"

// dieWithParent makes the kernel kill the child if the testbed's process ends without stopping it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
