package redact

import (
	"sort"
	"strings"
)

// scan is one pass over one text.
type scan struct {
	text   string // masked
	lower  string // the same length
	starts []int  // where lines begin
	spans  []span
	depth  int
	budget *int // of decoded bytes, over all levels

	quotes     quoteState
	unbalanced int    // positions before it are not searched for a closing bracket
	unclosed   int    // the same for the end of a here-string
	hereEnds   [3]int // from where the end of a here-string was last searched for, and its begin and end
	listed     bool
	lists      [2][]list // of arguments, once listed
}

// quoteState remembers which quote is open at a position of a line, so that the search for a later
// position continues from there.
type quoteState struct {
	line, at int
	open     byte
}

// shortest is the length of the shortest text that can hold a secret and its name.
const shortest = 6

// find returns the spans of a text that hold secrets, sorted and joined.
func find(text string, depth int, budget *int) []span {
	if len(text) < shortest {
		return nil
	}
	text = masked(text)
	s := &scan{text: text, lower: asciiLower(text), starts: []int{0}, depth: depth, budget: budget}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	s.quotes.line = -1
	s.pem()
	s.forms()
	s.names()
	s.echoes()
	s.registry()
	s.substitutions()
	s.heredocs()
	s.tables()
	s.manifests()
	s.encoded()
	return merge(s.spans)
}

// add marks a part of the text as secret, unless nothing is left of it.
func (s *scan) add(from, to int, kind Kind) {
	from, to = s.trimmed(from, to)
	if from < to && !spent(s.text[from:to]) {
		s.spans = append(s.spans, span{from, to, kind})
	}
}

// line returns the number of a position's line, from 0.
func (s *scan) line(at int) int {
	return sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > at }) - 1
}

// lineEnd returns where a position's line ends, before its line break.
func (s *scan) lineEnd(at int) int { return s.endOf(s.line(at)) }

func (s *scan) endOf(line int) int {
	if line+1 < len(s.starts) {
		return s.starts[line+1] - 1
	}
	return len(s.text)
}

// content returns where a line's text begins and ends, without white space.
func (s *scan) content(line int) (from, to int) {
	return s.trimmed(s.starts[line], s.endOf(line))
}

// trimmed returns a part of the text without the white space around it.
func (s *scan) trimmed(from, to int) (int, int) {
	for from < to && isSpace(s.text[from]) {
		from++
	}
	for from < to && isSpace(s.text[to-1]) {
		to--
	}
	return from, to
}

func (s *scan) indent(line int) int {
	from, _ := s.content(line)
	return from - s.starts[line]
}

// below returns the end of the block after a line that is indented deeper than a column. With list,
// the items of a list in that column belong to it.
func (s *scan) below(line, col int, list bool) (end int) {
	end = s.endOf(line)
	for line++; line < len(s.starts); line++ {
		from, to := s.content(line)
		indent := from - s.starts[line]
		item := list && indent == col && s.at(from) == '-' && isBlank(s.at(from+1))
		switch {
		case from == to:
		case indent <= col && !item:
			return end
		default:
			end = s.endOf(line)
		}
	}
	return end
}

// joins reports whether a line continues on the next one: it ends in a backslash, or PowerShell's backtick.
func (s *scan) joins(line int) bool {
	from, to := s.content(line)
	return from < to && (s.text[to-1] == '\\' || s.text[to-1] == '`') && line+1 < len(s.starts)
}

// lastJoined returns the last of the lines that a line continues on, or the line.
func (s *scan) lastJoined(line int) int {
	for s.joins(line) {
		line++
	}
	return line
}

// at returns the character at a position, 0 outside the text.
func (s *scan) at(i int) byte {
	if i < 0 || i >= len(s.text) {
		return 0
	}
	return s.text[i]
}

func (s *scan) blanks(i int) int {
	for i < len(s.text) && isBlank(s.text[i]) {
		i++
	}
	return i
}

// each calls f with every position of a lower-case text.
func (s *scan) each(part string, f func(at int)) {
	for i := 0; ; {
		j := strings.Index(s.lower[i:], part)
		if j < 0 {
			return
		}
		f(i + j)
		i += j + len(part)
	}
}

// quoteBefore returns the quote that is open on the line before a position, or 0.
func (s *scan) quoteBefore(at int) byte {
	line := s.line(at)
	q := &s.quotes
	if q.line != line || q.at > at {
		*q = quoteState{line: line, at: s.starts[line]}
	}
	for ; q.at < at; q.at++ {
		c := s.text[q.at]
		switch {
		case c == '\\' && q.open != '\'':
			q.at++
		case q.open != 0:
			if c == q.open {
				q.open = 0
			}
		case c == '"', c == '\'' && !isAlnum(s.at(q.at-1)):
			q.open = c
		}
	}
	return q.open
}

func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isQuote(c byte) bool  { return c == '"' || c == '\'' || c == '`' }
func isName(c byte) bool   { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// asciiLower keeps the length of the text, which strings.ToLower does not.
func asciiLower(s string) string {
	b := []byte(s)
	for i := range b {
		if isUpper(b[i]) {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// classes counts the kinds of characters in a text.
func classes(v string) (upper, lower, digit, other int) {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		case isDigit(c):
			digit++
		default:
			other++
		}
	}
	return upper, lower, digit, other
}

// wordy reports whether a text is a word, or several in camel case: letters only, and no more
// capitals than words have.
func wordy(v string) bool {
	upper, lower, digit, other := classes(v)
	return other+digit == 0 && (upper == 0 || lower == 0 || 4*upper <= upper+lower+2)
}

// random reports whether a text is long and mixed enough to be generated.
func random(v string) bool {
	upper, lower, digit, _ := classes(v)
	return len(v) >= 16 && digit >= 2 && (upper >= 2 && lower >= 2 || digit >= 6 && upper+lower >= 6)
}

// opaque reports whether a part of a word looks generated, and not written: letters and digits without a separator, in
// both cases or as in hexadecimal numbers. A UUID has no such part, and is an identifier.
func opaque(v string) bool {
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("-_=+.", r) }) {
		if upper, lower, digit, other := classes(part); len(part) >= 16 && other == 0 && digit >= 2 && (upper >= 2 && lower >= 2 || upper == 0 && lower >= 6 && digit >= 3) {
			return true
		}
	}
	return false
}
