package ledger

import (
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// Changes is what one check makes of a cluster's memory. What is both put and dropped is
// dropped.
type Changes struct {
	PutRemediate  map[roll.Group]time.Time
	DropRemediate []roll.Group

	PutFindings  []Finding
	DropFindings []roll.FindingKey

	PutNotReady  map[roll.InstanceID]NotReady
	DropNotReady []roll.InstanceID

	PutRests  map[roll.InstanceID]Rest
	DropRests []roll.InstanceID

	PutGroups  map[roll.Origin]time.Time
	DropGroups []roll.Origin

	PutNotices  map[NoticeKey]Notice
	DropNotices []NoticeKey
	// NoticesVersion is the version of the notices at which the changes may be made, all or
	// none; 0 is any.
	NoticesVersion int64

	PutChecked time.Time // zero: as it is
	PutFirst   time.Time // likewise

	PutMissing  map[roll.InstanceID]time.Time
	DropMissing []roll.InstanceID

	PutSpot  map[SpotKey]time.Time
	DropSpot []SpotKey

	PutFlips  map[roll.InstanceID][]time.Time
	DropFlips []roll.InstanceID

	PutPressures  map[roll.InstanceID]Pressure
	DropPressures []roll.InstanceID

	PutGroupMemory map[roll.Group]GroupMemory
	// DropGroupMemory is for groups that have neither a node nor, for ActionRetention, an
	// act: what was good then answers nothing any more.
	DropGroupMemory []roll.Group

	PutTrouble  *Trouble
	DropTrouble bool

	PutRefusals  map[RefusalKey]Refusal
	DropRefusals []RefusalKey
}

// Empty reports whether there is nothing to write.
func (c Changes) Empty() bool {
	return !slices.ContainsFunc(records, func(r record) bool { return r.changed(&c) })
}

// Apply makes the changes to a state in place. The state keeps copies: what becomes of
// the changes afterwards does not touch it.
func (s *State) Apply(c Changes) {
	s.init()
	for _, r := range records {
		r.apply(s, &c)
	}
}

// init makes the maps that are missing.
func (s *State) init() {
	for _, r := range records {
		r.init(s)
	}
}

// Clone copies the state so deeply that neither side sees the other's changes.
func (s State) Clone() State {
	var c State
	c.init()
	for _, r := range records {
		r.copy(&c, &s)
	}
	for _, a := range s.Actions {
		c.Actions = append(c.Actions, a.clone())
	}
	return c
}

func (n Notice) clone() Notice {
	n.Members, n.Incident = maps.Clone(n.Members), n.Incident.Clone()
	return n
}

func (p Pressure) clone() Pressure {
	p.Types = slices.Clone(p.Types)
	return p
}

func (m GroupMemory) clone() GroupMemory {
	m.Seconds, m.Pressed = slices.Clone(m.Seconds), slices.Clone(m.Pressed)
	return m
}

func (a Action) clone() Action {
	a.Outlives = slices.Clone(a.Outlives)
	if a.Outcome != nil {
		a.Outcome = new(*a.Outcome)
	}
	return a
}
