package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

// Replay compares what policies would have done in recorded checks.
type Replay struct {
	From, To time.Time
	Clusters []string
	Checks   int
	Outcomes []replay.Replayed // two of them, or more
	// Idle is the outcome without any act.
	Idle replay.Replayed
}

// ReplayDocument is the JSON form of a replay. Every list is present, even if empty.
type ReplayDocument struct {
	From     time.Time        `json:"from"`
	To       time.Time        `json:"to"`
	Clusters []string         `json:"clusters"`
	Checks   int              `json:"checks"`
	Policies []PolicyDocument `json:"policies"`
}

// PolicyDocument is what one policy did or would have done.
type PolicyDocument struct {
	Name    string         `json:"name"`
	Acts    []ReplayedAct  `json:"acts"`  // in order of time
	Holds   []ReplayedHold `json:"holds"` // by reason, the longest first
	Notices int            `json:"notices"`
	// MachineHoursLost counts the hours of machines that were no healthy nodes, MachineHoursSaved
	// those fewer than without any act.
	MachineHoursLost  float64 `json:"machineHoursLost"`
	MachineHoursSaved float64 `json:"machineHoursSaved"`
}

// ReplayedAct is an act. Result is "assumed" if the record does not have it, "not carried out" if it
// was ordered and refused, or else the recorded result.
type ReplayedAct struct {
	plan.Order
	Cause  string `json:"cause"` // code of the first decisive cause, "" if there is none
	Result string `json:"result"`
}

// ReplayedHold sums up what was held for one reason.
type ReplayedHold struct {
	Reason    plan.Reason `json:"reason"`
	Instances int         `json:"instances"`
	Hours     float64     `json:"hours"`  // summed up over the acts
	Detail    string      `json:"detail"` // of the longest
}

// Document returns the JSON form of the replay.
func (r Replay) Document() ReplayDocument {
	d := ReplayDocument{From: r.From.UTC(), To: r.To.UTC(), Clusters: append([]string{}, r.Clusters...), Checks: r.Checks, Policies: []PolicyDocument{}}
	for _, o := range r.Outcomes {
		p := PolicyDocument{Name: o.Name, Acts: []ReplayedAct{}, Holds: holdsOf(o), Notices: o.Notices, MachineHoursLost: o.Lost.Hours(), MachineHoursSaved: (r.Idle.Lost - o.Lost).Hours()}
		for _, a := range o.Acts {
			p.Acts = append(p.Acts, ReplayedAct{Order: a.Order, Cause: a.Cause, Result: resultOf(a)})
		}
		d.Policies = append(d.Policies, p)
	}
	return d
}

func resultOf(a replay.TakenAct) string {
	if a.Assumed {
		return "assumed"
	}
	return cmp.Or(string(a.Result), "not carried out")
}

func holdsOf(o replay.Replayed) []ReplayedHold {
	out := []ReplayedHold{}
	for _, of := range roll.Grouped(o.Holds, func(h replay.Hold) plan.Reason { return h.Reason }) {
		longest := slices.MaxFunc(of, func(a, b replay.Hold) int { return cmp.Compare(a.Lasted, b.Lasted) })
		instances := roll.Distinct(roll.Map(of, func(h replay.Hold) roll.InstanceID { return h.Instance }))
		sum := ReplayedHold{Reason: longest.Reason, Instances: len(instances), Detail: longest.Detail}
		for _, h := range of {
			sum.Hours += h.Lasted.Hours()
		}
		out = append(out, sum)
	}
	slices.SortStableFunc(out, func(a, b ReplayedHold) int { return cmp.Compare(b.Hours, a.Hours) })
	return out
}

// rows returns the comparison, a row for each number and a column for each policy. The first row and
// the first column are headings.
func (r Replay) rows() [][]string {
	var out [][]string
	row := func(name string, cell func(replay.Replayed) string) {
		out = append(out, append([]string{name}, roll.Map(r.Outcomes, cell)...))
	}
	row("", func(o replay.Replayed) string { return o.Name })
	row("acts", func(o replay.Replayed) string {
		if n := o.Assumed(); n > 0 {
			return fmt.Sprintf("%d (%d assumed)", len(o.Acts), n)
		}
		return fmt.Sprint(len(o.Acts))
	})
	var kinds []plan.Action
	for _, o := range r.Outcomes {
		kinds = append(kinds, roll.Map(o.Acts, func(a replay.TakenAct) plan.Action { return a.Action })...)
	}
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		row("  "+string(kind), func(o replay.Replayed) string {
			n := 0
			for _, a := range o.Acts {
				if a.Action == kind {
					n++
				}
			}
			return fmt.Sprint(n)
		})
	}
	row("notices", func(o replay.Replayed) string { return fmt.Sprint(o.Notices) })
	row("machine-hours lost", func(o replay.Replayed) string { return hours(o.Lost) })
	row("machine-hours saved", func(o replay.Replayed) string { return hours(r.Idle.Lost - o.Lost) })
	for _, reason := range r.reasons() {
		row("held: "+string(reason), func(o replay.Replayed) string {
			h, ok := roll.Find(holdsOf(o), func(h ReplayedHold) bool { return h.Reason == reason })
			if !ok {
				return "-"
			}
			return fmt.Sprintf("%d for %.1f h", h.Instances, h.Hours)
		})
	}
	return out
}

