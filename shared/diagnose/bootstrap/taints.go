package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// The taint with which Karpenter has its nodes register, and what it says when a node
// comes without. Up to 1.2 it then does not take the node for its own (condition
// Registered, reason UnregisteredTaintNotFound); from 1.3 on it tells so in an event and
// goes on. https://github.com/kubernetes-sigs/karpenter/pull/1991
const (
	unregisteredKey    = "karpenter.sh/unregistered"
	unregisteredEffect = "NoExecute"
	ownTaint           = unregisteredKey + ":" + unregisteredEffect
	taintNotFound      = "UnregisteredTaintNotFound"
	taintMissingEvent  = "UnregisteredTaintMissing"
	sinceThen          = "since Karpenter 1.3 that does not keep a node from registering"
)

// refused reports whether Karpenter does not take the node because of its missing taint.
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

// taintConflict asks whether taints are given twice, by a flag and in the kubelet's
// configuration: the kubelet takes the flag's alone.
// https://github.com/aws/karpenter-provider-aws/issues/7486
func (b *start) taintConflict() {
	if b.Finding.Owner != roll.OwnerKarpenter {
		return // lost taints leave other nodes with fewer of them, and that is all
	}
	if !b.data.Settled() {
		b.s.NotChecked(b.data.Gap(), cause.UserDataTaintConflict)
		return
	}
	j, ok := b.conflict()
	if !ok {
		b.s.RuledOut(cause.UserDataTaintConflict)
		return
	}
	dropped := droppedTaints(j.Kubelet)
	seen := []roll.Evidence{{Source: b.source, Field: at(j.Part, "--register-with-taints and registerWithTaints"), Observed: "both; dropped: " + strings.Join(dropped, ", "), Expected: "one of them with all taints"}}
	words := "the flag wins, and " + strings.Join(dropped, ", ") + roll.Plural(len(dropped), " is", " are") + " dropped"
	condition, blocked := b.refused()
	lost := !registersUnregistered(j.Kubelet)
	switch {
	case blocked && lost:
		seen = append(seen, refusal(condition))
		words += ": Karpenter does not take a node without it"
	case lost:
		words += "; " + sinceThen
	}
	b.given(blocked && lost && b.Finding.Kind == roll.Uninitialized && !j.Conditional, roll.Cause{
		Code:     cause.UserDataTaintConflict,
		Summary:  fmt.Sprintf("the user data of %s sets taints by --register-with-taints and by registerWithTaints: %s", b.Finding.Instance, words),
		Evidence: seen,
		Fix:      b.change(b.oneSource(j.Kubelet)),
	})
}

// oneSource says how to have all taints in one place: those of the flag belong to the
// NodePool, unless they are there already.
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

// conflict is a join whose flag takes the place of taints in the configuration.
func (b *start) conflict() (userdata.Join, bool) {
	for _, j := range b.joins() {
		if j.Kubelet.TaintConflict {
			return j, true
		}
	}
	return userdata.Join{}, false
}

func droppedTaints(k userdata.Kubelet) []string {
	var out []string
	for _, t := range k.Taints {
		if t.Dropped && t.Source == userdata.TaintConfig && t.Key != "" {
			out = append(out, t.Key+":"+t.Effect)
		}
	}
	return out
}

// registersUnregistered reports whether the kubelet registers with Karpenter's taint.
func registersUnregistered(k userdata.Kubelet) bool {
	return slices.ContainsFunc(k.Registered(), func(t userdata.Taint) bool { return t.Key == unregisteredKey && t.Effect == unregisteredEffect })
}

// startupTaint asks whether the node came, or will come, without Karpenter's taint. One
// with another effect is none: Karpenter compares key and effect, does not take it for its
// own, and so never takes it off.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go
func (b *start) startupTaint() {
	if b.Finding.Owner != roll.OwnerKarpenter {
		return
	}
	if t, ok := b.wrongEffect(); ok {
		b.found(t.Effect != "PreferNoSchedule", b.wrongEffectCause(t))
		return
	}
	if condition, blocked := b.refused(); blocked {
		b.found(true, b.startupTaintCause("Karpenter does not take the node", refusal(condition)))
		return
	}
	claim := b.NodeClaim()
	if claim.Known() && claim.Value.Events.Known() {
		for _, e := range claim.Value.Events.Value {
			if e.Reason == taintMissingEvent {
				b.found(false, b.startupTaintCause("", roll.Evidence{Source: "events", Field: "NodeClaim " + claim.Value.Name, Observed: e.Reason + ": " + e.Message, Expected: "no such event"}))
				return
			}
		}
	}
	b.customTaint(claim)
}

