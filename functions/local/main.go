// Command rollcall checks EKS clusters from the command line, with the pipeline of the
// deployed functions and the ambient AWS credentials.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"rollcall/functions/local/command"
)

// grace is how long a command has after an interruption to print what it has.
const grace = 900 * time.Millisecond

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		select {
		case <-signals: // the person insists
		case <-time.After(grace):
		}
		fmt.Fprintln(os.Stderr, "rollcall: interrupted")
		os.Exit(command.ExitInterrupted)
	}()
	os.Exit(command.Run(ctx, os.Args[1:], command.Environment{
		Program: os.Args[0],
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		Columns:  columns,
		// https://no-color.org
		Color: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}))
}

// columns returns the width of the terminal that standard output is, 0 if it is none.
func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}
