package policy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// Values above those of the other levels, so that each test sees which level won.
func precedence(t *testing.T) *Document {
	t.Helper()
	d, err := Parse(must.Read(t, "testdata/good/precedence.yaml"))
	must.Succeed(t, err)
	return d
}

func TestPrecedence(t *testing.T) {
	d := precedence(t)
	for _, c := range []struct {
		name, cluster, tag string
		group              roll.Group
		mode               Mode
		deadline           time.Duration
		perHour            int
	}{
		{"document", "web", "", "", Notify, 20 * time.Minute, 5},
		{"document for a group that no override names", "web", "", "asg/a", Notify, 20 * time.Minute, 5},
		{"group override without a cluster", "web", "", "nodepool/training", Observe, 40 * time.Minute, 5},
		{"cluster override", "gpu-b", "", "", Remediate, 30 * time.Minute, 10},
		{"later cluster override, key by key", "gpu-a", "", "", Remediate, 25 * time.Minute, 10},
		{"group beats cluster though it stands earlier", "gpu-b", "", "nodepool/training", Observe, 40 * time.Minute, 10},
		{"group with cluster", "gpu-a", "", "nodepool/web", Remediate, 25 * time.Minute, 2},
		{"two group overrides", "gpu-a", "", "nodepool/training", Observe, 40 * time.Minute, 2},
		{"the cluster of a group override must match too", "gpu-b", "", "nodepool/web", Remediate, 30 * time.Minute, 10},
		{"a star does not cross a slash", "gpu-a", "", "nodepool/a/b", Remediate, 25 * time.Minute, 10},
		{"group none is a group", "gpu-a", "", roll.GroupNone, Remediate, 25 * time.Minute, 10},
		{"tag does not raise the document", "web", "remediate", "", Notify, 20 * time.Minute, 5},
		{"tag lowers the document", "web", "observe", "", Observe, 20 * time.Minute, 5},
		{"tag lowers a cluster override", "gpu-a", "notify", "", Notify, 25 * time.Minute, 10},
		{"tag goes for groups", "gpu-a", "notify", "nodepool/web", Notify, 25 * time.Minute, 2},
		{"tag does not raise a group override", "gpu-a", "remediate", "nodepool/training", Observe, 40 * time.Minute, 2},
		{"a tag that is no mode observes", "gpu-a", "Remediate", "", Observe, 25 * time.Minute, 10},
		{"a tag with a space observes", "gpu-a", "remediate ", "", Observe, 25 * time.Minute, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := d.For(c.cluster, c.tag, roll.GroupSelector(c.group))
			expect.That(t, p.Mode == c.mode && p.ModeSet, "mode %s, set %v, want %s", p.Mode, p.ModeSet, c.mode)
			expect.That(t, p.Registration.Deadline == c.deadline, "deadline %s, want %s", p.Registration.Deadline, c.deadline)
			expect.That(t, p.Limits.ActionsPerHour == c.perHour, "actions per hour %d, want %d", p.Limits.ActionsPerHour, c.perHour)
		})
	}
}

func TestSectionsMergeKeyByKey(t *testing.T) {
	want := defaultPolicy()
	want.Mode, want.ModeSet = Remediate, true
	want.Registration.Deadline = 25 * time.Minute
	want.Conditions[0].Tolerate = time.Hour
	want.Conditions[1].Tolerate = 40 * time.Minute
	want.Ladders[roll.Unknown] = []Step{{Do: DoNotify, Line: 20}}
	want.Limits.ActionsPerHour = 2
	want.Owners[roll.OwnerNone] = OwnerTerminate
	diff := cmp.Diff(want, precedence(t).For("gpu-a", "", roll.GroupSelector("nodepool/web")))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}

func TestAStopHoldsWhateverElseIsSaid(t *testing.T) {
	d, err := Parse(must.Read(t, "testdata/good/stopped.yaml"))
	must.Succeed(t, err)
	expect.That(t, d.Stopped(), "the document does not say so")
	for _, cluster := range []string{"a", "b"} {
		for _, tag := range []string{"", "remediate"} {
			for _, of := range []roll.Selector{{}, {Group: "asg/a"}, {Group: "none", Deadline: "45m"}, {Group: "asg/a", Preset: roll.PresetGPU}} {
				expect.That(t, d.For(cluster, tag, of).Stop && d.Cluster(cluster, tag, Remediate)(of).Stop, "cluster %s, tag %q, %+v: no stop", cluster, tag, of)
			}
		}
	}
	for _, text := range []string{"", "stop: false\n", "stop: False\nmode: observe\n"} {
		d, err := Parse([]byte("apiVersion: rollcall/v1\n" + text))
		expect.That(t, err == nil && !d.Stopped() && !d.For("a", "", roll.Selector{}).Stop, "%q stops: %v", text, err)
	}
	if d := Default(); d.Stopped() || !d.Halted().Stopped() || d.Stopped() {
		t.Error("the defaults stop, or cannot be stopped")
	}
}

