package redact

import "strings"

// names looks for names that announce a secret, and judges what they are given.
func (s *scan) names() {
	for i := 0; i < len(s.lower); {
		if n := noteAt(s.text, i); n > 0 {
			i += n
			continue
		}
		if !stem(s.lower, i) {
			i++
			continue
		}
		from, to := i, i
		for from > 0 && isName(s.text[from-1]) {
			from--
		}
		for to < len(s.text) && isName(s.text[to]) {
			to++
		}
		i = max(to, s.name(from, to))
	}
}

// stem reports whether something begins at i that every secret-like name contains,
// or the name of a value that another name speaks of.
func stem(lower string, i int) bool {
	rest := lower[i:]
	if len(rest) < 3 {
		return false
	}
	switch rest[0] {
	case 'p':
		return rest[1] == 'w' || rest[1] == 's' && rest[2] == 'k' || strings.HasPrefix(rest, "pass")
	case 's':
		return strings.HasPrefix(rest, "secret") || strings.HasPrefix(rest, "signature")
	case 't':
		return strings.HasPrefix(rest, "token")
	case 'k':
		return rest[1] == 'e' && rest[2] == 'y'
	case 'c':
		return strings.HasPrefix(rest, "cred") || strings.HasPrefix(rest, "cookie") || strings.HasPrefix(rest, "content")
	case 'a':
		return strings.HasPrefix(rest, "auth") || strings.HasPrefix(rest, "activation")
	case 'd':
		return strings.HasPrefix(rest, "dockerc")
	case 'v':
		return strings.HasPrefix(rest, "value")
	case 'b':
		return strings.HasPrefix(rest, "bearer")
	case 'm':
		return strings.HasPrefix(rest, "mnemonic")
	case 'n':
		return strings.HasPrefix(rest, "netrc")
	case 'o':
		return rest[1] == 't' && rest[2] == 'p'
	case 'j':
		return rest[1] == 'w' && rest[2] == 't'
	}
	return false
}

// occurrence is a secret-like name in the text.
type occurrence struct {
	kind     Kind
	name     string
	start    int // with its dashes
	end      int // after its closing quote
	flag     bool
	closed   bool // the name alone is quoted
	outer    byte // the quote that it stands in
	key      bool // nothing of meaning stands before it on its line
	prefixed bool // but for what a log puts there
	flow     bool // after an opening bracket or a comma of a collection
}

// name judges the name from:to, and gives the place from which to go on.
func (s *scan) name(from, to int) int {
	if to-from > maxName || s.at(from-1) == '+' {
		return to
	}
	o := occurrence{start: from, end: to}
	if s.at(from-1) == '\\' && strings.IndexByte("nrt", s.text[from]) >= 0 && to-from > 3 && s.quoteBefore(from) != 0 {
		from++
		o.start = from
	}
	for from < to && (s.text[from] == '-' || s.text[from] == '.') {
		o.flag = o.flag || s.text[from] == '-'
		from++
	}
	if from == to || s.text[to-1] == '-' || s.text[to-1] == '.' {
		return to
	}
	o.name = s.text[from:to]
	low := s.lower[from:to]
	switch low {
	case "value", "parametervalue", "stringvalue", "content", "contents":
		o.kind = s.named(o)
	case "key":
		o.kind = s.spoken(from)
	default:
		o.kind = secretName(o.name)
	}
	if o.kind == "" {
		return to
	}
	switch {
	case s.at(o.start-1) == '<':
		return s.element(o)
	case s.at(o.start-1) == '{' && s.at(o.start-2) == '$':
		return s.parameter(o)
	}
	if q := s.at(o.start - 1); q == '"' || q == '\'' {
		escapes := 0
		for s.at(o.start-2-escapes) == '\\' {
			escapes++
		}
		end := o.end
		for n := 0; n < escapes && s.at(end) == '\\'; n++ {
			end++
		}
		if s.at(end) == q && end-o.end == escapes {
			o.closed = true
			o.end = end + 1
			if s.at(o.end) == ']' {
				o.end++
			}
		}
		o.outer = s.quoteBefore(o.start - 1 - escapes)
		if !o.closed {
			o.outer = s.quoteBefore(o.start)
		}
	} else {
		o.outer = s.quoteBefore(o.start)
	}
	s.place(&o)
	return s.given(o)
}

