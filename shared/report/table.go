package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

// most returns the limit of a list, without one the length of the list.
func (l Layout) most(of int) int {
	if l.Everything || !l.cut() {
		return of
	}
	return tableRows
}

// tableRows is the most findings, and the most held acts, that a table shows of a cluster
// unless it shows everything.
const tableRows = 60

// Tables writes checks as text, the most urgent first. A cluster with nothing to do gets one line. It
// returns the first error of w.
func Tables(w io.Writer, checks []Check, layout Layout) error {
	t := &text{w: w, Layout: layout}
	everything := layout.Everything
	block := false // the output above is more than a line
	for i, c := range slices.SortedStableFunc(slices.Values(checks), moreUrgent) {
		more := !c.fine() || len(c.Notes()) > 0 || everything
		if i > 0 && (block || more) {
			t.line("")
		}
		c.table(t)
		block = more
	}
	return t.err
}

// fine reports whether everything was read and judged, and nothing was found.
func (c Check) fine() bool {
	return c.Complete() && len(c.Findings()) == 0 && len(c.Assessment.Unjudged) == 0
}

func (c Check) table(t *text) {
	everything := t.Everything
	if c.fine() {
		t.painted(green, "%s", c.nothing(t.Layout))
	} else {
		t.head(c.headline())
		c.why(t)
		c.findingRows(t)
		c.orderItems(t)
		c.heldItems(t)
	}
	if everything {
		c.quiet(t)
	}
	if next := c.Plan.Next; !next.IsZero() && !c.Unremembered && (everything || !c.fine()) {
		t.line("")
		t.line("  next check at %s, when a verdict can change", next.UTC().Format("2006-01-02 15:04:05Z"))
	}
	unjudged := c.unjudgedLines()
	if most := t.most(len(unjudged)); len(unjudged) > most {
		more := len(unjudged) - most
		unjudged = append(unjudged[:most], fmt.Sprintf("and %d more instances; --verbose lists all of them", more))
	}
	t.list("not judged", unjudged)
	t.list("notes", c.Notes())
	if left := c.leftOut(); left != "" && !everything && !c.fine() {
		t.line("")
		t.wrap(2, left+": see --verbose")
	}
}

// nothing returns the one line of a cluster with nothing to do. If it does not fit, the
// region is left out, then the middle of the name is cut.
func (c Check) nothing(l Layout) string {
	id := c.Snapshot.Cluster.ID
	state := fmt.Sprintf("nothing to do; %d of %d nodes ready", c.Assessment.Ready, c.Assessment.Nodes)
	if n := c.Assessment.Waiting; n > 0 {
		state += fmt.Sprintf(", %d starting", n)
	}
	if n := len(c.Watching()); n > 0 {
		state += fmt.Sprintf(", %d watched", n)
	}
	name := shown(id.Name)
	for _, s := range []string{name + inBrackets(id.Region) + ": " + state, name + ": " + state} {
		if !l.cut() || columns(s) <= l.Columns {
			return s
		}
	}
	return short(name, max(4, l.Columns-columns(": "+state))) + ": " + state
}

// quiet writes what needs no attention.
func (c Check) quiet(t *text) {
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
}

