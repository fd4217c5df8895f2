package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// form is the form of a secret by itself, or in the command that takes it. The first group of the
// pattern is the secret.
type form struct {
	kind    Kind
	needles []string // every matching text contains one of them, in lower case
	pattern *pattern.Pattern
	ok      func(v string) bool // nil: any value that is not harmless
}

const (
	// begin matches the beginning of a word, also after an escaped line break.
	begin = `(?:\b|\\[nrt])`
	// args matches arguments of a command, on lines joined by backslashes.
	args = "(?:[^\\n|;]|[\\\\`]\\r?\\n)*?\\s"
	// typed are the needles of commands that read a password from their input.
	typed = "passwd --password-stdin --with-token realm adcli kinit sudo configure secret cryptsetup --passphrase-fd"
	// readers matches those of them, of any options, that read it always.
	readers = `\b(?:chpasswd|passwd|realm|adcli|kinit)\b|\bcryptsetup\b|--password-stdin|--passphrase-fd|--with-token|\baws\s+configure\b|\bsecret\s+create\b`
	// scheme matches the scheme of a header with credentials.
	scheme = `(?:bearer|basic|token|apikey|digest|negotiate|ntlm|aws4-hmac-sha256|key|splunk)[ \t]+`
	// curlFlags matches a word of curl's flags, of which all but the last take no argument: -sSLu.
	// https://curl.se/docs/manpage.html
	curlFlags = `-(?-i:[0-9aBfgGiIjJklLMnNOpqRsSvVZ#]*)`
	// rest matches the rest of such a line, without a quote before it.
	rest = `["']?((?:\\\r?\n|[^\n])+)`
)

func anything(string) bool { return true }

// token returns a form for words with a known prefix.
func token(kind Kind, needles, prefix, tail string) form {
	return form{kind, strings.Fields(needles), pattern.New(begin + `(` + prefix + tail + `)`), anything}
}

func command(needles, said string) form {
	return form{Password, strings.Fields(needles), pattern.New(`(?i)` + said), nil}
}

