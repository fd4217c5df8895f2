package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// blocks returns the code blocks of a page, which are indented by four, without the indent.
func blocks(page string) []string {
	var found []string
	inside := false
	for line := range strings.Lines(page) {
		text, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok && inside || inside && strings.TrimSpace(line) == "":
			found[len(found)-1] += strings.TrimPrefix(line, "    ")
			continue
		case ok:
			found = append(found, text)
		}
		inside = ok
	}
	return found
}

// shows reports whether a page's excerpt matches the output. A line "..." stands for
// omitted lines.
func shows(excerpt, printed string) bool {
	rest := printed
	for i, part := range strings.Split(excerpt, "...\n") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(excerpt, "...\n") || rest == ""
}

func TestTheExampleOfThePolicyPageIsWhatIsPrinted(t *testing.T) {
	page := must.Read(t, "../../../shared/policy/README.md")
	t.Chdir(t.TempDir())
	ran := 0
	for _, block := range blocks(string(page)) {
		if strings.HasPrefix(block, "apiVersion:") { // the last policy before a command is the one it uses
			must.Succeed(t, os.WriteFile("policy.yaml", []byte(block), 0o600))
		}
		line, want, _ := strings.Cut(block, "\n")
		for strings.HasSuffix(line, `\`) {
			more, rest, _ := strings.Cut(want, "\n")
			line, want = strings.TrimSuffix(line, `\`)+more, rest
		}
		args, ok := strings.CutPrefix(line, "$ rollcall ")
		if !ok {
			continue
		}
		ran++
		code, stdout, stderr := rollcall(t, strings.Fields(args)...)
		expect.That(t, code == ExitOK && shows(strings.TrimRight(want, "\n")+"\n", stdout), "%s: exit %d, %s\n%s", line, code, stderr, stdout)
	}
	expect.That(t, ran == 2, "ran %d commands", ran)
}

func TestPolicyTableFitsTheScreen(t *testing.T) {
	files, err := filepath.Glob("../../../shared/policy/testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, args := range [][]string{
			{},
			{"--cluster", "gpu-a", "--group", "nodepool/training"},
			{"--cluster", "lab", "--cluster-mode", "Notify", "--group", "nodepool/metal-1", "--preset", "windows",
				"--instance-tag", "rollcall:deadline=1d"},
		} {
			t.Run(filepath.Base(file), func(t *testing.T) {
				code, stdout, stderr := rollcall(t, append([]string{"policy", "check", file}, args...)...)
				must.That(t, code == ExitOK, "exit %d: %s", code, stderr)
				for _, line := range strings.Split(stdout, "\n") {
					oneWord := len(strings.Fields(line)) == 1 // not folded: people copy it
					if n := len([]rune(line)); n > 80 && !oneWord || strings.TrimRight(line, " ") != line {
						t.Errorf("%d columns: %q", n, line)
					}
				}
			})
		}
	}
}

const twoLevels = `apiVersion: rollcall/v1
mode: remediate
overrides:
  - match: {group: "asg/*"}
    registration: {deadline: 30m}
`

// effective is the JSON output of rollcall policy check.
type effective struct {
	Valid    bool
	For      struct{ Cluster, ClusterMode, Group, Preset string }
	Presets  []string
	Warnings []struct {
		Line, Column int
		Key, Problem string
	}
	Settings []struct{ Key, Value, From string }
}

func (e effective) of(key string) string {
	for _, s := range e.Settings {
		if s.Key == key {
			return s.Value + " from " + s.From
		}
	}
	return ""
}

func TestPolicyCheckShowsWhatHoldsAndWhy(t *testing.T) {
	file := write(t, twoLevels)
	for _, tt := range []struct {
		args      []string
		key, want string
	}{
		{nil, "mode", "remediate from line 2"},
		{nil, "registration.deadline", "15m from default"},
		{[]string{"--group", "asg/a"}, "registration.deadline", "30m from override at line 5"},
		{[]string{"--group", "none"}, "registration.deadline", "15m from default"},
		{[]string{"--preset", "windows"}, "registration.deadline", "30m from preset windows"},
		{[]string{"--cluster", "c", "--cluster-mode", "notify"}, "mode", "notify from cluster tag rollcall:mode"},
		{[]string{"--cluster-mode", "remediate"}, "rollcall:mode", "at most remediate from cluster tag"},
		{[]string{"--cluster-mode", "on"}, "mode", "observe from cluster tag rollcall:mode: on is not a mode: observe, notify or remediate"},
		{[]string{"--group", "asg/a", "--instance-tag", "rollcall:deadline=40m"}, "registration.deadline", "40m from instance tag rollcall:deadline"},
		{[]string{"--instance-tag", "rollcall:deadline=x=y"}, "rollcall:deadline", `ignored from instance tag: "x=y" is not a duration such as 90s, 5m or 1h30m: the units are h, m and s`},
	} {
		code, stdout, stderr := rollcall(t, append([]string{"policy", "check", file, "--output", "json"}, tt.args...)...)
		var got effective
		err := json.Unmarshal([]byte(stdout), &got)
		must.That(t, err == nil && code == ExitOK, "%q: exit %d, %v: %s", tt.args, code, err, stderr)
		if !got.Valid || got.of(tt.key) != tt.want || !slices.Equal(got.Presets, []string{"gpu", "metal", "windows"}) {
			t.Errorf("%q: %s is %q, want %q", tt.args, tt.key, got.of(tt.key), tt.want)
		}
		_, table, _ := rollcall(t, append([]string{"policy", "check", file}, tt.args...)...)
		for word := range strings.FieldsSeq(tt.want) {
			if word != "from" && !strings.Contains(table, word) {
				t.Errorf("%q: the table lacks %q:\n%s", tt.args, word, table)
			}
		}
	}
}

// A tag that does not lower the mode is still shown, and so is the mode that applies where
// the file has none.
func TestPolicyCheckShowsTagsThatDoNotLowerTheMode(t *testing.T) {
	observing := write(t, "apiVersion: rollcall/v1\nmode: observe\n")
	_, stdout, _ := rollcall(t, "policy", "check", observing, "--cluster-mode", "remediate")
	says(t, stdout,
		"mode                             observe        line 2\n",
		"rollcall:mode                    at most remediate  cluster tag\n",
	)
	_, stdout, _ = rollcall(t, "policy", "check", write(t, "apiVersion: rollcall/v1\n"), "--cluster-mode", "notify")
	says(t, stdout,
		"mode                             observe        default, or what the stack's\n",
		"rollcall:mode                    at most notify cluster tag\n",
	)
}

func TestPolicyCheckSaysWhatItWasAskedFor(t *testing.T) {
	file := write(t, twoLevels)
	args := []string{"policy", "check", file, "--cluster", "c", "--cluster-mode", "notify", "--group", "asg/a", "--preset", "gpu"}
	_, stdout, _ := rollcall(t, args...)
	want := "for cluster c, cluster tag rollcall:mode=notify, group asg/a, preset gpu\n"
	expect.That(t, strings.Contains(stdout, want), "lacks %q:\n%s", want, stdout)
	_, stdout, _ = rollcall(t, append(args, "--output", "json")...)
	var got effective
	must.Succeed(t, json.Unmarshal([]byte(stdout), &got))
	expect.That(t, got.For.Cluster == "c" && got.For.ClusterMode == "notify" && got.For.Group == "asg/a" && got.For.Preset == "gpu", "%+v", got.For)
	_, stdout, _ = rollcall(t, "policy", "check", file)
	expect.That(t, !strings.Contains(stdout, "\nfor "), "nothing was asked for:\n%s", stdout)
}

func TestPolicyCheckReportsAllFaultsOfTheFlags(t *testing.T) {
	args := []string{"policy", "check", "none.yaml", "--output", "xml", "--group", "training", "--instance-tag", "rollcall:deadline", "--instance-tag", "rollcall:mode=notify", "--instance-tag", "=x"}
	refused(t, args, `--output "xml"`, `--group "training"`, `--instance-tag "rollcall:deadline"`, `--instance-tag "rollcall:mode"`, `--instance-tag ""`, "KEY=VALUE", "nodepool/NAME")
	for name, valid := range map[string]bool{
		"none": true, "nodepool/a": true, "nodegroup/a": true, "asg/a b": true,
		"nodepool/": false, "nodepool": false, "asg/a/b": false, "group/a": false, "None": false,
	} {
		expect.That(t, isGroup(name) == valid, "group %q: %v", name, !valid)
	}
	refused(t, []string{"policy", "check", write(t, twoLevels), "--preset", "gpus"}, "--preset gpus", "gpu, metal, windows")
}

func TestPolicyCheckGivesFaultsAsJSON(t *testing.T) {
	code, stdout, stderr := rollcall(t, "policy", "check", write(t, "apiVersion: rollcall/v1\nmode: on\nlimits: {massSilence: 10}\n"), "--output", "json")
	var got struct {
		Valid  bool
		Faults []struct {
			Line, Column int
			Key, Problem string
		}
	}
	must.Succeed(t, json.Unmarshal([]byte(stdout), &got))
	if code != ExitError || stderr != "" || got.Valid || len(got.Faults) != 2 || got.Faults[1].Line != 3 || got.Faults[1].Key != "limits.massSilence" {
		t.Errorf("exit %d, %q, %+v", code, stderr, got)
	}
}

// A policy that is too large for any parameter is reported before it is stored.
func TestPolicyCheckSaysWhatAParameterHolds(t *testing.T) {
	const document = "apiVersion: rollcall/v1\n"
	sized := func(n int) string { return write(t, document+"#"+strings.Repeat("x", n-len(document)-2)+"\n") }
	for n, want := range map[int]string{4096: "", 4097: "--tier Advanced", 8192: "--tier Advanced", 8193: "an SSM parameter holds 8192 at most"} {
		code, stdout, stderr := rollcall(t, "policy", "check", sized(n))
		if (code != ExitOK) != (n > 8192) || (stdout == "") != (n > 8192) || (stderr == "") != (want == "") || !strings.Contains(stderr, want) {
			t.Errorf("%d bytes: exit %d, %q, want %q", n, code, stderr, want)
		}
	}
}

func TestPolicyWarningsAreShown(t *testing.T) {
	file := write(t, "apiVersion: rollcall/v1\nladders: {Unknown: [{do: drain}]}\n")
	_, stdout, _ := rollcall(t, "policy", "check", file)
	expect.That(t, strings.Contains(stdout, "warning: line 2: ladders.Unknown[0]: drain is skipped"), "%s", stdout)
	_, stdout, _ = rollcall(t, "policy", "check", file, "--output", "json")
	var got effective
	must.Succeed(t, json.Unmarshal([]byte(stdout), &got))
	expect.That(t, len(got.Warnings) == 1 && got.Warnings[0].Line == 2 && got.Warnings[0].Key == "ladders.Unknown[0]", "%+v", got.Warnings)
}
