package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// forgetful plans neither acts nor why there are none.
var forgetful = sim.Guards{Plan: func(make func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
	return func(in plan.Input) plan.Plan {
		p := make(in)
		p.Orders, p.Held, p.Steps = nil, nil, nil
		return p
	}
}}

func TestTheSameSeedPrintsTheSame(t *testing.T) {
	var digests []string
	for range 2 {
		code, out, errs := rollcall(t, "simulate", "--seed", "5", "--hours", "6", "--clusters", "1", "--nodes", "8", "--output", "json")
		must.That(t, code == ExitOK, "exit code %d: %s%s", code, out, errs)
		var got simulated
		err := json.Unmarshal([]byte(out), &got)
		must.That(t, err == nil, "%v in %s", err, out)
		expect.That(t, got.Seed == 5 && got.Hours == 6 && got.NodeHours >= 20 && got.Digest != "" && len(got.Broken) == 0, "got %+v", got)
		digests = append(digests, got.Digest)
	}
	expect.That(t, digests[0] == digests[1], "two runs, two digests: %v", digests)
}

func TestSimulateTakesNoNonsense(t *testing.T) {
	args := []string{"simulate", "--hours", "2", "--clusters", "0", "--nodes", "3", "--faults", "-1", "--shrink", "-2", "--soak", "-5m", "--seeds", "0", "--fault", "flood", "--output", "xml"}
	refused(t, args, "--hours 2: it takes 6 to", "--clusters 0:", "--nodes 3: it takes 4 to", "--faults -1:", "--shrink -2:", "--soak -5m0s:", "--seeds 0:", "--fault flood:", `--output "xml"`)
}

// A soak continues with the next seeds for the given time.
func TestASoakGoesOnWithTheNextSeeds(t *testing.T) {
	var out, errs bytes.Buffer
	clock := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	env := Environment{Stdout: &out, Stderr: &errs, Now: func() time.Time { clock = clock.Add(10 * time.Second); return clock }}
	code := Run(t.Context(), []string{"simulate", "--seed", "40", "--hours", "6", "--clusters", "1", "--nodes", "4", "--faults", "2", "--soak", "1m"}, env)
	must.That(t, code == ExitOK, "exit code %d: %s%s", code, out.String(), errs.String())
	n := strings.Count(out.String(), "seed 4")
	expect.That(t, n >= 4 && n <= 6 && strings.Contains(out.String(), "seed 41:") && strings.Contains(out.String(), " situations, "), "%d runs:\n%s", n, out.String())
}

// Seeds with a given fault are counted at the end, and so are those in which it took
// effect. Without acts no rule is broken.
func TestSeedsWithACertainFaultAreCounted(t *testing.T) {
	var out bytes.Buffer
	still := sim.Guards{Plan: func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
		return func(plan.Input) plan.Plan { return plan.Plan{} }
	}}
	f := simulateFlags{seed: 4, seeds: 3, hours: 6, clusters: 1, nodes: 4, certain: []string{"bastion"}, output: asTable, guards: still}
	if err := simulate(t.Context(), Environment{Stdout: &out, Now: time.Now}, f); err != nil && !strings.Contains(out.String(), "broke a rule") {
		t.Fatal(err)
	}
	expect.That(t, strings.Contains(out.String(), "of seeds 4 to") && strings.Contains(out.String(), "the situation of bastion arose in"), "got %s", out.String())
}

// The results of seeds do not depend on how many run in parallel: the first seed that
// breaks a rule ends the run, and is reported.
func TestSeedsComeToTheSameOnAnyNumberOfProcessors(t *testing.T) {
	took := regexp.MustCompile(`, in [0-9a-zµ.]+`)
	var said []string
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		var out bytes.Buffer
		f := simulateFlags{seed: 1, seeds: 12, hours: 14, clusters: 1, nodes: 8, output: asTable, guards: forgetful}
		if err := simulate(t.Context(), Environment{Stdout: &out, Now: time.Now}, f); err != nil && !strings.Contains(out.String(), "broke a rule") {
			t.Error(err)
		}
		runtime.GOMAXPROCS(before)
		said = append(said, took.ReplaceAllString(out.String(), ""))
	}
	expect.That(t, said[0] == said[1] && strings.Contains(said[0], "BROKEN"), "on one:\n%s\non four:\n%s", said[0], said[1])
}

// A summary is one line, whatever the results of the seeds. All of them run.
func TestASummaryIsOneLine(t *testing.T) {
	for want, guards := range map[string]sim.Guards{"no rule was broken": {}, "BROKEN: cure by seed": forgetful} {
		var out bytes.Buffer
		f := simulateFlags{seed: 5, seeds: 8, hours: 14, clusters: 1, nodes: 8, output: asTable, summary: true, guards: guards}
		err := simulate(t.Context(), Environment{Stdout: &out, Now: time.Now}, f)
		expect.That(t, (err != nil) == (want != "no rule was broken"), "%s: %v", want, err)
		if said := out.String(); strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "seeds 5 to 12, 1 cluster of 8 nodes, 14 h: ") || !strings.Contains(said, want) {
			t.Errorf("want %q in one line of seeds 5 to 12:\n%s", want, said)
		}
	}
}

