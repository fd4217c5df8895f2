package policy

import (
	"slices"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
)

// CauseKey names the ladder of a kind of finding that has a certain cause.
type CauseKey struct {
	Kind roll.Kind
	Code string // of the catalogue of causes
}

// String is the key as a document has it: "Unknown/MemoryPressurePreceded".
func (k CauseKey) String() string { return string(k.Kind) + "/" + k.Code }

// Ladder is the ladder of a finding with what a diagnosis found: that of its first decisive
// cause that has one, else that of its kind. Where the policy has a failed accelerator
// repaired, the acts are those of the repair.
//
// A cause that has a ladder of its own may be there all the same while it is only
// suggested, could not be looked for, or nobody looked. Then the acts go only as far as
// both ladders have the same ones, each when the later of the two has it. What follows is
// marked with [Step.Doubt]: whichever ladder is right, no act is done that it does not have.
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
	for _, code := range cause.Codes() {
		other, ok := p.CauseLadders[CauseKey{kind, code}]
		if ok && mayBe(code, why) && (first == "" || cause.Before(code, first)) {
			steps = alike(steps, other, code)
		}
	}
	return steps
}

// Steps are the steps of all ladders that a finding may have, whatever its cause is.
func (p Policy) Steps(f roll.Finding) []Step {
	steps := p.Ladders[f.Kind]
	for key, own := range p.CauseLadders {
		if key.Kind == f.Kind {
			steps = slices.Concat(steps, own)
		}
	}
	return p.repaired(f, steps)
}

// mayBe reports whether a cause that was not found for certain may be there all the same.
// A diagnosis that notes nothing of a code did not look for it, since it cannot explain
// the kind; one that notes nothing at all was not made.
func mayBe(code string, why roll.Diagnosis) bool {
	if len(why.Causes)+len(why.RuledOut)+len(why.NotChecked) == 0 {
		return true
	}
	return slices.ContainsFunc(why.NotChecked, func(n roll.NotChecked) bool { return n.Code == code }) ||
		slices.ContainsFunc(why.Causes, func(c roll.Cause) bool { return c.Code == code && c.Confidence != roll.Decisive })
}

// alike is a ladder whose acts go only as far as those of another one, which may hold in
// its place because of the cause with the code.
func alike(steps, other []Step, code string) []Step {
	type act struct {
		Step
		waits time.Duration // up to it, from the end of the tolerance
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
	for i := range out {
		s := &out[i]
		waits += s.After
		switch {
		case !s.Do.Acts():
		case len(acts) == 0 || acts[0].Do != s.Do:
			acts = nil // nor anything behind it
			if s.Doubt == "" {
				s.Doubt = code
			}
		default:
			longer := max(0, acts[0].waits-waits)
			s.After, waits = s.After+longer, waits+longer
			s.Once = s.Once && acts[0].Once
			acts = acts[1:]
		}
	}
	return out
}
