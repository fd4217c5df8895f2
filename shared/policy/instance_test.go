package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func mustParse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte("apiVersion: rollcall/v1\n" + text))
	must.That(t, err == nil, "%v in\n%s", err, text)
	return d
}

// Every level sets another deadline, so that each case shows which level won.
const everyLevel = `registration: {warnAfter: 1m, deadline: 11m}
presets:
  gpu: {registration: {deadline: 35m}}
  short: {registration: {warnAfter: 1m, deadline: 4m}}
overrides:
  - match: {group: "nodepool/g*"}
    registration: {deadline: 14m}
  - match: {cluster: "c*"}
    registration: {deadline: 13m}
  - match: {cluster: "p*"}
    preset: short
  - match: {group: "nodepool/p*"}
    preset: windows
  - match: {group: "nodepool/own"}
    registration: {deadline: 15m}
    preset: short
  - match: {preset: windows}
    registration: {deadline: 16m}
  - match: {preset: windows, group: "asg/*"}
    registration: {deadline: 17m}
  - match: {preset: short}
    drain: {timeout: 18m}
`

func TestPrecedenceOfDeadlines(t *testing.T) {
	d := mustParse(t, everyLevel)
	for _, c := range []struct {
		name, cluster string
		of            roll.Selector
		want          time.Duration
	}{
		{"document", "x", roll.Selector{}, 11},
		{"suggested preset beats the document", "x", roll.Selector{Preset: "gpu"}, 35},
		{"suggested preset does not shorten", "x", roll.Selector{Group: "none", Preset: "short"}, 11},
		{"cluster override beats the suggested preset", "c1", roll.Selector{Group: "none", Preset: "gpu"}, 13},
		{"a preset that a cluster override applies shortens", "p1", roll.Selector{Group: "none"}, 4},
		{"and beats the suggested one", "p1", roll.Selector{Group: "none", Preset: "gpu"}, 4},
		{"group override beats cluster override", "c1", roll.Selector{Group: "nodepool/g1"}, 14},
		{"group override beats the suggested preset", "c1", roll.Selector{Group: "nodepool/g1", Preset: "gpu"}, 14},
		{"a preset that a group override applies beats cluster override", "c1", roll.Selector{Group: "nodepool/p1"}, 30},
		{"own keys beat the override's preset", "c1", roll.Selector{Group: "nodepool/own"}, 15},
		{"match.preset", "x", roll.Selector{Group: "none", Preset: "windows"}, 16},
		{"match.preset by itself is of the cluster's level", "x", roll.Selector{Group: "nodepool/g1", Preset: "windows"}, 14},
		{"match.preset with a group is of the group's level", "x", roll.Selector{Group: "asg/a", Preset: "windows"}, 17},
		{"case counts", "x", roll.Selector{Preset: "GPU"}, 11},
		{"an unknown suggestion is nothing", "x", roll.Selector{Preset: "long"}, 11},
		{"deadline tag beats all", "c1", roll.Selector{Group: "nodepool/g1", Preset: "gpu", Deadline: "47m"}, 47},
		{"deadline tag shortens", "c1", roll.Selector{Group: "nodepool/g1", Deadline: "3m"}, 3},
		{"30 days", "x", roll.Selector{Deadline: "720h"}, 43200},
		{"over 30 days", "x", roll.Selector{Deadline: "720h1s"}, 11},
		{"no unit", "x", roll.Selector{Deadline: "45"}, 11},
		{"a space", "x", roll.Selector{Deadline: "45m "}, 11},
		{"days", "x", roll.Selector{Deadline: "1d"}, 11},
		{"under a second", "x", roll.Selector{Deadline: "900ms"}, 11},
		{"zero", "x", roll.Selector{Deadline: "0s"}, 11},
		{"negative", "x", roll.Selector{Deadline: "-45m"}, 11},
	} {
		p := d.For(c.cluster, "", c.of)
		expect.Equal(t, p.Registration.Deadline, c.want*time.Minute, "%s", c.name)
		expect.That(t, p.Registration.WarnAfter <= p.Registration.Deadline, "%s: warned after %s", c.name, p.Registration.WarnAfter)
	}
	got := d.For("x", "", roll.Selector{Deadline: "1s"})
	expect.That(t, got.Registration.Deadline == time.Second && got.Registration.WarnAfter == time.Second, "one second: %+v", got.Registration)
}

func TestMatchPresetIsAboutTheSuggestion(t *testing.T) {
	d := mustParse(t, everyLevel)
	for _, c := range []struct {
		name, cluster string
		of            roll.Selector
		want          time.Duration
	}{
		{"none", "x", roll.Selector{}, 10},
		{"suggested", "x", roll.Selector{Preset: "short"}, 18},
		{"applied by another override", "p1", roll.Selector{}, 10},
	} {
		expect.Equal(t, d.For(c.cluster, "", c.of).Drain.Timeout, c.want*time.Minute, "%s", c.name)
	}
}

