package userdata

import (
	"cmp"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Taint is a taint with which the kubelet registers the node, as given by the user data.
type Taint struct {
	// Key, Value and Effect are "" if malformed. For QuotedTaint they are without the quotes.
	Key, Value, Effect string
	Source             TaintSource
	Part               string
	Fault              TaintFault
	Dropped            bool // a later taint, or the flag, replaces it
}

// TaintSource is where a taint is given.
type TaintSource string

// The sources of taints.
const (
	TaintFlag    TaintSource = "--register-with-taints"
	TaintConfig  TaintSource = "registerWithTaints"
	TaintSetting TaintSource = "settings.kubernetes.node-taints"
)

// TaintFault is the reason why the kubelet rejects a taint. The kubelet then exits, because it
// checks flags and configuration before it starts (pkg/util/taints/taints.go of Kubernetes,
// ParseTaints and CheckTaintValidation).
type TaintFault string

// The faults of taints.
const (
	QuotedTaint    TaintFault = "has quotes in it"
	TaintSyntax    TaintFault = "is not <key>=<value>:<effect>"
	TaintEffect    TaintFault = "has no effect, or one that does not exist"
	DuplicateTaint TaintFault = "is given twice with the same key and effect"
)

const maxTaints = 64

// flagTaints parses a value of --register-with-taints.
func flagTaints(value, part string) []Taint {
	if value == "" {
		return nil
	}
	var out []Taint
	for one := range strings.SplitSeq(value, ",") {
		if strings.Contains(one, unknown) || len(out) == maxTaints {
			continue
		}
		// ParseTaints reads a taint with a trailing dash as one to remove.
		one, removed := strings.CutSuffix(one, "-")
		t := parseTaint(one)
		t.Dropped = removed
		if bare := strings.Trim(one, `'" `); t.Fault != "" && bare != one {
			if t = parseTaint(bare); t.Fault == "" {
				t.Fault = QuotedTaint
			}
		}
		t.Source, t.Part = TaintFlag, part
		out = append(out, t)
	}
	return markDuplicates(out)
}

// markDuplicates marks a taint whose key and effect were given before, which ParseTaints rejects.
func markDuplicates(taints []Taint) []Taint {
	for i, t := range taints {
		if t.Fault == "" && slices.ContainsFunc(taints[:i], func(o Taint) bool {
			return o.Fault == "" && o.Key == t.Key && o.Effect == t.Effect
		}) {
			taints[i].Fault = DuplicateTaint
		}
	}
	return taints
}

func parseTaint(s string) Taint {
	rest, effect, _ := strings.Cut(s, ":")
	key, value, _ := strings.Cut(rest, "=")
	if strings.Contains(effect, ":") {
		key = ""
	}
	return newTaint(key, value, effect)
}

func newTaint(key, value, effect string) Taint {
	var t Taint
	if !roll.QualifiedName(key) || !labelValue(value) {
		t.Fault = TaintSyntax
	} else {
		t.Key, t.Value = key, value
	}
	switch effect {
	case "NoSchedule", "PreferNoSchedule", "NoExecute":
		t.Effect = effect
	default:
		t.Fault = cmp.Or(t.Fault, TaintEffect)
	}
	return t
}

// Label is a label with which the kubelet registers the node.
type Label struct {
	Key, Value string // "" if malformed
	Part       string
	Fault      LabelFault
}

// LabelFault is the reason why the kubelet rejects a label. The kubelet then exits
// (cmd/kubelet/app/options/options.go of Kubernetes, ValidateKubeletFlags).
type LabelFault string

// The faults of labels.
const (
	LabelSyntax LabelFault = "is not <key>=<value>"
	// ReservedLabel: a label of kubernetes.io or k8s.io that a kubelet may not set,
	// such as node-role.kubernetes.io/worker.
	ReservedLabel LabelFault = "is one that a kubelet may not set"
)

const maxLabels = 128

// flagLabels parses a value of --node-labels as the kubelet does
// (component-base, cli/flag/configuration_map.go).
func flagLabels(value, part string) []Label {
	var out []Label
	for one := range strings.SplitSeq(value, ",") {
		if one == "" || strings.Contains(one, unknown) || len(out) == maxLabels {
			continue
		}
		key, text, _ := strings.Cut(one, "=")
		out = append(out, newLabel(strings.TrimSpace(key), strings.TrimSpace(text), part))
	}
	return out
}

func newLabel(key, value, part string) Label {
	switch {
	case !roll.QualifiedName(key) || !labelValue(value):
		return Label{Part: part, Fault: LabelSyntax}
	case reservedLabel(key):
		return Label{Key: key, Value: value, Part: part, Fault: ReservedLabel}
	}
	return Label{Key: key, Value: value, Part: part}
}

func addLabel(labels []Label, l Label) []Label {
	if i := slices.IndexFunc(labels, func(o Label) bool { return o.Key == l.Key }); i >= 0 && l.Key != "" {
		labels[i] = l
		return labels
	}
	if len(labels) < maxLabels {
		labels = append(labels, l)
	}
	return labels
}

// reservedLabel reports whether ValidateKubeletFlags rejects the label (k8s.io/kubelet,
// pkg/apis/well_known_labels.go).
func reservedLabel(key string) bool {
	namespace, _, ok := strings.Cut(key, "/")
	in := func(domain string) bool { return namespace == domain || strings.HasSuffix(namespace, "."+domain) }
	if !ok || !in("kubernetes.io") && !in("k8s.io") {
		return false
	}
	return !in("kubelet.kubernetes.io") && !in("node.kubernetes.io") && !slices.Contains(kubeletLabels, key)
}

var kubeletLabels = []string{
	"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
	"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "kubernetes.io/os",
	"kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// labelValue reports whether s is a valid value of a label or taint.
func labelValue(s string) bool { return s == "" || !strings.Contains(s, "/") && roll.QualifiedName(s) }
