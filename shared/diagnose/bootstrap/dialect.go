package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/evidence/userdata"
)

// flagTaints is the kubelet's flag that gives a node its taints.
const flagTaints = "register-with-taints"

// tool is what joins the instance: by its system, or by its user data where nothing tells
// the system; "" if neither does.
func (b *start) tool() userdata.Tool {
	joins := b.joins()
	switch {
	case len(joins) > 0:
		return joins[0].Tool
	case len(tools[b.os.family]) > 0:
		return tools[b.os.family][0]
	}
	return ""
}

// writeFlags says how the system has its kubelet's flags written. Taints that the flags
// hold are repeated as they were meant, so that none is lost.
func (b *start) writeFlags() string {
	if taints := b.meantTaints(); len(taints) > 0 {
		return b.writeTaints(taints)
	}
	switch b.tool() {
	case userdata.BootstrapScript:
		return "put one pair of quotes around all of --kubelet-extra-args and none within it, and write each flag as --name=value"
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return "make each flag an entry of its own in spec.kubelet.flags of the NodeConfig, as --name=value without quotes within it"
	case userdata.BottlerocketSettings:
		return "Bottlerocket takes settings for flags: correct them in [settings.kubernetes.node-labels] and [settings.kubernetes.node-taints]"
	case userdata.WindowsScript:
		return "put one pair of quotes around all of -KubeletExtraArgs and none within it, and write each flag as --name=value"
	}
	return "write each flag as --name=value with no quotes within the quotes"
}

// writeTaints says how the system has its kubelet register with taints.
//
//   - https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
//   - https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/#node-taints
//   - https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
func (b *start) writeTaints(taints []userdata.Taint) string {
	var flag, yaml, toml []string
	for _, t := range taints {
		word, value := t.Key, ""
		if t.Value != "" {
			word, value = t.Key+"="+t.Value, fmt.Sprintf(", value: %q", t.Value)
		}
		flag = append(flag, word+":"+t.Effect)
		yaml = append(yaml, fmt.Sprintf("{key: %s%s, effect: %s}", t.Key, value, t.Effect))
		toml = append(toml, fmt.Sprintf("%q = [%q]", t.Key, t.Value+":"+t.Effect))
	}
	one := "--" + flagTaints + "=" + strings.Join(flag, ",")
	switch b.tool() {
	case userdata.BootstrapScript:
		return "in the one pair of quotes of --kubelet-extra-args, write " + one + " beside the other flags, with no quotes within"
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return "in the NodeConfig, set spec.kubelet.config.registerWithTaints: [" + strings.Join(yaml, ", ") + "], and give no --" + flagTaints + " in spec.kubelet.flags"
	case userdata.BottlerocketSettings:
		return "in [settings.kubernetes.node-taints], write " + strings.Join(toml, " and ")
	case userdata.WindowsScript:
		return "in the one pair of quotes of -KubeletExtraArgs, write " + one + " beside the other flags, with no quotes within"
	}
	return "have the kubelet register with " + one + ", with no quotes within"
}

// meantTaints are the taints of flags with quotes or faults, as they were meant; none if one
// of them cannot be told any more.
func (b *start) meantTaints() []userdata.Taint {
	var out []userdata.Taint
	for _, j := range b.joins() {
		odd := len(oddTaints(j.Kubelet)) > 0 || len(lostFlags(j)) > 0 ||
			slices.ContainsFunc(j.Kubelet.Flags, func(f userdata.Flag) bool { return f.Name == flagTaints && len(b.oddFlag(f, j)) > 0 })
		if !odd {
			continue
		}
		for _, t := range j.Kubelet.Taints {
			switch {
			case t.Dropped:
			case t.Key == "" || t.Effect == "":
				return nil
			case !slices.ContainsFunc(out, func(o userdata.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }):
				out = append(out, t)
			}
		}
	}
	return out
}
