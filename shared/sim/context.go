package sim

import (
	"context"
	"time"

	"rollcall/shared/observe/deadline"
)

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

// endless is the deadline of a context without one.
const endless = time.Duration(1<<63 - 1)

type virtualKey struct{}

// Value returns the context itself for virtualKey, so that derived contexts know its deadline.
func (c *virtual) Value(key any) any {
	if _, ok := key.(virtualKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// virtualClock makes virtual contexts.
type virtualClock struct{ e *engine }

// WithTimeout implements deadline.Clock.
func (k virtualClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	at := min(k.e.now+d, ends(ctx)) // read before the wrapper hides that the context may have been detached from another
	ctx, cancel := context.WithCancel(ctx)
	return &virtual{ctx, k.e, at}, cancel
}

// ends returns when a context expires by the account's clock.
func ends(ctx context.Context) time.Duration {
	c, ok := ctx.Value(virtualKey{}).(*virtual)
	if !ok || ctx.Done() == nil && c.Done() != nil { // detached from it
		return endless
	}
	return c.at
}

// context returns the context of an invocation.
func (v *env) context() context.Context {
	return deadline.WithClock(context.Background(), virtualClock{v.a.engine})
}
