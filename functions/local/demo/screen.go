package demo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// calm is for how long the findings of a fault must be over before its entry is printed. After
// that nothing of the day changes it any more.
const calm = time.Hour

// live prints the entries of the faults that are over, in their order, while the day goes on.
func (s *story) live(now time.Time) {
	if s.o.Verbose || now.Minute()%15 != 0 {
		return
	}
	var found map[int][]*trouble // which is only looked for when a fault is over
	for s.shown < len(s.day.Faults) {
		f := s.day.Faults[s.shown]
		quiet := now.Add(-calm)
		if quiet.Before(s.day.Start.Add(f.At + f.For)) {
			return
		}
		if found == nil {
			found = s.byFault()
		}
		if troubles := found[f.ID]; len(troubles) > 0 {
			if last := ended(troubles); last.IsZero() || quiet.Before(last) {
				return
			}
		}
		s.show(found)
	}
}

func (s *story) show(found map[int][]*trouble) {
	f := s.day.Faults[s.shown]
	s.shown++
	s.o.Progress("")
	s.say("%s", s.entry(f, found[f.ID]))
	s.pause()
}

// entry describes a fault: its findings, their cause, and what came of it.
func (s *story) entry(f sim.Fault, troubles []*trouble) string {
	text := fmt.Sprintf("%s-%5s  %s: %s\n", hour(s.day.Start.Add(f.At)), s.until(f, troubles), cmp.Or(f.Cluster, "all clusters"), s.paint(bold, f.Says))
	if len(troubles) == 0 {
		return text + s.detail(magenta, "so", "what cannot be read is not judged: nothing found, nothing done")
	}
	color, what := course(troubles, func(t *trouble) string { return t.kind })
	return text + s.detail(faint, "why", briefly(reason(troubles))) + s.detail(color, "so", what)
}

// screen prints the entries that are left, and totals. The other story is the same day under a
// Rollcall that only reports.
func (s *story) screen(other *story, r, untended sim.Result) {
	found, without := s.byFault(), other.byFault()
	for s.shown < len(s.day.Faults) {
		s.show(found)
	}
	var saved []string
	for _, f := range s.day.Faults {
		if d := s.sick(without[f.ID]) - s.sick(found[f.ID]); d >= 5*time.Minute {
			saved = append(saved, hours(d.Hours())+" at "+hour(s.day.Start.Add(f.At)))
		}
	}
	sick, idle := r.Cost.SickHours, untended.Cost.SickHours
	n := s.tallied()
	s.say("\n%s\n", s.paint(bold, fmt.Sprintf("%s of sick time saved: %s, against %s in mode observe", hours(max(0, idle-sick)), hours(sick), hours(idle))))
	s.say("of which %s\n", s.paint(green, strings.Join(saved, ", ")))
	s.say("%d findings, %d notices; %d instances terminated, %d rebooted; %d acts held, each with its reason\n", n.findings, r.Counts[sim.EventNotice], n.acts["terminate"], n.acts["reboot"], n.held)
	s.say("%s paid for sick instances, not %s; Rollcall itself cost %s\n", dollars(r.Cost.Wasted), dollars(untended.Cost.Wasted), dollars(ownCost(r.Usage)))
	s.say("\nEvery event and notice: rollcall demo --verbose. As a page: rollcall demo --html day.html\n")
}

// until returns when a fault, or the last finding that it caused, ended.
func (s *story) until(f sim.Fault, troubles []*trouble) string {
	if last := ended(troubles); !last.IsZero() {
		return hour(last)
	}
	if f.For > 0 {
		return hour(s.day.Start.Add(f.At + f.For))
	}
	return ""
}

// symbols precede a result on a terminal, by its color.
var symbols = map[string]string{green: "✔", magenta: "‖", yellow: "▲"}

// detailIndent is the indent of an entry's details; detailWidth and detailLines limit their
// size.
const (
	detailIndent = 12
	detailWidth  = screenWidth - detailIndent
	detailLines  = 2
)

func (s *story) detail(color, word, text string) (out string) {
	if symbol := symbols[color]; s.o.Color && symbol != "" {
		text = symbol + " " + text
	}
	lines := report.Wrapped(text, detailWidth)
	if len(lines) > detailLines {
		words := strings.Fields(lines[detailLines-1])
		for len([]rune(strings.Join(words, " "))) > detailWidth-2 {
			words = words[:len(words)-1]
		}
		lines = append(lines[:detailLines-1], strings.TrimRight(strings.Join(words, " "), ".,:; ")+" …")
	}
	for _, line := range lines {
		out += fmt.Sprintf("       %-5s%s\n", word, s.paint(color, line))
		word = ""
	}
	return out
}