// spoken is the kind of a name of several words that ends in key: "Access Key: ...".
func (s *scan) spoken(from int) Kind {
	if s.at(from-1) != ' ' {
		return ""
	}
	i := from - 1
	for i > 0 && isLetter(s.text[i-1]) && from-i < 16 {
		i--
	}
	switch w := s.lower[i : from-1]; w {
	case "api", "access", "license", "account", "storage", "private", "secret":
		if w == "access" && strings.HasSuffix(s.lower[:i], "secret ") {
			return AWSSecretKey
		}
		return keyed[w]
	}
	return ""
}

var declares = words(`export set local readonly declare typeset default var let const env setx val final
	string securestring global script -x -r -g -gx -a global: script: env: + args:`)

// place says where on its line a name stands.
func (s *scan) place(o *occurrence) {
	first := s.lineStart(o.start)
	at := first + logPrefix(s.text[first:o.start])
	o.prefixed = at > first
	lead := s.text[at:o.start]
	if len(lead) > 4*maxName {
		lead = lead[len(lead)-4*maxName:]
	}
	if i := strings.LastIndex(lead, `\n`); i >= 0 {
		lead = lead[i+2:]
	}
	trimmed := strings.TrimRight(lead, " \t\"'\\$")
	o.key = true
	for w := range strings.FieldsSeq(strings.ToLower(trimmed)) {
		if w != "-" && w != "?" && w != "#" && !declares[strings.Trim(w, "[]$\"'")] {
			o.key = false
			break
		}
	}
	if n := len(trimmed); n > 0 {
		switch trimmed[n-1] {
		case '{', '[', '(', '?', '&', ';':
			o.flow = true
		case ',':
			o.flow = o.closed || strings.ContainsAny(trimmed, "{[=")
		}
	}
}

// logPrefix is the length of what a console or system log puts before a message.
func logPrefix(line string) int {
	at := 0
	if strings.HasPrefix(line, "[") { // [   12.345678]
		if end := strings.IndexByte(line[:min(len(line), 24)], ']'); end > 0 && strings.Trim(line[1:end], " .0123456789T") == "" {
			at = end + 1
		}
	} else if len(line) > 16 && line[3] == ' ' && line[6] == ' ' && line[9] == ':' { // Jan  2 15:04:05 host
		if i := strings.IndexByte(line[16:], ' '); i >= 0 {
			at = 16 + i
		}
	}
	rest := strings.TrimLeft(line[at:], " ")
	head, _, ok := strings.Cut(rest[:min(len(rest), 64)], ": ") // program[123]:
	if ok && strings.HasSuffix(head, "]") && strings.Contains(head, "[") && !strings.ContainsAny(head, " \"'") {
		at = len(line) - len(rest) + len(head) + 2
	}
	return at
}

// given judges what stands after a name.
func (s *scan) given(o occurrence) int {
	p := s.blanks(o.end)
	switch c := s.at(p); {
	case c == ':' && s.at(p+1) == '=', (c == '+' || c == '?') && s.at(p+1) == '=':
		return s.assigned(o, p+2)
	case c == '=':
		n := p + 1
		if s.at(n) == '>' || s.at(n) == '=' && s.at(n+1) != 0 && s.at(n-2) == ' ' {
			n++
		}
		return s.assigned(o, n)
	case c == ':' && s.at(p+1) != ':':
		return s.mapped(o, p+1)
	case c == ',' && o.closed && s.at(o.start-2) == '(':
		if p = s.blanks(p + 1); s.at(p) == '"' || s.at(p) == '\'' {
			return max(o.end, s.value(p, o.kind, o.outer))
		}
	case o.flag && s.flagPlace(o):
		return s.flagged(o)
	case !o.closed && p > o.end:
		return s.beside(o, p)
	}
	return o.end
}

// joined skips a line break that a backslash or backtick takes back.
func (s *scan) joined(p int) int {
	if c := s.at(p); c == '\\' || c == '`' {
		n := p + 1
		if s.at(n) == '\r' {
			n++
		}
		if s.at(n) == '\n' {
			return s.blanks(n + 1)
		}
	}
	return p
}

