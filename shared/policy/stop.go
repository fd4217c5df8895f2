package policy

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll"
)

// keyStop is the key that halts every act. It exists only at the top of a document, so that no
// override, preset or tag takes precedence.
const keyStop = "stop"

// Stopped reports whether the document halts every act.
func (d *Document) Stopped() bool { return d.For("", "", roll.Selector{}).Stop }

// Halted returns the document with every act halted.
func (d *Document) Halted() *Document {
	with := *d
	with.known = remembering()
	with.source.Halted = true
	with.settings = append(slices.Clip(d.settings), stopSetting(true))
	return &with
}

// Highest returns the highest mode that the document gives any cluster or group, and
// never more than permitted.
func (d *Document) Highest(permitted Mode) Mode {
	most := d.Cluster("", "", permitted)(roll.Selector{}).Mode
	for _, o := range d.overrides {
		for _, s := range o.settings {
			var p Policy
			if s.key != "mode" {
				continue
			}
			if s.set(&p); p.Mode.Allows(most) {
				most = p.Mode
			}
		}
	}
	return Lower(most, permitted)
}

// Stops reports whether the text of a policy halts every act, even if it has faults. Any value of
// stop but false counts: whoever wrote it wanted less, not more. In a text that is not YAML, a line
// that begins with the key counts.
func Stops(text []byte) bool {
	root, fault := load(text)
	if fault != nil {
		line := stopLine.FindSubmatch(text)
		return line != nil && !strings.EqualFold(firstWord(line[1]), "false")
	}
	return slices.ContainsFunc(stops(root), func(p pair) bool { return !p.is(false) })
}

func firstWord(text []byte) string {
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return word
}

// pair is a key of the root with its value.
type pair struct{ key, value *yaml.Node }

// is reports whether the value is a plain true or false, equal to stop.
func (p pair) is(stop bool) bool {
	return p.value.Kind == yaml.ScalarNode && p.value.ShortTag() == "!!bool" && strings.EqualFold(p.value.Value, strconv.FormatBool(stop))
}

func pairs(root *yaml.Node) (all []pair) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		all = append(all, pair{root.Content[i], root.Content[i+1]})
	}
	return all
}

func isStop(p pair) bool { return p.key.Kind == yaml.ScalarNode && p.key.Value == keyStop }

// stops returns the root's keys named stop: at most one in a valid document.
func stops(root *yaml.Node) []pair {
	return slices.DeleteFunc(pairs(root), func(p pair) bool { return !isStop(p) })
}

// leastStopped is the document that stops, for a text without content to keep.
const leastStopped = "apiVersion: " + apiVersion + "\nmode: notify\nstop: true\n"

// WithStop returns the text of a policy with stop: true. Everything else stays as written,
// including comments. An empty text becomes the minimal document that stops; anew reports that. A
// text that is not YAML gets the line too, if it looks like a document, so that nothing is acted on
// once it is corrected. It returns an error if the line cannot be added without changing the rest.
func WithStop(text []byte) (with []byte, anew bool, err error) {
	root, fault := load(text)
	switch {
	case blank(text):
		if with = append(ended(text), leastStopped...); len(bytes.TrimSpace(text)) > 0 && valid(with) {
			return with, true, nil // comments
		}
		return []byte(leastStopped), true, nil
	case fault != nil:
		with, err = lenient(text)
		return with, false, err
	}
	found, tries := stops(root), inserted(text, root)
	if len(found) > 0 {
		if found[0].is(true) {
			return text, false, nil
		}
		tries = replaced(text, found[0], true)
	}
	with, err = chosen(root, tries, func(p []pair) bool { return len(p) > 0 && p[0].is(true) })
	return with, false, err
}

// WithoutStop returns the text of a valid policy without a stop. Everything else stays as written.
// The error is the one of Parse, or says that the text cannot be changed that way.
func WithoutStop(text []byte) ([]byte, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if !d.Stopped() {
		return text, nil
	}
	root, _ := load(text)
	at := stops(root)[0]
	return chosen(root, append(removed(text, at), replaced(text, at, false)...), func(p []pair) bool { return len(p) == 0 || p[0].is(false) })
}

var errNoPlace = errors.New("the line cannot be changed without a change of the rest: write stop at the top of the document by hand")

// chosen returns the first of the texts that has the wanted stop and is otherwise equal to before.
func chosen(before *yaml.Node, tries [][]byte, wanted func([]pair) bool) ([]byte, error) {
	for _, text := range tries {
		after, fault := load(text)
		if fault == nil && wanted(stops(after)) && slices.EqualFunc(rest(before), rest(after), samePair) {
			return text, nil
		}
	}
	return nil, errNoPlace
}

