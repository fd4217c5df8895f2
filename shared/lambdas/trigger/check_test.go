package trigger_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"rollcall/shared/lambdas/trigger"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestEncodesACheckToTheSameBytes(t *testing.T) {
	const want = `{"cluster":"demo","due":"2026-03-10T12:05:00Z"}`
	for _, due := range []time.Time{
		noon.Add(5 * time.Minute),
		noon.Add(4*time.Minute + time.Nanosecond), // a time that was not rounded
		noon.Add(5 * time.Minute).In(time.FixedZone("", 5*3600+1800)),
	} {
		c := trigger.Check{Cluster: "demo", Due: due}
		expect.Equal(t, string(c.Encode()), want, "%s", due)
		expect.Equal(t, c.ScheduleName(), (trigger.Check{Cluster: "demo", Due: noon.Add(5 * time.Minute)}).ScheduleName(), "%s: schedule", due)
		expect.Equal(t, c.ScheduleExpression(), "at(2026-03-10T12:05:00)", "%s", due)
	}
}

func TestReadsTheSampleOfACheck(t *testing.T) {
	r := sample(t, "check.json")[0]
	c, err := trigger.ParseCheck([]byte(r.Body))
	must.That(t, err == nil && c == (trigger.Check{Cluster: "demo", Due: noon.Add(5 * time.Minute)}), "%+v, %v", c, err)
	if string(c.Encode()) != r.Body || r.Attributes["MessageGroupId"] != c.Group() || r.Attributes["MessageDeduplicationId"] != contentID(r.Body) {
		t.Errorf("%+v is not how %s is sent", r, c.Encode())
	}
}

