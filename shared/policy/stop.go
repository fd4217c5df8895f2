package policy

import (
	"bytes"
	"errors"
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
const leastStopped = "apiVersion: " + apiVersion + "\nmode: observe\nstop: true\n"

// WithStop returns the text of a policy with stop: true. Everything else stays as written,
// including comments. An empty text becomes the minimal document that stops; anew reports that. A
// text that is not YAML gets the line too, if it looks like a document: no act follows under it,
// and none will once it is corrected. It returns an error if the line cannot be added without
// changing the rest.
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
	found := stops(root)
	if len(found) > 0 && found[0].is(true) {
		return text, false, nil
	}
	page := split(text)
	var tries [][]byte
	if len(found) > 0 {
		tries = page.replaced(found[0], true)
	} else {
		tries = page.inserted(root)
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
	at, page := stops(root)[0], split(text)
	return chosen(root, append(page.removed(at), page.replaced(at, false)...), func(p []pair) bool { return len(p) == 0 || p[0].is(false) })
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
)

// lenient adds the line to a text that is not a readable document.
func lenient(text []byte) ([]byte, error) {
	line := []byte("stop: true" + split(text).ending)
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

// page is a text split into lines, each with its line ending.
type page struct {
	lines  []string
	ending string // line ending of an added line
}

func split(text []byte) page {
	p := page{lines: strings.SplitAfter(string(text), "\n"), ending: "\n"}
	if last := len(p.lines) - 1; p.lines[last] == "" {
		p.lines = p.lines[:last]
	}
	if len(p.lines) > 0 && strings.HasSuffix(p.lines[0], "\r\n") {
		p.ending = "\r\n"
	}
	return p
}

// with returns the text with the given lines instead of those from index from up to, but not
// including, to (from 0).
func (p page) with(from, to int, lines ...string) []byte {
	before := strings.Join(p.lines[:from], "")
	if before != "" && len(lines) > 0 && !strings.HasSuffix(before, "\n") {
		before += p.ending
	}
	return []byte(before + strings.Join(lines, "") + strings.Join(p.lines[to:], ""))
}

// at returns the line of a node (from 0), and the text of the line before the node and from it on.
// The YAML library counts characters, without the byte order mark.
func (p page) at(n *yaml.Node) (i int, before, from string) {
	i = n.Line - 1
	if i < 0 || i >= len(p.lines) {
		return 0, "", ""
	}
	chars := []rune(p.lines[i])
	column := n.Column - 1
	if len(chars) > 0 && chars[0] == '\ufeff' {
		column++
	}
	column = min(max(column, 0), len(chars))
	return i, string(chars[:column]), string(chars[column:])
}

// inserted returns texts with the line added: after the version, before the first key, at the end,
// or after the brace of a document in JSON style.
func (p page) inserted(root *yaml.Node) (tries [][]byte) {
	i, before, from := p.at(root)
	if rest, flow := strings.CutPrefix(from, "{"); flow && root.Style&yaml.FlowStyle != 0 {
		entry := `"stop": true`
		if len(root.Content) > 0 {
			entry += ", "
		}
		return [][]byte{p.with(i, i+1, before+"{"+entry+rest)}
	}
	line := strings.Repeat(" ", max(root.Column-1, 0)) + "stop: true" + p.ending
	for _, kv := range pairs(root) {
		if kv.key.Value == "apiVersion" {
			tries = append(tries, p.with(min(kv.value.Line, len(p.lines)), min(kv.value.Line, len(p.lines)), line))
		}
	}
	if len(root.Content) > 0 {
		i, _, _ := p.at(root.Content[0])
		tries = append(tries, p.with(i, i, line), p.with(len(p.lines), len(p.lines), line))
	}
	return tries
}

// replaced returns texts with another value of stop: in place of the value, or of everything after
// the key.
func (p page) replaced(at pair, stop bool) (tries [][]byte) {
	value := strconv.FormatBool(stop)
	i, before, from := p.at(at.value)
	if rest, plain := strings.CutPrefix(from, at.value.Value); plain && at.value.Style == 0 && at.value.Value != "" {
		tries = append(tries, p.with(i, i+1, before+value+rest))
	}
	i, before, from = p.at(at.key)
	if key, rest, ok := strings.Cut(from, ":"); ok {
		end := rest[len(strings.TrimRight(rest, "\r\n")):]
		tries = append(tries, p.with(i, i+1, before+key+": "+value+end))
	}
	return tries
}

// removed returns texts without what inserted adds: a line with nothing else on it, or an entry
// after a brace.
func (p page) removed(at pair) [][]byte {
	i, before, from := p.at(at.key)
	if rest, ok := strings.CutPrefix(from, `"stop": true, `); ok {
		return [][]byte{p.with(i, i+1, before+rest)}
	}
	if strings.TrimSpace(before) == "" && strings.TrimSpace(from) == "stop: true" {
		return [][]byte{p.with(i, i+1)}
	}
	return nil
}
