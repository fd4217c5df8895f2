package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// prefixes begin tokens that show what they are: their characters follow, least of
// them at least.
var prefixes = []struct {
	prefix string
	least  int
	kind   Kind
}{
	{"k8s-aws-v1.", 16, EKSToken},
	{"IQoJb3JpZ2lu", 40, AWSSessionToken}, {"FwoGZXIvYXdz", 40, AWSSessionToken}, {"FQoGZXIvYXdz", 40, AWSSessionToken},
	{"ghp_", 16, GitHubToken}, {"gho_", 16, GitHubToken}, {"ghu_", 16, GitHubToken}, {"ghs_", 16, GitHubToken},
	{"ghr_", 16, GitHubToken}, {"github_pat_", 16, GitHubToken},
	{"glpat-", 12, GitLabToken}, {"gldt-", 12, GitLabToken}, {"glrt-", 12, GitLabToken}, {"glrtr-", 12, GitLabToken},
	{"glptt-", 12, GitLabToken}, {"glcbt-", 12, GitLabToken}, {"glsoat-", 12, GitLabToken}, {"glimt-", 12, GitLabToken},
	{"glagent-", 12, GitLabToken}, {"glft-", 12, GitLabToken}, {"gloas-", 12, GitLabToken}, {"GR1348941", 12, GitLabToken},
	{"xoxb-", 10, SlackToken}, {"xoxp-", 10, SlackToken}, {"xoxa-", 10, SlackToken}, {"xoxr-", 10, SlackToken},
	{"xoxs-", 10, SlackToken}, {"xoxe-", 10, SlackToken}, {"xoxe.", 10, SlackToken}, {"xapp-", 10, SlackToken},
	{"npm_", 30, NPMToken}, {"dckr_pat_", 16, DockerToken}, {"dckr_oat_", 16, DockerToken},
	{"pypi-AgEI", 16, APIToken}, {"AIza", 35, APIToken}, {"ya29.", 16, APIToken}, {"GOCSPX-", 16, APIToken},
	{"sk_live_", 16, APIToken}, {"sk_test_", 16, APIToken}, {"rk_live_", 16, APIToken}, {"rk_test_", 16, APIToken}, {"whsec_", 16, APIToken},
	{"sk-ant-", 16, APIToken}, {"sk-proj-", 16, APIToken}, {"hf_", 30, APIToken},
	{"hvs.", 16, APIToken}, {"hvb.", 16, APIToken}, {"hvr.", 16, APIToken},
	{"dop_v1_", 32, APIToken}, {"doo_v1_", 32, APIToken}, {"glsa_", 24, APIToken}, {"glc_", 24, APIToken},
	{"tskey-", 12, APIToken}, {"NRAK-", 20, APIToken}, {"sntrys_", 20, APIToken}, {"sntryu_", 20, APIToken},
	{"rubygems_", 32, APIToken}, {"shpat_", 24, APIToken}, {"PMAK-", 24, APIToken}, {"ATATT3", 24, APIToken},
	{"lin_api_", 24, APIToken}, {"pul-", 32, APIToken}, {"fo1_", 24, APIToken}, {"dapi", 32, APIToken},
	{"AGE-SECRET-KEY-1", 20, PrivateKey}, {"SWMTKN-1-", 20, APIToken}, {"K10", 64, APIToken},
}

// byFirst are the prefixes by their first character.
var byFirst = func() (table [128][]int) {
	for i, p := range prefixes {
		table[p.prefix[0]] = append(table[p.prefix[0]], i)
	}
	return table
}()

func isToken(c byte) bool {
	return isAlnum(c) || strings.IndexByte("_-./+=~", c) >= 0
}

// tokenEnd is where a token's characters end, without a sentence's full stop.
func (s *scan) tokenEnd(i int) int {
	for i < len(s.text) && isToken(s.text[i]) {
		i++
	}
	for i > 0 && s.text[i-1] == '.' {
		i--
	}
	return i
}

// tokens looks for what shows by its own form that it is a secret.
func (s *scan) tokens() {
	for i := 0; i < len(s.text); i++ {
		c := s.text[i]
		switch {
		case c == '.':
			s.bootstrap(i)
			continue
		case c == '$':
			i = max(i, s.hash(i)-1)
			continue
		case !isAlnum(c):
			continue
		}
		prev := s.at(i - 1)
		if escape := s.at(i-2) == '\\' && (prev == 'n' || prev == 'r' || prev == 't'); isAlnum(prev) && !escape {
			continue
		}
		switch c {
		case 'A':
			if end := s.accessKeyID(i); end > 0 {
				s.add(i, end, AccessKeyID)
				i = end - 1
				continue
			}
		case 'e':
			if end := s.jwt(i); end > 0 {
				s.add(i, end, JWT)
				i = end - 1
				continue
			}
		case 'S':
			if end := s.tokenEnd(i); end-i > 60 && strings.HasPrefix(s.text[i:], "SG.") && strings.Count(s.text[i:end], ".") == 2 {
				s.add(i, end, APIToken)
				i = end - 1
				continue
			}
		}
		for _, n := range byFirst[c] {
			p := prefixes[n]
			if !strings.HasPrefix(s.text[i:], p.prefix) {
				continue
			}
			end := s.tokenEnd(i)
			if p.prefix == "K10" {
				end = s.clusterToken(i)
			}
			if end-i >= len(p.prefix)+p.least {
				s.add(i, end, p.kind)
				i = end - 1
				break
			}
		}
	}
}

