package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// oddity is something about the kubelet's flags that is rarely intended. sure: the kubelet, or
// the script that starts it, exits because of it.
type oddity struct {
	sure            bool
	field, observed string
	expected        string
	rule            string // why, as a clause
	label           string // the key of the label that is odd, "" if it is something else
}

// malformedFlags checks whether the kubelet reads its flags, labels and taints as they were
// meant. The rules are those of the kubelet (Kubernetes, cmd/kubelet/app) and of systemd, which
// splits what nodeadm and bootstrap.sh pass on
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines).
func (b *start) malformedFlags() cause.Verdict {
	odd := b.scriptArguments()
	unsure := ""
	for _, j := range b.joins() {
		odd = append(odd, b.oddFlags(j)...)
		unsure = cmp.Or(b.unsureFlags(j.Kubelet), unsure)
	}
	return b.judgeFlags(odd, unsure)
}

// judgeFlags says what is odd about the flags, with evidence from elsewhere.
func (b *start) judgeFlags(odd []oddity, unsure string, more ...roll.Evidence) cause.Verdict {
	switch {
	case len(odd) > 0:
		isSure := func(o oddity) bool { return o.sure }
		return b.given(slices.ContainsFunc(odd, isSure), b.oddOnes(odd).Shows(more...))
	case unsure != "":
		return cause.NotChecked(unsure)
	case len(b.joins()) == 0:
		return cause.NotChecked(noJoin)
	}
	return cause.RuledOut
}

// registeredFlags checks the same for a node that registered: its kubelet started, so only
// flags with its taints still matter. Quotes alone are a hint. They certainly lost the taints
// if Karpenter refuses the node for the very taint in them. That only holds in the AMI family
// Custom, where Karpenter sets no flags itself. The node itself shows an address of the
// wrong family.
func (b *start) registeredFlags() cause.Verdict {
	if v, found := b.otherFamily(); found {
		return v
	}
	d := b.data
	switch {
	case !d.Settled():
		return cause.NotChecked(d.Gap())
	case d.State == evidence.Absent || d.Value.Empty:
		return cause.RuledOut
	}
	condition, refused := b.refused()
	var odd []oddity
	unsure := ""
	for _, j := range b.joins() {
		names := slices.ContainsFunc(j.Kubelet.Taints, func(t userdata.Taint) bool { return t.Key == unregisteredKey && !t.Dropped })
		for _, o := range b.oddTaintFlags(j) {
			o.sure = refused && names && b.asWritten(j) && b.custom() && b.Config().Known() && len(b.joins()) == 1
			if o.sure {
				o.rule = "the taints in them did not reach the node"
			}
			odd = append(odd, o)
		}
		if j.Kubelet.FlagsDynamic || j.Kubelet.TaintsDynamic {
			unsure = computedFlags
		}
	}
	if refused {
		return b.judgeFlags(odd, unsure, refusal(condition))
	}
	return b.judgeFlags(odd, unsure)
}

// oddTaintFlags returns the oddities by which a kubelet that starts may lose its taints.
func (b *start) oddTaintFlags(j userdata.Join) []oddity {
	var out []oddity
	for _, f := range j.Kubelet.Flags {
		if f.Name == flagTaints || f.Has(userdata.UnbalancedQuote) || f.Has(userdata.FlagAsValue) {
			out = append(out, b.oddFlag(f, j)...)
		}
	}
	out = slices.Concat(out, oddTaints(j.Kubelet), lostFlags(j))
	for i := range out {
		if out[i].sure {
			out[i].rule = exits + ", so the one that registered got something else"
		}
	}
	return out
}

// unsureFlags returns why flags that look right may not be, "" if they are right.
func (b *start) unsureFlags(k userdata.Kubelet) string {
	if k.FlagsDynamic {
		return computedFlags
	}
	_, known := cause.Minor(b.kubelet().version)
	if !known && slices.ContainsFunc(k.Flags, func(f userdata.Flag) bool { return f.GoneBy > 0 }) {
		return "whether the kubelet still has all of its flags depends on its version: " + b.kubelet().gap
	}
	return ""
}

