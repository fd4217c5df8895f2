package policy

import (
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The repair of a reason, by policy.
func TestRepairsOfAReason(t *testing.T) {
	const none = "tag, notify"
	const reboots, replaces = none + ", cordon, drain, reboot once, terminate", none + ", cordon, drain, terminate"
	accelerator := roll.Finding{Kind: roll.ConditionFailed, Condition: roll.AcceleratedHardware}
	of := func(reason string) roll.Finding {
		f := accelerator
		f.Reason = reason
		return f
	}
	for _, tt := range []struct {
		name, repair string
		f            roll.Finding
		want         roll.Repair // "" where the policy says nothing
		ladder       string
	}{
		{"not opted in", "", of("NvidiaXID79Error"), "", none},
		{"switched off", "repair: {accelerators: false}", of("NvidiaXID79Error"), "", none},
		{"the table reboots", "repair: {accelerators: true}", of("NvidiaXID48Error"), roll.RepairReboot, reboots},
		{"the table replaces", "repair: {accelerators: true}", of("NvidiaXID79Error"), roll.RepairReplace, replaces},
		{"the table does nothing", "repair: {accelerators: true}", of("DCGMError"), roll.RepairHold, none},
		{"the table does not know it", "repair: {accelerators: true}", of("NvidiaXID13Error"), roll.RepairHold, none},
		{"no reason is given", "repair: {accelerators: true}", of(""), roll.RepairHold, none},
		{"a reason of its own", "repair: {accelerators: true, NvidiaXID79Error: reboot}", of("NvidiaXID79Error"), roll.RepairReboot, reboots},
		{"another has its own", "repair: {accelerators: true, NvidiaXID79Error: reboot}", of("NvidiaXID74Error"), roll.RepairReplace, replaces},
		{"one that the table holds", "repair: {accelerators: true, DCGMError: replace}", of("DCGMError"), roll.RepairReplace, replaces},
		{"held by the policy", "repair: {accelerators: true, NvidiaXID79Error: hold}", of("NvidiaXID79Error"), roll.RepairHold, none},
		{"that reason alone", "repair: {NvidiaXID79Error: replace}", of("NvidiaXID79Error"), roll.RepairReplace, replaces},
		{"no other then", "repair: {NvidiaXID79Error: replace}", of("NvidiaXID74Error"), "", none},
		{"another condition", "repair: {accelerators: true, NvidiaXID79Error: replace}", roll.Finding{Kind: roll.ConditionFailed, Condition: "KernelReady", Reason: "NvidiaXID79Error"}, "", none},
		{"another kind", "repair: {accelerators: true}", roll.Finding{Kind: roll.Flapping, Condition: roll.AcceleratedHardware, Reason: "NvidiaXID79Error"}, "", none},
		{"what tells is the ladder's", "repair: {accelerators: true}\nladders: {ConditionFailed: [{do: warn}, {do: terminate}]}", of("NeuronDMAError"), roll.RepairReplace, "warn, cordon, drain, terminate"},
		{"the ladder asks", "repair: {accelerators: true}\nladders: {ConditionFailed: [{do: warn}, {approve: {for: 1h}}, {do: terminate}]}", of("NeuronDMAError"), roll.RepairReplace, "warn, approve within 1h or hold, cordon, drain, terminate"},
		{"a group of its own", "repair: {accelerators: true}\noverrides: [{match: {group: asg/a}, repair: {NeuronDMAError: hold}}]", of("NeuronDMAError"), roll.RepairHold, none},
		{"a group that is left out", "repair: {accelerators: true}\noverrides: [{match: {group: asg/a}, repair: {accelerators: false}}]", of("NeuronDMAError"), "", none},
	} {
		d, err := Parse([]byte("apiVersion: rollcall/v1\n" + tt.repair + "\n"))
		must.That(t, err == nil, "%s: %v", tt.name, err)
		p := d.For("demo", "", roll.GroupSelector("asg/a"))
		if got, ok := p.Repairs(tt.f); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, ok, tt.want)
		}
		expect.Equal(t, ladderText(p.Ladder(tt.f, roll.Diagnosis{})), tt.ladder, "%s: the ladder is", tt.name)
	}
}

// Every reason in the table may have every repair, also in the schema.
func TestRepairsMayBeNamed(t *testing.T) {
	s := compiled(t)
	agree := func(repair string, valid bool) {
		t.Helper()
		data := []byte("apiVersion: rollcall/v1\nrepair: {" + repair + "}\n")
		if _, err := Parse(data); (err == nil) != valid {
			t.Errorf("parser: %s: %v", repair, err)
		}
		err := asEditor(s, data)
		expect.That(t, (err == nil) == valid, "schema: %s: %v", repair, err)
	}
	for _, reason := range append(roll.AcceleratorReasons(), "NvidiaXID13Error", "NvidiaXID0Error", "DCGMHealthCode84") {
		for _, repair := range roll.AllRepairs() {
			agree(reason+": "+string(repair), true)
		}
		agree(reason+": terminate", false)
		agree(reason+": true", false)
		agree(reason+"x: hold", false)
	}
	for _, wrong := range []string{"NvidiaXIDError: hold", "NvidiaXID07Error: hold", "NvidiaXID13Warning: hold", "DCGMHealthCode: hold", "Ready: hold", "accelerators: reboot", "accelerators: 1"} {
		agree(wrong, false)
	}
	agree("accelerators: true", true)
}
