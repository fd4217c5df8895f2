package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

// Limits that keep a page readable; the rest is only counted. The JSON form has everything.
const (
	pageFindings = 500 // of all clusters together, but at least pageEach of each
	pageEach     = 10
	pageRows     = 100 // of any other list of a cluster
	pageCharts   = 12  // groups of a cluster whose registration times are drawn
	pageNotes    = 20
)

// Page returns the page of checks, one of each cluster, the most urgent first.
func Page(checks []Check) page.Document {
	checks = distinct(slices.SortedStableFunc(slices.Values(checks), moreUrgent))
	t := sumUp(checks)
	d := page.Document{
		Title: t.title(), Subtitle: t.verdict(), To: t.at, Answers: answers(checks), Figures: t.figures(),
		Rest: "rollcall check --output json has all of them",
	}
	each := max(pageEach, pageFindings/max(1, t.troubled))
	d.Clusters = roll.Map(checks, func(c Check) page.Cluster { return c.page(each) })
	return d
}

// distinct adds the place to the names that several clusters have, since a page links to a cluster by
// its name.
func distinct(checks []Check) []Check {
	namesakes := func(id roll.ClusterID) bool {
		return slices.ContainsFunc(checks, func(c Check) bool {
			other := c.Snapshot.Cluster.ID
			return other.Name == id.Name && other != id
		})
	}
	out := slices.Clone(checks)
	for i, c := range checks {
		if id := c.Snapshot.Cluster.ID; namesakes(id) {
			s := *c.Snapshot
			s.Cluster.ID.Name += inBrackets(place(id))
			out[i].Snapshot = &s
		}
	}
	return out
}

// urgency returns the rank of a check by urgency, 0 first. A cluster that could not be
// judged comes first, because it may hide any fault.
func (c Check) urgency() int {
	findings := c.Findings()
	switch {
	case !c.Snapshot.Has(roll.ScopeNodes) && !c.Snapshot.ClusterGone():
		return 0
	case slices.ContainsFunc(findings, func(f roll.Finding) bool { return f.Stage == roll.Overdue }):
		return 1
	case !c.Complete():
		return 2
	case len(findings) > 0:
		return 3
	}
	return 4
}

// moreUrgent compares checks by urgency, then by their oldest finding, then by name.
func moreUrgent(a, b Check) int {
	if n := cmp.Compare(a.urgency(), b.urgency()); n != 0 {
		return n
	}
	x, y := oldest(a.Findings()), oldest(b.Findings())
	if x.Since.IsZero() != y.Since.IsZero() {
		return roll.TrueFirst(!x.Since.IsZero(), !y.Since.IsZero())
	}
	return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(a.Snapshot.Cluster.ID.Name, b.Snapshot.Cluster.ID.Name), cmp.Compare(a.Snapshot.Cluster.ID.String(), b.Snapshot.Cluster.ID.String()))
}

func oldest(findings []roll.Finding) (oldest roll.Finding) {
	for _, f := range findings {
		if oldest.Since.IsZero() || f.Since.Before(oldest.Since) {
			oldest = f
		}
	}
	return oldest
}

// total is the sum of checks.
type total struct {
	clusters, unread, partial, troubled int
	nodes, ready                        int
	findings, overdue, held             int
	done, undone                        int
	at, since                           time.Time
	region                              string // "" if there are several
	only, oldest                        string // a cluster's name
}

func sumUp(checks []Check) total {
	t := total{clusters: len(checks)}
	for i, c := range checks {
		id := c.Snapshot.Cluster.ID
		t.only = id.Name
		if i == 0 {
			t.region = id.Region
		}
		if id.Region != t.region {
			t.region = ""
		}
		t.at = roll.Later(t.at, c.Snapshot.At)
		t.nodes += c.Assessment.Nodes
		t.ready += c.Assessment.Ready
		t.held += len(c.Plan.Held)
		switch {
		case !c.Snapshot.Has(roll.ScopeNodes) && !c.Snapshot.ClusterGone():
			t.unread++
		case !c.Complete() && !c.Snapshot.ClusterGone():
			t.partial++
		}
		findings := c.Findings()
		if len(findings) > 0 {
			t.troubled++
		}
		t.findings += len(findings)
		for _, f := range findings {
			if f.Stage == roll.Overdue {
				t.overdue++
			}
		}
		if f := oldest(findings); !f.Since.IsZero() && (t.since.IsZero() || f.Since.Before(t.since)) {
			t.since, t.oldest = f.Since, id.Name
		}
		for _, o := range c.Outcomes {
			if o.Result == remediate.Acted || o.Result == remediate.Ongoing {
				t.done++
			} else {
				t.undone++
			}
		}
	}
	return t
}