// scripts maps the reader of a script's arguments to the script that joins an instance.
var scripts = map[userdata.Reader]userdata.Tool{userdata.ByBootstrap: userdata.BootstrapScript, userdata.ByWindowsScript: userdata.WindowsScript}

// scriptArguments returns the arguments that the script does not read as they were meant.
func (b *start) scriptArguments() []oddity {
	var out []oddity
	for _, f := range b.data.Value.Faults {
		if f.Reason == userdata.UnclosedFlags && b.os.fits(userdata.BootstrapScript) {
			sure := b.certain([]userdata.Fault{f})
			out = append(out, oddity{sure, place(f), string(f.Reason), "a quote at both ends", fmt.Sprintf("%s %s and does not call bootstrap.sh", f.By, f.Effect), ""})
		}
		tool, script := scripts[f.By]
		if !script || !b.os.fits(tool) {
			continue
		}
		sure := f.Effect == userdata.Fails && b.os.family != "" && b.calledOnce(tool)
		out = append(out, oddity{sure, place(f), string(f.Reason), "arguments that " + string(tool) + " takes", fmt.Sprintf("%s %s on them", tool, f.Effect), ""})
	}
	return out
}

// calledOnce reports whether the script is certainly called exactly once.
func (b *start) calledOnce(script userdata.Tool) bool {
	n := 0
	for _, j := range b.data.Value.Joins {
		if j.Tool == script {
			n++
			if j.Conditional {
				return false
			}
		}
	}
	return n == 1
}

// oddFlags returns the oddities of one join's kubelet.
func (b *start) oddFlags(j userdata.Join) []oddity {
	var out []oddity
	for _, f := range j.Kubelet.Flags {
		out = append(out, b.oddFlag(f, j)...)
	}
	out = slices.Concat(out, oddLabels(j.Kubelet), oddTaints(j.Kubelet), lostFlags(j), b.oddName(j))
	certain := b.asWritten(j)
	for i := range out {
		out[i].sure = out[i].sure && certain
	}
	return out
}

// asWritten reports whether nothing else in the user data changes the kubelet's flags.
func (b *start) asWritten(j userdata.Join) bool {
	edits := b.data.Value.Edits
	return !j.Conditional && !j.Kubelet.FlagsDynamic && !slices.Contains(edits, userdata.EditsBootstrapScript) && !slices.Contains(edits, userdata.EditsKubeletUnit)
}

// lostFlags says that systemd drops flags of a join.
func lostFlags(j userdata.Join) []oddity {
	if j.Kubelet.Loss == "" {
		return nil
	}
	return []oddity{{false, at(j.Part, "kubelet flags"), string(j.Kubelet.Loss), "flags that reach the kubelet", "systemd drops flags, and the kubelet starts without them", ""}}
}

func (b *start) oddFlag(f userdata.Flag, j userdata.Join) []oddity {
	field := at(f.Part, "--"+f.Name)
	if f.Name == "" {
		field = at(f.Part, "kubelet flags")
	}
	var out []oddity
	add := func(sure bool, observed, expected, rule string) {
		out = append(out, oddity{sure, field, observed, expected, rule, ""})
	}
	for _, a := range f.Anomalies {
		text := string(a)
		switch {
		case slices.Contains(fatal, a):
			add(true, text, "none of that", exits)
		case a == userdata.LiteralQuote:
			add(userdata.KeptFlag(f.Name), text+shown(f), "a value without quotes", "the quotes are part of the value that the kubelet gets")
		case a == userdata.UnbalancedQuote:
			add(swallowed(f, j.Kubelet), text+shown(f), "a quote at both ends, or none", "what follows becomes part of the value")
		case a == userdata.FlagAsValue:
			add(swallowed(f, j.Kubelet), text, "none of that", "the flag that follows becomes the value")
		case a == userdata.NestedQuotes && len(f.Anomalies) == 1 && !b.karpenters(f, j):
			add(false, text, "one level of quotes", "which can reach the kubelet; the same text was seen to work")
		case a == userdata.Lookalike, a == userdata.UnknownFlag:
			add(false, text, "none of that", "the kubelet may exit because of it")
		} // of Repeated the kubelet takes the last one
	}
	v := b.kubelet()
	if minor, ok := cause.Minor(v.version); f.GoneBy > 0 && ok && minor >= f.GoneBy {
		add(v.sure, fmt.Sprintf("a flag that the kubelet of 1.%d does not have", minor), "flags of that version", exits)
	}
	return out
}

