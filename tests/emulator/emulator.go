// Package emulator starts the emulated AWS by itself, for tests that need no control
// plane beside it. It needs what "make testbed-deps" puts into .venv.
package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Emulator is an emulated AWS that runs.
type Emulator struct {
	Endpoint string // for AWS clients, such as http://127.0.0.1:5000

	cmd   *exec.Cmd
	log   bytes.Buffer // what it printed, to be read once it has ended
	ended chan struct{}
}

// Start starts an emulator and waits until it answers. script is the program: emulator.py
// of this folder, or one that builds on it. root is the project's folder. Start is called
// from TestMain, and ties it to its thread: on Linux the emulator ends with the thread
// that started it.
func Start(root, script string) (*Emulator, error) {
	python := filepath.Join(root, ".venv", "bin", "python")
	// To look at the programs makes the go command see when they change.
	for _, file := range []string{python, script, filepath.Join(root, "tests", "emulator", "emulator.py")} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("the emulator is not installed; run \"make testbed-deps\": %w", err)
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	e := &Emulator{Endpoint: "http://127.0.0.1:" + strconv.Itoa(port), ended: make(chan struct{})}
	e.cmd = exec.Command(python, script, "--port", strconv.Itoa(port))
	e.cmd.Stdout, e.cmd.Stderr, e.cmd.SysProcAttr = &e.log, &e.log, dieWithParent()
	runtime.LockOSThread()
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	go func() {
		_ = e.cmd.Wait() // how it ended shows in its log
		close(e.ended)
	}()
	for err := errors.New("not asked yet"); err != nil; err = e.Control(http.MethodGet, "health", nil, nil) {
		select {
		case <-e.ended:
			return nil, fmt.Errorf("the emulator ended: %w\n%s", err, e.log.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return e, nil
}

// Close ends the emulator.
func (e *Emulator) Close() {
	_ = e.cmd.Process.Kill() // it may have ended by itself
	<-e.ended
}

// Control calls the emulator's own API, which emulator.py describes. in is sent as JSON
// unless it is nil; the answer goes to out unless that is nil.
func (e *Emulator) Control(method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, e.Endpoint+"/_rollcall/"+path, &body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// Call is an entry of the log of calls, as far as tests of this kind look at it.
type Call struct {
	Service, Action, ErrorCode string
	Status                     int
	Params                     map[string]string
}

// Calls lists the calls since the log was last emptied, in order of arrival.
func (e *Emulator) Calls() ([]Call, error) {
	var calls []Call
	err := e.Control(http.MethodGet, "calls", nil, &calls)
	return calls, err
}

// Unexpected tells of answers that AWS would not have given: they test the emulator and
// nothing else.
func (e *Emulator) Unexpected() error {
	var answers []any
	if err := e.Control(http.MethodGet, "unexpected", nil, &answers); err != nil {
		return err
	}
	if len(answers) > 0 {
		return fmt.Errorf("unexpected answers of the emulator: %v", answers)
	}
	return nil
}

// freePort is a loopback port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("give the free port %d back: %w", port, err)
	}
	return port, nil
}
