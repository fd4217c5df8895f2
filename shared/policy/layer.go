package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// layer is a source of settings.
type layer struct {
	from     func(setting) string // source of a setting of the layer, for a person
	settings []setting
}

// from returns the same source for every setting of a layer.
func from(source string) func(setting) string {
	return func(setting) string { return source }
}

func defaultLayer() layer { return layer{from("default"), defaults()} }

func (d *Document) deployedLayer() layer { return layer{from("deployment"), d.deployed} }

func (d *Document) layer() layer {
	return layer{func(s setting) string { return fmt.Sprintf("line %d", s.line) }, d.settings}
}

func (o override) layer() layer {
	return layer{func(s setting) string {
		place := fmt.Sprintf("override at line %d", s.line)
		if s.preset != "" {
			place += ", preset " + s.preset
		}
		return place
	}, o.settings}
}

func presetLayer(name string, settings []setting) layer {
	return layer{func(s setting) string {
		if s.line == 0 {
			return "preset " + name
		}
		return fmt.Sprintf("preset %s at line %d", name, s.line)
	}, settings}
}

// longer returns the settings of a layer that are longer times than those of the layers below it.
func (l layer) longer(below []layer) layer {
	var kept []setting
	lower, upper := lay(below...), lay(l)
	for _, s := range upper {
		i := slices.IndexFunc(lower, func(b placed) bool { return b.key == s.key })
		if i >= 0 && s.time > lower[i].time {
			kept = append(kept, s.setting)
		}
	}
	return layer{l.from, kept}
}

// startup returns the part of a layer about registration and initialization.
func (l layer) startup() layer { return l.of("registration.", "initialization.") }

// of returns the part of a layer whose keys have one of the prefixes.
func (l layer) of(prefixes ...string) layer {
	var kept []setting
	for _, s := range l.settings {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.key, p) }) {
			kept = append(kept, s)
		}
	}
	return layer{l.from, kept}
}

// place returns the setting of the first of the keys that the layer has. Of two settings of a key
// the later one counts.
func (l layer) place(keys ...string) (at setting, ok bool) {
	for _, key := range keys {
		for _, s := range l.settings {
			if s.key == key {
				at, ok = s, true
			}
		}
		if ok {
			break
		}
	}
	return at, ok
}

// placed is a setting with its source.
type placed struct {
	setting
	from string
}

// lay stacks layers, the later over the earlier. It returns one setting per key, in the order in
// which the keys first appear.
func lay(layers ...layer) []placed {
	most := 0
	for _, l := range layers {
		most += len(l.settings)
	}
	won, at := make([]placed, 0, most), make(map[string]int, most)
	for _, l := range layers {
		for _, s := range l.settings {
			i, ok := at[s.key]
			if !ok {
				i = len(won)
				at[s.key] = i
				won = append(won, placed{})
			}
			won[i] = placed{s, l.from(s)}
		}
	}
	return won
}

// merge returns the policy of the layers, and its settings with their sources.
func merge(layers ...layer) (Policy, []Setting) {
	p := Policy{
		Tolerances: make(map[roll.Kind]time.Duration),
		Ladders:    make(map[roll.Kind][]Step),
		Owners:     make(map[roll.Owner]OwnerRule),
	}
	won := lay(layers...)
	told := make([]Setting, len(won))
	for i, s := range won {
		s.set(&p)
		told[i] = Setting{Key: s.key, Value: s.value, From: s.from}
	}
	slices.SortStableFunc(told, func(a, b Setting) int { return sectionOf(a.Key) - sectionOf(b.Key) })
	return p, told
}

// sectionOf returns the index of a key's section in a document.
func sectionOf(key string) int {
	section, _, _ := strings.Cut(key, ".")
	return slices.Index(documentKeys, section)
}
