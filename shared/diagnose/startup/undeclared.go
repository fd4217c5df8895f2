package startup

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// young is the maximum age of a node at which a taint counts as one of its start.
const young = 10 * time.Minute

// surprise is a taint on a node that was not declared to Karpenter.
type surprise struct {
	evidence.Taint
	agent *agent // nil if none is known
	// other is the effect with which the key is declared, "" if it is not.
	other string
}

// sure reports whether Karpenter treats the taint as a lasting one. Since 2026 Karpenter knows
// that those of the Node Readiness Controller pass, and which release runs is unknown.
// https://github.com/kubernetes-sigs/karpenter/pull/3025
func (s surprise) sure() bool { return s.agent == nil || s.agent.guess || !s.agent.prefix }

// outOfService are taints that controllers put on nodes of any age, to take them out of service
// or because they are. They say nothing about a node's start, and no NodePool can declare them.
// Other causes report Karpenter's own and the cloud provider's. A key that ends in a slash is a
// prefix.
//
// - https://kubernetes.io/docs/reference/labels-annotations-taints/
// - https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/apis/v1/taints.go
// - https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/utils/taints/taints.go
// - https://github.com/aws/aws-node-termination-handler
var outOfService = []string{
	"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", unregistered, "karpenter.sh/disrupted", "karpenter.sh/disruption", "karpenter.sh/rebooting",
	"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "aws-node-termination-handler/",
}

// undeclarable reports whether the taint is one of outOfService, or keeps no pod away.
func undeclarable(t evidence.Taint) bool {
	return t.Effect == "PreferNoSchedule" || slices.ContainsFunc(outOfService, func(key string) bool {
		return t.Key == key || strings.HasSuffix(key, "/") && strings.HasPrefix(t.Key, key)
	})
}

// declaration is what was declared to Karpenter about a node's taints.
type declaration struct {
	source, field    string
	startup, lasting []evidence.Taint
}

// declared returns what was declared to Karpenter about a node's taints. Its NodeClaim's spec
// comes from the NodePool's template and counts; later edits of the template do not change it.
// What either declares counts as declared: an edit in between looks the same as a partly
// captured claim, and what one of them does not declare is no fault.
func (l *look) declared(claim evidence.Fact[evidence.NodeClaim]) (declaration, bool) {
	pool := l.Group().NodePool
	d := declaration{source: "NodePool", field: "spec.template.spec.startupTaints"}
	if !pool.Known() {
		d = declaration{source: "NodeClaim", field: "spec.startupTaints"}
	}
	d.startup = slices.Concat(pool.Value.StartupTaints, claim.Value.Startup)
	d.lasting = slices.Concat(pool.Value.Taints, claim.Value.Taints)
	return d, claim.Known() || pool.Known()
}

