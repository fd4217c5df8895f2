package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"rollcall/shared/observe/deadline"
	"rollcall/tests/harness/expect"
)

// A context of an invocation ends by the account's clock, and not earlier.
func TestContextsEndByTheAccountsClock(t *testing.T) {
	a := bare(t, false)
	v := &env{a: a}
	ctx, cancel := deadline.In(v.context(), time.Minute)
	defer cancel()
	for _, tt := range []struct {
		after time.Duration
		want  error
	}{{0, nil}, {59 * time.Second, nil}, {time.Minute, context.DeadlineExceeded}, {time.Hour, context.DeadlineExceeded}} {
		a.until(dawn.Add(tt.after))
		err := ctx.Err()
		expect.That(t, errors.Is(err, tt.want) && err == nil == (tt.want == nil), "after %s: %v, want %v", tt.after, err, tt.want)
	}
	expect.That(t, v.context().Err() == nil, "a context without an end ends")
}

// A derived context ends with its parent, or earlier.
func TestContextsEndWithThoseThatTheyAreMadeFrom(t *testing.T) {
	a := bare(t, false)
	long, cancel := deadline.In((&env{a: a}).context(), time.Minute)
	defer cancel()
	longer, cancelLonger := deadline.In(long, time.Hour)
	defer cancelLonger()
	type key struct{}
	short, cancelShort := deadline.In(context.WithValue(longer, key{}, "x"), 10*time.Second)
	defer cancelShort()
	expect.That(t, ends(longer) == time.Minute && ends(short) == 10*time.Second && ends(context.WithValue(long, key{}, "x")) == time.Minute, "they end at %s, %s and %s", ends(longer), ends(short), ends(context.WithValue(long, key{}, "x")))
	expect.That(t, short.Value(key{}) == "x", "its values are lost")
	a.until(dawn.Add(30 * time.Second))
	expect.That(t, short.Err() != nil && longer.Err() == nil, "after half a minute: %v and %v", short.Err(), longer.Err())
	cancelLonger()
	expect.That(t, errors.Is(longer.Err(), context.Canceled) && long.Err() == nil, "cancelled: %v, and what it was made from %v", longer.Err(), long.Err())
}

// A context that is detached from another has no deadline until it is given one: the outcome of an act
// is recorded, however late.
func TestWhatOutlivesAContextHasNoEnd(t *testing.T) {
	a := bare(t, false)
	ctx, cancel := deadline.In((&env{a: a}).context(), time.Minute)
	cancel()
	a.until(dawn.Add(2 * time.Minute))
	after := context.WithoutCancel(ctx)
	expect.That(t, after.Err() == nil && ends(after) == endless, "it ended: %v, at %s", after.Err(), ends(after))
	recording, cancelRecording := deadline.In(after, 10*time.Second)
	defer cancelRecording()
	expect.That(t, recording.Err() == nil && ends(recording) == 2*time.Minute+10*time.Second, "%v, ends at %s", recording.Err(), ends(recording))
	expect.That(t, ends(context.Background()) == endless, "what knows no clock ends")
}

// A call that hangs waits until its context ends, and no longer.
func TestACallHangsUntilItsContextEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		within time.Duration
		most   time.Duration
	}{"a long one": {time.Hour, hangs}, "a short one": {7 * time.Second, 7 * time.Second}} {
		a := bare(t, false)
		a.weather.spells = []spell{{from: dawn, to: dawn.Add(time.Hour), what: FaultAPIDown, share: 1}}
		inside(t, a, inspect, func(v *env) {
			ctx, cancel := deadline.In(v.context(), tt.within)
			defer cancel()
			before := a.Now()
			err := v.call(ctx, "kubernetes:list nodes", reads, "demo", func() error { t.Errorf("%s: it took effect", name); return nil })
			took := a.Now().Sub(before)
			expect.That(t, errors.Is(err, context.DeadlineExceeded) && took >= tt.most-slowest && took <= tt.most+slowest, "%s: %v after %s", name, err, took)
			if tt.within < time.Minute {
				err := v.call(ctx, "kubernetes:list nodes", reads, "demo", func() error { return nil })
				expect.That(t, errors.Is(err, context.DeadlineExceeded), "%s: a call after the end: %v", name, err)
			}
		})
	}
}
