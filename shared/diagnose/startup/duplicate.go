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
	// together is how far apart two NodeClaims may have been created.
	together = 5 * time.Minute
	// batch is within what time Karpenter makes all NodeClaims of one decision: the
	// longest time for which it gathers pending pods first (BATCH_MAX_DURATION). What
	// lies no further apart is one scale-up.
	// https://karpenter.sh/docs/reference/settings/
	batch = 10 * time.Second
	// remembered is how old the instance of a duplicate that has settled may be: its node
	// began to flap while it started, and that is told for as long as flaps are counted.
	remembered = settling + roll.FlapWindow
)

// duplicates looks at whether the instance, or the one launched just before it, was
// launched twice for the same pods. Two NodeClaims shortly after each other are mostly an
// ordinary scale-up. What the first of them was doing tells them apart: it was not
// initialized, so its room was counted on, and then it was lost from that count: by a taint
// that nobody declared, by a flap of its kubelet, or by not being ready any more.
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
			// What is still wrong by now is not a duplicate's doing.
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

// inOrder reports that a NodeClaim's node works: Karpenter initialized it, and the check
// found nothing wrong with it but that it came and went.
func (l *look) inOrder(claim evidence.NodeClaim) bool {
	c, ok := claim.Condition("Initialized")
	return ok && c.Status == string(roll.ConditionTrue) && !slices.ContainsFunc(append([]roll.Finding{l.Finding}, l.Findings...), func(f roll.Finding) bool {
		return f.Instance == claim.Instance && f.Kind != roll.Flapping
	})
}

// pair is two NodeClaims, the older one first.
type pair struct {
	first, second evidence.NodeClaim
	registered    time.Time // when the first became a node, zero if it did not
	gap           string    // why that is not known, "" if it is
	// reason is what had Karpenter not count on the first any more, "" if that is not
	// known.
	reason string
	// settled: both are in order by now, so that nothing is left of it but what it costs.
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

// near reports that the second was made neither in one decision with the first nor long
// after it.
func (p pair) near() bool {
	apart := p.second.Created.Sub(p.first.Created)
	return apart > batch && apart <= together
}

// fits reports that the first was on its way and not initialized when the second was made.
func (p pair) fits() bool {
	c, ok := p.first.Condition("Initialized")
	return !ok || c.Status != string(roll.ConditionTrue) || c.Since.After(p.second.Created)
}

// lost is what closed the first node to pending pods while it started.
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
	// Of a first that starts on, a later one is what an ordinary scale-up makes too.
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
			"# one that stays empty is removed by Karpenter's consolidation; declare the agents' taints in the NodePool's startupTaints")
}

// billed is what is paid for a NodeClaim's instance, and for how long: prices are not read.
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

// isFound reports that the instance has a finding too.
func (l *look) isFound(id roll.InstanceID) bool {
	return slices.ContainsFunc(l.Findings, func(f roll.Finding) bool { return f.Instance == id && f.Stage.Past(roll.Watching) })
}
