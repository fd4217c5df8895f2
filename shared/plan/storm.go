package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Alarm is a report about the cluster as a whole: that it cannot be judged, or that it can be
// judged again.
type Alarm struct {
	Reason Reason
	Detail string
	Since  time.Time
	Over   bool
	// Gone: the outage is over because EKS no longer has the cluster.
	Gone bool
	// Incident is shared by the notices of the beginning and of the end.
	Incident ledger.Incident
	// Said is the trouble to record once the notice is sent; nil to forget it.
	Said *ledger.Trouble
}

// Sent returns what to record once the notice is sent.
func (a Alarm) Sent() ledger.Changes {
	return ledger.Changes{Put: ledger.State{Trouble: a.Said}, Drop: ledger.Drops{Trouble: a.Said == nil}}
}

const (
	// alarmAfter is how long a cluster must be unreadable before it is reported.
	alarmAfter = 15 * time.Minute
	// troubleEvery is how old the time of continuing trouble may become in the ledger.
	troubleEvery = time.Minute
	// silenceWindow is the time within which nodes must go silent to count as silent together.
	silenceWindow = 5 * time.Minute
	// stormLasts is how long a zone outage or mass silence holds acts in the whole cluster while it
	// continues. After that it holds acts only where it is.
	stormLasts = time.Hour
	// silenceLeast and zoneLeast are the minimum numbers of nodes.
	silenceLeast = 3
	zoneLeast    = 3
	// wholeZone is the minimum number if all nodes of a zone fail together.
	wholeZone = 2
)

// storm finds trouble of the cluster as a whole, and remembers it. After trouble that may return in
// bursts, nothing is ordered for a while: nodes register late, and old conditions remain until
// kubelets report again.
func (p *planner) storm() {
	p.trouble = p.State.Trouble
	if !p.wholeCluster() {
		p.stormSince()
		return
	}
	unread := slices.ContainsFunc(p.Snapshot.Gaps, func(g roll.Gap) bool { return g.Call == roll.CallLedger })
	if p.Snapshot.Cluster.ID.Account == "" || unread {
		return // the ledger is of another cluster, or unreadable
	}
	now, known := p.clusterTrouble(), p.State.Trouble
	if now == nil {
		p.endTrouble(known)
		return
	}
	reason := now.Reason
	t := p.continueTrouble(known, reason)
	t.Outage = p.outage(known, reason)
	done := p.forgetReported(&t, reason)
	p.trouble = &t
	if done || known == nil || known.Reason != t.Reason || dueForWrite(p.Now, known.Last, t.Last) || dueForWrite(p.Now, known.Outage.Last, t.Outage.Last) {
		p.out.Changes.Put.Trouble = &t
	}
	if !unreadable(reason) {
		p.reportReadable(t)
		return
	}
	p.out.OutageSince = roll.Later(t.Outage.Since, p.State.Checked)
	if !t.Told.IsZero() {
		return
	}
	if tell := t.Outage.Since.Add(alarmAfter); p.Now.Before(tell) {
		p.next(tell)
	} else if p.reportsCluster() {
		told := t
		told.Told = p.Now
		p.out.Alarm = &Alarm{Reason: reason, Detail: now.Detail, Since: t.Outage.Since, Incident: clusterIncident(p.Snapshot.Cluster.ID, told, 1), Said: &told}
	}
}

// stormSince finds new trouble of the cluster in a check of one instance. The next full check
// remembers it.
func (p *planner) stormSince() {
	if p.fault != nil {
		return
	}
	if now := p.clusterTrouble(); now != nil {
		t := p.continueTrouble(p.State.Trouble, now.Reason)
		p.trouble = &t
	}
}

// dueForWrite reports whether to write the time of the last sighting.
func dueForWrite(now time.Time, known, last time.Time) bool {
	return last.Equal(now) && now.Sub(known) >= troubleEvery
}

