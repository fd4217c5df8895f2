package sim

import (
	"strings"
	"time"
)

// EventKind is what sort of thing happened.
type EventKind string

// The kinds of events.
const (
	EventFault    EventKind = "fault"    // a fault of the scenario begins, or is over
	EventLaunch   EventKind = "launch"   // an owner launched a machine
	EventAilment  EventKind = "ailment"  // a machine fell ill, or got well
	EventState    EventKind = "state"    // a Node came, or its readiness changed: Stage says to what
	EventEnd      EventKind = "end"      // a machine was ended; Detail says by whom
	EventFinding  EventKind = "finding"  // Rollcall opened, escalated or resolved a finding
	EventNotice   EventKind = "notice"   // a notice was published
	EventHeld     EventKind = "held"     // Rollcall held an act back
	EventOrder    EventKind = "order"    // Rollcall ordered an act
	EventAct      EventKind = "act"      // Rollcall acted, or failed to
	EventKilled   EventKind = "killed"   // a function was killed
	EventCheck    EventKind = "check"    // a check was completed
	EventViolated EventKind = "violated" // an invariant was broken
	EventArose    EventKind = "arose"    // the situation of a fault is there; Stage is the fault
)

// The stages of an EventState.
const (
	StateRegistered = "registered"
	StateReady      = "ready"
	StateNotReady   = "not-ready"
	StateUnknown    = "unknown"
)

// Event is something that happened in a run and is worth telling.
type Event struct {
	At       time.Time
	Kind     EventKind
	Cluster  string
	Instance string
	Node     string
	Group    string // as Rollcall names it
	Finding  string // the kind of the finding, for what Rollcall says
	Cause    string
	Action   string
	Reason   string // for which something is held or refused
	Stage    string
	Subject  string // of a notice
	Text     string // of a notice, as email
	Fix      string // of a finding's first decisive cause
	Detail   string
}

// String is the event on one line, for a history.
func (e Event) String() string {
	parts := []string{e.At.Format("02 15:04:05"), string(e.Kind)}
	for _, part := range []string{e.Cluster, e.Group, e.Instance, e.Node, e.Finding, e.Stage, e.Cause, e.Action, e.Reason, e.Subject, e.Detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}
