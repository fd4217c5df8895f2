package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// told collects the events that an account reports.
func (a *account) told() *[]Event {
	var all []Event
	a.tell = func(e Event) { all = append(all, e) }
	return &all
}

func TestAFunctionEndsWithItsTime(t *testing.T) {
	a := bare(t, false)
	all := a.told()
	c := a.consume(inspect)
	effects := 0
	c.does = func(inv *invocation, _ []message) []string {
		for range 20 {
			inv.wait(hangs)
			effects++
		}
		return nil
	}
	a.dep.checks.send("a", "g", "")
	a.pass(time.Hour)
	c.want(t, "0:a", "5:a")
	expect.That(t, effects == 2*9 && len(a.dep.checks.dead) == 1, "%d effects in 2 invocations of five minutes, %d dead letters", effects, len(a.dep.checks.dead))
	expect.That(t, len(*all) == 2 && strings.Contains((*all)[0].Detail, "inspect#1 timed out"), "told %+v", *all)
	expect.That(t, c.got[0].env != c.got[1].env, "what timed out is used again")
}

func TestAnEnvironmentIsUsedAgainUnlessItDiedOrRested(t *testing.T) {
	a := bare(t, false)
	c := a.consume(inspect)
	c.does = func(inv *invocation, batch []message) []string {
		if batch[0].body == "dies" && batch[0].receives == 1 {
			inv.die()
		}
		return nil
	}
	for i, body := range []string{"a", "b", "dies", "c"} {
		a.at(dawn.Add(time.Duration(i)*time.Minute), func() { a.dep.checks.send(body, body, "") })
	}
	a.at(dawn.Add(time.Hour), func() { a.dep.checks.send("d", "d", "") })
	a.pass(2 * time.Hour)
	c.want(t, "0:a", "1:b", "2:dies", "3:c", "7:dies", "60:d")
	e := func(i int) *env { return c.got[i].env }
	expect.That(t, e(0) == e(1) && e(1) == e(2) && e(2) != e(3) && e(3) == e(4) && e(4) != e(5), "the environments are %p %p %p %p %p %p", e(0), e(1), e(2), e(3), e(4), e(5))
}

func TestTwoInvocationsAtOnceHaveTwoEnvironments(t *testing.T) {
	a := bare(t, false)
	c := a.consume(inspect)
	c.does = func(inv *invocation, _ []message) []string { inv.wait(time.Minute); return nil }
	a.dep.checks.send("a", "a", "")
	a.dep.checks.send("b", "b", "")
	a.pass(time.Hour)
	expect.That(t, len(c.got) == 2 && c.got[0].env != c.got[1].env, "%+v", c.got)
}

func TestAFunctionIsKilledAtACallBeforeOrAfterItsEffect(t *testing.T) {
	for _, tt := range []struct {
		dies  int
		after bool
		want  int
	}{{0, false, 5}, {1, false, 0}, {1, true, 1}, {3, false, 2}, {3, true, 3}, {6, false, 5}} {
		v := bare(t, false).environment(inspect)
		effects, ended := 0, false
		v.within(tt.dies, tt.after, func() {
			for range 5 {
				_ = v.call(t.Context(), "sqs:SendMessage", writes, "", func() error { effects++; return nil })
			}
			ended = true
		})
		expect.That(t, effects == tt.want && ended == (tt.dies == 0 || tt.dies > 5), "killed at call %d, after its effect %v: %d effects, to its end %v", tt.dies, tt.after, effects, ended)
	}
}

func TestHowOftenFunctionsAreKilled(t *testing.T) {
	a := bare(t, true)
	f := a.dep.functions[inspect]
	killed := func() (n, after int, calls map[int]bool) {
		calls = map[int]bool{}
		for i := range 10_000 {
			if call, late := f.fate(a.d.nth(i)); call > 0 {
				n++
				calls[call] = true
				if late {
					after++
				}
			}
		}
		return n, after, calls
	}
	if n, _, _ := killed(); n < 5 || n > 50 {
		t.Errorf("%d of 10,000 are killed on a normal day", n)
	}
	a.weather.spells = []spell{{from: dawn, to: dawn.Add(time.Hour), what: FaultKills, share: 0.5}}
	n, after, calls := killed()
	expect.That(t, n >= 4500 && n <= 5500 && after >= n/3 && after <= 2*n/3 && len(calls) == killedWithin && !calls[0] && calls[1] && calls[killedWithin], "%d of 10,000 are killed, %d after the call, at %d calls", n, after, len(calls))
	a.sc.Quiet = true
	if n, _, _ := killed(); n != 0 {
		t.Errorf("%d are killed on a quiet day", n)
	}
}

func TestClocksDifferByTwoSecondsAtMost(t *testing.T) {
	for _, loud := range []bool{false, true} {
		a := bare(t, loud)
		f := a.dep.functions[inspect]
		least, most := time.Duration(0), time.Duration(0)
		for i := range 1000 {
			v, _ := f.place(a.d.nth(i))
			least, most = min(least, v.skew), max(most, v.skew)
		}
		if !loud && (least != 0 || most != 0) || loud && (least < -skewed || most > skewed || most-least < 3*time.Second) {
			t.Errorf("loud %v: clocks differ from %s to %s", loud, least, most)
		}
	}
}

func TestTheSweepComesByAndIsTriedOnceMore(t *testing.T) {
	a := bare(t, false)
	c := a.consume(sweep)
	c.does = func(_ *invocation, batch []message) []string {
		if len(c.got) == 2 {
			return []string{batch[0].id}
		}
		return nil
	}
	a.dep.sweepAfter(a.Now())
	a.pass(21 * time.Minute)
	came := func(minute, planned int) string {
		return fmt.Sprintf("%d:{\"planned\":%q}", minute, a.start.Add(time.Duration(planned)*time.Minute).Format(time.RFC3339))
	}
	c.want(t, came(5, 5), came(10, 10), came(11, 10), came(15, 15), came(20, 20))
	for _, d := range c.got {
		if into := d.at % (5 * time.Minute); into > sweepJitter+time.Second && d.at.Truncate(time.Minute) != 11*time.Minute {
			t.Errorf("a sweep %s after its time", into)
		}
	}
	c.got = nil
	c.does = func(inv *invocation, _ []message) []string { inv.wait(time.Hour); return nil }
	a.pass(10 * time.Minute)
	c.want(t, came(25, 25), came(28, 25), came(30, 30)) // each times out after two minutes, and is retried after one
}

// Clusters whose API servers cannot be reached, or do not answer, keep executions of inspect waiting. All
// clusters are checked in time nevertheless.
func TestClustersThatCannotBeReachedDoNotDelayOthers(t *testing.T) {
	for kind, down := range map[FaultKind]int{FaultUnreachable: 36, FaultAPIDown: 20} {
		sc := Random(Options{Seed: 5, Clusters: 40, Nodes: 5, Hours: 4})
		sc.Faults = nil
		for i := range down {
			sc.Faults = append(sc.Faults, Fault{ID: i + 1, Kind: kind, At: time.Minute, For: sc.Storm - 2*time.Minute, Cluster: sc.Clusters[i].Name, Share: 1})
		}
		r, err := Run(sc, Watch{GoOn: true})
		must.Succeed(t, err)
		expect.That(t, len(r.Violations) == 0, "%s: %d times: %+v", kind, len(r.Violations), r.Violations)
	}
}
