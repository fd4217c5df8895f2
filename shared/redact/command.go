package redact

import "strings"

// commands looks for programs that are given a password without a name for it.
func (s *scan) commands() {
	for _, sink := range []string{"chpasswd", "--password-stdin", "--stdin", "| passwd", "|passwd"} {
		from := 0
		s.echoedUntil = 0
		s.each(sink, func(at int) {
			if sink == "--stdin" && !strings.Contains(s.text[s.lineStart(at):at], "passwd") {
				return
			}
			s.fed(max(from, at-2048), at)
			from = at
		})
	}
	s.echoedUntil = 0
	s.each("echo", func(at int) { s.written(at, at+4) })
	s.echoedUntil = 0
	s.each("printf", func(at int) { s.written(at, at+6) })
	s.each("convertto-securestring", s.secureString)
	s.each("networkcredential(", func(at int) {
		i := strings.IndexByte(s.text[at:s.lineEnd(at)], ',')
		if i >= 0 {
			s.value(s.blanks(at+i+1), Password, 0)
		}
	})
	s.each("pass:", func(at int) { // openssl -pass pass:x
		if c := s.at(at - 1); c == ' ' || isQuote(c) {
			if p := at + len("pass:"); p < len(s.text) && !isSpace(s.text[p]) && strings.Contains(s.text[s.lineStart(at):at], "-") {
				s.value(p, Password, s.quoteBefore(at))
			}
		}
	})
	s.each("identified by ", func(at int) { s.value(s.blanks(at+len("identified by ")), Password, s.quoteBefore(at)) })
	s.each("vault login ", func(at int) {
		if p := s.blanks(at + len("vault login ")); s.at(p) != '-' {
			s.value(p, Token, s.quoteBefore(at))
		}
	})
	s.each("net user ", func(at int) {
		if fields := s.fields(at); len(fields) > 3 && s.text[fields[3].from] != '/' {
			s.argument(fields[3].from, Password)
		}
	})
	for _, o := range options {
		for _, program := range o.programs {
			done := 0
			s.each(program, func(at int) {
				if at >= done && s.alone(at, at+len(program)) {
					done = s.options(at, o)
				}
			})
		}
	}
}

// option is a short option of a program that takes a password.
type option struct {
	programs []string
	flags    []string
	with     string // what else the command has to say
	glued    bool   // the value may follow without a blank
	user     bool   // the value is user:password
}

var options = []option{
	{programs: []string{"curl"}, flags: []string{"-u", "--user", "--proxy-user", "-U"}, user: true, glued: true},
	{programs: []string{"mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass"}, flags: []string{"-p"}, glued: true},
	{programs: []string{"docker", "podman", "nerdctl", "helm", "oras", "az", "crane"}, flags: []string{"-p"}, with: " login"},
	{programs: []string{"useradd", "usermod", "adduser"}, flags: []string{"-p"}},
	{programs: []string{"redis-cli"}, flags: []string{"-a"}},
	{programs: []string{"sqlcmd", "bcp"}, flags: []string{"-p"}, glued: true},
	{programs: []string{"ldapsearch", "ldapmodify", "ldapadd"}, flags: []string{"-w"}},
	{programs: []string{"amazon-ssm-agent", "amazon-ssm-agent.exe"}, flags: []string{"-code"}, with: "-register"},
	{programs: []string{"htpasswd"}, flags: []string{"-b", "-nb", "-nbb", "-bc", "-cb"}, user: false},
}

// field is a word of a command.
type field struct{ from, to int }

// fields are the words of a command that begins at a place, as far as a separator.
func (s *scan) fields(at int) []field {
	_, eol := s.logical(at)
	eol = min(eol, at+2048)
	outer := s.quoteBefore(at)
	var out []field
	for p := at; p < eol && len(out) < 64; {
		c := s.text[p]
		switch {
		case isSpace(c), c == '\\' && (s.at(p+1) == '\n' || s.at(p+1) == '\r'):
			p++
			continue
		case c == '|' || c == ';' || c == '&' && s.at(p+1) == '&', c == outer && outer != 0:
			return out
		}
		var end int
		if lit, ok := s.quoted(p); ok {
			end = min(lit.end, eol)
			end = max(end, s.after(end, outer))
		} else {
			end = s.bare(p, outer)
		}
		end = max(end, p+1)
		out = append(out, field{p, end})
		p = end
	}
	return out
}

// argument removes a word, unless it is a reference.
func (s *scan) argument(p int, kind Kind) {
	s.value(p, kind, s.quoteAhead(p))
}

