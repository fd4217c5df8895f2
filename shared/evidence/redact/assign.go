package redact

import (
	"slices"
	"strings"

	"rollcall/shared/roll/pattern"
)

// maxNesting bounds how far the end of a bracket or a quote is searched for.
const maxNesting = 4096

// name is a secret-like name in the text.
type name struct {
	kind   Kind
	text   string
	start  int  // with its dashes
	end    int  // after its closing quote
	flag   bool // it begins with a dash
	closed bool // it is quoted by itself
	outer  byte // the enclosing quote
	key    bool // nothing relevant precedes it on its line
	logged bool // except the prefix of a log
	flow   bool // after an opening bracket or a separator
	mapped bool // a colon follows
	slash  bool // it is an option of Windows: /name:value
	opaque bool // it announces a secret only if the value looks generated
}

// names finds names that announce a secret, and removes the values assigned to them.
func (s *scan) names() {
	for i := 0; i < len(s.text); {
		from := i
		for i < len(s.text) && isName(s.text[i]) {
			i++
		}
		if i == from {
			i++
		} else if i-from <= maxName && s.at(from-1) != '+' && announces(s.lower[from:i]) {
			i = max(i, s.name(from, i))
		}
	}
}

// announces reports whether a name may be secret-like. Most are not.
func announces(low string) bool {
	return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(low, hint) })
}

var hints = strings.Fields(`key pass pw psk otp secret token cred auth cookie signature mnemonic bearer jwt
	dockerc netrc activation licen value content`)

// name checks a name and returns the position to continue from.
func (s *scan) name(from, to int) int {
	if s.at(from-1) == '\\' && strings.IndexByte("nrt", s.text[from]) >= 0 && to-from > 3 {
		from++
	}
	n := name{start: from, end: to, flag: s.text[from] == '-'}
	n.text = strings.TrimLeft(s.text[from:to], "-.")
	switch asciiLower(n.text) {
	case "":
		return to
	case "value", "parametervalue", "stringvalue", "content", "contents":
		n.kind, n.opaque = s.paired(n)
	case "key":
		n.kind = s.spoken(from)
	default:
		n.kind = secretName(n.text)
	}
	if n.kind == "" && keyName(n.text) {
		n.kind, n.opaque = APIKey, true
	}
	if n.kind == "" {
		return to
	}
	s.place(&n)
	p := s.blanks(n.end)
	if n.opaque && (!s.opaqueAfter(p) || !n.key && !n.flag && !n.flow && !n.closed && s.at(p) != '=' && wordy(n.text)) { // as in "signing key: 0a1b..."
		return to
	}
	next := s.at(p + 1)
	switch c := s.at(p); {
	case s.at(n.start-1) == '<':
		return s.element(n)
	case s.at(n.start-1) == '{' && s.at(n.start-2) == '$': // ${NAME:-value}
		if v := strings.TrimLeft(s.text[p:s.lineEnd(p)], ":-=+"); v != "" && v[0] != '}' {
			return s.given(n, s.lineEnd(p)-len(v))
		}
	case (c == ':' || c == '+' || c == '?') && next == '=', c == '=' && (next == '=' || next == '>'):
		return s.given(n, p+2)
	case c == '=':
		return s.given(n, p+1)
	case c == ':' && next != ':':
		n.mapped = true
		return s.colon(n, p+1)
	case c == '(' && p == n.end && setters[called(n.text)]:
		return s.literals(n, p+1)
	case n.flag && (n.closed || p > n.end && c != ',' || p == len(s.text) || isSpace(c) || c == ',' && s.bracketed(n.start)):
		return s.flagged(n, p)
	case c == ',' && n.closed && s.at(n.start-2) == '(':
		return s.given(n, p+1)
	case p > n.end && !n.closed:
		return s.beside(n, p)
	}
	return n.end
}

