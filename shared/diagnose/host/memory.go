package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

const (
	// namedPods is how many pods without a memory limit a summary names, and shownPods how
	// many the evidence has.
	namedPods, shownPods = 2, 10
	// lastingDay is how long before a pressure another one of its group counts as the same
	// trouble.
	lastingDay = 24 * time.Hour
)

// more adds to a pressure which nodes of the group had it before, and for memory the pods
// that may use as much as there is.
func (l *look) more(p pressure, c cause.Verdict, at time.Time) cause.Verdict {
	if told, seen := l.again(p, at); told != "" {
		c.Also(told).Shows(seen)
	}
	if p.condition == roll.MemoryPressure {
		told, seen := l.unlimited()
		c.Also(told).Shows(seen)
	}
	return c
}

// unlimited returns the pods of the node without a memory limit, first those that are known
// to have used most. Pods that the kubelet evicted stay listed for a while.
func (l *look) unlimited() (told string, seen roll.Evidence) {
	fact := l.Node().Pods
	seen = roll.Evidence{Source: "pods", Field: "spec.containers[].resources.limits.memory", Expected: "a limit for each"}
	all := slices.DeleteFunc(slices.Clone(fact.Value), func(p evidence.Pod) bool {
		return !p.Unlimited || (p.Phase == "Succeeded" || p.Phase == "Failed") && p.MemoryUsed == 0 && !p.OutOfMemory
	})
	slices.SortFunc(all, func(a, b evidence.Pod) int {
		return cmp.Or(cmp.Compare(b.MemoryUsed, a.MemoryUsed), first(a.OutOfMemory, b.OutOfMemory), cmp.Compare(b.MemoryRequest, a.MemoryRequest),
			first(strings.HasPrefix(b.Owner, "DaemonSet/"), strings.HasPrefix(a.Owner, "DaemonSet/")),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case !fact.Known():
		seen.Observed = "unknown: " + fact.Missing("list of pods of node "+l.Finding.Node)
	case len(fact.Value) == 0:
		seen.Observed = "no pod is on the node"
	case len(all) == 0:
		seen.Observed = "a limit for each"
	default:
		seen.Observed = "none for " + some(all, shownPods)
		told = fmt.Sprintf("; %d of its pods %s no memory limit: %s", len(all), roll.Plural(len(all), "has", "have"), some(all, namedPods))
	}
	return told, seen
}

// first sorts what is true before what is false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// some are the first pods, with what is known of their memory, and how many more there are.
func some(all []evidence.Pod, most int) string {
	var words []string
	for _, p := range all[:min(most, len(all))] {
		words = append(words, fmt.Sprintf("%s/%s (%s)", p.Namespace, p.Name, appetite(p)))
	}
	if left := len(all) - most; left > 0 {
		words = append(words, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(words, ", ")
}

// appetite is what is known about a pod's memory. Its current use is not known.
func appetite(p evidence.Pod) string {
	request := "requests none"
	if p.MemoryRequest > 0 {
		request = "requests " + size(p.MemoryRequest)
	}
	switch {
	case p.MemoryUsed > 0:
		return "used " + size(p.MemoryUsed) + " when it was evicted, " + request
	case p.OutOfMemory:
		return "killed for lack of memory, " + request
	}
	return request
}

// size is a number of bytes as a quantity.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<30)), ".0") + "Gi"
	case n >= 1<<20:
		return fmt.Sprintf("%dMi", n>>20)
	}
	return fmt.Sprintf("%dKi", (n+1<<10-1)>>10)
}

// again says that nodes of the group, or this one, had the pressure within the day before
// it began, "" if none is known to have.
func (l *look) again(p pressure, at time.Time) (told string, seen roll.Evidence) {
	var before []string
	nodes := map[roll.InstanceID]bool{}
	for _, e := range l.Node().Remembered.Value.GroupPressures {
		own := e.Instance == l.Finding.Instance
		if e.Type != p.condition || e.Since.After(at) || at.Sub(e.Since) > lastingDay || own && at.Sub(e.Since) < lately { // or it may be this one
			continue
		}
		before = append(before, fmt.Sprintf("%s at %s", e.Node, roll.Clock(e.Since)))
		if !own {
			nodes[e.Instance] = true
		}
	}
	if len(before) == 0 {
		return "", seen
	}
	told = "; it did so before within 24 h"
	if n := len(nodes); n > 0 {
		told = fmt.Sprintf("; it is the %s node of %s within 24 h", ordinal(n+1), l.Finding.Group)
	}
	return told, roll.Evidence{
		Source: "earlier checks", Field: p.condition + " of nodes of " + string(l.Finding.Group), Observed: strings.Join(before, ", "), Expected: "none within 24 h before",
	}
}

// ordinal is a number from two on as it counts.
func ordinal(n int) string {
	words := []string{"second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprintf("%dth", n)
}
