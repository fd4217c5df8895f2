package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

// Overview is the clusters of several accounts, with the causes that they share.
type Overview struct {
	At     time.Time // when it was made
	Checks []Check   // one of each cluster
	Unread []string  // what could not be read at all: each a sentence
}

// OverviewDocument is the JSON form of an overview. Every list is present, even if empty.
type OverviewDocument struct {
	At       time.Time         `json:"at"`
	Accounts []AccountDocument `json:"accounts"` // those with the most findings first
	Shared   []SharedDocument  `json:"shared"`   // decisive causes first, then those of the most clusters
	// Clusters are the documents of the checks as rollcall check prints them, the worst first: a
	// Document, or the JSON that was read.
	Clusters []any    `json:"clusters"`
	Unread   []string `json:"unread"` // what could not be read at all
}

// AccountDocument sums up the clusters of an AWS account.
type AccountDocument struct {
	Account  string `json:"account"` // 12 digits, "" if a check could not read it
	Clusters int    `json:"clusters"`
	Findings int    `json:"findings"`
}

// SharedDocument is a cause that findings of several clusters have.
type SharedDocument struct {
	Code string `json:"code"`
	// Subject is the object that has the cause, such as ami/ami-0123456789abcdef0, if all clusters
	// mean the same one; or else its kind, such as role; or else "".
	Subject    string           `json:"subject"`
	Confidence roll.Confidence  `json:"confidence"`
	Clusters   []roll.ClusterID `json:"clusters"`  // the worst first
	Instances  int              `json:"instances"` // or other objects that a finding is about
	// Summary and Fix are those of the first cluster.
	Summary string `json:"summary"`
	Fix     string `json:"fix"`
}

// worstFirst returns the checks in order of urgency.
func (o Overview) worstFirst() []Check {
	return slices.SortedStableFunc(slices.Values(o.Checks), moreUrgent)
}

// Document returns the JSON form of the overview.
func (o Overview) Document() OverviewDocument {
	d := OverviewDocument{At: o.At.UTC(), Accounts: o.accounts(), Shared: o.shared(), Clusters: []any{}, Unread: append([]string{}, o.Unread...)}
	for _, c := range o.worstFirst() {
		if c.stored != nil {
			d.Clusters = append(d.Clusters, c.stored)
		} else {
			d.Clusters = append(d.Clusters, c.Document())
		}
	}
	return d
}

func (o Overview) accounts() []AccountDocument {
	out := []AccountDocument{}
	for _, of := range roll.Grouped(o.Checks, func(c Check) string { return c.Snapshot.Cluster.ID.Account }) {
		a := AccountDocument{Account: of[0].Snapshot.Cluster.ID.Account, Clusters: len(of)}
		for _, c := range of {
			a.Findings += len(c.Findings())
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b AccountDocument) int {
		return cmp.Or(b.Findings-a.Findings, cmp.Compare(a.Account, b.Account))
	})
	return out
}

// anywhere returns what clusters can share of a cause's subject. An AMI has the same id in every
// account. The name of any other object says nothing elsewhere, so its kind is left.
func anywhere(subject string) string {
	kind, _, _ := strings.Cut(subject, "/")
	if kind == "ami" {
		return subject
	}
	return kind
}

// shared returns the causes that are the first of a finding in several clusters.
func (o Overview) shared() []SharedDocument {
	type key struct {
		code, subject string
		confidence    roll.Confidence
	}
	index := map[key]int{}
	out := []SharedDocument{}
	for _, c := range o.worstFirst() {
		counted := map[key]map[roll.InstanceID]bool{}
		for _, f := range c.Findings() {
			why, ok := first(c.Diagnoses[f.Key()].Causes)
			if !ok {
				continue
			}
			k := key{why.Code, anywhere(why.Subject), why.Confidence}
			i, known := index[k]
			if !known {
				i = len(out)
				index[k] = i
				out = append(out, SharedDocument{Code: k.code, Subject: k.subject, Confidence: k.confidence, Summary: why.Summary, Fix: why.Fix})
			}
			if counted[k] == nil {
				counted[k] = map[roll.InstanceID]bool{}
				out[i].Clusters = append(out[i].Clusters, c.Snapshot.Cluster.ID)
			}
			if !counted[k][f.Instance] {
				counted[k][f.Instance] = true
				out[i].Instances++
			}
		}
	}
	out = slices.DeleteFunc(out, func(s SharedDocument) bool { return len(s.Clusters) < 2 })
	slices.SortStableFunc(out, func(a, b SharedDocument) int {
		return cmp.Or(roll.TrueFirst(a.Confidence == roll.Decisive, b.Confidence == roll.Decisive), len(b.Clusters)-len(a.Clusters), b.Instances-a.Instances)
	})
	return out
}

// extent says where the cause is: "7 clusters in 3 accounts, 12 instances".
func (s SharedDocument) extent() string {
	return extent(s.Clusters) + ", " + count(s.Instances, "instance")
}

// extent counts clusters and those of their accounts that are known.
func extent(clusters []roll.ClusterID) string {
	accounts := map[string]bool{}
	for _, id := range clusters {
		accounts[id.Account] = true
	}
	delete(accounts, "")
	s := count(len(clusters), "cluster")
	if len(accounts) > 0 {
		s += " in " + count(len(accounts), "account")
	}
	return s
}