// opaqueAfter reports whether the value behind a name and its sign looks generated.
func (s *scan) opaqueAfter(p int) bool {
	for p = s.joined(p); p < len(s.text) && (strings.IndexByte(":=,?+>", s.text[p]) >= 0 || isBlank(s.text[p]) || isQuote(s.text[p]) || s.text[p] == '\\'); {
		p++
	}
	end := p
	for end < len(s.text) && (isAlnum(s.text[end]) || strings.IndexByte("-_=+.", s.text[end]) >= 0) {
		end++
	}
	return opaque(s.text[p:end]) && strings.IndexByte("/:@", s.at(end)) < 0
}

// spoken returns the kind of a name of several words that ends in key: "Access Key: ...".
func (s *scan) spoken(from int) Kind {
	lead := strings.Fields(s.lower[max(s.starts[s.line(from)], from-24):from])
	if len(lead) == 0 || s.at(from-1) != ' ' || !contains(lead[len(lead)-1:], "api", "access", "license", "account", "storage", "private", "secret") {
		return ""
	}
	return keyed[lead[len(lead)-1]]
}

var (
	// logged matches what a console or system log puts before a message.
	logged   = pattern.New(`^(?:\[[ .0-9T]{3,20}\] ?|\w{3} [ \d]\d [\d:]{8} \S+ )?(?:[\w.-]+\[\d+\]: )?`)
	declares = words(`export set local readonly declare typeset default var let const env setx val final
		string securestring global script -x -r -g -gx -a global: script: env: + args: - ? #`)
	sets = words(`set setx setenv env put login user machine`)
	// setters are the first words of the methods that set a secret.
	setters = words(`set put change reset update`)
	noValue = words(`has is was are flag must cannot requires and or to for in not will with option options
		argument from by of the a an`)
)

// place determines where on its line a name is, and in which quotes.
func (s *scan) place(n *name) {
	if q := s.at(n.start - 1); q == '"' || q == '\'' {
		escapes := 0
		for s.at(n.start-2-escapes) == '\\' {
			escapes++
		}
		if end := n.end + escapes; s.at(end) == q && strings.Trim(s.text[n.end:end], `\`) == "" {
			n.closed, n.end = true, end+1
			if s.at(n.end) == ']' {
				n.end++
			}
		}
	}
	n.slash = s.at(n.start-1) == '/' && (n.start < 2 || isSpace(s.at(n.start-2)))
	n.outer = s.quoteBefore(n.start)
	if n.closed {
		n.outer = 0
	}
	first := s.starts[s.line(n.start)]
	at := first + len(logged.FindString(s.text[first:min(n.start, first+160)]))
	n.logged = at > first
	lead := s.text[max(at, n.start-2*maxName):n.start]
	lead = strings.TrimRight(lead[strings.LastIndex(lead, `\n`)+1:], " \t\"'\\$")
	n.key = true
	for w := range strings.FieldsSeq(asciiLower(lead)) {
		n.key = n.key && declares[strings.Trim(w, "[]$\"'")]
	}
	n.flow = lead != "" && strings.IndexByte("{[(?&;,", lead[len(lead)-1]) >= 0 && (lead[len(lead)-1] != ',' || n.closed || strings.ContainsAny(lead, "{[="))
}

// errorCode matches the codes of errors of AWS that are named after a credential.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
var errorCode = pattern.New(`^(?:Client\.)?(?:AuthFailure(?:\.\w+)?|ExpiredToken(?:Exception)?|InvalidAccessKeyId|InvalidSignatureException|SignatureDoesNotMatch|MissingAuthenticationToken(?:Exception)?)$`)

// sentence reports whether a sentence of words begins at a position.
func (s *scan) sentence(p int) bool {
	first := s.word(p)
	second := strings.TrimRight(s.word(s.blanks(p+len(first))), ".,:;")
	return first != "" && isUpper(first[0]) && wordy(first) && second != "" && wordy(second)
}

// colon checks what follows a colon, in a mapping, a header or running text.
func (s *scan) colon(n name, p int) int {
	q := s.blanks(p)
	word := strings.TrimRight(s.word(q), `.,;)]}"'`)
	switch {
	case !n.closed && errorCode.MatchString(n.text) && s.sentence(q):
		return n.end
	case n.slash && q == p && word != "" && word[0] != '/' && !version(word):
	case q == p && !n.closed && !isSpace(s.at(p)) && !isQuote(s.at(p)) && s.at(p) != '\\': // name:value
		if n.flag || !n.key && !n.flow && !isQuote(s.at(n.start-1)) || len(word) < 6 || word[0] == '/' || version(word) {
			return n.end
		}
	case n.key && (n.outer == 0 || n.logged), n.flow, n.closed:
	case isQuote(s.at(q)) && s.at(q) != n.outer:
		if lit, ok := s.quoted(q); !ok || strings.ContainsAny(s.text[lit.from:lit.to], " /") || wordy(s.text[lit.from:lit.to]) {
			return n.end
		}
	default: // running text: only values that no sentence has
		_, _, digit, other := classes(word)
		if len(word) < 5 || wordy(word) || version(word) || strings.HasSuffix(s.word(q), ":") ||
			n.kind != Password && (digit == 0 && other > 0 && !isQuote(s.at(n.start-1)) || strings.ContainsAny(word, "()")) {
			return n.end
		}
	}
	return s.given(n, p)
}

