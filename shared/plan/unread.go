package plan

import "rollcall/shared/roll"

// unread refuses because a call failed: with the given reason, or with NotReadYet if every
// failure of the call is temporary. Otherwise a service that is throttled now and then would
// make news of every finding.
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
