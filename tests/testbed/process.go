package testbed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A process is a child process that serves until it is killed.
type process struct {
	name string
	log  string // path of its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// A spawner starts children from one operating system thread. On Linux a child dies with its parent, where
// "parent" means the thread that forked it, and the Go runtime is free to end that thread.
type spawner struct {
	requests chan func()
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range s.requests {
			start()
		}
	}()
	return s
}

// start runs a command with its output in logPath.
func (s *spawner) start(name, logPath string, env []string, path string, args ...string) (*process, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("start %s: create its log: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	s.requests <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, log: logPath, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // its log shows how it ended; only an accident ends it before Close
	}()
	return p, nil
}

// stop stops the spawner; all its children must have ended.
func (s *spawner) stop() { close(s.requests) }

// kill kills the process: all its data is in a directory that is about to be removed.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s (pid %d): %w", p.name, p.cmd.Process.Pid, err)
	}
	<-p.done
	return nil
}

// ready polls until check succeeds. It fails when the process ends or the time is over.
func (p *process) ready(ctx context.Context, within time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.done:
			cancel(errors.New("it ended"))
		case <-ctx.Done():
		}
	}()
	if err := poll(ctx, within, 20*time.Millisecond, check); err != nil {
		return fmt.Errorf("wait for %s: %w; the end of %s:\n%s", p.name, err, p.log, tail(p.log, 10))
	}
	return nil
}

// poll calls check until it succeeds; its error holds that of the last call.
func poll(ctx context.Context, within, every time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %s", within))
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil { // a canceled call proves nothing
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-time.After(every):
		}
	}
}

// tail returns the last n lines of a file, as far as it can be read.
func tail(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// FreePort returns a loopback port that was free when checked. It lies below the range from which Linux takes the ports of
// outgoing connections, so that none of those takes it before the process listens.
func FreePort() (int, error) {
	for range 100 {
		port := 10000 + rand.IntN(22000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // it is in use
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("close the listener on port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, errors.New("find a free port: 100 ports are in use")
}

// findRoot returns the directory of the module rollcall at or above dir.
func findRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		data, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module rollcall\n") {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("find the repository: no go.mod of module rollcall at or above %s", dir)
		}
	}
}