var forms = []form{
	token(AccessKeyID, "akia asia abia acca", `(?:AKIA|ASIA|ABIA|ACCA)`, `[A-Z0-9]{16}\b`),
	token(EKSToken, "k8s-aws-v1.", `k8s-aws-v1\.`, `[\w=-]{16,}`),
	token(AWSSessionToken, "jb3jpz2lu ogzxivyxdz", `(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)`, `[\w+/=-]{28,}`),
	token(JWT, "eyj", `eyJ[\w=-]*\.`, `[\w.=-]{12,}`),
	token(GitHubToken, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `(?:gh[pousr]_|github_pat_)`, `\w{16,}`),
	token(GitLabToken, "glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- glimt- glagent- glft- gloas- gr1348941", `(?:gl(?:pat|dt|rt|rtr|ptt|cbt|soat|imt|agent|ft|oas)-|GR1348941)`, `[\w.-]{12,}`),
	token(SlackToken, "xox xapp-", `(?:xox[bpars]-|xoxe[.-]|xapp-)`, `[\w-]{10,}`),
	token(NPMToken, "npm_", `npm_`, `\w{30,}`),
	token(DockerToken, "dckr_", `dckr_[po]at_`, `[\w-]{16,}`),
	token(APIToken, "k_live_ k_test_ whsec_ sk-ant- sk-proj- hvs. hvb. hvr. pypi- ya29. gocspx- tskey- nrak- sntry swmtkn", `(?:[sr]k_(?:live|test)_|whsec_|sk-(?:ant|proj)-|hv[sbr]\.|pypi-AgEI|ya29\.|GOCSPX-|tskey-|NRAK-|sntry[su]_|SWMTKN-1-)`, `[\w./+=~-]{12,}`),
	token(APIToken, "aiza hf_ _v1_ glsa_ glc_ rubygems_ shpat_ pmak- atatt3 lin_api_ pul- fo1_ dapi", `(?:AIza|hf_|do[op]_v1_|gls?[ac]_|rubygems_|shpat_|PMAK-|ATATT3|lin_api_|pul-|fo1_|dapi)`, `[\w./+=~-]{24,}`),
	token(APIToken, "sg. k10", `(?:SG\.[\w-]{16,}\.|K10[\w.-]{48,}::)`, `[\w:.-]{16,}`),
	// Of agents and clients that are installed on nodes. The prefixes are those of https://github.com/gitleaks/gitleaks.
	token(APIToken, "akcp cmvm absk bedrock-api-key- ops_eyj hrku- pplx- dor_v1_", `(?:AKCp|cmVmd|ABSK|bedrock-api-key-|ops_eyJ|HRKU-|pplx-|dor_v1_)`, `[\w+/=-]{24,}`),
	token(APIToken, "dt0 dp. sgp_ k_prod_ sk-svcacct- sk-admin- glffct- api_org_ xkeysib- shp sha256~", `(?:dt0[a-z]\d\d\.|dp\.(?:pt|st|ct|sa|scim|audit)\.|sgp_|[sr]k_prod_|sk-(?:svcacct|admin)-|glffct-|api_org_|xkeysib-|shp(?:ca|pa|ss)_|sha256~)`, `[\w.-]{16,}`),
	{APIToken, []string{".atlasv1."}, pattern.New(begin + `([\w-]{8,}\.atlasv1\.[\w=-]{40,})`), anything}, // Terraform Cloud
	{APIToken, []string{"q~"}, pattern.New(`([\w.~-]{3}\dQ~[\w.~-]{31,})`), anything},                     // Entra ID
	token(PrivateKey, "age-secret-key-1", `AGE-SECRET-KEY-1`, `\w{20,}`),
	{SlackToken, []string{"hooks.slack.com/"}, pattern.New(`(?i)hooks\.slack\.com/([\w/-]{17,})`), anything},
	{APIToken, []string{"webhooks/"}, pattern.New(`(?i)discord\.com/api/webhooks/([\w/-]{17,})`), anything},
	{APIToken, []string{"/webhookb2/"}, pattern.New(`(?i)/webhookb2/([\w@/-]{17,})`), anything},
	{APIKey, []string{"sig="}, pattern.New(`[?&;]sig=([\w%+/=-]{16,})`), anything},
	{APIKey, []string{"-key", "-api"}, pattern.New(`(?i)\bx-(?:[a-z]+-)+(?:key|api)["']?[ \t]*[:=][ \t]*["']?([^\s"']{8,})`), nil},
	{Token, []string{"token:"}, pattern.New(`(?i)["']token:([^\s"']{8,})["']`), nil},
	{Secret, []string{"secret_id", "secretid"}, pattern.New(`(?i)\bsecret_?id["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{8}-[0-9a-f-]{27})`), anything}, // Vault's is a password
	// Keys of gossip have 16, 24 or 32 bytes: https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file/encryption
	{Secret, []string{"encrypt"}, pattern.New(`\bencrypt["']?[ \t]*(?:[:=][ \t]*|[ \t]+)\\*["']?([A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{43}=)(?:[^\w+/=]|$)`), func(v string) bool {
		return strings.HasSuffix(v, "=") || random(v)
	}},
	// https://docs.strongswan.org/docs/latest/config/IpsecSecrets.html
	{Secret, []string{"psk", "xauth", "eap", "ntlm"}, pattern.New(`(?i):[ \t]*(?:psk|xauth|eap|ntlm)[ \t]+(?:\\*"([^"\n\\]+)|\\*'([^'\n\\]+)|(0[sx][\w+/=]{4,}))`), anything},
	{PasswordHash, []string{"$1$", "$5$", "$6$", "$7$", "y$", "$2", "$apr1", "$argon2", "$scrypt", "$pbkdf2", "$sha1"}, pattern.New(`(\$(?i:1|5|6|7|g?y|2[aby]|apr1|argon2[a-z]+|scrypt|pbkdf2|sha1)\$[\w./$=,+-]{20,})`), anything},

	{URLPassword, []string{"@"}, pattern.New("://[^\\s:/@\"'<>`]*:([^\\s\"'<>`]+)@"), func(v string) bool {
		host, _, path := strings.Cut(v, "/")
		return !harmless(v, Password, true) && (!path || !numeral.MatchString(host)) // host:port/path@version
	}},
	{URLPassword, []string{"@"}, pattern.New("://([\\w.~%=+-]{16,})(?::[^\\s/@\"'<>`]*)?@"), random}, // a token in place of the user
	// Clients accept the address of a proxy without http:// before it. What follows the host tells it from an image's digest.
	{URLPassword, []string{"proxy"}, pattern.New(`(?i)proxy[\w.-]*["'\\\]]*(?:[ \t]*[=:,][ \t]*|[ \t]+)["'\\]*[^\s/:@"'=,]+:([^\s"'<>/@][^\s"'<>]*)@[\w.-]+(?::\d{1,5}\b|[/"'\s,;\\]|$)`), func(v string) bool {
		return !harmless(v, Password, true)
	}},
	{URLPassword, []string{"@tcp("}, pattern.New(`[^\s'"=/:]*:([^\s'"]+)@tcp\(`), nil},

	{Authorization, []string{"authorization"}, pattern.New(`(?i)\bauthorization["'\\\]]*[ \t]*[:=][ \t]*["'\\]*(?:` + scheme + `["'\\]+([\w$%{][^\s"'\\]*)|(?:` + scheme + `)?([^"'\s\\][^"'\n]*))`), func(v string) bool {
		word, _, _ := strings.Cut(v, " ")
		return !harmless(v, Authorization, true) && !wordy(strings.TrimRight(word, ".,;:"))
	}},
	{Authorization, []string{"bearer"}, pattern.New(`(?i)\bbearer[ \t]+([\w./+=~-]{8,})`), func(v string) bool {
		return !wordy(strings.Trim(v, ".")) && (len(v) >= 20 || strings.ContainsAny(v, "0123456789"))
	}},
	{Authorization, []string{"basic"}, pattern.New(`(?i)\bbasic[ \t]+([\w./+=~-]{8,})`), func(v string) bool {
		plain, err := base64.StdEncoding.DecodeString(v)
		return err == nil && strings.Contains(string(plain), ":")
	}},

	command("curl ctr", `\b(?:curl|ctr)\b`+args+`(?:`+curlFlags+`u|--user|--proxy-user)[ =]?\s*(?:["'\\]*([^\s:"'\\]{8,}):["'\\]*(?:\s|$)|\\*"[^":\n]*:([^"\n]+)|\\*'[^':\n]*:([^'\n]+)|["']?[^\s:"']*["']?:(?:"([^"\n]+)|'([^'\n]+)|([^\s"']+)))`),
	command("curl", `\bcurl\b`+args+`(?:(?:`+curlFlags+`b|--cookie)[ =]?\s*["']?([^\s"'=]+=[^"'\n]+)|(?:`+curlFlags+`x|--preproxy)[ =]?\s*["']?[^\s/:@"']+:([^\s"'/@][^\s"']*)@)`),
	command("mysql mariadb sqlcmd bcp", `\b(?:mysql\w*|mariadb|sqlcmd|bcp)\b`+args+`-p(["']?[^\s-]\S*)`),
	command("sshpass", `\bsshpass\b`+args+`-p\s*(\S+)`),
	command("login", `\b(?:docker|podman|nerdctl|helm|oras|az|crane)\b[^\n|;]*\slogin\b`+args+`-p\s*`+rest),
	command("useradd usermod adduser", `\b(?:useradd|usermod|adduser)\b`+args+`-p\s*`+rest),
	command("redis-cli", `\bredis-cli\b`+args+`-a\s+`+rest),
	command("ldap ipa-client-install", `\b(?:ldap(?:search|modify|add)|ipa-client-install)\b`+args+`(?-i:-w)\s*`+rest),
	command("mongo", `\bmongo\w*\b`+args+`-p\s+`+rest),
	command("zip", `\b(?:un)?zip\b`+args+`(?-i:-P)\s*`+rest),
	command("7z", `\b7z\w?\b`+args+`-p(\S+)`),
	command("openssl", `\bopenssl\b`+args+`-k\s+`+rest),
	command("lftp", `\blftp\b`+args+`-u\s*["']?[^\s,]*,(\S+)`),
	command("sqlplus", `\bsqlplus\b[^\n|;/]*\s[^\s/]+/([^\s@"'/]+)@`),
	command("%", `\b(?:net|smbclient)\b`+args+`-U\s*["']?[^\s%"']*%`+rest),
	{Password, []string{"mc ", "mc\t"}, pattern.New(`(?i)\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+\S+\s+` + rest), nil},
	command("wpa_passphrase", `\bwpa_passphrase\s+\S+\s+`+rest),
	command("community", `\br[ow]community6?\s+(\S+)`),
	command("falconctl", `\bfalconctl\b`+args+`--cid[= ]\s*(\S+)`),
	command("attach", `\b(?:pro|ua)\s+attach\s+([^\s-]\S*)`),
	command("suseconnect", `\bsuseconnect\b`+args+`-r\s+`+rest),
	command("activationid", `\bactivationid=(\S+)`),
	command("secret_access_key", `\bsecret_access_key\s+["']?([\w/+]{16,})`),
	command("amazon-ssm-agent", `\bamazon-ssm-agent\b`+args+`-code\s+`+rest),
	command("htpasswd", `\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+`+rest),
	{Password, []string{" user", "\tuser"}, pattern.New(`(?i)\bnet(?:\.exe)?\s+user\s+[^\s/]+\s+([^\s/]\S*)`), nil},
	// The password of net use stands after the share or at the end. https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2012-r2-and-2012/gg651155(v=ws.11)
	{Password, []string{"net use", "net.exe use"}, pattern.New(`(?i)\bnet(?:\.exe)? use[ \t][^\n]*\\\\[^\s]+[ \t]+([^\s/*&|<>]\S*)`), nil},
	{Password, []string{"net use", "net.exe use"}, pattern.New(`(?i)\bnet(?:\.exe)? use[ \t][^\n]*[ \t]/user:\S+[ \t]+([^\s/*&|<>]\S*)`), nil},
	command("schtasks", `\bschtasks\b[^\n|]*\s/rp\s+(\S+)`),
	command("vault", `\bvault\s+(?:login|(?:operator\s+)?unseal)\s+([^\s-]\S*)`),
	command("vault", `\bvault\s+kv\s+(?:put|patch)\b`+args+`[\w.-]+=`+rest),
	command("--from-literal", `\bcreate\s+secret\b`+args+`--from-literal[= ]["']?[^\s=]+=`+rest),
	command("identified", `\bidentified\s+(?:with\s+\S+\s+)?by\s+`+rest),
	command("password(", `\bpassword\(\s*\\*["']([^"'\n\\]+)`),
	command("mysqladmin", `\bmysqladmin\b`+args+`password\s+`+rest),
	command("rabbitmqctl", `\brabbitmqctl\b`+args+`(?:add_user|change_password|authenticate_user)\s+\S+\s+`+rest),
	command("createuser", `\bcreateuser\s+(?:-e\s+\S+\s+)?\S+\s+(?:md5|sha\S*)\s+`+rest),
	command("com2sec", `\bcom2sec6?\s+(?:-cn\s+\S+\s+)?\S+\s+\S+\s+(\S+)`),
	command("cloudflared", `\bcloudflared\b`+args+`service\s+install\s+(\S+)`),
	command("windowssensor falconsensor", `\b(?:windows|falcon)sensor[^\n]*\scid=(\S+)`),
	command("pass:", `\s-\w+\s+["']?pass:(\S+)`),
	command("securestring", `\bconvertto-securestring\s+([^\n]*["'][^\n]+)`),
	command("securestring", `("[^"\n]+"|'[^'\n]+')\s*\|\s*convertto-securestring`),
	command("securestring", `\bsecurestring\b`+args+`--value[ =]\s*`+rest),
	// PowerShell takes a word without quotes for a text.
	command("securestring", `\bconvertto-securestring(?:[ \t]+-(?:asplaintext|force|string))*[ \t]+([^\s"'$(@)|;&-][^\s)]*)`),
	command("networkcredential", `\bnetworkcredential\(`+rest),
	// What a shell prints into the file that a program reads its password from.
	command("<(", `(?:\bcryptsetup\b|pass\w*-f(?:ile|d)\b|key-?file\b)[^\n]*<\(\s*(?:echo|printf)\s([^)\n]+)\)`),
	command(typed, `(?:`+readers+`)[^\n]*<<<\s*`+rest),
	command(typed, `\b(?:echo|printf)\b((?:[^\n|]|\\\r?\n)+)\|\s*(?:\\\r?\n|[^\n])*(?:`+readers+`|\bsudo\s+-S\b)`),
}

