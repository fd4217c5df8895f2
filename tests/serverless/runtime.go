// Package serverless runs the compiled functions on the testbed. It provides a Lambda
// Runtime API for each, emulated queues, bus, schedules and table between them, and a
// test clock that fires what is due.
package serverless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrDied is returned by an invocation during which the function's process died.
var ErrDied = errors.New("the function died")

// function is one compiled bootstrap. Its process starts with the first invocation,
// serves invocations one at a time, and is restarted after it died, as on Lambda.
type function struct {
	name   string
	binary string
	env    []string

	mu sync.Mutex
	// next passes work to the current process. Each process has its own channel: a request
	// of a process that died may wait a little longer, and must not take the next one's
	// work.
	next   atomic.Pointer[chan invocation]
	done   chan answer
	server *http.Server
	host   string
	cmd    *exec.Cmd
	exited chan struct{}
	output *lockedBuffer
	asked  chan struct{} // closed by the first request for work, if a caller waits for it

	// emulator, if set, runs the function in place of this runtime API.
	emulator func(context.Context, []byte) ([]byte, error)
}

type invocation struct {
	id      string
	payload []byte
}

type answer struct {
	payload []byte
	failure string // from the error endpoints
}

// runtimeAPI is the version of the Lambda Runtime API.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
const runtimeAPI = "/2018-06-01/runtime/"

// invocationTime is the timeout of an invocation. The real one is minutes, but the tests'
// clusters are small.
const invocationTime = 60 * time.Second

func newFunction(name, binary string, env []string) (*function, error) {
	f := &function{name: name, binary: binary, env: env, done: make(chan answer, 1), output: new(lockedBuffer)}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API of %s: %w", name, err)
	}
	f.host = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+runtimeAPI+"invocation/next", f.serveNext)
	mux.HandleFunc("POST "+runtimeAPI+"invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) { f.take(w, r, false) })
	mux.HandleFunc("POST "+runtimeAPI+"invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) { f.take(w, r, true) })
	mux.HandleFunc("POST "+runtimeAPI+"init/error", func(w http.ResponseWriter, r *http.Request) { f.take(w, r, true) })
	f.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = f.server.Serve(listener) }()
	return f, nil
}

func (f *function) serveNext(w http.ResponseWriter, r *http.Request) {
	if f.asked != nil {
		close(f.asked)
	}
	select {
	case <-r.Context().Done():
	case i := <-*f.next.Load():
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", i.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(invocationTime).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:123456789012:function:"+f.name)
		_, _ = w.Write(i.payload)
	}
}

func (f *function) take(w http.ResponseWriter, r *http.Request, failed bool) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := answer{payload: body}
	if failed {
		a.failure = string(body)
	}
	f.done <- a
	w.WriteHeader(http.StatusAccepted)
}

// invoke runs the function on a payload and returns its answer. If extra is given, the
// process is restarted with it added to the environment.
func (f *function) invoke(ctx context.Context, payload any, extra ...string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("payload of %s: %w", f.name, err)
	}
	if f.emulator != nil {
		return f.emulator(ctx, data)
	}
	if len(extra) > 0 {
		f.stop()
	}
	if err := f.start(extra); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, invocationTime)
	defer cancel()
	select {
	case *f.next.Load() <- invocation{id: fmt.Sprintf("%s-%d", f.name, time.Now().UnixNano()), payload: data}:
	case <-f.exited:
		return nil, fmt.Errorf("%s ended before it asked for work:\n%s", f.name, f.output)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s did not ask for work: %w\n%s", f.name, ctx.Err(), f.output)
	}
	select {
	case a := <-f.done:
		if len(extra) > 0 {
			f.stop()
		}
		if a.failure != "" {
			return nil, fmt.Errorf("%s failed: %s", f.name, a.failure)
		}
		return a.payload, nil
	case <-f.exited:
		f.cmd = nil
		return nil, fmt.Errorf("%s: %w", f.name, ErrDied)
	case <-ctx.Done():
		f.stop()
		return nil, fmt.Errorf("%s did not answer: %w\n%s", f.name, ctx.Err(), f.output)
	}
}

func (f *function) start(extra []string) error {
	if f.cmd != nil {
		select {
		case <-f.exited:
		default:
			return nil
		}
	}
	cmd := exec.Command(f.binary)
	cmd.Env = append(append(append([]string{}, f.env...), "AWS_LAMBDA_RUNTIME_API="+f.host, "AWS_LAMBDA_FUNCTION_NAME="+f.name, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "PATH="+os.Getenv("PATH")), extra...)
	cmd.Stdout, cmd.Stderr = f.output, f.output
	cmd.SysProcAttr = dieWithParent()
	next := make(chan invocation)
	f.next.Store(&next)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", f.name, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the answer says how it ended
		close(exited)
	}()
	f.cmd, f.exited = cmd, exited
	return nil
}

// stop kills the process, if it runs.
func (f *function) stop() {
	if f.cmd == nil {
		return
	}
	_ = f.cmd.Process.Kill()
	<-f.exited
	f.cmd = nil
}

func (f *function) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop()
	_ = f.server.Close()
}

// lockedBuffer collects a process's output; it is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// all returns everything that was written.
func (b *lockedBuffer) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// String returns the end of what was written.
func (b *lockedBuffer) String() string {
	s := b.all()
	if len(s) > 8000 {
		s = "..." + s[len(s)-8000:]
	}
	return strings.TrimSpace(s)
}
