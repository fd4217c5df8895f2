package sim

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
)

// log records events, with the seconds since dawn.
type log struct {
	e     *engine
	lines []string
}

func (l *log) note(what string) {
	l.lines = append(l.lines, fmt.Sprintf("%.0f %s", l.e.Now().Sub(dawn).Seconds(), what))
}

func (l *log) want(t *testing.T, want ...string) {
	t.Helper()
	expect.That(t, slices.Equal(l.lines, want), "happened %q\nwant     %q", l.lines, want)
}

func newLog() *log { return &log{e: newEngine(dawn)} }

func TestEventsHappenInTheOrderOfTheirTimes(t *testing.T) {
	l := newLog()
	for _, s := range []int{5, 3, 9, 1, 3, 7} {
		l.e.in(time.Duration(s)*time.Second, func() { l.note(fmt.Sprint(s)) })
	}
	l.e.until(dawn.Add(8 * time.Second))
	l.want(t, "1 1", "3 3", "3 3", "5 5", "7 7")
	expect.That(t, l.e.Now().Equal(dawn.Add(8*time.Second)), "it is %s", l.e.Now())
	l.e.until(dawn.Add(time.Minute))
	l.want(t, "1 1", "3 3", "3 3", "5 5", "7 7", "9 9")
}

// Events of the same time keep the order in which they were scheduled. An event for a past time comes
// right after the current one.
func TestEventsOfOneTimeKeepTheirOrder(t *testing.T) {
	l := newLog()
	l.e.in(time.Second, func() {
		l.note("a")
		l.e.at(dawn, func() { l.note("late") })
		l.e.in(0, func() { l.note("now") })
	})
	for i := range 20 {
		l.e.in(time.Second, func() { l.note(fmt.Sprintf("b%02d", i)) })
	}
	l.e.until(dawn.Add(time.Second))
	if len(l.lines) != 23-2 && len(l.lines) != 23 {
		t.Fatalf("%q", l.lines)
	}
	for i := range 20 {
		expect.Equal(t, l.lines[i+1], fmt.Sprintf("1 b%02d", i), "event %d", i+1)
	}
	l.e.until(dawn.Add(2 * time.Second))
	expect.List(t, l.lines[21:], []string{"1 late", "1 now"}, "what was asked for late")
}

// Processes wait concurrently, and one thing happens at a time.
func TestProcessesWaitBesideEachOther(t *testing.T) {
	l := newLog()
	inside := 0
	for i, name := range []string{"x", "y"} {
		l.e.spawn(time.Duration(i)*time.Second, func(p *process) {
			for range 3 {
				inside++
				expect.That(t, inside <= 1, "two at once")
				l.note(name)
				inside--
				p.wait(2 * time.Second)
			}
			l.note(name + " ends")
		})
	}
	l.e.in(3*time.Second, func() { l.note("between") })
	l.e.until(dawn.Add(time.Minute))
	l.want(t, "0 x", "1 y", "2 x", "3 between", "3 y", "4 x", "5 y", "6 x ends", "7 y ends")
	expect.That(t, len(l.e.live) == 0, "%d processes go on", len(l.e.live))
}

// A process may wait beyond the end of the current until.
func TestAProcessGoesOnInTheNextStretch(t *testing.T) {
	l := newLog()
	l.e.spawn(0, func(p *process) {
		p.wait(90 * time.Second)
		l.note("woke")
	})
	l.e.until(dawn.Add(time.Minute))
	l.want(t)
	l.e.until(dawn.Add(2 * time.Minute))
	l.want(t, "90 woke")
}

// A process that is killed while it waits does not resume, but its deferred calls run. They cannot wait
// either.
func TestAProcessThatIsKilledWhileItWaitsDoesNotComeBack(t *testing.T) {
	l := newLog()
	var killed *process
	l.e.spawn(0, func(p *process) {
		killed = p
		defer l.note("deferred last")
		defer func() {
			l.note("deferred")
			p.wait(time.Hour)
			l.note("waited once more")
		}()
		p.wait(10 * time.Second)
		l.note("came back")
	})
	l.e.in(4*time.Second, func() { killed.killed = true })
	l.e.in(20*time.Second, func() { l.note("later") })
	l.e.until(dawn.Add(time.Minute))
	l.want(t, "10 deferred", "10 deferred last", "20 later")
	expect.That(t, len(l.e.live) == 0, "%d processes go on", len(l.e.live))
}

func TestAProcessThatDiesEndsThere(t *testing.T) {
	l := newLog()
	l.e.spawn(0, func(p *process) {
		p.wait(time.Second)
		p.die()
		l.note("lives")
	})
	l.e.spawn(0, func(p *process) {
		p.wait(2 * time.Second)
		l.note("the other lives")
	})
	l.e.until(dawn.Add(time.Minute))
	l.want(t, "2 the other lives")
}

// A process that is still running at the end of a run is ended, and leaves no goroutine behind.
func TestShutdownLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	l := newLog()
	for range 50 {
		l.e.spawn(0, func(p *process) {
			defer p.wait(time.Second) // which ends it too
			p.wait(24 * time.Hour)
			l.note("came back")
		})
	}
	l.e.spawn(time.Hour, func(*process) { l.note("began") })
	l.e.until(dawn.Add(time.Minute))
	expect.That(t, len(l.e.live) == 50, "%d processes are under way", len(l.e.live))
	l.e.shutdown()
	l.want(t)
	noneIsLeft(t, before)
}

// noneIsLeft waits until there are no more goroutines than before.
func noneIsLeft(t *testing.T, before int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond) // they announce their end first, and end a moment later
	}
	t.Errorf("%d goroutines are left", runtime.NumGoroutine()-before)
}

// A run that ends early, during calls, leaves none behind either.
func TestARunThatIsStoppedLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	steps := 0
	r, err := Run(trial(ill(FaultNotReady, 30, api, 1)), Watch{Stop: func() bool { steps++; return steps == 50 }})
	expect.That(t, err == nil && steps == 50 && r.Ended.Equal(began.Add(50*time.Minute)) && r.Digest == "", "%d steps, ended at %s with digest %q: %v", steps, r.Ended, r.Digest, err)
	noneIsLeft(t, before)
}
