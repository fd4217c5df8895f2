package sim

import (
	"context"
	"runtime"
	"time"

	"rollcall/shared/observe/deadline"
)

// engine is the clock and the event queue. Only the holder of the baton runs: the root, or one process. One that waits
// drives the queue itself, so goroutines switch only if another has an event meanwhile.
type engine struct {
	start time.Time
	now   time.Duration // since start
	queue []event       // a heap
	seq   uint64
	root  process
	live  map[*process]bool // started and not finished
	last  bool              // the run is over; remaining processes are only stopped
	ended chan struct{}     // receives when one of them has stopped
}

type event struct {
	at   time.Duration
	seq  uint64 // order of scheduling, for events at the same time
	run  func()
	proc *process
}

type process struct {
	e      *engine
	body   func(*process)
	baton  chan struct{}
	begun  bool
	killed bool
}

func newEngine(start time.Time) *engine {
	e := &engine{start: start.UTC(), live: map[*process]bool{}, ended: make(chan struct{})}
	e.root = process{e: e, baton: make(chan struct{}), begun: true}
	return e
}

// Now returns the account's current time.
func (e *engine) Now() time.Time { return e.start.Add(e.now) }

// at schedules a function, which must not wait, for a time, or after the current event if that has passed.
func (e *engine) at(t time.Time, run func()) { e.in(t.Sub(e.Now()), run) }

func (e *engine) in(d time.Duration, run func()) {
	e.push(event{at: e.now + max(d, 0), run: run})
}

// every calls a function after each interval, for as long as it returns true. The function must not wait.
func (e *engine) every(interval time.Duration, goesOn func() bool) {
	e.in(interval, func() {
		if goesOn() {
			e.every(interval, goesOn)
		}
	})
}

func (e *engine) spawn(d time.Duration, body func(*process)) {
	p := &process{e: e, body: body, baton: make(chan struct{})}
	e.push(event{at: e.now + max(d, 0), proc: p})
}

func (e *engine) until(t time.Time) {
	e.push(event{at: max(t.Sub(e.start), e.now), proc: &e.root})
	e.drive(&e.root)
}

// wait lets time pass for the process. It does not return if the process is killed meanwhile.
func (p *process) wait(d time.Duration) {
	if p.killed {
		runtime.Goexit() // deferred functions must not continue either
	}
	p.e.push(event{at: p.e.now + max(d, 0), proc: p})
	p.e.drive(p)
	if p.killed {
		runtime.Goexit()
	}
}

// die ends the process from within, as when its execution environment ends.
func (p *process) die() {
	p.killed = true
	runtime.Goexit()
}

// drive runs events until it is the turn of the calling process; with nil, it never is.
func (e *engine) drive(mine *process) {
	for {
		ev := e.pop()
		e.now = ev.at
		switch {
		case ev.proc == nil:
			ev.run()
			continue
		case ev.proc == mine:
			return
		case !ev.proc.begun:
			ev.proc.begun = true
			e.live[ev.proc] = true
			go ev.proc.live()
		default:
			ev.proc.baton <- struct{}{}
		}
		if mine != nil {
			<-mine.baton
		}
		return
	}
}

// live runs a process. When the process ends, normally or not, it drives the queue.
func (p *process) live() {
	defer func() {
		delete(p.e.live, p)
		if p.e.last {
			p.e.ended <- struct{}{}
			return
		}
		p.e.drive(nil)
	}()
	grow()
	p.body(p)
}

// grow makes room for the stack of a check at once: it would grow several times, and be copied each
// time.
//
//go:noinline
func grow() {
	var room [40 << 10]byte
	runtime.KeepAlive(&room)
}

// shutdown stops the processes that still wait when the run is over.
func (e *engine) shutdown() {
	e.last = true
	for len(e.live) > 0 {
		for p := range e.live {
			p.killed = true
			p.baton <- struct{}{}
			<-e.ended
			break
		}
	}
}

func (ev event) before(other event) bool {
	return ev.at < other.at || ev.at == other.at && ev.seq < other.seq
}

func (e *engine) push(ev event) {
	e.seq++
	ev.seq = e.seq
	q := append(e.queue, ev)
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q[i].before(q[parent]) {
			break
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
	e.queue = q
}

// pop removes and returns the next event. The queue is never empty: the root waits in it.
func (e *engine) pop() event {
	q := e.queue
	first, last := q[0], len(q)-1
	q[0], q[last] = q[last], event{}
	q = q[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].before(q[child]) {
			child++
		}
		if !q[child].before(q[i]) {
			break
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
	e.queue = q
	return first
}

// virtual is a context that expires by the account's clock.
type virtual struct {
	context.Context
	e  *engine
	at time.Duration // when it expires
}

// Err returns DeadlineExceeded once its time is over.
func (c *virtual) Err() error {
	if c.e.now >= c.at {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

const endless = time.Duration(1<<63 - 1) // the deadline of a context without one

type virtualKey struct{}

// Value returns the context itself for virtualKey, so that derived contexts know its deadline.
func (c *virtual) Value(key any) any {
	if _, ok := key.(virtualKey); ok {
		return c
	}
	return c.Context.Value(key)
}

type virtualClock struct{ e *engine }

// WithTimeout implements deadline.Clock.
func (k virtualClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	at := min(k.e.now+d, ends(ctx)) // read before the wrapper hides that the context may have been detached from another
	ctx, cancel := context.WithCancel(ctx)
	return &virtual{ctx, k.e, at}, cancel
}

func ends(ctx context.Context) time.Duration {
	c, ok := ctx.Value(virtualKey{}).(*virtual)
	if !ok || ctx.Done() == nil && c.Done() != nil { // detached from it
		return endless
	}
	return c.at
}

func (v *env) context() context.Context {
	return deadline.WithClock(context.Background(), virtualClock{v.a.engine})
}
