package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// oddity is something about the kubelet's flags that is seldom meant. sure: the kubelet,
// or the script that starts it, exits because of it.
type oddity struct {
	sure            bool
	field, observed string
	expected        string
	rule            string // why, as a clause
}

// malformedFlags asks whether the kubelet reads its flags, labels and taints as they were
// meant. The rules are those of the kubelet (Kubernetes, cmd/kubelet/app) and of systemd,
// which splits what nodeadm and bootstrap.sh hand on
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines).
func (b *start) malformedFlags() {
	odd := b.scriptArguments()
	unsure := ""
	for _, j := range b.joins() {
		odd = append(odd, b.oddFlags(j)...)
		if why := b.unsureFlags(j.Kubelet); why != "" {
			unsure = why
		}
	}
	b.judgeFlags(odd, unsure)
}

// judgeFlags notes what is odd about the flags, with evidence from elsewhere.
func (b *start) judgeFlags(odd []oddity, unsure string, more ...roll.Evidence) {
	switch {
	case len(odd) > 0:
		c := b.flagsCause(odd)
		c.Evidence = append(c.Evidence, more...)
		b.given(sureOf(odd), c)
	case unsure != "":
		b.s.NotChecked(unsure, cause.UserDataMalformedFlags)
	case len(b.joins()) == 0:
		b.s.NotChecked("no way of joining a cluster was seen in the user data", cause.UserDataMalformedFlags)
	default:
		b.s.RuledOut(cause.UserDataMalformedFlags)
	}
}

// registeredFlags asks the same of a node that registered: its kubelet started, so only
// flags that give it its taints are still of interest. Quotes alone are a hint. That
// Karpenter refuses the node for want of the very taint that they hold proves that they
// were lost, where Karpenter has no flags of its own: in the family Custom.
func (b *start) registeredFlags() {
	d := b.data
	switch {
	case !d.Settled():
		b.s.NotChecked(d.Gap(), cause.UserDataMalformedFlags)
		return
	case d.State == evidence.Absent || d.Value.Empty:
		b.s.RuledOut(cause.UserDataMalformedFlags)
		return
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
			unsure = "the user data computes some of the kubelet's flags on the instance"
		}
	}
	var more []roll.Evidence
	if refused {
		more = append(more, refusal(condition))
	}
	b.judgeFlags(odd, unsure, more...)
}

// oddTaintFlags are the oddities for which a kubelet that starts may lack its taints.
func (b *start) oddTaintFlags(j userdata.Join) []oddity {
	var out []oddity
	for _, f := range j.Kubelet.Flags {
		if f.Name == flagTaints || f.Has(userdata.UnbalancedQuote) || f.Has(userdata.FlagAsValue) {
			out = append(out, b.oddFlag(f, j)...)
		}
	}
	out = append(append(out, oddTaints(j.Kubelet)...), lostFlags(j)...)
	for i := range out {
		if out[i].sure {
			out[i].rule = "the kubelet exits because of it, so the one that registered got something else"
		}
	}
	return out
}

// unsureFlags is why flags that look right may not be, "" if they are.
func (b *start) unsureFlags(k userdata.Kubelet) string {
	if k.FlagsDynamic {
		return "the user data computes some of the kubelet's flags on the instance"
	}
	_, known := minorOf(b.kubelet().version)
	if !known && slices.ContainsFunc(k.Flags, func(f userdata.Flag) bool { return f.GoneBy > 0 }) {
		return "whether the kubelet still has all of its flags depends on its version: " + b.kubelet().gap
	}
	return ""
}

func sureOf(odd []oddity) bool {
	return slices.ContainsFunc(odd, func(o oddity) bool { return o.sure })
}

// scripts are the scripts that join an instance, and who stumbles over their arguments.
var scripts = map[userdata.Reader]userdata.Tool{userdata.ByBootstrap: userdata.BootstrapScript, userdata.ByWindowsScript: userdata.WindowsScript}

// scriptArguments are arguments that the script does not take as they were meant.
func (b *start) scriptArguments() []oddity {
	var out []oddity
	for _, f := range b.data.Value.Faults {
		tool, script := scripts[f.By]
		if !script || !b.os.fits(tool) {
			continue
		}
		sure := f.Effect == userdata.Fails && b.os.family != "" && b.calledOnce(tool)
		out = append(out, oddity{sure, place(f), string(f.Reason), "arguments that " + string(tool) + " takes", fmt.Sprintf("%s %s on them", tool, f.Effect)})
	}
	return out
}

// calledOnce reports whether the script is called once, and for certain.
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

// oddFlags are the oddities of one join's kubelet.
func (b *start) oddFlags(j userdata.Join) []oddity {
	var out []oddity
	for _, f := range j.Kubelet.Flags {
		out = append(out, b.oddFlag(f, j)...)
	}
	out = append(out, oddLabels(j.Kubelet)...)
	out = append(append(out, oddTaints(j.Kubelet)...), lostFlags(j)...)
	certain := b.asWritten(j)
	for i := range out {
		out[i].sure = out[i].sure && certain
	}
	return out
}

// asWritten reports whether nothing else in the user data has a say in the kubelet's flags.
func (b *start) asWritten(j userdata.Join) bool {
	return !j.Conditional && !j.Kubelet.FlagsDynamic &&
		!slices.Contains(b.data.Value.Edits, userdata.EditsBootstrapScript) && !slices.Contains(b.data.Value.Edits, userdata.EditsKubeletUnit)
}

