package plan

import "rollcall/shared/roll"

// unread is why an act is held where a call did not tell what the act rests on: for the
// reason given, unless the call failed for one that passes. A service that is busy now and
// then would otherwise make news of every finding, each time.
func unread(s *roll.Snapshot, reason Reason, call, detail string) *Refusal {
	passes := false
	for _, g := range s.Gaps {
		if g.Call == call && !g.Kind.Passing() {
			return &Refusal{Reason: reason, Detail: detail} // this much does not pass
		}
		passes = passes || g.Call == call
	}
	if passes {
		return &Refusal{Reason: NotReadYet, Detail: detail + " in this check; the next one asks again"}
	}
	return &Refusal{Reason: reason, Detail: detail}
}
