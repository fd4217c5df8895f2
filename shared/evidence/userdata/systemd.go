package userdata

import (
	"strings"
)

// The kubelet of EKS's images gets the flags of user data through systemd, which
// reads them twice, by rules that are not the shell's: once as the value of an
// environment variable, and once as $NAME on the unit's command line
// (systemd.exec, Environment= and EnvironmentFile=; systemd.service, Command
// lines; src/basic/extract-word.c and env-file.c).

// traced is text that remembers where in the original each byte stood.
type traced struct {
	text []byte
	at   []int
}

func (t *traced) add(c byte, at int) {
	t.text = append(t.text, c)
	t.at = append(t.at, at)
}

func trace(s string) traced {
	var t traced
	for i := range len(s) {
		t.add(s[i], i)
	}
	return t
}

// Loss says that systemd drops flags before the kubelet sees them.
type Loss string

// The losses.
const (
	// LostLines: a line break in bootstrap.sh's --kubelet-extra-args ends the line
	// Environment='KUBELET_EXTRA_ARGS=...' before its closing quote, and systemd
	// ignores the assignment; in one of nodeadm's flags it ends the assignment, and
	// systemd ignores the flags that follow.
	LostLines Loss = "a line break ends the assignment"
	// LostQuotes: the quotes in --kubelet-extra-args do not pair with those in
	// which bootstrap.sh puts it, and systemd ignores the assignment.
	LostQuotes Loss = "the quotes do not pair"
	// LostOnAmazonLinux2: a single quote or an unknown escape in
	// --kubelet-extra-args. systemd 219 of Amazon Linux 2 ignores the assignment
	// ("Trailing garbage, ignoring"); later ones read on, and the Ubuntu images
	// pass the text on in another way.
	LostOnAmazonLinux2 Loss = "systemd 219 ignores the assignment"
)

// environmentValue is the variable that systemd gets from the drop-in that
// bootstrap.sh writes: Environment='KUBELET_EXTRA_ARGS=$KUBELET_EXTRA_ARGS'
// (awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh).
func environmentValue(extra string) (traced, Loss) {
	line, ok := oneLine(extra)
	if !ok {
		return traced{}, LostLines
	}
	value, balanced, old := unquoteAssignment(line)
	switch {
	case !balanced:
		return traced{}, LostQuotes
	case !old:
		return value, LostOnAmazonLinux2
	}
	return value, ""
}

// oneLine puts lines together that end in a backslash, for which a unit file
// reads a blank. ok is false when a line ends otherwise.
func oneLine(s string) (line traced, ok bool) {
	escaped := false
	for i := range len(s) {
		if s[i] != '\n' {
			escaped = s[i] == '\\' && !escaped
			line.add(s[i], i)
			continue
		}
		if !escaped {
			return line, false
		}
		line.text[len(line.text)-1] = ' '
		escaped = false
	}
	return line, true
}

// unquoteAssignment reads '...' with value between the quotes as the first word
// of a line. old is false where systemd 219 ignores the line: it knows no text
// after a closing quote, and no escape but C's.
func unquoteAssignment(value traced) (out traced, balanced, old bool) {
	old = true
	quote := byte('\'')
	text := append(append([]byte(nil), value.text...), '\'')
	at := append(append([]int(nil), value.at...), len(value.text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			n, known := unescapeC(&out, text[i+1:], at[i])
			if !known {
				old = false
				out.add('\\', at[i])
				out.add(text[i+1], at[i+1])
				n = 1
			}
			i += n
		case c == quote:
			quote = 0
			old = old && i == len(text)-1
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			// What follows would be another assignment. Whether its quotes pair matters
			// only to that one.
			return out, true, false
		default:
			out.add(c, at[i])
		}
	}
	return out, quote == 0, old
}

// unescapeC undoes one of C's escapes, without its backslash, and gives its
// length (systemd, src/basic/escape.c, cunescape_one).
func unescapeC(out *traced, s []byte, at int) (n int, known bool) {
	const from, to = `abfnrtv\"'s`, "\a\b\f\n\r\t\v\\\"' "
	if i := strings.IndexByte(from, s[0]); i >= 0 {
		out.add(to[i], at)
		return 1, true
	}
	switch width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]; {
	case width > 0 && len(s) > width && allIn(s[1:1+width], "0123456789abcdefABCDEF"):
		out.add('?', at) // which character does not matter here
		return 1 + width, true
	case len(s) >= 3 && allIn(s[:3], "01234567"):
		out.add('?', at)
		return 3, true
	}
	return 0, false
}

func allIn(s []byte, chars string) bool {
	for _, c := range s {
		if strings.IndexByte(chars, c) < 0 {
			return false
		}
	}
	return true
}

// environmentFileValue is the variable that systemd gets from nodeadm's
// environment file: NODEADM_KUBELET_ARGS=... without quotes, which begins with
// nodeadm's own flags, so that quotes in it are plain characters, and a
// backslash is cut (nodeadm/internal/kubelet/environment.go).
func environmentFileValue(s string) (traced, Loss) {
	var out traced
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' && s[i] != '\r' {
				out.add(s[i], i)
			}
		case c == '\n' || c == '\r':
			if strings.TrimSpace(s[i:]) == "" {
				return out, ""
			}
			return out, LostLines
		case c != '\\':
			out.add(c, i)
		}
	}
	return out, ""
}

// word is one argument of the kubelet.
type word struct {
	text   string
	at     int  // where it began in the original
	quoted bool // quotes of it were removed
	open   bool // its quote is never closed, so that it took in all that follows
}

// commandLineWords splits a variable that stands as $NAME on a command line: at
// white space, "quotes are respected when splitting, and removed afterwards",
// and a quote that is not closed runs to the end (replace_env_argv: EXTRACT_RELAX
// and EXTRACT_UNQUOTE).
func commandLineWords(t traced) []word {
	return splitWords(t, `'"`, true)
}

// markQuoted marks words in whose place the original has quotes, whoever removed
// them.
func markQuoted(words []word, original string) []word {
	for i := range words {
		end := len(original)
		if i+1 < len(words) {
			// The next word's opening quote may stand before it.
			end = max(words[i].at, strings.LastIndexAny(original[:words[i+1].at], " \t\r\n"))
		}
		from := max(words[i].at-1, 0) // an opening quote stands before the first byte
		words[i].quoted = words[i].quoted || strings.ContainsAny(original[from:end], `'"`)
	}
	return words
}

// splitWords splits at white space outside the quotes.
func splitWords(t traced, quotes string, backslash bool) []word {
	var out []word
	var cur strings.Builder
	w, begun, quote := word{}, false, byte(0)
	for i := 0; i < len(t.text); i++ {
		c := t.text[i]
		if quote == 0 && strings.IndexByte(" \t\n\r", c) >= 0 {
			if begun {
				w.text = cur.String()
				out = append(out, w)
			}
			w, begun = word{}, false
			cur.Reset()
			continue
		}
		if !begun {
			begun, w.at = true, t.at[i]
		}
		switch {
		case c == '\\' && backslash:
			if i++; i < len(t.text) {
				cur.WriteByte(t.text[i])
			}
		case c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte(quotes, c) >= 0:
			quote, w.quoted = c, true
		default:
			cur.WriteByte(c)
		}
	}
	if begun {
		w.text, w.open = cur.String(), quote != 0
		out = append(out, w)
	}
	return out
}
