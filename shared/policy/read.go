package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// maxDuration is the maximum of every duration of a policy, and of all waits of a ladder together.
// A longer one probably means "off".
const maxDuration = 30 * 24 * time.Hour

// reader walks a YAML tree and collects faults. Its methods report a fault themselves. Their last
// result is then false.
type reader struct {
	faults   []Fault
	warnings []Fault
}

func (r *reader) fault(n *yaml.Node, key, format string, args ...any) {
	r.faults = append(r.faults, Fault{line(n), column(n), key, fmt.Sprintf(format, args...)})
}

func (r *reader) warn(n *yaml.Node, key, problem string) {
	r.warnings = append(r.warnings, Fault{line(n), column(n), key, problem})
}

// field is a key with its value, or an item of a list. For an item, key and value are the same node
// and name is "".
type field struct {
	name       string
	path       string // from the root, for messages
	key, value *yaml.Node
}

// fields reads a mapping whose keys are all known.
func fields[S ~string](r *reader, in field, known []S) ([]field, bool) {
	return r.entries(in, among(r, known))
}

// among allows the known keys, and reports others.
func among[S ~string](r *reader, known []S) func(field) bool {
	return func(f field) bool {
		if slices.Contains(known, S(f.name)) {
			return true
		}
		r.unknown(f, didYouMean(f.name, known), roll.OneOf(known))
		return false
	}
}

// entries reads a mapping. allowed reports faults for keys that are not allowed. The result omits
// those, duplicates, and keys without a value.
func (r *reader) entries(in field, allowed func(field) bool) ([]field, bool) {
	if !r.collection(in, yaml.MappingNode, "!!map", "a mapping (key: value)") {
		return nil, false
	}
	var found []field
	first := make(map[string]int)
	for i := 0; i+1 < len(in.value.Content); i += 2 {
		key, value := in.value.Content[i], in.value.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.fault(key, in.path, "a key must be a plain word")
			continue
		}
		f := field{name: key.Value, path: join(in.path, quote(key.Value)), key: key, value: value}
		earlier, again := first[f.name]
		switch {
		case key.ShortTag() == "!!merge":
			r.fault(key, in.path, "merge keys (<<) are not supported: write the settings out")
		case again:
			r.fault(key, f.path, "given twice, first at line %d", earlier)
		case !allowed(f):
		case isNull(value):
			r.fault(key, f.path, "has no value: give it one or remove the key")
		default:
			found = append(found, f)
		}
		if !again {
			first[f.name] = line(key)
		}
	}
	return found, true
}

func (r *reader) unknown(f field, meant, known string) {
	if f.name == keyStop {
		r.fault(f.key, f.path, "is allowed only at the top of the document: it halts every act, in every cluster and group")
		return
	}
	if meant != "" {
		r.fault(f.key, f.path, "unknown key%s", meant)
		return
	}
	r.fault(f.key, f.path, "unknown key: allowed here are %s", known)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// items reads a list. Items without a value are faults and omitted.
func (r *reader) items(in field) ([]field, bool) {
	if !r.collection(in, yaml.SequenceNode, "!!seq", "a list") {
		return nil, false
	}
	var found []field
	for i, n := range in.value.Content {
		f := field{path: in.path + "[" + strconv.Itoa(i) + "]", key: n, value: n}
		if isNull(n) {
			r.fault(n, f.path, "has no value: give it one or remove the item")
			continue
		}
		found = append(found, f)
	}
	return found, true
}

func (r *reader) collection(in field, kind yaml.Kind, tag, wanted string) bool {
	n := in.value
	switch {
	case n.Kind == yaml.AliasNode:
		return r.alias(in)
	case n.Kind != kind:
		r.fault(n, in.path, "must be %s, not %s", wanted, what(n))
		return false
	case n.ShortTag() != tag:
		r.fault(n, in.path, "the YAML tag %s is not supported", quote(n.Tag))
		return false
	}
	return true
}

// alias refuses an alias. If aliases were followed, faults would be reported at the wrong lines,
// and a few lines could expand to millions.
func (r *reader) alias(f field) bool {
	r.fault(f.value, f.path, "aliases (%s) are not supported: write the value out", quote("*"+f.value.Value))
	return false
}

// scalar reads a single value as written, with its YAML tag.
func (r *reader) scalar(f field, wanted string) (value, tag string, ok bool) {
	n := f.value
	switch {
	case n.Kind == yaml.AliasNode:
		return "", "", r.alias(f)
	case n.Kind != yaml.ScalarNode:
		r.fault(n, f.path, "must be %s, not %s", wanted, what(n))
		return "", "", false
	}
	switch tag = n.ShortTag(); tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
		return n.Value, tag, true
	}
	r.fault(n, f.path, "the YAML tag %s is not supported", quote(n.Tag))
	return "", "", false
}

