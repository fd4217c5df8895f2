// Package startup looks for what keeps an existing node from becoming ready for work: startup
// taints that nobody removes, a network plugin that does not start, resources that nothing
// registers, labels that contradict what the node was launched for, kubelets that start twice,
// and undeclared taints, for which Karpenter launches further nodes.
//
// The package is pure.
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

// Analyze notes what it finds about the start of the case's node.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	rules[c.Finding.Kind].Apply(s, &look{cause.Look{Case: c, Sheet: s}})
}

// look is the state for one finding.
type look struct{ cause.Look }

// karpenters reports whether Karpenter launched the instance, the cluster's own or Auto Mode's.
func (l *look) karpenters() bool {
	return l.Finding.Owner == roll.OwnerKarpenter || l.Finding.Owner == roll.OwnerAutoMode
}

// age returns how long ago the node was created.
func (l *look) age(n evidence.NodeObject) time.Duration { return l.At.Sub(n.Created) }

// overdue reports whether the finding's tolerance is over.
func (l *look) overdue() bool { return l.Finding.Stage == roll.Overdue }

// told returns a taint as kubectl writes it, without its value, which nothing compares.
func told(t evidence.Taint) string { return t.Key + ":" + t.Effect }

// has reports whether the list contains the taint, by key and effect, as Kubernetes and
// Karpenter compare taints.
// https://pkg.go.dev/k8s.io/api/core/v1#Taint.MatchTaint
func has(list []evidence.Taint, t evidence.Taint) bool {
	return slices.ContainsFunc(list, func(o evidence.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
}

// all returns the taints as one text, "none" if there are none.
func all(list []evidence.Taint) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(roll.Map(list, told), ", ")
}

// ready returns a node's Ready condition, the zero value if the node has none yet.
func ready(n evidence.NodeObject) evidence.Condition {
	c, _ := n.Condition("Ready")
	return c
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.0f min", d.Minutes()) }

// rules lists the rules for each kind of finding.
var rules = map[roll.Kind]cause.Rules[*look]{
	roll.Uninitialized: {
		cause.StartupTaintNotRemoved: (*look).taints, cause.ResourceNotRegistered: (*look).resources, cause.NodeLabelsMismatch: (*look).labels,
		cause.CniNotReady: (*look).network, cause.CniMissing: (*look).missing, cause.UndeclaredStartupTaint: (*look).undeclared, cause.KubeletRestartedDuringStartup: (*look).restarts,
		cause.DuplicateLaunch: (*look).duplicates,
	},
	roll.NotReady: {
		cause.NodeLabelsMismatch: (*look).labels, cause.CniNotReady: (*look).network, cause.CniMissing: (*look).missing, cause.UndeclaredStartupTaint: (*look).undeclared,
		cause.KubeletRestartedDuringStartup: (*look).restarts, cause.DuplicateLaunch: (*look).duplicates,
	},
	roll.Flapping: {
		cause.UndeclaredStartupTaint: (*look).undeclared, cause.KubeletRestartedDuringStartup: (*look).restarts, cause.DuplicateLaunch: (*look).duplicates,
	},
	roll.Unknown:      {cause.KubeletRestartedDuringStartup: (*look).restarts},
	roll.Unregistered: {cause.DuplicateLaunch: (*look).duplicates},
}

// node returns the finding's node; known is false if it was not read.
func (l *look) node() (n evidence.NodeObject, known bool) {
	fact := l.Node().Object
	return fact.Value, fact.Known()
}

// inspect returns the commands that show a pod's state and its logs.
func inspect(p evidence.Pod) string {
	return paste.Lines(paste.Kubectl("-n", p.Namespace, "describe", "pod", p.Name), logs(p))
}

func logs(p evidence.Pod) string {
	return paste.Kubectl("-n", p.Namespace, "logs", p.Name, "--all-containers", "--tail=100")
}

func shown(p evidence.Pod) roll.Evidence {
	return roll.Evidence{Source: "pods", Field: p.Namespace + "/" + p.Name, Observed: observed(p), Expected: "is ready"}
}

// absent returns evidence that a DaemonSet has no pod on the node.
func (l *look) absent(daemonSet, expected string) roll.Evidence {
	return roll.Evidence{Source: "pods", Field: "DaemonSet/" + daemonSet, Observed: "no pod on " + l.Finding.Node, Expected: expected}
}
