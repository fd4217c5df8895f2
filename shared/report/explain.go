package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// Explain writes all there is to say about what is wrong with single instances: the
// causes with their evidence and what a person can paste, what was ruled out, what could
// not be checked, and what is ordered or held.
func (c Check) Explain(w io.Writer) error {
	t := &text{w: w}
	t.wrap(0, c.headline())
	explained := c.Explained()
	if len(explained) == 0 {
		t.line("")
		t.line("  nothing to explain: %s", c.calm())
	}
	for _, f := range explained {
		c.explainOne(t, f)
	}
	if notes := c.Notes(); len(notes) > 0 {
		t.section("notes")
		for _, n := range notes {
			t.wrap(4, n)
		}
	}
	return t.err
}

// Explained are the findings that an explanation is about: those past their warning
// time, and of what still has time those with a decisive cause that is more than how it
// shows.
func (c Check) Explained() []roll.Finding {
	out := c.Findings()
	for _, f := range append(c.Watching(), c.Assessment.Starting...) {
		if slices.ContainsFunc(c.Diagnoses[f.Key()].Causes, func(w roll.Cause) bool { return w.Confidence == roll.Decisive && !w.Symptom }) {
			out = append(out, f)
		}
	}
	return out
}

func (c Check) explainOne(t *text, f roll.Finding) {
	d := c.Diagnoses[f.Key()]
	t.line("")
	t.item("%s %s%s", kindInWords(f), f.Instance, inBrackets(f.Node))
	t.wrap(6, fmt.Sprintf("%s; owner %s, group %s, %s", f.Summary, f.Owner, f.Group, c.until(f)))
	for i, cause := range d.Causes {
		t.line("")
		t.item("%d. %s, %s", i+1, cause.Code, cause.Confidence)
		t.wrap(7, cause.Summary)
		for _, e := range cause.Evidence {
			t.wrap(9, evidenceInWords(e))
		}
		t.fix(7, cause.Fix)
	}
	if len(d.Causes) == 0 {
		t.line("")
		t.line("    no cause was found")
	}
	c.checked(t, d)
	for _, o := range c.Plan.Orders {
		if o.Instance == f.Instance && o.Kind == f.Kind {
			t.line("")
			t.item("would be ordered: %s", o.Action)
			t.wrap(6, o.Why)
		}
	}
	for _, h := range c.Plan.Held {
		if h.Instance == f.Instance && h.Kind == f.Kind {
			t.line("")
			t.item("held back: %s, %s", h.Action, h.Reason)
			t.wrap(6, h.Detail)
		}
	}
}

// until says how much time a finding has.
func (c Check) until(f roll.Finding) string {
	if f.Stage == roll.Overdue {
		return "past its tolerance since " + roll.Clock(f.Due)
	}
	return "within its tolerance until " + roll.Clock(f.Due)
}

// checked writes what is not there, and what could not be looked for.
func (c Check) checked(t *text, d roll.Diagnosis) {
	if len(d.RuledOut) > 0 {
		t.line("")
		t.item("ruled out: %s", strings.Join(d.RuledOut, ", "))
	}
	if len(d.NotChecked) == 0 {
		return
	}
	t.line("")
	t.line("    not checked")
	// Many causes are often not checked for one reason: it is said once.
	var reasons []string
	codes := map[string][]string{}
	for _, n := range d.NotChecked {
		if codes[n.Reason] == nil {
			reasons = append(reasons, n.Reason)
		}
		codes[n.Reason] = append(codes[n.Reason], n.Code)
	}
	for _, r := range reasons {
		t.wrap(6, strings.Join(codes[r], ", ")+": "+r)
	}
}

// evidenceInWords is one thing that was read, as a sentence.
func evidenceInWords(e roll.Evidence) string {
	s := e.Source
	if e.Field != "" {
		s += ", " + e.Field
	}
	s += ": " + e.Observed
	if e.Expected != "" {
		s += " (expected: " + e.Expected + ")"
	}
	return s
}

// Explanation renders the check as JSON for an explanation: its findings are those that
// are explained, also such as still have time.
func (c Check) Explanation() Document {
	d := c.Document()
	d.Findings = c.findings(c.Explained())
	return d
}

// Only is the check as far as it is about one instance.
func (c Check) Only(id roll.InstanceID) Check {
	others := func(f roll.Finding) bool { return f.Instance != id }
	c.Assessment.Findings = slices.DeleteFunc(slices.Clone(c.Assessment.Findings), others)
	c.Assessment.Starting = slices.DeleteFunc(slices.Clone(c.Assessment.Starting), others)
	c.Assessment.NotNodes = slices.DeleteFunc(slices.Clone(c.Assessment.NotNodes), func(n assess.NotNode) bool { return n.Instance != id })
	c.Plan.Orders = slices.DeleteFunc(slices.Clone(c.Plan.Orders), func(o plan.Order) bool { return o.Instance != id })
	c.Plan.Held = slices.DeleteFunc(slices.Clone(c.Plan.Held), func(h plan.Held) bool { return h.Instance != id })
	if !slices.ContainsFunc(c.Snapshot.Instances, func(i roll.Instance) bool { return i.ID == id }) && !slices.ContainsFunc(c.Snapshot.Nodes, func(n roll.Node) bool { return n.Instance == id }) {
		c.Faults = append(slices.Clone(c.Faults), fmt.Sprintf("there is no instance %s of %s: its tags name another cluster or none, it is gone, or it could not be read", id, c.Snapshot.Cluster.ID.Name))
	}
	return c
}
