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

// keyStop is the key that halts every act. It stands at the top of a document only, so
// that no override, preset or tag goes before it.
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

// Stops reports whether the text of a policy halts every act, also one with faults. A stop
// of any value but false counts: whoever wrote it wanted less, not more. Of a text that is
// no YAML a line that begins with the key counts.
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

// is reports whether the value is a plain true or false.
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

// stops are the root's keys of that name: one, if the document is valid.
func stops(root *yaml.Node) []pair {
	return slices.DeleteFunc(pairs(root), func(p pair) bool { return !isStop(p) })
}

// leastStopped is the document for where there is nothing to keep.
const leastStopped = "apiVersion: " + apiVersion + "\nmode: observe\nstop: true\n"

// WithStop returns the text of a policy with stop: true in it. Everything else stays as it
// is written, comments too. A text that says nothing gets the least document that stops, which
// anew reports. A text that is no YAML gets the line all the same, if it looks like a
// document: nothing is acted on under it, and nothing will be once it is corrected. It fails
// where the line cannot be put in without a change of the rest.
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

// WithoutStop returns the text of a valid policy without a stop. Everything else stays as
// it is written. The error is the one of Parse, or that the text cannot be changed so.
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

// chosen is the first of the texts that says what is wanted of stop, and for the rest the
// same as before.
func chosen(before *yaml.Node, tries [][]byte, wanted func([]pair) bool) ([]byte, error) {
	for _, text := range tries {
		after, fault := load(text)
		if fault == nil && wanted(stops(after)) && slices.EqualFunc(rest(before), rest(after), samePair) {
			return text, nil
		}
	}
	return nil, errNoPlace
}

// rest is all of the root but stop.
func rest(root *yaml.Node) []pair { return slices.DeleteFunc(pairs(root), isStop) }

func samePair(a, b pair) bool { return same(a.key, b.key) && same(a.value, b.value) }

func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, same)
}

// blank reports a text that says nothing: it is empty, or has nothing but comments, or null.
func blank(text []byte) bool {
	_, fault := load(text)
	return fault != nil && *fault == *empty()
}

func valid(text []byte) bool {
	_, err := Parse(text)
	return err == nil
}

// ended is a text whose last line is ended.
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

// lenient puts the line into what cannot be read as a document.
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

// page is a text by its lines, each with its end.
type page struct {
	lines  []string
	ending string // of a line that is put in
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

// with is the text with lines in the place of those from one to before another, from 0.
func (p page) with(from, to int, lines ...string) []byte {
	before := strings.Join(p.lines[:from], "")
	if before != "" && len(lines) > 0 && !strings.HasSuffix(before, "\n") {
		before += p.ending
	}
	return []byte(before + strings.Join(lines, "") + strings.Join(p.lines[to:], ""))
}

// at is a line, from 0, and what of it stands before a node and from the node on. The
// library counts characters, and not the mark of the byte order.
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

// inserted are texts with the line put in: behind the version, before the first key, at the
// end; or behind the brace of a document that is written as JSON is.
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

// replaced are texts with another value of stop: in the place of the value, or of all that
// stands behind the key.
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

// removed are texts without what inserted puts in: a line with nothing else on it, or an
// entry behind a brace.
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
