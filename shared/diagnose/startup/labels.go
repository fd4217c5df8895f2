package startup

import (
	"cmp"
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

// Labels by which Karpenter recognizes a node as its own and as ready for work.
const (
	labelRegistered  = "karpenter.sh/registered"
	labelInitialized = "karpenter.sh/initialized"
	labelArch        = "kubernetes.io/arch"
)

// machineLabels are written by the kubelet and the cloud controller, whether or not Karpenter
// has registered the node. A kubelet flag may overwrite the first two.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
// https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_node_status.go
var machineLabels = []string{labelArch, "kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// olderNames maps old label names to those that Karpenter reads them as.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/apis/v1/labels.go
// https://github.com/aws/karpenter-provider-aws/blob/v1.14.0/pkg/operator/operator.go
var olderNames = map[string]string{
	"beta.kubernetes.io/arch": labelArch, "beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
	"topology.ebs.csi.aws.com/zone": "topology.kubernetes.io/zone",
}

// settled is how old a condition must be for Karpenter's earlier writes to show on the node as
// read: the two are read one after the other.
const settled = 2 * time.Minute

// contradiction is a node label with an unexpected value.
type contradiction struct {
	key, observed, expected string
	source, field           string // of the expected value
	value                   string // the right value, "" if unknown
	// mark: it is Karpenter's own mark of a node that is ready for work, and is missing.
	mark bool
}

// labels checks for node labels that contradict what Karpenter launched the node for, which its
// NodeClaim says. Karpenter writes the claim's labels and its own marks on the node once, so
// later losses and changes stay. Only a lost mark proves why the node counts as starting:
// before it writes one, Karpenter checks the node's condition, taints and resources, and no
// other label. Other labels keep off pods that ask for them, and DaemonSets that the node waits
// for, which is not read. A NodePool edited since is drift, which Karpenter itself corrects.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/registration.go
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodeclaim/lifecycle/initialization.go
// https://karpenter.sh/docs/concepts/disruption/#drift
func (l *look) labels() cause.Verdict {
	n, ok := l.node()
	if !ok {
		return l.NoNode()
	}
	var found []contradiction
	starting := l.Finding.Kind == roll.Uninitialized // no mark and no edited NodePool makes a node NotReady
	claim, pool := evidence.None[evidence.NodeClaim](), evidence.None[evidence.NodePool]()
	if l.karpenters() {
		claim, pool = l.NodeClaim(), l.Group().NodePool
	}
	if claim.Known() {
		if starting {
			found = l.marksLost(n, claim.Value)
		}
		found = append(found, ofClaim(n, claim.Value)...)
	}
	found = append(found, untrue(n)...)
	if pool.Known() && starting {
		found = append(found, ofPool(n, pool.Value)...)
	}
	found = distinct(found)
	switch {
	case len(found) > 0:
		return l.mismatch(n, found).DecisiveIf(found[0].mark)
	case !claim.Settled():
		return cause.Missing(claim, "NodeClaim of "+string(l.Finding.Instance))
	case starting && !pool.Settled():
		return cause.Missing(pool, "NodePool "+l.pool())
	}
	return cause.RuledOut
}

// untrue returns the labels that contradict what the kubelet runs on.
func untrue(n evidence.NodeObject) []contradiction {
	if label := n.Labels[labelArch]; label != "" && n.Architecture != "" && label != n.Architecture {
		return []contradiction{{key: labelArch, observed: label, expected: n.Architecture, source: "the kubelet", field: "status.nodeInfo.architecture", value: n.Architecture}}
	}
	return nil
}

// marksLost returns Karpenter's marks that the NodeClaim reports as set and that the node is
// missing.
func (l *look) marksLost(n evidence.NodeObject, c evidence.NodeClaim) (out []contradiction) {
	for _, m := range []struct{ label, condition string }{{labelRegistered, "Registered"}, {labelInitialized, "Initialized"}} {
		said, _ := c.Condition(m.condition)
		if said.Status == string(roll.ConditionTrue) && n.Labels[m.label] == "" && !said.Since.IsZero() && l.At.Sub(said.Since) > settled {
			out = append(out, contradiction{key: m.label, expected: "true", source: "NodeClaim", field: "status.conditions[" + m.condition + "] is True", value: "true", mark: true})
		}
	}
	return out
}

// ofClaim returns the labels that contradict the NodeClaim. Before Karpenter has registered the
// node, only those that describe the machine count.
func ofClaim(n evidence.NodeObject, c evidence.NodeClaim) []contradiction {
	said, _ := c.Condition("Registered")
	registered := n.Labels[labelRegistered] != "" || said.Status == string(roll.ConditionTrue)
	out := unwritten(n, c.Labels, registered, contradiction{source: "NodeClaim", field: "metadata.labels"})
	return append(out, unmet(n, c.Requirements, registered, contradiction{source: "NodeClaim", field: "spec.requirements"})...)
}

// ofPool returns the labels that contradict the NodePool's current template.
func ofPool(n evidence.NodeObject, p evidence.NodePool) []contradiction {
	registered := n.Labels[labelRegistered] != ""
	out := unwritten(n, p.Labels, registered, contradiction{source: "NodePool", field: "spec.template.metadata.labels"})
	return append(out, unmet(n, p.Requirements, registered, contradiction{source: "NodePool", field: "spec.template.spec.requirements"})...)
}

// unwritten returns the labels that Karpenter writes when it registers a node and that the node
// is missing.
func unwritten(n evidence.NodeObject, all map[string]string, registered bool, as contradiction) (out []contradiction) {
	for key, value := range all {
		if registered && n.Labels[key] != value {
			as.key, as.observed, as.expected, as.value = key, n.Labels[key], value, value
			out = append(out, as)
		}
	}
	return out
}

// unmet returns the labels that do not meet requirements. A missing label is no contradiction:
// Karpenter does not write every label that it asks for.
func unmet(n evidence.NodeObject, all []evidence.Requirement, registered bool, as contradiction) (out []contradiction) {
	for _, r := range all {
		key := r.Key
		if newer, ok := olderNames[key]; ok {
			key = newer
		}
		value, has := n.Labels[key]
		if has && !r.Allows(value) && !reservationEnded(key, value, r) && (registered || slices.Contains(machineLabels, key)) {
			as.key, as.observed, as.expected, as.value = key, value, r.String(), ""
			if r.Operator == "In" && len(r.Values) == 1 {
				as.value = r.Values[0]
			}
			out = append(out, as)
		}
	}
	return out
}

// reservationEnded reports whether Karpenter itself changed the label: an instance launched
// into a capacity reservation becomes on-demand when the reservation ends.
// https://github.com/aws/karpenter-provider-aws/blob/v1.14.0/pkg/controllers/capacityreservation/capacitytype/controller.go
func reservationEnded(key, value string, r evidence.Requirement) bool {
	return key == "karpenter.sh/capacity-type" && value == "on-demand" && r.Allows("reserved")
}

// distinct keeps the first contradiction of each label, and puts lost marks first.
func distinct(all []contradiction) []contradiction {
	last := map[bool]int{false: 1}
	slices.SortStableFunc(all, func(a, b contradiction) int {
		return cmp.Or(last[a.mark]-last[b.mark], strings.Compare(a.key, b.key))
	})
	return slices.CompactFunc(all, func(a, b contradiction) bool { return a.key == b.key })
}

func (l *look) mismatch(n evidence.NodeObject, found []contradiction) cause.Verdict {
	v := cause.Suggestive().In(string(l.Finding.Group))
	set := map[string]string{}
	for _, c := range found {
		v.Saw("node", "metadata.labels["+c.key+"]", cmp.Or(c.observed, "none"), c.expected+", by "+c.source+" "+c.field)
		if c.value != "" && c.source != "NodePool" && (c.key != labelArch || n.Architecture == "" || n.Architecture == c.value) {
			set[c.key] = c.value
		}
	}
	switch first := found[0]; {
	case first.mark:
		v.Says("node %s lacks the label %s, which Karpenter wrote on it and does not write again", n.Name, first.key)
	case first.observed == "":
		v.Says("node %s lacks the label %s=%s, which %s has", n.Name, first.key, first.expected, first.source)
	default:
		v.Says("node %s has the label %s=%s, and %s says %s", n.Name, first.key, first.observed, first.source, first.expected)
	}
	if len(found) > 1 {
		v.Also(fmt.Sprintf(", and %d more of its labels are not as they should be", len(found)-1))
	}
	if found[0].mark {
		v.Also(": to Karpenter the node is still starting")
	} else {
		v.Also(": pods that ask for what it was launched for are not put on it")
	}
	return v.Fix(l.relabel(n, set))
}

// relabel returns the commands that correct labels and show who changes them.
func (l *look) relabel(n evidence.NodeObject, set map[string]string) string {
	lines := []string{paste.Kubectl("get", "node", n.Name, "-o", "jsonpath={.metadata.labels}{\"\\n\"}{.metadata.managedFields[*].manager}") + "   # who writes them? look for --node-labels in user data, too"}
	if l.karpenters() {
		lines = append(lines, paste.Kubectl("get", "nodeclaims", "-l", "karpenter.sh/nodepool="+l.pool(), "-o", "yaml"))
	}
	if len(set) > 0 {
		args := []string{"label", "node", n.Name, "--overwrite"}
		for _, key := range slices.Sorted(maps.Keys(set)) {
			args = append(args, key+"="+set[key])
		}
		lines = append(lines, paste.Kubectl(args...))
	}
	return paste.Lines(lines...)
}
