package redact

import "strings"

// literal is a quoted text: the inside is from:to, and end is after the quote.
type literal struct {
	from, to, end int
	raw           bool // nothing in it is expanded
}

// quoted reads the quoted text at a place, at whatever depth of escaping it is
// quoted: \"x\" ends at \". One that never ends, ends with its line.
func (s *scan) quoted(p int) (literal, bool) {
	i := p
	ansi := false
	if s.at(i) == '$' && (s.at(i+1) == '\'' || s.at(i+1) == '"') {
		ansi = s.at(i+1) == '\''
		i++
	}
	if s.at(i) == '@' && (s.at(i+1) == '\'' || s.at(i+1) == '"') { // PowerShell
		q := s.text[i+1 : i+2]
		if eol := s.lineEnd(i); strings.TrimSpace(s.text[i+2:eol]) == "" && eol < len(s.text) {
			if j := strings.Index(s.text[eol:], "\n"+q+"@"); j >= 0 {
				return literal{eol, eol + j, eol + j + 3, q == "'"}, true
			}
			return literal{eol, s.endOf(min(s.line(eol)+8, len(s.starts)-1)), len(s.text), true}, true
		}
		return literal{}, false
	}
	escapes := 0
	for s.at(i) == '\\' {
		i, escapes = i+1, escapes+1
	}
	q := s.at(i)
	if q != '"' && q != '\'' {
		return literal{}, false
	}
	if triple := strings.Repeat(string(q), 3); escapes == 0 && strings.HasPrefix(s.text[i:], triple) {
		if j := strings.Index(s.text[i+3:], triple); j >= 0 {
			return literal{i + 3, i + 3 + j, i + 6 + j, q == '\''}, true
		}
	}
	raw := q == '\'' && !ansi
	run := 0
	for j := i + 1; j < len(s.text); j++ {
		c := s.text[j]
		if c == '\\' {
			run++
			continue
		}
		if c == q {
			closes := run <= escapes
			if escapes == 0 {
				closes = run%2 == 0 || raw
			}
			if closes && escapes == 0 && s.at(j+1) == q && run == 0 && j > i+1 { // YAML, SQL, PowerShell
				j++
				run = 0
				continue
			}
			if closes {
				return literal{i + 1, j - min(run, escapes), j + 1, raw}, true
			}
		}
		if escapes > 0 && c == '\n' {
			break
		}
		run = 0
	}
	eol := s.lineEnd(i)
	return literal{i + 1, eol, eol, raw}, true
}

// bare is where an unquoted value ends that begins at p, inside the quote outer
// (or 0). Quotes and substitutions within it are a part of it.
func (s *scan) bare(p int, outer byte) int {
	eol := s.lineEnd(p)
	i := p
	for i < eol {
		if n := noteAt(s.text, i); n > 0 {
			i += n
			continue
		}
		c := s.text[i]
		switch {
		case isSpace(c):
			return i
		case c == '\\':
			n := s.at(i + 1)
			if isQuote(n) && (outer != 0 || s.at(p-1) == n) || outer != 0 && (n == 'n' || n == 'r' || n == 't') {
				return i
			}
			i += 2
		case c == outer && outer != 0:
			return i
		case c == '"' || c == '\'' || c == '`':
			j := strings.IndexByte(s.text[i+1:eol], c)
			if outer == 0 && j < 0 && i > p {
				return i
			}
			if j < 0 {
				i++
				continue
			}
			i += j + 2
		case c == '$' && (s.at(i+1) == '(' || s.at(i+1) == '{'):
			i = s.closing(i+1, eol)
		case (c == ';' || c == ',' || c == '&' || c == '|') && s.separates(i, eol, outer):
			return i
		case (c == ')' || c == '}' || c == ']') && s.onlyClosers(i, eol):
			return i
		case c == '<' && (s.at(i+1) == '/' || s.at(i+1) == '<'):
			return i
		default:
			i++
		}
	}
	return min(i, eol)
}

