package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	textwidth "golang.org/x/text/width"

	"rollcall/shared/roll"
)

// Layout is how tables look.
type Layout struct {
	// Columns is the width of the terminal. 0 is none: then nothing is cut, so that a program
	// that reads the lines has whole names, and one line has everything about a finding.
	Columns int
	// Wide adds the zone and the cause to each finding, and cuts nothing.
	Wide bool
	// Everything adds findings within their tolerance, tagged instances that are no nodes, and
	// registration times.
	Everything bool
	// Color marks what is urgent and what is well.
	Color bool
}

// Sentences have at most proseMost columns, however wide the terminal is: longer lines are hard
// to read. The narrowest terminal that a table fits has tableLeast.
const tableLeast, tableUsual, proseMost = 40, 80, 100

// prose returns the width of sentences.
func (l Layout) prose() int {
	if l.Columns == 0 {
		return tableUsual
	}
	return min(max(l.Columns, tableLeast), proseMost)
}

// cut reports whether what does not fit the terminal is cut.
func (l Layout) cut() bool { return l.Columns > 0 && !l.Wide }

// short cuts a text to n columns. It cuts in the middle, because names of groups differ at
// both ends.
func short(s string, n int) string {
	s = shown(s)
	if columns(s) <= n {
		return s
	}
	r := []rune(s)
	head, tail, left := 0, len(r), n-1
	for cut := true; cut; {
		cut = false
		if w := columnsOf(r[tail-1]); tail > head && w <= left {
			tail, left, cut = tail-1, left-w, true
		}
		if w := columnsOf(r[head]); head < tail && w <= left {
			head, left, cut = head+1, left-w, true
		}
	}
	return string(r[:head]) + "…" + string(r[tail:])
}

// pad fills a text up to n columns.
func pad(s string, n int) string {
	s = shown(s)
	return s + strings.Repeat(" ", max(0, n-columns(s)))
}

// columns returns the width of a text in terminal columns.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// columnsOf returns the width of a character in terminal columns, according to
// https://www.unicode.org/reports/tr11/. A combining character has none.
func columnsOf(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch textwidth.LookupRune(r).Kind() {
	case textwidth.EastAsianWide, textwidth.EastAsianFullwidth:
		return 2
	}
	return 1
}

// shown is the visible text, with tabs and line feeds replaced by spaces, for a cell of a table.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		return r
	}, roll.Visible(s))
}

// text writes lines and keeps the first error.
type text struct {
	Layout
	w   io.Writer
	err error
}

// The colors of a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

func (t *text) line(format string, args ...any) { t.painted("", format, args...) }

// painted writes a line in a color, "" for none.
func (t *text) painted(color, format string, args ...any) {
	t.write(t.paint(color, strings.TrimRight(roll.Visible(fmt.Sprintf(format, args...)), " ")))
}

// cells writes a row of a table, the first cell in a color.
func (t *text) cells(color string, widths []int, row []string) {
	rest := ""
	for i := 1; i < len(row); i++ {
		rest += " " + pad(row[i], widths[i])
	}
	t.write("  " + t.paint(color, pad(row[0], widths[0])) + strings.TrimRight(rest, " "))
}

// paint returns a text without control characters in a color.
func (t *text) paint(color, s string) string {
	if !t.Color || color == "" || s == "" {
		return s
	}
	return color + s + plain
}

func (t *text) write(s string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, s)
	}
}

func (t *text) head(s string) {
	for _, l := range Wrapped(s, t.prose()) {
		t.painted(bold, "%s", l)
	}
}

func (t *text) section(name string) {
	t.line("")
	t.painted(bold, "  %s", name)
}

// list writes a section of paragraphs, or nothing if there are none.
func (t *text) list(name string, paragraphs []string) {
	if len(paragraphs) == 0 {
		return
	}
	t.section(name)
	for _, p := range paragraphs {
		t.wrap(4, p)
	}
}

// item writes one entry of a list. What does not fit continues below it, indented.
func (t *text) item(format string, args ...any) {
	for i, l := range Wrapped(fmt.Sprintf(format, args...), t.prose()-6) {
		if i == 0 {
			t.line("    %s", l)
		} else {
			t.line("      %s", l)
		}
	}
}

func (t *text) wrap(indent int, s string) {
	for _, l := range Wrapped(s, t.prose()-indent) {
		t.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// Wrapped returns a text in lines, broken between words. Lines have most columns at most. A
// longer word, such as an ARN, stays whole on a line of its own, because people copy it.
func Wrapped(s string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(shown(s)) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= most:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