// shown returns a quoted value for the evidence, with its quotes, up to the first blank. What
// follows may be anything.
func shown(f userdata.Flag) string {
	if f.State != userdata.Given {
		return ""
	}
	value, _, more := strings.Cut(f.Value, " ")
	if more {
		value += " ..."
	}
	return ": " + value
}

// swallowed reports whether the flag's value contains something unintended that the kubelet
// does not accept: another flag, or something that is no label or taint.
func swallowed(f userdata.Flag, k userdata.Kubelet) bool {
	switch {
	case f.State == userdata.Given && strings.Contains(f.Value, " -"):
		return true
	case f.Name == "node-labels":
		return len(oddLabels(k)) > 0
	case f.Name == flagTaints:
		return len(oddTaints(k)) > 0
	}
	return false
}

// karpenters reports whether Karpenter wrote the flag. It puts labels and taints in quotes of
// their own, and that works for all of its nodes (karpenter-provider-aws,
// pkg/providers/amifamily/bootstrap).
func (b *start) karpenters(f userdata.Flag, j userdata.Join) bool {
	if slices.Contains(j.Karpenter, f.Part) {
		return true
	}
	if b.Finding.Owner != roll.OwnerKarpenter || !b.Group().NodeClass.Known() || b.custom() {
		return false
	}
	return (j.Tool == userdata.BootstrapScript || j.Tool == userdata.WindowsScript) && registersUnregistered(j.Kubelet)
}

// oddLabels returns the labels with which the kubelet does not start (Kubernetes,
// cmd/kubelet/app/options, ValidateKubeletFlags).
func oddLabels(k userdata.Kubelet) []oddity {
	var out []oddity
	for _, l := range k.Labels {
		if l.Fault != "" {
			out = append(out, oddity{true, at(l.Part, "node labels"), cmp.Or(l.Key, "a label") + " " + string(l.Fault), "labels that a kubelet may set", exits, l.Key})
		}
	}
	return out
}

// oddTaints returns the taints with which the kubelet does not start. Those in its
// configuration do not count if the flag replaces them.
func oddTaints(k userdata.Kubelet) []oddity {
	var out []oddity
	for _, t := range k.Taints {
		if t.Fault != "" && (!t.Dropped || t.Source != userdata.TaintConfig) {
			out = append(out, oddity{true, at(t.Part, string(t.Source)), cmp.Or(t.Key, "a taint") + " " + string(t.Fault), "<key>=<value>:<effect>", exits, ""})
		}
	}
	return out
}

const (
	computedFlags = "the user data computes some of the kubelet's flags on the instance"
	exits         = "the kubelet exits because of it"
)

// fatal are the anomalies with which the kubelet does not start.
var fatal = []userdata.Anomaly{userdata.NoDashes, userdata.SingleDash, userdata.BadSyntax, userdata.ValueMissing}

// oddOnes returns the cause that flags are odd, the certain ones first.
func (b *start) oddOnes(odd []oddity) cause.Verdict {
	slices.SortStableFunc(odd, func(a, c oddity) int { return roll.TrueFirst(a.sure, c.sure) })
	v := b.inData()
	for _, o := range odd[:min(len(odd), maxEvidence)] {
		v.Saw(b.source, o.field, o.observed, o.expected)
	}
	return v.Says("the kubelet's flags in the user data of %s (%s) are not what was meant: %s; %s", b.Finding.Instance, odd[0].field, odd[0].observed, odd[0].rule).
		Fix(b.correct(odd[0]))
}

