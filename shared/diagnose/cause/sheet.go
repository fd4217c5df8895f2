package cause

import (
	"slices"

	"rollcall/shared/roll"
)

// Sheet is on what analyzers note their verdicts about one finding. Of several verdicts
// about one code the strongest stays: found, then not checked, then ruled out, so that
// what one analyzer could not see is never a pass because another saw a part.
type Sheet struct {
	found     map[Code]roll.Cause
	unchecked map[Code]string
	ruledOut  map[Code]bool
}

// Found notes a cause. A decisive verdict replaces a suggestive one of the same code.
func (s *Sheet) Found(c roll.Cause) {
	if s.found == nil {
		s.found = map[Code]roll.Cause{}
	}
	if known, ok := s.found[c.Code]; ok && stronger(known, c) {
		return
	}
	s.found[c.Code] = c
}

func stronger(a, b roll.Cause) bool { return place(a) <= place(b) }

// RuledOut notes that the causes were looked for and are certainly not there.
func (s *Sheet) RuledOut(codes ...Code) {
	if s.ruledOut == nil {
		s.ruledOut = map[Code]bool{}
	}
	for _, c := range codes {
		s.ruledOut[c] = true
	}
}

// NotChecked notes that the causes could not be looked for. The reason names the read
// that is missing; evidence.Fact.Gap gives it.
func (s *Sheet) NotChecked(reason string, codes ...Code) {
	if s.unchecked == nil {
		s.unchecked = map[Code]string{}
	}
	for _, c := range codes {
		if _, ok := s.unchecked[c]; !ok {
			s.unchecked[c] = reason
		}
	}
}

// Causes are the causes that were found, in the order of the report, with what the
// catalogue knows of each.
func (s *Sheet) Causes() []roll.Cause {
	out := make([]roll.Cause, 0, len(s.found))
	for _, code := range Codes() {
		if c, ok := s.found[code]; ok {
			c.Cure, c.Symptom = CureOf(code), Symptom(code) && code != DuplicateLaunch // which shows nowhere else
			out = append(out, c)
		}
	}
	Order(out)
	return out
}

// Clear are the codes that were ruled out, in the order of the catalogue.
func (s *Sheet) Clear() []Code {
	return slices.DeleteFunc(Codes(), func(c Code) bool {
		_, found := s.found[c]
		_, unchecked := s.unchecked[c]
		return found || unchecked || !s.ruledOut[c]
	})
}

// Open are the codes that could not be checked, in the order of the catalogue.
func (s *Sheet) Open() []roll.NotChecked {
	var out []roll.NotChecked
	for _, code := range Codes() {
		if reason, ok := s.unchecked[code]; ok {
			if _, found := s.found[code]; !found {
				out = append(out, roll.NotChecked{Code: code, Reason: reason})
			}
		}
	}
	return out
}
