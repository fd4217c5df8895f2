package bootstrap

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// The taint with which Karpenter's nodes register, and what Karpenter reports when a node comes
// without it. Up to 1.2 Karpenter then does not accept the node as its own (condition
// Registered, reason UnregisteredTaintNotFound); from 1.3 on it reports an event and goes on.
// https://github.com/kubernetes-sigs/karpenter/pull/1991
const (
	unregisteredKey    = "karpenter.sh/unregistered"
	unregisteredEffect = "NoExecute"
	ownTaint           = unregisteredKey + ":" + unregisteredEffect
	taintNotFound      = "UnregisteredTaintNotFound"
	taintMissingEvent  = "UnregisteredTaintMissing"
	sinceThen          = "since Karpenter 1.3 that does not keep a node from registering"
)

// refused reports whether Karpenter does not accept the node because of its missing taint.
func (b *start) refused() (evidence.Condition, bool) {
	claim := b.NodeClaim()
	if !claim.Known() {
		return evidence.Condition{}, false
	}
	c, ok := claim.Value.Condition("Registered")
	return c, ok && c.Status != "True" && c.Reason == taintNotFound
}

func refusal(c evidence.Condition) roll.Evidence {
	return roll.Evidence{Source: "NodeClaim", Field: "status.conditions[Registered]", Observed: c.Status + ", " + c.Reason, Expected: "True"}
}

// taintConflict checks for taints that are set twice, by a flag and in the kubelet's
// configuration: the kubelet uses only the flag's. For nodes that are not Karpenter's, lost
// taints mean fewer taints and nothing else.
// https://github.com/aws/karpenter-provider-aws/issues/7486
func (b *start) taintConflict() cause.Verdict {
	if b.Finding.Owner != roll.OwnerKarpenter {
		return cause.Verdict{}
	}
	if !b.data.Settled() {
		return cause.NotChecked(b.data.Gap())
	}
	joins := b.joins()
	i := slices.IndexFunc(joins, func(j userdata.Join) bool { return j.Kubelet.TaintConflict })
	if i < 0 {
		return cause.RuledOut
	}
	j := joins[i]
	condition, blocked := b.refused()
	lost := !registersUnregistered(j.Kubelet)
	var dropped []string
	for _, t := range j.Kubelet.Taints {
		if t.Dropped && t.Source == userdata.TaintConfig && t.Key != "" {
			dropped = append(dropped, t.Key+":"+t.Effect)
		}
	}
	names := strings.Join(dropped, ", ")
	v := b.inData().
		Says("the user data of %s sets taints by --register-with-taints and by registerWithTaints: the flag wins, and %s%s dropped", b.Finding.Instance, names, roll.Plural(len(dropped), " is", " are")).
		Saw(b.source, at(j.Part, "--register-with-taints and registerWithTaints"), "both; dropped: "+names, "one of them with all taints").
		Fix(b.change(b.oneSource(j.Kubelet)))
	switch {
	case blocked && lost:
		v.Also(": Karpenter does not take a node without it").Shows(refusal(condition))
	case lost:
		v.Also("; " + sinceThen)
	}
	return b.given(blocked && lost && b.Finding.Kind == roll.Uninitialized && !j.Conditional, v)
}

