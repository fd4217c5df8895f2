package cause

import (
	"maps"
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

// stronger reports whether a verdict about a code is at least as strong as another about it.
func stronger(a, b roll.Cause) bool {
	return a.Confidence == roll.Decisive || b.Confidence != roll.Decisive
}

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

// Decided reports whether the cause was found or ruled out.
func (s *Sheet) Decided(c Code) bool {
	_, found := s.found[c]
	_, open := s.unchecked[c]
	return found || s.ruledOut[c] && !open
}

// Causes are the causes that were found, in the order of the report, with what the
// catalogue knows of each. A symptom that nothing proven explains names what might, and
// could not be looked for.
func (s *Sheet) Causes() []roll.Cause {
	out := make([]roll.Cause, 0, len(s.found))
	for _, code := range Codes() {
		if c, ok := s.found[code]; ok {
			c.Cure, c.Symptom = CureOf(code), Symptom(code) && code != DuplicateLaunch // which shows nowhere else
			c.NotChecked = s.mayExplain(code)
			out = append(out, c)
		}
	}
	Order(out)
	return out
}

// mayExplain are the codes that explain a symptom and were neither found nor ruled out, for
// want of data; none where a proven root explains it.
func (s *Sheet) mayExplain(symptom Code) (out []Code) {
	if explained(symptom, slices.Collect(maps.Values(s.found))) {
		return nil
	}
	for _, root := range Codes() {
		_, found := s.found[root]
		if _, open := s.unchecked[root]; open && !found && Explains(root, symptom) {
			out = append(out, root)
		}
	}
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
