// Command rollcall checks EKS clusters from the command line, with the pipeline of the
// deployed functions and the ambient AWS credentials.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"rollcall/functions/local/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := command.Run(ctx, os.Args[1:], command.Environment{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		// https://no-color.org
		Color: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "",
	})
	stop()
	os.Exit(code)
}
