package policy

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// A layer is the settings of one source. Layers are stacked by appending them, the weakest first: of
// two settings of a key the later one counts.

// longer returns the settings of a layer that are longer times than those below it.
func longer(layer, below []setting) []setting {
	lower := top(below)
	return slices.DeleteFunc(top(layer), func(s setting) bool {
		i := slices.IndexFunc(lower, func(b setting) bool { return b.key == s.key })
		return i < 0 || s.time <= lower[i].time
	})
}

// part returns the settings whose keys have one of the prefixes.
func part(settings []setting, prefixes ...string) (kept []setting) {
	for _, s := range settings {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.key, p) }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// place returns the setting of the first of the keys that a layer has.
func place(layer []setting, keys ...string) (setting, bool) {
	for _, key := range keys {
		for _, s := range slices.Backward(layer) {
			if s.key == key {
				return s, true
			}
		}
	}
	return setting{}, false
}

// top returns the settings that count, one per key, in the order in which the keys first appear.
func top(settings []setting) []setting {
	won, at := make([]setting, 0, len(settings)), make(map[string]int, len(settings))
	for _, s := range settings {
		i, ok := at[s.key]
		if !ok {
			i = len(won)
			at[s.key] = i
			won = append(won, setting{})
		}
		won[i] = s
	}
	return won
}

// merge returns the policy of stacked layers, and its settings with their sources.
func merge(settings []setting) (Policy, []Setting) {
	p := Policy{
		Tolerances: make(map[roll.Kind]time.Duration),
		Ladders:    make(map[roll.Kind][]Step),
		Owners:     make(map[roll.Owner]OwnerRule),
	}
	won := top(settings)
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
