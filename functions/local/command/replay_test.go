package command

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/plan/replay"
	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// seed7 records a simulated run with acts, once for all tests.
func seed7(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seed7"+replay.Extension)
	code, stdout, stderr := rollcall(t, "simulate", "--seed", "7", "--clusters", "1", "--record", file)
	must.That(t, code == ExitOK, "exit %d: %s%s", code, stdout, stderr)
	return file
}

// replayed runs replay with JSON output.
func replayed(t *testing.T, args ...string) report.ReplayDocument {
	t.Helper()
	code, stdout, stderr := rollcall(t, append([]string{"replay", "-o", "json"}, args...)...)
	var d report.ReplayDocument
	err := json.Unmarshal([]byte(stdout), &d)
	must.That(t, err == nil && code == ExitOK && len(d.Policies) == 2, "%q: exit %d, %v: %s%s", args, code, err, stdout, stderr)
	return d
}

func TestAReplayComparesPolicies(t *testing.T) {
	noAWS(t)
	file, html := seed7(t), filepath.Join(t.TempDir(), "replay.html")
	d := replayed(t, "--from", file, "--html", html)
	ran, raised := d.Policies[0], d.Policies[1]
	if ran.Name != "as it ran" || raised.Name != "mode remediate" || len(ran.Acts) == 0 || ran.Acts[0].Result != "done" || ran.Notices == 0 || len(ran.Holds) == 0 || ran.MachineHoursLost <= 0 || d.Checks == 0 || !d.From.Before(d.To) {
		t.Errorf("%+v", d)
	}
	data, err := os.ReadFile(html)
	expect.That(t, err == nil && strings.Contains(string(data), "machine-hours lost"), "%v: %s", err, data)
	code, stdout, stderr := rollcall(t, "replay", "--from", file)
	expect.That(t, code == ExitOK && stderr == "" && strings.Contains(stdout, "machine-hours saved") && strings.Contains(stdout, "as it ran"), "exit %d: %s%s", code, stdout, stderr)
	policies := home(t, map[string]string{"gentle.yaml": "apiVersion: rollcall/v1\nmode: remediate\nlimits: {actionsPerHour: 0}\n", "idle.yaml": "apiVersion: rollcall/v1\nmode: notify\n"})
	d = replayed(t, "--from", file, "--policy", filepath.Join(policies, "gentle.yaml"), "--policy", filepath.Join(policies, "idle.yaml"))
	for _, p := range d.Policies {
		expect.That(t, len(p.Acts) == 0 && p.MachineHoursSaved == 0 && p.MachineHoursLost >= ran.MachineHoursLost, "%s: %+v", p.Name, p)
	}
	if d := replayed(t, "--from", file, "--policy", filepath.Join(policies, "idle.yaml"), "--mode", "remediate"); d.Policies[0].Name != "as it ran" || len(d.Policies[1].Acts) == 0 {
		t.Errorf("with --mode remediate: %+v", d.Policies[1])
	}
}

// Bundles are checks at their times, each with what the ones before showed.
func TestAReplayOfBundles(t *testing.T) {
	noAWS(t)
	dir := t.TempDir()
	for name, at := range map[string]string{"a": "2026-03-10T12:00:00Z\n", "b": "2026-03-10T12:05:00Z\n"} {
		must.Succeed(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(unmapped)))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name, "at.txt"), []byte(at), 0o644))
	}
	d := replayed(t, "--from", dir)
	expect.That(t, d.Checks == 2 && d.To.Sub(d.From).Minutes() == 5 && len(d.Policies[1].Holds) != 0 && len(d.Policies[0].Acts) == 0, "%+v", d)
}

