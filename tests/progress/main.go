// Command progress runs go build or go test, and says once in a while how far it is: compiling
// takes minutes, and so do the slow tests, and neither says anything meanwhile.
//
//	go run ./tests/progress build NAME [go build flags and packages]
//	go run ./tests/progress test [go test flags] -- packages
//
// Of the tests it prints what go test prints without -v. A package is stopped when none of its
// tests has begun or ended for a time, and not after a fixed time for all of them, so that
// a slow or loaded machine fails no test.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// buildEvery and testEvery are the times between two lines.
	buildEvery = 20 * time.Second
	testEvery  = time.Minute
	// quiet is the longest time in which a package with running tests may begin and end none.
	quiet = 20 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode())
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "progress:", err)
		os.Exit(1)
	}
}

// run runs the command that the arguments name.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 1 && args[0] == "build" {
		return build(ctx, args[1], args[2:], stdout, stderr)
	}
	if i := slices.Index(args, "--"); i > 0 && args[0] == "test" {
		return test(ctx, args[1:i], args[i+1:], stdout, stderr)
	}
	return errors.New("usage: progress build NAME [flags and packages] | progress test [flags] -- packages")
}

// goTool returns the go command to run: that of the environment's GO, as in the Makefile.
func goTool(ctx context.Context, args ...string) *exec.Cmd {
	tool := os.Getenv("GO")
	if tool == "" {
		tool = "go"
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go ends its children then
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// list returns what go list prints, line by line.
func list(ctx context.Context, stderr io.Writer, args ...string) ([]string, error) {
	cmd := goTool(ctx, append([]string{"list"}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}

// follow runs a command, and calls line for each line of its output and tick after each period.
func follow(cmd *exec.Cmd, output io.Reader, period time.Duration, line func(string), tick func()) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	read := make(chan string)
	go func() {
		defer close(read)
		r := bufio.NewReader(output)
		for {
			s, err := r.ReadString('\n')
			if s != "" {
				read <- s
			}
			if err != nil {
				return
			}
		}
	}()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case s, ok := <-read:
			if !ok {
				return cmd.Wait()
			}
			line(s)
		case <-ticker.C:
			tick()
		}
	}
}
