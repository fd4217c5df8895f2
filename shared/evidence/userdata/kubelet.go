package userdata

import (
	"slices"
	"strings"
)

// Kubelet is what one call or document, or all NodeConfigs together, configure for the kubelet.
type Kubelet struct {
	Flags []Flag // in the kubelet's order
	// FlagsDynamic reports whether there may be flags missing from Flags, because the instance
	// computes some.
	FlagsDynamic bool
	Loss         Loss // "" unless systemd drops flags

	Taints []Taint // in order, with those that are dropped or invalid
	// TaintConflict reports whether taints are given both by the flag and in the kubelet's
	// configuration. The flag wins: the kubelet parses it again over the configuration
	// (cmd/kubelet/app/server.go, kubeletConfigFlagPrecedence).
	TaintConflict bool
	// TaintsDynamic reports whether the instance computes some taints.
	TaintsDynamic bool
	Labels        []Label

	HostnameOverride Setting
	FailCgroupV1     Setting // true or false
}

// Flag returns the effective flag of that name: the last one.
func (k Kubelet) Flag(name string) (Flag, bool) {
	for _, f := range slices.Backward(k.Flags) {
		if f.Name == name && f.read() {
			return f, true
		}
	}
	return Flag{}, false
}

// Registered returns the taints with which the kubelet registers the node, if it starts at all.
func (k Kubelet) Registered() []Taint {
	return slices.DeleteFunc(slices.Clone(k.Taints), func(t Taint) bool { return t.Fault != "" || t.Dropped })
}

// newKubelet checks the words that the kubelet receives. parts are the parts that contain them: one
// for each NodeConfig, otherwise one.
func newKubelet(words []word, parts ...string) (k Kubelet) {
	var values []string
	k.Flags, values = kubeletFlags(words, func(w word) string { return parts[min(w.document, len(parts)-1)] })
	k.FlagsDynamic = slices.ContainsFunc(words, word.computed)
	for i, f := range k.Flags {
		if !f.read() {
			continue
		}
		switch f.Name {
		case "register-with-taints": // the last one counts
			dropAll(k.Taints)
			k.TaintsDynamic = k.TaintsDynamic || f.State == Dynamic
			k.Taints = append(k.Taints, flagTaints(values[i], f.Part)...)
		case "node-labels": // they are combined, and a later value of the same label wins
			for _, l := range flagLabels(values[i], f.Part) {
				k.Labels = addLabel(k.Labels, l)
			}
		case "hostname-override":
			k.HostnameOverride = setting(values[i], validHost)
		case "fail-cgroupv1":
			k.FailCgroupV1 = setting(values[i], validBool)
		}
	}
	k.Taints = k.Taints[:min(len(k.Taints), maxTaints)]
	return k
}

// configure adds what is in the kubelet's configuration, not in its flags.
func (k *Kubelet) configure(taints []Taint, failCgroupV1 Setting) {
	if _, flagged := k.Flag("register-with-taints"); flagged {
		dropAll(taints)
		k.TaintConflict = len(taints) > 0
	}
	k.Taints = append(k.Taints, taints...)
	k.Taints = k.Taints[:min(len(k.Taints), maxTaints)]
	k.FailCgroupV1 = failCgroupV1.over(k.FailCgroupV1)
}

// dropAll marks taints that others replace.
func dropAll(taints []Taint) {
	for i := range taints {
		taints[i].Dropped = true
	}
}

// isKubeletFlag reports whether a kubelet from 1.20 to 1.36 has the flag.
func isKubeletFlag(name string) bool {
	_, gone := goneFlags[name]
	return gone || slices.Contains(presentFlags, name) || slices.Contains(booleanFlags, name)
}

var withoutMarks = strings.NewReplacer("_", "", "-", "")