// The flag and the setting that name the node.
const (
	nameFlag    = "--hostname-override"
	nameSetting = "settings.kubernetes.hostname-override"
)

// oddName checks the name that the user data gives the node. A mapping or an access entry makes a node known by
// its instance's private DNS name or ID, and the API server refuses any other name. EC2's names begin with ip- or
// i-. The flag is the last one, so it counts. Kubelets before 1.26, with AWS's cloud provider, ignore it. A role that
// is an administrator may register under any name, and then others of the group may be healthy.
//
// - https://kubernetes.io/docs/reference/access-authn-authz/node/
// - https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html
// - https://github.com/bottlerocket-os/bottlerocket/issues/4568
// - https://github.com/kubernetes/kubernetes/issues/54482
func (b *start) oddName(j userdata.Join) []oddity {
	name, field := j.Kubelet.HostnameOverride, nameFlag
	f, _ := j.Kubelet.Flag(strings.TrimPrefix(nameFlag, "--"))
	switch {
	case name.State == userdata.Malformed && len(f.Anomalies) == 0:
		name.Value = "no name that a node can have"
	case name.State != userdata.Given, strings.HasPrefix(name.Value, "ip-"), strings.HasPrefix(name.Value, "i-"):
		return nil
	}
	minor, ok := cause.Minor(b.kubelet().version)
	if ok && minor < 26 {
		return nil
	}
	sure := b.healthy(func(evidence.Member) bool { return true }) == ""
	switch j.Tool {
	case userdata.BottlerocketSettings:
		field = nameSetting
	case userdata.BootstrapScript:
		sure = sure && ok && b.os.family == al2
	case userdata.Nodeadm, userdata.NodeadmCommand:
	default:
		sure = false
	}
	return []oddity{{sure, at(j.Part, field), name.Value, "none: the node has EC2's name then", "the API server lets a node register only under its private DNS name or its instance ID", ""}}
}

// correct returns how to correct what is odd, where it comes from: a label may be the managed node
// group's or the node pool's.
// https://docs.aws.amazon.com/cli/latest/reference/eks/update-nodegroup-config.html
func (b *start) correct(o oddity) string {
	switch {
	case strings.HasSuffix(o.field, nameFlag), strings.HasSuffix(o.field, nameSetting):
		return b.change("leave " + o.field[strings.LastIndexByte(o.field, ' ')+1:] + " out; for names of your own, use labels")
	case o.label == "":
		return b.change(b.writeFlags())
	}
	group, pool := b.Group().NodeGroup, b.Group().NodePool
	name, _ := b.Finding.Group.NodeGroup()
	_, ofGroup := group.Value.Labels[o.label]
	_, ofPool := pool.Value.Labels[o.label]
	const instead = "   # to have the label, set it on the nodes once they have joined: kubectl label node"
	switch {
	case b.Finding.Owner == roll.OwnerManagedNodeGroup && group.Known() && (ofGroup || group.Value.LaunchTemplate == ""):
		return paste.Command("aws", "eks", "update-nodegroup-config", "--region", b.Region, "--cluster-name", b.ClusterID.Name, "--nodegroup-name", name, "--labels", "removeLabels="+o.label) + instead
	case ofPool:
		return paste.Lines(paste.Format("kubectl edit nodepool %s   # spec.template.metadata.labels: without ", pool.Value.Name)+paste.Remark(o.label), cause.Drift)
	}
	where := "--node-labels"
	if b.os.family == bottlerocket {
		where = "[settings.kubernetes.node-labels]"
	}
	return b.change("take " + o.label + " out of " + where + "; kubectl or a controller may set it on the nodes once they have joined")
}