func TestModeSet(t *testing.T) {
	for _, c := range []struct {
		name, yaml, tag string
		group           roll.Group
		want            bool
	}{
		{"nobody", "", "", "asg/a", false},
		{"document", "mode: observe", "", "", true},
		{"tag", "", "observe", "", false}, // it lowers, but names none
		{"invalid tag", "", "off", "", false},
		{"cluster override", "overrides: [{match: {cluster: a}, mode: notify}]", "", "", true},
		{"override of another cluster", "overrides: [{match: {cluster: b}, mode: notify}]", "", "", false},
		{"group override", "overrides: [{match: {group: asg/a}, mode: notify}]", "", "asg/a", true},
		{"group override seen from the cluster", "overrides: [{match: {group: '*'}, mode: notify}]", "", "", false},
	} {
		d, err := Parse([]byte("apiVersion: rollcall/v1\n" + c.yaml))
		must.Succeed(t, err)
		expect.Equal(t, d.For("a", c.tag, roll.GroupSelector(c.group)).ModeSet, c.want, "%s", c.name)
	}
}

func TestConditionsAreAddedAfterTheDefaults(t *testing.T) {
	d, err := Parse([]byte("apiVersion: rollcall/v1\nconditions:\n  - {type: KernelDeadlock, status: True, tolerate: 1h}\n  - {type: Ready, status: False, tolerate: 2h}\n"))
	must.Succeed(t, err)
	want := defaultPolicy().Conditions
	want[0].Tolerate = 2 * time.Hour
	want = append(want, Condition{"KernelDeadlock", "True", time.Hour})
	diff := cmp.Diff(want, d.For("", "", roll.Selector{}).Conditions)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}

func TestWarningNeverComesAfterTheDeadline(t *testing.T) {
	d, err := Parse([]byte(`apiVersion: rollcall/v1
overrides:
  - match: {cluster: "slow-*"}
    registration: {warnAfter: 30m, deadline: 40m}
  - match: {group: "asg/*"}
    registration: {deadline: 10m}
`))
	must.Succeed(t, err)
	want := Registration{WarnAfter: 10 * time.Minute, Deadline: 10 * time.Minute}
	got := d.For("slow-a", "", roll.GroupSelector("asg/a")).Registration
	expect.That(t, got == want, "%+v", got)
	told := d.Explain("slow-a", "", roll.GroupSelector("asg/a"))
	if want := (Setting{"registration.warnAfter", "10m", "override at line 4, lowered to registration.deadline"}); !slices.Contains(told, want) {
		t.Errorf("%+v", told)
	}
}

func TestADrainThatIsNotForcedAsWrittenIsWarnedOf(t *testing.T) {
	const idle, early = "has no effect: drain.force is nowhere afterBudgetTimeout", "the first try to drain takes longer"
	for document, want := range map[string][]string{
		"drain: {timeout: 2h}":                                           nil,
		"drain: {force: afterBudgetTimeout}":                             nil,
		"drain: {budgetTimeout: 2h}":                                     {"line 2: drain.budgetTimeout: " + idle},
		"drain: {force: never, budgetTimeout: 2h}":                       {"line 2: drain.budgetTimeout: " + idle},
		"overrides: [{match: {cluster: a}, drain: {budgetTimeout: 2h}}]": {"line 2: overrides[0].drain.budgetTimeout: " + idle},
		"drain: {budgetTimeout: 2h}\noverrides: [{match: {cluster: a}, drain: {force: afterBudgetTimeout}}]":                                   nil,
		"drain: {force: afterBudgetTimeout}\noverrides: [{match: {cluster: a}, drain: {budgetTimeout: 2h}}]":                                   nil,
		"drain: {force: afterBudgetTimeout, budgetTimeout: 10m}":                                                                               nil,
		"drain: {force: afterBudgetTimeout, budgetTimeout: 9m}":                                                                                {"line 2: drain.budgetTimeout: " + early},
		"drain: {force: afterBudgetTimeout, timeout: 2h}":                                                                                      {"line 2: drain.timeout: " + early},
		"drain: {force: afterBudgetTimeout}\noverrides: [{match: {cluster: a}, drain: {timeout: 90m}}, {match: {cluster: b}, mode: observe}]":  {"line 3: overrides[0].drain.timeout: " + early},
		"drain: {timeout: 2h}\noverrides:\n  - match: {cluster: a}\n    drain: {force: afterBudgetTimeout}":                                    {"line 5: overrides[0].drain.force: " + early},
		"drain: {force: afterBudgetTimeout, budgetTimeout: 5m}\noverrides: [{match: {cluster: a}, drain: {timeout: 4m}}]":                      {"line 2: drain.budgetTimeout: " + early},
		"drain: {force: afterBudgetTimeout, budgetTimeout: 5m}\noverrides: [{match: {cluster: a}, drain: {force: never, budgetTimeout: 20m}}]": {"line 2: drain.budgetTimeout: " + early},
	} {
		d, err := Parse([]byte("apiVersion: rollcall/v1\n" + document))
		must.That(t, err == nil, "%s: %v", document, err)
		var got []string
		for _, w := range d.Warnings() {
			got = append(got, w.String())
		}
		expect.That(t, slices.EqualFunc(got, want, strings.HasPrefix), "%s: %q, want %q", document, got, want)
	}
}