// A deployment's bucket has an object for each check.
func TestAReplayOfADeployment(t *testing.T) {
	noAWS(t)
	data := must.Read(t, seed7(t))
	checks, err := replay.Read(bytes.NewReader(data))
	must.Succeed(t, err)
	objects := map[string]string{"111122223333/eu-west-1/orders/i-1/findings.json": "evidence"}
	for _, c := range checks[:4] {
		var one bytes.Buffer
		w, err := replay.NewWriter(&one)
		if err == nil {
			err = w.Write(c)
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		id := c.Cluster()
		objects[archive.Checks(id.Account, id.Region, id.Name)+c.Now.Format("20060102T150405Z")+replay.Extension] = one.String()
	}
	bucket(t, objects, "")
	for name, args := range map[string][]string{
		"a stack":   {"--stack", "rollcall", "--days", "100000"},
		"a cluster": {"--stack", "rollcall", "--days", "100000", "--cluster", checks[0].Cluster().Name},
		"a bucket":  {"--from", "s3://results/checks/"},
	} {
		d := replayed(t, args...)
		expect.That(t, d.Checks == 4, "%s: %d checks", name, d.Checks)
	}
	for want, args := range map[string][]string{
		"there is no recorded check: a deployment":            {"--stack", "rollcall", "--days", "1"},
		"there is no recorded check of cluster elsewhere: a ": {"--stack", "rollcall", "--days", "100000", "--cluster", "elsewhere"},
	} {
		refused(t, append([]string{"replay"}, args...), want)
	}
}

func TestWhatAReplayCannotBeAsked(t *testing.T) {
	noAWS(t)
	dir := home(t, map[string]string{"bad.yaml": "mode: sometimes\n", "no" + replay.Extension: "text"})
	for want, args := range map[string][]string{
		"give either --stack NAME or --from PATH": nil,
		"either --stack":               {"--stack", "rollcall", "--from", dir},
		"--days 0":                     {"--stack", "rollcall", "--days", "0"},
		"--days needs --stack NAME":    {"--from", dir, "--days", "30"},
		"two policies can be compared": {"--from", dir, "--policy", "a", "--policy", "b", "--policy", "c"},
		"--mode needs --policy FILE":   {"--from", dir, "--mode", "notify"},
		"bad.yaml":                     {"--from", dir, "--policy", filepath.Join(dir, "bad.yaml")},
		"it is not a record of checks": {"--from", dir},
		"no such file or directory":    {"--from", filepath.Join(dir, "none")},
		"in " + healthy + ": only checks in which something is or was wrong are recorded": {"--from", healthy},
	} {
		refused(t, append([]string{"replay"}, args...), want)
	}
	refused(t, []string{"simulate", "--seeds", "2", "--record", filepath.Join(dir, "x")}, "--record: it takes one seed")
}

// What is read is bounded, and of a folder only regular files are read: a pipe there may never end.
func TestWhatIsReadIsBounded(t *testing.T) {
	for most, read := range map[int64]bool{2: false, 3: true} {
		if data, err := bounded(strings.NewReader("abc"), most); read != (err == nil) || read && string(data) != "abc" || !read && !strings.Contains(err.Error(), "it is larger than 2 bytes") {
			t.Errorf("%d bytes: %q, %v", most, data, err)
		}
	}
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(os.DevNull, filepath.Join(dir, "x.rollcall")))
	refused(t, []string{"replay", "--from", dir}, filepath.Join(dir, "x.rollcall")+": it is no regular file")
}

// An error quotes what others wrote: names of files and objects, answers of API servers.
func TestAnErrorMovesNoCursor(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "x\x1b[2J\u009b31m\u202e.rollcall"), []byte("x"), 0o600))
	var stderr bytes.Buffer
	err := told(Environment{Stdout: io.Discard, Stderr: &stderr}, dir, nil, map[string]string{"nodes.json": "forbidden\x1b[2J"})
	expect.That(t, err != nil, "a bundle without nodes can be used")
	code, _, said := rollcall(t, "replay", "--from", dir)
	said += stderr.String()
	expect.That(t, code == ExitError && strings.Contains(said, "forbidden\ufffd[2J") && strings.Contains(said, "x\ufffd[2J\ufffd31m\ufffd.rollcall"), "exit %d: %q", code, said)
}
