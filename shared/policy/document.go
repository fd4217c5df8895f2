package policy

import (
	"path"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// Document is a valid policy document. It is immutable, so any number of goroutines may read it.
// Default, Parse and Source.Document make one.
type Document struct {
	deployed  []setting // the deployment's settings where the document has none
	settings  []setting
	own       map[string][]setting // its presets, by name
	overrides []override
	warnings  []Fault
	source    Source
	known     *cache
}

// override is one entry of a document's overrides.
type override struct {
	match
	settings []setting
}

// match selects what an override applies to: patterns, and the name of a preset; "" matches
// anything.
type match struct{ cluster, group, preset string }

// matches reports whether the override applies to the instances of a preset in the cluster and
// group. Overrides with a group do not apply at cluster level, where group is "". Overrides with a
// preset do not apply if preset is "".
func (m match) matches(cluster string, group roll.Group, preset string) bool {
	return (m.cluster == "" || glob(m.cluster, cluster)) &&
		(m.group == "" || group != "" && glob(m.group, string(group))) &&
		(m.preset == "" || m.preset == preset)
}

// glob is path.Match for a validated pattern.
func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// For returns the effective policy for a selector: an instance, a group, or the cluster as a whole
// (zero value). cluster is the name of the EKS cluster. clusterTag is the value of its tag
// rollcall:mode, "" if none. The tag lowers the mode and never raises it. A tag that is not a mode
// means Observe, the safe one.
func (d *Document) For(cluster, clusterTag string, of roll.Selector) Policy {
	p, _ := d.effective(cluster, clusterTag, of)
	return p
}

// Ignores reports whether a cluster is not to be read at all, whatever its tag rollcall:mode says.
func (d *Document) Ignores(cluster string) bool {
	return d.cached(cluster, "", roll.Selector{}).Mode == Ignore
}

// Setting is one value of an effective policy, and its source.
type Setting struct {
	// Key is for example registration.deadline, conditions.Ready=False or ladders.Unknown. It is
	// preset for the preset in use, or the name of an instance tag without effect, such as
	// rollcall:deadline.
	Key   string `json:"key"`
	Value string `json:"value"` // for a person
	// From is "default", "deployment", "line 3", "preset gpu", "override at line 12",
	// the cluster tag or an instance tag.
	From string `json:"from"`
}

// Explain returns all values of the policy that For returns for the same arguments, in the order of
// the document's sections. After them come the preset in use, and the tags without effect, with the
// reason.
func (d *Document) Explain(cluster, clusterTag string, of roll.Selector) []Setting {
	_, settings := d.effective(cluster, clusterTag, of)
	return append(settings, d.remarks(of)...)
}

// Warnings returns the settings that are valid but have no effect, in the order of the document.
func (d *Document) Warnings() []Fault { return slices.Clone(d.warnings) }

// effective merges the layers that apply, the weakest first. It also makes sure that no warning
// comes after its deadline. Validation checks that per layer, but two layers may combine only for
// certain names.
func (d *Document) effective(cluster, clusterTag string, of roll.Selector) (Policy, []Setting) {
	preset := d.preset(of)
	settings := slices.Concat(defaults(), d.deployed, d.settings)
	if preset != "" {
		settings = append(settings, longer(d.presets()[preset], settings)...)
	}
	for _, byGroup := range []bool{false, true} {
		for _, o := range d.overrides {
			if (o.group != "") == byGroup && o.matches(cluster, of.Group, preset) {
				settings = append(settings, o.settings...)
			}
		}
	}
	p, told := merge(append(settings, tagged(of)...))
	lowerWarning(&p.Registration.WarnAfter, p.Registration.Deadline, told, keyWarnAfter, keyDeadline)
	lowerWarning(&p.Initialization.WarnAfter, p.Initialization.Deadline, told, keyInitWarnAfter, keyInitialization)
	if preset != "" {
		p, told = underGroup(p, told, d.For(cluster, "", roll.GroupSelector(of.Group)))
	}
	if of != (roll.Selector{}) && p.Mode != Ignore {
		// An override by group does not bring back a part of a cluster that is ignored.
		if whole, why := d.effective(cluster, "", roll.Selector{}); whole.Mode == Ignore {
			p.Mode, told[0] = Ignore, why[0]
		}
	}
	if !p.ModeSet {
		told[0].From = "default, or what the stack's Mode or --mode says"
	}
	return lowered(p, told, clusterTag)
}

// lowerWarning moves a warning to its deadline if it is later.
func lowerWarning(warn *time.Duration, deadline time.Duration, told []Setting, warnKey, deadlineKey string) {
	if *warn <= deadline {
		return
	}
	*warn = deadline
	i := slices.IndexFunc(told, func(s Setting) bool { return s.Key == warnKey })
	told[i].Value = roll.Span(deadline)
	told[i].From += ", lowered to " + deadlineKey
}

// underGroup returns the policy of a preset's instances with a mode no higher than their group's.
// Notices, and the time from which acts are allowed, are per group. So an override by preset
// must not cause acts without notices.
func underGroup(p Policy, told []Setting, group Policy) (Policy, []Setting) {
	if !group.ModeSet || p.Mode == group.Mode || p.Mode == Lower(p.Mode, group.Mode) {
		return p, told
	}
	p.Mode = group.Mode
	told[0].Value, told[0].From = string(group.Mode), told[0].From+", lowered to the mode of the group"
	return p, told
}

// Watch returns what to read of every node for the policies of this document. It has each condition
// but Ready, and each startup taint, that any part of the document names, for any cluster or group.
// A node's own policy may name fewer. The document caches the result, so it must not be changed.
func (d *Document) Watch() roll.Watch {
	d.known.once.Do(func() { d.known.watch = d.watched() })
	return d.known.watch
}

func (d *Document) watched() roll.Watch {
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
