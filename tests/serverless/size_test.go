package serverless

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/must"
)

// The largest that a function's package may be, in bytes: what a function links it loads at each
// cold start. A package that grows past it most likely imports a whole API for one of its types.
var largest = map[string]int64{StateChange: 5e6, Sweep: 5e6, Inspect: 9.3e6, Remediate: 9e6}

func TestFunctionsAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("links the functions for another machine")
	}
	for name, most := range largest {
		if size := zipped(t, name); size > most {
			t.Errorf("%s has %.2f MB, zipped; at most %.2f: see what it links with go list -deps", name, float64(size)/1e6, float64(most)/1e6)
		}
	}
}

// Newer clients of the SDK make the schemas of their whole API as the process starts, in up to
// 10 ms for one service. The sign-in services come with the SDK's configuration.
func TestFunctionsMakeNoSchemasAtStart(t *testing.T) {
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	small := []string{"arczonalshift", "signin", "sso", "ssooidc"}
	for name := range largest {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./functions/"+name)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.Output()
		must.Succeed(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			service, schemas := strings.CutSuffix(strings.TrimPrefix(dep, services), "/schemas")
			if schemas && !slices.Contains(small, service) {
				t.Errorf("%s links %s", name, dep)
			}
		}
	}
}

// BenchmarkFunctions reports two figures for each function: the size of its package as
// uploaded (built for Lambda with the Makefile's flags, zipped), and the time from
// process start to its first request for work, on this machine.
func BenchmarkFunctions(b *testing.B) {
	for _, name := range []string{StateChange, Sweep, Inspect, Remediate} {
		b.Run(name, func(b *testing.B) {
			size := zipped(b, name)
			f, err := newFunction(name, filepath.Join(binaries, name), functionEnv())
			must.Succeed(b, err)
			defer f.close()
			var total time.Duration
			for b.Loop() {
				f.asked = make(chan struct{})
				began := time.Now()
				must.Succeed(b, f.start(nil))
				select {
				case <-f.asked:
				case <-f.exited:
					b.Fatalf("%s ended: %s", name, f.output)
				}
				total += time.Since(began)
				f.stop()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(size)/1e6, "MB-zipped")
			b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms-init")
		})
	}
}

// zipped returns the size in bytes of a function's package as it is uploaded.
func zipped(b testing.TB, name string) int64 {
	b.Helper()
	bootstrap := filepath.Join(b.TempDir(), "bootstrap")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", bootstrap, "./functions/"+name)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	// By Python's zlib, as the SAM CLI packages it; Go's is three hundredths larger.
	archive := bootstrap + ".zip"
	if out, err := exec.CommandContext(b.Context(), filepath.Join("..", "..", ".venv", "bin", "python"), "-m", "zipfile", "-c", archive, bootstrap).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(archive)
	must.Succeed(b, err)
	return info.Size()
}

// functionEnv returns an environment with which every function starts; nothing is called.
func functionEnv() []string {
	const account = "123456789012"
	return []string{
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=not/a/secret", "ROLLCALL_MODE=observe",
		"ROLLCALL_POLICY_PARAMETER=/rollcall/policy", "ROLLCALL_TABLE=rollcall", "ROLLCALL_TOPIC_ARN=arn:aws:sns:eu-west-1:" + account + ":rollcall", "ROLLCALL_CHAT_TOPIC_ARN=arn:aws:sns:eu-west-1:" + account + ":rollcall-chat",
		"ROLLCALL_CHECKS_QUEUE_URL=https://sqs.eu-west-1.amazonaws.com/" + account + "/checks.fifo", "ROLLCALL_CHECKS_QUEUE_ARN=arn:aws:sqs:eu-west-1:" + account + ":checks.fifo",
		"ROLLCALL_ORDERS_QUEUE_URL=https://sqs.eu-west-1.amazonaws.com/" + account + "/orders.fifo", "ROLLCALL_SCHEDULE_GROUP=rollcall",
		"ROLLCALL_SCHEDULE_ROLE_ARN=arn:aws:iam::" + account + ":role/scheduler", "ROLLCALL_EVENT_BUS=default", "ROLLCALL_EVIDENCE_BUCKET=evidence", "ROLLCALL_SWEEP_INTERVAL=5m", "ROLLCALL_VPC_IDS=",
	}
}
