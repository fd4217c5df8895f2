package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll"
)

// apiVersion is the only one there is.
const apiVersion = "rollcall/v1"

// The sections of a document; an override has the same and a match.
var (
	sections     = []string{"mode", "registration", "initialization", "conditions", "ladders", "limits", "owners"}
	documentKeys = slices.Concat([]string{"apiVersion"}, sections, []string{"overrides"})
	overrideKeys = slices.Concat([]string{"match"}, sections)
)

// Parse reads and validates a policy document. The error is a [Faults] with
// everything that is wrong; there is no document then.
//
// Accepted: one YAML document in UTF-8 of at most 1 MiB, without aliases and
// merge keys. Durations have units of h, m and s, from 1s to 30 days; only a
// step's after may be 0s. Percentages are whole and have their sign. A condition's
// status may be written with or without quotes: YAML reads False as a truth value,
// and both are understood. A key without a value is a fault, for "unset" and
// "empty" are different; an empty ladder is one in which nothing happens.
func Parse(data []byte) (*Document, error) {
	root, fault := load(data)
	if fault != nil {
		return nil, Faults{*fault}
	}
	r := &reader{}
	d := r.document(root)
	if len(r.faults) > 0 {
		byPlace(r.faults)
		return nil, Faults(r.faults)
	}
	byPlace(r.warnings)
	d.warnings = r.warnings
	return d, nil
}

func (r *reader) document(root *yaml.Node) *Document {
	d := &Document{}
	found, _ := fields(r, field{key: root, value: root}, documentKeys)
	overrides := -1
	for i, f := range found {
		switch f.name {
		case "apiVersion":
			r.version(f)
		case "overrides":
			overrides = i
		default:
			d.settings = append(d.settings, r.section(f)...)
		}
	}
	r.required(field{key: root, value: root}, "apiVersion", ": "+apiVersion)
	var base []layer // stays empty when there are faults: more would follow from those
	if len(r.faults) == 0 {
		base = []layer{registrationOf(defaultLayer()), registrationOf(d.layer())}
		r.deadlines(base)
	}
	if overrides >= 0 {
		d.overrides = r.overrides(found[overrides], base)
	}
	return d
}

func (r *reader) version(f field) {
	if value, tag, ok := r.scalar(f, apiVersion); ok && (tag != "!!str" || value != apiVersion) {
		r.fault(f.value, f.path, "%s is not known: this version reads %s", quote(value), apiVersion)
	}
}

// required reports a key that a mapping lacks altogether; one that is there and
// wrong is reported elsewhere. example is what may follow the key.
func (r *reader) required(in field, name, example string) bool {
	for i := 0; i < len(in.value.Content); i += 2 {
		if in.value.Content[i].Value == name {
			return true
		}
	}
	if example != "" {
		example = ": add " + quote(name+example)
	}
	r.fault(in.value, join(in.path, name), "is missing%s", example)
	return false
}

// section reads one section of the document or of an override.
func (r *reader) section(f field) []setting {
	switch f.name {
	case "mode":
		if m, ok := word(r, f, "a mode", modes); ok {
			return []setting{modeSetting(m).at(line(f.key), column(f.key))}
		}
	case "registration":
		return r.durations(f, "warnAfter", "deadline")
	case "initialization":
		if problem := notFound(uninitialized); problem != "" {
			r.warn(f.key, f.path, problem)
		}
		return r.durations(f, "deadline")
	case "conditions":
		return r.conditions(f)
	case "ladders":
		return r.ladders(f)
	case "limits":
		return r.limits(f)
	case "owners":
		return r.owners(f)
	}
	return nil
}

// idle warns about a section or override that is there and sets nothing.
func (r *reader) idle(f field, keys int) {
	if keys == 0 {
		r.warn(f.key, f.path, "sets nothing")
	}
}

// durations reads a section that holds only durations.
func (r *reader) durations(section field, names ...string) []setting {
	var settings []setting
	found, ok := fields(r, section, names)
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		if d, ok := r.duration(f, false); ok {
			settings = append(settings, durationSetting(section.name+"."+f.name, d).at(line(f.key), column(f.key)))
		}
	}
	return settings
}

func (r *reader) conditions(section field) []setting {
	var settings []setting
	items, ok := r.items(section)
	if ok {
		r.idle(section, len(section.value.Content))
	}
	first := make(map[string]int)
	for _, item := range items {
		c, ok := r.condition(item)
		if !ok {
			continue
		}
		s := conditionSetting(c).at(line(item.key), column(item.key))
		if earlier, again := first[s.key]; again {
			r.fault(item.key, item.path, "%s %s stands in this list twice: it is at line %d already", c.Type, c.Status, earlier)
			continue
		}
		first[s.key] = s.line
		if problem := notFound(conditionKind(c.Type, c.Status)); problem != "" {
			r.warn(item.key, item.path, problem)
		}
		settings = append(settings, s)
	}
	return settings
}

