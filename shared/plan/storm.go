package plan

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Alarm is what is to be told of a cluster as a whole: that it cannot be judged, or
// that it can again.
type Alarm struct {
	Reason Reason
	Detail string
	Since  time.Time
	Over   bool
	// Gone: it is over since there is no such cluster any more.
	Gone bool
	// Incident is what this notice and the other one about the trouble have in common.
	Incident ledger.Incident
	// Said is what the ledger is to remember once it is told; nil: nothing any more.
	Said *ledger.Trouble
}

const (
	// alarmAfter is how long a cluster must be unreadable before a person is told.
	alarmAfter = 15 * time.Minute
	// troubleEvery is how old the memory of trouble that lasts may grow.
	troubleEvery = time.Minute
	// silenceWindow is how close to each other nodes go silent that go together.
	silenceWindow = 5 * time.Minute
	// stormLasts is how long a zone's outage, or a mass silence, speaks against acting
	// anywhere in the cluster while it goes on. After that it is held where it is.
	stormLasts = time.Hour
	// silenceLeast and zoneLeast are how many nodes it takes at least.
	silenceLeast = 3
	zoneLeast    = 3
	// wholeZone is how many nodes it takes if all of a zone go together.
	wholeZone = 2
)

// storm finds what is wrong with the cluster as a whole and keeps the memory of it.
// After trouble that may come back in one gust, nothing is ordered for a while: nodes
// register late, old conditions stand until kubelets have reported again.
func (p *planner) storm() {
	p.trouble = p.State.Trouble
	if !p.whole() {
		p.stormSince()
		return
	}
	if p.Snapshot.Cluster.ID.Account == "" || ledgerFault(p.Snapshot) {
		return // the memory is not of this look, or cannot be trusted
	}
	now, known := p.clusterTrouble(), p.State.Trouble
	if now == nil {
		p.calm(known)
		return
	}
	reason := now.Reason
	t := p.lasting(known, reason)
	t.Outage = p.outage(known, reason)
	done := p.done(&t, reason)
	p.trouble = &t
	if done || known == nil || known.Reason != t.Reason || p.grewOld(known.Last, t.Last) || p.grewOld(known.Outage.Last, t.Outage.Last) {
		p.out.Changes.Put.Trouble = &t
	}
	if !unreadable(reason) {
		p.readable(t)
		return
	}
	if !t.Told.IsZero() {
		return
	}
	if tell := t.Outage.Since.Add(alarmAfter); p.Now.Before(tell) {
		p.next(tell)
	} else if p.tellsOfCluster() {
		told := t
		told.Told = p.Now
		p.out.Alarm = &Alarm{Reason: reason, Detail: now.Detail, Since: t.Outage.Since, Incident: p.clusterIncident(told, 1), Said: &told}
	}
}

// stormSince finds what befell the cluster since the last check, in a look at one instance.
// Nothing of it is remembered: the next check sees it.
func (p *planner) stormSince() {
	if p.fault != nil {
		return
	}
	if now := p.clusterTrouble(); now != nil {
		t := p.lasting(p.State.Trouble, now.Reason)
		p.trouble = &t
	}
}

// grewOld reports that the memory of when something was last seen is to be written again.
func (p *planner) grewOld(known, last time.Time) bool {
	return last.Equal(p.Now) && p.Now.Sub(known) >= troubleEvery
}

// tellsOfCluster reports that the policy allows notices about the cluster as a whole.
func (p *planner) tellsOfCluster() bool {
	return p.Policy(roll.Selector{}).Mode.Allows(policy.Notify)
}

// clusterIncident is the incident of a cluster that cannot be judged, of which so many
// notices are sent. A notice that is sent twice, since nobody remembered the first, is of
// the same one.
func (p *planner) clusterIncident(t ledger.Trouble, sent int) ledger.Incident {
	return ledger.Incident{ID: incidentID(p.Snapshot.Cluster.ID, ledger.NoticeKey{}, t.Outage.Since), First: t.Told, Sent: sent}
}

// lasting is the trouble of this look as part of the trouble before it.
func (p *planner) lasting(known *ledger.Trouble, reason Reason) ledger.Trouble {
	t := ledger.Trouble{Reason: string(reason), Since: p.Now, Last: p.Now}
	if known == nil {
		return t
	}
	cool := cooled(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now)
	if reason == SnapshotIncomplete && known.Reason != t.Reason && !cool {
		// What was merely not read says nothing of the nodes: the gust that is waited for
		// may still come. An API server that has just come back turns many away at first.
		return *known
	}
	if unreadable(reason) && !unreadable(Reason(known.Reason)) && !cool && p.Now.Sub(p.outage(known, reason).Since) < alarmAfter {
		t = *known // what was seen before goes on, for all that anybody knows
		t.Last = p.Now
		return t
	}
	t.Told = known.Told
	if cool || p.State.Checked.After(known.Last) {
		return t // a whole look lay in between: this is another one
	}
	if unreadable(Reason(known.Reason)) && !unreadable(reason) {
		return t // that a zone is down, say, nobody could see before
	}
	t.Since = known.Since
	return t
}

// outage is the latest time in which the cluster could not be judged, this look included.
// One that was told goes on until its end is told.
func (p *planner) outage(known *ledger.Trouble, reason Reason) ledger.Outage {
	var o ledger.Outage
	if known != nil {
		o = outageOf(*known)
	}
	if !unreadable(reason) {
		return o
	}
	another := o.Since.IsZero() || known.Told.IsZero() && p.State.Checked.After(o.Last)
	if another {
		o.Since = p.Now
	}
	o.Reason, o.Last = string(reason), p.Now
	return o
}

