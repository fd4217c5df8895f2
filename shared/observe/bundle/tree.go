package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

type kind string

const (
	object  kind = "an object"
	array   kind = "an array"
	text    kind = "a string"
	number  kind = "a number"
	boolean kind = "a boolean"
	null    kind = "null"
)

// value is a JSON value with its position in the file, so that faults can be reported with line and
// column.
type value struct {
	kind     kind
	from, to int // bytes of the file
	text     string
	fields   []field // of an object
	items    []value // of an array
}

type field struct {
	name string
	value
}

// get returns a field by name, or by the name in another case if no field matches exactly.
func (v *value) get(name string) *value {
	for i := range v.fields {
		if v.fields[i].name == name {
			return &v.fields[i].value
		}
	}
	for i := range v.fields {
		if strings.EqualFold(v.fields[i].name, name) {
			return &v.fields[i].value
		}
	}
	return nil
}

// said returns the text of a field, "" if there is none.
func (v *value) said(name string) string {
	if f := v.get(name); f != nil {
		return f.text
	}
	return ""
}

// each returns the items of an array.
func (v *value) each() (out []*value) {
	for i := range v.items {
		out = append(out, &v.items[i])
	}
	return out
}

// has reports whether there is such a field that is not null.
func (v *value) has(name string) bool {
	f := v.get(name)
	return f != nil && f.kind != null
}

// parse parses the file's JSON, and adds a fault if it is invalid.
func (in *input) parse() (value, bool) {
	if !json.Valid(in.data) {
		var v json.RawMessage
		in.notJSON(json.Unmarshal(in.data, &v)) // whose error has the position
		return value{}, false
	}
	r := &reader{data: in.data}
	if in.spec.folded {
		return r.value(2), true
	}
	return r.value(whole), true
}

// unfold reads a value again with that many levels of its content: see reader.value.
func (in *input) unfold(v *value, levels int) value {
	r := &reader{data: in.data, at: v.from}
	return r.value(levels)
}

// notJSON adds a fault that describes the content of a file that is not JSON, as far as it can be
// recognized.
func (in *input) notJSON(err error) {
	trimmed := bytes.TrimLeft(in.data, " \t\r\n")
	start := len(in.data) - len(trimmed)
	at := start
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if ok {
		at = max(int(syntax.Offset)-1, 0)
	}
	again := "write it again with: " + in.spec.command
	switch first := trimmed[0]; {
	case ok && syntax.Error() == "unexpected end of JSON input":
		in.fail(len(in.data), "the JSON breaks off: the file is not whole, so %s", again)
	case ok && strings.Contains(syntax.Error(), "after top-level value"):
		in.fail(at, "more follows after the end of the JSON: a file holds one answer, so %s", again)
	case first == '{' || first == '[' || first == '"':
		in.fail(at, "this is not JSON (%s); %s", err, again)
	case looksLikeYAML(trimmed):
		in.fail(start, "this looks like YAML, and JSON is needed: %s", again)
	default:
		line, _, _ := strings.Cut(string(trimmed), "\n")
		in.fail(start, "this is not JSON but begins with %q: %s", cut(strings.TrimSpace(line), 60), again)
	}
}

func looksLikeYAML(data []byte) bool {
	if bytes.HasPrefix(data, []byte("---")) || bytes.HasPrefix(data, []byte("- ")) {
		return true
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	key, rest, found := strings.Cut(strings.TrimRight(string(line), "\r"), ":")
	return found && !strings.ContainsAny(key, " \t\"'(") && (rest == "" || strings.HasPrefix(rest, " ")) && !strings.EqualFold(key, "error")
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// reader reads JSON that is known to be valid.
type reader struct {
	data []byte
	at   int
}

func (r *reader) space() {
	for r.at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[r.at]) >= 0 {
		r.at++
	}
}

// whole is every level of a value.
const whole = -1

// value reads a value with that many levels of its content. Objects and arrays below them are
// folded: their kind and position is known, and they appear empty.
func (r *reader) value(levels int) value {
	r.space()
	v := value{from: r.at}
	switch c := r.data[r.at]; c {
	case '{', '[':
		v.kind = array
		if c == '{' {
			v.kind = object
		}
		if levels == 0 {
			r.skip()
			break
		}
		r.inside(&v, levels-1)
	case '"':
		v.kind, v.text = text, r.quoted()
	default:
		for r.at < len(r.data) && strings.IndexByte(" \t\r\n,:]}", r.data[r.at]) < 0 {
			r.at++
		}
		v.text = string(r.data[v.from:r.at])
		switch c {
		case 't', 'f':
			v.kind = boolean
		case 'n':
			v.kind = null
		default:
			v.kind = number
		}
	}
	v.to = r.at
	return v
}

func (r *reader) inside(v *value, levels int) {
	r.at++
	for r.space(); r.data[r.at] != '}' && r.data[r.at] != ']'; r.space() {
		if v.kind == object {
			name := r.quoted()
			v.fields = append(v.fields, field{name, r.value(levels)})
		} else {
			v.items = append(v.items, r.value(levels))
		}
	}
	r.at++
}

func (r *reader) skip() {
	for open := 0; ; r.at++ {
		switch r.data[r.at] {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case '"':
			r.toQuote()
		}
		if open == 0 {
			r.at++
			return
		}
	}
}

// toQuote moves from a quote to the one that ends the string.
func (r *reader) toQuote() (escaped bool) {
	for r.at++; r.data[r.at] != '"'; r.at++ {
		if r.data[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	return escaped
}

func (r *reader) quoted() string {
	from := r.at
	escaped := r.toQuote()
	r.at++
	if plain := r.data[from+1 : r.at-1]; !escaped && utf8.Valid(plain) {
		return string(plain)
	}
	var s string
	if err := json.Unmarshal(r.data[from:r.at], &s); err != nil {
		panic(fmt.Sprintf("valid JSON with an invalid string: %v", err)) // parse has looked at it
	}
	return s
}
