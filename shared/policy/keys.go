package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// The keys that are checked together, or that a tag, a preset or the deployment sets.
const (
	keyWarnAfter      = "registration.warnAfter"
	keyDeadline       = "registration.deadline"
	keyInitWarnAfter  = "initialization.warnAfter"
	keyInitialization = "initialization.deadline"
	keyForce          = "drain.force"
	keyDrainTimeout   = "drain.timeout"
	keyBudgetTimeout  = "drain.budgetTimeout"
	keyRebootWait     = "reboot.wait"
	keyImpaired       = "impaired.tolerate"
)

// key is a key of a section that is a plain mapping.
type key struct {
	name    string                               // such as registration.deadline
	builtIn setting                              // its default
	read    func(*reader, field) (setting, bool) // from a document
	lasts   func(time.Duration) setting          // for keys that hold a duration
}

// keys are all keys, in the order of a document. The defaults are safe: if in doubt, a limit holds
// acts.
var keys = []key{
	duration(keyWarnAfter, 5*time.Minute, func(p *Policy) *time.Duration { return &p.Registration.WarnAfter }),
	duration(keyDeadline, 15*time.Minute, func(p *Policy) *time.Duration { return &p.Registration.Deadline }),
	duration(keyInitWarnAfter, 5*time.Minute, func(p *Policy) *time.Duration { return &p.Initialization.WarnAfter }),
	duration(keyInitialization, 15*time.Minute, func(p *Policy) *time.Duration { return &p.Initialization.Deadline }),
	keyOf("initialization.taints", nil, (*reader).taints, func(p *Policy, keys []string) { p.Initialization.Taints = slices.Clone(keys) }),
	tolerance(keyImpaired, 5*time.Minute, roll.Impaired),
	duration("scheduled.lead", 24*time.Hour, func(p *Policy) *time.Duration { return &p.Scheduled.Lead }),
	duration("launch.tolerance", 5*time.Minute, func(p *Policy) *time.Duration { return &p.Launch.Tolerance }),
	duration("launch.pending", 10*time.Minute, func(p *Policy) *time.Duration { return &p.Launch.Pending }),
	tolerance("ghost.tolerate", 5*time.Minute, roll.Ghost),
	tolerance("orphaned.tolerate", 15*time.Minute, roll.Orphaned),
	tolerance("stuck.after", time.Hour, roll.Stuck),
	duration(keyDrainTimeout, 10*time.Minute, func(p *Policy) *time.Duration { return &p.Drain.Timeout }),
	choice(keyForce, "a value of drain.force", "never", afterBudget, func(p *Policy) *bool { return &p.Drain.Force }),
	duration(keyBudgetTimeout, time.Hour, func(p *Policy) *time.Duration { return &p.Drain.BudgetTimeout }),
	duration(keyRebootWait, 10*time.Minute, func(p *Policy) *time.Duration { return &p.Reboot.Wait }),
	choice("silentNode.doNotDisrupt", aGuard, "hold", "ignore", func(p *Policy) *bool { return &p.SilentNode.IgnoreDoNotDisrupt }),
	choice("silentNode.budgets", aGuard, "hold", "ignore", func(p *Policy) *bool { return &p.SilentNode.IgnoreBudgets }),
	choice("silentNode.localVolumes", aGuard, "hold", "ignore", func(p *Policy) *bool { return &p.SilentNode.IgnoreLocalVolumes }),
	pointed("silentNode.outOfServiceTaint", false, (*reader).boolean, func(p *Policy) *bool { return &p.SilentNode.OutOfServiceTaint }),
	pointed("limits.unhealthy", 20, (*reader).percent, func(p *Policy) *Percent { return &p.Limits.Unhealthy }),
	pointed("limits.zone", 55, (*reader).percent, func(p *Policy) *Percent { return &p.Limits.Zone }),
	pointed("limits.massSilence", 10, (*reader).percent, func(p *Policy) *Percent { return &p.Limits.MassSilence }),
	duration("limits.stormCooldown", 15*time.Minute, func(p *Policy) *time.Duration { return &p.Limits.StormCooldown }),
	pointed("limits.replacements", 2, (*reader).count, func(p *Policy) *int { return &p.Limits.Replacements }),
	duration("limits.provenAfter", time.Hour, func(p *Policy) *time.Duration { return &p.Limits.ProvenAfter }),
	choice("limits.withoutReplacement", "what may happen without a replacement", "hold", "proceed", func(p *Policy) *bool { return &p.Limits.WithoutReplacement }),
	choice("limits.causeOutside", "what may happen to an instance whose cause lies outside of it", "hold", "tryOnce", func(p *Policy) *bool { return &p.Limits.TryOnce }),
	duration("limits.replacementWait", 30*time.Minute, func(p *Policy) *time.Duration { return &p.Limits.ReplacementWait }),
	pointed("limits.actionsPerCheck", 1, (*reader).count, func(p *Policy) *int { return &p.Limits.ActionsPerCheck }),
	pointed("limits.actionsPerHour", 5, (*reader).count, func(p *Policy) *int { return &p.Limits.ActionsPerHour }),
}

const (
	aGuard      = "what a guard does"
	afterBudget = "afterBudgetTimeout" // of keyForce
)

