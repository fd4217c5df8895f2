package startup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Labels by which Karpenter counts a node as one of its own and as ready for work.
const (
	labelRegistered  = "karpenter.sh/registered"
	labelInitialized = "karpenter.sh/initialized"
	labelArch        = "kubernetes.io/arch"
)

// machineLabels are those that the kubelet and the cloud controller write, whether or not
// Karpenter has registered the node. A flag of the kubelet may overwrite the first two.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
// https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_node_status.go
var machineLabels = []string{labelArch, "kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// olderNames are names of labels that Karpenter takes for their successors'.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/apis/v1/labels.go
var olderNames = map[string]string{
	"beta.kubernetes.io/arch": labelArch, "beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}

// settled is how long ago a condition must have come for what Karpenter wrote before it to
// be on the node as it was read: the two are read one after the other.
const settled = 2 * time.Minute

// contradiction is a label of a node that is not what it should be.
type contradiction struct {
	key, observed, expected string
	source, field           string // of what is expected
	// sure: Karpenter launched the instance for it, or wrote it on the node.
	sure bool
}

// labels asks whether the node's labels contradict what Karpenter launched it for. Its
// NodeClaim says what that was; Karpenter writes the claim's labels on the node once, when
// it registers it, and the label of an initialized node once too. What is lost or changed
// later stays so, and neither Karpenter nor the scheduler puts pods on the node that ask
// for the labels. A NodePool may have been edited since, which is drift, and Karpenter's
// own to mend.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/registration.go
// https://karpenter.sh/docs/concepts/disruption/#drift
func (l *look) labels() {
	n, ok := l.object(cause.NodeLabelsMismatch)
	if !ok {
		return
	}
	claim, pool := l.NodeClaim(), l.Group().NodePool
	found := untrue(n)
	if l.karpenters() {
		if !claim.Known() && !pool.Known() {
			l.s.NotChecked(claim.Missing("NodeClaim of "+string(l.Finding.Instance)), cause.NodeLabelsMismatch)
			return
		}
		if claim.Known() {
			found = append(found, l.ofClaim(n, claim.Value)...)
		}
		if pool.Known() {
			found = append(found, ofPool(n, pool.Value)...)
		}
	}
	found = distinct(found)
	if len(found) == 0 {
		l.s.RuledOut(cause.NodeLabelsMismatch)
		return
	}
	confidence := roll.Suggestive
	if l.Finding.Kind == roll.Uninitialized && found[0].sure {
		confidence = roll.Decisive
	}
	l.s.Found(l.mismatch(n, found, confidence))
}

// untrue is a label that contradicts what the kubelet runs on.
func untrue(n evidence.NodeObject) []contradiction {
	if label := n.Labels[labelArch]; label != "" && n.Architecture != "" && label != n.Architecture {
		return []contradiction{{key: labelArch, observed: label, expected: n.Architecture, source: "the kubelet", field: "status.nodeInfo.architecture"}}
	}
	return nil
}

// ofClaim are the labels that contradict the NodeClaim. Before Karpenter has registered the
// node only those count that tell of the machine.
func (l *look) ofClaim(n evidence.NodeObject, c evidence.NodeClaim) (out []contradiction) {
	registered := n.Labels[labelRegistered] != ""
	for label, condition := range map[string]string{labelRegistered: "Registered", labelInitialized: "Initialized"} {
		said, _ := c.Condition(condition)
		if said.Status == string(roll.ConditionTrue) && n.Labels[label] == "" && !said.Since.IsZero() && l.At.Sub(said.Since) > settled {
			out = append(out, contradiction{key: label, expected: "true", source: "NodeClaim", field: "status.conditions[" + condition + "] is True", sure: true})
			registered = true
		}
	}
	for key, value := range c.Labels {
		if registered && n.Labels[key] != value {
			out = append(out, contradiction{key: key, observed: n.Labels[key], expected: value, source: "NodeClaim", field: "metadata.labels", sure: true})
		}
	}
	return append(out, unmet(n, c.Requirements, registered, contradiction{source: "NodeClaim", field: "spec.requirements", sure: registered})...)
}

// ofPool are the labels that contradict the NodePool's template, as it is now.
func ofPool(n evidence.NodeObject, p evidence.NodePool) (out []contradiction) {
	registered := n.Labels[labelRegistered] != ""
	for key, value := range p.Labels {
		if registered && n.Labels[key] != value {
			out = append(out, contradiction{key: key, observed: n.Labels[key], expected: value, source: "NodePool", field: "spec.template.metadata.labels"})
		}
	}
	return append(out, unmet(n, p.Requirements, registered, contradiction{source: "NodePool", field: "spec.template.spec.requirements"})...)
}

// unmet are the labels that do not meet requirements. What a node lacks is no
// contradiction: Karpenter does not write every label that it asks for.
func unmet(n evidence.NodeObject, all []evidence.Requirement, registered bool, as contradiction) (out []contradiction) {
	for _, r := range all {
		key := r.Key
		if newer, ok := olderNames[key]; ok {
			key = newer
		}
		value, has := n.Labels[key]
		if has && !r.Allows(value) && (registered || slices.Contains(machineLabels, key)) {
			as.key, as.observed, as.expected = key, value, r.String()
			out = append(out, as)
		}
	}
	return out
}

// distinct keeps one contradiction of each label, and puts the sure ones first.
func distinct(all []contradiction) []contradiction {
	rank := func(c contradiction) int {
		if c.sure {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b contradiction) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.key, b.key)
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c contradiction) bool {
		told := seen[c.key]
		seen[c.key] = true
		return told
	})
}

