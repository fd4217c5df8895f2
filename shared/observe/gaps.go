package observe

import (
	"context"
	"errors"
	"slices"
	"strings"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// gap describes a failed call to AWS, or to the Kubernetes API.
func (o *Observer) gap(ctx context.Context, c roll.Cluster, scope roll.Scope, call string, err error) roll.Gap {
	g := roll.Gap{Scope: scope, Call: call, Kind: roll.GapFailed}
	if strings.HasPrefix(call, "kubernetes:") {
		g.Kind, g.Detail = kube.Fault(c, err, o.Principal(ctx))
		return g
	}
	g.Detail = awserr.Describe(err, call, o.Principal(ctx))
	switch {
	case awserr.IsDenied(err):
		g.Kind = roll.GapDenied
	case awserr.IsThrottled(err):
		g.Kind = roll.GapThrottled
	case awserr.IsTimeout(err), errors.Is(err, context.Canceled):
		g.Kind = roll.GapTimeout
	case awserr.IsUnavailable(err):
		g.Kind = roll.GapUnavailable
	}
	return g
}

// addGap adds a gap, unless an earlier call of the check left the same.
func addGap(s *roll.Snapshot, g roll.Gap) {
	if !slices.Contains(s.Gaps, g) {
		s.Gaps = append(s.Gaps, g)
	}
}

func (o *Observer) fail(ctx context.Context, s *roll.Snapshot, scope roll.Scope, call string, err error) {
	addGap(s, o.gap(ctx, s.Cluster, scope, call, err))
}

// unknown adds a gap about a detail for another reason than a failed call.
func unknown(s *roll.Snapshot, call string, kind roll.GapKind, detail string) {
	addGap(s, roll.Gap{Scope: roll.ScopeDetail, Kind: kind, Call: call, Detail: detail})
}

// faults notes the failures of one call that is made repeatedly. The first failure becomes a gap.
// After a missing permission, a throttle or a timeout, which would affect every call, over is set
// and no further call is made.
type faults struct {
	o    *Observer
	s    *roll.Snapshot
	call string
	told bool
	over bool
}

func (f *faults) note(ctx context.Context, err error) {
	g := f.o.gap(ctx, f.s.Cluster, roll.ScopeDetail, f.call, err)
	if !f.told {
		addGap(f.s, g)
	}
	f.told, f.over = true, g.Kind != roll.GapFailed && g.Kind != roll.GapUnavailable
}

// unread notes why something could not be read from the Kubernetes API. For data that was not captured
// it answers No without a note, because whoever acts reads it again.
func (o *Observer) unread(ctx context.Context, s *roll.Snapshot, call string, err error) roll.Answer {
	if errors.Is(err, kube.ErrNotCaptured) {
		return roll.No
	}
	o.fail(ctx, s, roll.ScopeDetail, call, err)
	return roll.Unreadable
}

// unlaunchedGap reports what could not be read of launches. A bundle without an answer shows nothing
// about them, which is not a fault of the bundle.
func (o *Observer) unlaunchedGap(ctx context.Context, s *roll.Snapshot, call string, err error) roll.Answer {
	var missing *awserr.NotCaptured
	if !errors.As(err, &missing) && !errors.Is(err, kube.ErrNotCaptured) {
		o.fail(ctx, s, roll.ScopeDetail, call, err)
	}
	return roll.Unreadable
}

// meetsAll reports whether the same call for any other object would fail too.
func meetsAll(c roll.Cluster, err error) bool {
	kind, _ := kube.Fault(c, err, "")
	return slices.Contains([]roll.GapKind{roll.GapDenied, roll.GapThrottled, roll.GapUnauthorized, roll.GapClusterUnreachable, roll.GapTimeout}, kind)
}
