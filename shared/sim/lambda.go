package sim

import (
	"fmt"
	"time"
)

type functionName string

const (
	stateChange functionName = "statechange"
	sweep       functionName = "sweep"
	inspect     functionName = "inspect"
	remediator  functionName = "remediate"
	approver    functionName = "approve"
)

type message struct {
	id, body, group string
	receives        int
}

type function struct {
	a       *account
	name    functionName
	timeout time.Duration
	// build returns the handler of a new environment, which returns the IDs of failed messages.
	build func(v *env) func(batch []message) (failed []string)

	started int
	warm    []*env // idle ones; the last used is last
}

const (
	skewed       = 2 * time.Second // the maximum clock difference
	killedAnyway = 0.002           // the share of invocations that are killed without a fault
	killedWithin = 40              // the number of calls within which an invocation is killed
)

// invoke runs the function once. done gets ok false if it was killed or timed out.
func (f *function) invoke(batch []message, d dice, done func(ok bool, failed []string)) {
	f.started++
	name := fmt.Sprintf("%s#%d", f.name, f.started)
	v, begins := f.place(d)
	f.a.spawn(begins, func(p *process) {
		inv := &invocation{process: p, v: v, d: d, name: name, batch: batch}
		inv.diesAt, inv.after = f.fate(d)
		v.inv = inv
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
		if v.run == nil {
			v.run = f.build(v)
		}
		failed := v.run(batch)
		f.a.audit.givenUp(inv)
		f.a.audit.sweptAll(inv)
		v.inv, v.since = nil, f.a.Now()
		f.warm = append(f.warm, v)
		end(true, failed)
	})
}

// place returns an environment for an invocation, warm or new, and how long its start takes.
func (f *function) place(d dice) (*env, time.Duration) {
	now := f.a.Now()
	for len(f.warm) > 0 {
		v := f.warm[len(f.warm)-1]
		f.warm = f.warm[:len(f.warm)-1]
		if now.Before(v.until) && now.Sub(v.since) < v.idle {
			return v, d.of("warm").between(time.Millisecond, 10*time.Millisecond)
		}
	}
	d = d.of("environment")
	v := &env{
		a: f.a, fn: f.name, d: d, idle: d.of("idle").between(5*time.Minute, 15*time.Minute), until: now.Add(d.of("until").between(time.Hour, 4*time.Hour)),
	}
	if !f.a.sc.Quiet {
		v.skew = d.of("skew").between(0, 2*skewed) - skewed
	}
	return v, d.of("cold").between(200*time.Millisecond, 900*time.Millisecond)
}

// fate decides at which call an invocation is killed, 0 for none, and whether after it.
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

// sweeps invokes the function sweep for an event of the schedule, and again later if it is throttled or running.
func (d *deployment) sweeps(m message, dice dice, born time.Time, tries int) {
	now := d.a.Now()
	if now.Sub(born) > asyncAge {
		return
	}
	again := func(tries int) { d.a.in(asyncPause, func() { d.sweeps(m, dice, born, tries) }) }
	if d.sweeping >= sweepsReserved || d.a.befalls(FaultNotInvoked, "", dice.of("throttled").of(now.String()), string(sweep)+" is throttled") {
		again(tries)
		return
	}
	d.sweeping++
	d.functions[sweep].invoke([]message{m}, dice.nth(tries), func(ok bool, failed []string) {
		d.sweeping--
		if (!ok || len(failed) > 0) && tries < asyncRetries {
			again(tries + 1)
		}
	})
}
