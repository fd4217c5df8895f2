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

// troubled says what is wrong with n instances, or nodes, in the words of a headline.
func troubled(k roll.Kind, n int) string {
	words, ok := troubles[k]
	if !ok {
		return fmt.Sprintf("%d %s", n, k)
	}
	return fmt.Sprintf("%d %s", n, roll.Plural(n, words.one, words.many))
}

var troubles = map[roll.Kind]struct{ one, many string }{
	roll.Unregistered:    {"instance not joined", "instances not joined"},
	roll.Uninitialized:   {"node never ready", "nodes never ready"},
	roll.NotReady:        {"node not ready", "nodes not ready"},
	roll.Unknown:         {"node silent", "nodes silent"},
	roll.ConditionFailed: {"node with a failed condition", "nodes with a failed condition"},
	roll.Impaired:        {"instance impaired", "instances impaired"},
	roll.Scheduled:       {"instance with a scheduled event", "instances with a scheduled event"},
	roll.Flapping:        {"node flapping", "nodes flapping"},
	roll.Ghost:           {"node without its instance", "nodes without their instances"},
	roll.Orphaned:        {"instance orphaned", "instances orphaned"},
	roll.Conflict:        {"instance with contradictions", "instances with contradictions"},
	roll.Stuck:           {"removal stuck", "removals stuck"},
	roll.Unlaunched:      {"launch failing", "launches failing"},
}

// subject says what is wrong in which group, why, and what is done, in ASCII and under 100
// characters, as SNS demands. Where that is too long the group's name is cut first, then left
// out; then the cause is, and the cluster's name is cut last: the rest is what the reader needs.
func subject(cluster, what, cause string, group roll.Group, doing string) string {
	if cause != "" {
		if s, ok := subjectWhole(cluster, fmt.Sprintf("%s (%s)", what, cause), group, doing); ok {
			return s
		}
	}
	if s, ok := subjectWhole(cluster, what, group, doing); ok {
		return s
	}
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, inGroup(what, group, n, doing)); left >= subjectCluster {
			return s
		}
	}
	s, _ := fit(cluster, what+", "+doing)
	return s
}

// subjectWhole is the subject with the whole of the cluster's name, and with as much of the group's as
// there is room for; false if there is no room for the cluster's.
func subjectWhole(cluster, what string, group roll.Group, doing string) (string, bool) {
	for n := subjectGroup; n >= subjectLeast; n-- {
		if s, left := fit(cluster, inGroup(what, group, n, doing)); left == len(cluster) {
			return s, true
		}
	}
	s, left := fit(cluster, what+", "+doing)
	return s, left == len(cluster)
}

// inGroup says what is wrong in a group, of whose name n characters may be taken, and what is done.
func inGroup(what string, group roll.Group, n int, doing string) string {
	return fmt.Sprintf("%s in %s, %s", what, groupInWords(group, n), doing)
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
