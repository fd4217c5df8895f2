package redact

import "strings"

// collection judges what is in the brackets that open at p. It fails if they do not
// close.
func (s *scan) collection(p int, kind Kind) (end int, ok bool) {
	if p < s.listUntil {
		return p + 1, true
	}
	limit := min(len(s.text), p+maxNesting)
	if end, ok = s.balanced(p, limit); !ok {
		s.listUntil = limit
		return 0, false
	}
	s.listUntil = end
	key := ""
	for i := p; i < end; {
		if n := noteAt(s.text, i); n > 0 {
			i += n
			continue
		}
		c := s.text[i]
		switch {
		case isSpace(c), strings.IndexByte("[]{}(),:=;", c) >= 0:
			if c == ',' {
				key = ""
			}
			i++
			continue
		}
		from, to := i, i
		var next int
		if lit, quoted := s.quoted(i); quoted && lit.end <= end {
			from, to, next = lit.from, lit.to, lit.end
		} else {
			for to < end && !isSpace(s.text[to]) && strings.IndexByte("[]{},\"'", s.text[to]) < 0 &&
				(strings.IndexByte("):=", s.text[to]) < 0 || to+1 < end && !isSpace(s.text[to+1]) && s.text[to+1] != '"') {
				if n := noteAt(s.text, to); n > 0 {
					break
				}
				to++
			}
			next = max(to, i+1)
		}
		v := s.text[from:to]
		after := s.blanks(next)
		if a := s.at(after); (a == ':' || a == '=') && after < end {
			key = v
			i = after + 1
			continue
		}
		i = next
		if len(v) < 4 || key != "" && harmlessKey(key) || s.harmless(v, kind, false) {
			continue
		}
		k := kind
		if own := secretName(key); own != "" {
			k = own
		}
		s.add(from, to, k)
	}
	return end, true
}

