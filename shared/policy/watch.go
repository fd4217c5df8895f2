package policy

import (
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Watch returns what to read of every node for the policies of this document. It has each condition
// but Ready, and each startup taint, that any part of the document names, for any cluster or group.
// A node's own policy may name fewer.
func (d *Document) Watch() roll.Watch {
	w := roll.Watch{Conditions: make(map[roll.ConditionKey]bool)}
	layers := []layer{defaultLayer(), d.deployedLayer(), d.layer()}
	for name, settings := range d.presets() {
		layers = append(layers, presetLayer(name, settings))
	}
	for _, o := range d.overrides {
		layers = append(layers, o.layer())
	}
	var p Policy // of one setting at a time
	for _, l := range layers {
		for _, s := range l.settings {
			if s.preset == "" && (strings.HasPrefix(s.key, "conditions.") || strings.HasPrefix(s.key, "initialization.")) {
				p = Policy{}
				w = watched(w, s, &p)
			}
		}
	}
	slices.Sort(w.Taints)
	w.Taints = slices.Compact(w.Taints)
	return w
}

// watched adds what a setting names, by means of an empty policy.
func watched(w roll.Watch, s setting, p *Policy) roll.Watch {
	s.set(p)
	for _, c := range p.Conditions {
		if c.Type != "Ready" {
			w.Conditions[roll.ConditionKey{Type: c.Type, Status: roll.ConditionStatus(c.Status)}] = true
		}
	}
	w.Taints = append(w.Taints, p.Initialization.Taints...)
	return w
}
