package diagnose

import (
	"rollcall/shared/redact"
	"rollcall/shared/roll"
)

// scrub takes out of a diagnosis what looks like a secret. Causes go into notices, tables,
// events and files, and quote what agents, controllers and people wrote: messages of
// conditions and of AWS, flags of user data. User data and console output as a whole have
// their secrets taken out where they are read; this is for all that is quoted of the rest.
func scrub(d *roll.Diagnosis) {
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Summary, c.Fix = clean(c.Summary), clean(c.Fix)
		for j := range c.Evidence {
			e := &c.Evidence[j]
			e.Observed, e.Expected = named(e.Field, e.Observed), named(e.Field, e.Expected)
			e.Field = clean(e.Field)
		}
	}
	for i := range d.NotChecked {
		d.NotChecked[i].Reason = clean(d.NotChecked[i].Reason)
	}
}

func clean(s string) string {
	out, _ := redact.Text(s)
	return out
}

// named is a value without its secrets that has a name. Under one that announces a secret
// nothing of the value is kept.
func named(name, value string) string {
	out, alone := redact.Text(value)
	_, before := redact.Text(name)
	if _, hits := redact.Text(name + "=" + value); len(hits) > len(alone)+len(before) {
		return "[redacted: " + string(hits[len(hits)-1].Kind) + "]"
	}
	return out
}
