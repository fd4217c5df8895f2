package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll/pattern"
)

// maxSize is the maximum size of a document in bytes. An SSM parameter holds at most 8 KiB; a
// larger file can be checked before it is shortened.
const maxSize = 1 << 20

// load parses the one YAML document in data and returns its root mapping.
func load(data []byte) (*yaml.Node, *Fault) {
	if len(data) > maxSize {
		return nil, &Fault{Line: 1, Column: 1, Problem: fmt.Sprintf("the document has %d bytes: at most %d (1 MiB) are read, and an SSM parameter holds 8192", len(data), maxSize)}
	}
	if f := notText(data); f != nil {
		return nil, f
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, empty()
	case err != nil:
		return nil, notYAML(data, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &Fault{Line: line(&second), Column: column(&second), Problem: "a second YAML document begins: a policy is one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(data, err)
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.MappingNode && root.ShortTag() == "!!map":
		return root, nil
	case isNull(root):
		return nil, empty()
	}
	return nil, &Fault{Line: line(root), Column: column(root), Problem: "the document must be a mapping (key: value), not " + what(root)}
}

func empty() *Fault {
	return &Fault{Line: 1, Column: 1, Problem: `the document is empty: at least "apiVersion: ` + apiVersion + `" is needed`}
}

// notText returns a fault for the first place where data is not valid YAML text. The YAML library
// detects it too, but does not return the place.
func notText(data []byte) *Fault {
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return &Fault{Line: line, Column: column, Problem: "not UTF-8 text"}
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85:
			return &Fault{Line: line, Column: column, Problem: fmt.Sprintf("control character %U: not allowed in YAML", r)}
		}
		i += size
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

var (
	yamlError     = pattern.New(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)$`)
	unknownAnchor = pattern.New(`^unknown anchor '(.*)' referenced$`)
)

// notYAML returns the fault for an error of the YAML library. The library gives the line only in
// the text of an error. It counts from 0 in parser errors, all of which say what was not found, and
// from 1 in scanner errors. It omits the first line.
func notYAML(data []byte, err error) *Fault {
	parts := yamlError.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(parts[1])
	problem := parts[2]
	if line > 0 && strings.HasPrefix(problem, "did not find expected") {
		line++
	}
	if name := unknownAnchor.FindStringSubmatch(problem); name != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+name[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	last := 1 + bytes.Count(data, []byte("\n"))
	return &Fault{Line: min(max(line, 1), last), Column: 1, Problem: "not YAML: " + strings.ReplaceAll(problem, "\n", " ")}
}

// line and column return the place of a node, at least 1 if the library has none.
func line(n *yaml.Node) int   { return max(n.Line, 1) }
func column(n *yaml.Node) int { return max(n.Column, 1) }

// isNull reports whether a node has no value: nothing, ~ or null.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// what describes a node for a message.
func what(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + quote(n.Value)
	case "!!bool":
		return "the truth value " + quote(n.Value)
	case "!!timestamp":
		return "the date " + quote(n.Value)
	}
	return quote(n.Value)
}
