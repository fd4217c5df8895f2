package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"rollcall/shared/roll"
)

// overrides reads the overrides of a document. base are the layers under them, empty if those have
// faults. doc are the document's own settings. presets are those that overrides may refer to.
func (r *reader) overrides(list field, base, doc []setting, presets referable) []override {
	var overrides []override
	items, _ := r.items(list)
	first := make(map[match]int)
	for _, item := range items {
		before := len(r.faults)
		o := r.override(item, presets)
		if len(r.faults) > before {
			continue
		}
		if earlier, again := first[o.match]; again {
			r.fault(item.key, item.path, "the override at line %d has the same match: merge the two", earlier)
			continue
		}
		first[o.match] = line(item.key)
		if len(base) > 0 {
			r.deadlines(base, o.settings)
		}
		r.besides(o, doc)
		overrides = append(overrides, o)
	}
	return overrides
}

// besides warns of cause ladders of the document that take precedence over the ladder that an
// override sets for their kind.
func (r *reader) besides(o override, doc []setting) {
	own := func(key string) int {
		return slices.IndexFunc(o.settings, func(s setting) bool { return s.key == key })
	}
	for _, s := range doc {
		kind, _, byCause := strings.Cut(s.key, "/")
		if i := own(kind); byCause && i >= 0 && own(s.key) < 0 {
			at := o.settings[i]
			r.warnings = append(r.warnings, at.fault("does not change "+s.key+" of line "+strconv.Itoa(s.line)+", which takes precedence: override that too"))
		}
	}
}

func (r *reader) override(item field, presets referable) override {
	var o override
	found, ok := fields(r, item, overrideKeys)
	if !ok {
		return o
	}
	var applied []setting // from its preset: under its own settings, wherever the key appears
	var limits *field
	for i, f := range found {
		switch f.name {
		case "match":
			o.match = r.match(f, presets)
		case "preset":
			if name, ok := r.presetNamed(f, presets); ok {
				applied = apply(name, presets.settings[name], f)
			}
		default:
			if f.name == "limits" {
				limits = &found[i]
			}
			o.settings = append(o.settings, r.section(f)...)
		}
	}
	if o.preset != "" && limits != nil {
		r.fault(limits.key, limits.path, "limits are counted over a cluster and its groups, not over the instances of a preset: move them to an override without match.preset")
	}
	if r.required(item, "match", "") {
		r.idle(item, len(item.value.Content)/2-1)
	}
	o.settings = append(applied, o.settings...)
	for i := range o.settings {
		s := &o.settings[i]
		s.path, s.from = item.path+".", fmt.Sprintf("override at line %d", s.line)
		if s.preset != "" {
			s.from += ", preset " + s.preset
		}
	}
	if mode, ok := place(o.settings, "mode"); ok && mode.value == string(Ignore) && (o.group != "" || o.preset != "") {
		r.faults = append(r.faults, mode.fault("ignore is for whole clusters: match.cluster and nothing else"))
	}
	return o
}

// apply returns the settings of a preset that an override applies, at the place that names it.
func apply(name string, settings []setting, at field) []setting {
	applied := slices.Clone(settings)
	for i := range applied {
		applied[i].preset = name
		applied[i] = applied[i].at(at)
	}
	return applied
}

// match reads what an override matches.
func (r *reader) match(f field, presets referable) (m match) {
	found, ok := fields(r, f, []string{"cluster", "group", "preset"})
	if ok && len(f.value.Content) == 0 {
		r.fault(f.value, f.path, "is empty: give cluster, group, preset or several of them")
	}
	for _, f := range found {
		switch f.name {
		case "cluster":
			m.cluster = r.clusterPattern(f)
		case "group":
			m.group = r.groupPattern(f)
		case "preset":
			m.preset, _ = r.presetNamed(f, presets)
		}
	}
	return m
}

// pattern reads a pattern for path.Match, "" if it is invalid.
func (r *reader) pattern(f field) string {
	pattern, ok := r.text(f)
	if !ok {
		return ""
	}
	if _, err := path.Match(pattern, ""); err != nil {
		r.fault(f.value, f.path, "%s is not a pattern: a [ is not closed or holds nothing, or a \\ escapes nothing", quote(pattern))
		return ""
	}
	return pattern
}

func (r *reader) clusterPattern(f field) string {
	pattern := r.pattern(f)
	if strings.Contains(pattern, "/") {
		r.fault(f.value, f.path, "%s matches nothing: a cluster's name has no slash", quote(pattern))
	}
	return pattern
}

