package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"rollcall/tests/harness/must"
)

// serveVariable is the environment variable that turns the test binary into the server.
const serveVariable = "ROLLCALL_BENCH_SERVE"

func TestMain(m *testing.M) {
	if where := os.Getenv(checkVariable); where != "" {
		if err := checkOnce(where); err != nil {
			fmt.Fprintln(os.Stderr, "check once:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(serveVariable) != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "serve canned answers:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// addresses are the server's addresses, which it prints when it listens.
type addresses struct {
	AWS  string `json:"aws"`
	Kube string `json:"kube"`
	CA   []byte `json:"ca"` // PEM, signs the certificate of Kube
}

// child is the server's process. It ends when its standard input closes; the kernel
// closes that when this process ends, however it ends.
var child struct {
	cmd  *exec.Cmd
	hold io.Closer
}

// start starts the server, once.
var start = sync.OnceValues(func() (addresses, error) {
	self, err := os.Executable()
	if err != nil {
		return addresses{}, fmt.Errorf("find the test binary: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		return addresses{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return addresses{}, err
	}
	if err := cmd.Start(); err != nil {
		return addresses{}, err
	}
	child.cmd, child.hold = cmd, hold
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return addresses{}, fmt.Errorf("read its addresses: %w", err)
	}
	var a addresses
	if err := json.Unmarshal(line, &a); err != nil {
		return addresses{}, fmt.Errorf("read its addresses: %w", err)
	}
	return a, nil
})

// stop stops the server and its process.
func stop() {
	if child.cmd == nil {
		return
	}
	_ = child.hold.Close()
	_ = child.cmd.Wait() // an error there has failed a test here
}

// prepare makes the server create the answers for a cluster of that many nodes in
// advance, and returns their site.
func prepare(tb testing.TB, nodes int, t trouble) site {
	tb.Helper()
	a, err := start()
	if err != nil {
		tb.Fatalf("start the server: %v", err)
	}
	s := newSite(a, nodes, t)
	must.Succeed(tb, s.prepare(tb.Context()))
	return s
}

func (s site) prepare(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.aws+"/prepare", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("prepare %d nodes: %w", s.nodes, err)
	}
	_ = answer.Body.Close() // the status is enough
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("prepare %d nodes: %s", s.nodes, answer.Status)
	}
	return nil
}