// word returns the text at a position, up to white space.
func (s *scan) word(p int) string {
	end := p
	for end < len(s.text) && !isSpace(s.text[end]) {
		end++
	}
	return s.text[p:end]
}

// version reports whether the text after a colon is an image's tag or a port.
func version(v string) bool {
	v = strings.TrimPrefix(v, "v")
	return v == "latest" || v != "" && isDigit(v[0]) && strings.Contains(v, ".") && len(v) < 40 || number.MatchString(v)
}

// flagged checks the argument after a flag: the next word, or the next element of a list of
// arguments.
func (s *scan) flagged(n name, p int) int {
	comma := s.at(p) == ','
	if comma {
		p++
	}
	next := s.spaces(p)
	if crossed := strings.Contains(s.text[p:next], "\n"); crossed && !comma {
		first, _ := s.content(s.line(n.start))
		switch {
		case s.at(first) == '-' && isBlank(s.at(first+1)):
			if s.at(next) != '-' || !isBlank(s.at(next+1)) {
				return n.end
			}
			next, n.outer = s.blanks(next+1), 0
		case !n.closed:
			return n.end
		}
	}
	p = next
	w := s.word(s.joined(p))
	if w == "" || strings.IndexByte("|><&;)", w[0]) >= 0 || w[0] == '-' && len(w) > 1 && isName(w[1]) && !n.closed || noValue[asciiLower(w)] {
		return n.end
	}
	return s.given(n, p)
}

// called returns the first word of a method's name, in lower case: "set" of "user.SetPassword".
func called(name string) string {
	var store [16]string
	for _, w := range split(name[strings.LastIndexByte(name, '.')+1:], store[:0]) {
		return w
	}
	return ""
}

// literals removes the texts in quotes with which the arguments of a call begin.
func (s *scan) literals(n name, p int) int {
	for {
		lit, ok := s.quoted(s.spaces(p))
		if !ok {
			return p
		}
		if !harmless(s.text[lit.from:lit.to], n.kind, !lit.raw) {
			s.add(lit.from, lit.to, n.kind)
		}
		if p = s.spaces(lit.end); s.at(p) != ',' {
			return p
		}
		p++
	}
}

// bracketed reports whether a position is in brackets, as the arguments of a list are that has no quotes.
func (s *scan) bracketed(at int) bool {
	before := s.text[max(0, at-maxNesting/8):at]
	return strings.LastIndexByte(before, '[') > strings.LastIndexByte(before, ']')
}

