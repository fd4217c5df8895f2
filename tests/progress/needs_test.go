package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const root = "../.."

// machine returns a folder with the programs that a machine has: those of a plain system, and the
// named ones as scripts.
func machine(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "awk", "sed", "printf", "dirname", "uname", "echo"} {
		if path, err := exec.LookPath(name); err == nil {
			must.Succeed(t, os.Symlink(path, filepath.Join(dir, name)))
		}
	}
	for name, script := range scripts {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	return dir
}

// whole are the programs of a machine that lacks nothing.
func whole() map[string]string {
	return map[string]string{"go": "echo go1.99.1", "python3": "case \"$2\" in *version_info*) echo 3.12;; esac", "gcc": "", "node": "", "npm": "", "chromium": "", "apt-get": ""}
}

func needs(t *testing.T, path string, what ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(path, "sh"), append([]string{filepath.Join(root, "tests", "needs.sh")}, what...)...)
	cmd.Env = []string{"PATH=" + path}
	out, err := cmd.CombinedOutput()
	expect.That(t, ctx.Err() == nil, "it takes more than 10 s:\n%s", out)
	return string(out), err
}

// What is missing is said with the way to get it, and everything that is missing at once.
func TestWhatAMachineLacksIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   []string
	}{
		"nothing":   {func(map[string]string) {}, nil},
		"no Go":     {func(m map[string]string) { delete(m, "go") }, []string{"Go 1.", "https://go.dev/dl", "sudo apt-get install golang"}},
		"an old Go": {func(m map[string]string) { m["go"] = "echo go1.20.3" }, []string{"this is 1.20.3"}},
		"a Go that may not download another": {func(m map[string]string) {
			m["go"] = `case "$2" in GOVERSION) echo go1.22.1;; GOTOOLCHAIN) echo local;; esac`
		}, []string{"this is 1.22.1"}},
		"a Go that downloads another": {func(m map[string]string) {
			m["go"] = `case "$2" in GOVERSION) echo go1.22.1;; GOTOOLCHAIN) echo auto;; esac`
		}, nil},
		"no Python":     {func(m map[string]string) { delete(m, "python3") }, []string{"Python 3.10", "sudo apt-get install python3 python3-venv"}},
		"an old Python": {func(m map[string]string) { m["python3"] = "echo 3.8" }, []string{"this is 3.8", "PYTHON="}},
		"a Python without venv": {func(m map[string]string) {
			m["python3"] = "case \"$2\" in *version_info*) echo 3.12;; *) exit 1;; esac"
		}, []string{"sudo apt-get install python3-venv"}},
		"no C compiler":                {func(m map[string]string) { delete(m, "gcc") }, []string{"a C compiler", "sudo apt-get install gcc"}},
		"a browser, and no node":       {func(m map[string]string) { delete(m, "node") }, nil},
		"no browser, and no node":      {func(m map[string]string) { delete(m, "chromium"); delete(m, "node") }, []string{"Chrome or Chromium", "ROLLCALL_NO_BROWSER=1"}},
		"nothing that it needs":        {func(m map[string]string) { clear(m) }, []string{"Go 1.", "Python 3.10", "a C compiler", "Chrome or Chromium", "with your system's package manager"}},
		"Fedora, without a C compiler": {func(m map[string]string) { delete(m, "gcc"); delete(m, "apt-get"); m["dnf"] = "" }, []string{"sudo dnf install gcc"}},
	} {
		scripts := whole()
		c.change(scripts)
		out, err := needs(t, machine(t, scripts), "go", "python", "gcc", "browser")
		var exit *exec.ExitError
		if (len(c.want) == 0) != (err == nil) || err != nil && !errors.As(err, &exit) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if len(c.want) == 0 && out != "" {
			t.Errorf("%s: nothing is missing, and it says %s", name, out)
		}
		for _, want := range c.want {
			expect.That(t, strings.Contains(out, want), "%s: %q is not said:\n%s", name, want, out)
		}
	}
}

func TestOnlyWhatIsNeededIsAskedFor(t *testing.T) {
	scripts := whole()
	delete(scripts, "python3")
	if out, err := needs(t, machine(t, scripts), "go"); err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}

// make test looks for everything before it builds anything, also when it builds in parallel.
func TestMakeTestLooksBeforeItBuilds(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make here")
	}
	for _, target := range []string{"test", "demo", "testbed-deps"} {
		cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "-B", target)
		cmd.Dir = root
		// As from a shell, also when make test runs this.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "MAKE") || strings.HasPrefix(s, "MFLAGS") })
		out, err := cmd.Output()
		must.Succeed(t, err)
		first, _, _ := bytes.Cut(out, []byte("\n"))
		expect.That(t, bytes.Contains(first, []byte("needs.sh go")), "make %s begins with %s", target, first)
	}
}
