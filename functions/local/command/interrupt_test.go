package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// soon is the maximum time that a command may take after an interruption.
const soon = time.Second

// silentAccount points the AWS SDK to an endpoint that returns the answers in the map, by
// path. It holds every other request until the end of the test. The channel reports the
// first request that it holds.
func silentAccount(t *testing.T, answers map[string]string) (asked <-chan struct{}) {
	t.Helper()
	noAWS(t)
	held, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := answers[r.URL.Path]; ok {
			status, body, _ := strings.Cut(body, " ")
			if status == "404" {
				w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = fmt.Fprint(w, body)
			return
		}
		once.Do(func() { close(held) })
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	useEndpoint(t, server.URL)
	return held
}

// interrupt runs a command until it has begun, then ends its context.
func interrupt(t *testing.T, args []string, begun <-chan struct{}, env Environment) (code int, stdout, stderr string, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	if env.Stdout == nil {
		env.Stdout = &out
	}
	if env.Stderr == nil {
		env.Stderr = &errs
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	at := make(chan time.Time, 1)
	go func() {
		<-begun
		at <- time.Now()
		cancel()
	}()
	code = Run(ctx, args, env)
	return code, out.String(), errs.String(), time.Since(<-at)
}

// The endpoint accepts connections and never answers.
func TestEveryCommandEndsSoonAfterAnInterruption(t *testing.T) {
	for name, args := range map[string][]string{
		"check, listing":       {"check"},
		"check, reading":       {"check", "--cluster", "payments"},
		"explain":              {"explain", "i-0bad0000000000001"},
		"explain of a stack":   {"explain", "i-0bad0000000000001", "--stack", "rollcall"},
		"explain of a cluster": {"explain", "i-0bad0000000000001", "--cluster", "payments"},
		"capture":              {"capture", "--cluster", "payments", "--out", filepath.Join(t.TempDir(), "bundle")},
		"stop":                 {"stop"},
		"resume":               {"resume", "--parameter", "/rollcall/policy"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := silentAccount(t, nil)
			code, stdout, stderr, took := interrupt(t, args, asked, Environment{})
			expect.That(t, code == ExitInterrupted && strings.Contains(stderr, "rollcall: interrupted") && stdout == "", "exit %d, %q, %q", code, stdout, stderr)
			expect.That(t, took <= soon, "it went on for %s", took)
		})
	}
}

// signals closes a channel when a text is written.
type signals struct {
	bytes.Buffer
	text    string
	once    sync.Once
	written chan struct{}
}

func (s *signals) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.text) {
		s.once.Do(func() { close(s.written) })
	}
	return n, err
}

func TestASimulationEndsSoonAfterAnInterruption(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"demo", "--html", filepath.Join(t.TempDir(), "day.html")}} {
		out := &signals{written: make(chan struct{})}
		code, _, stderr, took := interrupt(t, args, out.written, Environment{Stdout: out})
		expect.That(t, code == ExitInterrupted && took <= soon && strings.Contains(stderr, "interrupted"), "%v: exit %d after %s: %s", args, code, took, stderr)
	}
	begun := make(chan struct{})
	now := sync.OnceValue(func() time.Time { close(begun); return time.Now() })
	code, _, stderr, took := interrupt(t, []string{"simulate", "--hours", "8784", "--clusters", "5", "--nodes", "100", "--seeds", "100"}, begun, Environment{Now: now})
	expect.That(t, code == ExitInterrupted && took <= soon && strings.Contains(stderr, "interrupted: 0 of the "), "exit %d after %s: %s", code, took, stderr)
}

// Results found before the interruption are printed.
func TestAnInterruptedCheckTellsOfTheClustersItChecked(t *testing.T) {
	silentAccount(t, map[string]string{
		"/clusters":      `200 {"clusters":["gone","payments"]}`,
		"/clusters/gone": `404 {"message":"No cluster found for name: gone."}`,
		"/":              `200 <DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>`,
	})
	progress := &signals{text: "1/2 clusters  gone: done", written: make(chan struct{})}
	code, stdout, _, took := interrupt(t, []string{"check"}, progress.written, Environment{Terminal: true, Stderr: progress})
	if code != ExitInterrupted || took > soon || !strings.Contains(progress.String(), "interrupted: 1 of 2 clusters were checked") || !strings.Contains(stdout, "gone (eu-west-1)") || strings.Contains(stdout, "payments") {
		t.Errorf("exit %d after %s: %s%s", code, took, stdout, progress)
	}
}

func TestTheTimeLimitBoundsEveryCommand(t *testing.T) {
	const limit = 200 * time.Millisecond
	for name, args := range map[string][]string{
		"check, listing":     {"check"},
		"check, reading":     {"check", "--cluster", "payments"},
		"explain":            {"explain", "i-0bad0000000000001"},
		"explain of a stack": {"explain", "i-0bad0000000000001", "--stack", "rollcall"},
		"capture":            {"capture", "--cluster", "payments", "--out", filepath.Join(t.TempDir(), "bundle")},
		"stop":               {"stop"},
		"resume":             {"resume", "--parameter", "/rollcall/policy"},
	} {
		t.Run(name, func(t *testing.T) {
			silentAccount(t, nil)
			began := time.Now()
			code, stdout, stderr := rollcall(t, append(args, "--timeout", limit.String())...)
			expect.That(t, code == ExitError && strings.Contains(stdout+stderr, "in time"), "exit %d: %s%s", code, stdout, stderr)
			took := time.Since(began)
			expect.That(t, took <= 4*limit+soon, "it took %s", took)
		})
	}
}

// Nothing listens at the endpoint: it accepts no connection.
func TestAnEndpointThatRefusesIsAnErrorAtOnce(t *testing.T) {
	silentAccount(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	_ = l.Close()
	t.Setenv("AWS_ENDPOINT_URL", "http://"+l.Addr().String())
	refused(t, []string{"check", "--timeout", "1s"}, "eks:ListClusters")
}
