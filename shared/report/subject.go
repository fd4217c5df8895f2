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

// subject says what is wrong in which group, and what is done, in ASCII and under 100
// characters, as SNS demands. Where that is too long the group's name is cut first, then
// left out, and the cluster's is cut last: the rest is what the reader needs.
func subject(cluster, what string, group roll.Group, doing string) string {
	with := func(n int) string { return fmt.Sprintf("%s in %s, %s", what, groupInWords(group, n), doing) }
	without := what + ", " + doing
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, with(n)); left == len(cluster) {
			return s
		}
	}
	if s, left := fit(cluster, without); left == len(cluster) {
		return s
	}
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, with(n)); left >= subjectCluster {
			return s
		}
	}
	s, _ := fit(cluster, without)
	return s
}

// subjectOver is the subject of the word that trouble is over: how it ended gives way
// before any name does.
func subjectOver(cluster, what string, group roll.Group, how string) string {
	all := fmt.Sprintf("%s in %s, %s", what, groupInWords(group, subjectGroup), how)
	if s, left := fit(cluster, all); left == len(cluster) {
		return s
	}
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, fmt.Sprintf("%s in %s", what, groupInWords(group, n))); left == len(cluster) || left >= subjectCluster {
			return s
		}
	}
	s, _ := fit(cluster, what)
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
