package trigger

import (
	"slices"
	"time"

	"rollcall/shared/roll"
)

// scheduleLead is the time allowed from reading the clock to creating the schedule. A
// schedule in the past would never fire.
const scheduleLead = 10 * time.Second

// Soonest returns the first minute for which a schedule can still be created: the next whole
// minute at least ten seconds away.
func Soonest(now time.Time) time.Time { return DueAt(now.Add(scheduleLead)) }

// Deadlines returns the minutes at which a newly running instance needs a check: its warning
// time (launch + warnAfter) and the end of its tolerance (launch + deadline), rounded up,
// ascending, each once. EventBridge Scheduler takes up to a minute more, so the check comes
// within two minutes.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
//
// Events may be late. A time that has passed, or is about to, becomes Soonest: there may have
// been no check since. So there are one or two minutes, none before Soonest.
func Deadlines(launch time.Time, warnAfter, deadline time.Duration, now time.Time) []time.Time {
	soonest := Soonest(now)
	var out []time.Time
	for _, after := range []time.Duration{warnAfter, deadline} {
		out = append(out, roll.Later(DueAt(launch.Add(after)), soonest))
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}
