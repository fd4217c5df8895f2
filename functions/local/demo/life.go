package demo

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// life is the history of one instance during the day.
type life struct {
	instance, node, group string
	launched, ended       time.Time // zero if before or after the day
	by                    string    // who terminated it, and why
	events                []sim.Event
	troubles              []*trouble
}

// trouble is a finding about an instance, from its first report to its end.
type trouble struct {
	*life
	kind   string
	since  time.Time // when the fault began
	told   time.Time // when it was first reported
	until  time.Time // when it ended; zero if it did not
	stage  string    // the latest
	causes []roll.Cause
	held   []hold
	acts   []act
	why    string // the reason in an order
}

// hold is an act that was held, and the reason.
type hold struct{ action, reason string }

// act is an act that Rollcall ordered on an instance, and whether it was done.
type act struct {
	at      time.Time // when it was done, if the history shows it, or ordered
	done    bool
	action  string
	evicted int // number of pods that a drain evicted
}

// lives returns the instances of a cluster that have events, in the order of their first
// event.
func (s *story) lives(cluster string) []*life {
	var out []*life
	known := map[string]*life{}
	for _, e := range s.events {
		if e.Cluster != cluster || e.Instance == "" {
			continue
		}
		l := known[e.Instance]
		if l == nil {
			l = &life{instance: e.Instance, group: e.Group}
			known[e.Instance], out = l, append(out, l)
		}
		l.live(e)
	}
	for _, t := range all(out) {
		if at, ok := s.deleted(cluster); ok && roll.Kind(t.kind) == roll.Orphaned && at.Before(t.told) {
			t.since = at
		}
	}
	return out
}

// deleted returns when a cluster was deleted, and whether it was.
func (s *story) deleted(cluster string) (time.Time, bool) {
	for _, f := range s.day.Faults {
		if f.Kind == sim.FaultDeleted && (f.Cluster == "" || f.Cluster == cluster) {
			return s.day.Start.Add(f.At), true
		}
	}
	return time.Time{}, false
}

func (l *life) live(e sim.Event) {
	if e.Node != "" {
		l.node = e.Node
	}
	l.events = append(l.events, e)
	switch e.Kind {
	case sim.EventLaunch:
		l.launched = e.At
	case sim.EventEnd:
		l.ended, l.by = e.At, strings.TrimPrefix(e.Detail, "ended by ")
	case sim.EventAct:
		l.acted(e)
	case sim.EventFinding:
		l.found(e)
	case sim.EventHeld:
		if t := l.open(e.Finding); t != nil && !passing(e.Reason) {
			if h := (hold{e.Action, e.Reason}); !slices.Contains(t.held, h) {
				t.held = append(t.held, h)
			}
		}
	case sim.EventOrder:
		l.ordered(e)
	}
}

// Words of the history.
const (
	rollcall  = "Rollcall" // who acted
	wellAgain = "well again"
	drain     = "drain"
	evict     = "evict"
)

// open returns the finding of a kind that has not ended, nil if there is none.
func (l *life) open(kind string) *trouble {
	t, _ := roll.Find(l.troubles, func(t *trouble) bool { return t.kind == kind && t.until.IsZero() })
	return t
}

func (l *life) found(e sim.Event) {
	t := l.open(e.Finding)
	switch {
	case e.Stage == "resolved":
		if t != nil {
			t.until = e.At
		}
		return
	case t == nil:
		t = &trouble{life: l, kind: e.Finding, told: e.At, since: l.began(e)}
		l.troubles = append(l.troubles, t)
	}
	t.stage = e.Stage
	if e.Cause != "" && !slices.ContainsFunc(t.causes, func(c roll.Cause) bool { return c.Code == e.Cause }) {
		t.causes = append(t.causes, roll.Cause{Code: e.Cause, Confidence: "decisive", Summary: e.Detail, Fix: e.Fix})
	}
}

// began returns when the fault of a finding began, as far as the history shows it.
func (l *life) began(e sim.Event) time.Time {
	if roll.Kind(e.Finding) == roll.Unregistered && !l.launched.IsZero() {
		return l.launched
	}
	for _, b := range slices.Backward(l.events) {
		if b.Kind != sim.EventState {
			continue
		}
		switch roll.Kind(e.Finding) {
		case roll.NotReady, roll.Unknown:
			if b.Stage == sim.StateNotReady || b.Stage == sim.StateUnknown {
				return b.At
			}
		case roll.Uninitialized:
			if b.Stage == sim.StateRegistered {
				return b.At
			}
		}
	}
	return e.At
}

// ordered records an order; a repeated order is the same order. An order that undoes an act
// may come after the end of the finding.
func (l *life) ordered(e sim.Event) {
	t := l.open(e.Finding)
	for _, over := range l.troubles {
		if t == nil && over.kind == e.Finding {
			t = over
		}
	}
	if t == nil {
		return
	}
	t.why = e.Detail
	if n := len(t.acts); n > 0 {
		if t.acts[n-1].action == e.Action {
			return
		}
		if t.acts[n-1].action == drain { // the next step follows a finished drain
			t.acts[n-1].done = true
		}
	}
	t.acts = append(t.acts, act{at: e.At, action: e.Action})
}

// acted records that an order was carried out. The history shows each eviction of a drain.
func (l *life) acted(e sim.Event) {
	for _, t := range l.troubles {
		for i, a := range t.acts {
			switch {
			case a.done:
			case a.action == drain && e.Action == evict:
				t.acts[i].evicted++
				return
			case a.action == e.Action:
				t.acts[i].at, t.acts[i].done = e.At, true
				return
			}
		}
	}
}

// ill reports whether the instance gets a lane: it became unhealthy, or something was
// found, held or done about it. A replacement by its owner is not enough.
func (l *life) ill() bool {
	return slices.ContainsFunc(l.events, func(e sim.Event) bool {
		if !l.ended.IsZero() && e.At.After(l.ended) {
			return false
		}
		switch e.Kind {
		case sim.EventAilment:
			return e.Detail != wellAgain
		case sim.EventFinding, sim.EventHeld, sim.EventOrder, sim.EventAct:
			return true
		case sim.EventState:
			return e.Stage == sim.StateNotReady || e.Stage == sim.StateUnknown
		}
		return false
	})
}

// ready returns the first event after a time by which the instance's node is Ready.
func (l *life) ready(after time.Time) (sim.Event, bool) {
	return roll.Find(l.events, func(e sim.Event) bool {
		return e.Kind == sim.EventState && e.Stage == sim.StateReady && e.At.After(after)
	})
}

// replaced returns who other than Rollcall terminated the instance during the finding, and
// why.
func (t *trouble) replaced() string {
	if t.by == rollcall || t.ended.IsZero() || !t.until.IsZero() && t.ended.After(t.until) {
		return ""
	}
	return t.by
}

func (t *trouble) name() string {
	return t.kind + " (" + cmp.Or(t.code(), "no decisive cause") + ")"
}

// orphaned returns since when the instance has no owner.
func (l *life) orphaned() time.Time {
	for _, t := range l.troubles {
		if roll.Kind(t.kind) == roll.Orphaned {
			return t.since
		}
	}
	return time.Time{}
}

// code returns the code of the first cause, "" if none was found.
func (t *trouble) code() string {
	if len(t.causes) == 0 {
		return ""
	}
	return t.causes[0].Code
}
