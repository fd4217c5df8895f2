package ledger

import (
	"slices"

	"rollcall/shared/roll"
)

// Changes is what one check makes of a cluster's memory.
type Changes struct {
	// Put is what is remembered from now on. What is empty in it stays as it is; its acts and
	// its version of notices count for nothing.
	Put State
	// Drop is what is forgotten, also of what is put.
	Drop Drops
	// NoticesVersion is the version of the notices at which the changes may be made, all or
	// none; 0 is any.
	NoticesVersion int64
}

// Drops are the keys of what is forgotten, under the names of the fields of State.
type Drops struct {
	RemediateSince  []roll.Group
	Findings        []roll.FindingKey
	NotReady        []roll.InstanceID
	Rests           []roll.InstanceID
	GroupsWithNodes []roll.Origin
	Notices         []NoticeKey
	Missing         []roll.InstanceID
	Spot            []SpotKey
	Flips           []roll.InstanceID
	Pressures       []roll.InstanceID
	// Groups are those that have neither a node nor, for ActionRetention, an act: what was good
	// then answers nothing any more.
	Groups   []roll.Group
	Trouble  bool
	Refusals []RefusalKey
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
		r.copy(s, &c.Put)
		r.drop(s, &c.Drop)
	}
}

// NewState is a state in which nothing is remembered, with all its maps.
func NewState() (s State) {
	s.init()
	return s
}

// init makes the maps that are missing.
func (s *State) init() {
	for _, r := range records {
		r.init(s)
	}
}

// Clone copies the state so deeply that neither side sees the other's changes.
func (s State) Clone() State {
	c := NewState()
	for _, r := range records {
		r.copy(&c, &s)
	}
	c.NoticesVersion = s.NoticesVersion
	for _, a := range s.Actions {
		c.Actions = append(c.Actions, a.clone())
	}
	return c
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
