package ledger

import (
	"slices"

	"rollcall/shared/roll"
)

// Changes are the changes of one check to a cluster's memory.
type Changes struct {
	// Put holds new and changed records. Empty fields change nothing; Actions and
	// NoticesVersion are ignored.
	Put State
	// Drop holds the keys of records to delete. A record in both is deleted.
	Drop Drops
	// NoticesVersion is the version of the notices that the changes require; 0 is any.
	NoticesVersion int64
}

// Drops are keys of records, under the names of the fields of State.
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
	Groups          []roll.Group
	Trouble         bool
	Refusals        []RefusalKey
}

// Empty reports whether nothing changes.
func (c Changes) Empty() bool {
	return !slices.ContainsFunc(records, func(r record) bool { return r.changed(&c) })
}

// Apply makes the changes in place. The state keeps copies.
func (s *State) Apply(c Changes) {
	s.init()
	for _, r := range records {
		r.copy(s, &c.Put)
		r.drop(s, &c.Drop)
	}
}

// NewState returns an empty state with all its maps.
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

// Clone returns a deep copy of the state.
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
