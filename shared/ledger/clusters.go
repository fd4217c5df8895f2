package ledger

import (
	"slices"

	"rollcall/shared/roll"
)

// Knows reports whether the state mentions an instance.
func (s State) Knows(id roll.InstanceID) bool {
	_, notReady := s.NotReady[id]
	_, rests := s.Rests[id]
	_, missing := s.Missing[id]
	_, doubted := s.Doubts[id]
	_, flips := s.Flips[id]
	_, pressed := s.Pressures[id]
	announced, _ := s.Announced(id)
	if notReady || rests || missing || doubted || flips || pressed || announced != "" {
		return true
	}
	for k := range s.Findings {
		if k.Instance == id {
			return true
		}
	}
	for _, n := range s.Notices {
		if _, ok := n.Members[id]; ok {
			return true
		}
	}
	for _, r := range s.Refusals {
		if r.Instance == id {
			return true
		}
	}
	for _, q := range s.Questions {
		if q.Instance == id {
			return true
		}
	}
	return slices.ContainsFunc(s.Actions, func(a Action) bool { return a.Instance == id })
}
