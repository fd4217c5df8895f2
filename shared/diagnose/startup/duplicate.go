package startup

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// When a NodeClaim is a second one for the same pods.
const (
	// together is the longest time between the creation of two related NodeClaims.
	together = 5 * time.Minute
	// batch is the time within which Karpenter creates all NodeClaims of one decision: the
	// longest time for which it gathers pending pods first (BATCH_MAX_DURATION). NodeClaims no
	// further apart are one scale-up.
	// https://karpenter.sh/docs/reference/settings/
	batch = 10 * time.Second
	// remembered is the maximum age of a settled duplicate's instance. Its node began to flap
	// while it started, and is reported for as long as flaps are counted.
	remembered = settling + roll.FlapWindow
)

// duplicates checks whether the instance, or the one launched just before it, was launched
// twice for the same pods. Two NodeClaims in short succession are mostly an ordinary scale-up.
// A duplicate's first NodeClaim was not initialized, so its capacity was counted on, and then
// lost: by an undeclared taint, by a flap of its kubelet, or because its node was not ready any
// more.
func (l *look) duplicates() cause.Verdict {
	if !l.karpenters() {
		return cause.Verdict{}
	}
	claims, own := l.Group().NodeClaims, l.NodeClaim()
	switch {
	case !claims.Known():
		return cause.Missing(claims, "list of NodeClaims of "+string(l.Finding.Group))
	case !own.Settled():
		return cause.NotChecked(own.Gap())
	case !own.Known() || l.At.Sub(own.Value.Created) >= remembered:
		return cause.RuledOut
	}
	var best *pair
	gap := ""
	for _, other := range claims.Value {
		if other.Name == own.Value.Name || other.NodePool != own.Value.NodePool {
			continue
		}
		p := l.pairOf(own.Value, other)
		switch {
		case !p.near():
		case p.registered.IsZero() && p.gap != "":
			gap = p.gap
		case l.At.Sub(own.Value.Created) >= settling && !p.settled:
			// What is still wrong now is not caused by a duplicate.
		case p.fits() && (best == nil || p.reason != "" && best.reason == ""):
			best = &p
		}
	}
	switch {
	case best != nil && best.settled && best.first.Instance == l.Finding.Instance && l.isFound(best.second.Instance):
		return cause.Verdict{} // it is reported once, for the second
	case best != nil:
		return l.duplicate(*best)
	case gap != "":
		return cause.NotChecked(gap)
	}
	return cause.RuledOut
}

// inOrder reports whether a NodeClaim's node works: Karpenter initialized it, and the check
// found nothing wrong with it except flapping.
func (l *look) inOrder(claim evidence.NodeClaim) bool {
	c, ok := claim.Condition("Initialized")
	wrong := func(f roll.Finding) bool { return f.Instance == claim.Instance && f.Kind != roll.Flapping }
	return ok && c.Status == string(roll.ConditionTrue) && !wrong(l.Finding) && !slices.ContainsFunc(l.Findings, wrong)
}

// pair is two NodeClaims, the older one first.
type pair struct {
	first, second evidence.NodeClaim
	registered    time.Time // when the first became a node, zero if it did not
	gap           string    // why that is unknown, "" if it is known
	// reason is why Karpenter no longer counted on the first, "" if that is unknown.
	reason string
	// settled: both now work, and the only effect left is their cost.
	settled bool
}

func (l *look) pairOf(a, b evidence.NodeClaim) pair {
	if b.Created.Before(a.Created) {
		a, b = b, a
	}
	p := pair{first: a, second: b, settled: l.inOrder(a) && l.inOrder(b)}
	node := l.Nodes[a.Node]
	switch c, ok := a.Condition("Registered"); {
	case ok && c.Status == string(roll.ConditionTrue):
		p.registered = c.Since
	case node.Object.Known():
		p.registered = node.Object.Value.Created
	case !ok:
		p.gap = node.Object.Missing("node of NodeClaim " + a.Name)
	}
	if node.Object.Known() {
		p.reason = l.lost(a, node)
	}
	return p
}

