package userdata

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yaml returns the root of the first YAML (or JSON) document in the text, nil if there is none. read
// reports whether the whole text was read.
func (r *reader) yaml(text, part string, f Format) (root *yaml.Node, read bool) {
	if len(text) > maxYAML {
		r.problem(part, f, TooLarge)
		return nil, false
	}
	roots, err := yamlDocuments(text)
	if err != nil {
		r.problemAt(part, f, Unparseable, err)
	}
	if len(roots) == 0 {
		return nil, err == nil
	}
	if len(roots) > 1 && err == nil && f != PowerShell {
		// cloud-init rejects more than one document, even empty ones: "expected a single document"
		// (cloudinit/util.py, load_yaml; PyYAML, composer.py, get_single_node).
		r.boot.Unclear = true
		r.fault(Fault{Part: part, Format: f, Reason: MoreDocuments, Line: roots[1].Line, By: CloudInit, Effect: Fails})
		return roots[0], false
	}
	return roots[0], err == nil
}

// yamlDocuments returns the roots up to an error. Nodes are walked, not decoded into Go values, so
// that aliases cost nothing however often they are used.
func yamlDocuments(text string) (roots []*yaml.Node, err error) {
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return roots, err
		}
		if len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
}

// lookup follows keys through mappings. It returns nil if one is missing. Of equal keys the last
// one counts, as in the parsers of cloud-init and nodeadm.
func lookup(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		merges := maxMerges
		n = member(n, key, &merges)
	}
	return resolve(n)
}

// maxMerges and maxMerged bound what merge keys cost: aliases could nest them without end.
const (
	maxMerges = 16
	maxMerged = 128 // keys of a mapping that is merged
)

// member returns the value of a key. A merge key brings in those of other mappings, of several the first
// that has the key (https://yaml.org/type/merge.html). It replaces a value before it, as in nodeadm's parser
// (go.yaml.in/yaml/v2, decode.go); in that of cloud-init the mapping's own value counts.
func member(n *yaml.Node, key string, merges *int) (value *yaml.Node) {
	if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k, v := n.Content[i], n.Content[i+1]; {
		case k.Value == key:
			value = v
		case k.Value == "<<" && k.ShortTag() == "!!merge":
			value = cmp.Or(merged(v, key, merges), value)
		}
	}
	return value
}

func merged(from *yaml.Node, key string, merges *int) *yaml.Node {
	list := items(from)
	if list == nil {
		list = []*yaml.Node{from}
	}
	for _, n := range list {
		if *merges--; *merges < 0 {
			return nil
		}
		if n = resolve(n); n == nil || len(n.Content) > 2*maxMerged {
			continue
		}
		if value := member(n, key, merges); value != nil {
			return value
		}
	}
	return nil
}

// items returns the elements of a sequence, none for anything else.
func items(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// scalar returns the text of a scalar that is not null. A cluster's name may look like a number, so
// its tag does not matter.
func scalar(n *yaml.Node) string {
	if n = resolve(n); n == nil || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// truth returns true or false for a plain word that YAML 1.1 reads as one of them, and the text of
// any other scalar (https://yaml.org/type/bool.html).
func truth(n *yaml.Node) string {
	text := scalar(n)
	if text == "" || resolve(n).Style != 0 {
		return text
	}
	switch strings.ToLower(text) {
	case "true", "yes", "on", "y":
		return "true"
	case "false", "no", "off", "n":
		return "false"
	}
	return text
}

func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
