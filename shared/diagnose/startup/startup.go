// Package startup looks for what keeps a node that exists from becoming ready for work:
// startup taints that nobody takes off, a network plugin that does not start, resources
// that nothing registers, labels that contradict what the node was launched for, kubelets
// that start twice, and taints that Karpenter was not
// told of and launches further nodes for.
//
// The package is pure.
package startup

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the start of the case's node.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	l := &look{Case: c, s: s}
	switch c.Finding.Kind {
	case roll.Uninitialized:
		l.taints()
		l.resources()
		l.labels()
		l.network()
		l.undeclared()
		l.restarts()
		l.duplicates()
	case roll.NotReady:
		l.labels()
		l.network()
		l.undeclared()
		l.restarts()
		l.duplicates()
	case roll.Flapping:
		l.undeclared()
		l.restarts()
		l.duplicates()
	case roll.Unknown:
		l.restarts()
	case roll.Unregistered:
		l.duplicates()
	}
}

// look is one look at a finding.
type look struct {
	*evidence.Case
	s *cause.Sheet
}

// object is the finding's node; without it the codes are not checked.
func (l *look) object(codes ...cause.Code) (evidence.NodeObject, bool) {
	fact := l.Node().Object
	if !fact.Known() {
		l.s.NotChecked(fact.Missing("node "+l.Finding.Node), codes...)
	}
	return fact.Value, fact.Known()
}

// karpenters reports that Karpenter launched the instance, a cluster's own one or that
// of Auto Mode.
func (l *look) karpenters() bool {
	return l.Finding.Owner == roll.OwnerKarpenter || l.Finding.Owner == roll.OwnerAutoMode
}

// age is how long ago the node was created.
func (l *look) age(n evidence.NodeObject) time.Duration { return l.At.Sub(n.Created) }

// overdue reports that the finding's tolerance is over.
func (l *look) overdue() bool { return l.Finding.Stage == roll.Overdue }

// told is a taint as kubectl writes it, without its value: that counts for nobody.
func told(t evidence.Taint) string { return t.Key + ":" + t.Effect }

// has reports whether the list holds the taint: its key and effect, as Kubernetes and
// Karpenter compare taints.
// https://pkg.go.dev/k8s.io/api/core/v1#Taint.MatchTaint
func has(list []evidence.Taint, t evidence.Taint) bool {
	for _, other := range list {
		if other.Key == t.Key && other.Effect == t.Effect {
			return true
		}
	}
	return false
}

// all are taints in one text, "none" if there are none.
func all(list []evidence.Taint) string {
	if len(list) == 0 {
		return "none"
	}
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = told(t)
	}
	return strings.Join(out, ", ")
}

// ready is a node's condition Ready; its zero value if the node has none yet.
func ready(n evidence.NodeObject) evidence.Condition {
	c, _ := n.Condition("Ready")
	return c
}

// minutes is a duration to the minute.
func minutes(d time.Duration) string { return fmt.Sprintf("%.0f min", d.Minutes()) }
