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

// dedicated are keys that keep other pods off nodes with accelerators for good. Nobody
// takes them off; who declares one as a startup taint means spec.template.spec.taints.
// https://karpenter.sh/docs/concepts/scheduling/#acceleratorsgpu-resources
var dedicated = []string{"nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "habana.ai/gaudi", "vpc.amazonaws.com/efa"}

// unregistered is the key of the taint with which Karpenter has its nodes register.
const unregistered = "karpenter.sh/unregistered"

// justRegistered is how long after a registration the node may have been read before it.
const justRegistered = time.Minute

// left is a startup taint that is still on a node.
type left struct {
	evidence.Taint
	agent *agent // nil if none is known
	by    string // who calls it a startup taint, "" if that is known of its agent alone
}

// taints asks whether a startup taint is still on the node, and who should have taken
// it off. Once the tolerance is over that alone keeps the node from its work.
func (l *look) taints() {
	n, ok := l.object(cause.StartupTaintNotRemoved)
	if !ok {
		return
	}
	remaining := l.remaining(n)
	if len(remaining) > 0 {
		l.s.Found(l.notRemoved(n, remaining))
		return
	}
	if pool, claim := l.Group().NodePool, l.NodeClaim(); l.karpenters() && !pool.Known() && !claim.Known() && slices.ContainsFunc(n.Taints, unclear) {
		l.s.NotChecked(claim.Missing("NodeClaim of "+string(l.Finding.Instance)), cause.StartupTaintNotRemoved)
		return
	}
	l.s.RuledOut(cause.StartupTaintNotRemoved)
}

// unclear reports a taint that a NodePool may have declared as a startup taint.
func unclear(t evidence.Taint) bool {
	return !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !strings.HasPrefix(t.Key, "karpenter.sh/") && t.Effect != "PreferNoSchedule"
}

// remaining are the startup taints on the node: those of known agents, those that its
// NodeClaim or NodePool declares, and the one that the finding is about, which may be
// named by the policy alone.
func (l *look) remaining(n evidence.NodeObject) []left {
	pool, claim := l.Group().NodePool, l.NodeClaim()
	var out []left
	for _, t := range n.Taints {
		a := agentOf(t.Key)
		switch {
		case a != nil && !a.guess:
			out = append(out, left{Taint: t, agent: a})
		case has(claim.Value.Startup, t):
			out = append(out, left{t, a, "NodeClaim " + claim.Value.Name})
		case has(pool.Value.StartupTaints, t):
			out = append(out, left{t, a, "NodePool " + pool.Value.Name})
		case has(claim.Value.Taints, t), has(pool.Value.Taints, t), !unclear(t):
		case strings.Contains(l.Finding.Summary, "startup taint "+told(t)):
			out = append(out, left{t, a, "the policy"})
		case a != nil:
			out = append(out, left{Taint: t, agent: a})
		}
	}
	slices.SortStableFunc(out, func(x, y left) int { return x.agent.order() - y.agent.order() })
	return out
}

// explains reports whether the taint can be why the node is not initialized. While a
// node is not ready, most agents wait for what it waits for, and their taints with
// them.
func (t left) explains(n evidence.NodeObject) bool {
	r := ready(n)
	switch {
	case r.Status == string(roll.ConditionTrue):
		return t.by != "" || !t.agent.guess
	case t.agent == nil:
		return false
	}
	return t.agent.early || t.agent.network && networkMissing(r)
}

func (l *look) notRemoved(n evidence.NodeObject, remaining []left) roll.Cause {
	t := remaining[0]
	for _, other := range remaining {
		if other.explains(n) {
			t = other
			break
		}
	}
	confidence := roll.Suggestive
	if l.overdue() && t.explains(n) {
		confidence = roll.Decisive
	}
	var seen []roll.Evidence
	for _, r := range remaining {
		seen = append(seen, roll.Evidence{Source: "node", Field: "spec.taints", Observed: told(r.Taint), Expected: "taken off once the node is ready for work"})
	}
	who, more, fix := l.remover(n, t)
	return roll.Cause{
		Code: cause.StartupTaintNotRemoved, Confidence: confidence, Subject: "taint/" + t.Key,
		Summary:  fmt.Sprintf("node %s still has the startup taint %s, %s after its creation: %s", n.Name, told(t.Taint), minutes(l.age(n)), who),
		Evidence: append(seen, more...),
		Fix:      paste.Lines(fix, kubectl("taint", "nodes", n.Name, told(t.Taint)+"-")+"   # only if pods can do without what it waits for: they start on the node at once"),
	}
}

// remover tells who should have taken the taint off and what became of that, with the
// evidence for it and how to look further.
func (l *look) remover(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	switch a := t.agent; {
	case a == nil:
		return l.nobody(t), nil, kubectl("describe", "node", n.Name)
	case a.daemonSet != "":
		return l.agentsPod(n, t)
	case a.key == unregistered:
		return l.unregistered(n, t)
	default:
		fix = kubectl("get", "node", n.Name, "-o", "jsonpath={.spec.providerID}{\"\\n\"}{.status.conditions}{\"\\n\"}")
		if len(a.logs) > 0 {
			fix = paste.Lines(fix, kubectl(a.logs...))
		}
		return a.how, nil, fix
	}
}

// nobody tells of a taint of which no agent is known.
func (l *look) nobody(t left) string {
	if slices.Contains(dedicated, t.Key) {
		return t.by + " declares it as a startup taint, but nobody takes it off: it keeps other pods off such nodes, and belongs to spec.template.spec.taints"
	}
	return t.by + " names it a startup taint, and no agent is known that takes it off"
}

// agentsPod looks at the agent's pod on the node.
func (l *look) agentsPod(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	a := t.agent
	list := kubectl("-n", a.namespace, "get", "pods", "-l", a.label, "--field-selector", "spec.nodeName="+n.Name, "-o", "wide")
	logs := ""
	if len(a.logs) > 0 {
		logs = kubectl(a.logs...)
	}
	pods := l.Node().Pods
	if !pods.Known() {
		return a.how + "; the node's pods were not read", nil, paste.Lines(list, logs)
	}
	field := "DaemonSet/" + a.daemonSet
	p, ok := podOf(pods.Value, a.daemonSet, a.label)
	if !ok {
		seen = append(seen, roll.Evidence{Source: "pods", Field: field, Observed: "no pod on " + n.Name, Expected: "a pod that is ready"})
		return a.how + ", and there is no such pod on the node", seen, paste.Lines(kubectl("-n", a.namespace, "describe", "daemonset", a.daemonSet)+
			"   # does it exist, select the node, and tolerate its taints ("+all(n.Taints)+")?", list)
	}
	seen = append(seen, roll.Evidence{Source: "pods", Field: p.Namespace + "/" + p.Name, Observed: observed(p), Expected: "is ready"})
	if p.Ready {
		who = a.how + ", and that pod is ready: what takes the taint off does not run, or may not change nodes"
		if logs == "" {
			logs = kubectl("-n", p.Namespace, "logs", p.Name, "--all-containers", "--tail=100")
		}
		return who, seen, paste.Lines(list, logs)
	}
	return a.how + ", and that pod " + condition(p), seen, paste.Lines(
		kubectl("-n", p.Namespace, "describe", "pod", p.Name), kubectl("-n", p.Namespace, "logs", p.Name, "--all-containers", "--tail=100"))
}

// unregistered looks at why Karpenter leaves its own taint on the node. It takes off the one
// with the effect NoExecute, once, when it registers the node, and looks no further when the
// NodeClaim's condition Registered is no longer Unknown. A hook of its own that is pending
// holds it up without any fault of the node.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go
func (l *look) unregistered(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	claim, how := l.NodeClaim(), t.agent.how
	if t.Effect != "NoExecute" {
		return "Karpenter takes off " + unregistered + ":NoExecute alone, so this one stays", nil, kubectl("describe", "node", n.Name)
	}
	if !claim.Known() {
		if claim.State == evidence.Absent && l.karpenters() {
			how += ", and no NodeClaim has its instance"
		}
		return how, nil, paste.Lines(kubectl("get", "nodeclaims", "-o", "wide"), kubectl(t.agent.logs...))
	}
	fix = paste.Lines(kubectl("describe", "nodeclaim", claim.Value.Name), kubectl(t.agent.logs...)+"   # in the namespace that Karpenter runs in")
	c, ok := claim.Value.Condition("Registered")
	if !ok {
		return how, nil, fix
	}
	seen = append(seen, roll.Evidence{Source: "NodeClaim", Field: "status.conditions[Registered]", Observed: reason(c), Expected: "True, and the taint gone"})
	switch {
	case c.Status != string(roll.ConditionTrue):
		return fmt.Sprintf("%s, and says of NodeClaim %s: %s", how, claim.Value.Name, reason(c)), seen, fix
	case l.At.Sub(c.Since) < justRegistered:
		return how, seen, fix
	}
	return fmt.Sprintf("%s, which it did at %s; it does not take off again what came back since", how, roll.Clock(c.Since)), seen, fix
}

// reason is a condition's status, reason and message in one text.
func reason(c evidence.Condition) string {
	text := c.Status
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + strings.TrimSuffix(c.Message, ".")
	}
	return text
}
