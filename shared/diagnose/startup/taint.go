package startup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// dedicated are keys that permanently keep other pods off nodes with accelerators. Nobody
// removes them; whoever declares one as a startup taint means spec.template.spec.taints.
// https://karpenter.sh/docs/concepts/scheduling/#acceleratorsgpu-resources
var dedicated = []string{"nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "habana.ai/gaudi", "vpc.amazonaws.com/efa"}

// unregistered is the key of the taint with which Karpenter's nodes register.
const unregistered = "karpenter.sh/unregistered"

// justRegistered is how long after a registration the node may have been read before it.
const justRegistered = time.Minute

// left is a startup taint that is still on a node.
type left struct {
	evidence.Taint
	agent *agent // nil if none is known
	by    string // what declares it a startup taint, "" if only its agent is known for it
}

// taints checks whether a startup taint is still on the node, and who should have removed it.
// Once the tolerance is over, that alone keeps the node from its work.
func (l *look) taints() cause.Verdict {
	n, ok := l.node()
	if !ok {
		return l.NoNode()
	}
	if remaining := l.remaining(n); len(remaining) > 0 {
		return l.notRemoved(n, remaining)
	}
	pool, claim := l.Group().NodePool, l.NodeClaim()
	lasting := func(t evidence.Taint) bool { return has(claim.Value.Taints, t) || has(pool.Value.Taints, t) }
	switch {
	case !l.karpenters() || !slices.ContainsFunc(n.Taints, func(t evidence.Taint) bool { return unclear(t) && !lasting(t) }):
		return cause.RuledOut
	case !pool.Settled():
		return cause.Missing(pool, "NodePool of "+string(l.Finding.Group))
	case !pool.Known() && !claim.Known():
		return cause.Missing(claim, "NodeClaim of "+string(l.Finding.Instance))
	}
	return cause.RuledOut
}

// unclear reports whether a NodePool may have declared the taint as a startup taint.
func unclear(t evidence.Taint) bool {
	return !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !strings.HasPrefix(t.Key, "karpenter.sh/") && t.Effect != "PreferNoSchedule"
}

// remaining returns the startup taints on the node: those of known agents, those that its
// NodeClaim or NodePool declares, and the finding's own, which only the policy may name.
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

// explains reports whether the taint can be why the node is not initialized. While a node is
// not ready, most agents wait for the same thing as the node, and so do their taints.
func (t left) explains(n evidence.NodeObject) bool {
	r := ready(n)
	switch {
	case r.Status == string(roll.ConditionTrue):
		return t.by != "" || !t.agent.guess
	case t.agent == nil:
		return false
	}
	return t.agent.early || t.agent.network && n.AwaitsNetwork()
}

func (l *look) notRemoved(n evidence.NodeObject, remaining []left) cause.Verdict {
	t := remaining[0]
	if i := slices.IndexFunc(remaining, func(t left) bool { return t.explains(n) }); i >= 0 {
		t = remaining[i]
	}
	who, more, fix := l.remover(n, t)
	barred := l.barred(n)
	v := cause.DecisiveIf(barred == "" && l.overdue() && t.explains(n)).Unsettled(barred).In("taint/"+t.Key).
		Says("node %s still has the startup taint %s, %s after its creation: %s", n.Name, told(t.Taint), minutes(l.age(n)), who).
		Fix(fix, paste.If("only if pods can do without what it waits for, since they start on the node at once", paste.Kubectl("taint", "nodes", n.Name, told(t.Taint)+"-")))
	for _, r := range remaining {
		v.Saw("node", "spec.taints", told(r.Taint), "taken off once the node is ready for work")
	}
	return v.Shows(more...)
}

// barred says why perhaps no agent can remove a taint from the node, "" if one can. A webhook
// that must approve each change of a node and has no endpoints prevents every removal: the taint
// then is a symptom of the webhook, whatever its agent does.
func (l *look) barred(n evidence.NodeObject) string {
	hooks := l.Cluster.Webhooks
	switch {
	case changed(n):
		return ""
	case !hooks.Settled():
		return hooks.Gap()
	}
	for _, w := range hooks.Value {
		switch {
		case !w.MustApprove("nodes", "UPDATE"):
		case !w.Endpoints.Settled():
			return w.Endpoints.Gap()
		case w.Endpoints.Value == 0:
			return fmt.Sprintf("the webhook %s (%s) must approve changes of nodes, and has no endpoints", w.Name, w.Configuration)
		}
	}
	return ""
}

// changed reports whether somebody other than its kubelet has changed the node since it became
// ready. The API server creates every node with the taint not-ready, and the node controller
// takes it off by such a change.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#taintnodesbycondition
func changed(n evidence.NodeObject) bool {
	still := n.Tainted("node.kubernetes.io/not-ready")
	return ready(n).Status == string(roll.ConditionTrue) && !still
}

// remover returns who should have removed the taint and why it is still there, with the
// evidence and the commands that show more.
func (l *look) remover(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	a := t.agent
	switch {
	case a == nil && slices.Contains(dedicated, t.Key):
		who = t.by + " declares it as a startup taint, but nobody takes it off: it keeps other pods off such nodes, and belongs to spec.template.spec.taints"
		return who, nil, paste.Kubectl("describe", "node", n.Name)
	case a == nil:
		more, seen, fix := l.unknownAgent(n, t.Taint)
		return t.by + " names it a startup taint, and no agent is known that takes it off" + more, seen, paste.Lines(paste.Kubectl("describe", "node", n.Name), fix)
	case a.daemonSet != "":
		return l.agentsPod(n, t)
	case a.key == unregistered:
		return l.unregistered(n, t)
	}
	more, seen := "", []roll.Evidence(nil)
	if a.guess {
		more, seen, fix = l.unknownAgent(n, t.Taint)
	}
	return a.how + more, seen, paste.Lines(paste.Kubectl("get", "node", n.Name, "-o", "jsonpath={.spec.providerID}{\"\\n\"}{.status.conditions}{\"\\n\"}"), a.showLogs(), fix)
}

// agentsPod checks the agent's pod on the node.
func (l *look) agentsPod(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	a, pods := t.agent, l.Node().Pods
	list := paste.Kubectl("-n", a.namespace, "get", "pods", "-l", a.label, "--field-selector", "spec.nodeName="+n.Name, "-o", "wide")
	if !pods.Known() {
		return a.how + "; the node's pods were not read", nil, paste.Lines(list, a.showLogs())
	}
	p, ok := podOf(pods.Value, a.set())
	switch {
	case !ok:
		seen = []roll.Evidence{l.absent(a.daemonSet, "a pod that is ready")}
		if d, ok := l.setOf(n, a.set()); ok {
			if why, more, change := refusal(d, n); why != "" {
				return a.how + ": " + why, append(seen, more...), paste.Lines(change, list)
			}
		}
		fix = paste.Kubectl("-n", a.namespace, "describe", "daemonset", a.daemonSet) + "   # does it exist, select the node, and tolerate its taints (" + paste.Remark(all(n.Taints)) + ")?"
		return a.how + ", and there is no such pod on the node", seen, paste.Lines(fix, list)
	case p.Ready:
		who = a.how + ", and that pod is ready: what takes the taint off does not run, or may not change nodes"
		return who, []roll.Evidence{shown(p)}, paste.Lines(list, cmp.Or(a.showLogs(), logs(p)))
	}
	return a.how + ", and that pod " + condition(p), []roll.Evidence{shown(p)}, inspect(p)
}

// unregistered checks why Karpenter leaves its own taint on the node. Karpenter removes the one
// with the effect NoExecute, once, when it registers the node. It stops trying when the
// NodeClaim's Registered condition is no longer Unknown. One of its own pending hooks delays it
// without a fault of the node.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go
func (l *look) unregistered(n evidence.NodeObject, t left) (who string, seen []roll.Evidence, fix string) {
	claim, how := l.NodeClaim(), t.agent.how
	if t.Effect != "NoExecute" {
		return "Karpenter takes off " + unregistered + ":NoExecute alone, so this one stays", nil, paste.Kubectl("describe", "node", n.Name)
	}
	if !claim.Known() {
		if claim.State == evidence.Absent && l.karpenters() {
			how += ", and no NodeClaim has its instance"
		}
		return how, nil, paste.Lines(paste.Kubectl("get", "nodeclaims", "-o", "wide"), t.agent.showLogs())
	}
	fix = paste.Lines(paste.Kubectl("describe", "nodeclaim", claim.Value.Name), t.agent.showLogs()+"   # in the namespace that Karpenter runs in")
	c, ok := claim.Value.Condition("Registered")
	if !ok {
		return how, nil, fix
	}
	seen = append(seen, roll.Evidence{Source: "NodeClaim", Field: "status.conditions[Registered]", Observed: reason(c), Expected: "True, and the taint gone"})
	switch {
	case c.Status != string(roll.ConditionTrue):
		how = fmt.Sprintf("%s, and says of NodeClaim %s: %s", how, claim.Value.Name, reason(c))
	case l.At.Sub(c.Since) >= justRegistered:
		how = fmt.Sprintf("%s, which it did at %s; it does not take off again what came back since", how, roll.Clock(c.Since))
	}
	return how, seen, fix
}

// reason returns a condition's status, reason and message as one text.
func reason(c evidence.Condition) string { return strings.TrimSuffix(cause.Said(c), ".") }