// long lists the parts of names and times that do not fit on one screen.
var long = []struct {
	pattern *regexp.Regexp
	short   string
}{
	{regexp.MustCompile(`(ip(-\d+){4})[-.\w]*\.compute\.internal`), "$1"},
	{regexp.MustCompile(`(i-[0-9a-f]{4})[0-9a-f]{13}`), "$1…"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d (\d\d:\d\d):\d\dZ`), "$1"},
}

func briefly(text string) string {
	for _, l := range long {
		text = l.pattern.ReplaceAllString(text, l.short)
	}
	return text
}

// byFault groups the findings of the day by the fault that caused them.
func (s *story) byFault() map[int][]*trouble {
	out := map[int][]*trouble{}
	for _, c := range s.day.Clusters {
		for _, t := range all(s.lives(c.Name)) {
			if f, ok := s.fault(c.Name, t); ok {
				out[f.ID] = append(out[f.ID], t)
			}
		}
	}
	return out
}

// sick returns the total time for which the instances of findings were in trouble.
func (s *story) sick(troubles []*trouble) (sum time.Duration) {
	for _, t := range troubles {
		until := s.end()
		for _, end := range []time.Time{t.until, t.ended} {
			if !end.IsZero() && end.Before(until) {
				until = end
			}
		}
		sum += max(0, until.Sub(t.since))
	}
	return sum
}

// reason returns the cause that Rollcall found first, in one line.
func reason(troubles []*trouble) string {
	for _, t := range troubles {
		if len(t.causes) > 0 {
			return t.causes[0].Code + ": " + t.causes[0].Summary
		}
	}
	return cmp.Or(troubles[0].why, "no decisive cause")
}

// course returns the findings, held acts and acts for one fault, and the color. name names
// a finding.
func course(troubles []*trouble, name func(*trouble) string) (color, text string) {
	var found, done report.Tally
	var held []hold
	replaced := 0
	for _, t := range troubles {
		found.Add(name(t))
		held = append(held, t.held...)
		for _, a := range t.acts {
			if a.done {
				done.Add(past(a.action))
			}
		}
		if t.replaced() != "" {
			replaced++
		}
	}
	color = green
	parts := []string{found.Counted() + " at " + hour(troubles[0].told)}
	for _, of := range roll.Grouped(held, func(h hold) string { return h.action }) {
		reasons := roll.Distinct(roll.Map(of, func(h hold) string { return h.reason }))
		parts = append(parts, fmt.Sprintf("held %s of %d (%s)", of[0].action, len(of), strings.Join(reasons, ", ")))
		color = magenta
	}
	if len(done.Names) > 0 {
		parts = append(parts, strings.Join(done.List("%s %d"), ", "))
		color = green
	}
	if replaced > 0 {
		parts = append(parts, fmt.Sprintf("owners terminated %d", replaced))
	}
	if ended(troubles).IsZero() {
		color = yellow
	}
	return color, strings.Join(parts, "; ")
}

// ended returns when the last of the findings ended; zero if one did not.
func ended(troubles []*trouble) (last time.Time) {
	for _, t := range troubles {
		if t.until.IsZero() {
			return time.Time{}
		}
		last = roll.Later(last, t.until)
	}
	return last
}

// answers returns a summary of the day: the worst cluster, what needed a person, and what
// happened automatically.
func (s *story) answers(clusters []page.Cluster) []page.Answer {
	worst, longest := page.Line{}, time.Duration(-1)
	person := page.Answer{Question: "Needed a person", Tone: page.ToneHeld}
	itself := page.Answer{Question: "Happened by itself", Tone: page.ToneGood}
	for _, c := range clusters {
		troubles := all(s.lives(c.Name))
		if sick := s.sick(troubles); sick > longest {
			longest = sick
			worst = page.Line{Cluster: c.Name, Text: fmt.Sprintf("%s of sick time. %s", minutes(sick), c.Summary)}
		}
		var needs, recovered report.Tally
		for _, t := range troubles {
			switch {
			case slices.ContainsFunc(t.held, needsPerson):
				needs.Add(cmp.Or(t.code(), t.kind))
			case t.by != rollcall && t.replaced() == "" && len(t.acts) == 0 && !t.until.IsZero():
				recovered.Add("recovered")
			case t.replaced() != "":
				recovered.Add("replaced by owners")
			}
		}
		for _, a := range c.Acts {
			if a.Result == resultDone && (a.Action == "reboot" || a.Action == "terminate") {
				recovered.Add(past(a.Action) + " by Rollcall")
			}
		}
		if len(needs.Names) > 0 {
			person.Lines = append(person.Lines, page.Line{Cluster: c.Name, Text: needs.Counted()})
		}
		if len(recovered.Names) > 0 {
			itself.Lines = append(itself.Lines, page.Line{Cluster: c.Name, Text: recovered.Counted()})
		}
	}
	return []page.Answer{{Question: "Worst cluster", Tone: page.ToneWarn, Lines: []page.Line{worst}}, person, itself}
}

// needsPerson reports whether an act is held until a person fixes something.
func needsPerson(h hold) bool {
	return slices.Contains([]plan.Reason{plan.SharedCause, plan.CauseOutside, plan.ClusterNotActive}, plan.Reason(h.reason))
}
