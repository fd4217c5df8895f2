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