func TestDeadlineMayEqualTheWarning(t *testing.T) {
	d, err := Parse([]byte("apiVersion: rollcall/v1\nregistration: {deadline: 5m}\n"))
	must.Succeed(t, err)
	got, want := d.For("", "", roll.Selector{}).Registration, (Registration{5 * time.Minute, 5 * time.Minute})
	expect.That(t, got == want, "%+v", got)
}

// explained returns a page for each document: its warnings, and its settings for a selector.
func explained(d *Document, cluster, tag string, of roll.Selector) string {
	var b strings.Builder
	for _, w := range d.Warnings() {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, s := range d.Explain(cluster, tag, of) {
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.Key, s.Value, s.From)
	}
	return b.String()
}

func TestExplain(t *testing.T) {
	for page, args := range map[string]struct {
		document, cluster, tag string
		of                     roll.Selector
	}{
		"minimal":           {"minimal", "a", "", roll.Selector{}},
		"design":            {"design", "gpu-a", "", roll.GroupSelector("nodepool/training")},
		"defaults":          {"defaults", "a", "", roll.Selector{}},
		"precedence":        {"precedence", "gpu-a", "Remediate", roll.GroupSelector("nodepool/web")},
		"repair":            {"repair", "a", "", roll.GroupSelector("nodepool/training")},
		"stopped":           {"stopped", "a", "remediate", roll.Selector{Group: "asg/a", Preset: roll.PresetGPU}},
		"edges":             {"edges", "1a-b", "", roll.GroupSelector("none")},
		"presets":           {"presets", "a", "", roll.Selector{Group: "asg/a", Preset: roll.PresetGPU}},
		"presets-override":  {"presets", "a", "", roll.Selector{Group: "nodepool/metal-1", Preset: roll.PresetWindows}},
		"presets-applied":   {"presets", "lab", "", roll.Selector{Group: "asg/a", Preset: roll.PresetGPU}},
		"presets-tagged":    {"presets", "a", "observe", roll.Selector{Group: "nodepool/metal-1", Preset: roll.PresetWindows, Deadline: "8m"}},
		"presets-mistagged": {"presets", "a", "remediate", roll.Selector{Group: "asg/a", Preset: roll.PresetGPU, Deadline: "45"}},
		"presets-unknown":   {"presets", "a", "none", roll.Selector{Group: "asg/a", Preset: "teapot"}},
	} {
		t.Run(page, func(t *testing.T) {
			d, err := Parse(must.Read(t, filepath.Join("testdata/good", args.document+".yaml")))
			must.Succeed(t, err)
			golden.File(t, filepath.Join("testdata/good", page+".txt"), explained(d, args.cluster, args.tag, args.of))
		})
	}
}

func TestDefaultsWrittenOutAreTheDefaults(t *testing.T) {
	d, err := Parse(must.Read(t, "testdata/good/defaults.yaml"))
	must.Succeed(t, err)
	got := d.For("a", "", roll.Selector{})
	expect.That(t, got.ModeSet, "the mode is not set")
	got.ModeSet = false
	for _, steps := range got.Ladders {
		for i := range steps {
			steps[i].Line = 0
		}
	}
	expect.Same(t, got, defaultPolicy(), "the defaults")
}

func TestJSONIsAPolicyToo(t *testing.T) {
	d, err := Parse(must.Read(t, "testdata/good/policy.json"))
	must.Succeed(t, err)
	expect.Equal(t, d.For("a", "", roll.Selector{}).Mode, Remediate, "mode of a")
	expect.Equal(t, d.For("b", "", roll.Selector{}).Mode, Notify, "mode of b")
}

