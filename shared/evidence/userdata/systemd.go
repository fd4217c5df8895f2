package userdata

import (
	"strconv"
	"strings"
)

// The kubelet of EKS's images gets the flags of user data through systemd. systemd reads them
// twice, by rules that differ from the shell's: once as the value of an environment variable, and
// once as $NAME on the unit's command line (systemd.exec, Environment= and EnvironmentFile=;
// systemd.service, Command lines; src/basic/extract-word.c and env-file.c).

const (
	quoteGone    = '\x00' // replaces a removed quote
	documentEnds = '\x01' // separates the flags of two NodeConfigs
)

// Loss is a reason why systemd drops flags before the kubelet sees them.
type Loss string

// The losses.
const (
	// LostLines: a line break in bootstrap.sh's --kubelet-extra-args ends the line
	// Environment='KUBELET_EXTRA_ARGS=...' before its closing quote, and systemd
	// ignores the assignment; in one of nodeadm's flags it ends the assignment, and
	// systemd ignores the flags that follow.
	LostLines Loss = "a line break ends the assignment"
	// LostQuotes: the quotes in --kubelet-extra-args do not pair with those that bootstrap.sh puts
	// around it, and systemd ignores the assignment.
	LostQuotes Loss = "the quotes do not pair"
	// LostOnAmazonLinux2: there is a single quote or an unknown escape in --kubelet-extra-args.
	// systemd 219 of Amazon Linux 2 ignores the assignment ("Trailing garbage, ignoring"). Later
	// versions continue to read, and the Ubuntu images pass the text in another way.
	LostOnAmazonLinux2 Loss = "systemd 219 ignores the assignment"
)

// environmentValue returns the variable that systemd reads from the drop-in that bootstrap.sh
// writes: Environment='KUBELET_EXTRA_ARGS=$KUBELET_EXTRA_ARGS' (awslabs/amazon-eks-ami,
// templates/al2/runtime/bootstrap.sh).
func environmentValue(extra string) (string, Loss) {
	line := oneLine.Replace(extra) + "'"
	if strings.Contains(line, "\n") {
		return "", LostLines
	}
	var out strings.Builder
	quote, old := byte('\''), true // old: systemd 219 reads it, too
	for line != "" {
		c := line[0]
		switch {
		case c == '\\' && len(line) > 1:
			value, rest, known := unescapeC(line)
			old = old && known
			out.WriteString(value)
			line = rest
			continue
		case c == quote:
			quote = 0
			if len(line) > 1 {
				old = false
				out.WriteByte(quoteGone)
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			out.WriteByte(quoteGone)
		case quote == 0 && (c == ' ' || c == '\t'):
			// What follows would be another assignment. Whether its quotes pair matters only to
			// that assignment.
			return out.String(), LostOnAmazonLinux2
		default:
			out.WriteByte(c)
		}
		line = line[1:]
	}
	switch {
	case quote != 0:
		return "", LostQuotes
	case !old:
		return out.String(), LostOnAmazonLinux2
	}
	return out.String(), ""
}

// oneLine joins lines that end in a backslash, which a unit file reads as a blank.
var oneLine = strings.NewReplacer(`\\`, `\\`, "\\\n", " ")

// unescapeC decodes one C escape at the beginning of a text (systemd, src/basic/escape.c,
// cunescape_one). An unknown escape stays.
func unescapeC(s string) (value, rest string, known bool) {
	if i := strings.IndexByte(`s'"`, s[1]); i >= 0 {
		return ` '"`[i : i+1], s[2:], true
	}
	c, _, rest, err := strconv.UnquoteChar(s, 0)
	if err != nil {
		return s[:2], s[2:], false
	}
	return string(c), rest, true
}

// environmentFileValue returns the variable that systemd reads from nodeadm's environment file:
// NODEADM_KUBELET_ARGS=... without quotes. It begins with nodeadm's own flags, so quotes in it are
// plain characters, and a backslash is removed (nodeadm/internal/kubelet/environment.go).
func environmentFileValue(s string) (string, Loss) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' && s[i] != '\r' {
				out.WriteByte(s[i])
			}
		case '\n', '\r':
			if strings.Trim(s[i:], " \r\n\t"+string(documentEnds)) == "" {
				return out.String(), ""
			}
			return out.String(), LostLines
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), ""
}

// word is one argument of the kubelet.
type word struct {
	text     string
	document int  // index of the NodeConfig that contains it
	quoted   bool // quotes of it were removed
	open     bool // its quote is never closed, so that it took in all that follows
}

// commandLineWords splits a variable that is written as $NAME on a command line: at white space,
// "quotes are respected when splitting, and removed afterwards", and a quote that is not closed
// runs to the end (replace_env_argv: EXTRACT_RELAX and EXTRACT_UNQUOTE).
func commandLineWords(s string) []word { return splitWords(s, `'"`, true) }

// splitWords splits at white space outside the quotes.
func splitWords(s, quotes string, backslash bool) []word {
	var out []word
	var text strings.Builder
	w, begun, quote, document := word{}, false, byte(0), 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == documentEnds:
			document++
			continue
		case c == quoteGone:
			w.quoted = true
			continue
		case quote == 0 && strings.IndexByte(" \t\n\r", c) >= 0:
			if begun {
				w.text = text.String()
				out = append(out, w)
			}
			w, begun = word{}, false
			text.Reset()
			continue
		case !begun:
			begun, w.document = true, document
		}
		switch {
		case c == '\\' && backslash:
			if i++; i < len(s) {
				text.WriteByte(s[i])
			}
		case c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte(quotes, c) >= 0:
			quote, w.quoted = c, true
		default:
			text.WriteByte(c)
		}
	}
	if begun {
		w.text, w.open = text.String(), quote != 0
		out = append(out, w)
	}
	return out
}
