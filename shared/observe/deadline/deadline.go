// Package deadline bounds work in time, by the clock of whoever asked for it: the real
// one, unless the context carries another. Where time is simulated, a call that hangs for
// half a minute takes no real time, and the bound must be reached all the same.
package deadline

import (
	"context"
	"time"
)

// Clock makes contexts that end when its own time says so.
type Clock interface {
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

type key struct{}

// WithClock returns a context whose deadlines, and those of the contexts made from it, are
// by that clock.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// In returns a context that ends after that time, or with the one that it is made from.
func In(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c, ok := ctx.Value(key{}).(Clock); ok {
		return c.WithTimeout(ctx, d)
	}
	return context.WithTimeout(ctx, d)
}