// assigned judges what follows an equals sign.
func (s *scan) assigned(o occurrence, p int) int {
	spaced := isBlank(s.at(p)) || isBlank(s.at(o.end))
	p = s.joined(s.blanks(p))
	if p >= len(s.text) || s.text[p] == '\n' || s.text[p] == '\r' || o.outer != 0 && s.text[p] == o.outer {
		return o.end
	}
	if !spaced && p > o.end+2 && isBlank(s.at(p-1)) { // NAME= command
		return o.end
	}
	if noteAt(s.text, p) == 0 {
		switch c := s.text[p]; {
		case s.opensHeredoc(p):
			return o.end
		case s.at(o.start-1) == '$' && c != '"' && c != '\'' && c != '@':
			return s.expression(p, o.kind)
		case c == '[' || c == '{' || c == '(':
			if end, ok := s.collection(p, o.kind); ok {
				return end
			}
		}
	}
	if c := s.text[p]; o.key && o.outer == 0 && isBlank(s.at(o.end)) && !isQuote(c) && c != '@' && c != '\\' && c != '$' {
		return s.rest(o, p) // no shell has blanks there: a file of settings
	}
	end := s.value(p, o.kind, o.outer)
	if end == p {
		return o.end
	}
	// A file of settings has nothing after the value: what follows is more of it.
	if eol := s.lineEnd(p); o.key && o.outer == 0 && end < eol && s.text[end] == ' ' && !isQuote(s.text[p]) && o.name != strings.ToUpper(o.name) {
		if rest := s.text[end:eol]; !hasAny(rest, "=", ";", "&&", "|", " -", " $", " /", " #", ">") {
			s.add(p, eol, o.kind)
			return eol
		}
	}
	return end
}

// rest judges the rest of a line.
func (s *scan) rest(o occurrence, p int) int {
	eol := s.lineEnd(p)
	plain, _, _ := strings.Cut(s.text[p:eol], " #")
	if s.harmless(plain, o.kind, false) {
		return o.end
	}
	s.add(p, eol, o.kind)
	return eol
}

// opensHeredoc reports whether a value is the output of a command whose input
// follows in the next lines: that is judged as a heredoc.
func (s *scan) opensHeredoc(p int) bool {
	line := s.text[p:min(s.lineEnd(p), p+256)]
	return strings.HasPrefix(strings.TrimPrefix(line, `"`), "$(") && strings.Contains(line, "<<") && !strings.Contains(line, "<<<")
}

// expression judges the quoted texts in the rest of a line of a program, but for
// those that are keys, or given to a harmless flag.
func (s *scan) expression(p int, kind Kind) int {
	eol := s.lineEnd(p)
	secure := hasAny(s.lower[p:eol], "securestring", "credential", "base64", "getbytes")
	if c := s.at(p); c != '(' && c != '[' && !secure && !strings.ContainsAny(s.text[p:eol], "+") {
		if wordEnd := s.word(p); wordEnd == eol && c != '$' && !isCmdlet(s.text[p:wordEnd]) {
			return s.value(p, kind, 0)
		}
		return p
	}
	for i := p; i < eol; i++ {
		if c := s.text[i]; c != '"' && c != '\'' {
			continue
		}
		lit, _ := s.quoted(i)
		next := s.at(s.blanks(lit.end))
		before := strings.TrimRight(s.text[p:i], " (")
		flag := before[strings.LastIndexAny(before, " \t")+1:]
		isKey := next == '=' || next == ':' && s.at(s.blanks(lit.end)+1) != ':'
		named := strings.HasPrefix(flag, "-") && harmlessFlag(flag)
		if !isKey && !named && !s.harmless(s.text[lit.from:lit.to], kind, !lit.raw) {
			s.add(lit.from, lit.to, kind)
		}
		i = max(i, lit.end-1)
	}
	return eol
}

func isCmdlet(w string) bool {
	verb, noun, ok := strings.Cut(w, "-")
	return ok && wordy(verb) && wordy(noun) && isUpper(w[0])
}

func harmlessFlag(flag string) bool {
	return harmlessKey(flag) || hasAny(asciiLower(flag), "headers", "method", "uri", "query", "region", "secretid")
}

