package sim

import (
	"fmt"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// The ways in which Rollcall observes a cluster for the first time.
const (
	accessGranted = "granted" // its API server granted Rollcall access only now
	tableLost     = "table"   // the ledger's table was recreated, by somebody who then cleaned up
	// tableHard: it was recreated while functions ran. Orders, cordons and tags stay.
	tableHard = "table-hard"
)

// backlog: machines already failed before the first complete check of their cluster. Somebody may know why.
var backlog = faultType{
	kind: FaultBacklog, weight: 2, need: 100 * time.Minute, least: 10 * time.Minute, most: 80 * time.Minute, count: 2,
	values: []string{accessGranted, tableLost, tableHard},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	prepare: func(a *account, f Fault, _ dice) {
		if c := a.byName[f.Cluster]; c != nil && f.Value == accessGranted {
			c.barred = true
		}
	},
	strike: func(a *account, f Fault, d dice) {
		ills := []ailment{neverJoins, silent, notReady}
		for i, m := range a.victims(f) {
			m.illLong(oneOf(d.nth(i), ills...))
		}
		switch {
		case f.Value == tableLost && f.For > 14*time.Minute: // otherwise the faults would have been handled before
			a.in(14*time.Minute, func() { a.dep.lose() })
		case f.Value == tableHard: // after orders, perhaps
			a.in(d.of("lost").between(10*time.Minute, f.For), func() { a.dep.loseHard(f, a.Now().Add(20*time.Minute)) })
		}
	},
	relent: func(a *account, f Fault, _ dice) {
		var ill *machine
		for _, g := range a.targets(f) {
			for _, m := range g.members {
				if m.ail != well {
					ill = m
				}
			}
		}
		for _, c := range a.of(f) {
			c.barred = false
			if ill != nil {
				a.arose(f, c, ill, string(ill.ail)+" since "+ill.since.Format(time.TimeOnly))
			}
		}
		if f.Value == tableLost {
			a.dep.lose()
		}
	},
}

// illLong makes the machine faulty. One that never joins has no Node and NodeClaim.
func (m *machine) illLong(ail ailment) {
	if ail != neverJoins {
		m.fall(ail, false, false)
		return
	}
	if n := m.node; n != nil && m.ail == well {
		m.c.removeNode(n)
		m.reporting, m.settledAt = false, time.Time{}
		m.silence++
		m.ail, m.since = neverJoins, m.c.a.Now()
		m.tell(EventAilment, string(neverJoins))
		if m.claim != nil {
			m.c.dropClaim(m.claim)
		}
	}
}

const anewAfter = 40 * time.Second // how long the ledger's table is missing while it is recreated

// loseHard recreates the ledger while functions run, or at last when none does.
func (d *deployment) loseHard(f Fault, last time.Time) {
	busy := d.orders.running + d.checks.running
	switch {
	case d.table.Missing():
		return
	case busy == 0 && d.a.Now().Before(last):
		d.a.in(500*time.Millisecond, func() { d.loseHard(f, last) })
		return
	}
	d.lost = true
	d.table.Drop()
	d.a.audit.forget()
	d.a.in(anewAfter, d.table.Create)
	d.a.arose(f, nil, nil, fmt.Sprintf("the ledger's table is gone, with %d functions running and %d orders in the queue", busy, len(d.orders.letters)))
}

// lose recreates the ledger, once nothing is in progress, and removes Rollcall's cordons and tags.
func (d *deployment) lose() {
	if d.table.Missing() {
		return // it is being recreated
	}
	if d.orders.running > 0 || d.checks.running > 0 {
		d.a.in(time.Second, d.lose)
		return
	}
	d.orders.letters = nil
	d.table.Drop()
	d.a.audit.forget()
	d.a.in(anewAfter, d.table.Create)
	for _, c := range d.a.clusters {
		for _, m := range c.machines {
			m.unmark()
		}
	}
}

func (m *machine) unmark() {
	kept := slices.DeleteFunc(slices.Clone(m.tags), func(t tag) bool {
		return slices.Contains(roll.MarkKeys(), t.key) && t.key != roll.TagHold && t.key != roll.TagIgnore
	})
	if len(kept) != len(m.tags) {
		m.tags = kept
		m.touch()
	}
	if n := m.node; n != nil && n.annotations[roll.AnnotationCordoned] != "" {
		n.cordoned = false
		n.annotate(roll.AnnotationCordoned, "")
		n.version = n.c.changed()
	}
}
