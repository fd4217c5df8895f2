package sim

import (
	"fmt"
	"regexp"
	"strings"
)

// randomPolicy returns a random policy. If mayOwn, half have own ladders, times, limits, presets and overrides.
func randomPolicy(d dice, clusters []ClusterSpec, mayOwn bool) string {
	mode := "remediate"
	switch {
	case d.of("mode").chance(0.06):
		mode = "observe"
	case d.of("mode").chance(0.12):
		mode = "notify"
	}
	p := policyWriter{d: d, own: mayOwn && d.of("own").chance(0.5)}
	p.line("apiVersion: rollcall/v1\nmode: %s", mode)
	p.line("limits: {%s}", strings.Join(p.limits(), ", "))
	p.section("", "repair", p.repairs())
	p.section("", "owners", p.owners())
	if p.own {
		p.sections("", d)
		p.conditions()
		p.ladders()
		p.presets(clusters)
	}
	return p.text.String()
}

type policyWriter struct {
	d    dice
	own  bool // it has more settings than a few limits
	text strings.Builder
}

func (p *policyWriter) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", args...)
}

// section writes a section on one line, with the given indent, if it has entries.
func (p *policyWriter) section(indent, name string, entries []string) {
	if len(entries) > 0 {
		p.line("%s%s: {%s}", indent, name, strings.Join(entries, ", "))
	}
}

func (p *policyWriter) repairs() (out []string) {
	if p.d.of("accelerators").chance(0.7) {
		out = append(out, "accelerators: true")
	}
	for _, gpu := range []string{gpuReboots, gpuAgain, gpuReplaced, gpuPerson} {
		if reason := gpuSays[gpu][0]; p.own && p.d.of("repair "+reason).chance(0.15) {
			out = append(out, reason+": "+oneOf(p.d.of("repair "+reason+" by"), "reboot", "replace", "hold"))
		}
	}
	return out
}

func (p *policyWriter) owners() (out []string) {
	claims := p.d.of("claims").chance(0.3)
	switch {
	case claims:
		out = append(out, "karpenter: delete-nodeclaim")
	case p.d.of("single").chance(0.5):
		out = append(out, "none: terminate")
	}
	for _, owner := range []ownerKind{karpenter, nodeGroup, autoScaling} {
		if p.own && (!claims || owner != karpenter) && p.d.of("only told "+string(owner)).chance(0.08) {
			out = append(out, string(owner)+": notify")
		}
	}
	return out
}

func minutes(d dice, least, most int) string {
	return fmt.Sprintf("%dm", least+d.below(most-least+1))
}

func (p *policyWriter) limits() []string {
	d := p.d
	hour := 2 + d.of("hour").below(6)
	if p.own && d.of("no acts").chance(0.03) {
		hour = 0
	}
	out := []string{fmt.Sprintf("actionsPerHour: %d", hour), fmt.Sprintf("actionsPerCheck: %d", 1+d.of("check").below(2))}
	if !p.own {
		return out
	}
	may := func(key, value string) {
		if d.of(key).chance(0.4) {
			out = append(out, key+": "+value)
		}
	}
	may("unhealthy", oneOf(d.of("unhealthy share"), "0%", "10%", "20%", "34%", "50%"))
	may("zone", oneOf(d.of("zone share"), "40%", "60%", "80%"))
	may("massSilence", oneOf(d.of("silence share"), "5%", "15%", "30%"))
	may("stormCooldown", minutes(d.of("cooldown"), 5, 30))
	may("replacements", oneOf(d.of("repairs"), "0", "1", "2", "3", "4"))
	may("provenAfter", minutes(d.of("proven"), 20, 90))
	may("replacementWait", minutes(d.of("wait"), 10, 45))
	may("causeOutside", oneOf(d.of("cause"), "hold", "hold", "tryOnce"))
	may("withoutReplacement", oneOf(d.of("without"), "hold", "hold", "proceed"))
	return out
}

