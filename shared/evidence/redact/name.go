package redact

import (
	"slices"
	"strings"
)

// maxName is the maximum length of a name. Longer runs of such characters are data.
const maxName = 96

// anywhere are the parts of a word that make a name secret-like.
var anywhere = []struct {
	part string
	kind Kind
}{
	{"password", Password}, {"passwd", Password}, {"passphrase", Password}, {"passcode", Password},
	{"passwort", Password},
	{"dockerconfigjson", Credentials}, {"dockercfg", Credentials}, {"dockerauth", Credentials},
	{"credential", Credentials},
	{"apikey", APIKey}, {"accesskey", APIKey}, {"privatekey", PrivateKey},
	{"secret", Secret}, {"authkey", Token}, {"authtok", Password},
}

// exactly are words that make a name secret-like as a whole.
var exactly = byWord(map[Kind]string{
	Password:    `pass pw pwd pgpass netrc htpasswd`,
	Secret:      `psk mnemonic keytab signingkey encryptionkey masterkey sharedkey`,
	Token:       `otp token tokens cookie signature bearer jwt`,
	Credentials: `auth auths cred creds`,
	APIKey:      `licensekey activationkey accountkey`,
})

// endings make a word secret-like unless it is one of words.
var endings = []struct {
	end   string
	kind  Kind
	words []string
}{
	{"token", Token, nil},
	{"pass", Password, []string{"bypass", "compass", "surpass", "trespass", "encompass"}},
	{"pwd", Password, []string{"oldpwd"}},
	{"pw", Password, nil}, // bindpw, rootpw
	{"auth", Credentials, []string{"oauth", "pwauth", "unauth", "preauth", "reauth"}},
}

// keyed are the words before "key" that make it a secret's name. A key alone, as of a taint or a
// map, means nothing.
var keyed = byWord(map[Kind]string{
	APIKey: `api access account storage license licence app application ingest ingestion integration site
		subscription service write routing registration activation join deploy admin consumer insert query
		functions customer instrumentation enrollment provisioning setup`,
	PrivateKey: `private client tls ssl ca rsa`,
	Secret: `secret encryption encrypt decryption signing sign auth shared master session hmac aes webhook wireguard
		unseal recovery jwt cipher vault gossip swarm preshared`,
})

// tails are the last words of names that mention a secret but do not hold one.
var tails = words(`name names file files filename path paths dir directory ttl arn arns id ids mode
	type types url uri urls uris endpoint endpoints ref refs policy policies enabled enable disabled
	disable expiry expiration expires expire second seconds minutes hours days timeout length len size count
	max min limit version provider providers host hosts hostname port region algorithm alg format
	method methods required require rotation rotate interval duration age issuer audience
	audiences scope scopes mount mounts store stores backend source manager agent service role
	review reviews request requests controller class kind status error errors exists label labels annotation
	annotations selector namespace user username email registry bin process helper helpers plugin
	prefix header field property location object description hint prompt date time at changed
	check validation validator fingerprint checksum digest usage index spec specs
	template schema driver socket sock cert crt certificate certs certificates stdin target timer slice
	device scopeid webhook operator verify nopasswd prompts attempts retries db pub public`)

func words(list string) map[string]bool { return byWord(map[bool]string{true: list}) }

// byWord returns the value of each word.
func byWord[V comparable](lists map[V]string) map[string]V {
	m := map[string]V{}
	for v, list := range lists {
		for _, w := range strings.Fields(list) {
			m[w] = v
		}
	}
	return m
}

// secretName returns the kind of secret that a name announces, or none.
func secretName(name string) Kind {
	if len(name) > maxName {
		return ""
	}
	var store [16]string
	list := split(name, store[:0])
	if len(list) == 0 {
		return ""
	}
	kind, id := Kind(""), false
	for i, w := range list {
		k := secretWord(w)
		if k == "" && (w == "key" || w == "keys") && i > 0 {
			k = keyed[list[i-1]]
			if list[i-1] == "access" && i > 1 && list[i-2] == "secret" {
				k = AWSSecretKey
			}
			id = k == APIKey && list[i-1] == "access" && i == len(list)-2
		}
		switch {
		case k == "":
		case k == Token && i > 0 && (list[i-1] == "session" || list[i-1] == "security") && contains(list, "aws", "amz"):
			kind = AWSSessionToken
		case kind == "" || k.rank() < kind.rank():
			kind = k
		}
	}
	last := list[len(list)-1]
	if n := len(list); n > 1 && last == "code" && list[n-2] == "activation" {
		return Secret
	}
	if kind == "" {
		return ""
	}
	switch {
	case id && last == "id": // access_key_id
		return AccessKeyID
	case len(list) > 1 && tails[last]:
		return ""
	case last == "hash" && contains(list, "cert", "ca"):
		return ""
	case len(list) == 2 && list[0] == "aws" && list[1] == "auth": // the ConfigMap
		return ""
	}
	return kind
}

// keyName reports whether a name ends in key or license. Many clients call their secret so (DATADOG_KEY, --license),
// and many other things are called so, which look different.
func keyName(name string) bool {
	if len(name) > maxName {
		return false
	}
	var store [16]string
	list := split(name, store[:0])
	return len(list) > 0 && contains(list[len(list)-1:], "key", "keys", "license", "licence") && !contains(list, "public", "pub", "host", "kms", "recv")
}

func contains(list []string, either ...string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return slices.Contains(either, w) })
}

func secretWord(w string) Kind {
	if k := exactly[w]; k != "" {
		return k
	}
	if w == "secretsmanager" {
		return ""
	}
	for _, a := range anywhere {
		if strings.Contains(w, a.part) {
			return a.kind
		}
	}
	for _, e := range endings {
		if strings.HasSuffix(w, e.end) && !slices.Contains(e.words, w) {
			return e.kind
		}
	}
	return ""
}

// split splits a name into words, in lower case: at characters other than letters, at the ends of
// digits, and at changes of case.
func split(name string, list []string) []string {
	start := -1
	end := func(i int) {
		if start >= 0 {
			list = append(list, asciiLower(name[start:i]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case !isLetter(c):
			end(i)
		case start < 0:
			start = i
		case isUpper(c) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])):
			// API|Key, aws|Secret; but not IDs, ARNs.
			if i+1 < len(name) && isUpper(name[i-1]) && name[i+1] == 's' && (i+2 == len(name) || !isLetter(name[i+2])) {
				continue
			}
			end(i)
			start = i
		}
	}
	end(len(name))
	return list
}

// secretFile returns the kind of secret that a file's name announces, or none.
func secretFile(path string) Kind {
	path = strings.Trim(path, `"'`)
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		path = path[i+1:]
	}
	if slices.Contains([]string{"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"}, asciiLower(path)) {
		return PrivateKey
	}
	for _, end := range []string{".conf", ".cfg", ".txt", ".json", ".yaml", ".yml", ".ini", ".env", ".toml"} {
		path = strings.TrimSuffix(path, end)
	}
	return secretName(path)
}
