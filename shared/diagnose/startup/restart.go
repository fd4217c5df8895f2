package startup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// When several kubelet starts are a flap of the node's start, which passes.
const (
	// starting is how long after the node's creation its kubelet may start again: as long as a
	// node counts as young.
	starting = young
	// settling is the maximum age of the node. It is twice the quarter of an hour that
	// Karpenter (registrationTimeout) and EKS (NodeCreationFailure) give a new node. Restarts
	// that go on longer are no longer a start, and do not hold acts.
	// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/liveness.go
	// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html
	settling = 30 * time.Minute
	// crashing is the number of starts that is too many for a flap that passes: systemd
	// restarts a failing kubelet about every 5 s, without end.
	crashing = 6
	// early is how long before the node's creation its kubelet may have reported its start: it
	// does so before it registers. Names return with addresses, so older events may be another
	// node's.
	early = time.Minute
)

// starts counts a kubelet's starts as its events report them.
type starts struct {
	young int // within starting of the node's creation
	later int // after that
	last  time.Time
}

// countStarts reads the kubelet's events "Starting kubelet."; kube-proxy's events have the same
// reason.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/events/event.go
func countStarts(events []evidence.Event, created time.Time) starts {
	var s starts
	for _, e := range events {
		if e.Reason != "Starting" || e.Message != "Starting kubelet." || e.Last.Before(created.Add(-early)) {
			continue
		}
		n := max(1, e.Count)
		if e.First.Before(created.Add(-early)) {
			n = 1 // which of them are the node's own is unknown
		}
		if e.Last.After(created.Add(starting)) {
			s.later += n
		} else {
			s.young += n
		}
		s.last = roll.Later(s.last, e.Last)
	}
	return s
}

// restarts checks whether a new node's kubelet started more than once while its lease is
// renewed. Such a node loses its readiness once more and gets it back.
func (l *look) restarts() cause.Verdict {
	n, ok := l.node()
	if !ok {
		return l.NoNode()
	}
	events, lease := l.Node().Events, l.Node().Lease
	s := countStarts(events.Value, n.Created)
	switch {
	case l.overdue() && started(n):
		return cause.RuledOut // it waits for something else
	case !events.Known():
		return cause.Missing(events, "list of events of node "+n.Name)
	case l.age(n) >= settling && s.young < 2, s.young == 1, s.young == 0 && s.later > 0:
		return cause.RuledOut
	case s.young < 2:
		return cause.NotChecked("the events of node " + n.Name + " show no start of its kubelet, which proves nothing")
	case !lease.Settled():
		return cause.Missing(lease, "lease of node "+n.Name)
	case !lease.Known() || !lease.Value.Fresh(l.At):
		return cause.RuledOut // its kubelet does not run: a failed start is no flap
	}
	return l.restarted(n, s, lease.Value)
}

// afterStart are words that a kubelet says only when it has started: its runtime must have answered before it
// can be down, and so must the list of its pods. Until then it says that the runtime's status "may not have
// completed yet", and that the PLEG "has yet to be successful".
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/runtime.go
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/pleg/generic.go
var afterStart = []string{"container runtime is down", "pleg was last seen active"}

// started reports whether the node is not ready for a reason that came after the last start of its kubelet.
func started(n evidence.NodeObject) bool {
	r := ready(n)
	says := func(words string) bool { return strings.Contains(r.Message, words) }
	return n.AwaitsNetwork() || r.Status == string(roll.ConditionFalse) && slices.ContainsFunc(afterStart, says)
}

// flap reports whether the starts are those of a node that is still starting.
func (l *look) flap(n evidence.NodeObject, s starts) bool {
	return s.young >= 2 && s.young < crashing && s.later == 0 && l.age(n) < settling
}

// recovering reports whether a node is Ready again, still within its time, and not known to
// wait for a startup taint or a resource. Otherwise the flap of a Ready node is over, and it is
// not initialized for another reason.
func (l *look) recovering(n evidence.NodeObject) bool {
	claim := l.NodeClaim()
	c, _ := claim.Value.Condition("Initialized")
	return l.Finding.Kind == roll.Uninitialized && !l.overdue() && len(l.remaining(n)) == 0 &&
		(!l.karpenters() || claim.Known() && !resourceReason(c))
}

// surprising returns an undeclared taint on a Karpenter node, "" if it has none. Such a node's
// fault does not pass with its flap.
func (l *look) surprising(n evidence.NodeObject) string {
	if !l.karpenters() {
		return ""
	}
	d, _ := l.declared(l.NodeClaim())
	if found := d.surprises(n); len(found) > 0 {
		return told(found[0].Taint)
	}
	return ""
}

func (l *look) restarted(n evidence.NodeObject, s starts, lease evidence.Lease) cause.Verdict {
	sure, outcome := false, "which may be why it was not ready at first"
	if l.flap(n, s) && (ready(n).Status != string(roll.ConditionTrue) || l.Finding.Kind == roll.Flapping || l.recovering(n)) {
		sure, outcome = true, "and it renews its lease: a flap during startup, which passes and is not a fault"
		if t := l.surprising(n); t != "" {
			sure, outcome = false, "and it renews its lease; but it has the taint "+t+", which nothing declares, so the flap may not pass"
		}
	}
	if s.young >= crashing || s.later > 0 {
		outcome = "which looks like a kubelet that fails again and again rather than a start that takes two"
	}
	within := max(time.Minute, (s.last.Sub(n.Created) + 59*time.Second).Truncate(time.Minute))
	return cause.DecisiveIf(sure).
		Says("the kubelet of node %s started %d times within %s of the node's creation, %s", n.Name, s.young+s.later, minutes(within), outcome).
		Saw("events", "Starting kubelet.", fmt.Sprintf("%d times, the last at %s", s.young+s.later, roll.Clock(s.last)), "once").
		Saw("node", "metadata.creationTimestamp", roll.Clock(n.Created), "a node that is older than "+minutes(settling)).
		Saw("lease", "spec.renewTime", roll.Clock(lease.Renewed), "renewed").
		Fix(paste.Kubectl("get", "node", n.Name, "--watch")+"   # it should settle by itself",
			paste.Kubectl("get", "events", "-A", "--field-selector", "involvedObject.kind=Node,involvedObject.name="+n.Name, "--sort-by=.lastTimestamp"))
}
