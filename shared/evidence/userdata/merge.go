package userdata

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// merging is how cloud-init merges a cloud-config into those before it. The zero value merges
// nothing.
// https://docs.cloud-init.io/en/latest/reference/merging.html, cloudinit/mergers
type merging struct {
	dict    bool   // keys are merged at all
	replace bool   // a key replaces the earlier one; else the earlier one stays
	recurse bool   // but lists in both are merged
	lists   string // how, "" for not at all
}

// usualMerging is what cloud-init does if a part says nothing: "dict(replace)+list()+str()"
// (cloudinit/handlers/cloud_config.py).
var usualMerging = merging{dict: true, replace: true, lists: "replace"}

// merger matches one of the mergers that a text names, with its options.
var merger = pattern.New(`^(?:m_)?(dict|list|str)\((.*)\)$`)

// mergingOf returns how a part is merged, by its own keys and by the header of its MIME part. ok is
// false if cloud-init does not know the mergers, and so rejects the part.
func mergingOf(root *yaml.Node, header string) (m merging, ok bool) {
	given := lookup(root, "merge_how")
	if given == nil || isNull(given) {
		given = lookup(root, "merge_type")
	}
	var names []string
	for _, item := range items(given) {
		words := scalars(item)
		if name := lookup(item, "name"); name != nil {
			words = append([]string{scalar(name)}, scalars(lookup(item, "settings"))...)
		}
		if len(words) == 0 {
			return m, false
		}
		names = append(names, words[0]+"("+strings.Join(words[1:], ",")+")")
	}
	names = slices.Concat(names, strings.Split(scalar(given), "+"), strings.Split(header, "+"))
	names = slices.DeleteFunc(names, func(name string) bool { return strings.TrimSpace(name) == "" })
	if len(names) == 0 {
		return usualMerging, true
	}
	for _, name := range names {
		found := merger.FindStringSubmatch(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_"))
		if found == nil {
			return m, false
		}
		m.add(found[1], strings.FieldsFunc(found[2], func(c rune) bool { return c == ',' || c == ' ' }))
	}
	return m, true
}

func scalars(list *yaml.Node) []string { return roll.Map(items(list), scalar) }

// add adds a merger. The first one of a kind counts.
func (m *merging) add(kind string, options []string) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(options, name) })
	}
	switch {
	case kind == "dict" && !m.dict:
		m.dict, m.replace, m.recurse = true, has("replace"), has("recurse_array", "recurse_list")
	case kind == "list" && m.lists == "":
		method, _ := roll.Find([]string{"append", "prepend", "replace", "no_replace"}, func(name string) bool { return has(name) })
		m.lists = cmp.Or(method, "replace")
	}
}

// entry is an item of a list in a cloud-config.
type entry struct {
	node *yaml.Node
	part string
	n    int // its number in the part; 0 if it stands in place of a list
}

// merge returns what is left of a list, and what is lost, when a later list of the same key is merged
// into it. listed reports whether the later value is a list.
func (m merging) merge(old, later []entry, listed bool) (kept, lost []entry) {
	switch {
	case !m.dict:
		return old, later
	case m.replace:
		return later, old
	case !m.recurse || !listed || m.lists == "" || m.lists == "no_replace":
		return old, later
	case m.lists == "append":
		return slices.Concat(old, later), nil
	case m.lists == "prepend":
		return slices.Concat(later, old), nil
	}
	common := min(len(old), len(later)) // item by item
	return slices.Concat(later[:common], old[common:]), slices.Concat(old[:common], later[common:])
}

// mergeConfig merges a cloud-config into those before it. Those that cloud-init rejects replace
// nothing.
func (r *reader) mergeConfig(root *yaml.Node, m merging, part string) {
	for _, key := range []string{"write_files", "bootcmd", "runcmd"} {
		value := lookup(root, key)
		if value == nil {
			continue
		}
		var later []entry
		if key != "write_files" && value.Kind != yaml.SequenceNode && !isNull(value) {
			later = append(later, entry{value, part, 0})
		}
		for i, node := range items(value) {
			later = append(later, entry{node, part, i + 1})
		}
		old, given := r.configs[key]
		if !r.spend(len(old) + len(later)) {
			r.problem(part, CloudConfig, TooComplex)
			return
		}
		kept, lost := later, old
		if given || !m.dict {
			kept, lost = m.merge(old, later, value.Kind == yaml.SequenceNode)
		}
		r.configs[key] = kept
		r.replaced(key, kept, lost)
	}
}

// replaced notes the parts that lost commands or files to another one, which has not the same.
func (r *reader) replaced(key string, kept, lost []entry) {
	left := ""
	for of := range byPart(lost) {
		if left == "" {
			left = r.textOf(key, kept)
		}
		text, part := r.textOf(key, of), key+" in "+of[0].part
		if !r.spend(len(left) + len(text)) {
			r.problem(of[0].part, CloudConfig, TooComplex)
			return
		}
		if text != "" && !strings.Contains(left, text) {
			r.texts[part] += text
			r.fault(Fault{Part: part, Format: CloudConfig, Reason: Replaced, By: CloudInit, Effect: Skipped})
		}
	}
}

// byPart yields the entries of one part after the other, as they follow each other.
func byPart(list []entry) func(yield func([]entry) bool) {
	return func(yield func([]entry) bool) {
		for len(list) > 0 {
			n := slices.IndexFunc(list, func(e entry) bool { return e.part != list[0].part })
			if n < 0 {
				n = len(list)
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// textOf returns the commands or the contents of files in a list.
func (r *reader) textOf(key string, list []entry) string {
	if key != "write_files" {
		return commandLines(roll.Map(list, func(e entry) *yaml.Node { return e.node }))
	}
	var out strings.Builder
	for _, e := range list {
		content, why := r.content(e.node)
		if why == "" && out.Len() <= maxScript {
			fmt.Fprintf(&out, "%s\n", content)
		}
	}
	return out.String()
}
