package trigger

import (
	"slices"
	"time"
)

// scheduleLead is how long it may take from looking at the clock until the schedule
// is made. A schedule for a time that has passed would never fire.
const scheduleLead = 10 * time.Second

// Soonest is the first minute for which a schedule can still be made at the time
// now: the next whole minute that is at least ten seconds away.
func Soonest(now time.Time) time.Time { return DueAt(now.Add(scheduleLead)) }

// Deadlines returns the minutes at which a newly running instance needs a check:
// when it is first to be spoken of (launch + warnAfter) and when its tolerance ends
// (launch + deadline), rounded up, ascending, each once. EventBridge Scheduler takes up to
// a minute more, so the check comes less than two minutes after the moment.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
//
// Events come late. A moment that has passed, or is about to, is not left out but
// moved to Soonest: nobody may have looked since. If both have passed one check
// remains, so that there are one or two minutes, and none of them lies before
// Soonest.
func Deadlines(launch time.Time, warnAfter, deadline time.Duration, now time.Time) []time.Time {
	soonest := Soonest(now)
	var out []time.Time
	for _, after := range []time.Duration{warnAfter, deadline} {
		at := DueAt(launch.Add(after))
		if at.Before(soonest) {
			at = soonest
		}
		out = append(out, at)
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}
