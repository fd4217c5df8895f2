package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// play gives the events to a run of two packages, one a minute.
func play(t *testing.T, events ...event) (*tests, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	r := newTests([]string{"rollcall/a", "rollcall/b"}, &out, start)
	for i, e := range events {
		line, err := json.Marshal(e)
		must.Succeed(t, err)
		r.line(string(line)+"\n", start.Add(time.Duration(i)*time.Minute))
	}
	return r, &out
}

func TestOnceAMinuteItSaysWhatRunsAndWhatIsLeft(t *testing.T) {
	r, _ := play(t)
	if got := r.state(start.Add(time.Minute)); got != "-- 60 s: 0 of 2 packages done; compiling" {
		t.Errorf("got %s", got)
	}
	r, _ = play(t, event{Action: "start", Package: "rollcall/a"}, event{Action: "run", Package: "rollcall/a", Test: "TestX"}, event{Action: "run", Package: "rollcall/a", Test: "TestX/y"})
	if got := r.state(start.Add(10 * time.Minute)); got != "-- 10 min: 0 of 2 packages done; running: a 10 min (TestX 9 min); 1 left" {
		t.Errorf("got %s", got)
	}
}

// A package that passed is its closing line, one that failed what its failed tests wrote.
func TestItPrintsWhatGoTestPrints(t *testing.T) {
	r, out := play(t,
		event{Action: "run", Package: "rollcall/a", Test: "TestGood"},
		event{Action: "output", Package: "rollcall/a", Test: "TestGood", Output: "=== RUN   TestGood\n"},
		event{Action: "output", Package: "rollcall/a", Test: "TestGood", Output: "noise\n"},
		event{Action: "pass", Package: "rollcall/a", Test: "TestGood"},
		event{Action: "output", Package: "rollcall/a", Output: "PASS\n"},
		event{Action: "output", Package: "rollcall/a", Output: "ok  \trollcall/a\t0.1s\n"},
		event{Action: "pass", Package: "rollcall/a"},
		event{Action: "output", Package: "rollcall/b", Test: "TestGood", Output: "noise\n"},
		event{Action: "pass", Package: "rollcall/b", Test: "TestGood"},
		event{Action: "output", Package: "rollcall/b", Test: "TestBad", Output: "=== RUN   TestBad\n"},
		event{Action: "output", Package: "rollcall/b", Test: "TestBad", Output: "    b_test.go:1: bad\n"},
		event{Action: "output", Package: "rollcall/b", Test: "TestBad", Output: "--- FAIL: TestBad (0.00s)\n"},
		event{Action: "fail", Package: "rollcall/b", Test: "TestBad"},
		event{Action: "output", Package: "rollcall/b", Output: "FAIL\n"},
		event{Action: "output", Package: "rollcall/b", Output: "FAIL\trollcall/b\t0.1s\n"},
		event{Action: "fail", Package: "rollcall/b"})
	if want := "ok  \trollcall/a\t0.1s\n    b_test.go:1: bad\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\trollcall/b\t0.1s\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if got := r.total(start.Add(15 * time.Minute)); got != "-- 1 of 2 packages failed, in 15 min: rollcall/b" {
		t.Errorf("got %s", got)
	}
}

// The limit is on the time without news, so a package that goes on is never stopped.
func TestOnlyAPackageInWhichNothingHappensIsStopped(t *testing.T) {
	begin := []event{{Action: "start", Package: "rollcall/a"}, {Action: "run", Package: "rollcall/a", Test: "TestX"}}
	r, _ := play(t, begin...)
	last := start.Add(time.Minute)
	if got := r.hanging(last.Add(quiet - time.Second)); len(got) > 0 {
		t.Errorf("stopped too early: %v", got)
	}
	if got := r.hanging(last.Add(quiet)); len(got) != 1 || got[0] != "rollcall/a" {
		t.Errorf("not stopped: %v", got)
	}
	if got := r.hanging(last.Add(quiet + time.Minute)); len(got) > 0 {
		t.Errorf("stopped twice: %v", got)
	}
	for range 100 {
		begin = append(begin, event{Action: "run", Package: "rollcall/a", Test: "TestX"})
	}
	if r, _ = play(t, begin...); len(r.hanging(start.Add(101*time.Minute))) > 0 {
		t.Error("stopped after a fixed time")
	}
}

