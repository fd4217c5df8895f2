package sim

import (
	"strings"
	"time"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	EventFault    EventKind = "fault"    // a fault of the scenario begins or ends
	EventLaunch   EventKind = "launch"   // an owner launched a machine
	EventAilment  EventKind = "ailment"  // a machine became faulty or recovered
	EventState    EventKind = "state"    // a Node was registered, or its readiness changed; Stage is the new state
	EventEnd      EventKind = "end"      // a machine was terminated; Detail says by whom
	EventFinding  EventKind = "finding"  // Rollcall opened, escalated or resolved a finding
	EventNotice   EventKind = "notice"   // a notice was published
	EventHeld     EventKind = "held"     // Rollcall held an act
	EventOrder    EventKind = "order"    // Rollcall ordered an act
	EventAct      EventKind = "act"      // Rollcall acted, or failed to act
	EventKilled   EventKind = "killed"   // a function was killed
	EventViolated EventKind = "violated" // an invariant was broken
	EventArose    EventKind = "arose"    // the situation of a fault began; Stage is the fault
)

// The stages of an EventState.
const (
	StateRegistered = "registered"
	StateReady      = "ready"
	StateNotReady   = "not-ready"
	StateUnknown    = "unknown"
)

// Event is something that happened in a run and is worth reporting.
type Event struct {
	At       time.Time
	Kind     EventKind
	Cluster  string
	Instance string
	Node     string
	Group    string // as Rollcall names it
	Finding  string // the kind of the finding, for events of Rollcall
	Cause    string
	Action   string
	Reason   string // why an act is held or refused
	Stage    string
	Subject  string // of a notice
	Text     string // the email text of a notice
	Fix      string // how to fix a finding's first decisive cause
	Detail   string
}

// String returns the event on one line, for a history.
func (e Event) String() string {
	parts := []string{e.At.Format("02 15:04:05"), string(e.Kind)}
	for _, part := range []string{e.Cluster, e.Group, e.Instance, e.Node, e.Finding, e.Stage, e.Cause, e.Action, e.Reason, e.Subject, e.Detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// Situation is a decision about a kind of finding in a group that a fault affected: a measure of test coverage.
type Situation struct {
	// Fault is the latest unfinished fault of the group, its cluster or the account, if any.
	Fault    FaultKind `json:"fault,omitempty"`
	Finding  string    `json:"finding"`  // the kind of the finding
	Decision string    `json:"decision"` // the action that was ordered, or the reason why one was held
}

// latestFault returns the latest unfinished fault of the group, its cluster or the account.
func (a *account) latestFault(cluster, group string) (kind FaultKind) {
	var latest time.Duration
	for _, f := range a.sc.Faults {
		lasts := f.At <= a.now && (f.For == 0 || a.now < f.At+f.For)
		here := (f.Cluster == "" || f.Cluster == cluster) && (f.Group == "" || f.Group == group)
		if lasts && here && f.At >= latest {
			kind, latest = f.Kind, f.At
		}
	}
	return kind
}

func (a *account) decided(e Event) {
	s := Situation{Finding: e.Finding}
	switch e.Kind {
	case EventOrder:
		s.Decision = e.Action
	case EventHeld:
		s.Decision = e.Reason
	default:
		return
	}
	group := ""
	if c := a.byName[e.Cluster]; c != nil {
		if g := c.groupNamed(e.Group); g != nil {
			group = g.name
		}
	}
	s.Fault = a.latestFault(e.Cluster, group)
	a.decisions[s]++
}
