package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rollcall/tests/harness/must"
)

// alphabets are the characters of secrets. Quotes, spaces and backslashes are left to syntaxes that
// quote them.
var alphabets = []string{
	"abcdefghijklmnopqrstuvwxyz0123456789",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-!.%^*",
	"abcdef0123456789",
	"abcdefghijklmnopqrstuvwxyz",
}

// rich secrets may contain any character. They are only valid in quotes.
const rich = "ABCDEFabcdef0123456789 ,;:#|&()[]{}<>=@!?~^*+/%$"

func secretOf(r *rand.Rand, alphabet string) string {
	b := make([]byte, 8+r.IntN(40))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	// Whether punctuation at the beginning or end of a secret is allowed depends on its syntax.
	b[0], b[len(b)-1] = 'q', '7'
	return string(b)
}

var stems = []string{
	"password", "passwd", "secret", "token", "api_key", "apikey", "access_key", "private_key", "client_secret",
	"credentials", "auth", "db_password", "secret_access_key", "auth_token", "license_key", "encryption_key",
	"passphrase", "admin_pass", "join_token", "signing_key", "bearer_token",
}

func nameOf(r *rand.Rand) string {
	n := stems[r.IntN(len(stems))]
	if r.IntN(2) == 0 {
		n = []string{"my_", "app_", "x_", "rds_"}[r.IntN(4)] + n
	}
	switch r.IntN(4) {
	case 0:
		return strings.ToUpper(n)
	case 1:
		parts := strings.Split(n, "_")
		for i := 1; i < len(parts); i++ {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
		return strings.Join(parts, "")
	case 2:
		return strings.ReplaceAll(n, "_", "-")
	}
	return n
}

func variable(name string) string { return strings.ReplaceAll(name, "-", "_") }

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func indented(s, by string) string {
	return by + strings.ReplaceAll(s, "\n", "\n"+by)
}

// syntaxes write a secret under a name. Quoted reports whether any character is allowed.
var syntaxes = []struct {
	name   string
	quoted bool
	write  func(name, secret string) string
}{
	{"shell", false, func(n, s string) string { return variable(n) + "=" + s }},
	{"shell in single quotes", true, func(n, s string) string { return variable(n) + "='" + s + "'" }},
	{"shell in double quotes", true, func(n, s string) string {
		return "export " + variable(n) + `="` + strings.ReplaceAll(s, "$", `\$`) + `"`
	}},
	{"local, before a command", false, func(n, s string) string { return "  local " + variable(n) + "=" + s + "; run" }},
	{"command's environment", false, func(n, s string) string { return variable(n) + "=" + s + " ./run --x 1" }},
	{"flag", false, func(n, s string) string { return "run --port 1 --" + n + " " + s + " --x" }},
	{"flag, equals", false, func(n, s string) string { return "run --" + n + "=" + s + " --x" }},
	{"flag, quoted", true, func(n, s string) string { return "run --" + n + " '" + s + "' --x" }},
	{"flag, continued", false, func(n, s string) string { return "run \\\n  --" + n + " \\\n  " + s + " \\\n  --x" }},
	{"docker", false, func(n, s string) string { return "docker run -e " + variable(n) + "=" + s + " image:1" }},
	{"yaml", false, func(n, s string) string { return "a:\n  " + n + ": " + s + "\n  b: 1" }},
	{"yaml in a list", false, func(n, s string) string { return "- x: 1\n  " + n + ": " + s + "\n- y: 2" }},
	{"yaml, single quotes", true, func(n, s string) string { return n + ": '" + s + "'" }},
	{"yaml, double quotes", true, func(n, s string) string { return n + ": \"" + s + "\" # note" }},
	{"yaml literal", true, func(n, s string) string { return "a:\n  " + n + ": |\n    first\n    " + s + "\n  b: 1" }},
	{"yaml folded", true, func(n, s string) string { return n + ": >-\n\n  " + s + "\n  and more\nb: 1" }},
	{"yaml flow", false, func(n, s string) string { return "a: {x: 1, " + n + ": " + s + ", y: 2}" }},
	{"yaml flow, quoted", true, func(n, s string) string { return "a: {x: 1, " + n + ": \"" + s + "\"}" }},
	{"yaml list", false, func(n, s string) string { return n + ":\n- other\n- " + s + "\nb: 1" }},
	{"yaml list in brackets", true, func(n, s string) string { return n + ": [\"x\", \"" + s + "\"]" }},
	{"yaml next line", false, func(n, s string) string { return n + ":\n  " + s + "\nb: 1" }},
	{"yaml arguments", false, func(n, s string) string { return "args:\n- --" + n + "\n- " + s + "\n- --x" }},
	{"yaml env", false, func(n, s string) string { return "env:\n- name: " + n + "\n  value: " + s + "\n- name: b" }},
	{"json", true, func(n, s string) string { return "{\"a\": 1, \"" + n + "\": " + jsonText(s) + ", \"b\": 2}" }},
	{"json, compact", true, func(n, s string) string { return "{\"a\":1,\"" + n + "\":" + jsonText(s) + ",\"b\":2}" }},
	{"json, lines", true, func(n, s string) string { return "{\n  \"" + n + "\": " + jsonText(s) + ",\n  \"b\": 2\n}" }},
	{"json in shell", true, func(n, s string) string { return "curl -d '{\"" + n + "\":" + jsonText(s) + "}' https://x" }},
	{"json, escaped", true, func(n, s string) string {
		return "curl -d \"{\\\"" + n + "\\\": \\\"" + strings.ReplaceAll(s, "$", "\\$") + "\\\"}\" https://x"
	}},
	{"json list", true, func(n, s string) string { return "{\"" + n + "\":[\"x\"," + jsonText(s) + "]}" }},
	{"json arguments", true, func(n, s string) string { return "[\"run\", \"--" + n + "\", " + jsonText(s) + "]" }},
	{"toml", true, func(n, s string) string { return "[a]\n" + n + " = \"" + s + "\"\nb = 1" }},
	{"toml literal", true, func(n, s string) string { return n + " = '" + s + "'" }},
	{"toml lines", true, func(n, s string) string { return n + " = \"\"\"\nfirst\n" + s + "\n\"\"\"\nb = 1" }},
	{"toml list", true, func(n, s string) string { return n + " = [\n  \"x\",\n  \"" + s + "\",\n]" }},
	{"ini", true, func(n, s string) string { return "[a]\n" + n + " = " + s + "\nb = 1" }},
	{"properties", false, func(n, s string) string { return "x.y." + n + "=" + s }},
	{"powershell", true, func(n, s string) string { return "$env:" + variable(n) + " = '" + s + "'" }},
	{"powershell variable", true, func(n, s string) string {
		return "$" + variable(n) + " = \"" + strings.ReplaceAll(s, "$", "`$") + "\""
	}},
	{"powershell flag", true, func(n, s string) string { return "Set-It -" + n + " '" + s + "' -Force" }},
	{"powershell secure", true, func(n, s string) string {
		return "Set-It -" + n + " (ConvertTo-SecureString '" + s + "' -AsPlainText -Force)"
	}},
	{"powershell here-string", true, func(n, s string) string { return "$" + variable(n) + " = @'\r\n" + s + "\r\n'@\r\n" }},
	{"cmd", false, func(n, s string) string { return "set " + variable(n) + "=" + s + "\r\n" }},
	{"setx", false, func(n, s string) string { return "setx " + variable(n) + " \"" + s + "\" /M" }},
	{"heredoc", true, func(n, s string) string { return variable(n) + "=$(cat <<'EOF'\n" + s + "\nEOF\n)\nnext" }},
	{"heredoc, file", true, func(n, s string) string { return "cat > /etc/app/" + n + " <<EOF\nx\n" + s + "\nEOF\nnext" }},
	{"read", true, func(n, s string) string { return "read -r -d '' " + variable(n) + " <<EOF\n" + s + "\nEOF\n" }},
	{"echo, file", false, func(n, s string) string { return "echo " + s + " > /etc/app/" + n }},
	{"cloud-init file", true, func(n, s string) string {
		return "write_files:\n- path: /etc/app/" + n + "\n  content: |\n    " + s + "\n- path: /x"
	}},
	{"xml", false, func(n, s string) string { return "<a><" + n + ">" + s + "</" + n + "><b>1</b></a>" }},
	{"header", false, func(n, s string) string { return "curl -H \"X-" + n + ": " + s + "\" https://x" }},
	{"default", false, func(n, s string) string { return "x=${" + variable(n) + ":-" + s + "}" }},
	{"url", false, func(n, s string) string { return "x=https://" + n + ":" + s + "@host.internal/x" }},
	{"query", false, func(n, s string) string { return "curl 'https://host/x?a=1&" + n + "=" + s + "&b=2'" }},
	{"connection string", false, func(n, s string) string { return "DSN=\"Server=db;" + n + "=" + s + ";Database=x\"" }},
	{"base64", true, func(n, s string) string {
		return "echo " + base64.StdEncoding.EncodeToString([]byte(variable(n)+"='"+s+"'\n")) + " | base64 -d"
	}},
	{"base64 of base64", true, func(n, s string) string {
		return "x: " + b64("echo "+b64(variable(n)+"='"+s+"'\n")+" | base64 -d")
	}},
	{"gzip", true, func(n, s string) string { return "x: " + b64(zip(variable(n)+"='"+s+"'\n")) }},
	{"chpasswd", false, func(_, s string) string { return "echo 'root:" + s + "' | chpasswd" }},
	{"chpasswd list", false, func(_, s string) string { return "chpasswd:\n  list: |\n    root:" + s + "\n  expire: false" }},
	{"curl -u", false, func(_, s string) string { return "curl -u me:" + s + " https://x" }},
	{"bearer", false, func(_, s string) string { return "curl -H 'Authorization: Bearer " + s + "' https://x" }},
}

// around are functions that embed a text in a document, as in user data.
var around = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return "#!/bin/bash\nset -ex\n" + s + "\n/etc/eks/bootstrap.sh demo\n" },
	func(s string) string { return "#cloud-config\nx: 1\n" + s + "\ny: 2\n" },
	func(s string) string {
		return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n" + s + "\n--B--\n"
	},
	func(s string) string {
		return "#cloud-config\nwrite_files:\n- path: /opt/x\n  content: |\n" + indented(s, "    ") + "\n  owner: root\n"
	},
	func(s string) string {
		return "MIME-Version: 1.0\n\n--B\nContent-Transfer-Encoding: base64\n\n" + wrap(b64("#!/bin/bash\n"+s+"\necho done\n"), 76) + "\n\n--B--\n"
	},
	func(s string) string { return "it's a note\n" + s + "\nthat's all: \"\n" },
}