// leftOut counts what quiet would write. It returns "" if there is nothing.
func (c Check) leftOut() string {
	var parts []string
	if n := len(c.Watching()); n > 0 {
		parts = append(parts, fmt.Sprintf("%d within tolerance", n))
	}
	if n := len(c.Assessment.NotNodes); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tagged and not a node", n))
	}
	if n := len(c.Assessment.Registration); n > 0 {
		parts = append(parts, fmt.Sprintf("registration times of %d %s", n, roll.Plural(n, "group", "groups")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "also " + strings.Join(parts, ", ")
}

// besideLeast is the width from which a terminal shows nodes in a column of their own.
const besideLeast = 110

// findingRows writes the table of the findings. On a terminal without room for the nodes
// beside them, they stand below.
func (c Check) findingRows(t *text) {
	findings := c.Findings()
	if len(findings) == 0 {
		return
	}
	table := c.findingTable(findings, t.Wide, true)
	if t.cut() && (t.Columns < besideLeast || table.width() > t.Columns) {
		table = c.findingTable(findings, t.Wide, false)
		table.fit(t.Columns)
	}
	t.line("")
	for i, row := range table.rows {
		if shown := t.most(len(findings)); i > shown {
			t.line("  and %d more findings; --verbose lists all of them", len(findings)-shown)
			break
		}
		color := bold
		if i > 0 {
			color = toneColors[stageTones[findings[i-1].Stage]]
		}
		t.cells(color, table.widths, row)
		if i > 0 && table.below != nil && table.below[i-1] != "" {
			t.line("  %s %s", pad("", table.widths[0]), short(table.below[i-1], t.Columns-4-table.widths[0]))
		}
	}
	subject := "INSTANCE" // of another subject than an instance
	if findings[0].Instance.IsInstance() {
		subject = string(findings[0].Instance)
	}
	t.line("")
	t.line("  %s shows the evidence behind it", paste.Command("rollcall", "explain", subject))
}

// stageTones are the levels of attention for the stages of findings.
var stageTones = map[roll.Stage]page.Tone{roll.Overdue: page.ToneBad, roll.Warned: page.ToneWarn}

// grid is a table: its rows, the first of which is the header, and the widths of the columns.
type grid struct {
	rows   [][]string
	widths []int
	below  []string // what stands below each row but the header; nil for nothing
	group  int      // the column that may be cut
}

// findingTable returns the findings in columns, with the node in one of its own if beside is
// set, and else below its row.
func (c Check) findingTable(findings []roll.Finding, wide, beside bool) grid {
	g := grid{rows: [][]string{{"FINDING", "INSTANCE"}}, group: 2}
	add := func(row int, cells ...string) { g.rows[row] = append(g.rows[row], cells...) }
	if beside {
		g.group = 3
		add(0, "NODE")
	}
	add(0, "GROUP", "FOR", "NEXT")
	if wide {
		add(0, "ZONE", "CAUSE")
	}
	for i, f := range findings {
		node := f.Node
		if node == string(f.Instance) {
			node = ""
		}
		id := string(f.Instance)
		next, since := c.fate(f).cell(), Age(c.Snapshot.At.Sub(f.Since))
		if beside {
			g.rows = append(g.rows, []string{kindInWords(f), id, cmp.Or(f.Node, "-"), string(f.Group), since, next})
		} else {
			g.rows = append(g.rows, []string{string(f.Kind), short(id, idColumns), string(f.Group), since, short(next, nextColumns)})
			if columns(id) > idColumns {
				node = id // it was cut
			}
			if f.Condition != "" {
				node = f.Condition + roll.Behind(" of ", node)
			}
			g.below = append(g.below, node)
		}
		if wide {
			cause := "-"
			if why, ok := first(c.Diagnoses[f.Key()].Causes); ok {
				cause = perhaps(why)
			}
			add(i+1, cmp.Or(f.Zone, "-"), cause)
		}
	}
	g.measure()
	return g
}

// The widths of an instance id, and of the longest usual step.
const idColumns, nextColumns = 19, 18

// measure sets the widths to those of the cells, and of usual cells, so that the tables of
// several clusters have the same columns.
func (g *grid) measure() {
	usual := map[string]int{"FINDING": len(roll.Unregistered), "INSTANCE": idColumns, "GROUP": 19, "FOR": 6}
	g.widths = make([]int, len(g.rows[0]))
	for i, name := range g.rows[0] {
		g.widths[i] = usual[name]
		for _, row := range g.rows {
			g.widths[i] = max(g.widths[i], columns(shown(row[i])))
		}
	}
}

// width returns the columns of a line.
func (g grid) width() int {
	n := 1
	for _, w := range g.widths {
		n += 1 + w
	}
	return n
}

// fit cuts the groups so that the lines fit a terminal. A kind is never cut, and the step keeps
// its room.
func (g *grid) fit(most int) {
	last := len(g.widths) - 1
	g.widths[last] = nextColumns
	g.widths[g.group] = max(len("GROUP"), min(g.widths[g.group], g.widths[g.group]+most-g.width()))
	for _, row := range g.rows {
		row[g.group] = short(row[g.group], g.widths[g.group])
	}
}

// heldItems writes the held acts. Those with the same reason and text are written once.
func (c Check) heldItems(t *text) {
	if len(c.Plan.Held) == 0 {
		return
	}
	t.section("held")
	all := heldAlike(c.Plan.Held)
	for i, h := range all {
		if i == t.most(len(all)) {
			t.line("    and %d more; --verbose lists all of them", len(all)-i)
			return
		}
		t.item("%s %s: %s", h.Action, roll.Few(h.instances, 2), h.Reason)
		t.wrap(6, h.Detail)
	}
}

// alike is a held act with the instances that share its reason and text.
type alike struct {
	plan.Held
	instances []roll.InstanceID
}

// heldAlike groups held acts that differ only in their instance and node.
func heldAlike(all []plan.Held) []alike {
	groups := roll.Grouped(all, func(h plan.Held) plan.Held {
		h.Instance, h.Node = "", ""
		return h
	})
	return roll.Map(groups, func(of []plan.Held) alike {
		return alike{of[0], roll.Map(of, func(h plan.Held) roll.InstanceID { return h.Instance })}
	})
}

// orderItems writes the outcomes of the check's orders.
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
				continue // the detail adds nothing
			}
		case remediate.Refused:
			t.item("%s %s: refused (%s)", o.Order.Action, o.Order.Instance, o.Reason)
		default:
			t.item("%s %s: %s", o.Order.Action, o.Order.Instance, o.Result)
		}
		t.wrap(6, o.Detail)
	}
}

// kindInWords returns a finding's kind, with the condition that it is about, or that it is
// contradicted.
func kindInWords(f roll.Finding) string {
	if f.Contradiction != "" {
		return string(f.Kind) + " (contradicted)"
	}
	return string(f.Kind) + inBrackets(f.Condition)
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// headline returns the summary of the check in one line.
func (c Check) headline() string {
	id := c.Snapshot.Cluster.ID
	name := short(id.Name, 50) + inBrackets(id.Region)
	if c.Snapshot.ClusterGone() {
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
		s += ", not everything could be read or done"
	}
	return s + "; mode " + string(c.Mode)
}

const healthy = "every instance is a healthy node"

func (c Check) calm() string {
	if n := c.Assessment.Waiting; n > 0 {
		return fmt.Sprintf("%d %s and still %s time", n, roll.Plural(n, "instance is starting", "instances are starting"), roll.Plural(n, "has", "have"))
	}
	if n := len(c.Watching()); n > 0 {
		return fmt.Sprintf("%d %s, still within tolerance", n, roll.Plural(n, "finding", "findings"))
	}
	switch {
	case len(c.Assessment.Unjudged) > 0:
		n := len(c.Assessment.Unjudged)
		return fmt.Sprintf("no finding, but %d %s could not be judged", n, roll.Plural(n, "instance", "instances"))
	case !c.Complete():
		return "no finding, but not everything could be read"
	case len(c.Assessment.Notes) > 0:
		return "no finding; see the notes for what was not judged"
	case len(c.Assessment.NotNodes) > 0:
		return "every instance that is meant to be a node is a healthy one"
	}
	return healthy
}

// inWords returns the outcome of an order, for a column of the table.
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