// accessKeyID is the end of the access key id that begins at i, or 0. The ids of
// users and roles (AIDA, AROA) are no secrets.
func (s *scan) accessKeyID(i int) int {
	if i+20 > len(s.text) {
		return 0
	}
	switch s.text[i : i+4] {
	case "AKIA", "ASIA", "ABIA", "ACCA":
	default:
		return 0
	}
	for _, c := range []byte(s.text[i+4 : i+20]) {
		if !isUpper(c) && !isDigit(c) {
			return 0
		}
	}
	if isAlnum(s.at(i + 20)) {
		return 0
	}
	return i + 20
}

// jwt is the end of the JSON web token (or an encrypted one) at i, or 0.
func (s *scan) jwt(i int) int {
	if !strings.HasPrefix(s.text[i:], "eyJ") {
		return 0
	}
	end, dots := i, 0
	for end < len(s.text) && (isAlnum(s.text[end]) || s.text[end] == '-' || s.text[end] == '_' || s.text[end] == '.' || s.text[end] == '=') {
		if s.text[end] == '.' {
			dots++
		}
		end++
	}
	if dots < 1 || end-i < 24 {
		return 0
	}
	return end
}

// clusterToken is the end of a k3s or RKE2 token: a checksum, "::", a user and a
// password.
func (s *scan) clusterToken(i int) int {
	end := s.tokenEnd(i)
	if !strings.HasPrefix(s.text[end:], "::") {
		return i
	}
	for end < len(s.text) && (isToken(s.text[end]) || s.text[end] == ':') {
		end++
	}
	return end
}

// bootstrap judges the six and sixteen characters around the dot of a bootstrap token.
func (s *scan) bootstrap(dot int) {
	from, to := dot-6, dot+17
	if from < 0 || to > len(s.text) {
		return
	}
	digits := 0
	for i := from; i < to; i++ {
		switch c := s.text[i]; {
		case i == dot:
		case isDigit(c):
			if i > dot {
				digits++
			}
		case !isLower(c):
			return
		}
	}
	before, after := s.at(from-1), s.at(to)
	escape := s.at(from-2) == '\\' && before == 'n'
	if isName(before) && !escape || isAlnum(after) || after == '_' || after == '-' || after == '.' && isAlnum(s.at(to+1)) || digits == 0 {
		return
	}
	s.add(from, to, BootstrapToken)
}

// hash judges a password as crypt(3) stores it: $id$salt$hash.
func (s *scan) hash(i int) int {
	end := strings.IndexByte(s.text[i+1:min(len(s.text), i+14)], '$')
	if end < 1 {
		return i
	}
	switch s.lower[i+1 : i+1+end] {
	case "1", "5", "6", "7", "y", "gy", "2a", "2b", "2y", "apr1", "argon2id", "argon2i", "argon2d", "scrypt", "pbkdf2", "sha1":
	default:
		return i
	}
	j := i + 2 + end
	for j < len(s.text) && (isAlnum(s.text[j]) || strings.IndexByte("./$=,+-_", s.text[j]) >= 0) {
		j++
	}
	if j-i < 24 {
		return i
	}
	s.add(i, j, PasswordHash)
	return j
}

// headers looks for what HTTP's Authorization has, with its name and without.
func (s *scan) headers() {
	s.each("bearer", func(at int) { s.scheme(at, at+len("bearer")) })
	s.each("basic", func(at int) { s.scheme(at, at+len("basic")) })
	done := 0
	s.each("authorization", func(at int) {
		if at < done {
			return
		}
		end := at + len("authorization")
		if isName(s.at(end)) || isAlnum(s.at(at-1)) {
			return
		}
		o := occurrence{kind: Authorization, name: "authorization", start: at, end: end}
		for s.at(end) == '\\' || isQuote(s.at(end)) {
			o.closed = true
			end++
		}
		o.outer = s.quoteBefore(at)
		if o.closed && o.outer == s.at(end-1) {
			o.outer = 0
		}
		p := s.blanks(end)
		if s.at(p) == ']' {
			p = s.blanks(p + 1)
		}
		if c := s.at(p); c != ':' && c != '=' || s.at(p+1) == '=' {
			return
		}
		p = s.blanks(p + 1)
		if lit, ok := s.quoted(p); ok && s.at(p) != o.outer {
			done = s.credentials(lit.from, func() int { return min(lit.to, s.lineEnd(p)) })
			return
		}
		if o.closed || strings.HasSuffix(strings.TrimRight(s.text[s.lineStart(at):at], " "), "{") {
			done = s.credentials(p, func() int { return s.flowEnd(p, o.outer) })
			return
		}
		done = s.credentials(p, func() int { return s.outerEnd(p, o.outer) })
	})
}