// oneSource says how to set all taints in one place: those of the flag belong in the NodePool,
// unless they are already there.
func (b *start) oneSource(k userdata.Kubelet) string {
	what := "take --" + flagTaints + " out of the kubelet's flags"
	pool := b.Group().NodePool.Value
	var missing []string
	for _, t := range k.Registered() {
		declared := slices.ContainsFunc(slices.Concat(pool.Taints, pool.StartupTaints), func(o evidence.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
		if t.Source == userdata.TaintFlag && t.Key != unregisteredKey && !declared {
			missing = append(missing, t.Key+":"+t.Effect)
		}
	}
	if len(missing) > 0 {
		what += ", and set " + strings.Join(missing, ", ") + " in the NodePool (spec.template.spec.taints, or startupTaints if something takes it off)"
	}
	return what
}

// registersUnregistered reports whether the kubelet registers with Karpenter's taint.
func registersUnregistered(k userdata.Kubelet) bool {
	return slices.ContainsFunc(k.Registered(), func(t userdata.Taint) bool { return t.Key == unregisteredKey && t.Effect == unregisteredEffect })
}

// startupTaint checks whether the node registers with Karpenter's taint. One with another
// effect does not count: Karpenter compares key and effect, and so never removes it.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go
func (b *start) startupTaint() cause.Verdict {
	if b.Finding.Owner != roll.OwnerKarpenter {
		return cause.Verdict{}
	}
	for _, t := range b.Node().Object.Value.Taints {
		if t.Key == unregisteredKey && t.Effect != unregisteredEffect {
			return b.wrongEffect(t)
		}
	}
	if condition, blocked := b.refused(); blocked {
		return b.taintMissing("Karpenter does not take the node").Shows(refusal(condition)).DecisiveIf(true)
	}
	claim := b.NodeClaim()
	for _, e := range claim.Value.Events.Value {
		if e.Reason == taintMissingEvent {
			return b.taintMissing(sinceThen).Saw("events", "NodeClaim "+claim.Value.Name, e.Reason+": "+e.Message, "no such event")
		}
	}
	return b.customTaint(claim)
}

// customTaint checks the family Custom, where only the user data can set the taint. Karpenter
// adds it to all others.
func (b *start) customTaint(claim evidence.Fact[evidence.NodeClaim]) cause.Verdict {
	class, object := b.Group().NodeClass, b.Node().Object
	is, _ := claim.Value.Condition("Registered")
	dynamic := func(j userdata.Join) bool { return j.Kubelet.TaintsDynamic || j.Kubelet.FlagsDynamic }
	switch {
	case b.Finding.Kind == roll.Uninitialized && !object.Known():
		return b.NoNode()
	case claim.Known() && !claim.Value.Events.Settled():
		return cause.Missing(claim.Value.Events, "list of events of NodeClaim "+claim.Value.Name)
	case is.Status == "True":
		return cause.RuledOut
	case b.Finding.Kind == roll.Uninitialized && !claim.Known():
		// Only Karpenter knows with which taints the node registered.
		return cause.Missing(claim, "NodeClaim of "+string(b.Finding.Instance))
	case !class.Settled():
		return cause.NotChecked(class.Gap())
	case !b.data.Settled():
		return cause.NotChecked(b.data.Gap())
	case len(b.joins()) == 0:
		return cause.NotChecked(noJoin)
	case b.registersUnregistered():
		return cause.RuledOut
	case slices.ContainsFunc(b.joins(), dynamic):
		return cause.NotChecked("the user data computes the kubelet's taints on the instance")
	case b.custom():
		return b.given(false, b.taintMissing(sinceThen).Saw(b.source, "--register-with-taints, registerWithTaints", "not "+ownTaint, ownTaint))
	}
	return cause.NotChecked("the user data lacks the taint, which Karpenter sets itself in every AMI family but Custom")
}

// giveTaint returns how to give the node the taint. That does not help if the user data already
// has it without an oddity.
func (b *start) giveTaint() string {
	switch meant := b.meantTaints(); {
	case !b.registersUnregistered():
		return b.change(b.writeTaints(karpentersTaint))
	case len(meant) > 0:
		return b.change(b.writeTaints(meant))
	}
	running := b.showConsole()
	if b.Finding.Node != "" {
		running = paste.Kubectl("get", "--raw", "/api/v1/nodes/"+b.Finding.Node+"/proxy/configz")
	}
	return paste.Lines("# the user data has the taint already: find out with which taints the kubelet runs, and what changes them on the image",
		running, "# Karpenter 1.3 and later take a node that comes without it")
}

// wrongEffect returns the cause that the node has a taint with Karpenter's key and another
// effect.
func (b *start) wrongEffect(t evidence.Taint) cause.Verdict {
	wrong := t.Key + ":" + t.Effect
	fix := paste.Kubectl("taint", "nodes", b.Finding.Node, wrong+"-") + "   # pods start on it at once"
	v := b.inData().DecisiveIf(t.Effect != "PreferNoSchedule").
		Says("node %s has the taint %s in place of %s: Karpenter compares the effect too, so it never takes that taint off", b.Finding.Node, wrong, ownTaint).
		Saw("node", "spec.taints", wrong, ownTaint)
	for _, j := range b.joins() {
		for _, own := range j.Kubelet.Registered() {
			if own.Key == t.Key && own.Effect == t.Effect {
				v.Saw(b.source, at(own.Part, string(own.Source)), wrong, ownTaint)
				fix = paste.Lines(b.change(b.writeTaints(karpentersTaint)+", in place of "+wrong), fix)
			}
		}
	}
	return v.Fix(fix)
}

// registersUnregistered reports whether the user data makes the kubelet register with
// Karpenter's taint.
func (b *start) registersUnregistered() bool {
	return slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return registersUnregistered(j.Kubelet) })
}

// taintMissing returns the cause that the node registers without Karpenter's taint, and the
// consequence.
func (b *start) taintMissing(follows string) cause.Verdict {
	return b.inData().Says("the kubelet of %s does not register with the taint %s; %s", b.Finding.Instance, ownTaint, follows).Fix(b.giveTaint())
}

// karpentersTaint is Karpenter's taint as user data sets it.
var karpentersTaint = []userdata.Taint{{Key: unregisteredKey, Effect: unregisteredEffect}}
