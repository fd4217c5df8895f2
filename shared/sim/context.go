package sim

import (
	"context"
	"time"

	"rollcall/shared/observe/deadline"
)

// virtual is a context that ends by the account's clock.
type virtual struct {
	context.Context
	e  *engine
	at time.Duration // when it ends
}

// Err tells that its time is over.
func (c *virtual) Err() error {
	if c.e.now >= c.at {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// endless is the end of a context that has none.
const endless = time.Duration(1<<63 - 1)

type virtualKey struct{}

// Value finds the context itself, so that those made from it know when it ends.
func (c *virtual) Value(key any) any {
	if _, ok := key.(virtualKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// virtualClock makes such contexts.
type virtualClock struct{ e *engine }

// WithTimeout implements deadline.Clock.
func (k virtualClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	at := min(k.e.now+d, ends(ctx)) // before it is hidden that it may have been made to outlive another
	ctx, cancel := context.WithCancel(ctx)
	return &virtual{ctx, k.e, at}, cancel
}

// ends is when a context ends by the account's clock.
func ends(ctx context.Context) time.Duration {
	c, ok := ctx.Value(virtualKey{}).(*virtual)
	if !ok || ctx.Done() == nil && c.Done() != nil { // made to outlive it
		return endless
	}
	return c.at
}

// context is that of an invocation.
func (v *env) context() context.Context {
	return deadline.WithClock(context.Background(), virtualClock{v.a.engine})
}
