package userdata

import (
	"fmt"
	"strings"
)

// windowsScript joins a Windows node. Its parameter -EKSClusterName is the
// cluster (EKS User Guide, Create nodes with optimized Windows AMIs). PowerShell
// accepts a parameter's name in any case and shortened.
const (
	windowsScript    = "start-eksbootstrap.ps1"
	windowsParameter = "-eksclustername"
)

// windows reads what EC2Launch reads: scripts in <powershell> tags, or the YAML
// of EC2Launch v2 with a task executeScript.
func (r *reader) windows(text, part string) {
	const open, end = "<powershell>", "</powershell>"
	lower := asciiLower(text)
	if text[0] != '<' && !strings.Contains(lower, open) {
		for _, doc := range r.documents(text, part, PowerShell) {
			for i, task := range items(lookup(doc, "tasks")) {
				if scalar(lookup(task, "task")) != "executeScript" {
					continue
				}
				for _, input := range items(lookup(task, "inputs")) {
					if strings.EqualFold(scalar(lookup(input, "type")), "powershell") {
						r.powershell(scalar(lookup(input, "content")), fmt.Sprintf("task %d", i+1))
					}
				}
			}
		}
		return
	}
	for {
		i := strings.Index(lower, open)
		if i < 0 {
			return
		}
		text, lower = text[i+len(open):], lower[i+len(open):]
		n := strings.Index(lower, end)
		if n < 0 {
			r.problem(part, PowerShell, Truncated)
			n = len(text)
		}
		r.powershell(text[:n], part)
		text, lower = text[n:], lower[n:]
	}
}

func (r *reader) powershell(text, part string) {
	if len(text) > maxScript {
		r.problem(part, PowerShell, TooLarge)
		return
	}
	for line := range strings.Lines(text) {
		if strings.Contains(asciiLower(line), "setenvironmentvariable") {
			r.proxies(line)
		}
	}
	p := powershell{r: r, part: part, text: text, vars: map[string]string{}}
	p.statements(0)
}

// powershell follows a script statement by statement. It knows strings,
// variables, comments and calls; a block counts as if it were run.
type powershell struct {
	r      *reader
	part   string
	text   string
	pos    int
	braces int
	vars   map[string]string
}

type psWord struct {
	text string // after expansion
	raw  string // as written, when no part of it was quoted
}

// statements follows the text to its end, or to the ")" that closes a group.
func (p *powershell) statements(depth int) {
	var words []psWord
	flush := func() {
		p.statement(words)
		words = nil
	}
	for p.pos < len(p.text) {
		if !p.r.spend(4) {
			p.r.problem(p.part, PowerShell, TooComplex)
			p.pos = len(p.text)
			return
		}
		rest := p.text[p.pos:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.pos++
		case strings.HasPrefix(rest, "`\n"), strings.HasPrefix(rest, "`\r\n"):
			p.pos += strings.IndexByte(rest, '\n') + 1
		case strings.HasPrefix(rest, "<#"):
			p.skipPast("#>")
		case c == '#':
			p.pos += lineEnd(rest)
		case c == '\n' || c == ';' || c == '|':
			p.pos++
			flush()
		case c == '{' || c == '}':
			p.pos++
			flush()
			if c == '{' {
				p.braces++
			} else {
				p.braces--
			}
		case c == '(' && depth < maxDepth:
			p.pos++
			p.statements(depth + 1)
			words = append(words, psWord{text: unknown})
		case c == ')' && depth > 0:
			p.pos++
			flush()
			return
		case c == '(' || c == ')':
			p.pos++
		case c == '&' && len(words) > 0 && !isOperator(words[len(words)-1]):
			p.pos++
			flush()
		case c == '&' || c == '=':
			p.pos++
			words = append(words, psWord{text: string(c), raw: string(c)})
		default:
			words = append(words, p.word())
		}
	}
	flush()
}

// isOperator reports whether a call may follow the word.
func isOperator(w psWord) bool { return w.raw == "=" }

// word reads one word, which may be put together of several strings.
func (p *powershell) word() psWord {
	var b strings.Builder
	start, quoted := p.pos, false
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "@'\n"):
			quoted = true
			p.pos += 3
			b.WriteString(p.skipPast("\n'@"))
		case strings.HasPrefix(rest, "@\"\n"):
			quoted = true
			p.pos += 3
			b.WriteString(p.expand(p.skipPast("\n\"@")))
		case c == '\'':
			quoted = true
			p.pos++
			b.WriteString(p.single())
		case c == '"':
			quoted = true
			p.pos++
			b.WriteString(p.double())
		case c == '`' && len(rest) > 1 && rest[1] != '\n' && rest[1] != '\r':
			b.WriteByte(rest[1])
			p.pos += 2
		case c == '$':
			value, n := p.variable(rest)
			b.WriteString(value)
			p.pos += n
		case strings.IndexByte(" \t\r\n;|{}()`", c) >= 0, c == '=' && firstByte(p.text[start:p.pos]) == '$':
			return p.made(b.String(), start, quoted)
		case c == ']' && firstByte(p.text[start:p.pos]) == '[' && strings.HasPrefix(rest, "]$"):
			// A type before a variable, as in [string]$Name, is no part of it.
			p.pos++
			b.Reset()
			start = p.pos
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return p.made(b.String(), start, quoted)
}