// options judges a command, and gives the place from which to look for the next.
func (s *scan) options(at int, o option) int {
	fields := s.fields(at)
	if len(fields) == 0 {
		return 0
	}
	end := fields[len(fields)-1].to
	if o.with != "" && !strings.Contains(s.lower[at:end], o.with) {
		return end
	}
	for i, f := range fields {
		word := s.text[f.from:f.to]
		for _, flag := range o.flags {
			name, value := asciiLower(word), 0
			if strings.HasPrefix(flag, "-U") {
				name = word
			}
			switch {
			case name == flag && i+1 < len(fields):
				value = fields[i+1].from
			case o.glued && len(word) > len(flag) && strings.HasPrefix(name, flag) && (flag[1] != '-' || word[len(flag)] == '='):
				if value = f.from + len(flag); flag[1] == '-' {
					value++
				}
			default:
				continue
			}
			switch {
			case name == flag && flag == "-p" && o.glued && strings.HasPrefix(o.programs[0], "mysql") && !strings.HasPrefix(s.text[at:], "sshpass"):
				// mysql -p asks; what follows is the database.
			case strings.HasPrefix(flag, "-b") || strings.HasPrefix(flag, "-nb") || flag == "-cb":
				if last := fields[len(fields)-1]; len(fields)-i > 2 {
					s.argument(last.from, Password)
				}
			case o.user:
				s.userPassword(value, fields)
			case s.at(value) != '-' && s.at(value) != '/':
				s.argument(value, Password)
			}
		}
	}
	return end
}

// userPassword removes what follows the colon of user:password.
func (s *scan) userPassword(p int, fields []field) {
	end := p
	for _, f := range fields {
		if f.from <= p && p < f.to {
			end = f.to
		}
	}
	v := s.text[p:end]
	i := strings.IndexByte(v, ':')
	if i < 0 || i+1 >= len(v) {
		return
	}
	from, to := p+i+1, end
	if isQuote(v[0]) && v[len(v)-1] == v[0] {
		to--
	}
	if !s.harmless(s.text[from:to], Password, v[0] != '\'') {
		s.add(from, to, Password)
	}
}

// fed removes what echo and printf hand to a command that takes a password from
// its input, and what a here-string does.
func (s *scan) fed(from, at int) {
	first, eol := s.logical(at)
	from = max(from, first)
	for i := from; i < at; {
		j := strings.Index(s.text[i:at], "echo")
		n := 4
		if k := strings.Index(s.text[i:at], "printf"); k >= 0 && (j < 0 || k < j) {
			j, n = k, 6
		}
		if j < 0 {
			break
		}
		i += j + n
		if s.alone(i-n, i) {
			s.echoed(i, at)
		}
	}
	if i := strings.Index(s.text[at:min(eol, at+256)], "<<<"); i >= 0 {
		s.value(s.blanks(at+i+3), Password, 0)
	}
}

// echoed removes the words of an echo that begin at p, up to a pipe or limit.
func (s *scan) echoed(p, limit int) {
	if p < s.echoedUntil {
		return
	}
	for _, f := range s.fields(p) {
		if f.from >= limit {
			return
		}
		s.echoedUntil = f.to
		word := s.text[f.from:f.to]
		if word[0] == '>' || word == "1>" {
			return
		}
		if word[0] == '-' && len(word) <= 3 || strings.HasPrefix(unquote(word), "%s") && len(unquote(word)) <= 6 {
			continue
		}
		from, to := f.from, f.to
		if isQuote(word[0]) && len(word) > 1 && word[len(word)-1] == word[0] {
			from, to = from+1, to-1
		}
		if !s.harmless(s.text[from:to], Password, word[0] != '\'') {
			s.add(from, to, Password)
		}
	}
}

// written removes what an echo writes into a file with a secret-like name.
func (s *scan) written(at, end int) {
	if !s.alone(at, end) {
		return
	}
	eol := min(s.lineEnd(at), at+512)
	line := s.text[end:eol]
	if !hasAny(line, ">", "tee ") {
		return
	}
	if k := s.target(end, eol); k != "" {
		s.echoed(end, eol)
	}
}

// target is the kind of the secret-like file that a command writes to, if any.
func (s *scan) target(from, to int) Kind {
	for i := from; i < to; i++ {
		p := 0
		switch {
		case s.text[i] == '>' && s.at(i+1) != '&':
			p = i + 1
			if s.at(p) == '>' || s.at(p) == '|' {
				p++
			}
		case s.text[i] == 't' && strings.HasPrefix(s.text[i:to], "tee ") && !isName(s.at(i-1)):
			p = i + 4
		case s.text[i] == 'o' && strings.HasPrefix(s.text[i:to], "of="):
			p = i + 3
		default:
			continue
		}
		p = s.blanks(p)
		for s.at(p) == '-' {
			p = s.blanks(s.word(p))
		}
		if end := min(s.word(p), to); p < end {
			if k := secretFile(strings.Trim(s.text[p:end], `"';)`)); k != "" {
				return k
			}
		}
		i = max(i, p-1)
	}
	return ""
}