// outageOf is what is remembered of an outage. Memory of a time when it was not kept apart
// from other trouble says when that was.
func outageOf(t ledger.Trouble) ledger.Outage {
	switch {
	case !t.Outage.Since.IsZero():
		return t.Outage
	case unreadable(Reason(t.Reason)):
		return ledger.Outage{Reason: t.Reason, Since: t.Since, Last: t.Last}
	case !t.Told.IsZero():
		return ledger.Outage{Reason: string(ClusterUnreachable), Since: t.Told, Last: t.Told}
	}
	return ledger.Outage{}
}

// readable tells that the cluster can be judged again once that has lasted, whatever else
// is wrong with it, if somebody was told that it could not. It reports whether that is
// told now, or still to be told.
func (p *planner) readable(t ledger.Trouble) bool {
	if t.Told.IsZero() || !p.tellsOfCluster() {
		return !t.Told.IsZero() && p.Lowered // nobody turned notices off
	}
	o := outageOf(t)
	if end := o.Last.Add(overAfter); p.Now.Before(end) {
		p.next(end)
		return true
	}
	t.Outage = o
	var said *ledger.Trouble // nil: nothing is left to wait for
	if !cooled(&t, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) {
		still := t
		still.Outage, still.Told = ledger.Outage{}, time.Time{}
		said = &still
	}
	what := "the cluster can be judged again"
	if p.gone {
		what = "EKS does not know the cluster any more"
	}
	p.out.Alarm = &Alarm{Reason: Reason(o.Reason), Since: o.Since, Over: true, Gone: p.gone, Incident: p.clusterIncident(t, 2), Said: said,
		Detail: fmt.Sprintf("%s; it could not be judged from %s to %s or later", what, roll.Clock(o.Since), roll.Clock(o.Last))}
	return true
}

// done forgets that it was told that the cluster cannot be judged, once it can be for as long
// as it takes to say so where nobody wants to hear that any more. It reports whether it did.
func (p *planner) done(t *ledger.Trouble, reason Reason) bool {
	if unreadable(reason) || t.Told.IsZero() || p.tellsOfCluster() || p.Lowered || p.Now.Before(outageOf(*t).Last.Add(overAfter)) {
		return false
	}
	t.Told, t.Outage = time.Time{}, ledger.Outage{}
	return true
}

// calm forgets trouble once its cooldown is over, and its end was told if its beginning was.
func (p *planner) calm(known *ledger.Trouble) {
	if known == nil || p.readable(*known) {
		return
	}
	if cooled(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) {
		p.out.Changes.Drop.Trouble = true
		p.trouble = nil
	}
}

// clusterTrouble is the gravest that is wrong with the cluster as a whole, nil if
// nothing is.
func (p *planner) clusterTrouble() *Refusal {
	if p.fault != nil {
		if p.gone {
			return nil
		}
		return p.fault
	}
	limits := p.Policy(roll.Selector{}).Limits
	zones := make([]string, 0, len(p.Assessment.Zones))
	for z := range p.Assessment.Zones {
		zones = append(zones, z)
	}
	slices.Sort(zones)
	for _, z := range zones {
		if no := zoneOut(z, p.Assessment.Zones[z], limits.Zone); no != nil {
			return no
		}
	}
	for _, at := range p.Assessment.Silent {
		if p.Now.Sub(at) >= stormLasts {
			continue // they will hardly come back in a gust any more
		}
		if no := massSilence(at, p.Assessment.Silent, p.Assessment.Count[""].Nodes, limits.MassSilence); no != nil {
			return no
		}
	}
	return shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, p.Assessment.Count[""], limits.Unhealthy)
}

// unreadable reports trouble in which nothing can be said of any instance.
func unreadable(r Reason) bool {
	return r == ClusterNotActive || r == ClusterUnreachable || r == SnapshotIncomplete
}

// cooling tells whether trouble of the cluster as a whole is too fresh to act, and for
// which reason: its own while it goes on. A look that was merely incomplete says nothing
// about the nodes, so nothing must calm down after it.
func cooling(t *ledger.Trouble, wait time.Duration, goesOn bool, now time.Time) *Refusal {
	if t == nil || t.Reason == string(SnapshotIncomplete) || cooled(t, wait, now) {
		return nil
	}
	until := t.Last.Add(wait)
	if local := t.Reason == string(ZoneOutage) || t.Reason == string(MassSilence); local && goesOn {
		if now.Sub(t.Since) >= stormLasts {
			return nil
		}
		no := refuse(Reason(t.Reason), "%s elsewhere in the cluster since %s: nothing is ordered in it before %s", t.Reason, roll.Clock(t.Since), roll.Clock(t.Since.Add(stormLasts)))
		no.Until = t.Since.Add(stormLasts)
		return no
	}
	no := refuse(StormCooldown, "the cluster as a whole was in trouble (%s) until %s; nothing is ordered before %s (limits.stormCooldown)", t.Reason, roll.Clock(t.Last), roll.Clock(until))
	no.Until = until
	return no
}

// stormEnds is how long after it was last seen trouble counts as going on for whoever
// looks at one instance only: its memory is written once a minute at most, and an order
// is weighed again a little later.
const stormEnds = 2 * time.Minute

// goesOn reports that the trouble of the cluster as a whole goes on.
func (p *planner) goesOn() bool {
	if p.trouble == nil {
		return false
	}
	if p.whole() {
		return p.trouble.Last.Equal(p.Now)
	}
	return p.Now.Sub(p.trouble.Last) < stormEnds
}

func cooled(t *ledger.Trouble, wait time.Duration, now time.Time) bool {
	return now.Sub(t.Last) >= wait
}

// ledgerFault reports that the ledger itself could not be read.
func ledgerFault(s *roll.Snapshot) bool {
	return slices.ContainsFunc(s.Gaps, func(g roll.Gap) bool { return g.Call == roll.CallLedger })
}
