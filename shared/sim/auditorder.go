package sim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	// triedAgain is how long after its failure an act is not ordered again.
	triedAgain = 15 * time.Minute
	// writtenLate is how old the time of a trouble of the cluster may be in the ledger.
	writtenLate = 2 * time.Minute
)

// timely checks that an order does not come too early, by what its check and those before it read.
func (u *auditor) timely(inv *invocation, c *cluster, o order) {
	u.affordable(inv, c, o)
	u.triedLong(inv, c, o)
	u.seenAnew(inv, o)
	u.cooled(inv, c, o)
	u.frozenTogether(inv, c, o)
}

// affordable checks that the acts of the last hour, as far as the check could know of them, leave room
// for an order: it would be refused, and ordered again and again.
func (u *auditor) affordable(inv *invocation, c *cluster, o order) {
	used := map[string]bool{o.Instance: true}
	for _, e := range u.effects[c.name] {
		if e.at.Before(inv.begun.Add(-skewed)) && u.a.Now().Sub(e.at) < time.Hour-slack {
			used[e.instance] = true
		}
	}
	if limit := u.policy(inv, c, "").count("limits.actionsPerHour"); len(used) > limit {
		u.broken(RuleBudget, "%s: ordered to %s %s, the %d. instance of %s within an hour, limits.actionsPerHour is %d", inv.name, o.Action, o.Instance, len(used), c.name, limit)
	}
}

// triedLong checks that an act that failed is not tried again at once. That the permission check does
// not see a new tag yet passes sooner.
func (u *auditor) triedLong(inv *invocation, c *cluster, o order) {
	for _, a := range slices.Backward(u.a.dep.state(c.name).Actions) {
		if a.ID != o.ID {
			continue
		}
		if f := a.Outcome; f != nil && f.Result == ledger.Failed && !strings.HasPrefix(f.Detail, ledger.NotYet) && f.At.Before(inv.begun.Add(-time.Minute)) && o.At.Sub(f.At) < triedAgain-ahead {
			u.broken(RuleOnce, "%s: ordered to %s %s again, order %s, which failed at %s (%s)", inv.name, o.Action, o.Instance, o.ID, f.At.Format(time.TimeOnly), f.Detail)
		}
		return
	}
}

// seenAnew checks that an order about a node that left Ready was not first seen before it did: what an
// earlier check saw was another trouble.
func (u *auditor) seenAnew(inv *invocation, o order) {
	if k := roll.Kind(o.Kind); k != roll.Unknown && k != roll.NotReady {
		return
	}
	for _, n := range inv.seen.nodesOf(o.Instance) {
		if left := readyOf(n).LastTransitionTime.Time; !readyNode(n) && o.FirstSeen.Before(left.Add(-2*slackOfClocks)) {
			u.broken(RuleTwice, "%s: ordered to %s %s, first seen at %s, and its node left Ready at %s", inv.name, o.Action, o.Instance, o.FirstSeen.Format(time.TimeOnly), left.Format(time.TimeOnly))
		}
	}
}

// slackOfClocks is more than the difference between the clocks of a cluster and of a function.
const slackOfClocks = 5 * time.Second

// down is the last complete check of a cluster that read a zone as down.
type down struct {
	inv  *invocation
	zone string
}

// zonesDown records whether a complete check read a zone as down.
func (u *auditor) zonesDown(inv *invocation, cluster string) {
	c := u.a.byName[cluster]
	if c == nil {
		return
	}
	if zone := u.zoneDown(inv, c, inv.begun); zone != "" {
		u.sense.down[cluster] = down{inv, zone}
	}
}

// zoneDown returns a zone in which an invocation certainly read too many nodes as not ready, "" if none.
func (u *auditor) zoneDown(inv *invocation, c *cluster, at time.Time) string {
	pol := u.policy(inv, c, "")
	for _, zone := range zones {
		if _, _, down := inv.seen.isDown(zone, at, pol); down {
			return zone
		}
	}
	return ""
}

// cooled checks that nothing is ordered until limits.stormCooldown after a check read a zone as down, if
// it could record that.
func (u *auditor) cooled(inv *invocation, c *cluster, o order) {
	last, ok := u.sense.down[c.name]
	if !ok || last.inv == inv || !last.inv.known(inv) || last.inv.overtaken || last.inv.begun.Before(u.verdicts.forgotten) || u.zoneDown(inv, c, o.At) != "" {
		return
	}
	if since := inv.begun.Sub(last.inv.begun); since < u.policy(inv, c, "").duration("limits.stormCooldown")-writtenLate {
		u.broken(RuleZone, "%s: ordered to %s %s %s after %s read %s as down", inv.name, o.Action, o.Instance, since.Round(time.Second), last.inv.name, last.zone)
	}
}

// frozenTogether checks that nothing is ordered for the silence of a machine that works, and whose
// heartbeats stopped together with those of a large part of the cluster.
func (u *auditor) frozenTogether(inv *invocation, c *cluster, o order) {
	m := u.a.machines[o.Instance]
	if roll.Kind(o.Kind) != roll.Unknown || m == nil || m.ail != well || m.frozen.IsZero() {
		return
	}
	nodes, silent, joined := 0, 0, map[string]bool{}
	for n := range inv.seen.eachNode() {
		nodes++
		joined[instanceOf(n)] = true
		other := u.a.machines[instanceOf(n)]
		if other != nil && other.state == running && !other.resting(u.a.Now()) && other.frozen.Equal(m.frozen) && readyOf(n).Status == corev1.ConditionUnknown {
			silent++
		}
	}
	for i := range inv.seen.eachInstance() {
		if !joined[*i.InstanceId] {
			nodes++ // it may count as a node that never joined
		}
	}
	if silent >= 3 && silent*100 >= u.policy(inv, c, "").count("limits.massSilence")*nodes {
		u.broken(RuleFrozen, "%s: ordered to %s %s, which works, and is not heard since %s like %d of %d nodes", inv.name, o.Action, m.id, m.frozen.Format(time.TimeOnly), silent, nodes)
	}
}
