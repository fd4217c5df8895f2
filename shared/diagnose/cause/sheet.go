package cause

import (
	"cmp"

	"rollcall/shared/roll"
)

// Sheet holds the verdicts about one finding. Of several verdicts about one code the strongest
// stays: found, then not checked, then ruled out. So a code that one analyzer could not check
// is never ruled out because another analyzer saw a part. Of equal verdicts the first stays.
type Sheet struct{ verdicts []Verdict } // in the order of the catalogue; nil before the first

// Note records a verdict about a code of the catalogue.
func (s *Sheet) Note(code Code, v Verdict) {
	if s.verdicts == nil {
		s.verdicts = make([]Verdict, len(codes))
	}
	if i, ok := rank[code]; ok && v.weight() > s.verdicts[i].weight() {
		s.verdicts[i] = v
	}
}

// about returns the verdict about a code, the zero value if there is none.
func (s *Sheet) about(code Code) Verdict {
	if i, ok := rank[code]; ok && s.verdicts != nil {
		return s.verdicts[i]
	}
	return Verdict{}
}

// Found records a cause.
func (s *Sheet) Found(c roll.Cause) { s.Note(c.Code, Verdict{cause: &c}) }

// RuledOut records that the causes were checked and are not present.
func (s *Sheet) RuledOut(codes ...Code) {
	for _, c := range codes {
		s.Note(c, RuledOut)
	}
}

// NotChecked records that the causes could not be checked. The reason names the missing read,
// as evidence.Fact.Gap returns it.
func (s *Sheet) NotChecked(reason string, codes ...Code) {
	for _, c := range codes {
		s.Note(c, NotChecked(reason))
	}
}

// Noted reports whether the sheet has a verdict about the code.
func (s *Sheet) Noted(c Code) bool { return s.about(c).weight() > 0 }

// Decided reports whether the cause was found or ruled out.
func (s *Sheet) Decided(c Code) bool {
	v := s.about(c)
	return v.cause != nil || v.ruledOut
}

// Causes returns the causes found, in the order of a report, with their entries in the
// catalogue. A symptom without a proven root names the possible roots that were not checked.
func (s *Sheet) Causes() []roll.Cause {
	out := []roll.Cause{}
	for i, v := range s.verdicts {
		if code := codes[i]; v.cause != nil {
			c := *v.cause
			c.Code, c.Cure, c.Symptom = code, cmp.Or(c.Cure, CureOf(code)), Symptom(code) && code != DuplicateLaunch // which shows nowhere else
			out = append(out, c)
		}
	}
	for i := range out {
		if explained(out[i].Code, out) {
			continue
		}
		for _, open := range s.Open() {
			if Explains(open.Code, out[i].Code) {
				out[i].NotChecked = append(out[i].NotChecked, open.Code)
			}
		}
	}
	Order(out)
	return out
}

// Clear returns the codes that were ruled out, in the order of the catalogue.
func (s *Sheet) Clear() (out []Code) {
	for i, v := range s.verdicts {
		if v.ruledOut {
			out = append(out, codes[i])
		}
	}
	return out
}

// Open returns the codes that could not be checked, in the order of the catalogue.
func (s *Sheet) Open() (out []roll.NotChecked) {
	for i, v := range s.verdicts {
		if v.reason != "" {
			out = append(out, roll.NotChecked{Code: codes[i], Reason: v.reason})
		}
	}
	return out
}

// Share notes on each sheet what the others of the same instance say about the roots of its
// symptoms. Each kind of finding has its own checks: memory that ran out before a node went
// silent is also why EC2's status check fails.
func Share(sheets []*Sheet) {
	type note struct {
		on   *Sheet
		code Code
		v    Verdict
	}
	var notes []note
	for _, s := range sheets {
		roots := s.roots()
		if len(roots) == 0 {
			continue
		}
		for _, other := range sheets {
			for i, v := range other.verdicts {
				if code := codes[i]; roots[code] {
					notes = append(notes, note{s, code, v})
				}
			}
		}
	}
	for _, n := range notes {
		n.on.Note(n.code, n.v)
	}
}

// roots returns the codes that explain symptoms that were found, without symptoms.
func (s *Sheet) roots() map[Code]bool {
	var roots map[Code]bool
	for i, v := range s.verdicts {
		if v.cause == nil {
			continue
		}
		for _, root := range explainedBy[codes[i]] {
			if Symptom(root) {
				continue
			}
			if roots == nil {
				roots = map[Code]bool{}
			}
			roots[root] = true
		}
	}
	return roots
}
