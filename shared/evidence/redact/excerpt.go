package redact

import (
	"strings"
	"unicode"

	"rollcall/shared/roll"
)

const (
	// MaxWidth is the maximum number of characters of a line in an excerpt.
	MaxWidth = 160
	// MaxContext is the maximum number of lines on each side of the line in an excerpt.
	MaxContext = 20
)

const cut = " ..."

// Excerpt returns a line, counted from 1, redacted as by Text, with up to context lines before and
// after it. It redacts the whole text first, because what makes a line secret may be in another
// line. Lines are cut at MaxWidth, and characters that control a terminal are removed. A line that
// does not exist gives "".
func Excerpt(s string, line, context int) string {
	clean := Text(s)
	lines := strings.Split(strings.TrimSuffix(clean, "\n"), "\n")
	if line < 1 || line > len(lines) || s == "" {
		return ""
	}
	context = min(max(context, 0), MaxContext)
	from, to := max(line-1-context, 0), min(line+context, len(lines))
	return strings.Join(roll.Map(lines[from:to], narrow), "\n")
}

func narrow(line string) string {
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
