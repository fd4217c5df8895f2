package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWhatWasNotReadForAReasonThatPassesIsNotReadYet(t *testing.T) {
	const call = roll.CallNodegroup
	gap := func(call string, kind roll.GapKind) roll.Gap {
		return roll.Gap{Scope: roll.ScopeDetail, Kind: kind, Call: call}
	}
	for name, tt := range map[string]struct {
		gaps []roll.Gap
		want Reason
	}{
		"nothing says why":                {nil, OwnerUnknown},
		"throttled":                       {[]roll.Gap{gap(call, roll.GapThrottled)}, NotReadYet},
		"out of time":                     {[]roll.Gap{gap(call, roll.GapTimeout)}, NotReadYet},
		"the service failed":              {[]roll.Gap{gap(call, roll.GapUnavailable)}, NotReadYet},
		"the API server does not answer":  {[]roll.Gap{gap(call, roll.GapClusterUnreachable)}, NotReadYet},
		"a permission is missing":         {[]roll.Gap{gap(call, roll.GapDenied)}, OwnerUnknown},
		"there is no such thing":          {[]roll.Gap{gap(call, roll.GapFailed)}, OwnerUnknown},
		"the token is refused":            {[]roll.Gap{gap(call, roll.GapUnauthorized)}, OwnerUnknown},
		"another call was throttled":      {[]roll.Gap{gap(roll.CallScalingActivities, roll.GapThrottled)}, OwnerUnknown},
		"throttled once, denied once":     {[]roll.Gap{gap(call, roll.GapThrottled), gap(call, roll.GapDenied)}, OwnerUnknown},
		"throttled, another call denied":  {[]roll.Gap{gap(roll.CallScalingActivities, roll.GapDenied), gap(call, roll.GapThrottled)}, NotReadYet},
		"throttled in two of many rounds": {[]roll.Gap{gap(call, roll.GapThrottled), gap(call, roll.GapThrottled)}, NotReadYet},
	} {
		got := unread(&roll.Snapshot{Gaps: tt.gaps}, OwnerUnknown, call, "it could not be read")
		expect.That(t, got.Reason == tt.want && strings.HasPrefix(got.Detail, "it could not be read"), "%s: %+v; want %s", name, got, tt.want)
	}
}

// A service that is throttled in every other check makes no news: neither the throttling, nor what
// was reported before it.
func TestABusyServiceMakesNoNews(t *testing.T) {
	const attribute = roll.CallInstanceAttribute
	protection := func(a roll.Answer, gaps ...roll.Gap) func(*world) {
		return func(w *world) {
			w.detail(func(d *roll.Detail) { d.TerminationProtected = a })
			w.snapshot.Gaps = gaps
		}
	}
	gap := func(kind roll.GapKind) roll.Gap {
		return roll.Gap{Scope: roll.ScopeDetail, Kind: kind, Call: attribute}
	}
	free, protected := protection(roll.No), protection(roll.Yes)
	busy, denied := protection(roll.Unreadable, gap(roll.GapThrottled)), protection(roll.Unreadable, gap(roll.GapDenied))
	held := func(w *world) { w.snapshot.Instances[0].Hold = "true" }
	released := func(w *world) { w.snapshot.Instances[0].Hold = "" }
	for name, tt := range map[string]struct {
		checks []func(*world)
		want   []string // the statement about the instance, by check
	}{
		"busy every other time":          {[]func(*world){free, busy, free, busy, free}, []string{"0 ordered"}},
		"busy at first":                  {[]func(*world){busy, free, busy, free, busy}, []string{"0 overdue", "1 ordered"}},
		"busy all the time":              {[]func(*world){busy, busy, busy}, []string{"0 overdue"}},
		"busy while it is protected":     {[]func(*world){protected, busy, protected, busy, protected}, []string{"0 held:TerminationProtected"}},
		"busy before it is protected":    {[]func(*world){free, busy, protected, busy, free}, []string{"0 ordered", "2 held:TerminationProtected", "4 ordered"}},
		"a permission is missing":        {[]func(*world){denied, denied, busy, denied}, []string{"0 held:ProtectionUnknown"}},
		"a person holds it and lets go":  {[]func(*world){free, held, busy, released, free}, []string{"0 ordered", "1 held:InstanceHeld", "4 ordered"}},
		"what lasts is said each change": {[]func(*world){free, denied, free}, []string{"0 ordered", "1 held:ProtectionUnknown", "2 ordered"}},
	} {
		w := sick()
		var said []string
		for i, change := range tt.checks {
			change(w)
			_, p := w.make(now.Add(time.Duration(i) * time.Minute))
			for _, n := range p.Notices {
				told := n.Said.Members[instanceID(1)].Told
				what := string(told.Stage)
				if told.Held != "" {
					what = "held:" + told.Held
				}
				if told.Order != "" && told.Order == orderOf(p) {
					what = "ordered"
				}
				said = append(said, fmt.Sprint(i, " ", what))
			}
			w.apply(p)
		}
		expect.That(t, slices.Equal(said, tt.want), "%s: said %q, want %q", name, said, tt.want)
	}
}

// orderOf returns the id of the plan's only order, or a placeholder if there is none.
func orderOf(p Plan) string {
	if len(p.Orders) != 1 {
		return "-"
	}
	return p.Orders[0].ID
}
