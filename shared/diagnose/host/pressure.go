package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

const (
	// recent is how long before the silence a check may have seen a pressure for it to
	// count as what preceded it. Checks are minutes apart; a longer gap hides what
	// happened in between.
	recent = 30 * time.Minute
	// lately is how long before the silence a pressure may have ended, or a single event
	// may have come, and still have to do with it.
	lately = 15 * time.Minute
)

// pressure is something that a node can run short of.
type pressure struct {
	code      cause.Code
	condition string // of the node
	what      string
	// begins and ends are the reasons of the kubelet's events for the condition.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go
	begins, ends string
	// reclaims are the resources that EvictionThresholdMet names for it.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/eviction/helpers.go
	reclaims []string
	// alone are reasons of events that prove it by themselves: the kernel's killing for
	// want of memory of the machine, which the kubelet tells apart from a container's.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/oom/oom_watcher_linux.go
	alone []string
}

var kinds = []pressure{
	{cause.MemoryPressurePreceded, roll.MemoryPressure, "memory", "NodeHasInsufficientMemory", "NodeHasSufficientMemory", []string{"memory"}, []string{"SystemOOM"}},
	{cause.DiskPressurePreceded, roll.DiskPressure, "disk space", "NodeHasDiskPressure", "NodeHasNoDiskPressure", []string{"ephemeral-storage", "inodes"}, nil},
	{cause.PidPressurePreceded, roll.PIDPressure, "process ids", "NodeHasInsufficientPID", "NodeHasSufficientPID", []string{"pids"}, nil},
}

// proof is one thing that speaks for a pressure.
type proof struct {
	roll.Evidence
	sure bool
}

// preceded asks what a silent node ran short of before it went silent.
func (l *look) preceded() {
	for _, p := range kinds {
		proofs := slices.Concat(l.remembered(p), l.events(p), l.killed(p))
		switch {
		case len(proofs) > 0:
			l.s.Found(l.shortBefore(p, proofs))
		case l.wasWell(p):
			l.s.RuledOut(p.code)
		default:
			l.s.NotChecked(l.unseen(p), p.code)
		}
	}
}

// remembered is what an earlier check saw. The condition counts as it was then: if it
// ended before the silence, or the check lies long back, it is only a hint.
func (l *look) remembered(p pressure) []proof {
	r, ok := known(l.Node().Remembered)
	c, told := r.Condition(p.condition)
	if !ok || !told || c.Since.After(l.quiet().Add(slack)) {
		return nil
	}
	seen := roll.Evidence{Source: "earlier check", Field: "conditions[" + p.condition + "]", Expected: "False"}
	switch {
	case c.Status == string(roll.ConditionTrue):
		seen.Observed = fmt.Sprintf("True since %s, seen at %s", roll.Clock(c.Since), roll.Clock(r.At))
		return []proof{{seen, l.quiet().Sub(r.At) <= recent && !l.endedAfter(p, r.At)}}
	case c.Status == string(roll.ConditionFalse) && l.quiet().Sub(c.Since) <= lately && c.Reason == "":
		// The ledger remembers only what was True once; Since is when it ended.
		seen.Observed = "True until " + roll.Clock(c.Since)
		return []proof{{seen, false}}
	}
	return nil
}

// endedAfter reports that the kubelet told of the pressure's end after a moment.
func (l *look) endedAfter(p pressure, at time.Time) bool {
	return slices.ContainsFunc(l.own(), func(e evidence.Event) bool { return e.Reason == p.ends && e.Last.After(at) })
}

// own are the events of the node from before its silence. Names return with addresses:
// what is older than the node is another's.
func (l *look) own() []evidence.Event {
	from := l.Node().Object.Value.Created
	if launched := l.Config().Value.Launched; launched.After(from) {
		from = launched
	}
	return slices.DeleteFunc(slices.Clone(l.Node().Events.Value), func(e evidence.Event) bool {
		return e.Last.Before(from.Add(-slack)) || e.Last.After(l.quiet().Add(slack))
	})
}

