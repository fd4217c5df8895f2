package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

const (
	// leads is how long before a node leaves Ready the reason may have been reported. The control plane
	// marks it less than a minute after its last heartbeat; an overloaded kubelet reports late.
	leads = 3 * time.Minute
	// few is how often a reason must have come before a node left Ready to be more than chance.
	few = 2
)

// window returns the node's events of the time in which its returns count.
func (l *look) window() []evidence.Event {
	from := roll.Later(l.At.Add(-roll.FlapWindow-leads), l.born())
	return slices.DeleteFunc(slices.Clone(l.Node().Events.Value), func(e evidence.Event) bool { return e.Last.Before(from) })
}

// times returns when the events with such a reason occurred, as far as they are known: an event that
// occurred more than twice has only its first and last time.
func times(events []evidence.Event, such func(evidence.Event) bool) (out []time.Time) {
	for _, e := range events {
		if !such(e) {
			continue
		}
		if !e.First.IsZero() && e.First.Before(e.Last) {
			out = append(out, e.First)
		}
		out = append(out, e.Last)
	}
	return out
}

// before returns how many of the times at which the node left Ready came right after one of the reasons,
// and of how many. sure: it is most of them, and not once.
func (l *look) before(reasons []time.Time) (after, losses int, sure bool) {
	left := times(l.window(), func(e evidence.Event) bool { return e.Reason == "NodeNotReady" })
	for _, loss := range left {
		if slices.ContainsFunc(reasons, func(t time.Time) bool { return !t.After(loss) && loss.Sub(t) <= leads }) {
			after++
		}
	}
	return after, len(left), after >= few && 2*after >= len(left) && l.Node().Object.Known() && l.Config().Known()
}

// flaps checks what a node ran short of each time before it left Ready. That it has enough while it is
// Ready says nothing about that.
func (l *look) flaps() {
	object, events := l.Node().Object, l.Node().Events
	for _, p := range kinds {
		begun := times(l.window(), func(e evidence.Event) bool {
			return e.Reason == p.begins || e.Reason == "EvictionThresholdMet" && p.reclaimed(e.Message)
		})
		c, _ := object.Value.Condition(p.condition)
		switch {
		case !object.Known():
			l.Note(p.code, l.NoNode())
		case len(begun) > 0:
			after, losses, sure := l.before(begun)
			l.Note(p.code, l.more(p, cause.DecisiveIf(sure).
				Says("node %s ran short of %s right before %d of the %d times at which it is known to have left Ready", l.Finding.Node, l.what(p), after, losses).
				Saw("events", p.begins, "at "+clocks(begun), "none before the node left Ready").Fix(l.relieve(p, true)), begun[0]))
		case c.Status == string(roll.ConditionTrue):
			l.Note(p.code, l.shortNow(p, c))
		case !events.Known():
			l.NotChecked(events.Missing("list of events of node "+l.Finding.Node), p.code)
		default:
			l.NotChecked(fmt.Sprintf("that node %s has enough while it is Ready, and that its events show no sign, proves nothing", l.Finding.Node), p.code)
		}
	}
}

// kills returns the verdict on the kernel's kills for lack of memory that the kubelet reported, if there
// are any: decisive if most of the times at which a node left Ready came right after one.
// https://github.com/awslabs/amazon-eks-ami/issues/1145
func (l *look) kills() (cause.Verdict, bool) {
	if l.Finding.Kind != roll.Flapping && l.Finding.Kind != roll.NotReady {
		return cause.Verdict{}, false
	}
	killed := slices.DeleteFunc(l.window(), func(e evidence.Event) bool { return e.Reason != "SystemOOM" })
	if len(killed) == 0 {
		return cause.Verdict{}, false
	}
	at := times(killed, func(evidence.Event) bool { return true })
	v := cause.Suggestive().Fix(l.after(cause.OutOfMemory)).Shows(event(killed[len(killed)-1]))
	if l.Finding.Kind == roll.NotReady {
		return v.Says("the instance of node %s ran out of memory, at %s, and the kernel killed processes", l.Finding.Node, clocks(at)), true
	}
	after, losses, sure := l.before(at)
	return v.DecisiveIf(sure).
		Says("the instance of node %s ran out of memory, and the kernel killed processes, right before %d of the %d times at which it is known to have left Ready", l.Finding.Node, after, losses).
		Saw("events", "SystemOOM", "at "+clocks(at), "none before the node left Ready"), true
}

// clocks returns times as text.
func clocks(at []time.Time) string {
	at = slices.SortedFunc(slices.Values(at), time.Time.Compare)
	return strings.Join(roll.Map(at, roll.Clock), ", ")
}

// rebooted reports whether the kubelet said more than once within the window that its machine was
// rebooted.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go
func (l *look) rebooted() bool {
	return len(times(l.window(), func(e evidence.Event) bool { return e.Reason == "Rebooted" })) >= few
}
