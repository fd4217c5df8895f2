package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestAPageThatCannotBeWrittenIsToldBeforeAnythingIsDone(t *testing.T) {
	noAWS(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{dir, filepath.Join(dir, "none", "page.html"), filepath.Join(file, "page.html")} {
		refused(t, []string{"check", "--html", path}, "--html "+path)
	}
}

// looked returns the result of a check of a cluster with one finding.
func looked() []report.Check {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return []report.Check{{
		Snapshot: &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "shop"}}},
		Assessment: assess.Assessment{Nodes: 3, Ready: 2, Findings: []roll.Finding{{
			Instance: "i-00000000000000001", Group: "asg/web", Kind: roll.Unknown, Stage: roll.Overdue, Since: at.Add(-time.Hour), Due: at.Add(-30 * time.Minute), Summary: "the node is silent"}}},
	}}
}

func TestAPageIsWrittenBesideTheTableAndTheJSON(t *testing.T) {
	for _, to := range []output{outputTable, outputJSON} {
		path := filepath.Join(t.TempDir(), "page.html")
		must.Succeed(t, os.WriteFile(path, []byte("an older page"), 0o600))
		var out bytes.Buffer
		must.Succeed(t, (checkFlags{html: path, output: form{output: to}}).show(Environment{Stdout: &out}, looked()))
		data := must.Read(t, path)
		if !strings.Contains(out.String(), "i-00000000000000001") || !strings.Contains(string(data), "the node is silent") || !strings.HasPrefix(string(data), "<!doctype html>") {
			t.Errorf("%s: %s", to, out.String())
		}
		left, err := os.ReadDir(filepath.Dir(path))
		expect.That(t, err == nil && len(left) == 1, "beside the page: %v %v", left, err)
	}
}

// A page that cannot be written leaves the old page, and the error names the flag.
func TestAPageThatFailsLeavesTheOneBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	must.Succeed(t, os.MkdirAll(filepath.Join(path, "inside"), 0o700))
	var out bytes.Buffer
	err := (checkFlags{html: path}).show(Environment{Stdout: &out}, looked())
	expect.That(t, err != nil && strings.Contains(err.Error(), "--html "+path) && out.Len() != 0, "%v, and printed %q", err, out.String())
	left, _ := os.ReadDir(filepath.Dir(path))
	expect.That(t, len(left) == 1 && left[0].IsDir(), "left behind: %v", left)
}

// The page is opened by the opener of the system. Its failure is reported with what it said.
func TestAPageIsOpened(t *testing.T) {
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	t.Setenv("PATH", dir)
	for system, opener := range map[string]string{"linux": "xdg-open", "darwin": "open", "windows": "cmd", "freebsd": "xdg-open"} {
		if err := show(t.Context(), system, "day.html"); err == nil || !strings.Contains(err.Error(), "--open: "+opener+" could not open ") {
			t.Errorf("%s without an opener: %v", system, err)
		}
		script := "#!/bin/sh\necho \"$@\" > " + seen + "\n"
		must.Succeed(t, os.WriteFile(filepath.Join(dir, opener), []byte(script), 0o700))
		expect.Succeed(t, show(t.Context(), system, "day.html"))
		here, err := filepath.Abs("day.html")
		must.Succeed(t, err)
		if got, err := os.ReadFile(seen); err != nil || !strings.HasSuffix(strings.TrimSpace(string(got)), here) {
			t.Errorf("%s opened %q, %v", system, got, err)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, opener), []byte("#!/bin/sh\necho no display >&2\nexit 3\n"), 0o700))
		if err := show(t.Context(), system, "day.html"); err == nil || !strings.Contains(err.Error(), "exit status 3: no display") {
			t.Errorf("%s with an opener that fails: %v", system, err)
		}
		must.Succeed(t, os.Remove(filepath.Join(dir, opener)))
	}
	refused(t, []string{"demo", "--open"}, "--open needs --html FILE")
}

// In a folder that others may write to, nobody can prepare the name of the draft: a link would lead the page
// over a file of the user. The page is the user's alone, unless an older one was made readable for others.
func TestAPageFollowsNoLinkAndIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "page.html"), filepath.Join(dir, "victim")
	must.Succeed(t, os.WriteFile(victim, []byte("precious"), 0o600))
	must.Succeed(t, os.Symlink(victim, fmt.Sprintf("%s.new-%d", path, os.Getpid())))
	must.Succeed(t, os.Symlink(victim, path))
	write := func(mode os.FileMode) {
		t.Helper()
		must.Succeed(t, replace(path, []byte("<!doctype html>")))
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != mode {
			t.Errorf("the page: %v, %v, want mode %v", info.Mode(), err, mode)
		}
	}
	write(0o600)
	got := must.Read(t, victim)
	expect.That(t, string(got) == "precious", "a link led the page over another file, which is %q", got)
	must.Succeed(t, os.Chmod(path, 0o644))
	write(0o644)
	left, err := os.ReadDir(dir)
	expect.That(t, err == nil && len(left) == 3, "left: %v, %v", left, err)
}
