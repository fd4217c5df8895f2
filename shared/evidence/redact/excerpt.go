package redact

import (
	"strings"
	"unicode"
)

const (
	// MaxWidth is the most of a line, in characters, that an excerpt shows.
	MaxWidth = 160
	// MaxContext is the most lines that an excerpt shows on each side.
	MaxContext = 20
)

const cut = " ..."

// Excerpt is what Text leaves of a line, counted from 1, and of as many as context
// before and after it. The whole text is looked through first, since what makes a
// line secret may stand in another. Lines are cut at MaxWidth, and characters that
// steer a terminal are left out. A line that the text does not have gives nothing.
func Excerpt(s string, line, context int) string {
	clean, _ := Text(s)
	lines := strings.Split(strings.TrimSuffix(clean, "\n"), "\n")
	if line < 1 || line > len(lines) || s == "" {
		return ""
	}
	context = min(max(context, 0), MaxContext)
	from, to := max(line-1-context, 0), min(line+context, len(lines))
	out := make([]string, 0, to-from)
	for _, l := range lines[from:to] {
		out = append(out, narrow(l))
	}
	return strings.Join(out, "\n")
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