// reportsCluster reports whether the policy allows notices about the cluster as a whole.
func (p *planner) reportsCluster() bool {
	return p.Policy(roll.Selector{}).Mode.Allows(policy.Notify)
}

// clusterIncident returns the incident of a cluster that cannot be judged. A notice that is sent
// again because the first was not recorded has the same incident.
func clusterIncident(cluster roll.ClusterID, t ledger.Trouble, sent int) ledger.Incident {
	return ledger.Incident{ID: incidentID(cluster, ledger.NoticeKey{}, t.Outage.Since), First: t.Told, Sent: sent}
}

// continueTrouble updates the known trouble with what this check found.
func (p *planner) continueTrouble(known *ledger.Trouble, reason Reason) ledger.Trouble {
	t := ledger.Trouble{Reason: string(reason), Since: p.Now, Last: p.Now}
	if known == nil {
		return t
	}
	cool := cooledDown(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now)
	if reason == SnapshotIncomplete && known.Reason != t.Reason && !cool {
		// An incomplete snapshot says nothing about nodes, so the known trouble stays. An API
		// server that has just come back rejects many calls at first.
		return *known
	}
	if unreadable(reason) && !unreadable(Reason(known.Reason)) && !cool && p.Now.Sub(p.outage(known, reason).Since) < alarmAfter {
		t = *known // as far as is known, the earlier trouble continues
		t.Last = p.Now
		return t
	}
	t.Told = known.Told
	if cool || p.State.Checked.After(known.Last) {
		return t // a complete check lies between: this is new trouble
	}
	if grew := known.Reason == string(MassSilence) && reason == ZoneOutage; known.Reason != t.Reason && !grew {
		return t // other nodes are in trouble, or it was not visible before: it holds acts for an hour of its own
	}
	t.Since = known.Since
	if reason == ZoneOutage || reason == MassSilence {
		t.Since = roll.Later(t.Since, p.lastSilence()) // another zone has failed since: its nodes may return in bursts
	}
	return t
}

// lastSilence returns when nodes last went silent together, in the cluster or as those of a zone that is out; zero if
// they did not.
func (p *planner) lastSilence() (last time.Time) {
	limits := p.Policy(roll.Selector{}).Limits
	for z, c := range p.Assessment.Zones {
		if zoneOut(z, c, limits.Zone) != nil {
			last = roll.Later(last, c.Last.UTC())
		}
	}
	for _, at := range slices.Backward(p.Assessment.Silent) {
		if massSilence(at, p.Assessment.Silent, p.Assessment.Count[""].Nodes, limits.MassSilence) != nil {
			return roll.Later(last, at.UTC())
		}
	}
	return last
}

