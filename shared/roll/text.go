package roll

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rollcall/shared/roll/pattern"
)

// Clock formats a time for a sentence, in UTC to the second.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Span formats a duration without its zero parts: 15m rather than 15m0s.
func Span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Plural returns one or many, depending on n.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Short cuts a text to n characters.
func Short(s string, n int) string {
	const more = "..."
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-len(more)]) + more
	}
	return s
}

// LastPart returns the name at the end of an ARN or a path.
func LastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// Map returns what f returns for each value, nil if there are none.
func Map[T, V any](all []T, f func(T) V) []V {
	if len(all) == 0 {
		return nil
	}
	out := make([]V, len(all))
	for i, v := range all {
		out[i] = f(v)
	}
	return out
}

// Find returns the first value for which such is true; false if there is none.
func Find[T any](all []T, such func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, such); i >= 0 {
		return all[i], true
	}
	return found, false
}

// Grouped returns the values with the same key together, the keys in the order of their first values.
func Grouped[T any, K comparable](all []T, key func(T) K) [][]T {
	var out [][]T
	index := map[K]int{}
	for _, v := range all {
		k := key(v)
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}

// Distinct returns each value once, in the order of their first places.
func Distinct[T comparable](all []T) []T {
	return Map(Grouped(all, func(v T) T { return v }), func(same []T) T { return same[0] })
}

// Few joins the first names, and counts the others: "a, b and 3 more".
func Few[S ~string](names []S, most int) string {
	s := strings.Join(Map(names[:min(len(names), most)], func(name S) string { return string(name) }), ", ")
	if more := len(names) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// OneOf lists alternatives: "observe, notify or remediate".
func OneOf[S ~string](words []S) string {
	last := len(words) - 1
	if last <= 0 {
		return Few(words, 1)
	}
	return Few(words[:last], last) + " or " + string(words[last])
}

// Behind returns the introduction followed by the text, or "" if the text is empty.
func Behind(introduction, s string) string {
	if s == "" {
		return ""
	}
	return introduction + s
}

var (
	qualifiedPrefix = pattern.New(`\A[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\z`)
	qualifiedName   = pattern.New(`\A([A-Za-z0-9][A-Za-z0-9._-]{0,61})?[A-Za-z0-9]\z`)
)

// QualifiedName reports whether Kubernetes accepts a text as the key of a label or taint: a name of
// at most 63 characters, optionally after a DNS subdomain of at most 253 and a slash
// (IsQualifiedName in k8s.io/apimachinery/pkg/util/validation).
func QualifiedName(s string) bool {
	prefix, name, ok := strings.Cut(s, "/")
	if !ok {
		return qualifiedName.MatchString(s)
	}
	return len(prefix) <= 253 && qualifiedPrefix.MatchString(prefix) && qualifiedName.MatchString(name)
}

// Misleads reports whether a rune could mislead a terminal or a reader: a control character, or a
// character without width that changes the displayed text (see https://trojansource.codes for
// direction). Line feeds and tabs do not.
func Misleads(r rune) bool {
	switch {
	case r == '\n', r == '\t', ' ' <= r && r <= '~':
		return false
	case unicode.IsControl(r):
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\u2060' || r == '\ufeff'
}

// Visible replaces the runes that mislead, so that the text of a tag can neither move the cursor of
// a terminal nor change the direction of what follows.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if Misleads(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Texts keeps one copy of each text that many values share, such as names of zones and groups. The
// zero value is ready for use by one goroutine.
type Texts struct {
	known map[string]string
}

// One returns the shared copy of the text.
func (t *Texts) One(s string) string {
	if s == "" {
		return "" // most of the tags that an instance can have are empty
	}
	if known, ok := t.known[s]; ok {
		return known
	}
	if t.known == nil {
		t.known = map[string]string{}
	}
	t.known[s] = s
	return s
}
