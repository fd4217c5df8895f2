package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// apiVersion is the only supported version.
const apiVersion = "rollcall/v1"

// The sections of a document. An override has the same ones, its match, and the preset that it
// applies. A preset has those about the start of an instance.
var (
	sections = []string{
		"mode", "registration", "initialization", "conditions", "impaired", "scheduled", "launch", "ghost", "orphaned", "stuck",
		"ladders", "repair", "drain", "reboot", "silentNode", "limits", "owners",
	}
	documentKeys = slices.Concat([]string{"apiVersion", "mode", keyStop}, sections[1:], []string{"presets", "overrides"})
	overrideKeys = slices.Concat([]string{"match", "preset"}, sections)
	presetKeys   = []string{"registration", "initialization", "reboot", "impaired"}
	startup      = []string{"registration.", "initialization."} // the prefixes of keys about both
)

// Parse reads and validates a policy document. The error is a [Faults] with everything that is
// wrong; the document is then nil.
//
// It accepts one YAML document in UTF-8 of at most 1 MiB, without aliases and merge keys. Durations
// have the units h, m and s, from 1s to 30 days; only a step's after may be 0s. Percentages are
// whole numbers with a percent sign. The status of a condition may be written with or without
// quotes: YAML reads False as a boolean, and both forms are accepted. A key without a value is a
// fault, since "unset" and "empty" differ. With an empty ladder nothing happens.
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
	d.warnings, d.source.Text = r.warnings, string(data)
	return d, nil
}

func (r *reader) document(root *yaml.Node) *Document {
	d := &Document{known: remembering()}
	whole := field{key: root, value: root}
	found, _ := fields(r, whole, documentKeys)
	var overrides *field
	for i, f := range found {
		switch f.name {
		case "apiVersion":
			r.version(f)
		case "presets":
			d.own = r.presets(f)
		case "overrides":
			overrides = &found[i]
		case keyStop:
			if stop, ok := r.boolean(f); ok {
				d.settings = append(d.settings, stopSetting(stop).at(f))
			}
		default:
			d.settings = append(d.settings, r.section(f)...)
		}
	}
	r.required(whole, "apiVersion", ": "+apiVersion)
	var base []setting // stays empty if there are faults, which would cause more
	if len(r.faults) == 0 {
		defaults, own := part(defaults(), startup...), part(d.settings, startup...)
		r.deadlines(defaults, own)
		base = slices.Concat(defaults, own)
		r.presetDeadlines(base, d.own)
	}
	if overrides != nil {
		d.overrides = r.overrides(*overrides, base, d.settings, d.refer())
	}
	r.drains(d)
	return d
}

func (r *reader) version(f field) {
	if value, tag, ok := r.scalar(f, apiVersion); ok && (tag != "!!str" || value != apiVersion) {
		r.fault(f.value, f.path, "%s is not known: this version reads %s", quote(value), apiVersion)
	}
}

// required reports a fault if a mapping lacks a key. A key with a wrong value is reported
// elsewhere. example is a value for the key.
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

// section reads one section of the document, of a preset or of an override.
func (r *reader) section(f field) []setting {
	switch f.name {
	case "mode":
		if m, ok := word(r, f, "a mode", documentModes); ok {
			return []setting{modeSetting(m).at(f)}
		}
		return nil
	case "conditions":
		return r.conditions(f)
	case "ladders":
		return r.ladders(f)
	case "repair":
		return r.repair(f)
	case "owners":
		return r.owners(f)
	}
	return r.mapping(f)
}

func (r *reader) mapping(section field) []setting {
	return r.settings(section, among(r, keysOf(section.name)), func(f field) (setting, bool) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == section.name+"."+f.name })
		return keys[i].read(r, f)
	})
}

// settings reads a section in which each key is a setting.
func (r *reader) settings(section field, allowed func(field) bool, read func(field) (setting, bool)) []setting {
	var settings []setting
	found, ok := r.entries(section, allowed)
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		if s, ok := read(f); ok {
			settings = append(settings, s.at(f))
		}
	}
	return settings
}

// idle warns about a section or override that sets nothing.
func (r *reader) idle(f field, keys int) {
	if keys == 0 {
		r.warn(f.key, f.path, "sets nothing")
	}
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
		s := conditionSetting(c).at(item)
		if earlier, again := first[s.key]; again {
			r.fault(item.key, item.path, "%s %s is in this list twice, first at line %d", c.Type, c.Status, earlier)
			continue
		}
		first[s.key] = s.line
		settings = append(settings, s)
	}
	return settings
}

// condition reads one condition. All of its keys are required.
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

var camelCase = pattern.New(`^[A-Z][A-Za-z0-9]*$`)

func (r *reader) conditionType(f field) (string, bool) {
	s, ok := r.text(f)
	if ok && !camelCase.MatchString(s) {
		r.fault(f.value, f.path, "%s is not a condition type: a word in CamelCase such as Ready", quote(s))
		return "", false
	}
	return s, ok
}

var statuses = []roll.ConditionStatus{roll.ConditionTrue, roll.ConditionFalse, roll.ConditionUnknown}

// status reads the status of a condition. Without quotes, YAML reads True and False as booleans,
// which are accepted too.
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
	return r.settings(section, r.ladderKey, func(f field) (setting, bool) {
		kind, code, byCause := strings.Cut(f.name, "/")
		steps, ok := r.ladder(f, roll.Kind(kind))
		if byCause {
			return causeLadderSetting(CauseKey{roll.Kind(kind), code}, steps), ok
		}
		return ladderSetting(roll.Kind(kind), steps), ok
	})
}

