package serverless

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// The runtime API of this package is ours, and may share a mistake with the functions. Here AWS's
// own emulator of Lambda starts them, passes them their events and takes their answers.
// https://github.com/aws/aws-lambda-runtime-interface-emulator
func TestFromLaunchToTerminationInLambdasEmulator(t *testing.T) {
	binary, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+filepath.Join("..", "tools", "go.mod"), "-n", "aws-lambda-rie").Output()
	must.Succeed(t, err)
	s := deploy(t, "remediate")
	for _, f := range s.functions {
		f.emulator = newEmulator(t, strings.TrimSpace(string(binary)), f)
	}
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute)) // with sweeps
	same(t, "acts", acts(t, "CreateTags", "TerminateInstances"), []string{"CreateTags " + id, "CreateTags " + id, "TerminateInstances " + id})
	same(t, "notices", notices(t, s), []string{"warning none", "critical terminate", "info terminated"})
	for name, f := range s.functions {
		expect.That(t, strings.Contains(f.output.all(), `"msg":"started"`), "%s did not run in the emulator", name)
	}
	// What it cannot read fails by the answer that the service takes for an error.
	if out, err := s.functions[Inspect].invoke(t.Context(), "no batch"); err == nil {
		t.Errorf("an event that is none is answered by %s", out)
	}
}

// ofLambda matches the lines that Lambda itself writes about an invocation.
var ofLambda = regexp.MustCompile(`^(START|END|REPORT) RequestId: `)

// newEmulator starts the emulator with a function, whose process it starts with the first event.
func newEmulator(t *testing.T, binary string, f *function) func(context.Context, []byte) ([]byte, error) {
	t.Helper()
	var address [2]string // for events, and for the function
	for i := range address {
		port, err := testbed.FreePort()
		must.Succeed(t, err)
		address[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	front, back := address[0], address[1]
	cmd := exec.Command(binary, "--log-level", "error", "--runtime-interface-emulator-address", front, "--runtime-api-address", back, f.binary)
	cmd.Env = append(append([]string{}, f.env...), "AWS_LAMBDA_FUNCTION_NAME="+f.name, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "AWS_LAMBDA_FUNCTION_TIMEOUT=60", "PATH="+os.Getenv("PATH"))
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	go func() {
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if !ofLambda.MatchString(lines.Text()) {
				_, _ = f.output.Write(append(lines.Bytes(), '\n'))
			}
		}
	}()
	cmd.SysProcAttr = dieWithParent()
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = writer.Close()
	})
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		for {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+front+"/2015-03-31/functions/function/invocations", bytes.NewReader(payload))
			if err != nil {
				return nil, err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil && ctx.Err() == nil && errors.Is(err, syscall.ECONNREFUSED) {
				time.Sleep(50 * time.Millisecond) // it does not listen yet
				continue
			}
			if err != nil {
				return nil, err
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err == nil && (response.StatusCode != http.StatusOK || bytes.Contains(body, []byte(`"errorType"`))) {
				err = fmt.Errorf("%s: %s", response.Status, body)
			}
			return body, err
		}
	}
}
