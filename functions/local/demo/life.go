package demo

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// life is what became of one instance in the day.
type life struct {
	instance, node, group string
	launched, ended       time.Time // zero: before the day, after it
	by                    string    // who ended it, and why
	events                []sim.Event
	troubles              []*trouble
}

// trouble is a finding about an instance, from the first word of it until it was over.
type trouble struct {
	*life
	kind   string
	since  time.Time // when what it is about began
	told   time.Time // when it was first found
	until  time.Time // when it was over; zero if it was not
	stage  string    // the last
	causes []roll.Cause
	held   []string // what was held back, and why
	acts   []act
	why    string // what an order says of it
}

// act is what Rollcall ordered about an instance, and whether it was done.
type act struct {
	at           time.Time // when it was done, as far as the history tells, or ordered
	done         bool
	kind, action string
	evicted      int // pods, of a drain
}

// lives are the instances of a cluster of which something is told, the first first.
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

// deleted is when a cluster was deleted.
func (s *story) deleted(cluster string) (time.Time, bool) {
	for _, f := range s.day.Faults {
		if f.Kind == sim.FaultDeleted && (f.Cluster == "" || f.Cluster == cluster) {
			return s.day.Start.Add(f.At), true
		}
	}
	return time.Time{}, false
}

// live adds what happened next.
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
			if what := e.Action + " (" + e.Reason + ")"; !slices.Contains(t.held, what) {
				t.held = append(t.held, what)
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

// open is the finding of a kind that is not over, nil if there is none.
func (l *life) open(kind string) *trouble {
	for _, t := range l.troubles {
		if t.kind == kind && t.until.IsZero() {
			return t
		}
	}
	return nil
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

// began is when what a finding is about began, as far as the history tells.
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

// ordered notes an order; one that is given again is the same. What undoes an act may be
// ordered when the finding is over.
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
		if t.acts[n-1].action == drain { // the next step follows when a drain is done
			t.acts[n-1].done = true
		}
	}
	t.acts = append(t.acts, act{at: e.At, kind: e.Finding, action: e.Action})
}

// acted notes that what was ordered happened. Of a drain the history tells each eviction.
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

// ill reports whether the instance deserves a lane: it fell ill, or something was found,
// held or done about it. That an owner replaced it deserves none.
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

// next is the first thing of a kind that happened to the instance after a moment.
func (l *life) next(after time.Time, kind sim.EventKind, stage string) (sim.Event, bool) {
	for _, e := range l.events {
		if e.Kind == kind && e.At.After(after) && (stage == "" || e.Stage == stage) {
			return e, true
		}
	}
	return sim.Event{}, false
}

// replaced says who but Rollcall ended the instance while the finding was there, and why.
func (t *trouble) replaced() string {
	if t.by == rollcall || t.ended.IsZero() || !t.until.IsZero() && t.ended.After(t.until) {
		return ""
	}
	return t.by
}

// name is what was found, and the first cause of it.
func (t *trouble) name() string {
	return t.kind + " (" + cmp.Or(t.code(), "no decisive cause") + ")"
}

// orphaned is since when nothing owns the instance.
func (l *life) orphaned() time.Time {
	for _, t := range l.troubles {
		if roll.Kind(t.kind) == roll.Orphaned {
			return t.since
		}
	}
	return time.Time{}
}

// code is the first cause, "" if none was found.
func (t *trouble) code() string {
	if len(t.causes) == 0 {
		return ""
	}
	return t.causes[0].Code
}