// mapped judges what follows a colon.
func (s *scan) mapped(o occurrence, p int) int {
	c := s.at(p)
	if c != 0 && !isSpace(c) && !o.closed { // tight
		switch {
		case c == '/' && s.at(p+1) == '/', c == '"' && o.outer == '"', c == '\'' && o.outer == '\'':
			return o.end
		case c == '"' || c == '\'' || c == '\\':
			return s.value(p, o.kind, o.outer)
		case (o.key || o.flow || isQuote(s.at(o.start-1))) && !o.flag:
			end := s.bare(p, o.outer)
			if v := s.text[p:end]; len(v) < 6 || version(v) || s.harmless(v, o.kind, true) {
				return o.end
			}
			s.add(p, end, o.kind)
			return end
		}
		return o.end
	}
	start := p
	p = s.blanks(p)
	switch {
	case o.key && !o.flow && (o.outer == 0 || o.closed):
		return s.entry(o, p)
	case o.flow || o.closed:
		for p < len(s.text) && isSpace(s.text[p]) && p-start < 64 {
			p++
		}
		if noteAt(s.text, p) == 0 && (s.at(p) == '{' || s.at(p) == '[') {
			if end, ok := s.collection(p, o.kind); ok {
				return end
			}
		}
		if c := s.at(p); c == '"' || c == '\'' || c == '\\' || c == '@' || c == '$' {
			return s.value(p, o.kind, o.outer)
		}
		return s.until(p, s.flowEnd(p, o.outer), o)
	case isQuote(s.at(o.start - 1)): // a header, or a message in quotes
		if w := s.word(p); o.kind != Password && !strings.Contains(o.name, "-") && s.at(w) == ' ' && wordy(s.text[p:w]) {
			return o.end
		}
		return s.until(p, s.outerEnd(p, o.outer), o)
	}
	return s.prose(o, p)
}

// until judges the plain text p:end.
func (s *scan) until(p, end int, o occurrence) int {
	if end <= p || s.harmless(s.text[p:end], o.kind, o.outer == '"') {
		return o.end
	}
	s.add(p, end, o.kind)
	return end
}

func (s *scan) flowEnd(p int, outer byte) int {
	eol := s.lineEnd(p)
	for i := p; i < eol; i++ {
		if n := noteAt(s.text, i); n > 0 {
			i += n - 1
			continue
		}
		switch c := s.text[i]; {
		case c == outer && outer != 0:
			return i
		case c == ',' && (i+1 == eol || isSpace(s.text[i+1]) || isQuote(s.text[i+1]) || s.separates(i, eol, outer)):
			return i
		case c == '}' || c == ']' || c == ')':
			if i+1 == eol || isSpace(s.text[i+1]) || s.onlyClosers(i, eol) || s.text[i+1] == ',' {
				return i
			}
		case c == '$' && s.at(i+1) == '{', c == '{' && s.at(i+1) == '{':
			i = s.closing(i+1, eol) - 1
		}
	}
	return eol
}

// outerEnd is where the quote ends in which a place stands.
func (s *scan) outerEnd(p int, outer byte) int {
	eol := s.lineEnd(p)
	escaped := outer != 0 && s.escapedName(p)
	for i := p; i < eol; i++ {
		switch c := s.text[i]; {
		case c == '\\' && outer != '\'':
			if escaped && isQuote(s.at(i+1)) {
				return i
			}
			i++
		case c == outer && outer != 0:
			return i
		}
	}
	return eol
}

// escapedName reports whether the name before a header's value follows an escaped quote.
func (s *scan) escapedName(p int) bool {
	from := max(s.lineStart(p), p-maxName)
	return strings.Contains(s.text[from:p], `\"`)
}

// version reports whether what follows a colon is an image's tag or a port.
func version(v string) bool {
	v = strings.TrimPrefix(v, "v")
	return v == "latest" || v != "" && isDigit(v[0]) && strings.Contains(v, ".") || number(v)
}

// prose judges the word after a name in running text: only what no sentence has.
func (s *scan) prose(o occurrence, p int) int {
	if c := s.at(p); c == '"' || c == '\'' || c == '`' {
		lit, ok := s.quoted(p)
		if ok && lit.end <= s.lineEnd(p) && !strings.ContainsAny(s.text[lit.from:lit.to], " /") && !wordy(s.text[lit.from:lit.to]) {
			return s.value(p, o.kind, o.outer)
		}
		return o.end
	}
	end := s.bare(p, o.outer)
	v := s.text[p:end]
	if strings.HasSuffix(v, ":") {
		return o.end
	}
	for len(v) > 0 && strings.IndexByte(`.,;)]}"'`, v[len(v)-1]) >= 0 && noteAt(s.text, p) == 0 {
		v = v[:len(v)-1]
	}
	end = p + len(v)
	if len(v) < 5 || wordy(v) || version(v) || s.harmless(v, o.kind, true) {
		return o.end
	}
	_, _, digit, other := classes(v)
	if o.kind != Password && (digit == 0 && other > 0 || strings.ContainsAny(v, "()") || strings.Count(v, "/") > 2 && !random(v)) {
		return o.end
	}
	s.add(p, end, o.kind)
	return end
}