// balanced is the place after the bracket that closes the one at p: one in a quoted
// text does not count, unless a quote never ends.
func (s *scan) balanced(p, limit int) (end int, ok bool) {
	open := s.text[p]
	shut := map[byte]byte{'(': ')', '{': '}', '[': ']'}[open]
	depth := 0
	for i := p; i < limit; {
		switch c := s.text[i]; {
		case c == '"' || c == '\\' || c == '\'' && !isAlnum(s.at(i-1)):
			if lit, ok := s.quoted(i); ok && lit.end <= limit {
				i = max(i+1, lit.end)
				continue
			}
		case c == open:
			depth++
		case c == shut:
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	end = s.closing(p, limit)
	return end, end < limit || end > p && s.text[end-1] == shut
}

// entry judges the value of a key of a YAML mapping, or of a header on a line of its
// own.
func (s *scan) entry(o occurrence, p int) int {
	eol := s.lineEnd(p)
	col := o.start - s.lineStart(o.start)
	if o.closed {
		col--
	}
	for p < eol && (s.text[p] == '!' || s.text[p] == '&') { // a tag, an anchor
		w := min(s.word(p), eol)
		if v := s.text[p:w]; !isName(s.at(p+1)) && s.at(p+1) != '!' || random(v) {
			break
		}
		next := s.blanks(w)
		if next >= eol && s.text[p] == '!' && s.at(p+1) != '!' {
			break
		}
		p = next
	}
	rest := strings.TrimRight(s.text[p:eol], " \t\r")
	switch {
	case rest == "" || rest[0] == '#' && (len(rest) == 1 || rest[1] == ' '):
		if o.prefixed {
			return o.end
		}
		return s.below(o, col)
	case blockHeader(rest):
		return s.block(o, col, s.line(p))
	case noteAt(s.text, p) > 0 && noteAt(s.text, p) == len(rest):
		return o.end
	case rest[0] == '[' || rest[0] == '{' && !strings.HasPrefix(rest, "{{"):
		if noteAt(s.text, p) == 0 {
			if end, ok := s.collection(p, o.kind); ok && strings.Trim(s.text[end:max(end, s.lineEnd(end))], " \t\r,;") == "" {
				return end
			}
		}
	case rest[0] == '"' || rest[0] == '\'' || rest[0] == '\\' && len(rest) > 1 && isQuote(rest[1]):
		if lit, ok := s.quoted(p); ok {
			tail := strings.TrimSpace(s.text[min(lit.end, len(s.text)):max(lit.end, s.lineEnd(min(lit.end, len(s.text))))])
			if tail == "" || tail[0] == '#' || tail[0] == ',' || tail[0] == '}' || tail[0] == ']' || o.closed {
				return max(o.end, s.value(p, o.kind, 0))
			}
		}
	}
	plain := rest
	if i := strings.Index(plain, " #"); i >= 0 {
		plain = plain[:i]
	}
	if s.harmless(plain, o.kind, o.name == strings.ToUpper(o.name)) || o.name == "passwd" && col == 0 && strings.Count(plain, " ") > 1 {
		return o.end // or what the program of that name says
	}
	end := p + len(rest)
	if o.closed {
		end = p + len(strings.TrimRight(rest, ","))
	}
	if !o.prefixed && !o.closed { // a plain scalar goes on while it is indented
		for line := s.line(p) + 1; line < len(s.starts); line++ {
			from, to := s.content(line)
			if from == to || from-s.starts[line] <= col {
				break
			}
			end = to
		}
	}
	s.add(p, end, o.kind)
	return max(o.end, end)
}

// blockHeader reports whether a value is the head of a block scalar: | or >, how
// lines are kept and indented, a comment.
func blockHeader(v string) bool {
	if v[0] != '|' && v[0] != '>' {
		return false
	}
	v = strings.TrimLeft(v[1:], "+-0123456789")
	return v == "" || strings.HasPrefix(strings.TrimLeft(v, " \t"), "#") && isBlank(v[0])
}

// region is the lines after one that are indented deeper than a column: from line
// after up to, without, the line until.
func (s *scan) region(after, col int, list bool) (until int) {
	until = after + 1
	for line := after + 1; line < len(s.starts); line++ {
		from, to := s.content(line)
		if from == to {
			continue
		}
		indent := from - s.starts[line]
		if indent <= col && (!list || indent < col || s.text[from] != '-' || !isBlank(s.at(from+1))) {
			break
		}
		until = line + 1
	}
	return until
}

// block removes a block scalar.
func (s *scan) block(o occurrence, col, line int) int {
	until := s.region(line, col, false)
	if until == line+1 {
		return o.end
	}
	from, to := s.starts[line+1], s.endOf(until-1)
	if s.harmless(s.text[from:to], o.kind, false) {
		return o.end
	}
	s.add(from, to, o.kind)
	return to
}

// below judges what stands indented below a key.
func (s *scan) below(o occurrence, col int) int {
	line := s.line(o.start)
	until := s.region(line, col, true)
	if until == line+1 || s.starts[line] < s.nestedUntil {
		return o.end
	}
	s.nestedUntil = s.starts[until-1] + 1
	from, to := s.content(line + 1)
	if first := s.text[from:to]; first == "" || mapKey(first) == "" && first[0] != '-' && !isQuote(first[0]) {
		// A scalar that begins on the next line.
		if s.harmless(s.text[from:s.endOf(until-1)], o.kind, false) {
			return o.end
		}
		s.add(from, s.endOf(until-1), o.kind)
		return s.endOf(until - 1)
	}
	s.members(line+1, until, o.kind)
	return o.end
}

// members judges the lines of a nested collection: what each key has, unless it has
// a name that says it is no secret, or one that is judged anyway.
func (s *scan) members(line, until int, kind Kind) {
	skip := -1 // deeper lines belong to a key that is judged elsewhere
	for ; line < until; line++ {
		from, to := s.content(line)
		if from == to {
			continue
		}
		indent := from - s.starts[line]
		if skip >= 0 && indent > skip {
			continue
		}
		skip = -1
		for from < to && s.text[from] == '-' && (isBlank(s.at(from+1)) || from+1 == to) {
			from = s.blanks(from + 1)
		}
		if from >= to || s.text[from] == '#' {
			continue
		}
		key := mapKey(s.text[from:to])
		if key == "" {
			if v := s.text[from:to]; strings.Trim(v, "[]{},") != "" && (v[0] != '{' || noteAt(s.text, from) > 0) && !s.harmless(v, kind, false) {
				s.add(from, to, kind)
			}
			continue
		}
		name := strings.Trim(key, `"'`)
		if harmlessKey(name) || secretName(name) != "" {
			skip = from - s.starts[line]
			continue
		}
		p := s.blanks(from + len(key) + 1)
		if p >= to {
			continue
		}
		o := occurrence{kind: kind, name: name, start: from, end: p, key: true}
		switch rest := s.text[p:to]; {
		case blockHeader(rest):
			s.block(o, from-s.starts[line], line)
		case rest[0] == '{' || rest[0] == '[':
			if noteAt(s.text, p) == 0 {
				s.collection(p, kind)
			}
		case isQuote(rest[0]):
			s.value(p, kind, 0)
		case !s.harmless(rest, kind, false):
			s.add(p, to, kind)
		}
	}
}

// mapKey is the key that a line begins with, with its quotes, or nothing.
func mapKey(line string) string {
	i := 0
	if q := line[0]; q == '"' || q == '\'' {
		if i = strings.IndexByte(line[1:], q); i < 0 {
			return ""
		}
		i += 2
	} else {
		for i < len(line) && i < maxName && (isName(line[i]) || line[i] == '/') {
			i++
		}
	}
	if i == 0 || i >= len(line) || line[i] != ':' || i+1 < len(line) && !isSpace(line[i+1]) {
		return ""
	}
	return line[:i]
}

// manifests judges the data of Kubernetes Secrets, whose keys may have any name.
func (s *scan) manifests() {
	if !strings.Contains(s.text, "Secret") {
		return
	}
	secret := false
	var data []int // lines
	settle := func() {
		if secret {
			for _, line := range data {
				from, _ := s.content(line)
				s.members(line+1, s.region(line, from-s.starts[line], false), Secret)
			}
		}
		secret, data = false, nil
	}
	for line := range s.starts {
		from, to := s.content(line)
		switch text := s.text[from:to]; {
		case text == "---":
			settle()
		case text == "data:" || text == "stringData:":
			// One inside another would make the cost grow with their depth.
			if n := len(data); n == 0 || line >= s.region(data[n-1], s.indent(data[n-1]), false) {
				data = append(data, line)
			}
		case strings.HasPrefix(text, "kind:") && strings.Trim(text[5:], ` "'`) == "Secret":
			secret = true
		case strings.Contains(text, `"kind"`) || strings.Contains(text, `\"kind\"`):
			s.jsonSecret(from, to)
		}
	}
	settle()
}

func (s *scan) indent(line int) int {
	from, _ := s.content(line)
	return from - s.starts[line]
}

// jsonSecret judges the data of a Secret in JSON whose kind stands in a line.
func (s *scan) jsonSecret(from, to int) {
	flat := strings.NewReplacer(" ", "", `\`, "").Replace(s.text[from:min(to, from+4*maxNesting)])
	if !strings.Contains(flat, `"kind":"Secret"`) {
		return
	}
	limit := min(len(s.text), from+4*maxNesting)
	for _, key := range []string{`"data`, `"stringdata`} {
		for i := max(0, from-maxNesting); i < limit; {
			j := strings.Index(s.lower[i:limit], key)
			if j < 0 {
				break
			}
			i += j + len(key)
			p := i
			for p < limit && (isSpace(s.text[p]) || strings.IndexByte(`\":`, s.text[p]) >= 0) {
				p++
			}
			if s.at(p) == '{' {
				s.listUntil = 0
				s.collection(p, Secret)
			}
		}
	}
}