// forms finds secrets by their own form.
func (s *scan) forms() {
	s.each(".", s.dotted)
	var lines []int
	for i := range forms {
		f := &forms[i]
		if i == 0 || !slices.Equal(f.needles, forms[i-1].needles) {
			lines = s.linesWith(f.needles)
		}
		s.near(lines, func(at, end int) {
			for _, m := range f.pattern.FindAllStringSubmatchIndex(s.text[at:end], -1) {
				from, to := group(m)
				from, to = at+from, at+to
				v := s.text[from:to]
				if f.ok == nil && !harmless(v, Password, true) || f.ok != nil && f.ok(v) {
					s.add(from, to, f.kind)
				}
			}
		})
		if f.kind == Password && f.ok == nil { // a command
			s.inLists(lines, f)
		}
	}
}

// registry removes the value that reg add writes under a secret-like name.
// https://learn.microsoft.com/windows-server/administration/windows-commands/reg-add
func (s *scan) registry() {
	s.near(s.linesWith([]string{"reg add", "reg.exe add"}), func(at, end int) {
		for _, m := range regAdd.FindAllStringIndex(s.text[at:end], -1) {
			from, line := at+m[0], s.text[at+m[0]:at+m[1]]
			name, data := regName.FindStringSubmatch(line), regData.FindStringSubmatchIndex(line)
			if name == nil || data == nil {
				continue
			}
			if kind := secretName(name[1]); kind != "" && !harmless(line[data[2]:data[3]], kind, true) {
				s.add(from+data[2], from+data[3], kind)
			}
		}
	})
}

