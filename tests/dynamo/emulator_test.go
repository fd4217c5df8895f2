package dynamo

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
	"testing"
	"time"
)

// endpoint is where the emulated AWS listens.
var endpoint string

// The kernel's "parent" is the thread that forked the child: this keeps TestMain, and
// with it that thread, in place.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) { os.Exit(start(m)) }

func start(m *testing.M) int {
	root := filepath.Join("..", "..")
	python := filepath.Join(root, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		fmt.Fprintf(os.Stderr, "the emulator is not installed; run \"make testbed-deps\": %v\n", err)
		return 1
	}
	port, err := freePort()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	endpoint = "http://127.0.0.1:" + strconv.Itoa(port)
	var log bytes.Buffer
	cmd := exec.Command(python, "launch.py", "--port", strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &log, &log, dieWithParent()
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "start the emulator: %v\n", err)
		return 1
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended shows in its log
		close(ended)
	}()
	defer func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	}()
	for err := errors.New("not asked yet"); err != nil; err = emulator(http.MethodGet, "health", nil, nil) {
		select {
		case <-ended:
			fmt.Fprintf(os.Stderr, "the emulator ended: %v\n%s", err, log.Bytes())
			return 1
		case <-time.After(20 * time.Millisecond):
		}
	}
	return m.Run()
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

// emulator calls the emulator's own API.
func emulator(method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, endpoint+"/_rollcall/"+path, &body)
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
