package diagnose

import (
	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll"
)

// scrub removes secrets from a diagnosis. Causes appear in notices, tables, events and files, and
// quote agents, controllers and people: messages of conditions and of AWS, flags in user data.
// Whole user data and console output are redacted when they are read; this covers the other quotes.
func scrub(d *roll.Diagnosis) {
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Summary, c.Fix, c.Unsettled = redact.Text(c.Summary), redact.Text(c.Fix), redact.Text(c.Unsettled)
		for j := range c.Evidence {
			e := &c.Evidence[j]
			e.Observed, e.Expected = redact.Named(e.Field, e.Observed), redact.Named(e.Field, e.Expected)
			e.Field = redact.Text(e.Field)
		}
	}
	for i := range d.NotChecked {
		d.NotChecked[i].Reason = redact.Text(d.NotChecked[i].Reason)
	}
}