// keyOf returns a key with the way to read and store its value.
func keyOf[T any](name string, builtIn T, read func(*reader, field) (T, bool), set func(*Policy, T)) key {
	of := func(v T) setting { return settingOf(name, v, set) }
	return key{name: name, builtIn: of(builtIn), read: func(r *reader, f field) (setting, bool) {
		v, ok := read(r, f)
		return of(v), ok
	}}
}

// pointed returns a key of a field of the policy.
func pointed[T any](name string, builtIn T, read func(*reader, field) (T, bool), at func(*Policy) *T) key {
	return keyOf(name, builtIn, read, func(p *Policy, v T) { *at(p) = v })
}

// choice returns a key with one of two words. The first is the default, the second sets the field.
func choice(name, noun, off, on string, at func(*Policy) *bool) key {
	read := func(r *reader, f field) (string, bool) { return word(r, f, noun, []string{off, on}) }
	return keyOf(name, off, read, func(p *Policy, v string) { *at(p) = v == on })
}

func duration(name string, builtIn time.Duration, at func(*Policy) *time.Duration) key {
	return lasting(name, builtIn, func(p *Policy, d time.Duration) { *at(p) = d })
}

// tolerance returns the key of a section that holds only the tolerance of a kind.
func tolerance(name string, builtIn time.Duration, kind roll.Kind) key {
	return lasting(name, builtIn, func(p *Policy, d time.Duration) { p.Tolerances[kind] = d })
}

func lasting(name string, builtIn time.Duration, set func(*Policy, time.Duration)) key {
	k := keyOf(name, builtIn, func(r *reader, f field) (time.Duration, bool) { return r.duration(f, false) }, set)
	k.lasts = func(d time.Duration) setting { return settingOf(name, d, set) }
	return k
}

// durationSetting returns a setting of a key that holds a duration.
func durationSetting(name string, d time.Duration) setting {
	return keys[slices.IndexFunc(keys, func(k key) bool { return k.name == name })].lasts(d)
}

// keysOf returns the keys of a section, without its name.
func keysOf(section string) []string {
	var names []string
	for _, k := range keys {
		if name, ok := strings.CutPrefix(k.name, section+"."); ok {
			names = append(names, name)
		}
	}
	return names
}

// setting is one key of a policy with its value. Defaults, document, presets, overrides and tags
// are merged setting by setting.
type setting struct {
	key          string        // such as registration.deadline
	value        string        // for a person
	time         time.Duration // for settings that are a time, else 0
	path         string        // prefix of key in the path of a fault: "overrides[1]." or ""
	from         string        // its source, for a person
	preset       string        // the preset that an override applied to set it, "" if none
	line, column int           // its place in the document; 0 for a default
	set          func(*Policy)
}

// settingOf returns a key with its value. set must copy what could be changed through a policy.
func settingOf[T any](key string, v T, set func(*Policy, T)) setting {
	s := setting{key: key, value: fmt.Sprint(v), set: func(p *Policy) { set(p, v) }}
	switch v := any(v).(type) {
	case time.Duration:
		s.value, s.time = roll.Span(v), v
	case []Step:
		s.value = ladderText(v)
	case []string:
		if s.value = strings.Join(v, ", "); len(v) == 0 {
			s.value = "none"
		}
	}
	return s
}

// at returns the setting with the place of a field of the document.
func (s setting) at(f field) setting {
	s.line, s.column = line(f.key), column(f.key)
	s.from = fmt.Sprintf("line %d", s.line)
	return s
}

// sourced returns settings of one source.
func sourced(from string, settings ...setting) []setting {
	for i := range settings {
		settings[i].from = from
	}
	return settings
}

// fault returns a fault at the place of the setting.
func (s setting) fault(problem string) Fault {
	key := s.path + s.key
	if s.preset != "" {
		key = s.path + "preset"
	}
	return Fault{s.line, s.column, key, problem}
}

func modeSetting(m Mode) setting {
	return settingOf("mode", m, func(p *Policy, m Mode) { p.Mode, p.ModeSet = m, true })
}

func stopSetting(stop bool) setting {
	return settingOf(keyStop, stop, func(p *Policy, stop bool) { p.Stop = stop })
}

// conditionSetting only appends: merge keeps one setting for each type and status.
func conditionSetting(c Condition) setting {
	return settingOf("conditions."+c.Type+"="+c.Status, c.Tolerate, func(p *Policy, _ time.Duration) { p.Conditions = append(p.Conditions, c) })
}

func ladderSetting(kind roll.Kind, steps []Step) setting {
	return settingOf("ladders."+string(kind), steps, func(p *Policy, steps []Step) { p.Ladders[kind] = slices.Clone(steps) })
}

func causeLadderSetting(key CauseKey, steps []Step) setting {
	return settingOf("ladders."+key.String(), steps, func(p *Policy, steps []Step) {
		if p.CauseLadders == nil {
			p.CauseLadders = make(map[CauseKey][]Step)
		}
		p.CauseLadders[key] = slices.Clone(steps)
	})
}

func ownerSetting(owner roll.Owner, rule OwnerRule) setting {
	return settingOf("owners."+string(owner), rule, func(p *Policy, rule OwnerRule) { p.Owners[owner] = rule })
}