func TestAPlantedSecretNeverSurvives(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for i, syntax := range syntaxes {
		t.Run(syntax.name, func(t *testing.T) {
			failed := map[string]bool{}
			for seed := range rounds * len(around) * len(alphabets) {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				alphabet := alphabets[r.IntN(len(alphabets))]
				if syntax.quoted && r.IntN(2) == 0 {
					alphabet = rich
				}
				name, secret := nameOf(r), secretOf(r, alphabet)
				text := around[seed%len(around)](syntax.write(name, secret))
				if harmlessInTest(secret) {
					continue
				}
				clean := Text(text)
				if piece := survivor(text, clean, secret); piece != "" && len(failed) < 3 {
					failed[name] = true
					t.Errorf("seed %d: %q of %q survived\n%s\n---\n%s", seed, piece, secret, text, clean)
				}
				stable(t, text, clean)
			}
		})
	}
}

// harmlessInTest reports whether a random secret is a reference: "$AB" in the middle of a text is
// one to a shell.
func harmlessInTest(secret string) bool {
	rest, refs := dereference(secret, true)
	_, _, _, other := classes(rest)
	return refs && len(rest)-other < 4
}

// survivor returns a piece of eight characters of a secret that is left, or nothing.
func survivor(text, clean, secret string) string {
	left := note.ReplaceAllString(clean, "")
	for i := 0; i+8 <= len(secret); i++ {
		if piece := secret[i : i+8]; strings.Contains(left, piece) {
			return piece
		}
		if strings.Contains(text, b64(secret)) && strings.Contains(left, b64(secret)) {
			return b64(secret)
		}
	}
	return ""
}

