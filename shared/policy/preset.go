package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// builtIn returns the presets that every document has, for instances that start slowly. A document
// that names one of them changes it key by key.
//
// A GPU node pulls drivers and images of many gigabytes, and a Windows node boots and joins in two
// stages, after a reboot too. 15 minutes are often not enough for either. Bare metal checks its
// hardware and memory at each boot, which takes 20 minutes and more. EC2's status check fails until
// a reboot is over, whoever ordered it, so that it may last as long.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func builtIn() map[string][]setting {
	slow := func() []setting {
		return []setting{
			durationSetting(keyWarnAfter, 10*time.Minute),
			durationSetting(keyDeadline, 30*time.Minute),
			durationSetting(keyInitWarnAfter, 10*time.Minute),
			durationSetting(keyInitialization, 30*time.Minute),
		}
	}
	boots := func(d time.Duration) []setting {
		return append(slow(), durationSetting(keyRebootWait, d), durationSetting(keyImpaired, d))
	}
	all := map[string][]setting{roll.PresetGPU: slow(), roll.PresetWindows: boots(30 * time.Minute), roll.PresetMetal: boots(40 * time.Minute)}
	for name, settings := range all {
		sourced("preset "+name, settings...)
	}
	return all
}

// presets returns the settings of all presets by name, the built-in values first.
func (d *Document) presets() map[string][]setting {
	all := builtIn()
	for name, settings := range d.own {
		all[name] = append(all[name], settings...)
	}
	return all
}

// Presets returns the names of the presets that the document can apply, sorted: the built-in ones
// and its own.
func (d *Document) Presets() []string { return slices.Sorted(maps.Keys(d.presets())) }

var presetName = pattern.New(`^[a-z][a-z0-9-]{0,39}$`)

// presets reads the document's own presets. It includes those with faults, without the faulty
// parts, so that references to them are not reported too.
func (r *reader) presets(section field) map[string][]setting {
	own := make(map[string][]setting)
	found, ok := r.entries(section, func(f field) bool {
		switch {
		case f.key.ShortTag() != "!!str":
			r.fault(f.key, f.path, "a preset's name must be text: quote it")
		case !presetName.MatchString(f.name):
			r.fault(f.key, f.path, "%s is not a name for a preset: lower-case letters, digits and hyphens, a letter first, 40 at most", quote(f.name))
		default:
			return true
		}
		return false
	})
	if ok {
		r.idle(section, len(section.value.Content))
	}
	for _, f := range found {
		own[f.name] = r.preset(f)
	}
	return own
}

func (r *reader) preset(f field) []setting {
	var settings []setting
	found, ok := fields(r, f, presetKeys)
	if ok {
		r.idle(f, len(f.value.Content))
	}
	for _, section := range found {
		settings = append(settings, r.section(section)...)
	}
	suggested := builtIn()[f.name] != nil
	for i := range settings {
		settings[i].path, settings[i].from = f.path+".", fmt.Sprintf("preset %s at line %d", f.name, settings[i].line)
		if s := settings[i]; suggested && s.time == 0 {
			r.warnings = append(r.warnings, s.fault("applies only where an override applies the preset: a suggested preset only lengthens times"))
		}
	}
	return settings
}

// referable are the presets that a document may refer to.
type referable struct {
	settings map[string][]setting
	names    []string // sorted; nil if there are too many to list
}

// refer returns what a document may refer to.
func (d *Document) refer() referable {
	const few = 20
	to := referable{settings: d.presets()}
	if len(to.settings) <= few {
		to.names = d.Presets()
	}
	return to
}

// presetNamed reads a reference to a preset.
func (r *reader) presetNamed(f field, to referable) (string, bool) {
	if to.names != nil {
		return word(r, f, "a preset", to.names)
	}
	name, ok := r.text(f)
	if _, known := to.settings[name]; ok && !known {
		r.fault(f.value, f.path, "%s is not a preset: none under presets has that name", quote(name))
		return "", false
	}
	return name, ok
}