func TestDeadlineTagIsAboutInitializationToo(t *testing.T) {
	d := mustParse(t, "overrides: [{match: {group: '*'}, initialization: {deadline: 1h}}]")
	got := d.For("a", "", roll.Selector{Group: "none", Deadline: "47m"}).Initialization.Deadline
	expect.That(t, got == 47*time.Minute, "%s", got)
	expect.Equal(t, d.For("a", "", roll.Selector{Group: "none", Deadline: "4.7"}).Initialization.Deadline, time.Hour, "an invalid one")
}

func TestBuiltInPresets(t *testing.T) {
	for name, reboots := range map[string]time.Duration{roll.PresetGPU: 10 * time.Minute, roll.PresetMetal: 40 * time.Minute, roll.PresetWindows: 30 * time.Minute} {
		p := Default().For("a", "", roll.Selector{Preset: name})
		expect.Same(t, p.Registration, Registration{10 * time.Minute, 30 * time.Minute}, "%s", name)
		expect.That(t, p.Initialization.Deadline == 30*time.Minute, "%s: initialization %s", name, p.Initialization.Deadline)
		expect.That(t, p.Reboot.Wait == reboots, "%s: %s after a reboot", name, p.Reboot.Wait)
		impaired := 5 * time.Minute
		if name != roll.PresetGPU {
			impaired = reboots // its status check fails while it boots
		}
		expect.Equal(t, p.Tolerances[roll.Impaired], impaired, "%s: impaired", name)
		p.Registration, p.Initialization, p.Reboot, p.Tolerances = defaultPolicy().Registration, defaultPolicy().Initialization, defaultPolicy().Reboot, defaultPolicy().Tolerances
		expect.Same(t, p, defaultPolicy(), "%s changes more than times", name)
	}
	got := mustParse(t, "presets: {slow: {registration: {deadline: 1h}}}").Presets()
	expect.That(t, cmp.Equal(got, []string{"gpu", "metal", "slow", "windows"}), "presets %s", got)
}

func TestPresetGivesTaintsOnlyWhereItIsApplied(t *testing.T) {
	d := mustParse(t, `presets: {gpu: {initialization: {taints: [example.com/driver]}}}
initialization: {taints: [example.com/base]}
overrides: [{match: {group: "asg/*"}, preset: gpu}]
`)
	for want, of := range map[string]roll.Selector{
		"example.com/base":   {Group: "none", Preset: "gpu"},
		"example.com/driver": {Group: "asg/a"},
	} {
		got := d.For("a", "", of).Initialization.Taints
		expect.That(t, cmp.Equal(got, []string{want}), "%+v: %s, want %s", of, got, want)
	}
	w := d.Warnings()
	expect.That(t, len(w) == 1 && w[0].Key == "presets.gpu.initialization.taints", "warnings %v", w)
}

func TestClusterModeTag(t *testing.T) {
	for _, c := range []struct {
		document, tag   string
		permitted, want Mode
	}{
		{"mode: remediate", "", Remediate, Remediate},
		{"mode: remediate", "remediate", Remediate, Remediate},
		{"mode: remediate", "notify", Remediate, Notify},
		{"mode: remediate", "observe", Remediate, Observe},
		{"mode: remediate", "Notify", Remediate, Observe},
		{"mode: remediate", "off", Remediate, Observe},
		{"mode: remediate", " ", Remediate, Observe},
		{"mode: remediate", "remediate", Notify, Notify},
		{"mode: observe", "remediate", Remediate, Observe},
		{"mode: notify", "remediate", Remediate, Notify},
		{"overrides: [{match: {group: '*'}, mode: notify}]", "remediate", Remediate, Notify},
		{"overrides: [{match: {group: '*'}, mode: remediate}]", "notify", Remediate, Notify},
		// Nothing else names a mode: the permitted mode is lowered.
		{"", "", Remediate, Remediate},
		{"", "remediate", Remediate, Remediate},
		{"", "notify", Remediate, Notify},
		{"", "observe", Remediate, Observe},
		{"", "off", Remediate, Observe},
		{"", "remediate", Observe, Observe},
		{"", "remediate", Notify, Notify},
	} {
		expect.Equal(t, mustParse(t, c.document).Cluster("a", c.tag, c.permitted)(roll.Selector{Group: "none"}).Mode, c.want, "%q, tag %q, permitted %s", c.document, c.tag, c.permitted)
	}
}

