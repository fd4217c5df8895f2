package sim

import (
	"encoding/json"
	"time"

	"rollcall/shared/roll"
)

const (
	// lateFor is how late a check may be carried out: a later one covers its cluster.
	lateFor = 15 * time.Minute
	// sweepsGone is how often the sweep asks for clusters that EKS does not list.
	sweepsGone = time.Hour
)

// swept records a cluster that a sweep read, or asked a check of.
func (inv *invocation) swept(listed, asked int) {
	if inv != nil && inv.v.fn == sweep {
		inv.listed, inv.asked = inv.listed+listed, inv.asked+asked
	}
}

// sweptAll checks that a sweep that ended tried to ask for a check of each cluster that it read. Whether
// one queue message fails says nothing about the next.
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
		if late := inv.begun.Sub(asked.Due); late > lateFor+ahead {
			u.broken(RuleChecked, "%s: %s is checked %s after it was due", inv.name, cluster, late.Round(time.Second))
		}
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

// RuleLetters forbids dead letters, except for messages that no function could handle. On each receive,
// the function was killed, ran out of time, could not do its work because calls failed, or was throttled
// until the message was visible again.
const RuleLetters Rule = "dead-letters"

// helpless reports whether an invocation may leave its messages to the next try because it could not
// write. The function for state changes looks up instances, and may also leave those that it could not
// read.
func (inv *invocation) helpless() bool { return inv.failed || inv.missed && inv.v.fn == stateChange }

// excuses records that a receive of messages met such a fault.
func (u *auditor) excuses(batch []message) {
	u.times.cut = u.a.Now()
	for _, m := range batch {
		u.excused[m.id]++
	}
}

// buried audits a message that becomes a dead letter.
func (u *auditor) buried(q *queue, l *letter) {
	if n := u.excused[l.id]; n < l.receives {
		u.broken(RuleLetters, "a message of %s is a dead letter: it was received %d times, and a fault was met %d times: %s", q.name, l.receives, n, l.body)
	}
}
