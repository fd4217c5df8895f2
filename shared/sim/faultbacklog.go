package sim

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// The ways in which Rollcall meets a cluster for the first time.
const (
	accessGranted = "granted" // its API server let Rollcall in only now
	tableLost     = "table"   // the ledger was made anew
)

// backlog: machines are ill before Rollcall's first complete check of their cluster, and
// some were for long. Somebody may know why, so it only says so.
var backlog = faultType{
	kind: FaultBacklog, weight: 2, need: 100 * time.Minute, least: 10 * time.Minute, most: 80 * time.Minute, count: 2,
	values: []string{accessGranted, tableLost},
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
		if f.Value == tableLost && f.For > 14*time.Minute { // or it would have been seen to before
			a.in(14*time.Minute, func() { a.dep.lose() })
		}
	},
	relent: func(a *account, f Fault, _ dice) {
		ill := func() (some *machine) {
			for _, g := range a.targets(f) {
				for _, m := range g.members {
					if m.ail != well {
						some = m
					}
				}
			}
			return some
		}
		for _, c := range a.of(f) {
			c.barred = false
			if m := ill(); m != nil {
				a.arose(f, c, m, string(m.ail)+" since "+m.since.Format(time.TimeOnly))
			}
		}
		if f.Value == tableLost {
			a.dep.lose()
		}
	},
}

// illLong makes the machine ill. As one that never joins it is as it would be if it never
// had.
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

// anewAfter is how long the ledger's table is not there when it is made anew.
const anewAfter = 40 * time.Second

// lose makes the ledger anew, once nothing is being done: who does that lifts Rollcall's
// cordons and tags, as nobody else knows of them now.
func (d *deployment) lose() {
	if d.orders.running > 0 || d.functions[inspect].busy() {
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

// unmark removes what Rollcall wrote on the machine and its node.
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