// sections writes sections that an override may also contain, with the given indent.
func (p *policyWriter) sections(indent string, d dice) {
	for _, section := range []string{"registration", "initialization"} {
		if d.of(section).chance(0.4) {
			warn := 3 + d.of(section+" warn").below(8)
			p.line("%s%s: {warnAfter: %dm, deadline: %s}", indent, section, warn, minutes(d.of(section+" deadline"), warn, 30))
		}
	}
	for _, s := range []struct {
		section, key string
		least, most  int
	}{{"impaired", "tolerate", 2, 20}, {"ghost", "tolerate", 2, 15}, {"orphaned", "tolerate", 5, 30}, {"reboot", "wait", 5, 20}, {"stuck", "after", 40, 120}, {"drain", "timeout", 5, 15}, {"scheduled", "lead", 60, 2000}} {
		var entries []string
		if d.of(s.section).chance(0.25) {
			entries = append(entries, s.key+": "+minutes(d.of(s.section+" time"), s.least, s.most))
		}
		if s.section == "drain" && d.of("drain force").chance(0.2) {
			entries = append(entries, "force: afterBudgetTimeout", "budgetTimeout: "+minutes(d.of("drain budget"), 20, 90))
		}
		p.section(indent, s.section, entries)
	}
	var silent []string
	for _, key := range []string{"doNotDisrupt", "budgets", "localVolumes"} {
		if d.of("silent " + key).chance(0.15) {
			silent = append(silent, key+": ignore")
		}
	}
	if d.of("silent outOfServiceTaint").chance(0.15) {
		silent = append(silent, "outOfServiceTaint: true")
	}
	p.section(indent, "silentNode", silent)
}

// conditions writes tolerances of a node's conditions.
func (p *policyWriter) conditions() {
	d := p.d.of("conditions")
	var out []string
	for _, c := range []struct {
		condition, status string
		least, most       int
	}{{"Ready", `"False"`, 5, 30}, {"Ready", "Unknown", 10, 45}, {"MemoryPressure", `"True"`, 5, 30}, {"NetworkingReady", `"False"`, 10, 45}} {
		if id := c.condition + c.status; d.of(id).chance(0.4) {
			out = append(out, fmt.Sprintf("{type: %s, status: %s, tolerate: %s}", c.condition, c.status, minutes(d.of(id+" time"), c.least, c.most)))
		}
	}
	if len(out) > 0 {
		p.line("conditions: [%s]", strings.Join(out, ", "))
	}
}

// ladders writes typical ladders: more careful, quicker, and notify-only ones.
func (p *policyWriter) ladders() {
	d := p.d.of("ladders")
	var out []string
	for _, l := range []struct {
		kind    string
		ladders []string
	}{
		{"Unregistered", []string{"{do: terminate}", "{do: notify}, {do: terminate, after: 10m}", "{do: tag}, {do: notify}", "{do: notify}, {do: reboot, once: true}, {do: terminate, after: 15m}"}},
		{"Uninitialized", []string{"{do: notify}, {do: terminate}", "{do: tag}, {do: notify}, {do: cordon}", "{do: notify}, {do: reboot, once: true}, {do: cordon}, {do: drain}, {do: terminate}"}},
		{"NotReady", []string{"{do: tag}, {do: notify}, {do: cordon}, {do: drain, after: 5m}, {do: reboot, once: true}, {do: terminate, after: 10m}", "{do: notify}", "{do: notify}, {do: terminate, after: 10m}"}},
		{"Unknown", []string{"{do: tag}, {do: notify}, {do: terminate}", "{do: tag}, {do: notify}, {do: reboot, once: true}", "{do: notify}, {do: terminate, after: 20m}", "{do: warn}, {do: notify, after: 5m}, {do: reboot, once: true}, {do: terminate, after: 20m}"}},
		{"Unknown/MemoryPressurePreceded", []string{"{do: tag}, {do: notify}", "{do: notify}, {do: reboot, once: true}"}},
		{"Impaired", []string{"{do: tag}, {do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}", "{do: notify}, {do: cordon}, {do: drain}, {do: terminate}", "{do: notify}"}},
		{"Orphaned", []string{"{do: tag}, {do: notify}", "{do: notify}, {do: terminate, after: 1h}"}},
		{"Ghost", []string{"{do: notify}"}},
		{"ConditionFailed", []string{"", "{do: warn}", "{do: notify}", "{do: tag}, {do: notify}, {do: cordon}"}},
		{"Flapping", []string{"", "{do: warn}", "{do: notify}"}},
		{"Scheduled", []string{"", "{do: notify}", "{do: tag}, {do: notify}, {do: cordon}", "{do: notify}, {do: cordon, after: 15m}, {do: drain, after: 10m}"}},
		{"Stuck", []string{"", "{do: warn}"}},
		{"Unlaunched", []string{"", "{do: warn}"}},
	} {
		if d.of(l.kind).chance(0.25) {
			out = append(out, fmt.Sprintf("  %s: [%s]", l.kind, sometimesAsking(d.of(l.kind+" asks"), oneOf(d.of(l.kind+" which"), l.ladders...))))
		}
	}
	if len(out) > 0 {
		p.line("ladders:\n%s", strings.Join(out, "\n"))
	}
}