func (r *reader) text(f field) (string, bool) {
	value, tag, ok := r.scalar(f, "text")
	switch {
	case !ok:
		return "", false
	case tag != "!!str":
		r.fault(f.value, f.path, "must be text, not %s: quote it", what(f.value))
		return "", false
	case value == "":
		r.fault(f.value, f.path, "is empty: give a value or remove the key")
		return "", false
	}
	return value, true
}

// word reads one of a few words. noun names them: "a mode".
func word[S ~string](r *reader, f field, noun string, known []S) (S, bool) {
	value, tag, ok := r.scalar(f, roll.OneOf(known))
	if !ok {
		return "", false
	}
	if tag != "!!str" || !slices.Contains(known, S(value)) {
		r.fault(f.value, f.path, "%s is not %s: %s%s", quote(value), noun, roll.OneOf(known), didYouMean(value, known))
		return "", false
	}
	return S(value), true
}

// Units below the second are left out on purpose: nothing here happens that fast, and 5ms instead
// of 5m would terminate instances at once.
var (
	goDuration = pattern.New(`^([0-9]+(\.[0-9]+)?[hms])+$`)
	bareNumber = pattern.New(`^[0-9]+(\.[0-9]+)?$`)
)

// likeDuration describes a valid duration.
const likeDuration = "a duration such as 90s, 5m or 1h30m"

// duration reads a duration: from 1 s to 30 days, or also 0 where zero is allowed.
func (r *reader) duration(f field, zero bool) (time.Duration, bool) {
	value, tag, ok := r.scalar(f, likeDuration)
	if !ok {
		return 0, false
	}
	var d time.Duration
	var problem string
	switch tag {
	case "!!str":
		d, problem = readDuration(value, zero)
	case "!!int", "!!float":
		problem = noUnit(value)
	default:
		problem = "must be " + likeDuration + ", not " + what(f.value)
	}
	if problem != "" {
		r.fault(f.value, f.path, "%s", problem)
	}
	return d, problem == ""
}

// readDuration parses a duration in a policy or in an instance's tag. problem is what is wrong with
// it, "" if nothing.
func readDuration(value string, zero bool) (d time.Duration, problem string) {
	d, err := time.ParseDuration(value)
	switch {
	case bareNumber.MatchString(value):
		return 0, noUnit(value)
	case err == nil && d < 0:
		return 0, quote(value) + " is negative"
	case !goDuration.MatchString(value):
		return 0, quote(value) + " is not " + likeDuration + ": the units are h, m and s"
	case err != nil || d > maxDuration:
		return 0, quote(value) + " is over 30 days (720h)"
	case d == 0 && !zero:
		return 0, quote(value) + " is not positive"
	case d != 0 && d < time.Second:
		return 0, quote(value) + " is under 1s"
	}
	return d, ""
}

func noUnit(number string) string {
	return quote(number) + " has no unit: write for example " + withUnit(number)
}

// withUnit returns what a number without a unit probably means: minutes.
func withUnit(number string) string {
	if n, err := strconv.Atoi(number); err == nil && n >= 0 {
		return strconv.Itoa(n) + "m"
	}
	return "15m"
}

var percentage = pattern.New(`^(100|[0-9]{1,2})%$`)

func (r *reader) percent(f field) (Percent, bool) {
	const like = "a whole percentage from 0% to 100%"
	value, tag, ok := r.scalar(f, like)
	digits, signed := strings.CutSuffix(value, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case !ok:
	case tag == "!!str" && percentage.MatchString(value):
		return Percent(n), true
	case !signed && err == nil && n >= 0 && n <= 100:
		r.fault(f.value, f.path, "%s has no percent sign: write %s", quote(value), Percent(n))
	case signed && err == nil && n > 100:
		r.fault(f.value, f.path, "%s is over 100%%", quote(value))
	default:
		r.fault(f.value, f.path, "%s is not %s", quote(value), like)
	}
	return 0, false
}

var wholeNumber = pattern.New(`^(0|[1-9][0-9]*)$`)

// count reads a whole number in plain decimal digits only: YAML would read 010 as 8.
func (r *reader) count(f field) (int, bool) {
	like := fmt.Sprintf("a whole number from 0 to %d, without quotes", math.MaxInt32)
	value, tag, ok := r.scalar(f, like)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(value)
	if tag != "!!int" || !wholeNumber.MatchString(value) || err != nil || n > math.MaxInt32 {
		r.fault(f.value, f.path, "must be %s, not %s", like, quote(value))
		return 0, false
	}
	return n, true
}

func (r *reader) boolean(f field) (value, ok bool) {
	const like = "true or false, without quotes"
	s, tag, ok := r.scalar(f, like)
	if !ok {
		return false, false
	}
	s = strings.ToLower(s)
	if tag != "!!bool" || s != "true" && s != "false" {
		r.fault(f.value, f.path, "must be %s, not %s", like, what(f.value))
		return false, false
	}
	return s == "true", true
}
