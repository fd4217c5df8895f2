package sim

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// dawn is when the accounts of these tests begin.
var dawn = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// bare returns an account with nothing but a deployment. Nothing in it is random unless loud is set.
func bare(t *testing.T, loud bool) *account {
	t.Helper()
	a, err := newAccount(Scenario{Seed: 7, Start: dawn, Permitted: "remediate", Sweep: 5 * time.Minute, Quiet: !loud}, Watch{})
	must.Succeed(t, err)
	t.Cleanup(a.shutdown)
	return a
}

// consumer is a function that records its messages.
type consumer struct {
	got []delivery
	// does runs in each invocation, unless nil. It returns the ids of the messages that failed.
	does func(inv *invocation, batch []message) []string
}

// delivery is what one invocation received, and when.
type delivery struct {
	at     time.Duration // since dawn
	bodies []string
	env    *env
}

func (c *consumer) build(v *env) func([]message) []string {
	return func(batch []message) []string {
		d := delivery{at: v.a.Now().Sub(dawn), env: v}
		for _, m := range batch {
			d.bodies = append(d.bodies, m.body)
		}
		c.got = append(c.got, d)
		v.inv.wait(100 * time.Millisecond)
		if c.does == nil {
			return nil
		}
		return c.does(v.inv, batch)
	}
}

// consume replaces a function by a consumer.
func (a *account) consume(fn functionName) *consumer {
	c := &consumer{}
	a.dep.functions[fn].build = c.build
	return c
}

// minutes returns the deliveries with their minute since dawn. Within a minute they are in the order of
// their bodies, since cold starts differ.
func (c *consumer) minutes() []string {
	type delivered struct {
		minute int
		body   string
	}
	var all []delivered
	for _, d := range c.got {
		for _, body := range d.bodies {
			all = append(all, delivered{int(d.at.Minutes()), body})
		}
	}
	slices.SortFunc(all, func(a, b delivered) int { return cmp.Or(a.minute-b.minute, cmp.Compare(a.body, b.body)) })
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprintf("%d:%s", d.minute, d.body))
	}
	return out
}

func (c *consumer) want(t *testing.T, want ...string) {
	t.Helper()
	got := c.minutes()
	expect.That(t, slices.Equal(got, want), "delivered %q\nwant      %q", got, want)
}

// pass advances the account's clock.
func (a *account) pass(d time.Duration) { a.until(a.Now().Add(d)) }

// within runs a body in one invocation of an environment, to its end, and returns the invocation. dies
// is the call at which it is killed, 0 for none.
func (v *env) within(dies int, after bool, body func()) *invocation {
	return v.during(10*time.Minute, dies, after, body)
}

// during is within for a body that takes a given time at most.
func (v *env) during(most time.Duration, dies int, after bool, body func()) *invocation {
	var inv *invocation
	v.a.spawn(0, func(p *process) {
		inv = &invocation{process: p, v: v, d: v.d.nth(v.a.usage.Invocations["test"]), name: string(v.fn) + "#test", diesAt: dies, after: after}
		v.a.usage.Invocations["test"]++
		v.inv = inv
		body()
	})
	v.a.pass(most)
	return inv
}

// environment returns an environment of a function outside of which nothing is invoked.
func (a *account) environment(fn functionName) *env {
	return &env{a: a, fn: fn, d: a.d.of("test environment")}
}
