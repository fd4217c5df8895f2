package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Gist returns the explanation in one paragraph, "" if nothing is explained. It says what is
// wrong with the first instance of which a root is proven, or else with the first, for how long,
// why as far as that is known, what to run first, and how many others share the cause.
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
	f := c.rootOf(explained)
	others := c.firstOfOthers(explained, f.Instance)
	d := c.Diagnoses[f.Key()]
	s := c.state(f)
	switch {
	case len(d.Causes) > 0:
	case f.Kind == roll.Ghost, f.Kind == roll.Scheduled, f.Contradiction != "": // the finding says why EC2 took the instance, or will; or what speaks against it
		return s + ": " + f.Summary + ".", "", counted(len(others), "is found as well", "are found as well")
	default:
		return s + ". The cause is unknown: nothing that was checked explains it.", "", counted(len(others), "is found as well", "are found as well")
	}
	first := d.Causes[0]
	why := "because"
	if first.Confidence != roll.Decisive {
		why = "perhaps because"
	}
	s += ", " + why + " " + strings.TrimSuffix(first.Summary, ".") + "."
	if len(first.NotChecked) > 0 {
		s += " That is a symptom, and not everything that could explain it was checked (" + roll.Few(first.NotChecked, 3) + ")."
	}
	same := 0
	for _, causes := range others {
		if slices.ContainsFunc(causes, func(o roll.Cause) bool { return o.Code == first.Code && o.Subject == first.Subject }) {
			same++
		}
	}
	return s, command(first.Fix), counted(same, "shares it", "share it") + counted(len(others)-same, "has another cause, or none that is known", "have other causes, or none that is known")
}

// rootOf returns the finding that says most about why: the first with a proven root; else the first
// with any cause about the same instance as the first of all, for an instance that is due for
// retirement may have run out of memory as well.
func (c Check) rootOf(findings []roll.Finding) roll.Finding {
	some := -1
	for i, f := range findings {
		causes := c.Diagnoses[f.Key()].Causes
		switch {
		case len(causes) == 0:
		case causes[0].Confidence == roll.Decisive && !causes[0].Symptom:
			return f
		case some < 0 && f.Instance == findings[0].Instance:
			some = i
		}
	}
	return findings[max(0, some)]
}

// firstOfOthers returns the first cause of each finding about other instances.
func (c Check) firstOfOthers(findings []roll.Finding, own roll.InstanceID) map[roll.InstanceID][]roll.Cause {
	out := map[roll.InstanceID][]roll.Cause{}
	for _, f := range findings {
		if causes := c.Diagnoses[f.Key()].Causes; f.Instance != own {
			out[f.Instance] = append(out[f.Instance], causes[:min(1, len(causes))]...)
		}
	}
	return out
}

// state says what is wrong with a finding, and for how long.
func (c Check) state(f roll.Finding) string {
	what := cmp.Or(kindTable[f.Kind].state, "has been "+kindInWords(f))
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

func counted(n int, one, several string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d %s.", n, roll.Plural(n, "other "+one, "others "+several))
}
