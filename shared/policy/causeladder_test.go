package policy

import (
	"slices"
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

const (
	memory = "MemoryPressurePreceded"
	disk   = "DiskPressurePreceded" // ranks after memory
	panics = "KernelPanic"          // ranks before it
)

// The ladder of a silent node, by what is known of its cause. Steps in doubt are after the bar.
func TestLadderOfACause(t *testing.T) {
	found := func(code string, c roll.Confidence) roll.Diagnosis {
		return roll.Diagnosis{Causes: []roll.Cause{{Code: code, Confidence: c}}, RuledOut: []string{"InstanceStopped"}}
	}
	open := func(d roll.Diagnosis, codes ...string) roll.Diagnosis {
		for _, code := range codes {
			d.NotChecked = append(d.NotChecked, roll.NotChecked{Code: code})
		}
		return d
	}
	clear := roll.Diagnosis{RuledOut: []string{panics, memory, disk}}
	const harsh, mild = "Unknown: [{do: tag}, {do: reboot, once: true}, {do: terminate, after: 10m}]", "Unknown: [{do: notify}]"
	for _, tt := range []struct {
		name    string
		ladders string
		why     roll.Diagnosis
		want    string
	}{
		{"no cause has one", harsh, roll.Diagnosis{}, "tag, reboot once, terminate after 10m"},
		{"another kind has one", harsh + ", NotReady/" + memory + ": []", found(memory, roll.Decisive), "tag, reboot once, terminate after 10m"},
		{"another kind has one, whose cause is open", harsh + ", NotReady/" + memory + ": []", open(clear, memory), "tag, reboot once, terminate after 10m"},

		{"a milder one holds", harsh + ", Unknown/" + memory + ": [{do: notify}]", found(memory, roll.Decisive), "notify"},
		{"an empty one holds", harsh + ", Unknown/" + memory + ": []", found(memory, roll.Decisive), "nothing"},
		{"it is ruled out", harsh + ", Unknown/" + memory + ": [{do: notify}]", clear, "tag, reboot once, terminate after 10m"},
		{"it cannot explain this", harsh + ", Unknown/NaclBlocksApi: [{do: notify}]", clear, "tag, reboot once, terminate after 10m"},
		{"nobody looked", harsh + ", Unknown/" + memory + ": [{do: notify}]", roll.Diagnosis{}, "tag | reboot once, terminate after 10m"},
		{"it was not checked", harsh + ", Unknown/" + memory + ": [{do: notify}]", open(found("KubeletSilent", roll.Decisive), memory), "tag | reboot once, terminate after 10m"},
		{"it is suggested", harsh + ", Unknown/" + memory + ": [{do: notify}]", found(memory, roll.Suggestive), "tag | reboot once, terminate after 10m"},

		{"a harsher one holds", mild + ", Unknown/" + memory + ": [{do: terminate}]", found(memory, roll.Decisive), "terminate"},
		{"a harsher one is not checked", mild + ", Unknown/" + memory + ": [{do: terminate}]", open(clear, memory), "notify"},
		{"a harsher one is suggested", mild + ", Unknown/" + memory + ": [{do: terminate}]", found(memory, roll.Suggestive), "notify"},

		{"the acts go as far as both have them", harsh + ", Unknown/" + memory + ": [{do: reboot}]", open(clear, memory), "tag, reboot | terminate after 10m"},
		{"another first act", harsh + ", Unknown/" + memory + ": [{do: terminate, after: 1h}]", open(clear, memory), "tag | reboot once, terminate after 10m"},
		{"the later time counts", harsh + ", Unknown/" + memory + ": [{do: notify, after: 5m}, {do: reboot, once: true}, {do: terminate, after: 1h}]", open(clear, memory), "tag, reboot once after 5m, terminate after 1h"},
		{"its own time counts where it is later", harsh + ", Unknown/" + memory + ": [{do: reboot, once: true, after: 2m}, {do: terminate}]", open(clear, memory), "tag, reboot once after 2m, terminate after 10m"},

		{"both ask", "Unknown: [{approve: {for: 2h, then: go}}, {do: reboot}, {do: terminate}], Unknown/" + memory + ": [{approve: {for: 3h}}, {do: reboot}, {do: terminate}]", open(clear, memory), "approve within 2h or hold, reboot, terminate"},
		{"both ask, and only one goes on without an answer", "Unknown: [{approve: {for: 2h}}, {do: reboot}], Unknown/" + memory + ": [{approve: {for: 2h, then: go}}, {do: reboot}]", open(clear, memory), "approve within 2h or hold, reboot"},
		{"one asks", harsh + ", Unknown/" + memory + ": [{do: reboot, once: true}, {approve: {for: 3h, then: go}}, {do: terminate}]", open(clear, memory), "tag, reboot once, approve within 3h or go, terminate after 10m"},
		{"both ask for different acts", "Unknown: [{approve: {for: 2h}}, {do: reboot}, {do: terminate}], Unknown/" + memory + ": [{do: reboot}, {approve: {for: 1h}}, {do: terminate}]", open(clear, memory), "approve within 2h or hold, reboot, approve within 1h or hold, terminate"},

		{"the first decisive cause decides", harsh + ", Unknown/" + panics + ": [{do: warn}], Unknown/" + memory + ": [{do: notify}]",
			roll.Diagnosis{Causes: []roll.Cause{{Code: panics, Confidence: roll.Decisive}, {Code: memory, Confidence: roll.Decisive}}}, "warn"},
		{"the first that has one", harsh + ", Unknown/" + memory + ": [{do: notify}]",
			roll.Diagnosis{Causes: []roll.Cause{{Code: panics, Confidence: roll.Decisive}, {Code: memory, Confidence: roll.Decisive}}}, "notify"},
		{"one in front of it is open", harsh + ", Unknown/" + panics + ": [], Unknown/" + memory + ": [{do: reboot}]", open(found(memory, roll.Decisive), panics), "nothing | reboot"},
		{"one behind it is open", harsh + ", Unknown/" + disk + ": [], Unknown/" + memory + ": [{do: reboot}]", open(found(memory, roll.Decisive), disk), "reboot"},
		{"two are open", harsh + ", Unknown/" + panics + ": [{do: reboot, after: 1h}], Unknown/" + memory + ": [{do: reboot, after: 3m}, {do: terminate}]", open(clear, panics, memory),
			"tag, reboot after 1h | terminate after 10m"},
	} {
		d := mustParse(t, "ladders: {"+tt.ladders+"}\n")
		p := d.For("", "", roll.Selector{})
		steps := p.Ladder(roll.Finding{Kind: roll.Unknown}, tt.why)
		sure := slices.IndexFunc(steps, func(s Step) bool { return s.Doubt != "" })
		got := ladderText(steps)
		if sure >= 0 {
			got = ladderText(steps[:sure]) + " | " + ladderText(steps[sure:])
			expect.That(t, slices.ContainsFunc([]string{memory, panics}, func(code string) bool { return steps[sure].Doubt == code }), "%s: in doubt for %q", tt.name, steps[sure].Doubt)
		}
		expect.That(t, got == tt.want, "%s: %s, want %s", tt.name, got, tt.want)
		s := p.Ladders[roll.Unknown][0]
		expect.That(t, s.Doubt == "" && s.Do != "", "%s: the policy itself was changed", tt.name)
	}
}

func TestStepsOfAllLaddersOfAKind(t *testing.T) {
	p := mustParse(t, "ladders: {Unknown: [{do: notify}], Unknown/"+memory+": [{do: reboot}], NotReady/"+memory+": [{do: terminate}]}\n").For("", "", roll.Selector{})
	if got := ladderText(p.Steps(roll.Finding{Kind: roll.Unknown})); got != "notify, reboot" {
		t.Error(got)
	}
	if got := ladderText(p.Steps(roll.Finding{Kind: roll.Flapping})); got != "tag, notify" {
		t.Error(got)
	}
}

// A ladder by cause is merged and shown by its own key. There is a warning for an override that
// seems to change it but does not.
func TestLaddersByCauseInOverrides(t *testing.T) {
	d := mustParse(t, `ladders: {Unknown/MemoryPressurePreceded: [{do: reboot}]}
overrides:
  - match: {cluster: kind}
    ladders: {Unknown: []}
  - match: {cluster: both}
    ladders: {Unknown: [], Unknown/MemoryPressurePreceded: [{do: notify}]}
  - match: {preset: gpu}
    ladders: {Unknown/MemoryPressurePreceded: [{do: warn}]}
`)
	key := CauseKey{roll.Unknown, memory}
	for cluster, want := range map[string]string{"other": "reboot", "kind": "reboot", "both": "notify"} {
		expect.Equal(t, ladderText(d.For(cluster, "", roll.Selector{}).CauseLadders[key]), want, "%s", cluster)
	}
	expect.Equal(t, ladderText(d.For("other", "", roll.Selector{Preset: "gpu"}).CauseLadders[key]), "warn", "preset")
	if !slices.Contains(d.Explain("both", "", roll.Selector{}), Setting{"ladders.Unknown/MemoryPressurePreceded", "notify", "override at line 7"}) {
		t.Errorf("%+v", d.Explain("both", "", roll.Selector{}))
	}
	var warned []string
	for _, w := range d.Warnings() {
		warned = append(warned, w.String())
	}
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "line 5: overrides[0].ladders.Unknown: does not change ladders.Unknown/MemoryPressurePreceded of line 2") {
		t.Errorf("%q", warned)
	}
}