// condition reads one condition. All of its keys are needed.
func (r *reader) condition(item field) (Condition, bool) {
	found, ok := fields(r, item, []string{"type", "status", "tolerate"})
	if !ok {
		return Condition{}, false
	}
	var c Condition
	read := 0
	for _, f := range found {
		switch f.name {
		case "type":
			c.Type, ok = r.conditionType(f)
		case "status":
			c.Status, ok = r.status(f)
		case "tolerate":
			c.Tolerate, ok = r.duration(f, false)
		}
		if ok {
			read++
		}
	}
	r.required(item, "type", "")
	r.required(item, "status", "")
	r.required(item, "tolerate", "")
	if c.Type == "Ready" && c.Status == string(roll.ConditionTrue) {
		r.fault(item.key, item.path, "Ready True is a healthy node: only Ready False and Ready Unknown can be tolerated for a time")
		return Condition{}, false
	}
	return c, read == 3
}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

func (r *reader) conditionType(f field) (string, bool) {
	s, ok := r.text(f)
	if ok && !camelCase.MatchString(s) {
		r.fault(f.value, f.path, "%s is not a condition type: a word in CamelCase such as Ready", quote(s))
		return "", false
	}
	return s, ok
}

var statuses = []roll.ConditionStatus{roll.ConditionTrue, roll.ConditionFalse, roll.ConditionUnknown}

// status reads a condition's status. Without quotes, YAML makes truth values of
// True and False, and both are what was meant.
func (r *reader) status(f field) (string, bool) {
	if f.value.Kind == yaml.ScalarNode && f.value.ShortTag() == "!!bool" {
		switch strings.ToLower(f.value.Value) {
		case "true":
			return string(roll.ConditionTrue), true
		case "false":
			return string(roll.ConditionFalse), true
		}
	}
	s, ok := word(r, f, "a condition status", statuses)
	return string(s), ok
}

func (r *reader) ladders(section field) []setting {
	var settings []setting
	found, ok := fields(r, section, kinds)
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		kind := roll.Kind(f.name)
		if problem := notFound(kind); problem != "" {
			r.warn(f.key, f.path, problem)
		}
		if steps, ok := r.ladder(f); ok {
			settings = append(settings, ladderSetting(kind, steps).at(line(f.key), column(f.key)))
		}
	}
	return settings
}

// ladder reads the steps of a kind and checks them together.
func (r *reader) ladder(f field) ([]Step, bool) {
	items, ok := r.items(f)
	if !ok {
		return nil, false
	}
	before := len(r.faults)
	var steps []Step
	var waits time.Duration
	ended, stopped := 0, false // the line of terminate; whether a verb is not available
	for _, item := range items {
		s, ok := r.step(item)
		if !ok {
			continue
		}
		switch {
		case ended > 0 && s.Do == DoTerminate:
			r.fault(item.key, item.path, "terminate stands twice, first at line %d: an instance is terminated once", ended)
		case ended > 0:
			r.fault(item.key, item.path, "%s comes after terminate: terminate must be the last step", s.Do)
		}
		if s.Do == DoTerminate {
			ended = s.Line
		}
		if waits <= maxDuration { // once over, say so once, and never overflow
			if waits += s.After; waits > maxDuration {
				r.fault(item.key, item.path, "the waits up to this step are over 30 days (720h) together")
			}
		}
		if !s.Do.Available() && !stopped {
			stopped = true
			r.warn(item.key, item.path, string(s.Do)+" is not available in this version: the ladder stops there and nothing after it happens")
		}
		steps = append(steps, s)
	}
	return steps, len(r.faults) == before
}

func (r *reader) step(item field) (Step, bool) {
	s := Step{Line: line(item.key)}
	found, ok := fields(r, item, []string{"do", "after", "once"})
	if !ok {
		return s, false
	}
	for _, f := range found {
		switch f.name {
		case "do":
			s.Do, _ = word(r, f, "a step", verbs)
		case "after":
			s.After, _ = r.duration(f, true)
		case "once":
			s.Once, _ = r.boolean(f)
		}
	}
	r.required(item, "do", "")
	return s, s.Do != ""
}