// beside checks a word next to a name without any sign between: after set and the like, in .netrc,
// in SQL, and on lines of only these two words.
func (s *scan) beside(n name, p int) int {
	w := s.word(p)
	lead := strings.Fields(s.lower[max(s.starts[s.line(n.start)], n.start-2*maxName):n.start])
	told := slices.ContainsFunc(lead[max(0, len(lead)-2):], func(l string) bool { return sets[l] })
	_, eol := s.content(s.line(p))
	switch v := strings.Trim(w, `"'`); {
	case w == "" || strings.IndexByte("-|><&;()=:#!?*/\\", w[0]) >= 0 || noValue[asciiLower(w)]:
	case w == "set":
		return s.given(n, p+len(w))
	case told,
		n.key && p+len(w) == eol && strings.HasSuffix(asciiLower(n.text), "pw"), // of LDAP's configuration
		n.kind == Password && isQuote(w[0]) && w[0] != n.outer,
		opaque(strings.TrimRight(v, `"'.,;:)`)),
		n.key && p+len(w) == eol && len(v) > 5 && !wordy(v) && (!strings.Contains(v, ".") || random(v)):
		return s.given(n, p)
	}
	return n.end
}

// joined skips a line break that is escaped by a backslash or backtick.
func (s *scan) joined(p int) int {
	p = s.blanks(p)
	if c := s.at(p); (c == '\\' || c == '`') && strings.TrimSpace(s.text[p+1:s.lineEnd(p)]) == "" {
		return s.blanks(min(s.lineEnd(p)+1, len(s.text)))
	}
	return p
}

var (
	hereEnd = pattern.New(`\n[ \t]*["']@`)
	tagged  = pattern.New(`^(?:(?:!\S*|&\w+)[ \t]+)+`)
	head    = pattern.New(`^(?:(?:[|>][-+0-9]*)?(?:[ \t]*$|[ \t]+#)|#(?: |$))`) // read no further than needed: a line may have many names
	cmdlet  = pattern.New(`^\(?[A-Z][a-z]+-[A-Z]\w+`)
)

// given removes the value that begins at a position, unless it is harmless: a text in quotes, or
// else the rest of the line and the block below it. It returns the position to continue from.
func (s *scan) given(n name, p int) int {
	p = s.joined(p)
	eol := s.lineEnd(p)
	if n.mapped && !n.closed {
		p += len(tagged.FindString(s.text[p:eol]))
	}
	value := strings.TrimRight(s.text[p:eol], " \t\r")
	line := s.line(p)
	block := n.mapped && !n.logged && (n.key || n.closed)
	if (value == "" || strings.IndexByte("|>#", value[0]) >= 0) && head.MatchString(value) {
		if block {
			return s.block(n, line)
		}
		return n.end
	}
	if cmdlet.MatchString(value) && !strings.ContainsAny(s.text[n.end:p], ":,") && !strings.Contains(asciiLower(value), "securestring") {
		return p
	}
	lit, quoted := s.quoted(p)
	if n.outer != 0 && s.at(p) == n.outer {
		if s.ends(p+1, 0) {
			return n.end // no value: the quote ends
		}
		n.outer = 0 // a shell joins what follows: 'Name: '"value"
		return s.given(n, p+1)
	}
	if quoted && s.ends(lit.end, n.outer) {
		if harmless(s.text[lit.from:lit.to], n.kind, !lit.raw) {
			return p
		}
		s.add(lit.from, lit.to, n.kind)
		return lit.end
	}
	opens := strings.IndexByte("([{", s.text[p]) >= 0 && !strings.HasPrefix(value, "{{")
	if v, whole := s.first(p, n.outer); whole && !opens && harmless(v, n.kind, true) {
		return p
	}
	end := s.endOf(s.lastJoined(line))
	if quoted && n.outer == 0 {
		end = max(end, s.lineEnd(lit.end))
	}
	if opens {
		end = max(end, s.balanced(p), s.below(s.line(end), s.indent(line), false))
	}
	if block {
		end = max(end, s.below(s.line(end), s.column(n), false))
	}
	s.add(p, end, n.kind)
	return end
}

func (s *scan) column(n name) int {
	col := n.start - s.starts[s.line(n.start)]
	if n.closed {
		col--
	}
	return col
}

