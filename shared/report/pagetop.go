package report

import (
	"fmt"
	"strings"

	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

// answerLines is the most lines of an answer at the top of a page.
const answerLines = 6

// answers returns the top of a page: the worst cluster, what needs a person, and what happens
// by itself. The checks must be in order of urgency.
func answers(checks []Check) []page.Answer {
	if len(checks) == 0 {
		return nil
	}
	worst := page.Answer{Question: "Worst cluster", Tone: checks[0].tone(), Lines: []page.Line{{Cluster: checks[0].Snapshot.Cluster.ID.Name, Text: checks[0].summary()}}}
	person := page.Answer{Question: "Needs a person", Tone: page.ToneBad}
	itself := page.Answer{Question: "Happens by itself", Tone: page.ToneHeld}
	for _, c := range checks {
		name := c.Snapshot.Cluster.ID.Name
		needs, happens := c.outlook()
		if len(needs) > 0 {
			person.Lines = append(person.Lines, page.Line{Cluster: name, Text: strings.Join(needs, ", ")})
		}
		if len(happens) > 0 {
			itself.Lines = append(itself.Lines, page.Line{Cluster: name, Text: strings.Join(happens, ", ")})
		}
	}
	out := []page.Answer{worst}
	for _, a := range []page.Answer{person, itself} {
		if len(a.Lines) == 0 {
			a.Lines, a.Tone = []page.Line{{Text: "Nothing."}}, page.ToneGood
		}
		if more := len(a.Lines) - answerLines; more > 0 {
			a.Lines = append(a.Lines[:answerLines:answerLines], page.Line{Text: fmt.Sprintf("and %d more, below.", more)})
		}
		out = append(out, a)
	}
	return out
}

// outlook returns which of a cluster's findings need a person, by cause, and what happens by
// itself.
func (c Check) outlook() (needs, happens []string) {
	if why, unread := c.unread(); unread {
		needs = append(needs, "not judged"+roll.Behind(": ", clip(why, 160)))
	}
	var causes, unexplained, acts Tally
	for _, f := range c.Findings() {
		if what := c.fate(f).byItself(c.Mode); what != "" {
			acts.Add(what)
			continue
		}
		if first, ok := first(c.Diagnoses[f.Key()].Causes); ok {
			causes.Add(perhaps(first))
		} else {
			unexplained.Add(string(f.Kind))
		}
	}
	needs = append(needs, causes.List("%[2]d %[1]s")...)
	if rest := unexplained.List("%[2]d %[1]s"); len(rest) > 0 {
		needs = append(needs, "of unknown cause: "+strings.Join(rest, ", "))
	}
	happens = append(happens, acts.List("%[2]d %[1]s")...)
	if n := len(c.Watching()); n > 0 {
		happens = append(happens, fmt.Sprintf("%d still within tolerance", n))
	}
	return needs, happens
}