// randomDocument returns a valid document of random times, presets and modes. It has no
// match.preset, which may shorten times on purpose.
func randomDocument(rng *rand.Rand) string {
	var b strings.Builder
	minutes := func() int { return 1 + rng.IntN(90) }
	registration := func(indent string) {
		warn := minutes()
		fmt.Fprintf(&b, "%sregistration: {warnAfter: %dm, deadline: %dm}\n", indent, warn, warn+rng.IntN(60))
	}
	initialization := func(indent string) { fmt.Fprintf(&b, "%sinitialization: {deadline: %dm}\n", indent, minutes()) }
	maybe := func(do func(string), indent string) {
		if rng.IntN(2) == 0 {
			do(indent)
		}
	}
	mode := func(indent string) { fmt.Fprintf(&b, "%smode: %s\n", indent, modes[rng.IntN(3)]) }
	maybe(mode, "")
	maybe(registration, "")
	maybe(initialization, "")
	presets := []string{"gpu", "windows", "own"}
	b.WriteString("presets:\n")
	for _, name := range presets[rng.IntN(3):] {
		fmt.Fprintf(&b, "  %s:\n", name)
		registration("    ")
		maybe(initialization, "    ")
	}
	b.WriteString("overrides:\n")
	for _, match := range []string{"cluster: a", "group: asg/a", "cluster: '*'", "cluster: a, group: 'asg/*'"} {
		fmt.Fprintf(&b, "  - match: {%s}\n", match)
		maybe(mode, "    ")
		maybe(registration, "    ")
		maybe(initialization, "    ")
		maybe(func(indent string) { fmt.Fprintf(&b, "%spreset: %s\n", indent, presets[rng.IntN(3)]) }, "    ")
	}
	return b.String()
}

func TestSuggestionsOnlyLengthenAndTagsOnlyLower(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	longer, lower := 0, 0
	for range 600 {
		d := mustParse(t, randomDocument(rng))
		deployed := Registration{WarnAfter: time.Duration(rng.IntN(20)) * time.Minute, Deadline: time.Duration(rng.IntN(40)) * time.Minute}
		d = d.Deployed(deployed)
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		of := roll.Selector{
			Group: roll.Group(pick("", "none", "asg/a", "asg/b")), Preset: pick("gpu", "windows", "own", "other", ""),
			Deadline: pick("", "1m", "2h", "x"),
		}
		cluster, tag := pick("a", "b"), pick("", "observe", "notify", "remediate", "x")
		checkPolicy(t, d.For(cluster, tag, of))
		checkOnlyLonger(t, d, cluster, tag, roll.Selector{Group: of.Group, Preset: of.Preset})
		checkModeOnlyLower(t, d, cluster, tag, of)
		must.That(t, !t.Failed(), "%+v in %s, tag %q, deployed %+v", of, cluster, tag, deployed)
		with, without := d.For(cluster, tag, roll.Selector{Group: of.Group, Preset: of.Preset}), d.For(cluster, tag, roll.GroupSelector(of.Group))
		if with.Registration.Deadline > without.Registration.Deadline {
			longer++
		}
		if d.For(cluster, tag, of).Mode != d.For(cluster, "", of).Mode {
			lower++
		}
	}
	if longer < 20 || lower < 20 { // otherwise the documents above prove nothing
		t.Errorf("longer %d times, lower %d times", longer, lower)
	}
}

// Notices, and the time from which acts are allowed, are per group: a preset must not cause acts
// without notices.
func TestAPresetOnlyLowersTheMode(t *testing.T) {
	d := mustParse(t, `
mode: notify
overrides:
  - match: {preset: gpu}
    mode: remediate
  - match: {preset: windows}
    mode: observe
  - match: {group: asg/free}
    mode: remediate
  - match: {group: asg/free, preset: windows}
    mode: notify
`)
	for _, tt := range []struct {
		of   roll.Selector
		want Mode
	}{
		{roll.Selector{Group: "asg/a"}, Notify},
		{roll.Selector{Group: "asg/a", Preset: "gpu"}, Notify},
		{roll.Selector{Group: "asg/a", Preset: "windows"}, Observe},
		{roll.Selector{Group: "asg/free"}, Remediate},
		{roll.Selector{Group: "asg/free", Preset: "gpu"}, Remediate},
	} {
		expect.Equal(t, d.For("demo", "", tt.of).Mode, tt.want, "%+v: mode", tt.of)
		if got := d.Explain("demo", "", tt.of)[0]; got.Value != string(tt.want) || strings.Contains(got.From, "lowered") != (tt.of.Group == "asg/a" && tt.of.Preset == "gpu") {
			t.Errorf("%+v: explained as %+v", tt.of, got)
		}
	}
	// If nothing names a mode for the group, it has the one of the caller.
	free := mustParse(t, "overrides: [{match: {preset: gpu}, mode: notify}]")
	of := free.Cluster("demo", "", Remediate)
	a, b := of(roll.Selector{Group: "asg/a"}).Mode, of(roll.Selector{Group: "asg/a", Preset: "gpu"}).Mode
	expect.That(t, a == Remediate && b == Notify, "with no mode named: %s, with the preset %s", a, b)
}
