package sim

import (
	"slices"
	"time"
)

// The rules of clusters that cannot be judged: people are notified once that lasts, not before, and
// again when it is over. Such a cluster is checked again soon.

const (
	// blindAfter is how long a cluster must be unreadable before people are notified. seesAfter is how
	// long it must be readable again.
	blindAfter = 15 * time.Minute
	seesAfter  = 10 * time.Minute
	// looksAgain is how long after the start of an incomplete check the next one starts at the latest:
	// two minutes, one minute for the schedule's precision, and the time that it takes.
	looksAgain = 4*time.Minute + 30*time.Second
)

// sightless is what the auditor remembers of a cluster's checks.
type sightless struct {
	last         *invocation // the last check
	lastWhole    bool
	tells        bool        // its mode allowed notices
	whole        *invocation // the last complete check
	blind, again *invocation // the first incomplete check since, and the first complete one after people were notified
	told         *invocation // the check that notified people, nil if none did or the end was reported
}

// lookedAt records a check, and audits the one before it.
func (u *auditor) lookedAt(inv *invocation, c checkup) {
	s := u.sightless[c.cluster]
	if s == nil {
		s = &sightless{}
		u.sightless[c.cluster] = s
	}
	u.remarked(s, c.cluster)
	within := looksAgain
	if s.last != nil && s.blind != nil && s.last.begun.Sub(s.blind.begun) > blindAfter-slack {
		within = max(within, u.a.sc.Sweep+3*time.Minute) // in a lasting outage the sweep is soon enough
	}
	if before := s.last; before != nil && !s.lastWhole && u.judgeable(before, c.cluster) && inv.begun.Sub(before.begun) > within {
		u.broken(RuleChecked, "%s: %s is looked at %s after %s, which could not read everything", inv.name, c.cluster, inv.begun.Sub(before.begun).Round(time.Second), before.name)
	}
	of := u.a.byName[c.cluster]
	s.last, s.lastWhole, s.tells = inv, c.whole, of != nil && u.policy(inv, of, "").mode >= mayNotify
	switch {
	case !c.whole && s.blind == nil:
		s.blind, s.again = inv, nil
	case !c.whole:
		s.again = nil
	default:
		s.whole, s.blind = inv, nil
		if s.told != nil && s.again == nil {
			s.again = inv
		}
		if !s.tells && s.again != nil && inv.begun.Sub(s.again.begun) > seesAfter-slack {
			s.told = nil // it is over, and its mode allows no notice of that
		}
	}
}

// cutShort handles a function that did not complete. Its message is delivered again minutes later, and
// those behind it wait.
func (u *auditor) cutShort() {
	for _, s := range u.sightless {
		s.last = nil
	}
}

// remarked audits what the last check, which has ended, did or did not report.
func (u *auditor) remarked(s *sightless, cluster string) {
	last := s.last
	if last == nil || !s.tells || !u.judgeable(last, cluster) {
		return
	}
	switch {
	case !s.lastWhole && s.blind != nil && s.told == nil && u.judgeable(s.blind, cluster) && last.begun.Sub(s.blind.begun) > blindAfter+slack:
		u.broken(RuleReport, "%s: %s could not be judged since %s, and nobody was told", last.name, cluster, s.blind.name)
	case s.lastWhole && s.told != nil && s.told.clean() && s.again != nil && u.judgeable(s.again, cluster) && last.begun.Sub(s.again.begun) > 3*seesAfter:
		u.broken(RuleEnd, "%s: %s can be judged again since %s, and nobody was told", last.name, cluster, s.again.name)
	}
}

// judgeable reports whether a check completed, EKS knows its cluster, and nothing but the Kubernetes API
// and the description of clusters failed since it began.
func (u *auditor) judgeable(inv *invocation, cluster string) bool {
	c := u.a.byName[cluster]
	if c == nil || !c.exists() || !inv.clean() || inv.ended.IsZero() || inv.begun.Before(u.verdicts.forgotten) {
		return false
	}
	return !slices.ContainsFunc(u.a.weather.spells, func(s spell) bool {
		return s.what != FaultAPIDown && s.what != FaultAPIErrors && s.what != FaultUnreachable && s.what != FaultUndescribed && s.from.Before(u.a.Now()) && s.to.Add(slack).After(inv.begun)
	})
}

// toldOfCluster audits a notice about a cluster as a whole.
func (u *auditor) toldOfCluster(inv *invocation, d noticed) {
	s := u.sightless[d.Cluster]
	if d.Kind != "Cluster" || s == nil {
		return
	}
	if s.told = nil; d.Action == "resolved" {
		return
	}
	s.told = inv
	if w := s.whole; w != nil && u.judgeable(w, d.Cluster) && inv.begun.Sub(w.begun) < blindAfter-slack {
		u.broken(RuleNoise, "%s: %s is told not to be judgeable, and %s read all of it at %s", inv.name, d.Cluster, w.name, w.begun.Format(time.TimeOnly))
	}
}