func TestReadsChecksStrictly(t *testing.T) {
	const malformed = "malformed check message: "
	const other = "not written as Rollcall writes it"
	tests := []struct{ name, body, want string }{
		{"as it is written", `{"cluster":"demo","due":"2026-03-10T12:05:00Z"}`, ""},
		{"with a line feed", `{"cluster":"Demo_1-x","due":"2026-03-10T12:05:00Z"}` + "\n", ""},
		{"the longest name", `{"cluster":"` + strings.Repeat("a", 100) + `","due":"2026-03-10T12:05:00Z"}`, ""},
		{"nothing", `{}`, "cluster: missing; due: missing, or not a time in RFC 3339"},
		{"too long a name", `{"cluster":"` + strings.Repeat("a", 101) + `","due":"2026-03-10T12:05:00Z"}`, `cluster: "` + strings.Repeat("a", 40) + `" is not a name of an EKS cluster`},
		{"a name EKS refuses", `{"cluster":"-demo","due":"2026-03-10T12:05:00Z"}`, `cluster: "-demo" is not a name of an EKS cluster`},
		{"a name with a line break", `{"cluster":"demo\n","due":"2026-03-10T12:05:00Z"}`, `cluster: "demo\n" is not a name of an EKS cluster`},
		{"another field", `{"cluster":"demo","due":"2026-03-10T12:05:00Z","force":true}`, other},
		{"another order", `{"due":"2026-03-10T12:05:00Z","cluster":"demo"}`, other},
		{"another case", `{"Cluster":"demo","due":"2026-03-10T12:05:00Z"}`, other},
		{"no whole minute", `{"cluster":"demo","due":"2026-03-10T12:05:30Z"}`, other},
		{"another zone", `{"cluster":"demo","due":"2026-03-10T13:05:00+01:00"}`, other},
		{"a fraction", `{"cluster":"demo","due":"2026-03-10T12:05:00.000Z"}`, other},
		{"the zero time", `{"cluster":"demo","due":"0001-01-01T00:00:00Z"}`, "due: missing, or not a time in RFC 3339"},
		{"a number", `{"cluster":"demo","due":1773144300}`, `"Time.UnmarshalJSON: input is not a JSON string"`},
		{"twice", `{"cluster":"demo","cluster":"demo","due":"2026-03-10T12:05:00Z"}`, other},
		{"an unreplaced keyword of the Scheduler", `{"cluster":"demo","due":"<aws.scheduler.scheduled-time>"}`, `"parsing time \"<aws.scheduler.scheduled-time>\" as \"2006-01-02T15:04:05Z07:00\": ca"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := trigger.ParseCheck([]byte(tt.body))
			bounded(t, err)
			if tt.want == "" {
				expect.Succeed(t, err)
				return
			}
			expect.That(t, err != nil && err.Error() == malformed+tt.want && c == (trigger.Check{}), "got  %v\nwant %s%s", err, malformed, tt.want)
		})
	}
}

func TestDueAtRoundsUpToTheMinute(t *testing.T) {
	tests := []struct{ after, want time.Duration }{
		{0, 0},
		{time.Nanosecond, time.Minute},
		{30 * time.Second, time.Minute},
		{time.Minute - time.Nanosecond, time.Minute},
		{time.Minute, time.Minute},
		{-time.Nanosecond, 0},
		{-time.Minute, -time.Minute},
	}
	for _, tt := range tests {
		got := trigger.DueAt(noon.Add(tt.after))
		expect.That(t, got.Equal(noon.Add(tt.want)), "%s after noon: got %s", tt.after, got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		at := time.Unix(random.Int64N(1<<34)-1<<33, random.Int64N(1e9)).In(time.FixedZone("", int(random.Int64N(86_400))-43_200))
		due := trigger.DueAt(at)
		if due.Before(at) || due.Sub(at) >= time.Minute || due.Second() != 0 || due.Nanosecond() != 0 || due.Location() != time.UTC || trigger.DueAt(due) != due {
			t.Fatalf("%s is due at %s", at, due)
		}
		c := trigger.Check{Cluster: "demo", Due: at}
		again, err := trigger.ParseCheck(c.Encode())
		if err != nil || again.Due != due || string(again.Encode()) != string(c.Encode()) {
			t.Fatalf("%s became %+v, %v", c.Encode(), again, err)
		}
	}
}

// scheduleForm is what the Scheduler allows as a name, and groupForm what SQS allows
// as a group or deduplication id, by their API models.
var (
	scheduleForm = regexp.MustCompile(`^[0-9a-zA-Z-_.]{1,64}$`)
	groupForm    = regexp.MustCompile("^[a-zA-Z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]{1,128}$")
)

func TestSchedulesAreSharedByClusterAndMinuteOnly(t *testing.T) {
	names := map[string]string{}
	for _, cluster := range []string{"a", "A", "demo", "demo-2", "demo_2", strings.Repeat("x", 100), strings.Repeat("x", 99) + "y"} {
		for minute := range 3000 {
			c := trigger.Check{Cluster: cluster, Due: noon.Add(time.Duration(minute) * time.Minute)}
			name := c.ScheduleName()
			must.That(t, scheduleForm.MatchString(name), "%q is no name for a schedule", name)
			if other, ok := names[name]; ok {
				t.Fatalf("%s and %s are both named %s", other, c.Encode(), name)
			}
			names[name] = string(c.Encode())
		}
		group := (trigger.Check{Cluster: cluster}).Group()
		expect.That(t, groupForm.MatchString(group) && group == cluster, "%q is no group id", group)
	}
	const known = "check-2a97516c354b68848cdbd8f54a226a0a-20260310T1205Z"
	got := (trigger.Check{Cluster: "demo", Due: noon.Add(5 * time.Minute)}).ScheduleName()
	expect.That(t, got == known, "the name of a known schedule became %s: schedules of the version before would be made twice", got)
}

func TestStale(t *testing.T) {
	c := trigger.Check{Cluster: "demo", Due: noon}
	for after, want := range map[time.Duration]bool{
		-time.Hour: false, 0: false, 10 * time.Minute: false, 10*time.Minute + time.Nanosecond: true, time.Hour: true,
	} {
		expect.Equal(t, c.Stale(noon.Add(after), 10*time.Minute), want, "%s after it was due: stale", after)
	}
}

func TestDeadlines(t *testing.T) {
	m := func(minutes ...float64) (out []time.Duration) {
		for _, n := range minutes {
			out = append(out, time.Duration(n*float64(time.Minute)))
		}
		return out
	}
	tests := []struct {
		name           string
		launch         float64 // all in minutes, from noon
		warn, deadline float64
		now            float64
		want           []time.Duration
	}{
		{"just launched", 0, 5, 15, 0.05, m(5, 15)},
		{"rounded up", 0.5, 5, 15, 0.6, m(6, 16)},
		{"within one minute", 0, 5.1, 5.9, 0.1, m(6)},
		{"the same", 0, 15, 15, 0.1, m(15)},
		{"the warning after the deadline", 0, 20, 15, 0.1, m(15, 20)},
		{"the warning has passed", 0, 5, 15, 7.5, m(8, 15)},
		{"the warning is now", 0, 5, 15, 5, m(6, 15)},
		{"the warning is about to be, and time is left", 0, 5, 15, 4.8, m(5, 15)},
		{"the warning is about to be, and no time is left", 0, 5, 15, 4.9, m(6, 15)},
		{"both have passed", 0, 5, 15, 90.25, m(91)},
		{"moved to the deadline", 0, 5, 15, 14.5, m(15)},
		{"launched in the future: clocks differ", 3, 5, 15, 0, m(8, 18)},
		{"at once", 0, 0, 0, 0.5, m(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := func(minutes float64) time.Time { return noon.Add(m(minutes)[0]) }
			got := trigger.Deadlines(at(tt.launch), m(tt.warn)[0], m(tt.deadline)[0], at(tt.now))
			must.That(t, len(got) == len(tt.want), "got %v", got)
			for i, want := range tt.want {
				expect.That(t, got[i].Equal(noon.Add(want)), "got %v, want %v after noon", got, tt.want)
			}
		})
	}
}

func TestDeadlinesLieAheadAndAreNeverEarly(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		launch := noon.Add(time.Duration(random.Int64N(int64(3 * time.Hour))))
		warn, deadline := time.Duration(random.Int64N(int64(time.Hour))), time.Duration(random.Int64N(int64(time.Hour)))
		now := noon.Add(time.Duration(random.Int64N(int64(4 * time.Hour))))
		got := trigger.Deadlines(launch, warn, deadline, now)
		if len(got) < 1 || len(got) > 2 || len(got) == 2 && !got[0].Before(got[1]) {
			t.Fatalf("%v", got)
		}
		for _, moment := range []time.Time{launch.Add(warn), launch.Add(deadline)} {
			covered := false
			for _, at := range got {
				must.That(t, !at.Before(trigger.Soonest(now)) && at.Sub(now) >= 10*time.Second && trigger.DueAt(at).Equal(at), "%s at %s", at, now)
				late := at.Sub(moment)
				if now.After(moment) {
					late = at.Sub(now)
				}
				covered = covered || !at.Before(moment) && late < 2*time.Minute
			}
			must.That(t, covered, "nothing looks at %s: %v at %s", moment, got, now)
		}
	}
}

func FuzzParseCheck(f *testing.F) {
	f.Add([]byte(sample(f, "check.json")[0].Body))
	f.Add([]byte(`{"due":"2026-02-30T00:00:00Z","cluster":"\u0061"}`))
	f.Add([]byte(`{"cluster":"demo","due":"9999-12-31T23:59:00Z","x":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := trigger.ParseCheck(body)
		bounded(t, err)
		if err != nil {
			expect.That(t, c == (trigger.Check{}), "%+v with %v", c, err)
			return
		}
		encoded := c.Encode()
		again, err := trigger.ParseCheck(encoded)
		expect.That(t, err == nil && again == c && string(again.Encode()) == string(encoded), "%+v became %+v, %v", c, again, err)
		if !scheduleForm.MatchString(c.ScheduleName()) || !groupForm.MatchString(c.Group()) || !trigger.ValidCluster(c.Cluster) {
			t.Errorf("%+v: schedule %q, group %q", c, c.ScheduleName(), c.Group())
		}
	})
}
