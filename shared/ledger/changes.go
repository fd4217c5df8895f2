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
	Doubts          []roll.InstanceID
	Spot            []SpotKey
	Flips           []roll.InstanceID
	Pressures       []roll.InstanceID
	Groups          []roll.Group
	Trouble         bool
	ModeTag         bool
	Refusals        []RefusalKey
	Questions       []string
	Approvals       []string
}

// Empty reports whether nothing changes.
func (c Changes) Empty() bool {
	for _, k := range kinds {
		if k.changes(&c) {
			return false
		}
	}
	return true
}

// Apply makes the changes in place.
func (s *State) Apply(c Changes) {
	for _, k := range kinds {
		k.copy(s, &c.Put)
		k.drop(s, &c.Drop)
	}
}

// NewState returns an empty state with all its maps.
func NewState() State { return State{}.Clone() }

// Clone returns a copy of the state with maps of its own. The records in them are shared:
// none is changed in place.
func (s State) Clone() State {
	c := State{NoticesVersion: s.NoticesVersion, Actions: slices.Clone(s.Actions)}
	c.Apply(Changes{Put: s})
	return c
}
