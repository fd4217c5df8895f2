package serverless

import "syscall"

// dieWithParent makes the kernel kill a function's process when its test ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
