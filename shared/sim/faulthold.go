package sim

import (
	"time"

	"rollcall/shared/roll"
)

// FaultDatedHold is a person who holds a machine until a date.
const FaultDatedHold FaultKind = "dated-hold"

// The forms of the hold's value.
const (
	holdDay   = "day"   // today: it holds to the end of the day, in UTC
	holdTime  = "time"  // a time in some hours
	holdOver  = "over"  // yesterday: the hold has expired
	holdTyped = "typed" // words, which hold until the tag is removed
)

// datedHold: machines fail, and a person holds them until a date. The hold begins before they
// fail, or about when an act is due. They must be cured once it is over.
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
			if m.state == running && !a.healedNow() && m.tagHold(text) {
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

// keeps reports whether the hold applies at a time.
func (h *hold) keeps(now time.Time) bool {
	return h != nil && (h.until.IsZero() || now.Before(h.until))
}
