package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/roll"
)

// RuleCordon requires that a cordon of Rollcall's does not outlive its cause by an hour.
const RuleCordon Rule = "cordoned"

// cordonOutlives is how long a cordon may outlive its cause.
const cordonOutlives = time.Hour

// cordons checks every minute how long nodes are cordoned without a cause.
func (u *auditor) cordons(c *cluster) {
	now := u.a.Now()
	for _, n := range c.nodes {
		if !n.cordoned || n.annotations[roll.AnnotationCordoned] == "" || u.cordonedFor(c, n) {
			delete(u.inVain, n)
			continue
		}
		since, ok := u.inVain[n]
		if !ok {
			u.inVain[n] = now
		} else if now.Sub(since) > cordonOutlives {
			u.broken(RuleCordon, "node %s is cordoned by order %s, and nothing has been wrong with %s since %s", n.name, n.annotations[roll.AnnotationCordoned], n.machine.id, since.Format(time.TimeOnly))
			delete(u.inVain, n)
		}
	}
}

// cordonedFor reports whether a node may rightly be cordoned: its machine is not in order or is being
// removed, or Rollcall may not, or cannot, lift the cordon.
func (u *auditor) cordonedFor(c *cluster, n *node) bool {
	m, now := n.machine, u.a.Now()
	if m == nil || m.ail != well || m.muted || m.state != running || m.booting || n.ready().Status != corev1.ConditionTrue || m.event != nil || m.claim != nil && !m.claim.deleting.IsZero() || !n.deleting.IsZero() {
		return true
	}
	read := n.read()
	if !wellNode(&read) || failedAccelerator(&read) || !m.vanished.IsZero() || !m.unnamed.IsZero() || n.provider != "" {
		return true
	}
	return m.has(roll.TagHold) || m.has(roll.TagIgnore) || c.unjudged() || !c.exists() || u.policyNow(c, m.g).mode < mayRemediate || u.a.weather.stormy(now) || u.verdicts.forgotten.Add(24*time.Hour).After(now) && !u.verdicts.forgotten.IsZero()
}
