package userdata

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// documents gives the root of each YAML (or JSON) document in the text. Nodes
// are walked instead of decoded into Go values so that an alias costs nothing,
// however often it is used.
func (r *reader) documents(text, part string, f Format) []*yaml.Node {
	if len(text) > maxYAML {
		r.yamlProblem(part, f, TooLarge, nil)
		return nil
	}
	var roots []*yaml.Node
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			r.yamlProblem(part, f, Unparseable, err)
			return roots
		}
		if len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
}

// lookup follows keys through mappings; nil when one is missing.
func lookup(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var value *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				value = n.Content[i+1]
				break
			}
		}
		n = value
	}
	return resolve(n)
}

// items are the elements of a sequence, none for anything else.
func items(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// scalar is the text of a scalar that is not null. A cluster's name may look
// like a number, so its tag does not matter.
func scalar(n *yaml.Node) string {
	if n = resolve(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// yamlProblem leaves a NodeConfig to nodeadmReads, which reads as nodeadm does.
func (r *reader) yamlProblem(part string, f Format, why Reason, err error) {
	if f == NodeConfig {
		r.result.problem(part, f, why)
	} else {
		r.problemAt(part, f, why, err)
	}
}
