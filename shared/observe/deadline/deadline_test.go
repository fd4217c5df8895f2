package deadline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rollcall/shared/observe/deadline"
)

// stopped is a clock whose deadlines have all passed.
type stopped struct{ asked []time.Duration }

func (s *stopped) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	s.asked = append(s.asked, d)
	return context.WithDeadlineCause(ctx, time.Unix(0, 0), errors.New("by another clock"))
}

func TestTheRealClockUnlessTheContextCarriesAnother(t *testing.T) {
	real, cancel := deadline.In(t.Context(), time.Hour)
	defer cancel()
	if at, ok := real.Deadline(); !ok || time.Until(at) > time.Hour || time.Until(at) < 59*time.Minute {
		t.Errorf("the deadline is %v, %v", at, ok)
	}
	s := &stopped{}
	ctx, cancel := deadline.In(context.WithoutCancel(deadline.WithClock(t.Context(), s)), 20*time.Second)
	defer cancel()
	if context.Cause(ctx) == nil || context.Cause(ctx).Error() != "by another clock" || len(s.asked) != 1 || s.asked[0] != 20*time.Second {
		t.Errorf("the other clock was asked for %v, and the context ended with %v", s.asked, context.Cause(ctx))
	}
}
