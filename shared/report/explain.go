package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// Explain writes everything known about the findings of single instances: first what is done about
// them, or why nothing is. It returns the first error of w.
func (c Check) Explain(w io.Writer, layout Layout) error {
	t := &text{w: w, Layout: layout}
	t.head(c.headline())
	c.basis(t)
	explained := c.Explained()
	if why, run, rest := c.gist(); why != "" {
		t.line("")
		if run == "" {
			t.wrap(2, why+rest)
		} else {
			t.wrap(2, why+" Run:")
			t.line("    %s", run)
			t.wrap(2, strings.TrimSpace(rest))
		}
	}
	for _, a := range c.beside() {
		t.line("")
		t.answer(2, a)
	}
	notes := c.Notes()
	if len(explained) == 0 && c.Asked == nil {
		unjudged := c.notJudged()
		t.list("not judged", unjudged)
		notes = slices.DeleteFunc(notes, func(n string) bool { return slices.Contains(unjudged, n) })
		t.line("")
		t.line("  nothing to explain: %s", c.unexplained())
		if b := c.beneath; b != nil {
			notes = slices.DeleteFunc(notes, func(n string) bool { return n == b.note() })
			t.wrap(2, b.what+"; to explain:")
			t.line("    %s", b.command)
		}
	}
	for _, f := range explained {
		c.explainOne(t, f)
	}
	c.remembered(t)
	for _, r := range c.commands() {
		t.section(r.Title)
		for _, line := range r.Commands {
			t.line("    %s", line)
		}
	}
	t.list("notes", notes)
	return t.err
}

// commands returns the commands that a notice has no room for: to investigate the first
// finding, to keep its instance, to stop all acts on the cluster, and to fetch the evidence.
func (c Check) commands() (out []Recipe) {
	id := c.Snapshot.Cluster.ID
	explained := c.Explained()
	if len(explained) == 0 || id.Region == "" || id.Account == "" {
		return nil
	}
	f := explained[0]
	e := c.entry(f)
	if i := c.Snapshot.Instance(f.Instance); i != nil {
		e.Hold = i.Hold
	}
	at := c.Snapshot.At
	if commands := look(id, e); len(commands) > 0 {
		out = append(out, Recipe{"To investigate", pointed(id, commands)})
	}
	out = append(out, stop(id, f.Kind, []plan.Entry{e}, c.Mode, at)...)
	if c.Memory != nil && evidencePage(id.Region, c.Memory.Evidence) != "" {
		out = append(out, fetch(id.Region, c.Memory.Evidence))
	}
	return out
}

// notJudged lists what could not be judged, and why. The shorter it is, the more an
// all-clear is worth.
func (c Check) notJudged() []string {
	lines := c.gaps()
	for _, n := range c.Assessment.NotNodes {
		if !slices.Contains(c.Assessment.Unjudged, n.Instance) {
			lines = append(lines, fmt.Sprintf("%s carries the cluster's tag but does not count as a node: %s", n.Instance, n.Why))
		}
	}
	return slices.Concat(lines, c.unjudgedLines(), c.elsewhere())
}

// elsewhere says for each node that is not Ready and runs on no EC2 instance that it is not judged.
func (c Check) elsewhere() (lines []string) {
	on := map[roll.Compute]string{roll.ComputeFargate: "on Fargate", roll.ComputeHybrid: "as a hybrid node", roll.ComputeHyperPod: "on SageMaker HyperPod", roll.ComputeOther: "elsewhere"}
	for i := range c.Snapshot.Nodes {
		n := &c.Snapshot.Nodes[i]
		if where := on[n.Compute]; where != "" && n.Ready.Status != roll.ConditionTrue {
			lines = append(lines, fmt.Sprintf("node %s is not ready (%s) and is not judged: it runs %s, on no EC2 instance", n.Name, n.Ready.Status, where))
		}
	}
	return lines
}

// unjudgedLines says for each instance that could not be judged why.
func (c Check) unjudgedLines() (lines []string) {
	why := map[roll.InstanceID]string{}
	for _, n := range c.Assessment.NotNodes {
		why[n.Instance] = n.Why
	}
	for _, id := range c.Assessment.Unjudged {
		lines = append(lines, fmt.Sprintf("%s runs without a node: %s", id, cmp.Or(why[id], "what its Auto Scaling group does with it could not be read")))
	}
	return lines
}