var (
	regAdd  = pattern.New(`(?i)\breg(?:\.exe)? add\s[^\n]*`)
	regName = pattern.New(`(?i)\s/v\s+["']?([\w .-]+)`)
	regData = pattern.New(`(?i)\s/d\s+("[^"]*"|'[^']*'|\S+)`)
)

// substitutions removes what sed puts in the place of a placeholder with a secret-like name: s|__DB_PASSWORD__|...|.
// The value of an assignment is found by its name.
func (s *scan) substitutions() {
	s.near(s.linesWith([]string{"sed "}), func(at, end int) {
		if !sedWord.MatchString(s.text[at:end]) {
			return // such as "based on"
		}
		for i := range filled {
			for _, m := range filled[i].FindAllStringSubmatchIndex(s.text[at:end], -1) {
				name, value := strings.Trim(s.text[at+m[2]:at+m[3]], "-._"), s.text[at+m[4]:at+m[5]]
				if kind := secretName(name); kind != "" && !strings.HasPrefix(asciiLower(value), asciiLower(name)) && !harmless(value, kind, true) {
					s.add(at+m[4], at+m[5], kind)
				}
			}
		}
	})
}

var sedWord = pattern.New(`\bsed\s`)

// filled match sed's command s with a name as its pattern, each with another sign between its parts.
var filled = roll.Map(strings.Split("/|#@,~:%!", ""), func(sign string) *pattern.Pattern {
	q := regexp.QuoteMeta(sign)
	return pattern.New(`\bs` + q + `[^\w\n` + q + `]*([\w.-]+)[^\w\n` + q + `]*` + q + `([^\n` + q + `]+)` + q)
})

