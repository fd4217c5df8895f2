package diagnose

import (
	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll"
)

// scrubber removes secrets from diagnoses. Causes appear in notices, tables, events and files,
// and quote agents, controllers and people: messages of conditions and of AWS, flags in user
// data. Whole user data and console output are redacted when they are read; the scrubber covers
// the other quotes.
//
// The findings of a check share many texts; a scrubber processes each text once.
type scrubber struct {
	texts  map[string]string
	values map[[2]string]string // by name and value
}

func newScrubber() *scrubber {
	return &scrubber{texts: map[string]string{}, values: map[[2]string]string{}}
}

func (s *scrubber) scrub(d *roll.Diagnosis) {
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Summary, c.Fix, c.Unsettled = s.clean(c.Summary), s.clean(c.Fix), s.clean(c.Unsettled)
		for j := range c.Evidence {
			e := &c.Evidence[j]
			e.Observed, e.Expected = s.named(e.Field, e.Observed), s.named(e.Field, e.Expected)
			e.Field = s.clean(e.Field)
		}
	}
	for i := range d.NotChecked {
		d.NotChecked[i].Reason = s.clean(d.NotChecked[i].Reason)
	}
}

func (s *scrubber) clean(text string) string {
	out, known := s.texts[text]
	if !known {
		out, _ = redact.Text(text)
		s.texts[text] = out
	}
	return out
}

func (s *scrubber) named(name, value string) string {
	out, known := s.values[[2]string{name, value}]
	if !known {
		out = named(name, value)
		s.values[[2]string{name, value}] = out
	}
	return out
}

// named returns a named value without its secrets. A name that announces a secret drops the
// value.
func named(name, value string) string {
	out, alone := redact.Text(value)
	_, before := redact.Text(name)
	if _, hits := redact.Text(name + "=" + value); len(hits) > len(alone)+len(before) {
		return "[redacted: " + string(hits[len(hits)-1].Kind) + "]"
	}
	return out
}
