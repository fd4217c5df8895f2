package policy

import (
	"path"
	"slices"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// Document is a policy document that validated. It does not change: any number of
// goroutines may read it. The zero value is the document that says nothing.
type Document struct {
	deployed  []setting // what the deployment says where the document does not
	settings  []setting
	own       map[string][]setting // its presets, by name
	overrides []override
	warnings  []Fault
	known     *memo.Memo[asked, Policy] // what Cluster told of it; nil remembers nothing
}

// override is one entry of a document's overrides.
type override struct {
	cluster, group string // patterns, "" when the match does not name it
	preset         string // likewise, a name
	settings       []setting
}

// matches reports whether the override is about the instances of a preset in the
// cluster and group. At the level of the cluster, where the group is "", no override
// with a group is, and where the preset is "" none with a preset.
func (o override) matches(cluster string, group roll.Group, preset string) bool {
	return (o.cluster == "" || glob(o.cluster, cluster)) &&
		(o.group == "" || group != "" && glob(o.group, string(group))) &&
		(o.preset == "" || o.preset == preset)
}

// glob is path.Match for a pattern that validation has accepted.
func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// For is the effective policy of what the selector means: an instance, a group, or
// with the zero value the cluster as a whole. cluster is the EKS cluster's name;
// clusterTag the value of its tag rollcall:mode, "" when it has none. The tag lowers
// the mode and never raises it. One that is no mode means Observe: someone wanted to
// say something about this cluster, and it was not "go on".
func (d *Document) For(cluster, clusterTag string, of roll.Selector) Policy {
	p, _ := d.effective(cluster, clusterTag, of)
	return p
}

// Setting is one value of an effective policy and where it came from.
type Setting struct {
	// Key is such as registration.deadline, conditions.Ready=False, ladders.Unknown;
	// preset for the preset that is in use; or an instance tag, such as
	// rollcall:deadline, that changes nothing.
	Key   string
	Value string // for a person
	// From is "default", "deployment", "line 3", "preset gpu", "override at line 12",
	// the cluster tag or an instance tag.
	From string
}

// Explain lists every value of the policy that For gives for the same arguments,
// in the order of the document's sections, and behind them what else the selector came
// to: the preset in use, and the tags that change nothing, with the reason.
func (d *Document) Explain(cluster, clusterTag string, of roll.Selector) []Setting {
	_, settings := d.effective(cluster, clusterTag, of)
	return append(settings, d.remarks(of)...)
}

// Warnings are the settings that are valid and have no effect, in the order of the
// document.
func (d *Document) Warnings() []Fault { return slices.Clone(d.warnings) }

// effective merges what applies, the weakest first, and sees to it that no warning
// comes after its deadline: each part is checked for that alone, but two of them may
// meet in a way that only a name decides.
func (d *Document) effective(cluster, clusterTag string, of roll.Selector) (Policy, []Setting) {
	preset, tagged := d.preset(of)
	layers := []layer{defaultLayer(), d.deployedLayer(), d.layer()}
	if preset != "" && !tagged {
		layers = append(layers, presetLayer(preset, d.presets()[preset]).longer(layers))
	}
	for _, o := range d.overrides {
		if o.group == "" && o.matches(cluster, of.Group, preset) {
			layers = append(layers, o.layer())
		}
	}
	for _, o := range d.overrides {
		if o.group != "" && o.matches(cluster, of.Group, preset) {
			layers = append(layers, o.layer())
		}
	}
	p, told := merge(append(layers, d.tagLayers(of)...)...)
	lowerWarning(&p.Registration.WarnAfter, p.Registration.Deadline, told, keyWarnAfter, keyDeadline)
	lowerWarning(&p.Initialization.WarnAfter, p.Initialization.Deadline, told, keyInitWarnAfter, keyInitialization)
	if preset != "" {
		p, told = underGroup(p, told, d.For(cluster, "", roll.GroupSelector(of.Group)))
	}
	if !p.ModeSet {
		told[0].From = "default, or what the stack's Mode or --mode says"
	}
	p, told = lowered(p, told, "cluster tag", clusterTag)
	return lowered(p, told, "instance tag", of.Mode)
}

// lowerWarning lets a warning come with its deadline at the latest.
func lowerWarning(warn *time.Duration, deadline time.Duration, told []Setting, warnKey, deadlineKey string) {
	if *warn <= deadline {
		return
	}
	*warn = deadline
	i := slices.IndexFunc(told, func(s Setting) bool { return s.Key == warnKey })
	told[i].Value = durationText(deadline)
	told[i].From += ", lowered to " + deadlineKey
}

// underGroup is the policy of a preset's instances with a mode no higher than their group's.
// What is told, and since when is acted on, is of the group: an override by preset, or the
// tag rollcall:preset, must not lead to acts that nobody is told of.
func underGroup(p Policy, told []Setting, group Policy) (Policy, []Setting) {
	if !group.ModeSet || p.Mode == Lower(p.Mode, group.Mode) {
		return p, told
	}
	p.Mode = group.Mode
	told[0].Value, told[0].From = string(group.Mode), told[0].From+", lowered to the mode of the group"
	return p, told
}