// surprises returns the node's taints that were declared neither as startup taints nor as
// lasting ones, by key and effect, whoever put them there. Once a node is registered, Karpenter
// counts them against its pending pods like lasting ones. It ignores only declared startup
// taints and those that it knows itself (StateNode.Taints). Those of known agents come first.
//
// - https://karpenter.sh/docs/faq/#why-do-i-see-extra-nodes-get-launched-to-schedule-pending-pods-that-remain-empty-and-are-later-removed
// - https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/state/statenode.go
func (d declaration) surprises(n evidence.NodeObject) []surprise {
	var out []surprise
	for _, t := range n.Taints {
		if undeclarable(t) || has(d.startup, t) || has(d.lasting, t) {
			continue
		}
		s := surprise{Taint: t, agent: agentOf(t.Key)}
		if i := slices.IndexFunc(d.startup, func(o evidence.Taint) bool { return o.Key == t.Key }); i >= 0 {
			s.other = d.startup[i].Effect
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(x, y surprise) int { return x.agent.order() - y.agent.order() })
	return out
}

// undeclared checks for a taint on a Karpenter node that its NodePool does not declare. It is
// decisive for nodes that start or flap, since Karpenter then launches more of them.
func (l *look) undeclared() cause.Verdict {
	if !l.karpenters() {
		return cause.Verdict{}
	}
	n, ok := l.node()
	if !ok {
		return l.NoNode()
	}
	d, ok := l.declared(l.NodeClaim())
	if !ok {
		return cause.Missing(l.Group().NodePool, "NodePool of "+string(l.Finding.Group))
	}
	found := d.surprises(n)
	if l.age(n) >= settling && n.Labels[labelInitialized] == "true" {
		// A taint that a person put on a node in service is unrelated to its start.
		found = slices.DeleteFunc(found, func(s surprise) bool { return s.agent == nil })
	}
	if len(found) == 0 {
		return cause.RuledOut
	}
	// A taint does not make a node unready: one that says why else it is not Ready lacks something else.
	starts := l.Finding.Kind == roll.Flapping || n.AwaitsNetwork() || n.Unstarted() ||
		l.Finding.Kind == roll.Uninitialized && ready(n).Status == string(roll.ConditionTrue)
	return l.surprised(n, d, found).
		DecisiveIf(starts && l.age(n) < young && found[0].sure() && counted(n) && l.Group().NodePool.Settled())
}

// counted reports whether Karpenter uses the node's own taints. Before it has registered the
// node and removed its own taint, it uses the NodeClaim's.
func counted(n evidence.NodeObject) bool {
	return !slices.ContainsFunc(n.Taints, func(t evidence.Taint) bool { return t.Key == unregistered && t.Effect == "NoExecute" })
}

// registersWith returns what makes the kubelet register with the taint, its user data or launch
// template; "" if neither is known to.
func (l *look) registersWith(t evidence.Taint) (from string, seen roll.Evidence) {
	data, source := l.UserData()
	for _, j := range data.Value.Joins {
		for _, own := range j.Kubelet.Registered() {
			if own.Key == t.Key && own.Effect == t.Effect {
				return source, roll.Evidence{Source: source, Field: string(own.Source), Observed: told(t), Expected: "taints that the NodePool declares"}
			}
		}
	}
	return "", roll.Evidence{}
}

// elsewhere returns what else to do about a taint that is not known to pass.
func elsewhere(n evidence.NodeObject, s surprise, from string) string {
	switch {
	case s.agent != nil && !s.agent.guess:
		return ""
	case from != "":
		return "# if nothing takes it off, declare it in spec.template.spec.taints instead, or take it out of the " + from
	}
	return paste.Lines("# declare it in spec.template.spec.taints instead if nothing takes it off; this shows who set it:",
		paste.Kubectl("get", "node", n.Name, "-o", "yaml", "--show-managed-fields"))
}

// pool returns the name of the group's NodePool.
func (l *look) pool() string {
	if name, ok := l.Finding.Group.NodePool(); ok {
		return name
	}
	return l.Group().NodePool.Value.Name
}

// declare returns the command that adds the taints to the NodePool's startupTaints. A merge
// patch replaces a list as a whole, so it repeats the existing entries.
func (l *look) declare(pool string, found []surprise) string {
	fact := l.Group().NodePool
	if !fact.Known() {
		return paste.Lines(paste.Kubectl("edit", "nodepool", pool)+"   # add "+paste.Remark(told(found[0].Taint))+" to spec.template.spec.startupTaints", cause.Drift)
	}
	taints := slices.Clone(fact.Value.StartupTaints)
	for _, s := range found {
		if !has(fact.Value.StartupTaints, s.Taint) {
			taints = append(taints, s.Taint)
		}
	}
	var list []map[string]string
	for _, t := range taints {
		entry := map[string]string{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			entry["value"] = t.Value
		}
		list = append(list, entry)
	}
	patch := paste.JSON(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"startupTaints": list}}}})
	return paste.Lines(paste.Kubectl("patch", "nodepool", pool, "--type=merge", "-p", patch),
		cause.Drift)
}

func (l *look) surprised(n evidence.NodeObject, d declaration, found []surprise) cause.Verdict {
	s, pool := found[0], l.pool()
	v := cause.Suggestive().In("nodepool/" + pool)
	for _, f := range found {
		v.Saw("node", "spec.taints", told(f.Taint)+", "+minutes(l.age(n))+" after its creation", "a taint that startupTaints declare, with this effect")
	}
	v.Saw(d.source, d.field, all(d.startup), told(s.Taint))
	what, how := "the taint "+told(s.Taint), "does not declare"
	if s.agent != nil {
		what = "the startup taint " + told(s.Taint) + " of " + s.agent.name
	}
	if s.other != "" {
		how = "declares only with the effect " + s.other
	}
	from, source := l.registersWith(s.Taint)
	if from != "" {
		what += ", with which its " + from + " has the kubelet register"
		v.Shows(source)
	}
	return v.Says("node %s has %s, which NodePool %s %s in its startupTaints: Karpenter takes it for a permanent taint, so it does not count on the node for pending pods and launches another",
		n.Name, what, pool, how).Fix(l.declare(pool, found), elsewhere(n, s, from))
}
