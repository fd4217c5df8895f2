package redact

import (
	"strings"
	"unicode"
)

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