// separates reports whether a separator ends a value: what follows is the next
// command, or the next name of a list.
func (s *scan) separates(i, eol int, outer byte) bool {
	n := s.at(i + 1)
	if i+1 >= eol || isSpace(n) || n == s.text[i] || n == outer && outer != 0 {
		return true
	}
	if n == '"' || n == '\'' || n == '\\' {
		return true
	}
	j := i + 1
	for j < eol && j-i < maxName && (isName(s.text[j]) || s.text[j] == ' ' && s.text[i] == ';') {
		j++
	}
	return j > i+1 && j < eol && (s.text[j] == '=' || s.text[j] == ':')
}

func (s *scan) onlyClosers(i, eol int) bool {
	for ; i < eol && !isSpace(s.text[i]); i++ {
		switch s.text[i] {
		case ')', '}', ']', ';', ',', '"', '\'', '`', '|', '&':
		default:
			return false
		}
	}
	return true
}

// maxNesting bounds how far a bracket's end is looked for.
const maxNesting = 4096

// closing is the place after the bracket that closes the one at i, or limit.
func (s *scan) closing(i, limit int) int {
	open := s.text[i]
	shut := map[byte]byte{'(': ')', '{': '}', '[': ']'}[open]
	limit = min(limit, i+maxNesting)
	depth := 0
	for ; i < limit; i++ {
		switch s.text[i] {
		case '\\':
			i++
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return min(limit, len(s.text))
}

// value judges the value at p: quoted, or up to where it ends. It gives the place
// from which to go on.
func (s *scan) value(p int, kind Kind, outer byte) int {
	if lit, ok := s.quoted(p); ok && (outer == 0 || s.at(p) != outer) {
		end := s.after(lit.end, outer)
		if end == lit.end {
			if s.harmless(s.text[lit.from:lit.to], kind, !lit.raw) {
				return p
			}
			s.add(lit.from, lit.to, kind)
			return end
		}
		if s.harmless(s.text[p:end], kind, true) {
			return p
		}
		s.add(p, end, kind)
		return end
	}
	end := s.bare(p, outer)
	if end <= p || s.harmless(s.text[p:end], kind, true) {
		return p
	}
	s.add(p, end, kind)
	return end
}

// after is where a word ends that goes on after a quoted part, as a shell's may.
func (s *scan) after(p int, outer byte) int {
	if p >= len(s.text) || outer != 0 {
		return p
	}
	switch c := s.text[p]; {
	case isAlnum(c), c == '$', c == '"', c == '\'', c == '_', c == '-', c == '/', c == '+', c == '.':
		return s.bare(p, 0)
	case c == '\\' && (s.at(p+1) == '\'' || s.at(p+1) == '"'):
		return s.bare(p, 0)
	}
	return p
}

var switches = words(`true false yes no on off null nil none ~ undefined unset empty required optional
	enabled disabled default auto always never supported unsupported`)

// schemes are what names with auth in them are set to.
var schemes = words(`basic digest iam tls mtls oidc ldap plain login saml jwt anonymous webhook
	kerberos negotiate ntlm x509 bearer cert certificate bootstrap pam sso oauth oauth2 sha256 scram
	failed failure success ok serviceaccount sigv4 trust md5 peer ident password token`)

// harmless reports whether a value that stands where a secret could stand is none.
// In a value that is expanded, references to variables and commands do not count.
func (s *scan) harmless(v string, kind Kind, expanded bool) bool {
	v = strings.TrimRight(strings.TrimSpace(v), ",;")
	if spent(v) {
		return true
	}
	v = unquote(v)
	if spent(v) || len(v) <= 2 && !isAlnum(v[0]) {
		return true
	}
	low := asciiLower(v)
	if switches[low] {
		return true
	}
	if (kind == Credentials || kind == Token) && schemes[low] {
		return true
	}
	if kind != Password && kind != PrivateKey && number(v) {
		return true
	}
	switch {
	case strings.HasPrefix(low, "arn:aws"):
		return !strings.ContainsAny(v, " \t\n=")
	case known(low):
		return true
	case placeholder(v):
		return true
	case isURL(v):
		return true
	}
	if certificate(v) {
		return true
	}
	rest, refs := dereference(v, expanded)
	if !refs {
		return false
	}
	_, _, _, other := classes(rest)
	return len(rest)-other <= 2 || strings.HasSuffix(rest, ":") && wordy(strings.TrimSuffix(rest, ":"))
}

func unquote(v string) string {
	for len(v) >= 2 {
		v = strings.TrimPrefix(v, `\`)
		n := len(v)
		if n < 2 || v[0] != v[n-1] || !isQuote(v[0]) {
			break
		}
		if v[0] == '`' {
			break
		}
		v = strings.TrimSuffix(v[1:n-1], `\`)
	}
	return v
}

// number reports whether a value is a small number, with a unit or without.
func number(v string) bool {
	i := 0
	for i < len(v) && (isDigit(v[i]) || v[i] == '.') {
		i++
	}
	if i == 0 || i > 6 {
		return false
	}
	switch v[i:] {
	case "", "s", "m", "h", "d", "ms", "%", "m0s", "h0m0s":
		return true
	}
	return false
}

var roots = []string{"/etc/", "/var/", "/usr/", "/opt/", "/run/", "/home/", "/root/", "/mnt/", "/tmp/",
	"/dev/", "/proc/", "/srv/", "/sys/", "/secrets/", "/run/secrets/", "~/", "./", "../", "c:\\", "d:\\", "c:/", "file:///"}

// known reports whether a value is a path under a well-known root. Every part of it
// looks like one that a person would write.
func known(low string) bool {
	for _, r := range roots {
		rest, ok := strings.CutPrefix(low, r)
		if !ok {
			continue
		}
		for part := range strings.FieldsFuncSeq(rest, func(c rune) bool { return c == '/' || c == '\\' }) {
			if len(part) > 48 {
				return false
			}
			for i := 0; i < len(part); i++ {
				if c := part[i]; !isName(c) && !strings.ContainsRune("${}@%*~", rune(c)) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// placeholder reports whether a value says that somebody is to put one there, or
// that somebody took it out.
func placeholder(v string) bool {
	if len(v) > 2 && v[0] == '<' && v[len(v)-1] == '>' {
		inside := v[1 : len(v)-1]
		for i := 0; i < len(inside); i++ {
			if c := inside[i]; !isLetter(c) && c != '-' && c != '_' && c != ' ' {
				return false
			}
		}
		return true
	}
	return strings.Trim(v, "*") == "" || strings.Trim(v, "xX") == "" || strings.Trim(v, ".") == ""
}

// isURL reports whether a value is a URL that holds nothing but an address: what
// is left to the other rules is who is in it, and what is asked.
func isURL(v string) bool {
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok || len(scheme) > 12 || strings.ContainsAny(v, "@?#=& \t\n\"'") {
		return false
	}
	for i := 0; i < len(scheme); i++ {
		if !isAlnum(scheme[i]) && scheme[i] != '+' {
			return false
		}
	}
	host, _, _ := strings.Cut(rest, "/")
	for part := range strings.SplitSeq(rest, "/") {
		if part != host && random(part) {
			return false
		}
	}
	return host != ""
}

// random reports whether a word is long and mixed enough to be made by a machine.
func random(v string) bool {
	upper, lower, digit, _ := classes(v)
	return len(v) >= 16 && digit >= 2 && (upper >= 2 && lower >= 2 || digit >= 6 && upper+lower >= 6)
}

// dereference takes the references out of a value: $NAME, ${NAME}, $(command),
// `command`, $env:NAME, %NAME%, {{ name }}. Where nothing is expanded, only forms
// that templates use count.
func dereference(v string, expanded bool) (rest string, refs bool) {
	if !strings.ContainsAny(v, "$`{%*") {
		return v, false
	}
	var b strings.Builder
	open := false // a bracket that does not close: no later one is looked for
	for i := 0; i < len(v); {
		n := 0
		switch c := v[i]; {
		case c == '$' && open && i+1 < len(v) && v[i+1] == '(':
		case c == '$':
			n = dollar(v[i:], expanded)
			open = n == 0 && i+1 < len(v) && v[i+1] == '('
		case c == '`' && expanded:
			if j := strings.IndexByte(v[i+1:], '`'); j > 0 && fetches(v[i+1:i+1+j]) {
				n = j + 2
			}
		case c == '{' && strings.HasPrefix(v[i:], "{{"):
			if j := strings.Index(v[i:], "}}"); j > 0 && !strings.ContainsAny(v[i:i+j], `"'`) {
				n = j + 2
			}
		case c == '%':
			if j := strings.IndexByte(v[i+1:], '%'); j > 0 && isCaps(v[i+1:i+1+j]) {
				n = j + 2
			}
		case c == '*' && i == 0 && !expanded && len(v) < maxName && wordy(v[1:]): // a YAML alias
			n = len(v)
		}
		if n > 0 {
			refs = true
			i += n
			continue
		}
		b.WriteByte(v[i])
		i++
	}
	return b.String(), refs
}

func isCaps(v string) bool {
	for i := 0; i < len(v); i++ {
		if c := v[i]; !isUpper(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return v != ""
}

// dollar is the length of the reference that begins a text with a dollar, or 0.
func dollar(v string, expanded bool) int {
	if len(v) < 2 {
		return 0
	}
	switch c := v[1]; {
	case c == '(':
		end := 0
		for i, depth := 1, 0; i < min(len(v), maxNesting); i++ {
			if v[i] == '(' {
				depth++
			} else if v[i] == ')' {
				if depth--; depth == 0 {
					end = i + 1
					break
				}
			}
		}
		if end > 0 && fetches(v[2:end-1]) {
			return end
		}
	case c == '{':
		end := strings.IndexByte(v, '}')
		if strings.HasPrefix(v, "${{") && end > 0 && end+1 < len(v) && v[end+1] == '}' {
			end++
		}
		if end > 0 && !hasAny(v[2:end], ":-", ":=", ":+", "\"", "'") && end < maxName {
			return end + 1
		}
	case expanded && (isLetter(c) || c == '_'):
		i := 1
		for i < len(v) && (isAlnum(v[i]) || v[i] == '_') {
			i++
		}
		if asciiLower(v[1:i]) == "env" && i+1 < len(v) && v[i] == ':' {
			for i++; i < len(v) && (isAlnum(v[i]) || v[i] == '_'); i++ {
				continue
			}
		}
		return i
	case isUpper(c):
		i := 1
		for i < len(v) && (isUpper(v[i]) || v[i] == '_') {
			i++
		}
		if i > 3 && (i == len(v) || !isAlnum(v[i])) {
			return i
		}
	case expanded && (isDigit(c) || strings.IndexByte("@*#?!$", c) >= 0) && (len(v) == 2 || !isAlnum(v[2]) && v[2] != '$'):
		return 2
	}
	return 0
}

// fetchers are commands whose output may be a secret but whose text is none.
var fetchers = words(`aws curl wget cat head tail cut tr jq grep egrep sed awk gawk imds ec2-metadata
	ec2metadata kubectl hostname date uuidgen pwgen vault gcloud az sops yq xargs sort uniq wc tee uname
	openssl base64 xxd od dd sudo whoami id basename dirname python3 python`)

// fetches reports whether a command only reads a value from somewhere, as opposed
// to one that has it in its text.
func fetches(command string) bool {
	if strings.Contains(command, "<<") {
		return false
	}
	for part := range strings.FieldsFuncSeq(command, func(c rune) bool { return c == '|' || c == ';' || c == '&' || c == '\n' }) {
		fields := strings.Fields(part)
		for len(fields) > 0 && (fields[0] == "sudo" || fields[0] == "\\" || strings.HasPrefix(fields[0], "2>")) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		name := strings.TrimPrefix(fields[0], "$(")
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			name = name[i+1:]
		}
		switch {
		case name == "<" && len(fields) == 2: // $(< file)
		case strings.HasPrefix(name, "<") && len(fields) == 1:
		case name == "openssl" && len(fields) > 1 && fields[1] != "rand":
			return false
		case name == "echo" || name == "printf":
			for _, f := range fields[1:] {
				rest, _ := dereference(unquote(f), true)
				if u, l, d, _ := classes(rest); u+l+d > 3 && rest[0] != '-' {
					return false
				}
			}
		case fetchers[name]:
		case hasAny(asciiLower(name), "get_", "get-", "fetch", "read_", "load_"):
		default:
			return false
		}
	}
	return true
}
