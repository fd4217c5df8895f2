package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
	"rollcall/shared/roll/pattern"
)

// Kind is a kind of secret.
type Kind string

// The kinds, the most specific first. Where two overlap, the first names both.
const (
	PrivateKey      Kind = "private-key"
	AccessKeyID     Kind = "aws-access-key-id"
	AWSSecretKey    Kind = "aws-secret-key"
	AWSSessionToken Kind = "aws-session-token"
	EKSToken        Kind = "eks-token"
	JWT             Kind = "jwt"
	GitHubToken     Kind = "github-token"
	GitLabToken     Kind = "gitlab-token"
	SlackToken      Kind = "slack-token"
	NPMToken        Kind = "npm-token"
	DockerToken     Kind = "docker-token"
	BootstrapToken  Kind = "bootstrap-token"
	APIToken        Kind = "api-token" // another known prefix
	Authorization   Kind = "authorization"
	PasswordHash    Kind = "password-hash"
	URLPassword     Kind = "url-password"
	Password        Kind = "password"
	APIKey          Kind = "api-key"
	Token           Kind = "token"
	Credentials     Kind = "credentials"
	Secret          Kind = "secret"
	Encoded         Kind = "encoded" // base64 with a secret in it
	Unsettled       Kind = "text"    // a line of a text that never became stable, see Text
)

// Kinds are all kinds, in that order.
var Kinds = []Kind{
	PrivateKey, AccessKeyID, AWSSecretKey, AWSSessionToken, EKSToken, JWT,
	GitHubToken, GitLabToken, SlackToken, NPMToken, DockerToken, BootstrapToken, APIToken,
	Authorization, PasswordHash, URLPassword, Password, APIKey, Token, Credentials, Secret,
	Encoded, Unsettled,
}

const (
	noteOpen  = "[redacted: "
	noteClose = "]"
)

func (k Kind) rank() int { return slices.Index(Kinds, k) }

func (k Kind) note() string { return noteOpen + string(k) + noteClose }

// maxPasses bounds how often a text is scanned until nothing new is found.
const maxPasses = 5

// Text replaces the secrets in a text. A secret of several lines leaves its note on the first line
// and the others empty, so that lines keep their numbers. The result is stable: Text returns it
// unchanged. A text in which each removal uncovers another secret is adversarial; after a few passes
// each of its lines is replaced.
func Text(s string) string {
	switch {
	case len(s) < shortest:
		return s
	case len(s) > longest:
		return scrubbed(s)
	}
	clean := texts.Get(memo.Of(s), func() *string {
		if clean := scrubbed(s); clean != s {
			return &clean
		}
		return nil
	})
	if clean == nil {
		return s
	}
	return *clean
}

// texts caches the latest results, nil for a text without secrets. Longer texts are not cached, to
// save memory; a caller that redacts such a text repeatedly keeps its own result.
var texts = memo.Memo[memo.Key, *string]{Most: 4096}

const longest = 4 << 10

// Named is Text for the value of a field, a tag or the like. If the name announces a secret, a note
// replaces the whole value.
func Named(name, value string) string {
	clean := Text(value)
	if !announces(asciiLower(name)) { // as most
		return clean
	}
	alone := note.FindAllString(Text(name)+clean, -1)
	for _, sign := range []string{"=", ": "} {
		if notes := note.FindAllString(Text(name+sign+value), -1); len(notes) > len(alone) {
			return notes[len(notes)-1]
		}
	}
	return clean
}

// note matches a note.
var note = pattern.New(regexp.QuoteMeta(noteOpen) + "(?:" + strings.Join(roll.Map(Kinds, func(k Kind) string { return string(k) }), "|") + ")" + regexp.QuoteMeta(noteClose))

func scrubbed(s string) string {
	for range maxPasses {
		budget := maxDecoded
		spans := find(s, 0, &budget)
		if len(spans) == 0 {
			return s
		}
		s = replace(s, spans)
	}
	return everyLine(s)
}

func everyLine(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = Unsettled.note()
		}
	}
	return strings.Join(lines, "\n")
}

// span is a part of the text to remove.
type span struct {
	from, to int
	kind     Kind
}

// merge sorts spans and joins those that overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []span
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.from < out[n-1].to {
			last := &out[n-1]
			last.to = max(last.to, sp.to)
			if sp.kind.rank() < last.kind.rank() {
				last.kind = sp.kind
			}
			continue
		}
		out = append(out, sp)
	}
	return out
}

// replace replaces each of the merged spans with a note.
func replace(text string, spans []span) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, sp := range spans {
		b.WriteString(text[at:sp.from])
		at = sp.to
		noted := false
		for part := range strings.Lines(text[sp.from:sp.to]) {
			body, ended := strings.CutSuffix(part, "\n")
			content := strings.TrimSpace(body)
			if content != "" && !noted {
				noted = true
				b.WriteString(body[:strings.Index(body, content)])
				b.WriteString(sp.kind.note())
			}
			if ended {
				if strings.HasSuffix(body, "\r") {
					b.WriteByte('\r')
				}
				b.WriteByte('\n')
			}
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// masked returns the text with its notes replaced by as many marks, which are no part of any secret.
func masked(text string) string {
	return note.ReplaceAllStringFunc(text, func(n string) string { return strings.Repeat(mark, len(n)) })
}

const mark = "\x01"

// spent reports whether nothing is left to remove from a masked text: it is white space, quotes and
// notes.
func spent(v string) bool { return strings.Trim(v, " \t\r\n\"'\\`"+mark) == "" }