// credentials judges the value of an Authorization header, but for its scheme, and
// gives the end of what it removed, or 0. The end is asked for only if the first
// word is not one of running text.
func (s *scan) credentials(from int, end func() int) int {
	word := from
	for word < len(s.text) && !isSpace(s.text[word]) && !isQuote(s.text[word]) && word-from < maxName {
		word++
	}
	switch asciiLower(s.text[from:word]) {
	case "bearer", "basic", "token", "apikey", "digest", "negotiate", "ntlm", "aws4-hmac-sha256", "key", "splunk":
		next := s.blanks(word)
		if next == word {
			return 0
		}
		if to := end(); next < to && !s.harmless(s.text[next:to], Password, true) {
			s.add(next, to, Authorization)
			return to
		}
		return 0
	}
	if wordy(strings.TrimRight(s.text[from:word], ".,;:")) {
		return 0
	}
	to := end()
	if to <= from || s.harmless(s.text[from:to], Authorization, true) {
		return 0
	}
	s.add(from, to, Authorization)
	return to
}

// scheme judges the word after "Bearer" or "Basic" anywhere.
func (s *scan) scheme(from, end int) {
	p := s.blanks(end)
	if isAlnum(s.at(from-1)) || p == end || p >= len(s.text) {
		return
	}
	to := p
	for to < len(s.text) && isToken(s.text[to]) {
		to++
	}
	for to > p && s.text[to-1] == '.' {
		to--
	}
	v := s.text[p:to]
	if len(v) < 8 || wordy(v) || s.harmless(v, Password, true) {
		return
	}
	if end-from == len("basic") {
		plain, err := base64.StdEncoding.DecodeString(v)
		if err != nil || !utf8.Valid(plain) || !strings.Contains(string(plain), ":") {
			return
		}
	} else if _, _, digit, _ := classes(v); digit == 0 && len(v) < 20 {
		return
	}
	s.add(p, to, Authorization)
}

// urls looks for passwords in URLs, and for URLs that are secrets themselves.
func (s *scan) urls() {
	s.each("hooks.slack.com/", func(at int) { s.path(at, "hooks.slack.com/", SlackToken) })
	s.each("discord.com/api/webhooks/", func(at int) { s.path(at, "discord.com/api/webhooks/", APIToken) })
	s.each("://", func(at int) {
		if !isAlnum(s.at(at - 1)) {
			return
		}
		from, to, last, slash := at+3, at+3, -1, -1
		for ; to < len(s.text); to++ {
			c := s.text[to]
			if n := noteAt(s.text, to); n > 0 {
				to += n - 1
				continue
			}
			if c == '$' && (s.at(to+1) == '(' || s.at(to+1) == '{') {
				to = s.closing(to+1, s.lineEnd(to)) - 1
				continue
			}
			if isSpace(c) || isQuote(c) || c == '<' || c == '>' || to-from > maxNesting {
				break
			}
			if c == ':' && strings.HasPrefix(s.text[to:], "://") {
				break
			}
			if (c == '/' || c == '?' || c == '#') && slash < 0 {
				slash = to
			}
			if c == '@' {
				last = to
			}
		}
		if last < 0 {
			return
		}
		colon := colonIn(s.text[from:last])
		if slash >= 0 && last > slash {
			// A password may have a slash in it that nobody escaped; a port may not.
			if colon < 0 || from+colon > slash || number(s.text[from+colon+1:slash]) {
				if last = strings.LastIndexByte(s.text[from:slash], '@'); last < 0 {
					return
				}
				last += from
				colon = colonIn(s.text[from:last])
			}
		}
		if colon < 0 {
			if user := s.text[from:last]; random(user) && !s.harmless(user, Password, true) {
				s.add(from, last, URLPassword)
			}
			return
		}
		if !s.harmless(s.text[from+colon+1:last], Password, true) {
			s.add(from+colon+1, last, URLPassword)
		}
	})
	s.each("@tcp(", func(at int) { // root:password@tcp(db:3306)/
		from := at
		for from > 0 && at-from < maxName && !isSpace(s.text[from-1]) && !isQuote(s.text[from-1]) && s.text[from-1] != '=' {
			from--
		}
		if i := strings.IndexByte(s.text[from:at], ':'); i >= 0 && !s.harmless(s.text[from+i+1:at], Password, true) {
			s.add(from+i+1, at, URLPassword)
		}
	})
}

// colonIn is the place of the first colon outside of notes, or -1.
func colonIn(v string) int {
	for i := 0; i < len(v); i++ {
		if n := noteAt(v, i); n > 0 {
			i += n - 1
		} else if v[i] == ':' {
			return i
		}
	}
	return -1
}

// path removes what follows an address in which the path is the secret.
func (s *scan) path(at int, address string, kind Kind) {
	if end := s.tokenEnd(at); end-at > len(address)+16 {
		s.add(at+len(address), end, kind)
	}
}
