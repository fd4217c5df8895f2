package redact

import (
	"slices"
	"strings"

	"rollcall/shared/roll/pattern"
)

var (
	switches = words(`true false yes no on off null nil none ~ undefined unset empty required optional
		enabled disabled default auto always never supported unsupported`)
	// schemes are usual values of names with auth in them.
	schemes = words(`basic digest iam tls mtls oidc ldap plain login saml jwt anonymous webhook
		kerberos negotiate ntlm x509 bearer cert certificate bootstrap pam sso oauth oauth2 sha256 scram
		failed failure success ok serviceaccount sigv4 trust md5 peer ident password token`)

	numeral = pattern.New(`^\d{1,5}$`)
	// number matches a small number, with or without a unit.
	number = pattern.New(`^[0-9][0-9.]{0,5}(?:s|m|h|d|ms|%|m0s|h0m0s)?$`)
	// path matches a path under a well-known root whose parts look written by a person.
	path = pattern.New(`^(?i:~|\.{1,2}|[cd]:|file://|/secrets|/(?:etc|var|usr|opt|run|home|root|mnt|tmp|dev|proc|srv|sys))[/\\](?:[\w.${}@%*~-]{0,48}[/\\])*[\w.${}@%*~-]{0,48}$`)
	arn  = pattern.New(`^arn:aws[^\s=]*$`)
	// address matches a URL without user information and without a query.
	address = pattern.New(`^[\w+]{1,12}://[^\s@?#=&"'/]+((?:/[^\s@?#=&"'/]*)*)$`)
	// placeholder matches a text in place of a value that is to be filled in, or was removed.
	placeholder = pattern.New(`^(?:<[A-Za-z _-]+>|\*+|[xX]+|\.+)$`)
)

// harmless reports whether a value in the place of a secret is not one. If the value is expanded,
// references to variables and commands do not count.
func harmless(v string, kind Kind, expanded bool) bool {
	v = strings.TrimRight(strings.TrimSpace(v), ",;")
	if spent(v) {
		return true
	}
	v = unquote(v)
	low := asciiLower(v)
	switch {
	case len(v) <= 2 && !isAlnum(v[0]), switches[low], arn.MatchString(low), path.MatchString(v), placeholder.MatchString(v):
		return true
	case (kind == Credentials || kind == Token) && schemes[low], kind != Password && kind != PrivateKey && number.MatchString(v):
		return true
	}
	if m := address.FindStringSubmatch(v); m != nil && !slices.ContainsFunc(strings.Split(m[1], "/"), random) {
		return true
	}
	rest, refs := dereference(v, expanded)
	_, _, _, other := classes(rest)
	return refs && (len(rest) == other || strings.HasSuffix(rest, ":") && wordy(strings.TrimSuffix(rest, ":")))
}

func unquote(v string) string {
	for {
		inner := strings.TrimPrefix(v, `\`)
		n := len(inner)
		if n < 2 || inner[0] != inner[n-1] || inner[0] != '"' && inner[0] != '\'' {
			return v
		}
		if v = strings.TrimSuffix(inner[1:n-1], `\`); v == "" {
			return inner
		}
	}
}

var (
	// inQuotes matches references that are also used in templates and in shells' single quotes.
	inQuotes  = pattern.New(`\$\{\{[^}"']*\}\}|\$\{[^}"':]*\}|\{\{[^}"']*\}\}|%[A-Z_][A-Z0-9_]*%|\$[A-Z][A-Z_]{2,}\b|^\*[A-Za-z]+$`)
	reference = pattern.New(`^\$(?:(?i:env:)?[A-Za-z_]\w*|[0-9@*#?!$])`)
)

// dereference removes the references from a value: $NAME, ${NAME}, $(command), $env:NAME, %NAME%,
// {{ name }}. If nothing is expanded, only the forms of templates count.
func dereference(v string, expanded bool) (rest string, refs bool) {
	if !strings.ContainsAny(v, "$`{%*") {
		return v, false
	}
	plain := inQuotes.ReplaceAllString(v, "")
	var b strings.Builder
	for i := 0; i < len(plain); {
		n := 0
		if plain[i] == '$' && expanded {
			n = len(reference.FindString(plain[i:]))
		}
		if open, shut := plain[i], byte('`'); open == '`' || strings.HasPrefix(plain[i:], "$(") {
			from := i + 1
			if open == '$' {
				from, shut = i+2, ')'
			}
			if end := strings.LastIndexByte(plain[from:min(len(plain), from+maxNesting)], shut); end > 0 && fetches(plain[from:from+end]) {
				n = from + end + 1 - i
			}
		}
		if n == 0 {
			b.WriteByte(plain[i])
			n = 1
		}
		i += n
	}
	return b.String(), b.Len() < len(v)
}

// fetchers are commands whose output may be a secret but whose text is not.
var fetchers = words(`< aws curl wget cat head tail cut tr jq grep egrep sed awk gawk imds ec2-metadata
	ec2metadata kubectl hostname date uuidgen pwgen vault gcloud az sops yq xargs sort uniq wc tee uname
	openssl base64 xxd od dd sudo whoami id basename dirname python3 python`)

// fetches reports whether a command only reads a value from somewhere, and does not contain the
// value in its text.
func fetches(command string) bool {
	if strings.Contains(command, "<<") {
		return false
	}
	for part := range strings.FieldsFuncSeq(command, func(c rune) bool { return strings.ContainsRune("|;&\n", c) }) {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		name := strings.TrimPrefix(fields[0], "$(")
		name = asciiLower(name[strings.LastIndexByte(name, '/')+1:])
		if !fetchers[name] && !fetcher.MatchString(name) || programs[name] && printed.MatchString(part) || name == "openssl" && hashes(fields[1:]) {
			return false
		}
	}
	return true
}

var (
	// programs are those of fetchers whose argument is a program.
	programs = words(`awk gawk python python3`)
	// printed matches what a program prints of a text that is written in it.
	printed = pattern.New(`(?:\b(?:print|printf|write|\w*decode\w*)[\s(]*|[{(]\s*\w+\s*=\s*)[bfru]?\\*["']([^"'\\%]{3,})`)
)

// hashes reports whether openssl makes a hash of a password in its arguments.
// https://docs.openssl.org/master/man1/openssl-passwd/
func hashes(args []string) bool {
	return len(args) > 0 && args[0] == "passwd" && slices.ContainsFunc(args[1:], func(arg string) bool {
		return arg[0] != '-' && !harmless(arg, Password, true)
	})
}

var fetcher = pattern.New(`get[_-]|fetch|read_|load_`)