func (t total) title() string {
	if t.clusters == 1 {
		return "Roll call of " + t.only
	}
	return fmt.Sprintf("Roll call of %d clusters", t.clusters) + roll.Behind(" in ", t.region)
}

// verdict returns the summary in a sentence or two.
func (t total) verdict() string {
	var s []string
	if t.unread > 0 {
		s = append(s, fmt.Sprintf("%d %s could not be judged.", t.unread, roll.Plural(t.unread, "cluster", "clusters")))
	}
	if t.partial > 0 {
		s = append(s, fmt.Sprintf("%d %s incomplete: something could not be read or done.", t.partial, roll.Plural(t.partial, "cluster is", "clusters are")))
	}
	switch {
	case t.findings > 0:
		s = append(s, fmt.Sprintf("%d %s, %d past tolerance.", t.findings, roll.Plural(t.findings, "finding", "findings"), t.overdue))
	case len(s) == 0:
		s = append(s, "Nothing to do.")
	default:
		s = append(s, "No finding in the rest.")
	}
	return strings.Join(s, " ")
}

func (t total) figures() []page.Figure {
	clusters := page.Figure{Label: "Clusters", Value: fmt.Sprint(t.clusters), Tone: page.ToneGood, Note: "all were judged"}
	switch {
	case t.unread > 0:
		clusters.Tone, clusters.Note = page.ToneBad, fmt.Sprintf("%d could not be judged", t.unread)
	case t.partial > 0:
		clusters.Tone, clusters.Note = page.ToneWarn, fmt.Sprintf("%d not completely read or done", t.partial)
	}
	ready := page.Figure{Label: "Nodes ready", Value: fmt.Sprint(t.ready), Tone: page.ToneGood, Note: fmt.Sprintf("of %d", t.nodes)}
	if t.ready < t.nodes {
		ready.Tone = page.ToneWarn
	}
	findings := page.Figure{Label: "Findings", Value: fmt.Sprint(t.findings), Tone: page.ToneGood}
	if t.findings > 0 {
		findings.Tone, findings.Note = page.ToneWarn, fmt.Sprintf("%d past tolerance", t.overdue)
	}
	if t.overdue > 0 {
		findings.Tone = page.ToneBad
	}
	held := page.Figure{Label: "Held back", Value: fmt.Sprint(t.held)}
	if t.held > 0 {
		held.Tone = page.ToneHeld
	}
	out := []page.Figure{clusters, ready, findings}
	if !t.since.IsZero() {
		out = append(out, page.Figure{Label: "Oldest finding", Value: Age(t.at.Sub(t.since)), Note: "in " + t.oldest})
	}
	out = append(out, held)
	if t.done+t.undone > 0 {
		acts := page.Figure{Label: "Acts", Value: fmt.Sprint(t.done), Tone: page.ToneGood}
		if t.undone > 0 {
			acts.Tone, acts.Note = page.ToneWarn, fmt.Sprintf("and %d refused, failed or unclear", t.undone)
		}
		out = append(out, acts)
	}
	return out
}

// page returns the check of one cluster, with at most that many findings.
func (c Check) page(findings int) page.Cluster {
	id := c.Snapshot.Cluster.ID
	out := page.Cluster{
		Name: id.Name, Place: place(id), Mode: string(c.Mode), Summary: c.summary(), Tone: c.tone(),
		Nodes: c.Assessment.Nodes, Ready: c.Assessment.Ready, Starting: c.Assessment.Waiting,
		Acts: c.acts(), Groups: c.groups(), Zones: c.zones(), Held: c.withheld(),
	}
	if v := c.Snapshot.Cluster.Version; v != "" {
		out.Version = "Kubernetes " + v
	}
	notes := c.Notes()
	if why, ok := c.unread(); ok {
		out.Unread = why
		notes = slices.DeleteFunc(notes, func(n string) bool { return n == why })
	}
	out.Notes = notes
	if more := len(notes) - pageNotes; more > 0 {
		out.Notes = append(slices.Clone(notes[:pageNotes]), fmt.Sprintf("and %d more notes", more))
	}
	out.Findings = roll.Map(cut(c.Findings(), findings, &out.More.Findings), c.finding)
	out.Watching = roll.Map(cut(c.Watching(), pageRows, &out.More.Watching), c.finding)
	out.NotNodes = roll.Map(cut(c.Assessment.NotNodes, pageRows, &out.More.NotNodes), func(n assess.NotNode) page.NotNode {
		return page.NotNode{Instance: string(n.Instance), Name: n.Name, Why: n.Why}
	})
	out.Held = cut(out.Held, pageRows, &out.More.Held)
	out.Acts = cut(out.Acts, pageRows, &out.More.Acts)
	out.Groups = cut(out.Groups, pageRows, &out.More.Groups)
	draw(out.Groups)
	if next := c.Plan.Next; !next.IsZero() {
		out.Next = "A verdict can change at " + roll.Clock(next) + "."
	}
	return out
}

