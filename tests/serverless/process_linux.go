package serverless

import "syscall"

// dieWithParent ends a function with the test that started it.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