func (s *scan) flagPlace(o occurrence) bool {
	switch c := s.at(o.start - 1); c {
	case 0, ' ', '\t', '\n', '\r', '"', '\'', '[', '(', ',', '`', '{':
		return true
	}
	return false
}

var noValue = words(`has is was are flag must cannot requires and or to for in not will with option options
	argument from by of the a an`)

// flagged judges the argument after a flag: the next word, or the next element of a
// list of arguments.
func (s *scan) flagged(o occurrence) int {
	p := s.blanks(o.end)
	outer := o.outer
	if o.closed {
		if s.at(p) == ',' {
			p++
		}
		for p < len(s.text) && isSpace(s.text[p]) && p-o.end < 128 {
			p++
		}
		if c := s.at(p); c == '-' && s.at(p+1) == ' ' {
			p = s.blanks(p + 1)
		}
	} else if s.at(p) == '\n' || s.at(p) == '\r' {
		first, _ := s.content(s.line(o.start))
		if s.line(p)+1 >= len(s.starts) || !strings.HasPrefix(s.text[first:], "- ") {
			return o.end
		}
		next, _ := s.content(s.line(p) + 1)
		if !strings.HasPrefix(s.text[next:], "- ") {
			return o.end
		}
		p = s.blanks(next + 1)
		outer = 0
	} else if p == o.end {
		return o.end
	}
	p = s.joined(p)
	c := s.at(p)
	switch {
	case c == 0, c == outer && outer != 0, strings.IndexByte("|><&;)\n\r,]}", c) >= 0, c == '-' && isName(s.at(p+1)) && !o.closed:
		return o.end
	case c == '(':
		return s.expression(p, o.kind)
	case noValue[s.lower[p:s.word(p)]] || isCmdlet(s.text[p:s.word(p)]):
		return o.end
	}
	if end := s.value(p, o.kind, outer); end > p {
		return end
	}
	return o.end
}

var sets = words(`set setx setenv env put -x -gx -ux`)

// beside judges a word that stands beside a name without any sign between: after
// set and the like, in .netrc, and where a line has nothing but the two.
func (s *scan) beside(o occurrence, p int) int {
	eol := s.lineEnd(p)
	if p >= eol || s.text[p] == '\r' {
		return o.end
	}
	first := max(s.lineStart(o.start), o.start-2*maxName)
	lead := strings.Fields(s.lower[first:o.start])
	end := s.bare(p, o.outer)
	if c := s.text[p]; c == '"' || c == '\'' {
		if lit, ok := s.quoted(p); ok {
			end = lit.end
		}
	}
	n := len(lead)
	switch {
	case end <= p || strings.IndexByte("-|><&;()=:#!?*/", s.text[p]) >= 0 || noValue[s.lower[p:end]]:
		return o.end
	case o.kind == Password && isQuote(s.text[p]) && s.text[p] != o.outer && end <= eol && !strings.Contains(s.text[p:end], " "):
		// SQL's PASSWORD 'x'
	case s.lower[p:end] == "set" && isBlank(s.at(end)):
		p = s.blanks(end)
	case n > 0 && (sets[lead[n-1]] || n > 1 && sets[lead[n-2]] && strings.HasPrefix(lead[n-1], "-")):
	case n > 1 && (lead[n-2] == "login" || lead[n-2] == "user" || lead[n-2] == "machine"):
	case o.key && strings.TrimSpace(s.text[min(end, eol):eol]) == "" && s.lower[o.start:o.end] != "passwd":
		if v := strings.Trim(s.text[p:end], `"'`); len(v) < 6 || wordy(v) || strings.Contains(v, ".") && !random(v) {
			return o.end
		}
	default:
		return o.end
	}
	return max(o.end, s.value(p, o.kind, o.outer))
}

// parameter judges what a shell uses for a variable that has no value.
func (s *scan) parameter(o occurrence) int {
	p := o.end
	if s.at(p) == ':' {
		p++
	}
	if c := s.at(p); c != '-' && c != '=' && c != '+' {
		return o.end
	}
	p++
	end := s.closing(o.start-1, s.lineEnd(p)) - 1
	if end <= p || s.harmless(s.text[p:end], o.kind, true) {
		return o.end
	}
	s.add(p, end, o.kind)
	return end
}

