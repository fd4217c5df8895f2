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
	return len(c.PutRemediate) == 0 && len(c.DropRemediate) == 0 &&
		len(c.PutFindings) == 0 && len(c.DropFindings) == 0 &&
		len(c.PutNotReady) == 0 && len(c.DropNotReady) == 0 &&
		len(c.PutRests) == 0 && len(c.DropRests) == 0 &&
		len(c.PutGroups) == 0 && len(c.DropGroups) == 0 &&
		len(c.PutNotices) == 0 && len(c.DropNotices) == 0 &&
		c.PutChecked.IsZero() && c.PutFirst.IsZero() &&
		len(c.PutMissing) == 0 && len(c.DropMissing) == 0 &&
		len(c.PutSpot) == 0 && len(c.DropSpot) == 0 &&
		len(c.PutFlips) == 0 && len(c.DropFlips) == 0 &&
		len(c.PutPressures) == 0 && len(c.DropPressures) == 0 &&
		len(c.PutGroupMemory) == 0 && len(c.DropGroupMemory) == 0 &&
		c.PutTrouble == nil && !c.DropTrouble &&
		len(c.PutRefusals) == 0 && len(c.DropRefusals) == 0
}

// may reports whether the changes may be made.
func (s *State) may(c Changes) error {
	if c.NoticesVersion != 0 && c.NoticesVersion != s.NoticesVersion {
		return ErrNoticesMoved
	}
	return nil
}

// raiseNotices is RaiseNotices on a state.
func (s *State) raiseNotices(read int64) error {
	if s.NoticesVersion != read {
		return ErrNoticesMoved
	}
	s.NoticesVersion++
	return nil
}

// Apply makes the changes to a state in place. The state keeps copies: what becomes of
// the changes afterwards does not touch it.
func (s *State) Apply(c Changes) {
	s.init()
	maps.Copy(s.RemediateSince, c.PutRemediate)
	for _, g := range c.DropRemediate {
		delete(s.RemediateSince, g)
	}
	for _, f := range c.PutFindings {
		s.Findings[f.Key()] = f.clone()
	}
	for _, k := range c.DropFindings {
		delete(s.Findings, k)
	}
	maps.Copy(s.NotReady, c.PutNotReady)
	for _, id := range c.DropNotReady {
		delete(s.NotReady, id)
	}
	maps.Copy(s.Rests, c.PutRests)
	for _, id := range c.DropRests {
		delete(s.Rests, id)
	}
	maps.Copy(s.GroupsWithNodes, c.PutGroups)
	for _, g := range c.DropGroups {
		delete(s.GroupsWithNodes, g)
	}
	for k, n := range c.PutNotices {
		s.Notices[k] = n.clone()
	}
	for _, k := range c.DropNotices {
		delete(s.Notices, k)
	}
	if !c.PutChecked.IsZero() {
		s.Checked = c.PutChecked
	}
	if !c.PutFirst.IsZero() {
		s.First = c.PutFirst
	}
	maps.Copy(s.Missing, c.PutMissing)
	for _, id := range c.DropMissing {
		delete(s.Missing, id)
	}
	maps.Copy(s.Spot, c.PutSpot)
	for _, k := range c.DropSpot {
		delete(s.Spot, k)
	}
	for id, times := range c.PutFlips {
		s.Flips[id] = slices.Clone(times)
	}
	for _, id := range c.DropFlips {
		delete(s.Flips, id)
	}
	for id, p := range c.PutPressures {
		s.Pressures[id] = p.clone()
	}
	for _, id := range c.DropPressures {
		delete(s.Pressures, id)
	}
	for g, m := range c.PutGroupMemory {
		s.Groups[g] = m.clone()
	}
	for _, g := range c.DropGroupMemory {
		delete(s.Groups, g)
	}
	if c.PutTrouble != nil {
		t := *c.PutTrouble
		s.Trouble = &t
	}
	if c.DropTrouble {
		s.Trouble = nil
	}
	maps.Copy(s.Refusals, c.PutRefusals)
	for _, k := range c.DropRefusals {
		delete(s.Refusals, k)
	}
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

func (s *State) init() {
	if s.RemediateSince == nil {
		s.RemediateSince = map[roll.Group]time.Time{}
	}
	if s.Findings == nil {
		s.Findings = map[roll.FindingKey]Finding{}
	}
	if s.NotReady == nil {
		s.NotReady = map[roll.InstanceID]NotReady{}
	}
	if s.Rests == nil {
		s.Rests = map[roll.InstanceID]Rest{}
	}
	if s.GroupsWithNodes == nil {
		s.GroupsWithNodes = map[roll.Origin]time.Time{}
	}
	if s.Notices == nil {
		s.Notices = map[NoticeKey]Notice{}
	}
	if s.Missing == nil {
		s.Missing = map[roll.InstanceID]time.Time{}
	}
	if s.Spot == nil {
		s.Spot = map[SpotKey]time.Time{}
	}
	if s.Flips == nil {
		s.Flips = map[roll.InstanceID][]time.Time{}
	}
	if s.Pressures == nil {
		s.Pressures = map[roll.InstanceID]Pressure{}
	}
	if s.Groups == nil {
		s.Groups = map[roll.Group]GroupMemory{}
	}
	if s.Refusals == nil {
		s.Refusals = map[RefusalKey]Refusal{}
	}
}

// Clone copies the state so deeply that neither side sees the other's changes.
func (s State) Clone() State {
	var c State
	c.init()
	maps.Copy(c.RemediateSince, s.RemediateSince)
	for k, f := range s.Findings {
		c.Findings[k] = f.clone()
	}
	maps.Copy(c.NotReady, s.NotReady)
	maps.Copy(c.Rests, s.Rests)
	maps.Copy(c.GroupsWithNodes, s.GroupsWithNodes)
	for k, n := range s.Notices {
		c.Notices[k] = n.clone()
	}
	c.First, c.Checked, c.NoticesVersion = s.First, s.Checked, s.NoticesVersion
	maps.Copy(c.Missing, s.Missing)
	maps.Copy(c.Spot, s.Spot)
	for id, times := range s.Flips {
		c.Flips[id] = slices.Clone(times)
	}
	for id, p := range s.Pressures {
		c.Pressures[id] = p.clone()
	}
	for g, m := range s.Groups {
		c.Groups[g] = m.clone()
	}
	if s.Trouble != nil {
		t := *s.Trouble
		c.Trouble = &t
	}
	maps.Copy(c.Refusals, s.Refusals)
	for _, a := range s.Actions {
		if a.Outcome != nil {
			o := *a.Outcome
			a.Outcome = &o
		}
		c.Actions = append(c.Actions, a)
	}
	return c
}