// When a rule is broken, the output shows the rule, a minimized run with its history, and
// the command that repeats the whole run.
func TestABrokenRuleIsShownSmall(t *testing.T) {
	for seed := uint64(1); seed < 20; seed++ {
		var out bytes.Buffer
		f := simulateFlags{seed: seed, hours: 10, clusters: 1, nodes: 6, shrink: 20, output: asTable, guards: forgetful}
		env := Environment{Stdout: &out, Now: time.Now}
		failed, err := f.report(t.Context(), env, f.run(t.Context(), env, seed), &tally{situations: map[sim.Situation]int{}})
		must.Succeed(t, err)
		if !failed {
			continue
		}
		says(t, out.String(), "BROKEN: deadline", "the smallest run that breaks the rule has 1 fault:", "its history:", "violated", "rollcall simulate --seed")
		return
	}
	t.Error("no seed broke a rule")
}

func TestTheDemoFitsOneScreen(t *testing.T) {
	code, out, errs := rollcall(t, "demo")
	must.That(t, code == ExitOK && errs == "", "exit code %d: %s", code, errs)
	says(t, out,
		"UserDataMalformedFlags", "UndeclaredStartupTaint", "ArchitectureMismatch", "ControllerRoleMapped", "MemoryPressurePreceded", "ZoneOutage", "UserDataUnparseable", "OwnerGone",
		"held terminate of 2 (SharedCause)", "rebooted 1, terminated 1", "20h 07m at 01:10", "of sick time saved", "67 notices", "--verbose",
	)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	expect.That(t, len(lines) <= 60, "%d lines", len(lines))
	for n, line := range lines {
		expect.That(t, len([]rune(line)) <= 100, "line %d is longer than 100 columns: %s", n+1, line)
	}
	expect.That(t, !strings.ContainsAny(out, "\x1b✔‖▲"), "colours or symbols without a terminal")
}

func TestTheWholeDemo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.html")
	code, out, errs := rollcall(t, "demo", "--verbose", "--html", file)
	must.That(t, code == ExitOK, "exit code %d: %s", code, errs)
	says(t, out,
		"UserDataMalformedFlags", "UndeclaredStartupTaint", "ArchitectureMismatch", "ControllerRoleMapped", "MemoryPressurePreceded", "ZoneOutage", "UserDataUnparseable", "OwnerGone",
		"SharedCause", "What was held, and why", "The day in figures", "To fix ControllerRoleMapped:", "rebooted i-", "terminated i-",
	)
	expect.That(t, !strings.Contains(out, "\x1b["), "colours without a terminal")
	for n, line := range strings.Split(out, "\n") {
		if oneWord := !strings.Contains(strings.TrimSpace(line), " "); !strings.HasPrefix(line, "    |") && !oneWord && len([]rune(line)) > 80 {
			t.Errorf("line %d is longer than a terminal is wide: %s", n+1, line)
		}
	}
	if page, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(page, []byte("<!DOCTYPE html>")) && !bytes.HasPrefix(page, []byte("<!doctype html>")) {
		t.Errorf("%v, %.40s", err, page)
	}
}

// A team can try its own policy, as YAML or JSON, in its own mode or in another one.
func TestSimulateTriesAPolicyOfOnesOwn(t *testing.T) {
	const day = "conditions: [{type: Ready, status: Unknown, tolerate: 20m}]\n"
	observing := source(t, "observe.yaml", "# ours\napiVersion: rollcall/v1\nmode: observe\n"+day)
	acts := func(args ...string) (n int) {
		t.Helper()
		code, out, errs := rollcall(t, append([]string{"simulate", "--seed", "7", "--hours", "14", "--output", "json"}, args...)...)
		var got simulated
		err := json.Unmarshal([]byte(out), &got)
		must.That(t, code == ExitOK && err == nil, "%q: exit code %d, %v: %s%s", args, code, err, out, errs)
		return got.Counts[sim.EventAct]
	}
	if n := acts("--policy", observing); n != 0 {
		t.Errorf("%d acts in mode observe", n)
	}
	let := acts("--policy", observing, "--mode", "remediate")
	expect.That(t, let != 0, "no act in mode remediate")
	for name, text := range map[string]string{"no-mode.yaml": "apiVersion: rollcall/v1\n" + day, "policy.json": `{"apiVersion": "rollcall/v1", "conditions": [{"type": "Ready", "status": "Unknown", "tolerate": "20m"}]}`} {
		n := acts("--policy", source(t, name, text))
		expect.That(t, n == let, "%s: %d acts, want %d", name, n, let)
	}

	bad := source(t, "bad.yaml", "apiVersion: rollcall/v1\nlimit: {}\n")
	refused(t, []string{"simulate", "--policy", bad, "--mode", "destroy", "--nodes", "1"}, "--nodes 1:", "--mode: destroy is not a mode", "bad.yaml", "limit")
	refused(t, []string{"simulate", "--mode", "notify"}, "--policy FILE")
}

// What a policy forbids or allows beyond the defaults is no broken rule.
func TestAPolicyOfOnesOwnBreaksNoRule(t *testing.T) {
	for section, run := range map[string]string{
		"silentNode: {doNotDisrupt: ignore, budgets: ignore, localVolumes: ignore}": "--fault silent-serving --nodes 8 --hours 6",
		"owners: {managed-nodegroup: notify, autoscaling-group: notify}":            "--fault relapse --nodes 12 --hours 14 --faults 1",
		"limits: {actionsPerHour: 0}":                                               "--fault relapse --nodes 12 --hours 14 --faults 1",
	} {
		path := write(t, remediating+section+"\n")
		args := append([]string{"simulate", "--policy", path, "--seed", "2", "--shrink", "0"}, strings.Fields(run)...)
		code, out, errs := rollcall(t, args...)
		expect.That(t, code == ExitOK, "%s: exit code %d: %s%s", section, code, out, errs)
	}
}

var asTable = form{outputTable, []output{outputTable}}