// events are the kubelet's own words, unless it took them back later. Without the node
// and the instance nothing tells whose they are.
func (l *look) events(p pressure) []proof {
	whose := l.Node().Object.Known() && l.Config().Known()
	var begun, ended time.Time
	var out []proof
	for _, e := range l.own() {
		sure := whose && l.quiet().Sub(e.Last) <= lately
		switch {
		case e.Reason == p.begins:
			begun = e.Last
		case e.Reason == p.ends:
			ended = e.Last
		case slices.Contains(p.alone, e.Reason):
			out = append(out, proof{event(e), sure})
		case e.Reason == "EvictionThresholdMet" && p.reclaimed(e.Message):
			out = append(out, proof{event(e), sure && !l.endedAfter(p, e.Last)})
		}
	}
	if lasts := ended.Before(begun); lasts || !begun.IsZero() && l.quiet().Sub(ended) <= lately {
		seen := roll.Evidence{Source: "events", Field: p.begins, Observed: "at " + roll.Clock(begun), Expected: "none before the node went silent"}
		if !lasts {
			seen.Observed += ", ended at " + roll.Clock(ended)
		}
		out = append(out, proof{seen, whose && lasts})
	}
	return out
}

// reclaimed reports that the message of EvictionThresholdMet, "Attempting to reclaim
// memory", names a resource of the pressure.
func (p pressure) reclaimed(message string) bool {
	_, resource, ok := strings.Cut(message, "reclaim ")
	return ok && slices.Contains(p.reclaims, strings.TrimSpace(resource))
}

func event(e evidence.Event) roll.Evidence {
	return roll.Evidence{Source: "events", Field: e.Reason, Observed: e.Message + " at " + roll.Clock(e.Last), Expected: "none before the node went silent"}
}

// killed is the kernel's word on the console that the machine ran out of memory. Alone it
// only hints at a pressure: the kill itself is OutOfMemory, and nothing tells how long the
// node had run short.
func (l *look) killed(p pressure) []proof {
	if p.condition != roll.MemoryPressure {
		return nil
	}
	f, when := l.sign(console.OutOfMemory)
	if when == nowhere || when == past || when == stale && !l.justBefore() {
		return nil
	}
	return []proof{{line(f, "no process killed for want of memory"), false}}
}

func (l *look) shortBefore(p pressure, proofs []proof) roll.Cause {
	confidence := roll.Suggestive
	var seen []roll.Evidence
	for _, proof := range proofs {
		if proof.sure {
			confidence = roll.Decisive
		}
		seen = append(seen, proof.Evidence)
	}
	told := "ran short of " + l.what(p) + " before it went silent"
	if confidence != roll.Decisive {
		told = "may have run short of " + l.what(p) + " before it went silent"
	}
	since := l.quiet()
	if c, ok := l.Node().Remembered.Value.Condition(p.condition); ok && c.Status == string(roll.ConditionTrue) {
		since = c.Since
	}
	return l.more(p, roll.Cause{
		Code: p.code, Confidence: confidence,
		Summary:  fmt.Sprintf("node %s %s at %s", l.Finding.Node, told, roll.Clock(l.quiet())),
		Evidence: seen, Fix: l.relieve(p, true),
	}, since)
}

// what is what the node runs short of, in words.
func (l *look) what(p pressure) string {
	if p.condition == roll.DiskPressure && l.inodes() {
		return "inodes, that is of files that its disk can hold, whatever is free of it"
	}
	return p.what
}

// inodes reports that the kubelet says so: of the condition alone bytes and inodes cannot be told apart.
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals
func (l *look) inodes() bool {
	for _, e := range l.Node().Events.Value {
		if e.Reason == "EvictionThresholdMet" && strings.HasSuffix(e.Message, "reclaim inodes") {
			return true
		}
	}
	for _, p := range l.Node().Pods.Value {
		for _, e := range p.Events {
			if e.Reason == "Evicted" && strings.Contains(e.Message, "low on resource: inodes") {
				return true
			}
		}
	}
	return false
}

