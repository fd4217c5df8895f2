package report

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// subject returns the subject of a notice, in ASCII with fewer than 100 characters, as SNS requires. If
// it is too long, the group's name is cut and then left out, then the cause. The cluster's name is cut last.
func subject(cluster, what, cause string, group roll.Group, doing string) string {
	doing = roll.Behind(": ", doing)
	var says []string
	if cause != "" {
		because := fmt.Sprintf("%s (%s)", what, inWordsOf(cause))
		says = append(inGroup(because, group, doing), because+doing)
	}
	says = append(append(says, inGroup(what, group, doing)...), what+doing)
	if s, ok := firstFit(cluster, len(cluster), says); ok {
		return s
	}
	return cutToFit(cluster, inGroup(what, group, doing), what+doing)
}

// subjectOver returns the subject of a notice of resolution. If it is too long, how the
// incident ended is left out before any name is cut.
func subjectOver(cluster, what string, group roll.Group, how string) string {
	if s, ok := firstFit(cluster, len(cluster), inGroup(what, group, ", "+how)[:1]); ok {
		return s
	}
	return cutToFit(cluster, inGroup(what, group, ""), what)
}

// inGroup returns what is wrong in a group and what is done, with more and more of the
// group's name cut.
func inGroup(what string, group roll.Group, doing string) (says []string) {
	for n := subjectGroup; n >= subjectLeast; n-- {
		says = append(says, fmt.Sprintf("%s in %s%s", what, short(groupWords(group), n), doing))
	}
	return says
}

// groupWords returns a group in words.
func groupWords(group roll.Group) string {
	if group == roll.GroupNone {
		return "no group"
	}
	return string(group)
}

// firstFit returns the first subject that keeps least or more bytes of the cluster's name,
// false if none does.
func firstFit(cluster string, least int, says []string) (string, bool) {
	for _, say := range says {
		if s, left := fit(cluster, say); left >= least {
			return s, true
		}
	}
	return "", false
}

// cutToFit returns the first subject that keeps enough of the cluster's name, or else one
// with last.
func cutToFit(cluster string, says []string, last string) string {
	if s, ok := firstFit(cluster, min(len(cluster), subjectCluster), says); ok {
		return s
	}
	s, _ := fit(cluster, last)
	return s
}

// fit joins a cluster's name, or as much of it as fits, and a text. It also returns how many
// bytes of the name are left.
func fit(cluster, say string) (string, int) {
	const cut = "..."
	head, tail := ascii(cluster), ascii(": "+say)
	if len(head)+len(tail) <= subjectLength {
		return head + tail, len(cluster)
	}
	if keep := subjectLength - len(tail) - len(cut); keep >= 0 {
		return head[:keep] + cut + tail, keep
	}
	return (head + tail)[:subjectLength-len(cut)] + cut, 0
}

// inWordsOf returns a code, such as NodeRoleNotMapped, in words: node role not mapped. Words of
// capitals, such as API, stay as they are.
func inWordsOf(code string) string {
	var words []string
	begin := 0
	upper := func(i int) bool { return i < len(code) && code[i] >= 'A' && code[i] <= 'Z' }
	for i := 1; i <= len(code); i++ {
		if i < len(code) && (!upper(i) || upper(i-1) && (i+1 == len(code) || upper(i+1))) {
			continue // within a word, or within capitals
		}
		w := code[begin:i]
		if begin = i; len(w) == 1 || strings.ToUpper(w) != w {
			w = strings.ToLower(w)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func ascii(s string) string {
	s = strings.ReplaceAll(s, "…", "...")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