// lostFlags tells that systemd drops flags of a join.
func lostFlags(j userdata.Join) []oddity {
	if j.Kubelet.Loss == "" {
		return nil
	}
	return []oddity{{false, at(j.Part, "kubelet flags"), string(j.Kubelet.Loss), "flags that reach the kubelet", "systemd drops flags, and the kubelet starts without them"}}
}

// exits are anomalies for which the kubelet does not start.
var exits = []userdata.Anomaly{userdata.NoDashes, userdata.SingleDash, userdata.BadSyntax, userdata.ValueMissing}

func (b *start) oddFlag(f userdata.Flag, j userdata.Join) []oddity {
	field := at(f.Part, "--"+f.Name)
	if f.Name == "" {
		field = at(f.Part, "kubelet flags")
	}
	var out []oddity
	for _, a := range f.Anomalies {
		o := oddity{field: field, observed: string(a), expected: "none of that"}
		switch {
		case slices.Contains(exits, a):
			o.sure, o.rule = true, "the kubelet exits because of it"
		case a == userdata.LiteralQuote:
			o.sure, o.rule = userdata.KeptFlag(f.Name), "the quotes are part of the value that the kubelet gets"
			o.observed, o.expected = string(a)+shown(f), "a value without quotes"
		case a == userdata.UnbalancedQuote:
			o.sure, o.rule = swallowed(f, j.Kubelet), "what follows becomes part of the value"
			o.observed, o.expected = string(a)+shown(f), "a quote at both ends, or none"
		case a == userdata.FlagAsValue:
			o.sure, o.rule = swallowed(f, j.Kubelet), "the flag that follows becomes the value"
		case a == userdata.NestedQuotes:
			if len(f.Anomalies) > 1 || b.karpenters(f, j) {
				continue
			}
			o.rule, o.expected = "which can reach the kubelet; the same text was seen to work", "one level of quotes"
		case a == userdata.Lookalike, a == userdata.UnknownFlag:
			o.rule = "the kubelet may exit because of it"
		default:
			continue // Repeated: the kubelet takes the last one
		}
		out = append(out, o)
	}
	return append(out, b.gone(f, field)...)
}

// gone tells of a flag that the kubelet of the instance does not have any more.
func (b *start) gone(f userdata.Flag, field string) []oddity {
	if f.GoneBy == 0 {
		return nil
	}
	v := b.kubelet()
	minor, ok := minorOf(v.version)
	if !ok || minor < f.GoneBy {
		return nil
	}
	return []oddity{{v.sure, field, "a flag that the kubelet of 1." + fmt.Sprint(minor) + " does not have", "flags of that version", "the kubelet exits because of it"}}
}

// shown is a value that is kept, with its quotes, up to the first blank: what it swallowed
// behind that may be anything.
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

// swallowed reports whether something that was not meant to became part of the flag's
// value, and the kubelet does not take that: it holds another flag, or is no label or
// taint.
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

// karpenters reports whether Karpenter wrote the flag: it puts labels and taints in quotes
// of their own, and every one of its nodes works with that
// (karpenter-provider-aws, pkg/providers/amifamily/bootstrap).
func (b *start) karpenters(f userdata.Flag, j userdata.Join) bool {
	if slices.Contains(j.Karpenter, f.Part) {
		return true
	}
	if b.Finding.Owner != roll.OwnerKarpenter || !b.Group().NodeClass.Known() || b.custom() {
		return false
	}
	return (j.Tool == userdata.BootstrapScript || j.Tool == userdata.WindowsScript) && registersUnregistered(j.Kubelet)
}

// oddLabels are labels with which the kubelet does not start
// (Kubernetes, cmd/kubelet/app/options, ValidateKubeletFlags).
func oddLabels(k userdata.Kubelet) []oddity {
	var out []oddity
	for _, l := range k.Labels {
		if l.Fault == "" {
			continue
		}
		name := "a label"
		if l.Key != "" {
			name = l.Key
		}
		out = append(out, oddity{true, at(l.Part, "node labels"), name + " " + string(l.Fault), "labels that a kubelet may set", "the kubelet exits because of it"})
	}
	return out
}

// oddTaints are taints with which the kubelet does not start. Those in its configuration
// do not count once the flag has taken their place.
func oddTaints(k userdata.Kubelet) []oddity {
	var out []oddity
	for _, t := range k.Taints {
		if t.Fault == "" || t.Dropped && t.Source == userdata.TaintConfig {
			continue
		}
		name := "a taint"
		if t.Key != "" {
			name = t.Key
		}
		out = append(out, oddity{true, at(t.Part, string(t.Source)), name + " " + string(t.Fault), "<key>=<value>:<effect>", "the kubelet exits because of it"})
	}
	return out
}

func (b *start) flagsCause(odd []oddity) roll.Cause {
	// What is sure is shown first.
	slices.SortStableFunc(odd, func(a, c oddity) int { return rank(a) - rank(c) })
	var seen []roll.Evidence
	for _, o := range odd {
		seen = append(seen, roll.Evidence{Source: b.source, Field: o.field, Observed: o.observed, Expected: o.expected})
	}
	return roll.Cause{
		Code:     cause.UserDataMalformedFlags,
		Summary:  fmt.Sprintf("the kubelet's flags in the user data of %s (%s) are not what was meant: %s; %s", b.Finding.Instance, odd[0].field, odd[0].observed, odd[0].rule),
		Evidence: seen[:min(len(seen), maxEvidence)],
		Fix:      b.change(b.writeFlags()),
	}
}

func rank(o oddity) int {
	if o.sure {
		return 0
	}
	return 1
}
