package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rollcall/shared/roll"
)

// object is a JSON object that is read field by field, more strictly than
// encoding/json does: names are told apart by case, and one that is given twice is a
// fault, since two readers may take either for the value.
type object struct {
	faults *faults
	prefix string // of its fields in messages, such as "detail."
	fields map[string]json.RawMessage
}

// parse reads the message as an object. The second result is false when it is none;
// the faults say why.
func parse(f *faults, body []byte) (object, bool) {
	switch {
	case len(body) > MaxBody:
		f.add("", "%d bytes, more than the %d that are read", len(body), MaxBody)
		return object{}, false
	case len(bytes.TrimSpace(body)) == 0:
		f.add("", "empty")
		return object{}, false
	case !utf8.Valid(body):
		f.add("", "not UTF-8")
		return object{}, false
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			f.add("", "not JSON (at byte %d of %d)", syntax.Offset, len(body))
		} else {
			f.add("", "not JSON")
		}
		return object{}, false
	}
	return readObject(f, "", whole)
}

// readObject reads JSON that is known to be valid.
func readObject(f *faults, name string, data json.RawMessage) (object, bool) {
	o := object{faults: f, fields: map[string]json.RawMessage{}}
	if name != "" {
		o.prefix = name + "."
	}
	if data[0] != '{' {
		f.add(name, "must be a JSON object, is %s", kind(data))
		return object{}, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		f.add(name, "not JSON")
		return object{}, false
	}
	var twice []string
	for d.More() {
		token, err := d.Token()
		key, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			f.add(name, "not JSON")
			return object{}, false
		}
		if _, known := o.fields[key]; known && !slices.Contains(twice, key) && len(twice) < maxFaults {
			twice = append(twice, key)
			f.add(name, "has %s twice", f.quote(key))
		}
		o.fields[key] = value
	}
	return o, len(twice) == 0
}

// kind names the type of a JSON value.
func kind(data json.RawMessage) string {
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// only makes a fault of each field that is not among the known ones.
func (o object) only(known ...string) {
	var unknown []string
	for name := range o.fields {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		if len(o.faults.list) == maxFaults {
			o.faults.more++
			continue
		}
		o.faults.add(strings.TrimSuffix(o.prefix, "."), "unknown field %s", o.faults.quote(name))
	}
}

// optional reads a string that may be missing.
func (o object) optional(name string) (string, bool) {
	raw, ok := o.fields[name]
	if !ok {
		return "", false
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		o.faults.add(o.prefix+name, "must be a string, is %s", kind(raw))
		return "", false
	}
	return s, true
}

// text reads a string that must be there and must not be empty.
func (o object) text(name string) (string, bool) {
	if _, ok := o.fields[name]; !ok {
		o.faults.add(o.prefix+name, "missing")
		return "", false
	}
	s, ok := o.optional(name)
	if ok && s == "" {
		o.faults.add(o.prefix+name, "empty")
		return "", false
	}
	return s, ok
}

// match reads a string that must have a form, which is described in words.
func (o object) match(name string, form *regexp.Regexp, words string) string {
	s, ok := o.text(name)
	if ok && !form.MatchString(s) {
		o.faults.add(o.prefix+name, "%s is not %s", o.faults.quote(s), words)
	}
	return s
}

// oneOf reads a string that must be one of the known words.
func oneOf[S ~string](o object, name string, known []S) S {
	s, ok := o.text(name)
	if ok && !slices.Contains(known, S(s)) {
		o.faults.add(o.prefix+name, "unknown: %s", o.faults.quote(s))
	}
	return S(s)
}

// instance reads an instance id.
func (o object) instance(name string) roll.InstanceID {
	s, ok := o.text(name)
	if !ok {
		return ""
	}
	id, ok := roll.ParseInstanceID(s)
	if !ok {
		o.faults.add(o.prefix+name, "%s is not an instance id", o.faults.quote(s))
	}
	return id
}

// moment reads a time in RFC 3339, as strictly as time.Time.UnmarshalText does, and
// returns it in UTC.
func (o object) moment(name string) time.Time {
	s, ok := o.text(name)
	if !ok {
		return time.Time{}
	}
	var t time.Time
	err := t.UnmarshalText([]byte(s))
	t = t.UTC()
	if err != nil || !sensible(t) {
		o.faults.add(o.prefix+name, "%s is not a time in RFC 3339", o.faults.quote(s))
		return time.Time{}
	}
	return t
}

// sensible reports whether RFC 3339 can write the time, and it was set.
func sensible(t time.Time) bool {
	year := t.UTC().Year()
	return !t.IsZero() && year >= 1 && year <= 9999
}
