package redact

import (
	"sort"
	"strings"
)

// scan looks through one text once.
type scan struct {
	text   string
	lower  string // the same length
	starts []int  // where lines begin
	spans  []span
	depth  int
	budget *int // of decoded bytes, over all levels

	quotes      quoteState
	nestedUntil int // before it, nested collections were dealt with
	listUntil   int // the same for those in brackets
	echoedUntil int // the same for what echo is given
}

// quoteState remembers which quote is open at a place of a line, so that asking for
// a later place goes on from there.
type quoteState struct {
	line, at int
	open     byte
}

// shortest is the length of the shortest text that can hold a secret and its name.
const shortest = 6

// find gives the spans of a text that hold secrets, sorted and joined.
func find(text string, depth int, budget *int) []span {
	if len(text) < shortest {
		return nil
	}
	s := &scan{text: text, lower: asciiLower(text), depth: depth, budget: budget}
	s.starts = append(s.starts, 0)
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	s.quotes.line = -1
	s.pem()
	s.tokens()
	s.headers()
	s.urls()
	s.names()
	s.manifests()
	s.tables()
	s.commands()
	s.heredocs()
	s.encoded()
	return merge(s.spans)
}

// add says that a part of the text is a secret, unless nothing is left of it.
func (s *scan) add(from, to int, kind Kind) {
	for from < to && isSpace(s.text[from]) {
		from++
	}
	for from < to && isSpace(s.text[to-1]) {
		to--
	}
	if from < to && !spent(s.text[from:to]) {
		s.spans = append(s.spans, span{from, to, kind})
	}
}

// line is the number of a place's line, from 0.
func (s *scan) line(at int) int {
	return sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > at }) - 1
}

func (s *scan) lineStart(at int) int { return s.starts[s.line(at)] }

// lineEnd is where a place's line ends, before its line break.
func (s *scan) lineEnd(at int) int { return s.endOf(s.line(at)) }

func (s *scan) endOf(line int) int {
	if line+1 < len(s.starts) {
		return s.starts[line+1] - 1
	}
	return len(s.text)
}

// content is where a line's text begins and ends, without white space.
func (s *scan) content(line int) (from, to int) {
	from, to = s.starts[line], s.endOf(line)
	for from < to && isSpace(s.text[from]) {
		from++
	}
	for from < to && isSpace(s.text[to-1]) {
		to--
	}
	return from, to
}

// at is the character at a place, 0 outside of the text.
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

// word is where the characters up to white space end.
func (s *scan) word(i int) int {
	for i < len(s.text) && !isSpace(s.text[i]) {
		i++
	}
	return i
}

// each calls f with every place at which a lower-case text stands.
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

// alone reports whether a part of the text is a word of its own.
func (s *scan) alone(from, to int) bool {
	return !isName(s.at(from-1)) && !isName(s.at(to))
}

// quoteBefore is the quote that is open on the line before a place, or 0.
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

// quoteAhead is quoteBefore for a place after which an earlier one is asked for.
func (s *scan) quoteAhead(at int) byte {
	kept := s.quotes
	open := s.quoteBefore(at)
	s.quotes = kept
	return open
}

// logical is the extent of the command that a place belongs to: its line and those
// that a backslash (or PowerShell's backtick) joins to it, a few at most.
func (s *scan) logical(at int) (from, to int) {
	line := s.line(at)
	first, last := line, line
	for first > 0 && line-first < 12 && s.continued(first-1) {
		first--
	}
	for last < len(s.starts)-1 && last-line < 12 && s.continued(last) {
		last++
	}
	return s.starts[first], s.endOf(last)
}

func (s *scan) continued(line int) bool {
	_, to := s.content(line)
	return to > s.starts[line] && (s.text[to-1] == '\\' || s.text[to-1] == '`')
}