// near reports whether the second was created after the first's decision, but not long after
// it.
func (p pair) near() bool {
	apart := p.second.Created.Sub(p.first.Created)
	return apart > batch && apart <= together
}

// fits reports whether the first was starting, not yet initialized, when the second was
// created.
func (p pair) fits() bool {
	c, ok := p.first.Condition("Initialized")
	return !ok || c.Status != string(roll.ConditionTrue) || c.Since.After(p.second.Created)
}

// lost returns what closed the first node to pending pods while it started.
func (l *look) lost(claim evidence.NodeClaim, node evidence.Node) string {
	n := node.Object.Value
	d, _ := l.declared(evidence.Read(claim))
	if found := d.surprises(n); len(found) > 0 && found[0].sure() && counted(n) {
		return fmt.Sprintf("has the taint %s, which its startupTaints do not declare", told(found[0].Taint))
	}
	if s := countStarts(node.Events.Value, n.Created); l.flap(n, s) && node.Lease.Known() && node.Lease.Value.Fresh(l.At) {
		return fmt.Sprintf("has a kubelet that started %d times", s.young)
	}
	return ""
}

func (l *look) duplicate(p pair) cause.Verdict {
	first, second := p.first, p.second
	// While the first still starts, an ordinary scale-up creates a later one too.
	trouble := !p.settled && (l.Finding.Kind == roll.Uninitialized || l.Finding.Kind == roll.NotReady)
	sure := trouble && (p.reason != "" || first.Instance == l.Finding.Instance && l.Finding.Kind == roll.NotReady)
	state, now := "not there yet", "both are billed"
	if c, ok := first.Condition("Initialized"); ok {
		state = reason(c)
	}
	if p.settled {
		now = "both work by now, and " + now
	}
	return cause.DecisiveIf(sure).In("nodepool/"+l.pool()).
		Says("Karpenter created NodeClaim %s of NodePool %s %.0f s after %s, whose node %s: the second was probably launched for the same pods; %s: %s and %s",
			second.Name, l.pool(), second.Created.Sub(first.Created).Seconds(), first.Name, cmp.Or(p.reason, "was not initialized yet"), now, l.billed(first), l.billed(second)).
		Saw("NodeClaim", second.Name+" metadata.creationTimestamp", roll.Clock(second.Created), "none while "+first.Name+", created at "+roll.Clock(first.Created)+", is initializing").
		Saw("NodeClaim", first.Name+" status.conditions[Initialized]", state, "True before another is launched for its pods").
		Saw("NodeClaim", second.Name+" instance", l.billed(second), "one instance for the same pods").
		Fix(paste.Kubectl("get", "nodeclaims", "-l", "karpenter.sh/nodepool="+l.pool(), "--sort-by=.metadata.creationTimestamp"),
			paste.Kubectl("get", "events", "-A", "--field-selector", "involvedObject.kind=NodeClaim,involvedObject.name="+second.Name),
			"# the consolidation of Karpenter removes one that stays empty; declare the taints of the agents in startupTaints of the NodePool")
}

// billed says what is paid for a NodeClaim's instance, and for how long. Prices are not read.
func (l *look) billed(claim evidence.NodeClaim) string {
	config := l.Instances[claim.Instance].Config.Value
	since := claim.Created
	if !config.Launched.IsZero() {
		since = config.Launched
	}
	kind := cmp.Or(claim.Type, config.Type, "an instance of unknown type")
	if claim.Capacity != "" {
		kind += " (" + claim.Capacity + ")"
	}
	return kind + " for " + minutes(l.At.Sub(since))
}

// isFound reports whether the instance has a finding too.
func (l *look) isFound(id roll.InstanceID) bool {
	return slices.ContainsFunc(l.Findings, func(f roll.Finding) bool { return f.Instance == id && f.Stage.Past(roll.Watching) })
}
