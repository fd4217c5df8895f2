package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// weather is the reliability of the account's APIs: slightly unreliable throughout, and much worse
// during some faults.
type weather struct {
	spells []spell
}

// spell is a fault of the scenario that makes calls fail.
type spell struct {
	fault    int // its ID: its decisions stay the same when another fault is left out
	from, to time.Time
	what     FaultKind
	about    string   // a cluster's name, or "" for all
	share    float64  // share of the calls that fail
	met      []string // the forms in which it has affected something
	form     string   // the fault's value: see alsoDenied and onlyMet
}

// lasts reports whether the spell lasts at a time.
func (s *spell) lasts(now time.Time) bool { return !now.Before(s.from) && now.Before(s.to) }

// stormy reports whether a spell lasts at a time.
func (w *weather) stormy(now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.lasts(now) })
}

// stormySince reports whether a spell lasted at any moment between two times.
func (w *weather) stormySince(since, now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.from.Before(now) && s.to.After(since) })
}

// has reports whether a spell of the kind and form lasts at a time.
func (w *weather) has(what FaultKind, form string, now time.Time) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool { return s.what == what && s.form == form && s.lasts(now) })
}

// meets reports whether the spell affects that cluster.
func (s *spell) meets(about string) bool { return s.about == "" || s.about == about }

// hits reports whether the spell affects calls of that name by a function.
func (s *spell) hits(fn functionName, name string) bool {
	if only := onlyMet[s.form]; only != nil {
		return only(name) && (s.form != deniedRemediate || fn == remediator)
	}
	t, also := s.what.faultType(), alsoDenied[s.form]
	return t.answer != nil && (t.calls != nil && t.calls(name) || also != nil && also(name))
}

// kills reports whether the function that makes a call is killed before it, by a form of FaultKills.
func (w *weather) kills(now time.Time, name string) bool {
	return slices.ContainsFunc(w.spells, func(s spell) bool {
		return s.what == FaultKills && s.lasts(now) && alsoDenied[s.form] != nil && alsoDenied[s.form](name)
	})
}

// The faults that a call may meet.
const (
	faultNone     = ""
	faultThrottle = "throttled"
	faultServer   = "server error"
	faultHang     = "hangs"
	faultLost     = "answer lost"
	faultDenied   = "denied"
	// faultUnconnected: nobody answers the attempt to connect.
	faultUnconnected = "not connected"
)

// over returns the fault that a function's call meets at a time.
func (w *weather) over(now time.Time, fn functionName, name string, kind access, about string, d dice) string {
	for i := range w.spells {
		s := &w.spells[i]
		if !s.lasts(now) || !s.meets(about) || !s.hits(fn, name) {
			continue
		}
		if !d.nth(s.fault).chance(s.share) {
			continue
		}
		if what := s.what.faultType().answer(kind, d.nth(s.fault).of("what")); what != faultNone {
			return what
		}
	}
	return faultNone
}

// alsoDenied holds the forms of FaultDenied that deny further calls: the acts, the storing of evidence,
// or what an act depends on. FaultKills kills functions before these calls.
var alsoDenied = map[string]func(call string) bool{
	"acts":       actsOnMachines,
	"evidence":   callsOf("s3:PutObject"),
	"attributes": callsOf("ec2:DescribeInstanceAttribute"),
	"status":     callsOf("ec2:DescribeInstanceStatus"),
	"pods":       callsOf("kubernetes:list pods"),
}

// onlyMet holds the forms of faults that only these calls meet.
var onlyMet = map[string]func(call string) bool{
	deniedActs:      actsOnMachines,
	"instances":     callsOf("ec2:DescribeInstances"),
	"claims":        callsOf("kubernetes:list nodeclaims"),
	"leases":        callsOf("kubernetes:get leases"),
	"untagging":     callsOf("ec2:DeleteTags"),
	deniedRemediate: callsOf("ec2:DescribeInstanceAttribute"),
}

// The forms in which the acts alone meet a fault, or only what remediate reads before an act.
const (
	deniedActs      = "only-acts"
	deniedRemediate = "remediate"
)

var actsOnMachines = callsOf("ec2:TerminateInstances", "ec2:RebootInstances")

// errOf returns the error of a call that meets a fault.
func errOf(fault, name string) error {
	if strings.HasPrefix(name, "kubernetes:") {
		return kubernetesFault(fault)
	}
	return awsFault(fault, name)
}

// errTimeout returns the error of a call without an answer.
func errTimeout(name string) error {
	return fmt.Errorf("%s: no answer: %w", name, context.DeadlineExceeded)
}
