package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// width is the number of columns that a table may use.
const width = 80

// Table writes the check as text of at most 80 columns, the most urgent first.
func (c Check) Table(w io.Writer) error {
	t := &text{w: w}
	t.wrap(0, c.headline())
	findings := c.Findings()
	if len(findings) == 0 && c.Complete() {
		t.line("  nothing to do: %s", c.calm())
	}
	c.findingRows(t, findings)
	c.why(t)
	if len(c.Plan.Held) > 0 {
		t.section("held back")
		for _, h := range c.Plan.Held {
			t.item("%s %s: %s", h.Action, h.Instance, h.Reason)
			t.wrap(6, h.Detail)
		}
	}
	c.orderItems(t)
	if watching := c.Watching(); len(watching) > 0 {
		t.section("watching, within tolerance")
		for _, f := range watching {
			t.item("%s %s%s, until %s", kindInWords(f), f.Instance, inBrackets(f.Node), f.Due.UTC().Format("15:04:05Z"))
		}
	}
	if len(c.Assessment.NotNodes) > 0 {
		t.section("tagged, not a node")
		for _, n := range c.Assessment.NotNodes {
			t.item("%s %s", n.Instance, short(n.Name, 50))
			t.wrap(6, n.Why)
		}
	}
	c.registration(t)
	if next := c.Plan.Next; !next.IsZero() {
		t.line("")
		t.line("  next check at %s, when a verdict can change", next.UTC().Format("2006-01-02 15:04:05Z"))
	}
	if notes := c.Notes(); len(notes) > 0 {
		t.section("notes")
		for _, n := range notes {
			t.wrap(4, n)
		}
	}
	return t.err
}

// columns are the widths of a finding's kind and group: together they take what the
// other columns leave, and a kind is never cut.
func columns(findings []roll.Finding) (kind, group int) {
	const least, both = len(roll.Unregistered), 31
	kind = least
	for _, f := range findings {
		kind = max(kind, len(f.Kind))
	}
	return kind, both - kind
}

// findingRows writes a table of the findings.
func (c Check) findingRows(t *text, findings []roll.Finding) {
	if len(findings) == 0 {
		return
	}
	kind, group := columns(findings)
	row := func(cells ...any) { t.line(fmt.Sprintf("  %%-%ds %%-19s %%-%ds %%-6s %%s", kind, group), cells...) }
	t.line("")
	row("FINDING", "INSTANCE", "GROUP", "FOR", "NEXT")
	for _, f := range findings {
		row(f.Kind, f.Instance, short(string(f.Group), group), Age(c.Snapshot.At.Sub(f.Since)), short(c.next(f), 18))
		below := f.Node
		if below == string(f.Instance) {
			below = ""
		}
		if f.Condition != "" {
			below = f.Condition + orNothing(" of ", below)
		}
		if below != "" {
			t.line("  %*s %s", kind, "", short(below, 76-kind))
		}
	}
}

// orderItems writes what became of the check's orders.
func (c Check) orderItems(t *text) {
	if len(c.Outcomes) == 0 {
		return
	}
	t.section("orders")
	for _, o := range c.Outcomes {
		switch o.Result {
		case remediate.Acted:
			t.item("%s %s: done", o.Order.Action, o.Order.Instance)
			if o.Order.Action == plan.Terminate || o.Order.Action == plan.Reboot {
				continue // the detail says no more
			}
		case remediate.Refused:
			t.item("%s %s: refused (%s)", o.Order.Action, o.Order.Instance, o.Reason)
		default:
			t.item("%s %s: %s", o.Order.Action, o.Order.Instance, o.Result)
		}
		t.wrap(6, o.Detail)
	}
}

// kindInWords is a finding's kind, and which condition it is about.
func kindInWords(f roll.Finding) string { return string(f.Kind) + inBrackets(f.Condition) }

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// headline sums the check up in one line.
func (c Check) headline() string {
	id := c.Snapshot.Cluster.ID
	name := short(id.Name, 50)
	if id.Region != "" {
		name += " (" + id.Region + ")"
	}
	if c.clusterGone() {
		return fmt.Sprintf("%s: there is no such EKS cluster; mode %s", name, c.Mode)
	}
	if !c.Snapshot.Has(roll.ScopeNodes) {
		return fmt.Sprintf("%s: could not be checked; mode %s", name, c.Mode)
	}
	s := fmt.Sprintf("%s: %d of %d nodes ready", name, c.Assessment.Ready, c.Assessment.Nodes)
	if c.Assessment.Waiting > 0 {
		s += fmt.Sprintf(", %d starting", c.Assessment.Waiting)
	}
	if !c.Complete() {
		s += ", not all could be read or done"
	}
	return s + "; mode " + string(c.Mode)
}

// clusterGone reports that EKS knows no such cluster: only tags do.
func (c Check) clusterGone() bool {
	return slices.ContainsFunc(c.Snapshot.Gaps, func(g roll.Gap) bool { return g.Kind == roll.GapClusterGone })
}

func (c Check) calm() string {
	if n := c.Assessment.Waiting; n > 0 {
		return fmt.Sprintf("%d %s and still %s time", n, roll.Plural(n, "instance is starting", "instances are starting"), roll.Plural(n, "has", "have"))
	}
	if n := len(c.Watching()); n > 0 {
		return fmt.Sprintf("%d %s, still within tolerance", n, roll.Plural(n, "finding", "findings"))
	}
	if len(c.Assessment.Notes) > 0 {
		return "no finding; see the notes for what was not judged"
	}
	return "every instance has answered"
}

// next says in a few words what follows for a finding.
func (c Check) next(f roll.Finding) string {
	for _, o := range c.Outcomes {
		if o.Order.Instance == f.Instance && o.Order.Kind == f.Kind {
			return inWords(o)
		}
	}
	for _, h := range c.Plan.Held {
		if h.Instance == f.Instance && h.Kind == f.Kind {
			return "held"
		}
	}
	s := c.Plan.Steps[f.Key()]
	if s.Do == "" {
		return "-"
	}
	return string(s.Do) + " " + s.At.UTC().Format("15:04Z")
}

// inWords is what became of an order, for a column of the table.
func inWords(o remediate.Outcome) string {
	switch {
	case o.Result == remediate.Acted && o.Order.Action == plan.DeleteNode:
		return "node deleted"
	case o.Result == remediate.Acted && o.Order.Action == plan.DeleteNodeClaim:
		return "claim deleted"
	}
	return became(o)
}

// Age renders a duration in one or two units, as kubectl does: 45s, 12m, 3h5m, 2d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		if m := int(d.Minutes()) % 60; m > 0 {
			return fmt.Sprintf("%dh%dm", int(d.Hours()), m)
		}
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// short cuts a text to n columns, in the middle: names of groups differ at both
// ends.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// text writes lines and remembers the first failure.
type text struct {
	w   io.Writer
	err error
}

func (t *text) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

func (t *text) section(name string) {
	t.line("")
	t.line("  %s", name)
}

// item writes one line of a list; what does not fit goes on below it, indented.
func (t *text) item(format string, args ...any) {
	for i, l := range Wrapped(fmt.Sprintf(format, args...), width-6) {
		if i == 0 {
			t.line("    %s", l)
		} else {
			t.line("      %s", l)
		}
	}
}

// wrap writes a text in lines of at most width columns, each indented.
func (t *text) wrap(indent int, s string) {
	for _, l := range Wrapped(s, width-indent) {
		t.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// Wrapped breaks a text between words. A word that is longer than a line, such as
// an ARN, stays whole on a line of its own: people copy it.
func Wrapped(s string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
