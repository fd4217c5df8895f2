package sim

import (
	"time"

	"rollcall/shared/roll"
)

// The ways in which a person stops Rollcall or restricts it to observing or notifying.
const (
	policyDeleted = "deleted" // the parameter is deleted
	policyEmptied = "emptied" // the document is empty
	policyStopped = "stopped" // stop: true is added
	policyObserve = "observe" // its mode is observe, and the cluster's tag says remediate
	policyOlder   = "older"   // an older document with mode notify and fewer settings is restored
	policyNotify  = "notify"  // its mode is notify, and the cluster's tag says remediate
)

const olderPolicy = "apiVersion: rollcall/v1\nmode: notify\nlimits: {actionsPerHour: 1}\n" // an earlier document of the parameter

// stopLine stops every act.
const stopLine = "stop: true"

// killSwitch: machines fail, and about when an act is due the policy forbids all. A tag may only lower the mode.
var killSwitch = faultType{
	kind: FaultKillSwitch, weight: 2, need: 100 * time.Minute, least: 80 * time.Minute, most: 150 * time.Minute, count: 2,
	values: []string{policyDeleted, policyEmptied, policyStopped, policyObserve, policyNotify, policyOlder},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: func(a *account, f Fault, d dice) {
		ill := a.victims(f)
		for _, m := range ill {
			m.fall(notReady, false, false)
		}
		clusters := a.of(f)
		a.in(d.of("thrown").between(time.Minute, 19*time.Minute), func() {
			if f.Value != policyStopped {
				for _, c := range clusters {
					c.tag("remediate")
				}
			}
			switch f.Value {
			case policyDeleted:
				a.dep.policy = ""
			case policyEmptied:
				a.dep.policy = []string{" ", "\n", "# emptied\n", "{}\n"}[d.of("empty").below(4)]
			case policyStopped:
				a.dep.policy = a.sc.Policy + stopLine + "\n"
			case policyOlder:
				a.dep.policy = olderPolicy
			default:
				a.dep.policy = withMode(a.sc.Policy, f.Value)
			}
		})
		a.in(f.For-time.Minute, func() { // every act came due while it was off
			if m := find(ill, func(m *machine) bool { return m.ail == notReady }); m != nil {
				m.arose(f, "not ready since "+m.since.Format(time.TimeOnly)+", and still nothing may be done")
			}
		})
	},
	relent: func(a *account, f Fault, _ dice) {
		for _, c := range a.of(f) {
			c.tag(c.spec.Mode)
		}
		a.dep.policy = a.sc.Policy
	},
}

// The forms of the hold's value.
const (
	holdDay   = "day"   // today: it holds to the end of the day, in UTC
	holdTime  = "time"  // a time in some hours
	holdOver  = "over"  // yesterday: the hold has expired
	holdTyped = "typed" // words, which hold until the tag is removed
)

// datedHold: machines fail, and a person holds them until a date, after which they must be cured.
var datedHold = faultType{
	kind: FaultDatedHold, weight: 1, need: 4 * time.Hour, least: 4 * time.Hour, most: 7 * time.Hour, count: 1,
	values: []string{holdDay, holdTime, holdTime, holdOver, holdTyped},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		now := a.Now().UTC()
		text, until := "until tuesday", time.Time{}
		switch f.Value {
		case holdDay:
			text, until = now.Format(time.DateOnly), now.Truncate(24*time.Hour).Add(24*time.Hour)
		case holdTime:
			until = now.Add(d.of("until").between(50*time.Minute, 2*time.Hour)).Truncate(time.Second)
			text = until.Format(time.RFC3339)
		case holdOver:
			until = now.Truncate(24 * time.Hour)
			text = until.AddDate(0, 0, -1).Format(time.DateOnly)
		}
		a.in(d.of("tagged").between(0, 20*time.Minute), func() {
			if m.state == running && !a.healedNow() && m.tagOnce(roll.TagHold, text) {
				m.holds = &hold{from: a.Now(), until: until}
				m.arose(f, roll.TagHold+"="+text)
			}
		})
		m.fall(oneOf(d.of("ail"), notReady, silent), false, false)
	}),
	relent: eachMember(func(m *machine, _ Fault) {
		if m.holds != nil {
			m.holds = nil
			m.untag(roll.TagHold)
		}
	}),
}

// hold is a person's hold of a machine, until a time or, without one, until the tag is removed.
type hold struct{ from, until time.Time }

func (h *hold) keeps(now time.Time) bool {
	return h != nil && (h.until.IsZero() || now.Before(h.until))
}