// unexplained says why there is nothing to explain.
func (c Check) unexplained() string {
	switch {
	case c.Subject == "":
		if calm := c.calm(); calm != healthy || len(c.elsewhere()) == 0 {
			return calm
		}
		return "every EC2 instance is a healthy node"
	case !c.Complete():
		return fmt.Sprintf("nothing was found wrong with %s, but not everything could be read: see the notes", c.inQuestion())
	case len(c.Watching()) > 0:
		return fmt.Sprintf("what was found about %s is still within its tolerance", c.Subject)
	}
	return fmt.Sprintf("nothing is wrong with %s", c.inQuestion())
}

// inQuestion is what an explanation of the subject is about: of a group, its launches.
func (c Check) inQuestion() string {
	switch kind, _, _ := c.Subject.Subject(); kind {
	case "nodepool", "nodegroup", "asg":
		return "launches of " + string(c.Subject)
	}
	return string(c.Subject)
}

// beneath says which instances of a group have findings, and which command explains them.
type beneath struct{ what, command string }

func (b beneath) note() string { return b.what + ": " + b.command }

// namedBeneath is the maximum number of instances of a group that an explanation of it names.
const namedBeneath = 3

// basis writes whether the answer is hypothetical, or whose memory it is based on.
func (c Check) basis(t *text) {
	switch {
	case c.WhatIf:
		t.wrap(0, "what if: assumes that two checks saw each finding, after mode remediate was turned on")
	case c.Memory != nil:
		t.wrap(0, fmt.Sprintf("as things stand at %s, by %s", roll.Clock(c.Snapshot.At), c.Memory.From))
	}
}

func (t *text) answer(indent int, a AnswerDocument) {
	t.wrap(indent, a.Text)
	because := ""
	switch a.Answer {
	case AnswerActed, AnswerActing, AnswerFailed:
		because = "because: "
	}
	for _, s := range []string{roll.Behind(because, a.Detail), roll.Behind("cause: ", a.Cause), roll.Behind("evidence: ", a.Evidence), a.Console, roll.Behind("it ends ", a.Ends)} {
		t.wrap(indent+2, s)
	}
	for line := range strings.Lines(a.Fix) { // not wrapped: it is for pasting
		t.line("%s%s", strings.Repeat(" ", indent+2), strings.TrimSuffix(line, "\n"))
	}
}

// remembered writes the history of the instance, and how many of an hour's acts are used.
func (c Check) remembered(t *text) {
	if c.Memory == nil {
		return
	}
	if history := c.history(); len(history) > 0 {
		t.section("history")
		for _, e := range history {
			t.item("%s %s", roll.Clock(e.At), e.Detail)
		}
	}
	t.section("acts of the last hour, against limits.actionsPerHour")
	for _, b := range c.Memory.Budgets(c.Snapshot.At) {
		t.item("%s: %d of %d", b.Of, b.Used, b.Max)
	}
	if c.Memory.Evidence != "" {
		t.section("evidence about it, if any, is in")
		t.wrap(4, c.Memory.Evidence)
		t.wrap(4, evidencePage(c.Memory.Cluster.Region, c.Memory.Evidence))
	}
}

// history returns the history of the instance or subject that the explanation is about.
func (c Check) history() []HistoryDocument {
	id, group, findings := c.Subject, roll.Group(""), c.Assessment.Findings // filtered by Concerning
	switch {
	case c.Memory == nil, c.Asked == nil && c.Subject == "":
		return []HistoryDocument{}
	case c.Asked != nil:
		id, group = c.Asked.ID, c.Asked.Instance.Group
		findings = slices.DeleteFunc(slices.Concat(findings, c.Assessment.Starting), func(f roll.Finding) bool { return f.Instance != id })
	}
	if len(findings) > 0 {
		group = cmp.Or(findings[len(findings)-1].Group, group)
	}
	return append([]HistoryDocument{}, c.Memory.History(id, group, c.Snapshot.At)...)
}

