package sim

import (
	"encoding/json"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// The rules of clusters that cannot be judged: people are notified once that lasts, not before, and when it is over.

const (
	// blindAfter is how long a cluster must be unreadable until people are notified; seesAfter is how long it must then be
	// readable.
	blindAfter = 15 * time.Minute
	seesAfter  = 10 * time.Minute
	// looksAgain is the time from an incomplete check to the next: two minutes, the schedule's precision, and its
	// duration.
	looksAgain  = 4*time.Minute + 30*time.Second
	outageLasts = 20 * time.Minute // how long after the last complete check that was recorded an outage counts as lasting
)

// sightless is what the auditor remembers of a cluster's checks.
type sightless struct {
	last         *invocation // the last check
	lastWhole    bool
	tells        bool        // its mode allowed notices
	whole, part  *invocation // the last complete check, and the last incomplete one
	blind, again *invocation // the first incomplete check since, and the first complete one after people were notified
	told         *invocation // the check that notified people, nil if none did or the end was reported
}

func (u *auditor) lookedAt(inv *invocation, c checkup) {
	s := u.sightless[c.cluster]
	if s == nil {
		s = &sightless{}
		u.sightless[c.cluster] = s
	}
	u.remarked(s, c.cluster)
	within := looksAgain
	of, recorded := u.a.byName[c.cluster], u.verdicts.clean[c.cluster]
	if of != nil && s.last != nil && s.blind != nil && (len(recorded) == 0 || s.last.begun.Sub(recorded[len(recorded)-1]) > outageLasts-slack) {
		within = max(within, of.sweptEvery()+3*time.Minute) // in a lasting outage the sweep is soon enough
	}
	if before := s.last; before != nil && !s.lastWhole && u.judgeable(before, c.cluster) && inv.begun.Sub(before.begun) > within {
		u.broken(RuleChecked, "%s: %s is looked at %s after %s, which could not read everything", inv.name, c.cluster, inv.begun.Sub(before.begun).Round(time.Second), before.name)
	}
	s.last, s.lastWhole, s.tells = inv, c.whole, of != nil && u.knowsTag(inv, of) && u.policy(inv, of, "").mode >= mayNotify
	if !c.whole {
		s.part = inv
	}
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
		if !s.tells && s.part != nil && inv.begun.Sub(s.part.begun) > seesAfter-slack {
			s.told = nil // it is over, and its mode allows no notice of that
		}
	}
}

// cutShort handles a function that did not complete: its message is delivered again minutes later.
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

// judgeable reports whether a check completed, and only the Kubernetes API and the description of clusters failed
// since.
func (u *auditor) judgeable(inv *invocation, cluster string) bool {
	c := u.a.byName[cluster]
	if c == nil || !c.exists() || !inv.clean() || inv.ended.IsZero() || inv.begun.Before(u.verdicts.forgotten) {
		return false
	}
	return !slices.ContainsFunc(u.a.weather.spells, func(s spell) bool {
		return s.what != FaultAPIDown && s.what != FaultAPIErrors && s.what != FaultUnreachable && s.what != FaultUndescribed && s.from.Before(u.a.Now()) && s.to.Add(slack).After(inv.begun)
	})
}

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

const (
	lateFor    = 15 * time.Minute // how late a check may be carried out: a later one covers its cluster
	sweepsGone = time.Hour        // how often the sweep asks for clusters that EKS does not list
)

// swept records a cluster that a sweep read, or asked a check of.
func (inv *invocation) swept(listed, asked int) {
	if inv != nil && inv.v.fn == sweep {
		inv.listed, inv.asked = inv.listed+listed, inv.asked+asked
	}
}

// sweptAll checks that a sweep tried to ask for a check of each cluster that it read, whichever message failed.
func (u *auditor) sweptAll(inv *invocation) {
	if inv.asked == 0 || inv.asked >= inv.listed {
		return
	}
	for _, c := range u.a.clusters {
		if n := len(c.nodes); sweepsOf(n+n/20) > 1 { // the sweep knows how many there were at the last check
			return // each sweep asks for some of them
		}
	}
	u.broken(RuleChecked, "%s: of %d clusters the checks of %d were asked for", inv.name, inv.listed, inv.asked)
}

// inTime checks that a check does not follow a message that came long after it was due.
func (u *auditor) inTime(inv *invocation, cluster string) {
	for _, m := range inv.batch {
		var asked struct{ Due time.Time }
		if json.Unmarshal([]byte(m.body), &asked) != nil {
			continue
		}
		late := inv.begun.Sub(asked.Due)
		u.forbids(RuleChecked, late > lateFor+ahead, "%s: %s is checked %s after it was due", inv.name, cluster, late.Round(time.Second))
	}
}

// forsaken checks that a machine that a deleted cluster left is reported: nothing else ends it, and EKS
// does not list its cluster. It asks in one minute, well after two sweeps looked for such clusters.
func (u *auditor) forsaken(c *cluster) {
	now := u.a.Now()
	for _, m := range c.machines {
		pol := u.policyNow(c, m.g)
		late := now.Sub(c.deleted.Add(2*sweepsGone + 30*time.Minute + pol.duration("orphaned.tolerate")))
		if late < 0 || late >= step || m.state != running || m.g.owner == nobody || m.elsewhere != "" || m.g.stray || m.g.beside != "" {
			continue
		}
		if m.hasTag(roll.TagIgnore) || pol.mode < mayNotify || !pol.tells(string(roll.Orphaned)) || u.verdicts.quiet[m.g].After(c.deleted) {
			continue
		}
		if u.verdicts.forgotten.After(c.deleted) || u.a.weather.stormySince(c.deleted, now) || u.reported(m) {
			continue
		}
		u.broken(RuleReport, "%s of %s, which was deleted at %s, still runs, and nobody was told", m.id, c.name, c.deleted.Format(time.TimeOnly))
		return
	}
}

// helpless reports whether an invocation may leave its messages: it could not write, or look up state changes.
func (inv *invocation) helpless() bool { return inv.failed || inv.missed && inv.v.fn == stateChange }

func (u *auditor) excuses(batch []message) {
	u.times.cut = u.a.Now()
	for _, m := range batch {
		u.excused[m.id]++
	}
}

func (u *auditor) buried(q *queue, l *letter) {
	n := u.excused[l.id]
	u.forbids(RuleLetters, n < l.receives, "a message of %s is a dead letter: it was received %d times, and a fault was met %d times: %s", q.name, l.receives, n, l.body)
}