func (r *reader) groupPattern(f field) string {
	pattern := r.pattern(f)
	if pattern != "" && !matchesSomeGroup(pattern) {
		r.fault(f.value, f.path, "%s matches nothing: groups are nodepool/<name>, nodegroup/<name>, asg/<name> and none", quote(pattern))
	}
	return pattern
}

// matchesSomeGroup reports whether any group can match the pattern. An undetected error would leave
// a group under settings that were meant to change. A pattern with a class or an escape, which may
// hide a slash, is assumed to match.
func matchesSomeGroup(pattern string) bool {
	if strings.ContainsAny(pattern, `[\`) {
		return true
	}
	owner, _, name := strings.Cut(pattern, "/")
	if !name {
		return glob(pattern, string(roll.GroupNone))
	}
	for _, group := range []roll.Group{roll.NodePoolGroup(""), roll.NodeGroupGroup(""), roll.AutoScalingGroup("")} {
		if glob(owner, strings.TrimSuffix(string(group), "/")) {
			return true
		}
	}
	return false
}

// presetDeadlines checks each of the document's own presets over the layers below it.
func (r *reader) presetDeadlines(base []setting, own map[string][]setting) {
	built := builtIn()
	for _, name := range slices.Sorted(maps.Keys(own)) {
		r.deadlines(slices.Concat(base, built[name]), own[name])
	}
}

// deadlines checks that a layer over those below it sets no warning after its deadline. A fault is
// at the layer's deadline, or else at its warning. There is none if the layer sets neither. A layer
// that sets a short time to initialize but no warning has no fault either: the warning then comes
// with the deadline.
func (r *reader) deadlines(below, layer []setting) {
	p, told := merge(slices.Concat(below, layer))
	if p.Registration.Deadline < p.Registration.WarnAfter {
		r.late(layer, told, keyWarnAfter, keyDeadline)
	}
	warns := slices.ContainsFunc(layer, func(s setting) bool { return s.key == keyInitWarnAfter && s.preset == "" })
	if p.Initialization.Deadline < p.Initialization.WarnAfter && warns {
		r.late(layer, told, keyInitWarnAfter, keyInitialization)
	}
}

// late reports a fault if a layer sets a warning after its deadline.
func (r *reader) late(layer []setting, told []Setting, warnKey, deadlineKey string) {
	at, ok := place(layer, deadlineKey, warnKey)
	if !ok {
		return
	}
	warn, deadline := toldOf(told, warnKey), toldOf(told, deadlineKey)
	r.faults = append(r.faults, at.fault("the deadline of "+deadline.Value+" ("+deadline.From+") is before the warning after "+warn.Value+" ("+warn.From+")"))
}

// drains warns of a drain.budgetTimeout without effect, since no drain is forced. It also warns if
// the timeout ends before the first try to drain: then the drain is forced later than it says.
func (r *reader) drains(d *Document) {
	root := part(d.settings, "drain.")
	layers := [][]setting{root}
	for _, o := range d.overrides {
		layers = append(layers, part(o.settings, "drain."))
	}
	forced := slices.ContainsFunc(slices.Concat(layers...), func(s setting) bool {
		return s.key == keyForce && s.value == afterBudget
	})
	under := slices.Concat(part(defaults(), "drain."), root)
	for _, layer := range layers {
		p, told := merge(slices.Concat(under, layer))
		if at, ok := place(layer, keyBudgetTimeout); ok && !forced {
			r.warnings = append(r.warnings, at.fault("has no effect: "+keyForce+" is nowhere "+afterBudget))
		}
		if !p.Drain.Force || p.Drain.BudgetTimeout >= p.Drain.Timeout {
			continue
		}
		if at, ok := place(layer, keyBudgetTimeout, keyDrainTimeout, keyForce); ok {
			budget, try := toldOf(told, keyBudgetTimeout), toldOf(told, keyDrainTimeout)
			r.warnings = append(r.warnings, at.fault("the first try to drain takes longer, "+try.Value+" ("+try.From+"), than "+keyBudgetTimeout+" of "+budget.Value+" ("+budget.From+"): no drain is forced before it is over"))
		}
	}
}

func toldOf(told []Setting, key string) Setting {
	return told[slices.IndexFunc(told, func(s Setting) bool { return s.Key == key })]
}