// ladderKey reports whether the key is a kind of finding, alone or with a cause. If not, it adds a
// fault.
func (r *reader) ladderKey(f field) bool {
	kind, code, byCause := strings.Cut(f.name, "/")
	switch known := slices.Contains(roll.Kinds(), roll.Kind(kind)); {
	case known && (!byCause || cause.Known(code)):
		return true
	case known:
		r.fault(f.key, f.path, "%s is not a code of the catalogue of causes%s", quote(code), didYouMean(code, cause.Codes()))
	case byCause:
		r.fault(f.key, f.path, "%s is not a kind of finding: %s%s", quote(kind), roll.OneOf(roll.Kinds()), didYouMean(kind, roll.Kinds()))
	case cause.Known(kind):
		r.fault(f.key, f.path, "is a cause: name the kind of finding before it, such as Unknown/%s", kind)
	default:
		r.unknown(f, didYouMean(f.name, roll.Kinds()), roll.OneOf(roll.Kinds()))
	}
	return false
}

// ladder reads the steps of a kind and checks them together.
func (r *reader) ladder(f field, kind roll.Kind) ([]Step, bool) {
	items, ok := r.items(f)
	if !ok {
		return nil, false
	}
	before := len(r.faults)
	var steps []Step
	c := climb{first: make(map[Do]int)}
	var asks Approve
	var unused *field // the latest rung that asks, before an act
	for _, item := range items {
		if r.asks(item) {
			r.before(unused)
			unused = nil
			if asked, ok := r.approve(item); ok {
				asked.Rung = asks.Rung + 1
				asks, unused = asked, &item
			}
			continue
		}
		s, ok := r.step(item)
		if !ok {
			unused = nil // it may have been an act
			continue
		}
		if s.Do.Acts() {
			s.Approve, unused = asks, nil
		}
		switch use, why := useOf(s.Do, kind); use {
		case senseless:
			r.fault(item.key, item.path, "%s makes no sense for %s: %s", s.Do, kind, why)
		case idle:
			r.warn(item.key, item.path, string(s.Do)+" "+why)
		}
		if problem := c.next(s); problem != "" {
			r.fault(item.key, item.path, "%s", problem)
		}
		steps = append(steps, s)
	}
	r.before(unused)
	return steps, len(r.faults) == before
}

const keyApprove, thenHold, thenGo = "approve", "hold", "go"

// asks reports whether an item of a ladder asks for an approval.
func (r *reader) asks(item field) bool {
	for i := 0; item.value.Kind == yaml.MappingNode && i < len(item.value.Content); i += 2 {
		if item.value.Content[i].Value == keyApprove {
			return true
		}
	}
	return false
}

// before reports a fault if no act follows a rung that asks; nil is no rung.
func (r *reader) before(rung *field) {
	if rung != nil {
		r.fault(rung.key, rung.path, "asks for approval, and no step that acts follows: cordon, drain, reboot, terminate or delete-node")
	}
}

// approve reads a rung that asks for an approval.
func (r *reader) approve(item field) (Approve, bool) {
	var a Approve
	found, ok := fields(r, item, []string{keyApprove})
	if !ok || len(found) != 1 {
		return a, false
	}
	before := len(r.faults)
	settings, ok := fields(r, found[0], []string{"for", "then"})
	if !ok {
		return a, false
	}
	for _, f := range settings {
		switch f.name {
		case "for":
			a.For, _ = r.duration(f, false)
		case "then":
			then, _ := word(r, f, "what follows without an approval", []string{thenHold, thenGo})
			a.ThenGo = then == thenGo
		}
	}
	r.required(found[0], "for", ": 2h")
	return a, len(r.faults) == before
}

// single has the verbs that a ladder may contain at most once, and why.
var single = map[Do]string{
	DoTerminate:  "an instance is terminated once",
	DoDeleteNode: "a node is deleted once",
	DoReboot:     "an instance is rebooted once at most for a finding",
}

// climb checks the order of the steps of a ladder.
type climb struct {
	first map[Do]int // the line of the first step with the verb
	last  Do         // the final step, "" before it
	waits time.Duration
}

// next returns what is wrong with a step after those before it, "" if nothing.
func (c *climb) next(s Step) string {
	earlier, again := c.first[s.Do]
	if !again {
		c.first[s.Do] = s.Line
	}
	last := c.last
	if s.Do == DoTerminate || s.Do == DoDeleteNode {
		c.last = s.Do
	}
	if c.waits <= maxDuration { // report the first excess only, and never overflow
		if c.waits += s.After; c.waits > maxDuration {
			return "the waits up to this step are over 30 days (720h) together"
		}
	}
	switch why := single[s.Do]; {
	case again && why != "":
		return fmt.Sprintf("%s appears twice, first at line %d: %s", s.Do, earlier, why)
	case last != "":
		return fmt.Sprintf("%s comes after %s: %s must be the last step", s.Do, last, last)
	}
	return ""
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

func (r *reader) owners(section field) []setting {
	return r.settings(section, among(r, roll.Owners()), func(f field) (setting, bool) {
		owner := roll.Owner(f.name)
		allowed := allowedRules[owner]
		if rule := OwnerRule(f.value.Value); slices.Contains(ownerRules, rule) && !slices.Contains(allowed, rule) {
			r.fault(f.value, f.path, "%s", notForOwner(owner, rule))
			return setting{}, false
		}
		rule, ok := word(r, f, "a rule for this owner", allowed)
		return ownerSetting(owner, rule), ok
	})
}

// notForOwner returns the fault of a rule that an owner cannot have.
func notForOwner(owner roll.Owner, rule OwnerRule) string {
	if why := notifyOnly[owner]; why != "" {
		return string(rule) + " is not possible: " + why + ", so only notify is allowed"
	}
	return string(rule) + " is not possible: only karpenter has NodeClaims; allowed here are " + roll.OneOf(allowedRules[owner])
}
