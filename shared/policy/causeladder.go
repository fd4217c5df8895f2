package policy

import (
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
)

// CauseKey identifies the ladder of a kind of finding with a given cause.
type CauseKey struct {
	Kind roll.Kind
	Code string // code in the catalogue of causes
}

// String returns the key as a document writes it: "Unknown/MemoryPressurePreceded".
func (k CauseKey) String() string { return string(k.Kind) + "/" + k.Code }

// Ladder returns the ladder of a finding with its diagnosis: that of its first decisive cause with
// a ladder of its own, or else that of its kind. If the policy repairs a failed accelerator, the
// acts are those of the repair.
//
// A cause with its own ladder may exist even if it is only suggested, could not be checked, or
// there was no diagnosis. Then acts go only as far as both ladders agree, each at the later of the
// two times. Those after that are marked with [Step.Doubt]. So no act is done that the right ladder
// does not have. An act needs an approval if either ladder asks for one.
func (p Policy) Ladder(f roll.Finding, why roll.Diagnosis) []Step {
	return p.repaired(f, p.causeLadder(f.Kind, why))
}

func (p Policy) causeLadder(kind roll.Kind, why roll.Diagnosis) []Step {
	steps := p.Ladders[kind]
	if len(p.CauseLadders) == 0 {
		return steps
	}
	first := ""
	for _, c := range why.Causes {
		if own, ok := p.CauseLadders[CauseKey{kind, c.Code}]; ok && c.Confidence == roll.Decisive {
			first, steps = c.Code, own
			break
		}
	}
	var others []string
	for key := range p.CauseLadders {
		if key.Kind == kind && mayBe(key.Code, why) && (first == "" || cause.Before(key.Code, first)) {
			others = append(others, key.Code)
		}
	}
	slices.SortFunc(others, cause.Compare)
	for _, code := range others {
		steps = alike(steps, p.CauseLadders[CauseKey{kind, code}], code)
	}
	return steps
}

// Steps returns the steps of all ladders that a finding may have, whatever its cause is.
func (p Policy) Steps(f roll.Finding) []Step {
	steps := p.Ladders[f.Kind]
	for key, own := range p.CauseLadders {
		if key.Kind == f.Kind {
			steps = slices.Concat(steps, own)
		}
	}
	return p.repaired(f, steps)
}

// StopsInstance reports whether a ladder that a finding may have reboots or terminates its instance.
func (p Policy) StopsInstance(f roll.Finding) bool {
	return slices.ContainsFunc(p.Steps(f), func(s Step) bool { return s.Do == DoReboot || s.Do == DoTerminate })
}

// mayBe reports whether a cause may exist that was not found for certain. A diagnosis that does not
// mention a code did not check it, since it cannot explain the kind. A diagnosis that mentions
// nothing was not made.
func mayBe(code string, why roll.Diagnosis) bool {
	if len(why.Causes)+len(why.RuledOut)+len(why.NotChecked) == 0 {
		return true
	}
	return slices.ContainsFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == code }) ||
		slices.ContainsFunc(why.Causes, func(c roll.Cause) bool { return c.Code == code && c.Confidence != roll.Decisive })
}

// alike returns a ladder with Doubt set from the first act that another ladder does not share. The
// other may apply instead because of the cause with the code.
func alike(steps, other []Step, code string) []Step {
	type act struct {
		Step
		waits time.Duration // up to the step, from the end of the tolerance
	}
	var acts []act
	var waits time.Duration
	for _, s := range other {
		if waits += s.After; s.Do.Acts() {
			acts = append(acts, act{s, waits})
		}
	}
	out := slices.Clone(steps)
	waits = 0
	rung, last := 0, [2]int{}
	for i := range out {
		s := &out[i]
		waits += s.After
		switch {
		case !s.Do.Acts():
		case len(acts) == 0 || acts[0].Do != s.Do:
			acts = nil // and neither is anything after it
			if s.Doubt == "" {
				s.Doubt = code
			}
		default:
			longer := max(0, acts[0].waits-waits)
			s.After, waits = s.After+longer, waits+longer
			s.Once = s.Once && acts[0].Once
			if now := [2]int{s.Approve.Rung, acts[0].Approve.Rung}; now != last {
				rung, last = rung+1, now
			}
			if s.Approve = s.Approve.with(acts[0].Approve); s.Approve.Needed() {
				s.Approve.Rung = rung
			}
			acts = acts[1:]
		}
	}
	return out
}
