// Package host looks for what befell the machine: a kubelet that went silent and what
// preceded that, kernel and disk as far as the console tells of them, EC2's status
// checks, an instance that is stopped, and conditions of the node monitoring agent that
// stay as they are.
//
// What a node's conditions say of its memory, disk and processes is gone once it is
// silent: the control plane overwrites them with Unknown. So what preceded the silence
// is told by what an earlier check remembers, by events, or by the console.
// https://kubernetes.io/docs/reference/node/node-status/#condition
//
// Console output has no time of its own. What is printed in an earlier boot than the
// last is over, and output that EC2 took before the trouble began tells nothing of it; a
// sign in the last boot counts, however long it has stood there.
//
// The package is pure.
package host

import (
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the machine of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	l := &look{Case: c, s: s}
	switch c.Finding.Kind {
	case roll.Unknown:
		l.silent()
		l.preceded()
		l.console()
		l.accelerator()
		l.checks()
		l.stopped()
	case roll.NotReady:
		l.pressures()
		l.console()
		l.accelerator()
		l.checks()
		l.stopped()
	case roll.Uninitialized:
		l.pressures()
		l.console()
		l.stopped()
	case roll.Flapping:
		l.pressures()
		l.console()
	case roll.Unregistered:
		l.console()
		l.checks()
		l.stopped()
	case roll.Impaired:
		l.console()
		l.accelerator()
		l.checks()
		l.otherChecks()
		l.stopped()
	case roll.ConditionFailed:
		l.latched()
		if l.Finding.Condition == roll.AcceleratedHardware {
			l.accelerator()
		}
		if slices.ContainsFunc(kinds, func(p pressure) bool { return p.condition == l.Finding.Condition }) {
			l.pressures()
		}
		l.stopped()
	}
}

// look is one look at a finding.
type look struct {
	*evidence.Case
	s *cause.Sheet
}

// slack is by how much clocks and heartbeats may disagree: the control plane calls a
// node silent up to a minute after its last word.
const slack = 2 * time.Minute

// began is when the trouble began, as far as that is told.
func (l *look) began() time.Time {
	if l.Finding.Began.IsZero() {
		return l.Finding.Since
	}
	return l.Finding.Began
}

// quiet is when the node was last heard of: the control plane says when it took it for
// silent, and the lease when it was renewed.
func (l *look) quiet() time.Time {
	at := l.began()
	if n := l.Node().Object; n.Known() {
		if r, ok := n.Value.Condition("Ready"); ok && r.Status == string(roll.ConditionUnknown) && !r.Since.IsZero() {
			at = r.Since
		}
	}
	if lease := l.Node().Lease; lease.Known() && lease.Value.Renewed.Before(at) && !lease.Value.Renewed.IsZero() {
		at = lease.Value.Renewed
	}
	return at
}

// object is the finding's node; without it the codes are not checked.
func (l *look) object(codes ...cause.Code) (evidence.NodeObject, bool) {
	fact := l.Node().Object
	if !fact.Known() {
		l.s.NotChecked(fact.Missing("node "+l.Finding.Node), codes...)
	}
	return fact.Value, fact.Known()
}

// said is a condition's status, reason and message in one text.
func said(c evidence.Condition) string {
	text := c.Status
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// known is a fact's value and whether there is one.
func known[T any](f evidence.Fact[T]) (T, bool) { return f.Value, f.Known() }
