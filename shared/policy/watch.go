package policy

import (
	"slices"

	"rollcall/shared/roll"
)

// Watch returns what to read of every node for the policies of this document. It has each condition
// but Ready, and each startup taint, that any part of the document names, for any cluster or group.
// A node's own policy may name fewer.
func (d *Document) Watch() roll.Watch {
	w := roll.Watch{Conditions: make(map[roll.ConditionKey]bool)}
	settings := slices.Concat(defaults(), d.deployed, d.settings)
	for _, preset := range d.presets() {
		settings = append(settings, preset...)
	}
	for _, o := range d.overrides {
		settings = append(settings, o.settings...)
	}
	for _, s := range part(settings, "conditions.", "initialization.") {
		if s.preset != "" {
			continue
		}
		var p Policy // of this setting alone
		s.set(&p)
		for _, c := range p.Conditions {
			if c.Type != "Ready" {
				w.Conditions[roll.ConditionKey{Type: c.Type, Status: roll.ConditionStatus(c.Status)}] = true
			}
		}
		w.Taints = append(w.Taints, p.Initialization.Taints...)
	}
	slices.Sort(w.Taints)
	w.Taints = slices.Compact(w.Taints)
	return w
}