func (p *powershell) made(text string, start int, quoted bool) psWord {
	if p.pos == start { // what nothing else reads, such as a lone backtick
		p.pos++
	}
	if !p.r.spend(len(text)) || len(text) > maxValue {
		text = unknown
	}
	w := psWord{text: text}
	if !quoted {
		w.raw = p.text[start:p.pos]
	}
	return w
}

// firstByte is the first byte, 0 if there is none.
func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// single reads on to the end of a single-quoted string, in which two quotes are one.
func (p *powershell) single() string {
	var b strings.Builder
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		if c == '\'' {
			if p.pos == len(p.text) || p.text[p.pos] != '\'' {
				break
			}
			p.pos++
		}
		b.WriteByte(c)
	}
	return b.String()
}

// double reads on to the end of a double-quoted string and expands it.
func (p *powershell) double() string {
	start := p.pos
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case '`':
			p.pos++
		case '"':
			if p.pos+1 == len(p.text) || p.text[p.pos+1] != '"' {
				inner := p.text[start:p.pos]
				p.pos++
				return p.expand(strings.ReplaceAll(inner, `""`, `"`))
			}
			p.pos++
		}
		p.pos++
	}
	p.pos = len(p.text)
	return p.expand(p.text[min(start, len(p.text)):])
}

// expand puts the values of variables into a double-quoted string's content.
func (p *powershell) expand(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '`' && i+1 < len(s):
			b.WriteByte(s[i+1])
			i += 2
		case s[i] == '$':
			value, n := p.variable(s[i:])
			if !p.r.spend(len(value)) || b.Len() > maxScript {
				return unknown
			}
			b.WriteString(value)
			i += n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// variable reads $name, ${name}, $scope:name or $(...) at the beginning of s and
// gives its value and its length.
func (p *powershell) variable(s string) (value string, n int) {
	if len(s) < 2 {
		return s, len(s)
	}
	switch s[1] {
	case '(':
		depth := 0
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					return unknown, i + 1
				}
			}
		}
		return unknown, len(s)
	case '{':
		if i := strings.IndexByte(s, '}'); i > 0 {
			return p.value(s[2:i]), i + 1
		}
		return unknown, len(s)
	}
	n = 1
	for n < len(s) && (isWordByte(s[n]) || s[n] == ':' && n+1 < len(s) && isWordByte(s[n+1])) {
		n++
	}
	if n == 1 { // $? and the like, or a lone dollar sign
		return "$", 1
	}
	return p.value(s[1:n]), n
}

func (p *powershell) value(name string) string {
	if value, ok := p.vars[asciiLower(name)]; ok {
		return value
	}
	return unknown
}

// statement follows one statement: an assignment, or a call.
func (p *powershell) statement(words []psWord) {
	if len(words) > 0 && strings.HasPrefix(words[0].raw, "[") {
		words = words[1:] // a type, as in [string] $Name
	}
	if len(words) > 1 && words[1].raw == "=" && strings.HasPrefix(words[0].raw, "$") {
		name, value := asciiLower(words[0].raw[1:]), unknown
		if len(words) == 3 {
			value = words[2].text
		}
		p.r.proxy(strings.TrimPrefix(name, "env:"))
		// In a block the assignment may or may not happen.
		if had, ok := p.vars[name]; ok && had != value && p.braces > 0 {
			value = unknown
		}
		p.vars[name] = value
		words = words[2:]
	}
	// A string on its own is a value; only an operator or a bare word calls.
	called := false
	for len(words) > 0 && (words[0].raw == "&" || words[0].raw == ".") {
		called, words = true, words[1:]
	}
	if len(words) == 0 || !called && (words[0].raw == "" || words[0].raw[0] == '$') {
		return
	}
	if command(words[0]) == "netsh" && len(words) > 3 && strings.EqualFold(words[1].text, "winhttp") && strings.EqualFold(words[3].text, "proxy") {
		p.r.proxy("https_proxy")
	}
	switch command(words[0]) {
	case "powershell", "powershell.exe", "pwsh", "pwsh.exe":
		for i, w := range words {
			if strings.EqualFold(w.text, "-File") && i+1 < len(words) && command(words[i+1]) == windowsScript {
				p.bootstrap(words[i+2:])
				return
			}
		}
	case windowsScript:
		p.bootstrap(words[1:])
	}
}

// command is the name of what a word calls, without its directory.
func command(w psWord) string {
	name := asciiLower(w.text)
	return name[strings.LastIndexAny(name, `\/`)+1:]
}

func (p *powershell) bootstrap(args []psWord) {
	p.join(args)
	for i, w := range args {
		name, value, colon := strings.Cut(w.raw, ":")
		if len(name) < len("-e") || name[0] != '-' || !strings.HasPrefix(windowsParameter, asciiLower(name)) {
			continue
		}
		if !colon || value == "" {
			if i+1 == len(args) {
				break
			}
			value = args[i+1].text
		} else if strings.Contains(value, "$") {
			value = unknown
		}
		p.r.result.cluster(value, p.part, PowerShell)
		return
	}
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
		p.r.result.cluster(args[0].text, p.part, PowerShell) // it is the first parameter
		return
	}
	p.r.problem(p.part, PowerShell, NoName)
}

// skipPast gives the text up to the mark and goes on after it.
func (p *powershell) skipPast(mark string) string {
	rest := p.text[p.pos:]
	i := strings.Index(rest, mark)
	if i < 0 {
		p.pos = len(p.text)
		return rest
	}
	p.pos += i + len(mark)
	return rest[:i]
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// asciiLower is strings.ToLower that never changes the length.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