func (r *reader) limits(section field) []setting {
	var settings []setting
	found, ok := fields(r, section, []string{"unhealthy", "zone", "actionsPerCheck", "actionsPerHour"})
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		key := "limits." + f.name
		switch f.name {
		case "zone", "unhealthy":
			if f.name == "zone" && !thisVersion.zones {
				r.warn(f.key, f.path, "accepted, but this version does not look at zones yet")
			}
			if share, ok := r.percent(f); ok {
				settings = append(settings, percentSetting(key, share).at(line(f.key), column(f.key)))
			}
		default:
			if n, ok := r.count(f); ok {
				settings = append(settings, countSetting(key, n).at(line(f.key), column(f.key)))
			}
		}
	}
	return settings
}

func (r *reader) owners(section field) []setting {
	var settings []setting
	found, ok := fields(r, section, roll.Owners())
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		owner := roll.Owner(f.name)
		rule, ok := word(r, f, "a rule for an owner", ownerRules)
		if ok && rule == OwnerTerminate && !slices.Contains(thisVersion.terminates, owner) {
			r.fault(f.value, f.path, "terminate is not possible: in this version instances of this owner are only notified about, so only notify is allowed")
			continue
		}
		if ok {
			settings = append(settings, ownerSetting(owner, rule).at(line(f.key), column(f.key)))
		}
	}
	return settings
}

// overrides reads the overrides of a document. base is the registration under
// them, empty when that has faults of its own.
func (r *reader) overrides(list field, base []layer) []override {
	var overrides []override
	items, _ := r.items(list)
	type match struct{ cluster, group string }
	first := make(map[match]int)
	for _, item := range items {
		before := len(r.faults)
		o := r.override(item)
		if len(r.faults) > before {
			continue
		}
		m := match{o.cluster, o.group}
		if earlier, again := first[m]; again {
			r.fault(item.key, item.path, "the override at line %d has the same match: make one of the two", earlier)
			continue
		}
		first[m] = line(item.key)
		if len(base) > 0 {
			r.deadlines(append(slices.Clip(base), registrationOf(o.layer())))
		}
		overrides = append(overrides, o)
	}
	return overrides
}

func (r *reader) override(item field) override {
	var o override
	found, ok := fields(r, item, overrideKeys)
	if !ok {
		return o
	}
	for _, f := range found {
		if f.name == "match" {
			o.cluster, o.group = r.match(f)
			continue
		}
		o.settings = append(o.settings, r.section(f)...)
	}
	if r.required(item, "match", "") {
		r.idle(item, len(item.value.Content)/2-1)
	}
	for i := range o.settings {
		o.settings[i].path = item.path + "."
	}
	return o
}

// match reads the patterns that an override is for.
func (r *reader) match(f field) (cluster, group string) {
	found, ok := fields(r, f, []string{"cluster", "group"})
	if ok && len(f.value.Content) == 0 {
		r.fault(f.value, f.path, "is empty: give cluster, group or both")
	}
	for _, f := range found {
		pattern, ok := r.text(f)
		if !ok {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			r.fault(f.value, f.path, "%s is not a pattern: a [ is not closed or holds nothing, or a \\ escapes nothing", quote(pattern))
			continue
		}
		if f.name == "cluster" {
			cluster = pattern
			if strings.Contains(pattern, "/") {
				r.fault(f.value, f.path, "%s matches nothing: a cluster's name has no slash", quote(pattern))
			}
			continue
		}
		group = pattern
		if !matchesSomeGroup(pattern) {
			r.fault(f.value, f.path, "%s matches nothing: groups are nodepool/<name>, nodegroup/<name>, asg/<name> and none", quote(pattern))
		}
	}
	return cluster, group
}

// matchesSomeGroup reports whether a group can match the pattern. Not seeing that
// it cannot would leave a group under settings that someone meant to change. A
// pattern with a class or an escape, which may hide a slash, is taken on trust.
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

// registrationOf is the part of a layer that is about registration.
func registrationOf(l layer) layer {
	var kept []setting
	for _, s := range l.settings {
		if strings.HasPrefix(s.key, "registration.") {
			kept = append(kept, s)
		}
	}
	return layer{l.from, kept}
}

// deadlines checks that the warning does not come after the deadline once the
// layers are merged. A fault is the last layer's, on its deadline or else on its
// warning, and there is none when it touches neither.
func (r *reader) deadlines(layers []layer) {
	last := layers[len(layers)-1].settings
	if len(last) == 0 {
		return
	}
	p, told := merge(layers...)
	if p.Registration.Deadline >= p.Registration.WarnAfter {
		return
	}
	at := last[0]
	if i := slices.IndexFunc(last, func(s setting) bool { return s.key == keyDeadline }); i >= 0 {
		at = last[i]
	}
	warn, deadline := told[0], told[1] // in the order of the defaults
	r.faults = append(r.faults, Fault{at.line, at.column, at.path + at.key, "the deadline of " + deadline.Value + " (" + deadline.From +
		") is before the warning after " + warn.Value + " (" + warn.From + ")"})
}
