package sim

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The auditor, which reads policies by their documentation, gets the same result as the product.
func TestAPolicyIsReadByItsDocumentationAsTheProductReadsIt(t *testing.T) {
	files, err := filepath.Glob("../policy/testdata/good/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	texts := map[string]string{
		"stopped": "apiVersion: rollcall/v1\nmode: remediate\nstop: true\n", "stopped, with a fault": "apiVersion: rollcall/v1\nmodes: no\nstop: yes\n", "no stop": "apiVersion: rollcall/v1\nstop: false\n",
		"no YAML": "mode: [\nstop: true\n", "no YAML, no stop": "mode: [\nstop: false\n", "gone": "", "emptied": "# emptied\n", "nothing": "{}\n",
		"unknown keys": "apiVersion: rollcall/v1\nmode: destroy\nlimts: {}\n", "no version": "mode: notify\n", "no unit": "apiVersion: rollcall/v1\nregistration: {deadline: 15}\n", "no percent": "apiVersion: rollcall/v1\nlimits: {unhealthy: 20}\n",
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.Succeed(t, err)
		texts[filepath.Base(file)] = string(text)
	}
	for seed := range uint64(200) {
		text := Random(Options{Seed: seed, Hours: 24, Clusters: 3, Nodes: 30}).Policy
		_, err := policy.Parse([]byte(text))
		expect.That(t, err == nil, "the policy of seed %d: %v\n%s", seed, err, text)
		texts[fmt.Sprint("seed ", seed)] = text
	}
	for name, text := range texts {
		mine, theirs := newPolicies(), (*policy.Document)(nil)
		gone := name == "gone" || name == "emptied" || name == "nothing" // the product checks for that elsewhere
		if doc, err := policy.Parse([]byte(text)); err == nil && !gone {
			theirs = doc
		}
		d := mine.document(text)
		if (d.written == nil) != (theirs == nil) {
			t.Errorf("%s: read %t, and the product %t", name, d.written != nil, theirs != nil)
			continue
		}
		if d.gone != gone || !d.gone && d.stops != policy.Stops([]byte(text)) {
			t.Errorf("%s: gone %t, stops %t", name, d.gone, d.stops)
		}
		if theirs == nil {
			continue
		}
		for _, of := range selections() {
			permitted := policy.Mode(of.permitted.String())
			want := theirs.Cluster(of.cluster, of.clusterTag, permitted)(roll.Selector{Group: roll.Group(of.group), Preset: of.suggested, Deadline: of.deadlineTag})
			if got, want := said(mine.find(text, of)), wanted(want); got != want {
				t.Fatalf("%s: %+v comes to\n%s\nand to the product\n%s", name, of, got, want)
			}
		}
	}
}

// selections returns some selections of each sort.
func selections() (all []selection) {
	for _, cluster := range []string{"prod-eu", "research", "orders"} {
		for _, group := range []string{"", "none", "nodepool/metal-a", "nodepool/training", "nodegroup/batch-1", "asg/training"} {
			of := selection{cluster: cluster, group: group, permitted: mayRemediate}
			if all = append(all, of); group == "" {
				continue
			}
			for _, change := range []func(*selection){
				func(of *selection) { of.suggested = "gpu" }, func(of *selection) { of.suggested = "metal" },
				func(of *selection) { of.deadlineTag = "50m" }, func(of *selection) { of.deadlineTag = "3m" }, func(of *selection) { of.deadlineTag = "50" },
				func(of *selection) { of.clusterTag = "no mode" }, func(of *selection) { of.clusterTag = "remediate" }, func(of *selection) { of.permitted = mayNotify },
			} {
				changed := of
				change(&changed)
				all = append(all, changed)
			}
		}
	}
	return all
}

