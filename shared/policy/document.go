package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Document is a policy document that validated. It does not change: any number of
// goroutines may read it. The zero value is the document that says nothing.
type Document struct {
	deployed  []setting // what the deployment says where the document does not
	settings  []setting
	overrides []override
	warnings  []Fault
}

// override is one entry of a document's overrides.
type override struct {
	cluster, group string // patterns, "" when the match does not name it
	settings       []setting
}

// matches reports whether the override is about the cluster and group. At the
// level of the cluster, where the group is "", no override with a group is.
func (o override) matches(cluster string, group roll.Group) bool {
	return (o.cluster == "" || glob(o.cluster, cluster)) &&
		(o.group == "" || group != "" && glob(o.group, string(group)))
}

// glob is path.Match for a pattern that validation has accepted.
func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// For is the effective policy of what the selector means: an instance, a group, or
// with the zero value the cluster as a whole. cluster is the EKS cluster's name; clusterTag the value of
// its tag rollcall:mode, "" when it has none. A tag that is no mode means Observe:
// someone wanted to say something about this cluster, and it was not "go on".
func (d *Document) For(cluster, clusterTag string, of roll.Selector) Policy {
	p, _ := d.effective(cluster, clusterTag, of)
	return p
}

// Setting is one value of an effective policy and where it came from.
type Setting struct {
	Key   string // such as registration.deadline, conditions.Ready=False, ladders.Unknown
	Value string // for a person
	From  string // "default", "line 3", "override at line 12", or the cluster tag
}

// Explain lists every value of the policy that For gives for the same arguments,
// in the order of the document's sections.
func (d *Document) Explain(cluster, clusterTag string, of roll.Selector) []Setting {
	_, settings := d.effective(cluster, clusterTag, of)
	return settings
}

// Warnings are the settings that are valid and have no effect in this version, in
// the order of the document.
func (d *Document) Warnings() []Fault { return slices.Clone(d.warnings) }

// effective merges what applies to a cluster and group, the weakest first, and
// sees to it that no warning comes after its deadline: each override is checked
// for that alone, but two of them may meet in a way that only a name decides.
func (d *Document) effective(cluster, clusterTag string, of roll.Selector) (Policy, []Setting) {
	group := of.Group
	layers := []layer{defaultLayer(), {func(int) string { return "deployment" }, d.deployed}, d.layer()}
	for _, o := range d.overrides {
		if o.group == "" && o.matches(cluster, group) {
			layers = append(layers, o.layer())
		}
	}
	if clusterTag != "" {
		layers = append(layers, tagLayer(clusterTag))
	}
	for _, o := range d.overrides {
		if o.group != "" && o.matches(cluster, group) {
			layers = append(layers, o.layer())
		}
	}
	p, settings := merge(layers...)
	if r := &p.Registration; r.WarnAfter > r.Deadline {
		r.WarnAfter = r.Deadline
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == keyWarnAfter })
		settings[i].Value = durationText(r.WarnAfter)
		settings[i].From += ", lowered to " + keyDeadline
	}
	return p, settings
}

// layer is a source of settings.
type layer struct {
	from     func(line int) string
	settings []setting
}

func defaultLayer() layer {
	return layer{func(int) string { return "default" }, defaults()}
}

func (d *Document) layer() layer {
	return layer{func(line int) string { return fmt.Sprintf("line %d", line) }, d.settings}
}

func (o override) layer() layer {
	return layer{func(line int) string { return fmt.Sprintf("override at line %d", line) }, o.settings}
}

func tagLayer(value string) layer {
	from := "cluster tag " + roll.TagMode
	m, err := ParseMode(value)
	if err != nil {
		m = Observe
		from += ": " + err.Error()
	}
	return layer{func(int) string { return from }, []setting{modeSetting(m)}}
}

// merge lays settings over each other, the later over the earlier, and gives both
// the policy that they make and the account of it.
func merge(layers ...layer) (Policy, []Setting) {
	var won []setting
	var told []Setting
	at := make(map[string]int)
	for _, l := range layers {
		for _, s := range l.settings {
			i, ok := at[s.key]
			if !ok {
				i = len(won)
				at[s.key] = i
				won, told = append(won, setting{}), append(told, Setting{})
			}
			won[i], told[i] = s, Setting{Key: s.key, Value: s.value, From: l.from(s.line)}
		}
	}
	p := Policy{Ladders: make(map[roll.Kind][]Step), Owners: make(map[roll.Owner]OwnerRule)}
	for _, s := range won {
		s.set(&p)
	}
	slices.SortStableFunc(told, func(a, b Setting) int { return sectionOf(a.Key) - sectionOf(b.Key) })
	return p, told
}

// sectionOf is the place of a key's section among the sections.
func sectionOf(key string) int {
	section, _, _ := strings.Cut(key, ".")
	return slices.Index(sections, section)
}
