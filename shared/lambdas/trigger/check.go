package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// Check is the request to check one cluster: a message in a FIFO queue, and the input of a
// one-time schedule that sends the message.
//
// Requests for one cluster and minute are one request, with the same bytes (by which the
// queue deduplicates) and the same schedule. So Due is rounded up to a minute; see DueAt.
type Check struct {
	Cluster string // the EKS cluster's name; see ValidCluster
	Due     time.Time
}

// dueLayout is RFC 3339 in UTC without a fraction.
const dueLayout = "2006-01-02T15:04:05Z"

// clusterForm is the pattern of eks:CreateCluster, with its length of 1 to 100:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html.
var clusterForm = pattern.New(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)

// ValidCluster reports whether EKS allows the name for a cluster.
func ValidCluster(name string) bool { return clusterForm.MatchString(name) }

// DueAt rounds a time up to a whole minute, in UTC: a check before the end of the minute
// would not see a deadline within it.
func DueAt(t time.Time) time.Time {
	t = t.UTC().Round(0)
	minute := t.Truncate(time.Minute)
	if minute.Before(t) {
		minute = minute.Add(time.Minute)
	}
	return minute
}

// Encode returns the message, with the same bytes for the same cluster and minute, such as
// {"cluster":"demo","due":"2026-03-10T12:05:00Z"}. A queue with content-based deduplication
// hashes the body, and EventBridge Scheduler requires that for a FIFO queue.
func (c Check) Encode() []byte {
	body, err := json.Marshal(struct {
		Cluster string `json:"cluster"`
		Due     string `json:"due"`
	}{c.Cluster, DueAt(c.Due).Format(dueLayout)})
	if err != nil {
		return nil // two strings always encode
	}
	return body
}

// ParseCheck parses a message of Encode. It returns an error for a name that no EKS cluster
// can have.
func ParseCheck(body []byte) (Check, error) {
	const what = "check message"
	var m struct {
		Cluster string
		Due     time.Time
	}
	if err := decode(what, body, &m); err != nil {
		return Check{}, err
	}
	var f faults
	f.form("cluster", m.Cluster, clusterForm, "a name of an EKS cluster")
	f.moment("due", m.Due)
	err := f.err(what)
	c := Check{Cluster: m.Cluster, Due: m.Due}
	if err == nil {
		err = canonical(what, body, c.Encode())
	}
	if err != nil {
		return Check{}, err
	}
	return c, nil
}

// Group returns the FIFO message group: the cluster, so that its checks come one after the
// other. A group id has at most 128 letters, digits and punctuation marks
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html),
// as every EKS cluster name has.
func (c Check) Group() string { return c.Cluster }

// ScheduleName returns the name of the one-time schedule: unique for cluster and minute, so
// that an existing schedule is the right one. A name has at most 64 of 0-9 a-z A-Z - _ and
// . (https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html),
// and a cluster's name up to 100, so the name is half a SHA-256.
func (c Check) ScheduleName() string {
	sum := sha256.Sum256([]byte(c.Cluster))
	return "check-" + hex.EncodeToString(sum[:16]) + "-" + DueAt(c.Due).Format("20060102T1504Z")
}

// ScheduleExpression returns when the schedule fires, such as at(2026-03-10T12:05:00). The
// Scheduler fires within that minute:
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html.
func (c Check) ScheduleExpression() string {
	return DueAt(c.Due).Format("at(2006-01-02T15:04:05)")
}

// Stale reports whether the check was due more than maxAge ago. A later one was requested
// since then.
func (c Check) Stale(now time.Time, maxAge time.Duration) bool {
	return now.Sub(DueAt(c.Due)) > maxAge
}

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
	out := roll.Map([]time.Duration{warnAfter, deadline}, func(after time.Duration) time.Time { return roll.Later(DueAt(launch.Add(after)), soonest) })
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}