// group returns the first group that matched.
func group(m []int) (from, to int) {
	for i := 2; ; i += 2 {
		if m[i] >= 0 {
			return m[i], m[i+1]
		}
	}
}

// linesWith returns the lines with one of these, in order. Patterns are slow, and most lines have no needle.
func (s *scan) linesWith(needles []string) (lines []int) {
	for _, needle := range needles {
		s.each(needle, func(at int) { lines = append(lines, s.line(at)) })
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// near calls f with the parts of the text in which a form can match: the lines with one of its needles, those joined to
// them, and one more on each side, because white space in a pattern may be a line break.
func (s *scan) near(lines []int, f func(from, to int)) {
	first, core, last := -1, -1, -1 // the part, and where the lines of its last needle end
	for _, line := range lines {
		if line <= core {
			continue
		}
		from := line
		for from > 0 && from > last && s.joins(from-1) {
			from--
		}
		from = max(from-1, 0)
		core = s.lastJoined(line)
		switch {
		case first < 0:
			first = from
		case from > last:
			f(s.starts[first], s.endOf(last))
			first = from
		}
		last = s.lastJoined(min(core+1, len(s.starts)-1))
	}
	if first >= 0 {
		f(s.starts[first], s.endOf(last))
	}
}

// dotted checks for a token that no needle announces: a bootstrap token has six characters before a dot and sixteen
// after it, one of Vault before 1.10 has "s" and twenty-four.
func (s *scan) dotted(dot int) {
	if end := dot + 25; s.at(dot-1) == 's' && end <= len(s.text) && s.begins(dot-1) && strings.Trim(s.text[dot+1:end], alnum) == "" &&
		!isAlnum(s.at(end)) && s.at(end) != '_' && random(s.text[dot-1:end]) {
		s.add(dot-1, end, APIToken)
	}
	from, to := dot-6, dot+17
	if from < 0 || to > len(s.text) || strings.Trim(s.text[from:dot], lowerDigits) != "" || strings.Trim(s.text[dot+1:to], lowerDigits) != "" {
		return
	}
	before, after := s.at(from-1), s.at(to)
	escape := s.at(from-2) == '\\' && before == 'n'
	if isName(before) && !escape || isAlnum(after) || after == '_' || after == '-' || after == '.' && isAlnum(s.at(to+1)) {
		return
	}
	if strings.ContainsAny(s.text[dot:to], "0123456789") {
		s.add(from, to, BootstrapToken)
	}
}

// begins reports whether a word begins at a position, also after an escaped line break.
func (s *scan) begins(at int) bool {
	before := s.at(at - 1)
	return !isAlnum(before) && before != '_' || s.at(at-2) == '\\' && strings.IndexByte("nrt", before) >= 0
}

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	alnum       = lowerDigits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// echoes removes what echo and printf write to a file with a secret-like name.
func (s *scan) echoes() {
	s.near(s.linesWith([]string{"echo ", "printf "}), func(at, end int) {
		for _, m := range echo.FindAllStringIndex(s.text[at:end], -1) {
			line := s.text[at+m[0] : at+m[1]]
			for _, file := range target.FindAllStringSubmatch(line, -1) {
				if k := secretFile(file[1]); k != "" {
					s.add(at+m[0]+len("echo"), at+m[1], k)
					break
				}
			}
		}
	})
}

var (
	echo    = pattern.New(`\b(?:echo|printf) [^\n]*`)
	target  = pattern.New(`(?:>[>|]?[ \t]*|\btee[ \t]+(?:-\w+[ \t]+)*|\bof=)["']?([^\s"';|)&]+)`)
	opener  = pattern.New(`<<-?[ \t]*["'\\]?(\w{1,64})`)
	nameRun = pattern.New(`[\w.-]+`)
)

// heredocs removes the documents passed to a line with a secret-like name, or to a command that
// takes passwords.
func (s *scan) heredocs() {
	done := 0
	s.each("<<", func(at int) {
		line := s.line(at)
		from, eol := s.starts[line], s.endOf(line)
		if at < done || s.at(at+2) == '<' || s.at(at-1) == '<' || eol-from > maxNesting {
			return
		}
		m := opener.FindStringSubmatch(s.text[at:eol])
		kind := s.consumer(s.text[from:eol])
		if m == nil || kind == "" {
			return
		}
		for line++; line < len(s.starts); line++ {
			f, t := s.content(line)
			if strings.TrimRight(s.text[f:t], ")\"';") == m[1] {
				break
			}
		}
		done = s.endOf(line - 1)
		s.add(eol, done, kind)
	})
}

// consumer returns the kind of secret that a command with a document takes.
func (s *scan) consumer(command string) Kind {
	if strings.Contains(command, "--password-stdin") || strings.Contains(command, "cryptsetup") {
		return Password
	}
	for _, m := range target.FindAllStringSubmatch(command, -1) {
		if k := secretFile(m[1]); k != "" {
			return k
		}
	}
	for _, name := range nameRun.FindAllString(command, -1) {
		if k := secretName(strings.TrimLeft(name, "-.")); k != "" {
			return k
		}
	}
	return ""
}

// tables removes TOML and INI tables with secret-like names. A table also ends with the document that it is in: at the
// end of a here-document or here-string, and where YAML continues further left.
func (s *scan) tables() {
	kind, start, indent := Kind(""), 0, 0
	var ends map[string]bool // of here-documents
	for line := range s.starts {
		from, to := s.content(line)
		text := s.text[from:to]
		head := text != "" && text[0] == '['
		left := text != "" && from-s.starts[line] < indent && !strings.Contains(text, "=")
		if kind != "" && (head || left || ends[text] || tableEnd.MatchString(text)) {
			s.add(start, s.starts[line], kind)
			kind = ""
		}
		if head && text[len(text)-1] == ']' && len(text) < 2*maxName && !strings.ContainsAny(text, ",/:=") {
			name := strings.Trim(text, "[]\"' ")
			kind, start, indent = secretName(strings.Trim(name[strings.LastIndexByte(name, '.')+1:], `"' `)), to, from-s.starts[line]
			if kind != "" && ends == nil {
				ends = s.hereEndWords()
			}
		}
	}
	if kind != "" {
		s.add(start, len(s.text), kind)
	}
}

// tableEnd matches the line after a part of a MIME document, after a script's end, and after PowerShell's here-string.
var tableEnd = pattern.New(`^(?:--|#!|["']@)`)

// hereEndWords returns the words that end here-documents.
func (s *scan) hereEndWords() map[string]bool {
	ends := map[string]bool{}
	for _, m := range opener.FindAllStringSubmatch(s.text, -1) {
		ends[m[1]] = true
	}
	return ends
}

var (
	secretKind = pattern.New(`(?m)^[ \t]*kind:[ \t]*["']?Secret["']?[ \t\r]*$`)
	secretData = pattern.New(`(?m)^[ \t]*(?:data|stringData):[ \t\r]*$`)
	jsonKind   = pattern.New(`\\*"kind\\*"\s*:\s*\\*"Secret\\*"`)
	jsonData   = pattern.New(`\\*"(?:data|stringData)\\*"\s*:\s*\{([^{}]*)`)
)

// manifests removes the data of Kubernetes Secrets, whose keys may have any name.
func (s *scan) manifests() {
	if !strings.Contains(s.text, "Secret") || !strings.Contains(s.text, "kind") {
		return
	}
	if jsonKind.MatchString(s.text) {
		for _, m := range jsonData.FindAllStringSubmatchIndex(s.text, -1) {
			s.add(m[2], m[3], Secret)
		}
	}
	at := 0
	for document := range strings.SplitAfterSeq(s.text, "\n---") {
		if secretKind.MatchString(document) {
			done := 0
			for _, m := range secretData.FindAllStringIndex(document, -1) {
				if line := s.line(at + m[1]); at+m[0] >= done {
					done = s.below(line, s.indent(line), false)
					s.add(at+m[1], done, Secret)
				}
			}
		}
		at += len(document)
	}
}
