package sim

import (
	"fmt"
	"time"
)

// functionName is the name of one of Rollcall's functions.
type functionName string

// The functions.
const (
	stateChange functionName = "statechange"
	sweep       functionName = "sweep"
	inspect     functionName = "inspect"
	remediator  functionName = "remediate"
	approver    functionName = "approve"
)

// message is a queue's message for a function.
type message struct {
	id, body, group string
	receives        int
}

// function is a Lambda function with its execution environments.
type function struct {
	a       *account
	name    functionName
	timeout time.Duration
	// build returns the handler of a new environment, which returns the IDs of the messages that
	// failed.
	build func(v *env) func(inv *invocation, batch []message) (failed []string)

	started int
	warm    []*place // idle ones; the last used is last
}

// place is an execution environment and its lifetime.
type place struct {
	v     *env
	since time.Time     // end of its last invocation
	idle  time.Duration // how long it may stay idle
	until time.Time     // when it is discarded in any case
}

const (
	skewed       = 2 * time.Second // the maximum clock difference
	killedAnyway = 0.002           // the share of invocations that are killed without a fault
	killedWithin = 40              // the number of calls within which an invocation is killed
)

// invoke runs the function once. It passes the outcome to done: ok is false if the function was
// killed or timed out.
func (f *function) invoke(batch []message, d dice, done func(ok bool, failed []string)) {
	f.started++
	name := fmt.Sprintf("%s#%d", f.name, f.started)
	at, begins := f.place(d)
	f.a.spawn(begins, func(p *process) {
		inv := &invocation{process: p, v: at.v, d: d, name: name, batch: batch}
		inv.diesAt, inv.after = f.fate(d)
		at.v.inv = inv
		inv.begun = f.a.Now()
		f.a.usage.Invocations[string(f.name)]++
		defer func() {
			inv.ended = f.a.Now()
			f.a.usage.Busy += inv.ended.Sub(inv.begun)
		}()
		over := false
		end := func(ok bool, failed []string) {
			if !over {
				over = true
				if !ok || inv.helpless() {
					f.a.audit.excuses(batch)
				}
				if !ok {
					f.a.audit.cutShort()
				}
				done(ok, failed)
			}
		}
		defer func() {
			if fault := recover(); fault != nil {
				panic(fmt.Sprintf("%s: %v", name, fault))
			}
			end(false, nil) // unless it ended normally, it was killed
		}()
		f.a.in(f.timeout, func() {
			if !over {
				f.a.note(Event{Kind: EventKilled, Detail: name + " timed out"})
				p.killed = true
				end(false, nil)
			}
		})
		if at.v.run == nil {
			at.v.run = f.build(at.v)
		}
		failed := at.v.run(inv, batch)
		f.a.audit.givenUp(inv)
		f.a.audit.sweptAll(inv)
		at.v.inv, at.since = nil, f.a.Now()
		f.warm = append(f.warm, at)
		end(true, failed)
	})
}

// place returns an environment for an invocation, warm or new, and how long its start takes.
func (f *function) place(d dice) (*place, time.Duration) {
	now := f.a.Now()
	for len(f.warm) > 0 {
		at := f.warm[len(f.warm)-1]
		f.warm = f.warm[:len(f.warm)-1]
		if now.Before(at.until) && now.Sub(at.since) < at.idle {
			return at, d.of("warm").between(time.Millisecond, 10*time.Millisecond)
		}
	}
	d = d.of("environment")
	v := &env{a: f.a, fn: f.name, d: d}
	if !f.a.sc.Quiet {
		v.skew = d.of("skew").between(0, 2*skewed) - skewed
	}
	return &place{
		v: v, idle: d.of("idle").between(5*time.Minute, 15*time.Minute), until: now.Add(d.of("until").between(time.Hour, 4*time.Hour)),
	}, d.of("cold").between(200*time.Millisecond, 900*time.Millisecond)
}

// fate decides at which call an invocation is killed, 0 for none, and whether that call takes
// effect.
func (f *function) fate(d dice) (diesAt int, after bool) {
	if f.a.befalls(FaultMemory, "", d.of("memory"), string(f.name)+" runs out of memory") {
		return 1 + d.of("full at").below(memoryWithin), false
	}
	if f.a.sc.Quiet || !d.of("killed").chance(max(killedAnyway, f.a.share(FaultKills))) {
		return 0, false
	}
	return 1 + d.of("dies at").below(killedWithin), d.of("dies after").chance(0.5)
}

// Retry limits of an asynchronous invocation: EventInvokeConfig in the template.
const (
	asyncRetries = 1
	asyncAge     = 5 * time.Minute
	asyncPause   = time.Minute // how long Lambda waits before a retry
)

// async is an event that invokes a function without a queue.
type async struct {
	f     *function
	m     message
	d     dice
	born  time.Time
	tries int
}

// begin invokes the function. If it is throttled or the reserved number of invocations already
// runs, it tries again later.
func (e *async) begin(running *int, reserved int) {
	now := e.f.a.Now()
	if now.Sub(e.born) > asyncAge {
		return
	}
	if *running >= reserved || e.f.a.befalls(FaultNotInvoked, "", e.d.of("throttled").of(now.String()), string(e.f.name)+" is throttled") {
		e.f.a.in(asyncPause, func() { e.begin(running, reserved) })
		return
	}
	*running++
	e.f.invoke([]message{e.m}, e.d.nth(e.tries), func(ok bool, failed []string) {
		*running--
		if ok && len(failed) == 0 || e.tries == asyncRetries {
			return
		}
		e.tries++
		e.f.a.in(asyncPause, func() { e.begin(running, reserved) })
	})
}