// relieve is what helps a node that runs short, and what keeps it from coming back. To
// look comes first: with the instance goes what there is to see. A node that is in order but
// for its pressure does its work, and is not to be ended for it.
func (l *look) relieve(p pressure, broken bool) string {
	look, end := pods(l.Finding.Node)+"   # which of them start so many processes? podPidsLimit in the kubelet's configuration bounds them", l.reboot()
	switch p.condition {
	case roll.MemoryPressure:
		look = limits(l.Finding.Node) + "   # give those without limits some, or reserve more for the system (kubeReserved, systemReserved)"
	case roll.DiskPressure:
		look, end = pods(l.Finding.Node)+"   # which of them fill the disk? limit ephemeral-storage, or give the group larger volumes", l.replace()
		if l.inodes() {
			look = pods(l.Finding.Node) + "   # which of them make so many files (df -i)? have them delete some, or give the group larger volumes, which hold more"
		}
	}
	if !broken {
		return look
	}
	return paste.Lines(look, end)
}

// wasWell reports that a check saw shortly before the silence that the node did not run
// short, or had long ceased to, and that its events tell of none since.
func (l *look) wasWell(p pressure) bool {
	r, ok := known(l.Node().Remembered)
	c, told := r.Condition(p.condition)
	return ok && told && c.Status == string(roll.ConditionFalse) && l.quiet().Sub(r.At) <= recent && l.Node().Events.Known()
}

// unseen says why nothing is known of what preceded the silence.
func (l *look) unseen(p pressure) string {
	n := l.Node()
	switch {
	case !n.Remembered.Settled():
		return n.Remembered.Missing("memory of node " + l.Finding.Node)
	case !n.Events.Known():
		return n.Events.Missing("list of events of node " + l.Finding.Node)
	}
	return fmt.Sprintf("no check saw the condition %s of node %s shortly before it went silent, and that its events and console show no sign proves nothing", p.condition, l.Finding.Node)
}

// pressures asks what a node that speaks runs short of now. That has pods evicted, and
// does not by itself make a node unready.
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
func (l *look) pressures() {
	var codes []cause.Code
	for _, p := range kinds {
		codes = append(codes, p.code)
	}
	n, ok := l.object(codes...)
	if !ok {
		return
	}
	for _, p := range kinds {
		switch c, told := n.Condition(p.condition); {
		case !told || c.Status == string(roll.ConditionUnknown):
			l.s.NotChecked(fmt.Sprintf("node %s does not tell its condition %s", n.Name, p.condition), p.code)
		case c.Status == string(roll.ConditionFalse):
			l.s.RuledOut(p.code)
		default:
			l.s.Found(l.shortNow(p, c))
		}
	}
}

// shortNow is a pressure that lasts. It is what is wrong where the finding is about it, and
// else may only have to do with it.
func (l *look) shortNow(p pressure, c evidence.Condition) roll.Cause {
	confidence, follows := roll.Suggestive, "its pods are evicted and new ones kept off, which may hold up what it needs to be ready, and does not by itself make it unready"
	if l.Finding.Condition == p.condition {
		confidence, follows = roll.Decisive, "its kubelet evicts pods, and may fall silent if that does not help"
	}
	return l.more(p, roll.Cause{
		Code: p.code, Confidence: confidence,
		Summary:  fmt.Sprintf("node %s runs short of %s since %s: %s", l.Finding.Node, l.what(p), roll.Clock(c.Since), follows),
		Evidence: []roll.Evidence{{Source: "node", Field: "status.conditions[" + p.condition + "]", Observed: said(c), Expected: "False"}},
		Fix:      l.relieve(p, l.Finding.Kind != roll.ConditionFailed),
	}, c.Since)
}