func TestParsesWhatWindowsWrites(t *testing.T) {
	d, err := Parse([]byte("\ufeffapiVersion: rollcall/v1\r\nmode: notify\r\n"))
	must.Succeed(t, err)
	expect.Equal(t, d.For("", "", roll.Selector{}).Mode, Notify, "mode")
}

func TestFaultsCanBeRead(t *testing.T) {
	_, err := Parse([]byte("apiVersion: rollcall/v1\noverrides:\n  - match: {cluster: a}\n    registration: {deadline: 5}\n"))
	var faults Faults
	must.That(t, errors.As(err, &faults), "%T is not Faults", err)
	want := Faults{{Line: 4, Column: 30, Key: "overrides[0].registration.deadline", Problem: "5 has no unit: write for example 5m"}}
	expect.Same(t, faults, want, "faults")
}

func TestSizeIsBounded(t *testing.T) {
	exact := "apiVersion: rollcall/v1\n#"
	exact += strings.Repeat("x", maxSize-len(exact))
	if _, err := Parse([]byte(exact)); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	_, err := Parse([]byte(exact + "x"))
	want := "line 1: the document has 1048577 bytes: at most 1048576 (1 MiB) are read, and an SSM parameter holds 8192"
	expect.That(t, err != nil && err.Error() == want, "1 MiB and a byte: %v", err)
}

// Each of these is the largest document of its kind, and once cost a parser its time or its stack.
func TestHostileDocumentsEnd(t *testing.T) {
	full := func(head, part string) string { return head + strings.Repeat(part, (maxSize-len(head))/len(part)) }
	many := func(n int, head, part string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, part, i)
		}
		return b.String()
	}
	numbered := func(head, part string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < maxSize-100; i++ {
			fmt.Fprintf(&b, part, i)
		}
		return b.String()
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
	}
	for name, c := range map[string]struct {
		document string
		valid    bool
	}{
		"flow lists":          {full("", "["), false},
		"flow mappings":       {full("", "{a: "), false},
		"block lists":         {full("", "- "), false},
		"explicit keys":       {full("", "? "), false},
		"comments":            {full("", "#\n"), false},
		"documents":           {full("", "---\n"), false},
		"one key":             {full("", "a") + ":", false},
		"equal keys":          {full("", "a: b\n"), false},
		"unknown keys":        {numbered("", "k%d: b\n"), false},
		"aliases":             {bomb, false},
		"alias of itself":     {"registration: &r\n  deadline: *r\n", false},
		"overrides":           {numbered("apiVersion: rollcall/v1\noverrides:\n", "- {match: {cluster: c%d}, registration: {deadline: 6m}}\n"), true},
		"broken overrides":    {numbered("apiVersion: rollcall/v1\noverrides:\n", "- {match: {cluster: c%d}, registration: {deadline: 4m}}\n"), false},
		"conditions":          {numbered("apiVersion: rollcall/v1\nconditions:\n", "- {type: C%d, status: True, tolerate: 1h}\n"), true},
		"taints":              {numbered("apiVersion: rollcall/v1\ninitialization:\n  taints:\n", "  - t%d\n"), true},
		"presets":             {numbered("apiVersion: rollcall/v1\npresets:\n", "  p%d: {registration: {deadline: 6m}}\n"), true},
		"unknown presets":     {many(15_000, "apiVersion: rollcall/v1\npresets:\n", "  p%d: {}\n") + many(8_000, "overrides:\n", "- {match: {cluster: c%d}, preset: q}\n"), false},
		"steps":               {full("apiVersion: rollcall/v1\nladders:\n  Unknown:\n", "  - {do: tag}\n"), true},
		"steps with a wait":   {full("apiVersion: rollcall/v1\nladders:\n  Unknown:\n", "  - {do: tag, after: 720h}\n"), false},
		"star after star":     {"apiVersion: rollcall/v1\noverrides: [{match: {cluster: \"" + full("", "*a") + "\"}}]", false},
		"many stars, shorter": {"apiVersion: rollcall/v1\noverrides: [{match: {cluster: \"" + strings.Repeat("*a", 100_000) + "b\"}}]", true},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			d, err := Parse([]byte(c.document))
			expect.That(t, (err == nil) == c.valid, "valid %v: %.200v", c.valid, err)
			if err == nil {
				d.For(strings.Repeat("a", 100), "", roll.GroupSelector("none"))
			}
			took := time.Since(start)
			expect.That(t, took <= 30*time.Second, "took %s", took)
		})
	}
}
