package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Gist returns the explanation in one paragraph, "" if nothing is explained. It says what is
// wrong with the first finding of which a root is proven, or else with the first, for how long, why as far as that is known, what to run first,
// and how many others share the cause.
func (c Check) Gist() string {
	why, run, rest := c.gist()
	if run != "" {
		why += " Run `" + run + "`."
	}
	return why + rest
}

// gist returns the paragraph in parts: what is wrong and why, what to run, and who else has
// it. The command is separate because it must not be wrapped.
func (c Check) gist() (told, run, rest string) {
	explained := c.Explained()
	if len(explained) == 0 {
		return "", "", ""
	}
	lead := max(0, slices.IndexFunc(explained, func(f roll.Finding) bool {
		causes := c.Diagnoses[f.Key()].Causes
		return len(causes) > 0 && causes[0].Confidence == roll.Decisive && !causes[0].Symptom
	}))
	f := explained[lead]
	d := c.Diagnoses[f.Key()]
	s := c.state(f)
	switch {
	case len(d.Causes) > 0:
	case f.Kind == roll.Ghost, f.Kind == roll.Scheduled: // the finding says why EC2 took the instance, or will
		return s + ": " + f.Summary + ".", "", others(len(explained)-1, "is found as well", "are found as well")
	default:
		return s + ". Why is not known: nothing that was checked explains it.", "", others(len(explained)-1, "is found as well", "are found as well")
	}
	first := d.Causes[0]
	why := "because"
	if first.Confidence != roll.Decisive {
		why = "perhaps because"
	}
	s += ", " + why + " " + strings.TrimSuffix(first.Summary, ".") + "."
	if len(first.NotChecked) > 0 {
		s += " That only says how it shows: what would explain it was not all checked (" + few(first.NotChecked, 3) + ")."
	}
	same := 0
	for i, other := range explained {
		if o := c.Diagnoses[other.Key()].Causes; i != lead && len(o) > 0 && o[0].Code == first.Code && o[0].Subject == first.Subject {
			same++
		}
	}
	return s, command(first.Fix), others(same, "shares it", "share it") + others(len(explained)-1-same, "has another cause, or none that is known", "have other causes, or none that is known")
}

// state says what is wrong with a finding, and for how long.
func (c Check) state(f roll.Finding) string {
	what := kindTable[f.Kind].state
	if what == "" {
		what = "has been " + kindInWords(f)
	}
	return fmt.Sprintf("%s %s for %s", f.Instance, strings.ReplaceAll(what, "CLUSTER", c.Snapshot.Cluster.ID.Name), Age(c.Snapshot.At.Sub(f.Since)))
}

// command returns the first command of a fix, without comments.
func command(fix string) string {
	for line := range strings.Lines(fix) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "   #")
		if line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

func others(n int, one, several string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d %s.", n, roll.Plural(n, "other "+one, "others "+several))
}
