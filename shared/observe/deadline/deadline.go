// Package deadline bounds the duration of work by the real clock, or by the clock in the context.
// In simulated time, a call that hangs for half a minute takes no real time, and must still reach
// its deadline.
package deadline

import (
	"context"
	"time"
)

// Clock creates contexts that end by its own time.
type Clock interface {
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

type key struct{}

// WithClock returns a context whose deadlines, and those of contexts derived from it, follow that
// clock.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// In returns a context that ends after that time, or with its parent.
func In(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c, ok := ctx.Value(key{}).(Clock); ok {
		return c.WithTimeout(ctx, d)
	}
	return context.WithTimeout(ctx, d)
}