// outage returns the latest period in which the cluster could not be judged, including this check.
// A reported outage lasts until its end is reported.
func (p *planner) outage(known *ledger.Trouble, reason Reason) ledger.Outage {
	var o ledger.Outage
	if known != nil {
		o = known.Outage
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

// reportReadable reports the end of an outage once it has lasted, if its beginning was reported,
// whatever else is wrong. It returns whether the end is reported now or later.
func (p *planner) reportReadable(t ledger.Trouble) bool {
	if t.Told.IsZero() || !p.reportsCluster() {
		return !t.Told.IsZero() && p.Lowered // notices were not turned off
	}
	o := t.Outage
	if end := o.Last.Add(overAfter); p.Now.Before(end) {
		p.next(end)
		return true
	}
	var said *ledger.Trouble // nil: no cooldown remains
	if !cooledDown(&t, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) {
		still := t
		still.Outage, still.Told = ledger.Outage{}, time.Time{}
		said = &still
	}
	what := "the cluster can be judged again"
	if p.gone {
		what = "EKS does not know the cluster any more"
	}
	p.out.Alarm = &Alarm{Reason: Reason(o.Reason), Since: o.Since, Over: true, Gone: p.gone, Incident: clusterIncident(p.Snapshot.Cluster.ID, t, 2), Said: said,
		Detail: fmt.Sprintf("%s; it could not be judged from %s to %s or later", what, roll.Clock(o.Since), roll.Clock(o.Last))}
	return true
}

// forgetReported forgets that an outage was reported, once its end could be reported but the policy
// no longer allows that. It returns whether it did.
func (p *planner) forgetReported(t *ledger.Trouble, reason Reason) bool {
	if unreadable(reason) || t.Told.IsZero() || p.reportsCluster() || p.Lowered || p.Now.Before(t.Outage.Last.Add(overAfter)) {
		return false
	}
	t.Told, t.Outage = time.Time{}, ledger.Outage{}
	return true
}

// endTrouble forgets trouble after its cooldown. If its beginning was reported, its end must be
// reported first.
func (p *planner) endTrouble(known *ledger.Trouble) {
	if known == nil || p.reportReadable(*known) {
		return
	}
	if cooledDown(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) {
		p.out.Changes.Drop.Trouble = true
		p.trouble = nil
	}
}

// clusterTrouble returns the most severe trouble of the cluster as a whole, or nil.
func (p *planner) clusterTrouble() *Refusal {
	if p.fault != nil {
		if p.gone {
			return nil
		}
		return p.fault
	}
	limits := p.Policy(roll.Selector{}).Limits
	for _, z := range slices.Sorted(maps.Keys(p.Assessment.Zones)) {
		if no := zoneOut(z, p.Assessment.Zones[z], limits.Zone); no != nil {
			return no
		}
	}
	for _, at := range p.Assessment.Silent {
		if p.Now.Sub(at) >= stormLasts {
			continue // these nodes will not return in bursts
		}
		if no := massSilence(at, p.Assessment.Silent, p.Assessment.Count[""].Nodes, limits.MassSilence); no != nil {
			return no
		}
	}
	return shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, p.Assessment.Count[""], limits.Unhealthy)
}

// unreadable reports whether no instance can be judged because of the trouble.
func unreadable(r Reason) bool {
	return r == ClusterNotActive || r == ClusterUnreachable || r == SnapshotIncomplete
}

// cooling refuses while trouble of the cluster is too recent. While the trouble lasts, the reason
// is its own. An incomplete snapshot says nothing about nodes, so no cooldown follows it.
func cooling(t *ledger.Trouble, wait time.Duration, goesOn bool, now time.Time) *Refusal {
	if t == nil || t.Reason == string(SnapshotIncomplete) || cooledDown(t, wait, now) {
		return nil
	}
	until := t.Last.Add(wait)
	if local := t.Reason == string(ZoneOutage) || t.Reason == string(MassSilence); local && goesOn {
		if now.Sub(t.Since) >= stormLasts {
			return nil
		}
		no := refuse(Reason(t.Reason), "%s elsewhere in the cluster since %s: no orders before %s", t.Reason, roll.Clock(t.Since), roll.Clock(t.Since.Add(stormLasts)))
		no.Until = t.Since.Add(stormLasts)
		return no
	}
	no := refuse(StormCooldown, "the cluster as a whole was in trouble (%s) until %s; no orders before %s (limits.stormCooldown)", t.Reason, roll.Clock(t.Last), roll.Clock(until))
	no.Until = until
	return no
}

// stormEnds is how long after its last sighting trouble counts as lasting in a check of one
// instance. Its time is written once a minute, and an order is checked again a little later.
const stormEnds = 2 * time.Minute

// troubleLasts reports whether trouble of the cluster lasts.
func (p *planner) troubleLasts() bool {
	if p.trouble == nil {
		return false
	}
	if p.wholeCluster() {
		return p.trouble.Last.Equal(p.Now)
	}
	return p.Now.Sub(p.trouble.Last) < stormEnds
}

func cooledDown(t *ledger.Trouble, wait time.Duration, now time.Time) bool {
	return now.Sub(t.Last) >= wait
}