// said formats the auditor's result, and wanted the product's.
func said(t *terms) string {
	out := []string{t.mode.String()}
	for _, key := range []string{"registration.warnAfter", "registration.deadline", "initialization.warnAfter", "initialization.deadline", "reboot.wait", "scheduled.lead", "impaired.tolerate", "stuck.after", "limits.stormCooldown", "limits.replacementWait", "limits.provenAfter", "drain.timeout", "drain.budgetTimeout"} {
		out = append(out, key+" "+t.duration(key).String())
	}
	for _, key := range []string{"limits.unhealthy", "limits.zone", "limits.massSilence", "limits.replacements", "limits.actionsPerCheck", "limits.actionsPerHour"} {
		out = append(out, key+" "+fmt.Sprint(t.count(key)))
	}
	for _, c := range [][2]string{{"Ready", "False"}, {"Ready", "Unknown"}, {"DiskPressure", "True"}, {"KernelReady", "False"}} {
		tolerance, ok := t.tolerance(c[0], c[1])
		out = append(out, fmt.Sprint(c, tolerance, ok))
	}
	for _, owner := range roll.Owners() {
		out = append(out, t.values["owners."+string(owner)])
	}
	out = append(out, fmt.Sprint(t.values["limits.withoutReplacement"] == "proceed", t.values["limits.causeOutside"] == "tryOnce", t.values["silentNode.budgets"] == "ignore", t.values["drain.force"] == "afterBudgetTimeout", t.repairs("NvidiaXID79Error"), t.repairs("DCGMError")))
	for _, kind := range roll.Kinds() {
		var ladder []string
		asks := ""
		for _, r := range t.ladders[string(kind)] {
			if a := r.Approve; a != nil {
				asks = " asks for " + settings{values: map[string]string{"for": a.For}}.duration("for").String() + ", then " + cmp.Or(a.Then, "hold")
				continue
			}
			if slices.Contains([]string{"cordon", "drain", "reboot", "terminate", "delete-node"}, r.Do) {
				r.Do += asks
			}
			ladder = append(ladder, fmt.Sprint(r.Do, settings{values: map[string]string{"after": r.After}}.duration("after"), r.Once))
		}
		out = append(out, string(kind)+": "+strings.Join(ladder, ", "))
	}
	return strings.Join(out, "\n")
}

func wanted(p policy.Policy) string {
	l := p.Limits
	out := []string{
		string(p.Mode), "registration.warnAfter " + p.Registration.WarnAfter.String(), "registration.deadline " + p.Registration.Deadline.String(), "initialization.warnAfter " + p.Initialization.WarnAfter.String(), "initialization.deadline " + p.Initialization.Deadline.String(),
		"reboot.wait " + p.Reboot.Wait.String(), "scheduled.lead " + p.Scheduled.Lead.String(), "impaired.tolerate " + p.Tolerances[roll.Impaired].String(), "stuck.after " + p.Tolerances[roll.Stuck].String(), "limits.stormCooldown " + l.StormCooldown.String(),
		"limits.replacementWait " + l.ReplacementWait.String(), "limits.provenAfter " + l.ProvenAfter.String(), "drain.timeout " + p.Drain.Timeout.String(), "drain.budgetTimeout " + p.Drain.BudgetTimeout.String(),
		fmt.Sprintf("limits.unhealthy %d", l.Unhealthy), fmt.Sprintf("limits.zone %d", l.Zone), fmt.Sprintf("limits.massSilence %d", l.MassSilence), fmt.Sprintf("limits.replacements %d", l.Replacements), fmt.Sprintf("limits.actionsPerCheck %d", l.ActionsPerCheck), fmt.Sprintf("limits.actionsPerHour %d", l.ActionsPerHour),
	}
	for _, c := range [][2]string{{"Ready", "False"}, {"Ready", "Unknown"}, {"DiskPressure", "True"}, {"KernelReady", "False"}} {
		tolerance, ok := p.Tolerance(c[0], c[1])
		out = append(out, fmt.Sprint(c, tolerance, ok))
	}
	for _, owner := range roll.Owners() {
		out = append(out, string(p.Owners[owner]))
	}
	repairs := func(reason string) bool {
		r := p.Repair.Reasons[reason]
		if r == "" {
			return p.Repair.Accelerators
		}
		return r != roll.RepairHold
	}
	out = append(out, fmt.Sprint(l.WithoutReplacement, l.TryOnce, p.SilentNode.IgnoreBudgets, p.Drain.Force, repairs("NvidiaXID79Error"), repairs("DCGMError")))
	for _, kind := range roll.Kinds() {
		var ladder []string
		for _, s := range p.Ladders[kind] {
			do := string(s.Do)
			if a := s.Approve; a.Needed() {
				do += fmt.Sprintf(" asks for %s, then %s", a.For, map[bool]string{true: "go", false: "hold"}[a.ThenGo])
			}
			ladder = append(ladder, fmt.Sprint(do, s.After, s.Once))
		}
		out = append(out, string(kind)+": "+strings.Join(ladder, ", "))
	}
	return strings.Join(out, "\n")
}

// The presets that instance types suggest, by the policy's page.
func TestATypeSuggestsItsPreset(t *testing.T) {
	for _, tt := range [][2]string{{"m5.large", ""}, {"m5.metal", "metal"}, {"g4dn.metal", "metal"}, {"c7i.metal-24xl", "metal"}, {"g4dn.xlarge", "gpu"}, {"p5.48xlarge", "gpu"}, {"trn1.2xlarge", "gpu"}, {"inf2.xlarge", "gpu"}, {"hpc7g.4xlarge", ""}, {"t3.large", ""}} {
		got := suggests("", tt[0])
		expect.That(t, got == tt[1] && got == roll.PresetOf("", tt[0]), "%s suggests %q, want %q", tt[0], got, tt[1])
	}
}
