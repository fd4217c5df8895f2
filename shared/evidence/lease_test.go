package evidence_test

import (
	"testing"
	"time"

	"rollcall/shared/evidence"
	"rollcall/tests/harness/expect"
)

func TestWhenALeaseIsFreshAndWhenStale(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		age, duration time.Duration
		fresh, stale  bool
	}{
		{-time.Second, 0, true, false}, // read after the check began
		{0, 40 * time.Second, true, false},
		{40 * time.Second, 0, true, false},
		{40*time.Second + 1, 40 * time.Second, false, false},
		{90 * time.Second, 40 * time.Second, false, false},
		{90*time.Second + 1, 0, false, true},
		{5 * time.Minute, 5 * time.Minute, true, false},
		{6 * time.Minute, 5 * time.Minute, false, true},
	}
	for _, tt := range tests {
		l := evidence.Lease{Renewed: at.Add(-tt.age), Duration: tt.duration}
		expect.Equal(t, l.Fresh(at), tt.fresh, "renewed %s ago, good for %s: fresh", tt.age, tt.duration)
		expect.Equal(t, l.Stale(at), tt.stale, "renewed %s ago, good for %s: stale", tt.age, tt.duration)
	}
}
