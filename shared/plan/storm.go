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
	// silenceLeast and zoneLeast are how many nodes it takes at least.
	silenceLeast = 3
	zoneLeast    = 3
)

// storm finds what is wrong with the cluster as a whole and keeps the memory of it.
// After trouble that may come back in one gust, nothing is ordered for a while: nodes
// register late, old conditions stand until kubelets have reported again.
func (p *planner) storm() {
	p.trouble = p.State.Trouble
	if !p.whole() || p.Snapshot.Cluster.ID.Account == "" || ledgerFault(p.Snapshot) {
		return // the memory is not of this look, or cannot be trusted
	}
	reason, detail := p.clusterTrouble()
	known := p.State.Trouble
	if reason == "" {
		p.calm(known)
		return
	}
	t := ledger.Trouble{Reason: string(reason), Since: p.Now, Last: p.Now}
	if known != nil {
		t.Since, t.Told = known.Since, known.Told
		if cooled(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) && known.Told.IsZero() {
			t.Since = p.Now // the earlier one was over long ago, and nobody came by to say so
		}
	}
	p.trouble = &t
	if known == nil || known.Reason != t.Reason || p.Now.Sub(known.Last) >= troubleEvery {
		p.out.Changes.PutTrouble = &t
	}
	if !unreadable(reason) || !t.Told.IsZero() {
		return
	}
	if tell := t.Since.Add(alarmAfter); p.Now.Before(tell) {
		p.next(tell)
	} else if p.Policy(roll.Selector{}).Mode.Allows(policy.Notify) {
		told := t
		told.Told = p.Now
		p.out.Alarm = &Alarm{Reason: reason, Detail: detail, Since: t.Since, Said: &told}
	}
}

// calm forgets trouble once its cooldown is over, and tells of its end if its
// beginning was told.
func (p *planner) calm(known *ledger.Trouble) {
	if known == nil {
		return
	}
	if !known.Told.IsZero() && p.Policy(roll.Selector{}).Mode.Allows(policy.Notify) {
		over := *known
		over.Told = time.Time{}
		p.out.Alarm = &Alarm{Reason: Reason(known.Reason), Since: known.Since, Over: true, Said: &over, Detail: fmt.Sprintf("the cluster can be judged again; it could not from %s to %s or later", roll.Clock(known.Since), roll.Clock(known.Last))}
		return
	}
	if cooled(known, p.Policy(roll.Selector{}).Limits.StormCooldown, p.Now) {
		p.out.Changes.DropTrouble = true
		p.trouble = nil
	}
}

// clusterTrouble is the gravest that is wrong with the cluster as a whole, "" if
// nothing is.
func (p *planner) clusterTrouble() (Reason, string) {
	if p.fault {
		if p.gone {
			return "", ""
		}
		return p.faultReason, p.faultDetail
	}
	limits := p.Policy(roll.Selector{}).Limits
	zones := make([]string, 0, len(p.Assessment.Zones))
	for z := range p.Assessment.Zones {
		zones = append(zones, z)
	}
	slices.Sort(zones)
	for _, z := range zones {
		if text, ok := zoneOut(z, p.Assessment.Zones[z], limits.Zone); ok {
			return ZoneOutage, text
		}
	}
	for _, at := range p.Assessment.Silent {
		if text, ok := massSilence(at, p.Assessment.Silent, p.Assessment.Count[""].Nodes, limits.MassSilence); ok {
			return MassSilence, text
		}
	}
	if text, ok := shareExceeded("cluster "+p.Snapshot.Cluster.ID.Name, p.Assessment.Count[""], limits.Unhealthy); ok {
		return UnhealthyShare, text
	}
	return "", ""
}

// unreadable reports trouble in which nothing can be said of any instance.
func unreadable(r Reason) bool {
	return r == ClusterNotActive || r == ClusterUnreachable || r == SnapshotIncomplete
}

// cooling tells whether trouble of the cluster as a whole is too fresh to act. A look
// that was merely incomplete says nothing about the nodes, so nothing must calm down
// after it.
func cooling(t *ledger.Trouble, wait time.Duration, now time.Time) (string, time.Time, bool) {
	if t == nil || t.Reason == string(SnapshotIncomplete) || cooled(t, wait, now) {
		return "", time.Time{}, false
	}
	until := t.Last.Add(wait)
	return fmt.Sprintf("the cluster as a whole was in trouble (%s) until %s; nothing is ordered before %s (limits.stormCooldown)", t.Reason, roll.Clock(t.Last), roll.Clock(until)), until, true
}

func cooled(t *ledger.Trouble, wait time.Duration, now time.Time) bool {
	return now.Sub(t.Last) >= wait
}

// ledgerFault reports that the ledger itself could not be read.
func ledgerFault(s *roll.Snapshot) bool {
	return slices.ContainsFunc(s.Gaps, func(g roll.Gap) bool { return g.Call == roll.CallLedger })
}
