package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// weather is how the APIs of the account do: over the whole run a little, and much worse
// while some faults of the scenario last.
type weather struct {
	spells []spell
}

// spell is a fault of the scenario that makes calls fail.
type spell struct {
	fault    int // its ID: what it decides stays as it is when another fault is left out
	from, to time.Time
	what     FaultKind
	about    string   // a cluster, or "" for all
	share    float64  // of the calls
	acts     bool     // it meets the calls that end and reboot machines, whatever else it meets
	met      []string // the forms in which it befell something
}

// lasts reports whether the spell lasts at a time.
func (s *spell) lasts(now time.Time) bool { return !now.Before(s.from) && now.Before(s.to) }

// stormy reports that a spell lasts at a time.
func (w *weather) stormy(now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.lasts(now) })
}

// stormySince reports that a spell lasted at some moment between two times.
func (w *weather) stormySince(since, now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.from.Before(now) && s.to.After(since) })
}

// meets reports whether the spell is about that cluster too.
func (s *spell) meets(about string) bool { return s.about == "" || s.about == about }

// hits reports whether the spell is about calls of that name.
func (s *spell) hits(name string) bool {
	calls := s.what.faultType().calls
	return calls != nil && calls(name) || s.acts && actsOnMachines(name)
}

// callFault is what a call meets.
type callFault struct{ what string }

// What a call may meet.
const (
	faultNone     = ""
	faultThrottle = "throttled"
	faultServer   = "server error"
	faultHang     = "hangs"
	faultLost     = "answer lost"
	faultDenied   = "denied"
)

// over is what a call meets at a time.
func (w *weather) over(now time.Time, name string, kind access, about string, d dice) callFault {
	for i := range w.spells {
		s := &w.spells[i]
		if !s.lasts(now) || !s.meets(about) || !s.hits(name) {
			continue
		}
		if !d.nth(s.fault).chance(s.share) {
			continue
		}
		if what := s.what.faultType().answer(kind, d.nth(s.fault).of("what")); what != faultNone {
			return callFault{what}
		}
	}
	return callFault{}
}

// deniedActs is the form of FaultDenied in which the acts are denied too.
const deniedActs = "acts"

func actsOnMachines(name string) bool {
	return name == "ec2:TerminateInstances" || name == "ec2:RebootInstances"
}

// err is the error that a call gets.
func (f callFault) err(name string) error {
	if strings.HasPrefix(name, "kubernetes:") {
		return kubernetesFault(f.what)
	}
	return awsFault(f.what, name)
}

// errTimeout is the error of a call that got no answer.
func errTimeout(name string) error {
	return fmt.Errorf("%s: no answer: %w", name, context.DeadlineExceeded)
}
