// Package paste writes commands that a person can paste into a shell. A name in an account
// reaches the command unchanged, whatever its characters, and the shell runs no part of it.
// A test of this package refuses commands that are put together without it.
//
// The package is pure.
package paste

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// plain reports whether a shell reads a character literally.
func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
}

func special(r rune) bool { return !plain(r) }

// Word returns the text quoted as one shell word, on one line: control characters are written
// as bash, zsh and ksh read them in $'...', so that they neither end a comment nor move the
// cursor of a terminal.
func Word(text string) string {
	switch {
	case text != "" && !strings.ContainsFunc(text, special):
		return text
	case strings.ContainsFunc(text, unicode.IsControl):
		return "$'" + escaped(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escaped returns the text for use within $'...'.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\' || r == '\'':
			b.WriteString(`\` + string(r))
		case unicode.IsControl(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Format is fmt.Sprintf for commands and the comments behind them: each value is quoted as a
// part of a shell word. The verbs of the format must not be within quotes.
func Format(format string, values ...string) string {
	quoted := make([]any, len(values))
	for i, v := range values {
		quoted[i] = Word(v)
	}
	return fmt.Sprintf(format, quoted...)
}

// Remark returns a text for a comment: on one line, and without characters that a shell expands, or takes
// for a quote or the end of a command, if it does not recognize comments, such as zsh at its prompt.
func Remark(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r == '`' || r == '\'':
			return '’'
		case r == ';' || r == '|' || r == '&':
			return ','
		}
		return r
	}, text)
	return strings.ReplaceAll(text, "$(", "$ (")
}

// Plain replaces the characters that a shell may not read literally. It is for names that cannot
// contain them, in places that cannot be quoted.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '?'
	}, text)
}

// Command returns a shell command with each word quoted.
func Command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}

// Assign returns two commands, of which the second takes what the first prints: name is a shell variable,
// and a word of the second command that stands for its value.
func Assign(name, prints, takes string) string {
	return Lines(name+"=$("+prints+")", strings.Replace(takes, name, `"$`+name+`"`, 1))
}

// KarpentersPods is the label selector of Karpenter's pods and its Deployment.
const KarpentersPods = "app.kubernetes.io/name=karpenter"

// Karpenter returns a command of kubectl in Karpenter's namespace, after one that looks the namespace up: kubectl
// logs takes no --all-namespaces.
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_logs/
func Karpenter(words ...string) string {
	const namespace = "NAMESPACE"
	lookup := Kubectl("get", "pods", "--all-namespaces", "-l", KarpentersPods, "-o", "jsonpath={.items[0].metadata.namespace}")
	return Assign(namespace, lookup, Kubectl(append([]string{"-n", namespace}, words...)...))
}

// Lines joins commands and comments, and omits empty ones. A remark behind a command, "   # " and a text without
// an apostrophe, gets a line of its own above it: zsh, the shell of macOS, knows no comments at its prompt, and
// would take the remark as arguments.
// https://zsh.sourceforge.io/Doc/Release/Options.html#Input_002fOutput (INTERACTIVE_COMMENTS)
func Lines(all ...string) string {
	const begins = "   # "
	var out []string
	for line := range strings.Lines(strings.Join(all, "\n")) {
		line = strings.TrimSuffix(line, "\n")
		if at := strings.LastIndex(line, begins); at > 0 && line[0] != '#' && !strings.Contains(line[at:], "'") { // no quoted word
			out = append(out, "# "+line[at+len(begins):])
			line = line[:at]
		}
		out = append(out, line)
	}
	return strings.Join(slices.DeleteFunc(out, func(l string) bool { return l == "" }), "\n")
}

// If returns a command that is right only under a condition, as a comment below it: who pastes the whole fix
// does not run it.
func If(condition, command string) string {
	out := "# " + condition + ":"
	for line := range strings.SplitSeq(Lines(command), "\n") {
		if line = "# " + strings.TrimPrefix(line, "# "); line != "# " {
			out += "\n" + line
		}
	}
	return out
}

// Kubectl returns a kubectl command.
func Kubectl(words ...string) string { return Command(append([]string{"kubectl"}, words...)...) }

// PodsOf returns the command that lists a node's pods.
func PodsOf(node string) string {
	return Kubectl("get", "pods", "-A", "--field-selector", "spec.nodeName="+node, "-o", "wide")
}

// EmptyGroup returns the command that terminates all instances of an Auto Scaling group, and those of its warm
// pool, whose size follows from the maximum. If only its instances were terminated, the group would replace them.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-health-checks.html
func EmptyGroup(region, name string) string {
	return Command("aws", "autoscaling", "update-auto-scaling-group", "--region", region, "--auto-scaling-group-name", name, "--min-size", "0", "--max-size", "0", "--desired-capacity", "0")
}

// JSON returns a value as JSON, for options that take it.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // maps and slices of strings and booleans always marshal
	}
	return string(b)
}