// secureString removes the text that PowerShell's ConvertTo-SecureString is given.
func (s *scan) secureString(at int) {
	eol := s.lineEnd(at)
	p := s.blanks(s.nameEnd(at))
	for s.at(p) == '-' {
		flag := s.nameEnd(p)
		if low := s.lower[p:flag]; low == "-string" {
			p = s.blanks(flag)
			break
		}
		p = s.blanks(flag)
	}
	if p < eol && s.at(p) != '$' && s.at(p) != '(' && s.at(p) != ')' && s.at(p) != '|' {
		s.value(p, Password, s.quoteBefore(p))
	}
	// 'x' | ConvertTo-SecureString
	if before := strings.TrimRight(s.text[s.lineStart(at):at], " "); strings.HasSuffix(before, "|") {
		start := s.lineStart(at)
		for i := max(start, at-512); i < at; i++ {
			if c := s.text[i]; c == '"' || c == '\'' {
				lit, _ := s.quoted(i)
				if lit.end <= at && !s.harmless(s.text[lit.from:lit.to], Password, !lit.raw) {
					s.add(lit.from, lit.to, Password)
				}
				i = max(i, lit.end-1)
			}
		}
	}
}

func (s *scan) nameEnd(i int) int {
	for i < len(s.text) && isName(s.text[i]) {
		i++
	}
	return i
}

// heredocs looks for documents that are fed to something secret-like.
func (s *scan) heredocs() {
	var at map[string][]int // the lines that could end one
	s.each("<<", func(i int) {
		if s.at(i+2) == '<' || s.at(i-1) == '<' {
			return
		}
		p := i + 2
		if s.at(p) == '-' {
			p++
		}
		p = s.blanks(p)
		word := p
		for word < len(s.text) && (isAlnum(s.text[word]) || strings.IndexByte(`_'"\`, s.text[word]) >= 0) {
			word++
		}
		tag := strings.Trim(s.text[p:word], `'"\`)
		if tag == "" || len(tag) > 64 {
			return
		}
		kind := s.consumer(i, word)
		if kind == "" {
			return
		}
		if at == nil {
			at = map[string][]int{}
			for line := range s.starts {
				if from, to := s.content(line); to-from <= 65 {
					text := strings.TrimRight(s.text[from:to], ")\"';")
					at[text] = append(at[text], line)
				}
			}
		}
		first := s.line(i)
		ends := at[tag]
		for len(ends) > 0 && ends[0] <= first {
			ends = ends[1:]
		}
		at[tag] = ends
		last := len(s.starts)
		if len(ends) > 0 {
			last = ends[0]
		}
		if last > first+1 {
			body := s.text[s.starts[first+1]:s.endOf(last-1)]
			if !certificate(body) {
				if rest, refs := dereference(body, true); !refs || len(strings.TrimSpace(rest)) > 3 {
					s.add(s.starts[first+1], s.endOf(last-1), kind)
				}
			}
		}
	})
}

// consumer is the kind of the secret that the command around a heredoc takes.
func (s *scan) consumer(at, word int) Kind {
	start, eol := max(s.lineStart(at), at-1024), min(s.lineEnd(at), at+1024)
	low := s.lower[start:eol]
	if hasAny(low, "chpasswd", "--password-stdin", "passwd --stdin") {
		return Password
	}
	if k := s.target(start, at); k != "" {
		return k
	}
	if k := s.target(word, eol); k != "" {
		return k
	}
	// NAME=$(cat <<EOF
	command := s.text[start:at]
	if i := max(strings.LastIndex(command, "=$("), strings.LastIndex(command, "=`"), strings.LastIndex(command, `="$(`)); i > 0 {
		from := i
		for from > 0 && isName(command[from-1]) {
			from--
		}
		if k := secretName(command[from:i]); k != "" {
			return k
		}
	}
	fields := strings.Fields(command)
	for i, f := range fields { // read -r -d '' NAME <<EOF
		if f == "read" || f == "mapfile" || f == "readarray" {
			for _, f := range fields[i+1:] {
				if k := secretName(f); k != "" {
					return k
				}
			}
		}
	}
	return ""
}