var actingStep = regexp.MustCompile(`\{do: (cordon|drain|reboot|terminate)`) // matches a step that acts

// sometimesAsking returns a ladder that sometimes asks for an approval before one of its acts.
func sometimesAsking(d dice, ladder string) string {
	acts := actingStep.FindAllStringIndex(ladder, -1)
	if len(acts) == 0 || !d.of("some").chance(0.4) {
		return ladder
	}
	at := oneOf(d.of("which"), acts...)[0]
	return fmt.Sprintf("%s{approve: {for: %s, then: %s}}, %s", ladder[:at], minutes(d.of("for"), 10, 120), oneOf(d.of("then"), "hold", "go"), ladder[at:])
}

// presets writes presets, and overrides that name a cluster, a group or a preset.
func (p *policyWriter) presets(clusters []ClusterSpec) {
	d := p.d.of("overrides")
	if !d.of("some").chance(0.6) {
		return
	}
	p.line("presets:\n  slow: {registration: {warnAfter: 8m, deadline: %s}, reboot: {wait: 15m}}", minutes(d.of("slow"), 15, 30))
	p.line("overrides:")
	taken := map[string]bool{}
	for i := range 1 + d.of("many").below(3) {
		o := d.nth(i)
		c := oneOf(o.of("cluster"), clusters...)
		g := oneOf(o.of("group"), c.Groups...)
		kind := map[ownerKind]string{karpenter: "nodepool/", nodeGroup: "nodegroup/", autoScaling: "asg/"}[g.Owner]
		match := []string{fmt.Sprintf("cluster: %s", oneOf(o.of("pattern"), c.Name, c.Name[:2]+"*"))}
		if kind != "" && o.of("grouped").chance(0.6) {
			match = append(match, fmt.Sprintf("group: %q", oneOf(o.of("group pattern"), kind+g.Name, kind+"*")))
		}
		of := o.of("matches preset").chance(0.2) // Windows machines are those that random accounts have
		if of {
			match = append(match, "preset: "+oneOf(o.of("matched preset"), "windows", "windows", "windows", "gpu", "metal"))
		}
		matches := strings.Join(match, ", ")
		if taken[matches] {
			continue // it would be an error
		}
		taken[matches] = true
		p.line("  - match: {%s}", matches)
		switch {
		case o.of("preset").chance(0.3):
			p.line("    preset: slow")
		case o.of("mode").chance(0.25):
			p.line("    mode: %s", oneOf(o.of("to"), "observe", "notify", "remediate"))
		case of:
			p.line("    conditions: [{type: Ready, status: Unknown, tolerate: %s}]", minutes(o.of("silence"), 10, 45))
		default:
			p.line("    limits: {actionsPerHour: %d}", 1+o.of("hour").below(4))
		}
		p.sections("    ", o)
		if kind != "" && o.of("only told").chance(0.1) {
			p.line("    owners: {%s: notify}", g.Owner)
		}
	}
}
