package sim

import (
	"time"
)

// RuleLeft requires that a volume or a network interface is reported in time if it outlived a machine
// that Rollcall terminated, or knew as an orphan. Nothing else may be reported as left.
const RuleLeft Rule = "left"

// leftAfter is how long after the termination of its machine a resource counts as left.
const leftAfter = 3 * time.Hour

// leftSlack is how long a check's knowledge may be out of date: it reads, diagnoses and reports.
const leftSlack = 5 * time.Minute

// leftover returns the leftover that a subject names, or nil if no fault made it.
func (a *account) leftover(subject string) *leftover {
	name, _ := leftName(subject)
	return find(a.left, func(l *leftover) bool { return l.id == name })
}

// left audits what a notice reports as left.
func (u *auditor) left(inv *invocation, d noticed) {
	if d.Action == "resolved" {
		return
	}
	for _, i := range d.Instances {
		if _, ok := leftName(i.Subject); !ok {
			continue
		}
		now, l := u.a.Now(), u.a.leftover(i.Subject)
		switch {
		case l == nil:
			u.broken(RuleLeft, "%s: %s is told to be left, and there never was such a thing", inv.name, i.Subject)
		case l.ended.IsZero() || now.Sub(l.ended)+slack < leftAfter:
			u.broken(RuleLeft, "%s: %s is told to be left, and %s was terminated at %s", inv.name, i.Subject, l.machine.id, l.ended.Format(time.TimeOnly))
		case l.wanted():
			u.broken(RuleLeft, "%s: %s is told to be left, and a PersistentVolume claims it", inv.name, i.Subject)
		case l.state != leftFree && now.Sub(l.changed) > leftSlack:
			u.broken(RuleLeft, "%s: %s is told to be left, and was attached again or deleted at %s", inv.name, i.Subject, l.changed.Format(time.TimeOnly))
		default:
			l.told = true
		}
	}
}

// toldOfLeft checks every minute that what is left is reported in time.
func (u *auditor) toldOfLeft(l *leftover) {
	now, c, g := u.a.Now(), l.machine.c, l.machine.g
	if l.told || l.state != leftFree || l.wanted() || !l.acted || u.verdicts.forgotten.After(l.ended.Add(-time.Hour)) {
		return
	}
	// Its time begins when the act has its outcome, which a later check may have settled.
	for _, a := range u.a.dep.state(c.name).Actions {
		switch {
		case string(a.Instance) != l.machine.id:
		case a.Outcome == nil:
			l.since = now
		case a.Outcome.At.After(l.ended) && now.Before(a.Outcome.At.Add(leftAfter)):
			l.since = now
		}
	}
	if now.Before(l.ended.Add(leftAfter)) || !c.exists() || c.status != "ACTIVE" || c.barred || len(u.a.silenced) > 0 ||
		u.a.weather.stormy(now) ||
		u.policyNow(c, g).mode < mayNotify {
		l.since = now
	}
	if now.Sub(l.since) > keptWithin+2*u.a.sc.Sweep {
		u.broken(RuleLeft, "%s outlived %s, which was terminated at %s, and nobody was told", l.id, l.machine.id, l.ended.Format(time.TimeOnly))
		l.told = true
	}
}