// cut is a list up to a length; what it leaves out is counted.
func cut[T any](list []T, most int, more *int) []T {
	if len(list) <= most {
		return list
	}
	*more = len(list) - most
	return list[:most]
}

func place(id roll.ClusterID) string {
	if id.Region != "" && id.Account != "" {
		return id.Region + ", account " + id.Account
	}
	return id.Region + id.Account
}

// tone returns the level of attention for the cluster.
func (c Check) tone() page.Tone {
	switch c.urgency() {
	case 0, 1:
		return page.ToneBad
	case 2, 3:
		return page.ToneWarn
	}
	return page.ToneGood
}

func (c Check) summary() string {
	findings := c.Findings()
	switch {
	case len(findings) > 0:
		long := Age(c.Snapshot.At.Sub(oldest(findings).Since))
		return fmt.Sprintf("%d %s %s.", len(findings), roll.Plural(len(findings), "finding, for", "findings, the oldest for"), long)
	case c.Snapshot.ClusterGone(), !c.Snapshot.Has(roll.ScopeNodes):
		return "Its nodes could not be judged."
	case !c.Complete():
		return "No finding, but something could not be read or done."
	}
	return "Nothing to do: " + c.calm() + "."
}

// unread returns why a cluster could not be judged, false if it could.
func (c Check) unread() (string, bool) {
	if c.Snapshot.Has(roll.ScopeNodes) {
		return "", false
	}
	for _, g := range c.Snapshot.Gaps {
		if g.Scope == roll.ScopeCluster || g.Scope == roll.ScopeNodes {
			return g.Detail, true
		}
	}
	return "", true
}

// finding returns a finding with its causes and its next step.
func (c Check) finding(f roll.Finding) page.Finding {
	d, known := c.Diagnoses[f.Key()]
	out := page.Finding{
		Instance: string(f.Instance), Node: f.Node, Group: string(f.Group), Owner: string(f.Owner), Zone: f.Zone,
		Kind: string(f.Kind), Condition: f.Condition, Stage: string(f.Stage),
		Since: f.Since.UTC(), For: Age(c.Snapshot.At.Sub(f.Since)), Due: f.Due.UTC(), Summary: f.Summary, Next: c.fate(f).sentence(),
		Causes: d.Causes, NotChecked: together(d.NotChecked), Tone: stageTones[f.Stage],
	}
	if f.Contradiction != "" {
		out.Condition = "contradicted"
	}
	if known {
		out.Kept = c.Evidence
	}
	return out
}

// together merges the causes that were not checked for the same reason.
func together(open []roll.NotChecked) []roll.NotChecked {
	groups := roll.Grouped(open, func(n roll.NotChecked) string { return n.Reason })
	return roll.Map(groups, func(of []roll.NotChecked) roll.NotChecked {
		codes := roll.Map(of, func(n roll.NotChecked) string { return n.Code })
		of[0].Code = strings.Join(codes, ", ")
		return of[0]
	})
}

// withheld returns the held acts. Those with the same reason and text are merged.
func (c Check) withheld() []page.Withheld {
	return roll.Map(heldAlike(c.Plan.Held), func(h alike) page.Withheld {
		return page.Withheld{Instance: roll.Few(h.instances, 1), Group: string(h.Group), Kind: string(h.Kind), Action: string(h.Action), Reason: string(h.Reason), Detail: h.Detail}
	})
}

// acts returns the orders of this check with their outcomes.
func (c Check) acts() []page.Act {
	var out []page.Act
	settled := map[string]bool{}
	for _, o := range c.Outcomes {
		settled[o.Order.ID] = true
		a := act(o.Order)
		a.Result, a.Detail, a.Tone = inWords(o), o.Detail, page.ToneWarn
		switch o.Result {
		case remediate.Acted:
			a.Tone = page.ToneGood
		case remediate.Ongoing:
			a.Tone = page.ToneHeld
		case remediate.Failed, remediate.Unclear:
			a.Tone = page.ToneBad
		}
		if o.Reason != "" {
			a.Result += ", " + string(o.Reason)
		}
		out = append(out, a)
	}
	for _, o := range c.Plan.Orders {
		if !settled[o.ID] {
			a := act(o)
			a.Result, a.Detail, a.Tone = "ordered", o.Why, page.ToneHeld
			out = append(out, a)
		}
	}
	return out
}

func act(o plan.Order) page.Act {
	return page.Act{Instance: string(o.Instance), Node: o.Node, Group: string(o.Group), Kind: string(o.Kind), Action: string(o.Action)}
}