// block removes the block indented below a key.
func (s *scan) block(n name, line int) int {
	from := s.endOf(line)
	end := s.below(line, s.column(n), true)
	if harmless(s.text[from:end], n.kind, false) {
		return n.end
	}
	s.add(from, end, n.kind)
	return end
}

// ends reports whether a value ends before a position, in the quote outer or in none.
func (s *scan) ends(p int, outer byte) bool {
	c := s.at(p)
	return c == 0 || isSpace(c) || strings.IndexByte(",;)]}>#&|<", c) >= 0 || outer != 0 && (c == '\\' || isQuote(c))
}

// first returns the word that begins at a position, including commands in it, and whether the value
// ends with it.
func (s *scan) first(p int, outer byte) (v string, whole bool) {
	eol := min(s.lineEnd(p), p+maxNesting)
	i := p
	for i < eol {
		switch c := s.text[i]; {
		case c == '$' && (s.at(i+1) == '(' || s.at(i+1) == '{'), c == '{' && s.at(i+1) == '{':
			end := s.closing(i+1, eol)
			if end == 0 {
				return "", false
			}
			i = end
		case c == '`':
			j := strings.IndexByte(s.text[i+1:eol], '`')
			if j < 0 {
				return "", false
			}
			i += j + 2
		case isSpace(c), c == '\\' && isQuote(s.at(i+1)), isQuote(c), strings.IndexByte(",;)}]", c) >= 0 && s.ends(i+1, '"'):
			return s.text[p:i], c != '"' && c != '\'' || c == outer || s.at(p-1) == c
		default:
			i++
		}
	}
	return s.text[p:i], true
}

// closing returns the position after the bracket that closes the one at i, or 0.
func (s *scan) closing(i, limit int) int {
	open := s.text[i]
	shut := map[byte]byte{'(': ')', '{': '}', '[': ']'}[open]
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
	return 0
}

// balanced returns the end of the line with the bracket that closes the one at p, or p.
func (s *scan) balanced(p int) int {
	if p < s.unbalanced {
		return p
	}
	limit := min(len(s.text), p+maxNesting)
	if end := s.closing(p, limit); end > 0 {
		return s.lineEnd(end)
	}
	s.unbalanced = limit
	return p
}

// literal is a quoted text. Its content is from:to, and end is after the quote.
type literal struct {
	from, to, end int
	raw           bool // nothing in it is expanded
}

// quoted reads the quoted text at a position, at any depth of escaping: \"x\" ends at \". A text
// that never ends is not a quoted text.
func (s *scan) quoted(p int) (lit literal, ok bool) {
	i := p
	if c := s.at(i); (c == '$' || c == '@') && (s.at(i+1) == '\'' || s.at(i+1) == '"') {
		i++
	}
	escapes := 0
	for s.at(i) == '\\' {
		i, escapes = i+1, escapes+1
	}
	q := s.at(i)
	if q != '"' && q != '\'' {
		return lit, false
	}
	rest := s.text[i+1 : min(len(s.text), i+maxNesting)]
	shut := string(q)
	switch {
	case s.at(p) == '@' && strings.TrimSpace(s.text[i+1:s.lineEnd(i)]) == "": // PowerShell's here-string
		if i < s.unclosed {
			return lit, false
		}
		if known := s.hereEnds; i+1 >= known[0] && i+1 <= known[1] { // it is the next one after this position too
			return literal{i + 1, known[1], known[2], true}, true
		}
		if m := hereEnd.FindStringIndex(s.text[i+1:]); m != nil {
			s.hereEnds = [3]int{i + 1, i + 1 + m[0], i + 1 + m[1]}
			return literal{i + 1, i + 1 + m[0], i + 1 + m[1], true}, true
		}
		s.unclosed = len(s.text)
		return lit, false
	case strings.HasPrefix(rest, shut+shut) && escapes == 0:
		if j := strings.Index(s.text[i+3:], shut+shut+shut); j >= 0 {
			return literal{i + 3, i + 3 + j, i + 6 + j, true}, true
		}
	}
	run := 0
	for j := 0; j < len(rest); j++ {
		switch c := rest[j]; {
		case c == '\\':
			run++
			continue
		case c == q && (escapes > 0 && run <= escapes || escapes == 0 && (run%2 == 0 || q == '\'')):
			if escapes == 0 && j > 0 && j+1 < len(rest) && rest[j+1] == q && run == 0 { // YAML, SQL, PowerShell
				j++
				break
			}
			at := i + 1 + j
			return literal{i + 1, at - min(run, escapes), at + 1, q == '\'' && s.at(p) != '$'}, true
		case c == '\n' && escapes > 0:
			return lit, false
		}
		run = 0
	}
	return lit, false
}