func TestOnlyTheBinaryOfThePackageIsStopped(t *testing.T) {
	all := processes("  1 0 /sbin/init\n 10 1 go test\n 11 10 /tmp/b001/sim.test -test.x\n 12 10 /tmp/b002/plan.test\n 13 1 /tmp/b003/sim.test\n 14 11 aws\nodd line\n")
	if got := binaries(all, 10, "rollcall/shared/sim"); len(got) != 1 || got[0] != 11 {
		t.Errorf("got %v of %v", got, all)
	}
}

func TestABuildSaysHowFarItIs(t *testing.T) {
	var out bytes.Buffer
	b := &compilation{name: "tool", began: start, total: 3, left: map[string]bool{"a": true, "b/c": true, "d": true}, stderr: &out}
	b.line("a\n")
	b.line("cached\n")
	if got := b.state(start.Add(time.Minute)); got != "tool: 1 of 3 packages compiled, 60 s so far, 2 min left" {
		t.Errorf("got %s", got)
	}
	b.line("b/c\n")
	b.line("d\n")
	b.line("# d\n")
	b.line("d.go:1:1: a mistake\n")
	if got := b.state(start.Add(5 * time.Minute)); got != "tool: all compiled, linking; 5 min so far" {
		t.Errorf("got %s", got)
	}
	expect.Equal(t, out.String(), "# d\nd.go:1:1: a mistake\n", "passed on")
}

// module writes a module with a package that passes, one that fails and one that hangs.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example\n\ngo 1.26\n",
		"main.go":            "package main\n\nfunc main() {}\n",
		"good/good_test.go":  "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"noise\") }\n",
		"bad/bad_test.go":    "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"it is bad\") }\n",
		"hangs/hang_test.go": "package hangs\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestHangs(t *testing.T) { println(\"here\"); time.Sleep(time.Hour) }\n",
	} {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	return dir
}

// The real commands are followed: what is compiled, what passes, and the exit code.
func TestRealRunsAreFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	dir := module(t)
	var out, err bytes.Buffer
	if e := run(t.Context(), []string{"build", "tool", "-o", filepath.Join(dir, "tool"), "."}, &out, &err); e != nil {
		t.Fatalf("%v\n%s", e, err.String())
	}
	if _, e := os.Stat(filepath.Join(dir, "tool")); e != nil {
		t.Error(e)
	}
	err.Reset()
	e := run(t.Context(), []string{"test", "-count=1", "--", "./good", "./bad"}, &out, &err)
	var exit *exec.ExitError
	expect.That(t, errors.As(e, &exit) && exit.ExitCode() == 1, "a test failed, and the error is %v", e)
	if !regexp.MustCompile(`(?m)^ok  \texample/good\t`).MatchString(out.String()) || strings.Contains(out.String(), "noise") || !strings.Contains(out.String(), "it is bad") || !strings.Contains(out.String(), "\nFAIL\texample/bad") {
		t.Errorf("got %s", out.String())
	}
	expect.That(t, strings.Contains(err.String(), "1 of 2 packages failed"), "the last line is missing: %s", err.String())
}

// A test that hangs is stopped with its stacks, and go test says that it failed.
func TestAHangingPackageShowsItsStacks(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	module(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := goTool(ctx, "test", "-json", "-timeout", "0", "./hangs")
	pipe, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	var out bytes.Buffer
	r := newTests([]string{"example/hangs"}, &out, time.Now())
	err = follow(cmd, pipe, time.Second, func(s string) { r.line(s, time.Now()) }, func() {
		if p := r.open["example/hangs"]; p != nil && len(p.running) > 0 {
			interrupt(cmd.Process.Pid, "example/hangs")
		}
	})
	if err == nil || !strings.Contains(out.String(), "SIGQUIT") || !strings.Contains(out.String(), "TestHangs") || !strings.Contains(out.String(), "FAIL\texample/hangs") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