// groups returns the groups of the cluster, those with the most findings first. A stored document
// does not say how many nodes they have.
func (c Check) groups() []page.Group {
	if c.stored != nil {
		return nil
	}
	found, owners := map[roll.Group]int{}, map[roll.Group]roll.Owner{}
	for _, f := range c.Findings() {
		found[f.Group]++
		owners[f.Group] = f.Owner
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(c.Assessment.Populations)), maps.Keys(found))
	slices.Sort(names)
	var out []page.Group
	for _, name := range slices.Compact(names) {
		p := c.Assessment.Populations[name]
		g := page.Group{Name: string(name), Owner: string(cmp.Or(p.Owner, owners[name])), Nodes: p.Nodes, Ready: p.Ready}
		if n := found[name]; n > 0 {
			g.Note, g.Tone = fmt.Sprintf("%d %s", n, roll.Plural(n, "finding", "findings")), page.ToneWarn
		}
		if t, ok := c.Assessment.Registration[name]; ok {
			g.Registration = &page.Registration{Count: t.Count, P50: t.P50, P95: t.P95, P99: t.P99, Deadline: p.Deadline, Buckets: buckets(p.Took, p.Deadline)}
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b page.Group) int { return found[roll.Group(b.Name)] - found[roll.Group(a.Name)] })
	return out
}

// draw keeps only the distributions of the slowest groups, whose deadline may be too short.
func draw(groups []page.Group) {
	var drawn []int
	for i, g := range groups {
		if g.Registration != nil {
			drawn = append(drawn, i)
		}
	}
	if len(drawn) <= pageCharts {
		return
	}
	slices.SortStableFunc(drawn, func(a, b int) int {
		return cmp.Compare(groups[b].Registration.P99, groups[a].Registration.P99)
	})
	for _, i := range drawn[pageCharts:] {
		groups[i].Registration.Buckets = nil
	}
}

// bounds are the upper bounds of the buckets of a distribution.
var bounds = []time.Duration{
	15 * time.Second, 30 * time.Second, 45 * time.Second, time.Minute, 90 * time.Second, 2 * time.Minute, 3 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

// buckets returns the distribution of times in seconds. The buckets reach at least to the
// deadline, so that the margin is visible, and as far beyond as the times do.
func buckets(took []int, deadline time.Duration) []page.Bucket {
	if len(took) == 0 {
		return nil
	}
	counts := make([]int, len(bounds)+1)
	for _, s := range took {
		i := slices.IndexFunc(bounds, func(b time.Duration) bool { return time.Duration(s)*time.Second <= b })
		if i < 0 {
			i = len(bounds)
		}
		counts[i]++
	}
	first := slices.IndexFunc(counts, func(n int) bool { return n > 0 })
	last := len(counts) - 1
	for last > first && counts[last] == 0 && (bounds[last-1] >= deadline) {
		last--
	}
	var out []page.Bucket
	for i := first; i <= last; i++ {
		b := page.Bucket{Count: counts[i]}
		if i < len(bounds) {
			b.UpTo = bounds[i]
		}
		out = append(out, b)
	}
	return out
}

func (c Check) zones() []page.Zone {
	var out []page.Zone
	for _, name := range slices.Sorted(maps.Keys(c.Assessment.Zones)) {
		z := c.Assessment.Zones[name]
		shown := page.Zone{Name: name, Nodes: z.Nodes, Ready: z.Ready}
		var notes []string
		if z.Silent > 0 {
			shown.Tone = page.ToneWarn
			notes = append(notes, fmt.Sprintf("%d not ready", z.Silent))
		}
		if n := z.Nodes - z.Ready - z.Silent; n > 0 {
			notes = append(notes, fmt.Sprintf("%d starting", n))
		}
		if s, ok := c.shiftedFrom(name); ok {
			shown.Tone = page.ToneWarn
			notes = append(notes, "a zonal shift leads away from it until "+roll.Clock(s.Expires))
		}
		shown.Note = strings.Join(notes, "; ")
		out = append(out, shown)
	}
	return out
}

// shiftedFrom returns the zonal shift away from a zone, false if there is none. Shifts
// identify zones by id, not by name.
func (c Check) shiftedFrom(zone string) (roll.Shift, bool) {
	return roll.Find(c.Snapshot.Shifts, func(s roll.Shift) bool {
		return slices.ContainsFunc(c.Snapshot.Instances, func(i roll.Instance) bool { return i.ZoneID == s.ZoneID && i.Zone == zone })
	})
}

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
		out = append(out, fewLines(a))
	}
	return out
}

// fewLines returns an answer with answerLines lines at most. The page has the rest below.
func fewLines(a page.Answer) page.Answer {
	if more := len(a.Lines) - answerLines; more > 0 {
		a.Lines = append(a.Lines[:answerLines:answerLines], page.Line{Text: fmt.Sprintf("and %d more, below.", more)})
	}
	return a
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
			unexplained.Add(kindInWords(f))
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
