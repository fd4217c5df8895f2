package plan

import "rollcall/shared/roll"

// unread refuses because a call failed. The reason is the given one, or NotReadYet if every failure
// of the call is temporary. Otherwise an occasionally throttled service would make news of every
// finding.
func unread(s *roll.Snapshot, reason Reason, call, detail string) *Refusal {
	passes := false
	for _, g := range s.Gaps {
		if g.Call == call && !g.Kind.Passing() {
			return &Refusal{Reason: reason, Detail: detail} // this failure does not pass
		}
		passes = passes || g.Call == call
	}
	if passes {
		return &Refusal{Reason: NotReadYet, Detail: detail + " in this check; the next one asks again"}
	}
	return &Refusal{Reason: reason, Detail: detail}
}