// rest returns all of the root but stop.
func rest(root *yaml.Node) []pair { return slices.DeleteFunc(pairs(root), isStop) }

func samePair(a, b pair) bool { return same(a.key, b.key) && same(a.value, b.value) }

func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, same)
}

// blank reports whether a text has no content: it is empty, or has only comments or null.
func blank(text []byte) bool {
	_, fault := load(text)
	return fault != nil && *fault == *empty()
}

func valid(text []byte) bool {
	_, err := Parse(text)
	return err == nil
}

// ended returns the text with a line ending after its last line.
func ended(text []byte) []byte {
	if len(text) == 0 || bytes.HasSuffix(text, []byte("\n")) {
		return slices.Clip(text)
	}
	return append(slices.Clip(text), '\n')
}

var (
	stopLine    = regexp.MustCompile(`(?m)^stop[ \t]*:([^\r\n]*)`)
	versionLine = regexp.MustCompile(`(?m)^apiVersion[ \t]*:[^\r\n]*\r?\n`)
	keyLine     = regexp.MustCompile(`(?m)^[A-Za-z]+[ \t]*:`)
	afterKey    = regexp.MustCompile(`(stop[^:]*:)[^\r\n]*`)
)

// lenient adds the line to a text that is not a readable document.
func lenient(text []byte) ([]byte, error) {
	line := []byte("stop: true" + ending(text))
	if at := stopLine.FindSubmatchIndex(text); at != nil {
		if firstWord(text[at[2]:at[3]]) == "true" {
			return text, nil
		}
		return slices.Concat(text[:at[0]], []byte("stop: true"), text[at[1]:]), nil
	}
	for _, place := range []*regexp.Regexp{versionLine, keyLine} {
		if at := place.FindIndex(text); at != nil {
			i := at[0]
			if place == versionLine {
				i = at[1]
			}
			return slices.Concat(text[:i], line, text[i:]), nil
		}
	}
	return nil, errNoPlace
}

// ending returns the line ending of an added line.
func ending(text []byte) string {
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		return "\r\n"
	}
	return "\n"
}

// variants returns the texts with each variant of one line (from 1) in place of the line. Most variants are
// guesses: chosen takes none that changes more than stop.
func variants(text []byte, line int, of func(line string) []string) (texts [][]byte) {
	all := strings.SplitAfter(string(text), "\n")
	line = min(max(line, 1), len(all))
	for _, v := range of(all[line-1]) {
		texts = append(texts, []byte(strings.Join(all[:line-1], "")+v+strings.Join(all[line:], "")))
	}
	return texts
}

// inserted returns texts with the line added: after the version, before the first key, at the end,
// or after the brace of a document in JSON style.
func inserted(text []byte, root *yaml.Node) (tries [][]byte) {
	if root.Style&yaml.FlowStyle != 0 {
		return variants(text, root.Line, func(line string) []string {
			if len(root.Content) == 0 {
				return []string{strings.Replace(line, "{", `{"stop": true`, 1)}
			}
			return []string{strings.Replace(line, "{", `{"stop": true, `, 1)}
		})
	}
	added := strings.Repeat(" ", max(root.Column-1, 0)) + "stop: true" + ending(text)
	behind := func(line string) []string {
		if line != "" && !strings.HasSuffix(line, "\n") {
			line += ending(text)
		}
		return []string{line + added}
	}
	for _, kv := range pairs(root) {
		if kv.key.Value == "apiVersion" {
			tries = append(tries, variants(text, kv.value.Line, behind)...)
		}
	}
	before := func(line string) []string { return []string{added + line} }
	return slices.Concat(tries, variants(text, root.Line, before), variants(text, math.MaxInt, behind))
}

// replaced returns texts with another value of stop: in place of the value, or of everything after
// the key.
func replaced(text []byte, at pair, stop bool) (tries [][]byte) {
	value, old := strconv.FormatBool(stop), at.value.Value
	if at.value.Style == 0 && old != "" {
		tries = variants(text, at.value.Line, func(line string) (all []string) {
			for i := range line {
				if rest, ok := strings.CutPrefix(line[i:], old); ok {
					all = append(all, line[:i]+value+rest)
				}
			}
			return all
		})
	}
	return append(tries, variants(text, at.key.Line, func(line string) []string {
		return []string{afterKey.ReplaceAllString(line, "${1} "+value)}
	})...)
}

// removed returns texts without what inserted adds: a line with nothing else on it, or an entry
// after a brace.
func removed(text []byte, at pair) [][]byte {
	return variants(text, at.key.Line, func(line string) []string {
		if strings.TrimSpace(line) == "stop: true" {
			return []string{""}
		}
		return []string{strings.Replace(line, `"stop": true, `, "", 1)}
	})
}