// element removes the text of an XML element and of the elements inside it.
func (s *scan) element(n name) int {
	limit := min(len(s.text), n.end+maxNesting)
	i := strings.IndexByte(s.text[n.end:limit], '>')
	if i < 0 || s.at(n.end+i-1) == '/' {
		return n.end
	}
	p := n.end + i + 1
	end := strings.Index(s.lower[p:limit], "</"+asciiLower(n.text))
	if end < 0 {
		end = s.lineEnd(p) - p
	}
	if harmless(s.text[p:p+end], n.kind, false) {
		return n.end
	}
	s.add(p, p+end, n.kind)
	return p + end
}

var pair = pattern.New(`(?i)(?:^|[^a-z0-9])(?:parameter|file)?(?:name|key|path|dest)["'\\]*[ \t]*[:=]?[ \t]*["'\\]*(?:env:|[a-z]:)?([\w./\\-]+)`)

// writes matches the command with which PowerShell writes a value, up to its -Value.
var writes = pattern.New(`(?i)(?:^|[\s(&;|])((?:set|new|add|write|update)-[^;|]+)$`)

// written returns the kind of the names in the command that the line before a -Value ends with, as in Set-Item
// Env:NAME.
func written(before string) Kind {
	if m := writes.FindStringSubmatch(before); m != nil {
		for _, name := range nameRun.FindAllString(m[1], -1) {
			if k := secretName(strings.TrimLeft(name, "-.")); k != "" {
				return k
			}
		}
	}
	return ""
}

// paired returns the kind of a "value" or a "content" next to which a "name" or a "path" is
// secret-like: in the same brackets or element, or in the same item of a list. opaque is that of the name.
func (s *scan) paired(n name) (kind Kind, opaque bool) {
	before := s.text[max(0, n.start-256):n.start]
	if n.flag && s.at(n.start+1) != '-' {
		if kind = written(before[strings.LastIndexByte(before, '\n')+1:]); kind != "" {
			return kind, false
		}
	}
	for _, edge := range []string{"{", "}", "\n\n", "\n- ", " - "} {
		if i := strings.LastIndex(before, edge); i >= 0 {
			before = before[i:]
		}
	}
	line := s.line(n.start)
	around := before + "\n" + s.text[n.end:min(s.endOf(line), n.end+256)]
	if i := strings.IndexByte(s.text[n.end:min(len(s.text), n.end+256)], '{'); i >= 0 {
		around = before
	}
	col := n.start - s.starts[line]
	for line, left := line+1, 8; line < len(s.starts) && left > 0; line++ {
		from, to := s.content(line)
		indent := from - s.starts[line]
		if from == to || indent > col {
			continue
		}
		if indent < col || s.text[from] == '-' {
			break
		}
		around += "\n" + s.text[from:min(to, from+maxName)]
		left--
	}
	if low := asciiLower(around); !strings.Contains(low, "name") && !strings.Contains(low, "key") && !strings.Contains(low, "path") && !strings.Contains(low, "dest") {
		return "", false
	}
	for _, m := range pair.FindAllStringSubmatch(around, -1) {
		if k := secretFile(m[1]); k != "" {
			return k, false
		}
		opaque = opaque || keyName(m[1])
	}
	if opaque {
		return APIKey, true
	}
	return "", false
}
