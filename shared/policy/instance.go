package policy

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// preset returns the preset for an instance's platform and type, "" if there is none, or the
// document does not know it.
func (d *Document) preset(of roll.Selector) string {
	if _, ok := d.presets()[of.Preset]; ok {
		return of.Preset
	}
	return ""
}

// tagged returns the settings of an instance's tag: its deadlines of registration and initialization.
func tagged(of roll.Selector) []setting {
	deadline, problem := readDuration(of.Deadline, false)
	if of.Deadline == "" || problem != "" {
		return nil
	}
	return sourced("instance tag "+roll.TagDeadline, durationSetting(keyDeadline, deadline), durationSetting(keyInitialization, deadline))
}

// Ceiling returns the highest mode that the tag rollcall:mode of a cluster allows. A value that is
// not a mode allows only Observe: whoever wrote it wanted less, not more.
func Ceiling(tag string) Mode {
	if tag == "" {
		return Remediate
	}
	m, err := ParseMode(tag)
	if err != nil {
		return Observe
	}
	return m
}

// lowered returns the policy under the tag rollcall:mode of a cluster, and its settings.
func lowered(p Policy, told []Setting, tag string) (Policy, []Setting) {
	if tag == "" || p.Mode == Ignore {
		return p, told
	}
	const source = "cluster tag"
	most, problem := Ceiling(tag), ""
	if _, err := ParseMode(tag); err != nil {
		problem = ": " + err.Error()
	}
	if most == Lower(most, p.Mode) && most != p.Mode {
		p.Mode = most
		told[0].Value, told[0].From = string(most), source+" "+roll.TagMode+problem
		return p, told
	}
	return p, append(told, Setting{Key: roll.TagMode, Value: "at most " + string(most), From: source + problem})
}

// remarks returns what the selector contains besides settings: the preset in use, and what was
// ignored.
func (d *Document) remarks(of roll.Selector) []Setting {
	var told []Setting
	const ignored = "ignored"
	if name := d.preset(of); name != "" {
		told = append(told, Setting{"preset", name, "platform or type, for longer times only"})
	} else if of.Preset != "" {
		told = append(told, Setting{"preset", ignored, fmt.Sprintf("%s is none of this policy's presets: %s", quote(of.Preset), strings.Join(d.Presets(), ", "))})
	}
	if of.Deadline != "" {
		if _, problem := readDuration(of.Deadline, false); problem != "" {
			told = append(told, Setting{roll.TagDeadline, ignored, "instance tag: " + problem})
		}
	}
	return told
}