// customTaint looks where only the user data can have the taint: in the family Custom. To
// all others Karpenter adds it.
func (b *start) customTaint(claim evidence.Fact[evidence.NodeClaim]) {
	class := b.Group().NodeClass
	switch {
	case b.Finding.Kind == roll.Uninitialized && !b.Node().Object.Known():
		b.s.NotChecked(b.Node().Object.Missing("node "+b.Finding.Node), cause.StartupTaintMissing)
	case claim.Known() && !claim.Value.Events.Settled():
		b.s.NotChecked(claim.Value.Events.Missing("list of events of NodeClaim "+claim.Value.Name), cause.StartupTaintMissing)
	case claim.Known() && registered(claim.Value):
		b.s.RuledOut(cause.StartupTaintMissing)
	case b.Finding.Kind == roll.Uninitialized && !claim.Known():
		// The node came, and only Karpenter tells with what.
		b.s.NotChecked(claim.Missing("NodeClaim of "+string(b.Finding.Instance)), cause.StartupTaintMissing)
	case !class.Settled():
		b.s.NotChecked(class.Gap(), cause.StartupTaintMissing)
	case !b.data.Settled():
		b.s.NotChecked(b.data.Gap(), cause.StartupTaintMissing)
	case len(b.joins()) == 0:
		b.s.NotChecked("no way of joining a cluster was seen in the user data", cause.StartupTaintMissing)
	case slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return registersUnregistered(j.Kubelet) }):
		b.s.RuledOut(cause.StartupTaintMissing)
	case slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return j.Kubelet.TaintsDynamic || j.Kubelet.FlagsDynamic }):
		b.s.NotChecked("the user data computes the kubelet's taints on the instance", cause.StartupTaintMissing)
	case b.custom():
		c := b.startupTaintCause("", roll.Evidence{Source: b.source, Field: "--register-with-taints, registerWithTaints", Observed: "not " + ownTaint, Expected: ownTaint})
		b.given(false, c)
	default:
		b.s.NotChecked("the user data lacks the taint, which Karpenter sets itself in every AMI family but Custom", cause.StartupTaintMissing)
	}
}

func registered(n evidence.NodeClaim) bool {
	c, ok := n.Condition("Registered")
	return ok && c.Status == "True"
}

// startupTaintCause says what Karpenter does about it: blocked, or that later versions go
// on.
func (b *start) startupTaintCause(blocked string, seen roll.Evidence) roll.Cause {
	words := blocked
	if words == "" {
		words = sinceThen
	}
	return roll.Cause{
		Code:     cause.StartupTaintMissing,
		Summary:  fmt.Sprintf("the kubelet of %s does not register with the taint %s; %s", b.Finding.Instance, ownTaint, words),
		Evidence: []roll.Evidence{seen}, Subject: b.subject(),
		Fix: b.giveTaint(),
	}
}

// giveTaint is how the node gets the taint. Where the user data has it already, and nothing
// is odd about how it is written, that is no use.
func (b *start) giveTaint() string {
	switch meant := b.meantTaints(); {
	case !slices.ContainsFunc(b.joins(), func(j userdata.Join) bool { return registersUnregistered(j.Kubelet) }):
		return b.change(b.writeTaints([]userdata.Taint{{Key: unregisteredKey, Effect: unregisteredEffect}}))
	case len(meant) > 0:
		return b.change(b.writeTaints(meant))
	}
	return paste.Lines("# the user data has the taint already: see with which the kubelet runs, and what changes them on the image",
		b.runningTaints(), "# Karpenter 1.3 and later take a node that comes without it")
}

// runningTaints is how a person sees what the kubelet was configured with.
func (b *start) runningTaints() string {
	if b.Finding.Node == "" {
		return b.showConsole()
	}
	return paste.Command("kubectl", "get", "--raw", "/api/v1/nodes/"+b.Finding.Node+"/proxy/configz")
}

// wrongEffect is a taint on the node that has the key of Karpenter's and another effect.
func (b *start) wrongEffect() (evidence.Taint, bool) {
	taints := b.Node().Object.Value.Taints
	i := slices.IndexFunc(taints, func(t evidence.Taint) bool { return t.Key == unregisteredKey && t.Effect != unregisteredEffect })
	if i < 0 {
		return evidence.Taint{}, false
	}
	return taints[i], true
}

func (b *start) wrongEffectCause(t evidence.Taint) roll.Cause {
	wrong := t.Key + ":" + t.Effect
	seen := []roll.Evidence{{Source: "node", Field: "spec.taints", Observed: wrong, Expected: ownTaint}}
	fix := paste.Command("kubectl", "taint", "nodes", b.Finding.Node, wrong+"-") + "   # pods start on it at once"
	for _, j := range b.joins() {
		for _, own := range j.Kubelet.Registered() {
			if own.Key == t.Key && own.Effect == t.Effect {
				seen = append(seen, roll.Evidence{Source: b.source, Field: at(own.Part, string(own.Source)), Observed: wrong, Expected: ownTaint})
				fix = paste.Lines(b.change(b.writeTaints([]userdata.Taint{{Key: unregisteredKey, Effect: unregisteredEffect}})+", in place of "+wrong), fix)
			}
		}
	}
	return roll.Cause{
		Code:     cause.StartupTaintMissing,
		Summary:  fmt.Sprintf("node %s has the taint %s in place of %s: Karpenter compares the effect too, so it never takes that taint off", b.Finding.Node, wrong, ownTaint),
		Evidence: seen, Subject: b.subject(), Fix: fix,
	}
}
