package policy

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// preset returns the preset of an instance: the one that its tag names, or else the one for its
// platform and type. It returns "" if there is none, or the document does not know it.
func (d *Document) preset(of roll.Selector) (name string, tagged bool) {
	all := d.presets()
	if _, ok := all[of.PresetTag]; ok {
		return of.PresetTag, true
	}
	if _, ok := all[of.Preset]; ok {
		return of.Preset, false
	}
	return "", false
}

// tagLayers returns a layer for each tag of an instance that sets something: its preset, then its
// deadline, which applies to both registration and initialization.
func (d *Document) tagLayers(of roll.Selector) []layer {
	var layers []layer
	if name, tagged := d.preset(of); tagged {
		layers = append(layers, layer{from("instance tag " + roll.TagPreset), d.presets()[name]})
	}
	if deadline, problem := readDuration(of.Deadline, false); of.Deadline != "" && problem == "" {
		layers = append(layers, layer{from("instance tag " + roll.TagDeadline), []setting{
			durationSetting(keyDeadline, deadline),
			durationSetting(keyInitialization, deadline),
		}})
	}
	return layers
}

// ceiling returns the highest mode that a tag rollcall:mode of a cluster or an instance allows. A
// value that is not a mode allows only Observe: whoever wrote it wanted less, not more.
func ceiling(tag string) Mode {
	if tag == "" {
		return Remediate
	}
	m, err := ParseMode(tag)
	if err != nil {
		return Observe
	}
	return m
}

// lowered returns the policy under a tag rollcall:mode, and its settings. source names the owner of
// the tag.
func lowered(p Policy, told []Setting, source, tag string) (Policy, []Setting) {
	if tag == "" {
		return p, told
	}
	most, problem := ceiling(tag), ""
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
	known := strings.Join(d.Presets(), ", ")
	name, tagged := d.preset(of)
	switch {
	case tagged:
		told = append(told, Setting{"preset", name, "instance tag " + roll.TagPreset})
	case name != "":
		told = append(told, Setting{"preset", name, "platform or type, for longer times only"})
	case of.Preset != "":
		told = append(told, Setting{"preset", ignored, fmt.Sprintf("%s is none of this policy's presets: %s", quote(of.Preset), known)})
	}
	if of.PresetTag != "" && !tagged {
		told = append(told, Setting{roll.TagPreset, ignored, fmt.Sprintf("instance tag: %s is none of this policy's presets: %s", quote(of.PresetTag), known)})
	}
	if of.Deadline != "" {
		if _, problem := readDuration(of.Deadline, false); problem != "" {
			told = append(told, Setting{roll.TagDeadline, ignored, "instance tag: " + problem})
		}
	}
	return told
}