// Explained returns the findings that an explanation is about: those past their warning
// time, and earlier ones with a decisive cause that is not just a symptom.
func (c Check) Explained() []roll.Finding {
	out := c.Findings()
	for _, f := range append(c.Watching(), c.Assessment.Starting...) {
		if slices.ContainsFunc(c.Diagnoses[f.Key()].Causes, proven) {
			out = append(out, f)
		}
	}
	return out
}

// proven reports whether a cause is decisive, and more than a symptom.
func proven(w roll.Cause) bool { return w.Confidence == roll.Decisive && !w.Symptom }

func (c Check) explainOne(t *text, f roll.Finding) {
	d := c.Diagnoses[f.Key()]
	t.line("")
	t.item("%s %s%s", kindInWords(f), f.Instance, inBrackets(f.Node))
	t.answer(6, c.About(f))
	t.line("")
	tolerance := "within its tolerance until"
	if f.Stage == roll.Overdue {
		tolerance = "past its tolerance since"
	}
	t.wrap(6, fmt.Sprintf("%s; owner %s, group %s, %s %s", f.Summary, f.Owner, f.Group, tolerance, roll.Clock(f.Due)))
	for i, cause := range d.Causes {
		t.line("")
		t.item("%d. %s, %s", i+1, cause.Code, cause.Confidence)
		t.wrap(7, cause.Summary)
		if len(cause.NotChecked) > 0 {
			t.wrap(7, "not checked: "+strings.Join(cause.NotChecked, ", ")+", any of which would explain it")
		}
		t.wrap(7, roll.Behind("not proven: ", cause.Unsettled))
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
}

// checked writes which causes were ruled out, and which ones could not be checked. Those ruled out are often more than
// forty: beside a proven cause their number is enough. Without one they are what a reader need not look at again.
func (c Check) checked(t *text, d roll.Diagnosis) {
	switch n := len(d.RuledOut); {
	case n == 0:
	case slices.ContainsFunc(d.Causes, proven):
		t.line("")
		t.item("%d %s ruled out (-o json has the codes)", n, roll.Plural(n, "other cause was", "other causes were"))
	default:
		t.line("")
		t.line("    ruled out")
		t.wrap(6, strings.Join(d.RuledOut, ", "))
	}
	if len(d.NotChecked) == 0 {
		return
	}
	t.line("")
	t.line("    not checked")
	for _, n := range together(d.NotChecked) {
		t.wrap(6, n.Code+": "+n.Reason)
	}
}

func evidenceInWords(e roll.Evidence) string {
	return e.Source + roll.Behind(", ", e.Field) + ": " + e.Observed + inBrackets(roll.Behind("expected: ", e.Expected))
}

// ExplanationDocument is the JSON form of an explanation. It extends that of the check.
type ExplanationDocument struct {
	Document
	// WhatIf: every finding counts as seen twice, and as opened after mode remediate was
	// turned on. Otherwise Memory says whose memory the answer is based on.
	WhatIf   bool   `json:"whatIf"`
	Memory   string `json:"memory,omitempty"`
	Instance string `json:"instance,omitempty"` // the instance in question, "" for all
	Subject  string `json:"subject,omitempty"`  // the subject in question, if that is no instance
	// Summary is the explanation in one paragraph, "" if nothing is explained.
	Summary string `json:"summary,omitempty"`
	// Answers are short. Those about findings are in the order of the findings.
	Answers []AnswerDocument `json:"answers"`
	// History is that of the instance, its group and its cluster.
	History []HistoryDocument `json:"history"`
	Budgets []BudgetDocument  `json:"budgets,omitempty"`
	// EvidenceFolder is where all evidence about the instance is stored.
	EvidenceFolder string `json:"evidenceFolder,omitempty"`
	// Commands can be copied: to investigate the first finding, to keep its instance, to stop
	// all acts on the cluster, and to fetch the evidence. The fixes are with the causes.
	Commands []Recipe `json:"commands,omitempty"`
}

// Explanation returns the JSON form of an explanation of the check. Its findings are those
// of Explained, including some that still have time, which are then not among those watched.
func (c Check) Explanation() ExplanationDocument {
	d := ExplanationDocument{Document: c.Document(), WhatIf: c.WhatIf, Summary: c.Gist(), Subject: string(c.Subject), Answers: append([]AnswerDocument{}, c.Answers()...), History: c.history()}
	explained := c.Explained()
	told := make(map[roll.FindingKey]bool, len(explained))
	for _, f := range explained {
		told[f.Key()] = true
	}
	d.Findings = c.findings(explained)
	d.Watching = c.findings(slices.DeleteFunc(c.Watching(), func(f roll.Finding) bool { return told[f.Key()] }))
	d.Commands = c.commands()
	if c.Asked != nil {
		d.Instance = string(c.Asked.ID)
	}
	if c.Memory != nil {
		d.Memory, d.Budgets, d.EvidenceFolder = c.Memory.From, c.Memory.Budgets(c.Snapshot.At), c.Memory.Evidence
	}
	return d
}

// Only returns the part of the check that is about one instance, and about the objects that belong to
// it, such as its NodeClaim.
func (c Check) Only(id roll.InstanceID) Check {
	ids := []roll.InstanceID{id}
	for _, f := range append(slices.Clone(c.Assessment.Findings), c.Assessment.Starting...) {
		if f.Machine() == id {
			ids = append(ids, f.Instance)
		}
	}
	c = c.about(ids)
	if len(c.Assessment.Findings) > 0 || c.Memory != nil && c.Memory.State.Knows(id) {
		return c // it, or its history, is known
	}
	if c.Snapshot.Instance(id) == nil && !slices.ContainsFunc(c.Snapshot.Nodes, func(n roll.Node) bool { return n.Instance == id }) {
		if c.Asked != nil && c.Asked.Known == roll.No {
			return c // the answer says so
		}
		c.Faults = append(slices.Clone(c.Faults), fmt.Sprintf("there is no instance %s of %s: its tags name another cluster or none, it is gone, or it could not be read", id, c.Snapshot.Cluster.ID.Name))
	}
	return c
}

// Concerning returns the part of the check that is about a subject that is no instance: the
// findings about it, about related subjects, and about the node or NodeClaim that it names. For a
// group, a note names its instances that have findings; explain returns the command for one of them.
func (c Check) Concerning(subject roll.InstanceID, related []roll.InstanceID, explain func(roll.InstanceID) string) Check {
	kind, name, _ := subject.Subject()
	ids := append([]roll.InstanceID{subject}, related...)
	var ill []roll.InstanceID
	for _, f := range append(slices.Clone(c.Assessment.Findings), c.Assessment.Starting...) {
		switch {
		case kind == "node" && f.Node == name, kind == "nodeclaim" && f.Removal.Claim == name, f.Kind.OnlyTold() && f.Group == roll.Group(subject):
			ids = append(ids, f.Instance)
		case f.Group == roll.Group(subject) && !slices.Contains(ill, cmp.Or(f.Machine(), f.Instance)):
			ill = append(ill, cmp.Or(f.Machine(), f.Instance))
		}
	}
	c = c.about(ids)
	c.Subject = subject
	if n := len(ill); n > 0 {
		what := fmt.Sprintf("%d %s of %s %s findings (%s)", n, roll.Plural(n, "instance", "instances"), subject, roll.Plural(n, "has", "have"), roll.Few(ill, namedBeneath))
		c.beneath = &beneath{what, explain(ill[0])}
		c.Assessment.Notes = append(slices.Clone(c.Assessment.Notes), c.beneath.note())
	}
	return c
}

func (c Check) about(ids []roll.InstanceID) Check {
	other := func(id roll.InstanceID) bool { return !slices.Contains(ids, id) }
	others := func(f roll.Finding) bool { return other(f.Instance) }
	c.Assessment.Findings = slices.DeleteFunc(slices.Clone(c.Assessment.Findings), others)
	c.Assessment.Starting = slices.DeleteFunc(slices.Clone(c.Assessment.Starting), others)
	c.Assessment.Unjudged = slices.DeleteFunc(slices.Clone(c.Assessment.Unjudged), other)
	c.Assessment.NotNodes = slices.DeleteFunc(slices.Clone(c.Assessment.NotNodes), func(n assess.NotNode) bool { return other(n.Instance) })
	c.Plan.Orders = slices.DeleteFunc(slices.Clone(c.Plan.Orders), func(o plan.Order) bool { return other(o.Instance) })
	c.Plan.Held = slices.DeleteFunc(slices.Clone(c.Plan.Held), func(h plan.Held) bool { return other(h.Instance) })
	return c
}
