package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"rollcall/shared/roll/pattern"
)

// escape matches an escape sequence (ECMA-48), cut off after some characters if it does not end. It
// also matches a colour that lost its escape character, as in text copied from web pages.
var escape = pattern.New(`\x1b\[[ -?]{0,125}[@-~]?|\x1b[\]P^_][^\x07\x1b\n]{0,125}(?:\x07|\x1b.?)?|\x1b[ -/][^\n]|\x1b[^\n]?|` + lost)

const lost = `\[[0-9;:]{1,22}m`

var lostColour = pattern.New(lost)

// Printable removes what a terminal does not show: colours and other escape sequences, and control
// characters except tabs and line breaks. Lines keep their numbers.
func Printable(text string) string {
	if strings.ContainsAny(text, "\x1b") || lostColour.MatchString(text) {
		text = escape.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r != utf8.RuneError && unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// prefix matches what a system log, the journal, or the kernel's console puts before each line of a
// program's output: date and host or the time since boot, and the program.
var prefix = pattern.New(`^(?:\w{3} [ \d]\d \d\d:\d\d:\d\d \S{1,253} |\[ {0,11}\d{1,10}\.\d{6}\] )?(?:[^\s\[\]:]{1,60}\[\d{1,10}\]: |kernel: )?`)

// Log is Text for a log, without what a terminal does not show: colours split a name from its value. It
// also finds secrets of several lines, each of which has a prefix of its own: a tail may begin in the
// middle of a key, and a program may print a file.
func Log(s string) string {
	lines := strings.Split(Printable(s), "\n")
	prefixes := make([]string, len(lines))
	for i, line := range lines {
		if m := prefix.FindStringIndex(line); m != nil {
			prefixes[i], lines[i] = line[:m[1]], line[m[1]:]
		}
	}
	clean := Text(strings.Join(lines, "\n"))
	for i, line := range strings.Split(clean, "\n") { // lines keep their numbers
		lines[i] = prefixes[i] + line
	}
	return Text(strings.Join(lines, "\n"))
}

// MaxWidth is the maximum number of characters of an excerpt.
const MaxWidth = 160

const cut = " ..."

// Excerpt returns the first line of a text, redacted as by Text: the whole text first, because what
// makes a line secret may be in another line. The line is cut at MaxWidth, and characters that
// control a terminal are removed.
func Excerpt(s string) string {
	line, _, _ := strings.Cut(Text(s), "\n")
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimRight(line, " \t\r") {
		if r != '\t' && !unicode.IsPrint(r) {
			continue
		}
		if n == MaxWidth {
			b.WriteString(cut)
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