// plain writes documents without any secret. They stay unchanged.
func TestATextWithoutSecretsStays(t *testing.T) {
	names := []string{"CLUSTER_NAME", "cluster-name", "maxPods", "region", "nodeGroup", "AMI_ID", "subnet", "KeyName", "http_tokens_required", "keyspace", "author", "compass", "monkey"}
	values := []string{
		"demo", "i-0123456789abcdef0", "subnet-0a1b2c3d4e5f60718", "sg-0123456789abcdef0", "ami-0123456789abcdef0",
		"arn:aws:iam::111122223333:role/eks-node-secret", "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com",
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.5", "dedicated=gpu:NoSchedule", "10.0.0.0/16", "110", "true",
		"vpc-cni-v1.18.1-eksbuild.3", "2024-01-01T00:00:00Z", "ip-10-0-1-2.eu-west-1.compute.internal", "m5.large",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "aws:///eu-west-1a/i-0123456789abcdef0", ca,
	}
	for i, syntax := range syntaxes {
		switch syntax.name {
		case "url", "chpasswd", "chpasswd list", "curl -u", "bearer", "powershell secure":
			continue
		}
		for seed := range 60 {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			text := around[seed%len(around)](syntax.write(names[r.IntN(len(names))], values[r.IntN(len(values))]))
			clean := Text(text)
			must.That(t, clean == text, "%s, seed %d:\n%s\n---\n%s", syntax.name, seed, text, clean)
		}
	}
}

// A secret does not survive because of the text before it, for any sequence of syntaxes.
func TestDocumentsOfManySyntaxes(t *testing.T) {
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		var b strings.Builder
		var secrets []string
		for range 2 + r.IntN(8) {
			syntax := syntaxes[r.IntN(len(syntaxes))]
			secret := secretOf(r, alphabets[r.IntN(len(alphabets))])
			secrets = append(secrets, secret)
			b.WriteString(syntax.write(nameOf(r), secret) + "\n")
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "plain line %d\n", r.IntN(100))
			}
		}
		text := b.String()
		clean := Text(text)
		for _, secret := range secrets {
			if piece := survivor(text, clean, secret); piece != "" {
				t.Errorf("seed %d: %q of %q survived\n%s\n---\n%s", seed, piece, secret, text, clean)
				break
			}
		}
		stable(t, text, clean)
	}
}
