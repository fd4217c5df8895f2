package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rollcall/tests/harness/must"
)

// asCommand makes the test binary the command: the compiled main, in a process of its own.
const asCommand = "ROLLCALL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// rollcall is a process of the command.
type rollcall struct {
	*exec.Cmd
	out, err bytes.Buffer
	prints   chan struct{} // closed with its first output
}

// watched closes a channel when something is written.
type watched struct {
	io.Writer
	first func()
}

func (w watched) Write(p []byte) (int, error) {
	w.first()
	return w.Writer.Write(p)
}

// start starts the command with no settings of AWS but an endpoint, "" for none.
func start(t *testing.T, endpoint string, args ...string) *rollcall {
	t.Helper()
	c := &rollcall{Cmd: exec.Command(os.Args[0], args...), prints: make(chan struct{})}
	c.Stdout, c.Stderr = watched{&c.out, sync.OnceFunc(func() { close(c.prints) })}, &c.err
	if _, err := c.StdinPipe(); err != nil { // open, and nobody writes
		t.Fatal(err)
	}
	c.Env = []string{asCommand + "=1", "HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true"}
	if endpoint != "" {
		c.Env = append(c.Env, "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")
	}
	must.Succeed(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// end waits for the end, and returns the exit code and how long it took.
func (c *rollcall) end(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	began := time.Now()
	done := make(chan struct{})
	go func() { _ = c.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("it does not end: %s%s", &c.out, &c.err)
	}
	return c.ProcessState.ExitCode(), time.Since(began)
}

// silent returns an endpoint that accepts and never answers, and a channel that is closed with
// the first connection.
func silent(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { _ = l.Close() })
	first := make(chan struct{})
	go func() {
		var once sync.Once
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			once.Do(func() { close(first) })
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return "http://" + l.Addr().String(), first
}

// soon is how long a command may take after a signal. The machine may be loaded.
const soon = 2 * time.Second

func TestEveryCommandEndsSoonAfterASignal(t *testing.T) {
	for name, args := range map[string][]string{
		"check": {"check"}, "check of a cluster": {"check", "--cluster", "payments"}, "check, again and again": {"check", "--watch"},
		"explain": {"explain", "i-0bad0000000000001"}, "capture": {"capture", "--cluster", "payments", "--out", filepath.Join(t.TempDir(), "bundle")}, "lint": {"lint", "--cluster", "payments"},
		"stop": {"stop"}, "resume": {"resume"}, "policy check": {"policy", "check", "-"}, "mcp": {"mcp"},
		"demo": {"demo"}, "simulate": {"simulate", "--hours", "8784", "--clusters", "5", "--nodes", "100"},
	} {
		for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				url, asked := silent(t)
				c := start(t, url, args...)
				select {
				case <-asked:
				case <-c.prints: // such as the day of demo, which is over soon
				case <-time.After(3 * time.Second): // it asks nobody
				}
				if err := c.Process.Signal(signal); err != nil {
					t.Fatalf("it ended before: %s%s", &c.out, &c.err)
				}
				if code, took := c.end(t); code != 130 || took > soon {
					t.Errorf("%s: exit %d after %s: %s", signal, code, took, &c.err)
				}
			})
		}
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	c := start(t, "", "simulate", "--hours", "8784", "--clusters", "5", "--nodes", "100", "--history")
	time.Sleep(2 * time.Second)
	for range 2 {
		_ = c.Process.Signal(os.Interrupt)
		time.Sleep(20 * time.Millisecond)
	}
	code, took := c.end(t)
	if code != 130 || took > 500*time.Millisecond {
		t.Errorf("exit %d after %s: %s", code, took, &c.err)
	}
}

// A process that gets no answer ends with the time limit, and says what it was waiting for.
func TestTheTimeLimitEndsAProcess(t *testing.T) {
	url, _ := silent(t)
	for want, args := range map[string][]string{
		"rollcall: --timeout 1s is over while listing the clusters of eu-west-1: eks:ListClusters got no answer in time\n": {"check"},
		"eks:DescribeCluster got no answer in time":                                          {"check", "--cluster", "payments"},
		"--timeout 1s is over while finding the cluster: ec2:DescribeInstances":              {"explain", "i-0bad0000000000001"},
		"--timeout 1s is over while reading payments: eks:DescribeCluster":                   {"capture", "--cluster", "payments", "--out", filepath.Join(t.TempDir(), "bundle")},
		"--timeout 1s is over while reading the policy: ":                                    {"stop"},
		"--timeout 1s is over while listing the regions: --all-regions: ec2:DescribeRegions": {"check", "--all-regions"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			c := start(t, url, append(args, "--timeout", "1s")...)
			if code, took := c.end(t); code != 1 || took > time.Second+soon || !strings.Contains(c.out.String()+c.err.String(), want) {
				t.Errorf("exit %d after %s: %s%swant %q", code, took, &c.out, &c.err, want)
			}
		})
	}
}

// Nothing but the error itself is printed, in one line that says what to do.
func TestWhatAStrangerMeetsFirst(t *testing.T) {
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"User: arn:aws:iam::111122223333:user/jo is not authorized to perform: eks:ListClusters on resource: *"}`))
	}))
	t.Cleanup(denied.Close)
	for name, tt := range map[string]struct {
		url, want string
		args      []string
	}{
		"no region":      {"", "rollcall: no AWS region: give --region, set AWS_REGION, or run aws configure set region REGION\n", []string{"check"}},
		"no credentials": {"", "rollcall: no AWS credentials for the default profile: give --profile NAME", []string{"check", "--region", "eu-west-1"}},
		"no profile":     {"", "rollcall: there is no AWS profile \"prodd\": aws configure list-profiles shows those that there are\n", []string{"check", "--profile", "prodd"}},
		"no right":       {denied.URL, "rollcall: eks:ListClusters was denied to arn:aws:iam::111122223333:user/jo: allow eks:ListClusters for that user\n", []string{"check"}},
		"no context":     {"", "rollcall: --context: the kubeconfig has no context \"shop\" (it has none)\n", []string{"check", "--context", "shop"}},
		"no command":     {"", "rollcall: unknown command \"chekc\" for \"rollcall\"", []string{"chekc"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, tt.url, tt.args...)
			if code, _ := c.end(t); code != 1 || c.out.Len() > 0 || !strings.HasPrefix(c.err.String(), tt.want) || name != "no command" && strings.Count(c.err.String(), "\n") != 1 {
				t.Errorf("exit %d: %s%swant %q", code, &c.out, &c.err, tt.want)
			}
		})
	}
}

// A client ends the tools by closing their standard input.
func TestAClientOfTheTools(t *testing.T) {
	server := exec.Command(os.Args[0], "mcp")
	server.Env = []string{asCommand + "=1"}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	must.Succeed(t, err)
	list, err := s.ListTools(t.Context(), nil)
	must.Succeed(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "check evidence explain findings lint policy" {
		t.Errorf("the tools are %s", got)
	}
	if err := s.Close(); err != nil || !server.ProcessState.Success() {
		t.Errorf("%v, %s", err, server.ProcessState)
	}
}
