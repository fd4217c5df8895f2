package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable removes from a text what a terminal does not show: colours and other
// escape sequences, and control characters but for tabs and line breaks. It happens
// before anything is looked for, and before redaction, so that nothing hides by being
// in pieces.
func printable(text string) string {
	if clean(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if c := text[i]; ' ' <= c && c < 0x7f && c != '[' {
			b.WriteByte(c)
			i++
			continue
		}
		if n := escape(text, i); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == '\n' || r == '\r' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// clean reports whether a text has nothing to remove.
func clean(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == '[' && colour(text, i) > 0 {
			return false
		}
	}
	return true
}

// maxEscape is the most bytes of an escape sequence.
const maxEscape = 128

// escape is the length of the escape sequence at i, or 0 (ECMA-48). A colour whose
// escape character was lost, as web pages lose it, is one too.
func escape(text string, i int) int {
	if text[i] == '[' {
		return colour(text, i)
	}
	if text[i] != 0x1b || i+1 == len(text) {
		return 0
	}
	end := min(len(text), i+maxEscape)
	switch c := text[i+1]; {
	case c == '[':
		for n := i + 2; n < end; n++ {
			if text[n] >= 0x40 && text[n] <= 0x7e {
				return n + 1 - i
			}
			if text[n] < 0x20 || text[n] > 0x7e {
				return n - i
			}
		}
		return end - i
	case c == ']' || c == 'P' || c == '^' || c == '_':
		for n := i + 2; n < end && text[n] != '\n'; n++ {
			if text[n] == 0x07 {
				return n + 1 - i
			}
			if text[n] == 0x1b {
				return min(n+2, len(text)) - i
			}
		}
	case c >= 0x20 && c <= 0x2f && i+2 < len(text) && text[i+2] != '\n':
		return 3
	case c == '\n':
		return 1
	}
	return 2
}

// colour is the length of "[0;1;31m" at i, or 0.
func colour(text string, i int) int {
	n := i + 1
	for n < len(text) && n-i < 24 && (text[n] == ';' || text[n] == ':' || isDigit(text[n])) {
		n++
	}
	if n == i+1 || n >= len(text) || text[n] != 'm' {
		return 0
	}
	return n + 1 - i
}

// segment is one message in a line.
type segment struct {
	raw     string // with its timestamp
	text    string // without it
	tag     string // the program, as "systemd" in "systemd[1]: ..."; "" if none is named
	message string // text without date, host and tag
	trace   bool   // a shell shows a command that it runs
}

// kernel reports whether the kernel may have written the segment.
func (s segment) kernel() bool { return s.tag == "" || s.tag == "kernel" }

// segments splits a line into what was written by itself: at carriage returns, and
// where the kernel wrote into the middle of a line, which begins with its timestamp.
func segments(line string) []segment {
	var out []segment
	for part := range strings.SplitSeq(line, "\r") {
		from := 0
		for i := 1; i < len(part); i++ {
			if part[i] != '[' || stamp(part, i) == 0 {
				continue
			}
			// After a program's tag it is that program's text: it shows an older log.
			if !strings.HasSuffix(part[:i], "]: ") && strings.TrimSpace(part[from:i]) != "" {
				out = append(out, newSegment(part[from:i]))
				from = i
			}
			i += stamp(part, i) - 1
		}
		if strings.TrimSpace(part[from:]) != "" {
			out = append(out, newSegment(part[from:]))
		}
	}
	return out
}

// stamp is the length of the kernel's timestamp at i, with the task or processor that
// it may name, or 0: "[   13.226001] ", "[   13.226001][    T1] ".
func stamp(s string, i int) int {
	n := i + 1
	for n < len(s) && s[n] == ' ' && n-i < 12 {
		n++
	}
	digits := n
	for n < len(s) && isDigit(s[n]) && n-digits < 10 {
		n++
	}
	if n == digits || n+8 >= len(s) || s[n] != '.' || s[n+7] != ']' {
		return 0
	}
	for k := n + 1; k < n+7; k++ {
		if !isDigit(s[k]) {
			return 0
		}
	}
	n += 8
	if s[n] == '[' {
		if end := strings.IndexByte(s[n:min(len(s), n+12)], ']'); end > 0 {
			n += end + 1
		}
	}
	if n < len(s) && s[n] == ' ' {
		n++
	}
	return n - i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func newSegment(raw string) segment {
	s := segment{raw: raw}
	if s.raw[0] == '[' {
		s.text = raw[stamp(raw, 0):]
	} else {
		s.text = raw
	}
	s.text = strings.TrimRight(s.text, " \t")
	s.tag, s.message = tagged(s.text)
	s.trace = traced(s.message)
	return s
}

// tagged splits off who wrote a message: "systemd[1]: ...", "kernel: ...", also after
// the date and host of a system log.
func tagged(text string) (tag, message string) {
	rest := text
	if len(text) > 16 && text[3] == ' ' && text[6] == ' ' && text[9] == ':' && text[12] == ':' && text[15] == ' ' {
		if _, after, ok := strings.Cut(text[16:], " "); ok {
			rest = after
		}
	}
	head, after, ok := strings.Cut(rest, ": ")
	if !ok || len(head) > 64 || strings.ContainsAny(head, " \t") {
		return "", text
	}
	if head == "kernel" {
		return head, after
	}
	name, pid, ok := strings.Cut(head, "[")
	if !ok || !strings.HasSuffix(pid, "]") || strings.Trim(pid, "0123456789]") != "" {
		return "", text
	}
	return strings.Trim(name, "()"), after
}

// traced reports whether a message is the trace of a shell: "+ command", "++ command".
func traced(message string) bool {
	rest := strings.TrimLeft(message, "+")
	return len(rest) < len(message) && strings.HasPrefix(rest, " ")
}

// between is what stands in s after one text and before another, or to the end if the
// other is missing.
func between(s, after, before string) (string, bool) {
	_, rest, ok := strings.Cut(s, after)
	if !ok {
		return "", false
	}
	inner, _, _ := strings.Cut(rest, before)
	return inner, true
}