func (l *look) mismatch(n evidence.NodeObject, found []contradiction, confidence roll.Confidence) cause.Cause {
	var seen []roll.Evidence
	set := map[string]string{}
	for _, c := range found {
		seen = append(seen, roll.Evidence{Source: "node", Field: "metadata.labels[" + c.key + "]", Observed: orNone(c.observed), Expected: c.expected + ", by " + c.source + " " + c.field})
		if c.sure && !strings.Contains(c.expected, "[") {
			set[c.key] = c.expected
		}
	}
	what := fmt.Sprintf("node %s has the label %s=%s, and %s says %s", n.Name, found[0].key, found[0].observed, found[0].source, found[0].expected)
	if found[0].observed == "" {
		what = fmt.Sprintf("node %s lacks the label %s, which Karpenter wrote on it and does not write again", n.Name, found[0].key)
	}
	if len(found) > 1 {
		what += fmt.Sprintf(", and %d more of its labels are not as they should be", len(found)-1)
	}
	if confidence == roll.Decisive {
		what += ": the pods that it was launched for are not put on it"
	}
	return cause.Cause{Code: cause.NodeLabelsMismatch, Confidence: confidence, Subject: string(l.Finding.Group), Summary: what, Evidence: seen, Fix: l.relabel(n, set)}
}

// relabel is how to put labels right, and how to see who changes them.
func (l *look) relabel(n evidence.NodeObject, set map[string]string) string {
	lines := []string{kubectl("get", "node", n.Name, "-o", "jsonpath={.metadata.labels}{\"\\n\"}{.metadata.managedFields[*].manager}") + "   # who writes them? look for --node-labels in user data, too"}
	if l.karpenters() {
		lines = append(lines, kubectl("get", "nodeclaims", "-l", "karpenter.sh/nodepool="+l.pool(), "-o", "yaml"))
	}
	if len(set) > 0 {
		args := []string{"label", "node", n.Name, "--overwrite"}
		for _, key := range slices.Sorted(maps.Keys(set)) {
			args = append(args, key+"="+set[key])
		}
		lines = append(lines, kubectl(args...))
	}
	return paste.Lines(lines...)
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
