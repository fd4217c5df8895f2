package plan

import (
	"fmt"

	"rollcall/shared/roll"
)

// outside are the decisive causes that lie outside of the instance: each breaks it by
// itself, so it is enough if one of them is shared, whichever is told first. What only
// shows the trouble counts where nothing explains it.
func outside(causes []roll.Cause) (out []roll.Cause) {
	first := true
	for _, c := range causes {
		if c.Confidence != roll.Decisive {
			continue
		}
		if c.Subject != "" && (first || !c.Symptom) {
			out = append(out, c)
		}
		first = false
	}
	return out
}

// common is a cause in what it lies in: instances that have it have it in common.
type common struct{ code, subject string }

// stratum are findings of one kind in one group, of which some may stand for all: not
// each of them is looked into.
type stratum struct {
	group roll.Group
	kind  roll.Kind
}

// shares tells who has which cause.
type shares struct {
	instances map[common]map[roll.InstanceID]bool
	found     map[stratum]map[string]common // by code, that of the most urgent finding
}

func sharesOf(findings []roll.Finding, why map[roll.FindingKey]roll.Diagnosis) shares {
	s := shares{instances: map[common]map[roll.InstanceID]bool{}, found: map[stratum]map[string]common{}}
	for _, f := range findings {
		causes := why[f.Key()].Causes
		for _, c := range causes {
			if c.Confidence == roll.Decisive && c.Subject != "" {
				s.has(common{c.Code, c.Subject}, f.Instance)
			}
		}
		if f.Group == roll.GroupNone {
			continue // instances of no group have nothing to do with each other
		}
		for _, c := range outside(causes) {
			s.find(stratum{f.Group, f.Kind}, common{c.Code, c.Subject})
		}
	}
	return s
}

func (s shares) has(c common, id roll.InstanceID) {
	if s.instances[c] == nil {
		s.instances[c] = map[roll.InstanceID]bool{}
	}
	s.instances[c][id] = true
}

func (s shares) find(in stratum, c common) {
	if s.found[in] == nil {
		s.found[in] = map[string]common{}
	}
	if _, ok := s.found[in][c.code]; !ok {
		s.found[in][c.code] = c
	}
}

// object tells whether others have a decisive cause of the finding too: a replacement
// would have it as well. So it is where a cause could not be looked for in this instance,
// of which only a sample is, and another one of its group has it.
func (s shares) object(f roll.Finding, why roll.Diagnosis) (string, bool) {
	for _, c := range outside(why.Causes) {
		if n := len(s.instances[common{c.Code, c.Subject}]); n > 1 {
			return fmt.Sprintf("%d instances have the cause %s in common (%s): a replacement would have it too", n, c.Code, c.Subject), true
		}
	}
	for _, open := range why.NotChecked {
		if c, ok := s.found[stratum{f.Group, f.Kind}][open.Code]; ok {
			return fmt.Sprintf("others of %s have the cause %s (%s), which was not looked for in %s: most likely it has it too, and a replacement would", f.Group, c.code, c.subject, f.Instance), true
		}
	}
	return "", false
}