// tables judges the keys of TOML and INI tables with secret-like names.
func (s *scan) tables() {
	kind := Kind("")
	for line := range s.starts {
		from, to := s.content(line)
		text := s.text[from:to]
		if text == "" || noteAt(s.text, from) > 0 {
			continue
		}
		if text[0] == '[' {
			if strings.HasSuffix(text, "]") && len(text) < 2*maxName {
				name := strings.Trim(text, "[]\"' ")
				name = name[strings.LastIndexAny(name, ".")+1:]
				kind = secretName(strings.Trim(name, `"' `))
			}
			continue
		}
		if kind == "" {
			continue
		}
		key, _, ok := strings.Cut(text, "=")
		name := strings.Trim(key, ` "'`)
		if !ok || name == "" || len(name) > maxName || strings.ContainsAny(name, " $\t:") {
			if strings.HasPrefix(text, "--") || strings.HasPrefix(text, "#!") {
				kind = ""
			}
			continue
		}
		if harmlessKey(name) || secretName(name) != "" {
			continue
		}
		p := s.blanks(from + len(key) + 1)
		switch c := s.at(p); {
		case p >= to:
		case c == '"' || c == '\'':
			s.value(p, kind, 0)
		case (c == '[' || c == '{') && noteAt(s.text, p) == 0:
			s.collection(p, kind)
		case !s.harmless(s.text[p:to], kind, false):
			s.add(p, to, kind)
		}
	}
}