func hours(d time.Duration) string { return fmt.Sprintf("%.1f", d.Hours()) }

// reasons returns all reasons of holds, those that held longest first.
func (r Replay) reasons() (out []plan.Reason) {
	var all replay.Replayed
	for _, o := range r.Outcomes {
		all.Holds = append(all.Holds, o.Holds...)
	}
	return roll.Map(holdsOf(all), func(h ReplayedHold) plan.Reason { return h.Reason })
}

// different returns the acts that not all policies have, in order of time, with a cell for each policy:
// its time and result.
func (r Replay) different() [][]string {
	type act struct {
		replay.TakenAct
		cells []string
	}
	var all []act
	for n, o := range r.Outcomes {
		for _, a := range o.Acts {
			i := slices.IndexFunc(all, func(b act) bool { return b.ID == a.ID })
			if i < 0 {
				i = len(all)
				all = append(all, act{a, slices.Repeat([]string{"-"}, len(r.Outcomes))})
			}
			all[i].cells[n] = roll.Clock(a.At) + ", " + resultOf(a)
		}
	}
	all = slices.DeleteFunc(all, func(a act) bool { return len(slices.Compact(slices.Clone(a.cells))) == 1 })
	slices.SortStableFunc(all, func(a, b act) int { return a.At.Compare(b.At) })
	return roll.Map(all, func(a act) []string {
		return append([]string{a.Name, string(a.Group), string(a.Instance), string(a.Action), cmp.Or(a.Cause, string(a.Kind))}, a.cells...)
	})
}

var differentColumns = []string{"CLUSTER", "GROUP", "INSTANCE", "ACT", "CAUSE"}

// title says what was compared.
func (r Replay) title() string {
	return fmt.Sprintf("Replay of %s of %s from %s to %s", count(r.Checks, "check"), count(len(r.Clusters), "cluster"), roll.Clock(r.From), roll.Clock(r.To))
}

const assumedNote = "An act that the record does not have is assumed to take effect, and its machine to be replaced within five minutes. A machine on which only the record acted is assumed to stay as it was."

// Write writes the replay as text. It returns the first error of w.
func (r Replay) Write(w io.Writer, layout Layout) error {
	t := &text{w: w, Layout: layout}
	t.head(r.title())
	t.line("")
	t.headed(r.rows())
	if different := r.different(); len(different) > 0 {
		t.section("acts that differ")
		names := roll.Map(r.Outcomes, func(o replay.Replayed) string { return strings.ToUpper(o.Name) })
		t.headed(append([][]string{append(slices.Clone(differentColumns), names...)}, different...))
	}
	if r.assumes() {
		t.line("")
		t.wrap(0, assumedNote)
	}
	return t.err
}

// headed writes rows in columns, the first one as their heading.
func (t *text) headed(rows [][]string) {
	g := grid{rows: rows}
	g.measure()
	for i, row := range rows {
		color := ""
		if i == 0 {
			color = bold
		}
		t.cells(color, g.widths, row)
	}
}

func (r Replay) assumes() bool {
	return slices.ContainsFunc(r.Outcomes, func(o replay.Replayed) bool { return o.Assumed() > 0 })
}

// Page returns the page of the replay.
func (r Replay) Page() page.Document {
	d := page.Document{Title: r.title(), Subtitle: "Clusters: " + roll.Few(r.Clusters, 5), From: r.From, To: r.To, Footer: []string{"rollcall replay --html FILE makes such a page."}}
	table := func(title, caption string, head []string, rows [][]string) {
		columns := roll.Map(head, func(name string) page.Column { return page.Column{Name: name} })
		d.Tables = append(d.Tables, page.Table{Title: title, Caption: caption, Columns: columns, Rows: rows})
	}
	d.Figures = roll.Map(r.Outcomes, func(o replay.Replayed) page.Figure {
		return page.Figure{Label: "machine-hours saved, " + o.Name, Value: hours(r.Idle.Lost - o.Lost), Note: "compared with no acts at all"}
	})
	rows := r.rows()
	table("Side by side", "", rows[0], rows[1:])
	names := roll.Map(r.Outcomes, func(o replay.Replayed) string { return o.Name })
	if different := r.different(); len(different) > 0 {
		table("Acts that differ", "Each with its time and what came of it", append([]string{"Cluster", "Group", "Instance", "Act", "Cause"}, names...), different)
	}
	if r.assumes() {
		d.Notes = append(d.Notes, assumedNote)
	}
	return d
}