// name returns the code of the cause, and what has it.
func (s SharedDocument) name() string {
	return perhaps(roll.Cause{Code: s.Code, Confidence: s.Confidence}) + roll.Behind(", ", s.Subject)
}

func (s SharedDocument) names() []string {
	return roll.Map(s.Clusters, func(id roll.ClusterID) string { return id.Name + inBrackets(place(id)) })
}

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, roll.Plural(n, what, what+"s")) }

// title says what the overview is about.
func (o Overview) title() string {
	return "Roll call of " + extent(roll.Map(o.Checks, func(c Check) roll.ClusterID { return c.Snapshot.Cluster.ID }))
}

// Write writes the overview as text: a table of the clusters, the worst first, the causes that they
// share, and what could not be read. It returns the first error of w.
func (o Overview) Write(w io.Writer, layout Layout) error {
	t := &text{w: w, Layout: layout}
	checks := o.worstFirst()
	sum := sumUp(checks)
	t.head(o.title() + ". " + sum.verdict())
	if len(checks) > 0 {
		t.wrap(0, "The oldest result is of "+roll.Clock(oldestOf(checks))+".")
		t.line("")
		o.rows(t, checks)
	}
	if shared := o.shared(); len(shared) > 0 {
		t.section("shared by several clusters")
		for _, s := range shared {
			t.item("%s: %s", s.name(), s.extent())
			t.wrap(6, roll.Few(s.names(), 3))
			t.wrap(6, fmt.Sprintf("in %s: %s", s.Clusters[0].Name, s.Summary))
			t.fix(6, s.Fix)
		}
	}
	t.list("could not be read", o.unread(checks))
	return t.err
}

// unread returns what could not be read: accounts, files, and parts of clusters.
func (o Overview) unread(checks []Check) []string {
	out := slices.Clone(o.Unread)
	for _, c := range checks {
		id := c.Snapshot.Cluster.ID
		where := id.Name + inBrackets(place(id)) + ": "
		if !c.Complete() {
			out = append(out, where+c.Notes()[0])
		}
		if n := len(c.Assessment.Unjudged); n > 0 {
			out = append(out, where+count(n, "instance")+" could not be judged")
		}
	}
	return out
}

// rows writes the table of the clusters. On a terminal without room for causes they are left out,
// and names are cut.
func (o Overview) rows(t *text, checks []Check) {
	g := grid{rows: [][]string{{"CLUSTER", "ACCOUNT", "REGION", "READY", "FINDINGS", "OLDEST", "CAUSES"}}}
	for _, c := range checks {
		id := c.Snapshot.Cluster.ID
		ready, old := fmt.Sprintf("%d/%d", c.Assessment.Ready, c.Assessment.Nodes), "-"
		if _, unread := c.unread(); unread {
			ready = "?"
		}
		findings := c.Findings()
		if len(findings) > 0 {
			old = Age(c.Snapshot.At.Sub(oldest(findings).Since))
		}
		var causes Tally
		for _, f := range findings {
			if why, ok := first(c.Diagnoses[f.Key()].Causes); ok {
				causes.Add(perhaps(why))
			}
		}
		g.rows = append(g.rows, []string{id.Name, cmp.Or(id.Account, "-"), cmp.Or(id.Region, "-"), ready, fmt.Sprint(len(findings)), old, cmp.Or(roll.Few(causes.Names, 2), "-")})
	}
	if t.cut() && t.Columns < besideLeast {
		for i := range g.rows {
			g.rows[i] = g.rows[i][:len(g.rows[i])-1]
		}
	}
	g.measure()
	if over := g.width() - t.Columns; t.cut() && over > 0 {
		g.widths[0] = max(len("CLUSTER"), g.widths[0]-over)
	}
	for i, row := range g.rows {
		color := bold
		if i > 0 {
			color = toneColors[checks[i-1].tone()]
		}
		if t.cut() {
			row[0] = short(row[0], g.widths[0])
		}
		t.cells(color, g.widths, row)
	}
}

var toneColors = map[page.Tone]string{page.ToneBad: red, page.ToneWarn: yellow, page.ToneGood: green}

// Page returns the page of the overview.
func (o Overview) Page() page.Document {
	d := Page(o.Checks)
	d.Title, d.Rest = o.title(), "rollcall report --output json has all of them"
	if len(o.Checks) > 0 {
		d.Notes = append(d.Notes, "The oldest result is of "+roll.Clock(oldestOf(o.Checks))+".")
	}
	if len(o.Unread) > 0 {
		lines := roll.Map(o.Unread, func(s string) page.Line { return page.Line{Text: s} })
		d.Answers = append([]page.Answer{{Question: "Could not be read", Tone: page.ToneBad, Lines: lines}}, d.Answers...)
	}
	shared := o.shared()
	if len(shared) == 0 {
		return d
	}
	same := page.Answer{Question: "Shared causes", Tone: page.ToneWarn}
	table := page.Table{
		Title: "Causes that several clusters share", Caption: "Each cluster has the fix with its own names",
		Columns: []page.Column{{Name: "Cause"}, {Name: "Extent"}, {Name: "Clusters"}, {Name: "In the first of them"}},
	}
	for _, s := range shared {
		same.Lines = append(same.Lines, page.Line{Text: s.name() + ": " + s.extent()})
		table.Rows = append(table.Rows, []string{s.name(), s.extent(), strings.Join(s.names(), ", "), s.Summary})
	}
	d.Answers, d.Tables = append(d.Answers, fewLines(same)), append(d.Tables, table)
	return d
}
