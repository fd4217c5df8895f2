package report

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// subjectBegin begins every subject.
const subjectBegin = "[rollcall] "

func groupInWords(g roll.Group, n int) string {
	if g == roll.GroupNone {
		return "no group"
	}
	return short(string(g), n)
}

// subject says what is wrong in which group, why, and what is done, in ASCII and under 100
// characters, as SNS demands. Where that is too long the group's name is cut first, then left
// out; then the cause is, and the cluster's name is cut last: the rest is what the reader needs.
func subject(cluster, what, cause string, group roll.Group, doing string) string {
	doing = ", " + doing
	var says []string
	if cause != "" {
		because := fmt.Sprintf("%s (%s)", what, cause)
		says = append(inGroup(because, group, doing), because+doing)
	}
	says = append(append(says, inGroup(what, group, doing)...), what+doing)
	if s, ok := firstFit(cluster, len(cluster), says); ok {
		return s
	}
	return cutToFit(cluster, inGroup(what, group, doing), what+doing)
}

// subjectOver is the subject of the word that trouble is over: how it ended gives way
// before any name does.
func subjectOver(cluster, what string, group roll.Group, how string) string {
	if s, ok := firstFit(cluster, len(cluster), inGroup(what, group, ", "+how)[:1]); ok {
		return s
	}
	return cutToFit(cluster, inGroup(what, group, ""), what)
}

// inGroup says what is wrong in a group and what is done, with more and more of the group's name cut.
func inGroup(what string, group roll.Group, doing string) (says []string) {
	for n := subjectGroup; n >= subjectLeast; n-- {
		says = append(says, fmt.Sprintf("%s in %s%s", what, groupInWords(group, n), doing))
	}
	return says
}

// firstFit is the first subject that leaves so much of the cluster's name; false if none does.
func firstFit(cluster string, least int, says []string) (string, bool) {
	for _, say := range says {
		if s, left := fit(cluster, say); left >= least {
			return s, true
		}
	}
	return "", false
}

// cutToFit cuts the cluster's name, but not to less than its readers need, or else says the last.
func cutToFit(cluster string, says []string, last string) string {
	if s, ok := firstFit(cluster, min(len(cluster), subjectCluster), says); ok {
		return s
	}
	s, _ := fit(cluster, last)
	return s
}

// fit joins a cluster's name, or as much of it as there is room for, and what is to be
// said of it. It tells how much of the name is left.
func fit(cluster, say string) (string, int) {
	const cut = "..."
	head, tail := ascii(subjectBegin+cluster), ascii(": "+say)
	if len(head)+len(tail) <= subjectLength {
		return head + tail, len(cluster)
	}
	if keep := subjectLength - len(tail) - len(cut); keep >= len(subjectBegin) {
		return head[:keep] + cut + tail, keep - len(subjectBegin)
	}
	return (head + tail)[:subjectLength-len(cut)] + cut, 0
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
