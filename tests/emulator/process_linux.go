package emulator

import "syscall"

// dieWithParent makes the kernel kill the child should the tests end without having
// stopped it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