// element judges the text of an XML element, and of one inside it.
func (s *scan) element(o occurrence) int {
	limit := min(len(s.text), o.end+1024)
	i := strings.IndexByte(s.text[o.end:limit], '>')
	if i < 0 || s.at(o.end+i-1) == '/' {
		return o.end
	}
	p := o.end + i + 1
	closing := strings.Index(s.lower[p:limit], "</"+asciiLower(o.name))
	if closing < 0 {
		closing = max(0, strings.IndexByte(s.text[p:limit], '<'))
	}
	end := p + closing
	for p < end {
		if s.text[p] == '<' {
			j := strings.IndexByte(s.text[p:end], '>')
			if j < 0 {
				break
			}
			tag := s.lower[p : p+j]
			p += j + 1
			if strings.HasPrefix(tag, "<plaintext") {
				if k := strings.IndexByte(s.text[p:end], '<'); k >= 0 {
					p += k
				}
			}
			continue
		}
		j := strings.IndexByte(s.text[p:end], '<')
		if j < 0 {
			j = end - p
		}
		if !s.harmless(s.text[p:p+j], o.kind, false) {
			s.add(p, p+j, o.kind)
		}
		p += j
	}
	return max(o.end, end)
}

// named is the kind of a "value" or a "content" whose "name" or "path" beside it is
// secret-like, or of the argument of a command that says so.
func (s *scan) named(o occurrence) Kind {
	if o.flag {
		from, to := s.logical(o.start)
		from, to = max(from, o.start-1024), min(to, o.start+1024)
		if hasAny(s.lower[from:to], "securestring") {
			return Secret
		}
		return pairKind(s.text[from:o.start] + " " + s.text[o.end:to])
	}
	before := s.text[max(0, o.start-200):o.start]
	if i := strings.LastIndexAny(before, "{}"); i >= 0 {
		before = before[i+1:]
	}
	if i := strings.LastIndex(before, "- "); i >= 0 {
		before = before[i:]
	}
	if i := strings.LastIndex(before, "\n\n"); i >= 0 {
		before = before[i:]
	}
	if k := pairKind(before); k != "" {
		return k
	}
	after := s.text[o.end:min(len(s.text), o.end+240)]
	if i := strings.IndexAny(after, "{}"); i >= 0 {
		after = after[:i]
	}
	if first := s.line(o.start); strings.Contains(after, "\n") {
		col := o.start - s.starts[first]
		line, siblings := first+1, ""
		for n := 0; line < len(s.starts) && n < 8; line++ {
			from, to := s.content(line)
			indent := from - s.starts[line]
			if from == to || indent > col {
				continue
			}
			if indent < col || s.text[from] == '-' {
				break
			}
			siblings += s.text[from:min(to, from+maxName*2)] + "\n"
			n++
		}
		eol := s.endOf(first)
		after = s.text[o.end:min(eol, o.end+240)] + "\n" + siblings
	}
	return pairKind(after)
}

// pairKind is the kind of the name that a name, key or path in a text has.
func pairKind(text string) Kind {
	low := asciiLower(text)
	for _, key := range []string{"name", "key", "path", "filename", "dest"} {
		for i := 0; i < len(low); {
			j := strings.Index(low[i:], key)
			if j < 0 {
				break
			}
			from := i + j
			i = from + len(key)
			p := i
			if from > 0 && isAlnum(low[from-1]) && !strings.HasSuffix(low[:from], "parameter") && !strings.HasSuffix(low[:from], "file") {
				continue
			}
			for p < len(low) && (isQuote(low[p]) || low[p] == '\\' || isBlank(low[p])) {
				p++
			}
			if p < len(low) && (low[p] == ':' || low[p] == '=') {
				p++
			} else if from == 0 || low[from-1] != '-' {
				continue
			}
			for p < len(low) && (isQuote(low[p]) || low[p] == '\\' || isBlank(low[p])) {
				p++
			}
			end := p
			for end < len(text) && (isName(text[end]) || text[end] == '/' || text[end] == '\\' && key != "name") {
				end++
			}
			if k := secretFile(text[p:end]); k != "" {
				return k
			}
		}
	}
	return ""
}
