package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// goldenPage compares a page with testdata/page-<name>.golden.html.
func goldenPage(t *testing.T, name string, checks []Check) {
	t.Helper()
	golden.File(t, "testdata/page-"+name+".golden.html", rendered(t, checks))
}

func rendered(t testing.TB, checks []Check) string {
	t.Helper()
	data, err := page.Render(Page(checks))
	must.Succeed(t, err)
	return string(data)
}

// populated adds groups, zones and registration times to a check.
func populated(c Check) Check {
	c.Snapshot.Cluster.Version = "1.36"
	c.Snapshot.Instances = []roll.Instance{{ID: instanceID(1), Zone: "eu-west-1b", ZoneID: "euw1-az3"}}
	c.Snapshot.Shifts = []roll.Shift{{ZoneID: "euw1-az3", Expires: now.Add(2 * time.Hour)}}
	took := func(n, from, step int) (out []int) {
		for i := range n {
			out = append(out, from+i*step/10)
		}
		return out
	}
	c.Assessment.Populations = map[roll.Group]assess.Population{
		"nodegroup/web-blue":       {Owner: roll.OwnerManagedNodeGroup, Nodes: 24, Ready: 18, Deadline: 15 * time.Minute, Took: took(200, 38, 3)},
		"nodepool/default":         {Owner: roll.OwnerKarpenter, Nodes: 14, Ready: 14, Deadline: 15 * time.Minute, Took: took(120, 27, 6)},
		"asg/web-workers-20260114": {Owner: roll.OwnerAutoScalingGroup, Nodes: 8, Ready: 8, Deadline: 15 * time.Minute, Took: took(30, 110, 330)},
		"nodepool/gpu":             {Owner: roll.OwnerKarpenter, Nodes: 2, Ready: 1, Deadline: 30 * time.Minute, Took: took(9, 420, 900)},
	}
	c.Assessment.Registration = map[roll.Group]assess.RegistrationTimes{}
	for g, p := range c.Assessment.Populations {
		at := func(percent int) time.Duration { return time.Duration(p.Took[len(p.Took)*percent/100]) * time.Second }
		c.Assessment.Registration[g] = assess.RegistrationTimes{Count: len(p.Took), P50: at(50), P95: at(95), P99: at(99)}
	}
	c.Assessment.Zones = map[string]assess.ZoneCount{"eu-west-1a": {Nodes: 17, Ready: 11, Silent: 6}, "eu-west-1b": {Nodes: 16, Ready: 15}, "eu-west-1c": {Nodes: 15, Ready: 15}}
	return c
}

// well makes all nodes of a check ready.
func well(c Check) Check {
	c.Snapshot.Shifts = nil
	c.Assessment.Nodes, c.Assessment.Ready = 48, 48
	for g, p := range c.Assessment.Populations {
		p.Ready = p.Nodes
		c.Assessment.Populations[g] = p
	}
	for name, z := range c.Assessment.Zones {
		c.Assessment.Zones[name] = assess.ZoneCount{Nodes: z.Nodes, Ready: z.Nodes}
	}
	return c
}

func TestPages(t *testing.T) {
	all := checks()
	goldenPage(t, "account", append(account(), named(populated(diagnosed(findings(all["watching"]))), "shop-production")))
	goldenPage(t, "calm", []Check{well(populated(all["healthy"]))})
	goldenPage(t, "unread", []Check{all["unreadable"]})
	goldenPage(t, "gone", []Check{all["gone"]})
}

// whatIsShown returns every text and every number of a document.
func whatIsShown(d page.Document) string { return fmt.Sprintf("%+v", d) }

// The page shows everything in the JSON form as long as nothing is cut, except the causes
// that were ruled out.
func TestAPageTellsWhatTheJSONTells(t *testing.T) {
	for name, c := range checks() {
		t.Run(name, func(t *testing.T) {
			got, d := whatIsShown(Page([]Check{populated(c)})), c.Document()
			want := slices.Concat([]string{d.Cluster, d.Region, string(d.Mode), fmt.Sprintf("Nodes:%d Ready:%d Starting:%d", d.Nodes, d.Ready, d.Waiting)}, d.Notes)
			for _, f := range slices.Concat(d.Findings, d.Watching) {
				want = append(want, f.Instance, f.Node, f.Group, f.Owner, f.Zone, f.Kind, f.Condition, f.Stage, f.Summary, f.Since.String(), f.Due.String())
				for _, w := range f.Causes {
					want = append(want, w.Code, string(w.Confidence), w.Summary, w.Fix, w.Subject)
					for _, e := range w.Evidence {
						want = append(want, e.Source, e.Field, e.Observed, e.Expected)
					}
				}
				for _, n := range f.NotChecked {
					want = append(want, n.Code, n.Reason)
				}
			}
			for _, h := range d.Held {
				want = append(want, string(h.Instance), string(h.Group), string(h.Action), string(h.Reason), h.Detail)
			}
			for _, o := range d.Outcomes {
				want = append(want, o.Instance, o.Action, o.Reason, o.Detail)
			}
			for _, n := range d.NotNodes {
				want = append(want, string(n.Instance), n.Name, n.Why)
			}
			for _, w := range want {
				expect.That(t, strings.Contains(got, w), "%q is not on the page", w)
			}
		})
	}
}

// A page may call a cluster healthy only if it was read and nothing was found.
func TestAPageSaysThatNothingIsToBeDoneOnlyWhenSo(t *testing.T) {
	all := checks()
	for name, c := range all {
		d := Page([]Check{c})
		calm := c.Complete() && len(c.Findings()) == 0
		expect.Equal(t, d.Subtitle == "Nothing to do.", calm, "%s: %q", name, d.Subtitle)
		expect.Equal(t, strings.HasPrefix(d.Clusters[0].Summary, "Nothing to do"), calm, "%s: %q", name, d.Clusters[0].Summary)
		expect.Equal(t, d.Clusters[0].Tone == page.ToneGood, calm, "%s: tone %s", name, d.Clusters[0].Tone)
		_, unread := c.unread()
		expect.That(t, (d.Clusters[0].Unread != "") == unread, "%s: unread %q", name, d.Clusters[0].Unread)
	}
	expect.Equal(t, Page([]Check{all["healthy"], all["unreadable"]}).Subtitle, "1 cluster could not be judged. No finding in the rest.", "of two")
	expect.Equal(t, Page([]Check{all["findings"], all["unreadable"], all["incomplete"]}).Subtitle, "1 cluster could not be judged. 1 cluster is incomplete: something could not be read or done. 10 findings, 9 past tolerance.", "of three")
}

func TestFiguresSumClustersUp(t *testing.T) {
	all := checks()
	var got []string
	for _, f := range Page([]Check{all["findings"], named(all["healthy"], "calm"), all["unreadable"]}).Figures {
		got = append(got, fmt.Sprintf("%s: %s (%s) %s", f.Label, f.Value, f.Note, f.Tone))
	}
	want := []string{
		"Clusters: 3 (1 could not be judged) bad", "Nodes ready: 44 (of 51) warning", "Findings: 9 (8 past tolerance) bad",
		"Oldest finding: 2d (in shop-production) ", "Held back: 3 () held", "Acts: 1 (and 3 refused, failed or unclear) warning",
	}
	expect.Same(t, got, want, "figures")
}

func TestBucketsReachToTheDeadlineAndAsFarAsTimesDo(t *testing.T) {
	const s, m = time.Second, time.Minute
	for name, c := range map[string]struct {
		took     []int
		deadline time.Duration
		want     []page.Bucket
	}{
		"none":                {nil, 15 * m, nil},
		"at a bound":          {[]int{15, 30, 30, 31}, 45 * s, []page.Bucket{{UpTo: 15 * s, Count: 1}, {UpTo: 30 * s, Count: 2}, {UpTo: 45 * s, Count: 1}}},
		"faster than allowed": {[]int{300}, 15 * m, []page.Bucket{{UpTo: 5 * m, Count: 1}, {UpTo: 10 * m}, {UpTo: 15 * m}}},
		"slower than allowed": {[]int{901}, 15 * m, []page.Bucket{{UpTo: 30 * m, Count: 1}}},
		"between bounds":      {[]int{600}, 20 * m, []page.Bucket{{UpTo: 10 * m, Count: 1}, {UpTo: 15 * m}, {UpTo: 30 * m}}},
		"beyond all bounds":   {[]int{3600, 3601}, 15 * m, []page.Bucket{{UpTo: time.Hour, Count: 1}, {Count: 1}}},
		"no deadline":         {[]int{40}, 0, []page.Bucket{{UpTo: 45 * s, Count: 1}}},
	} {
		expect.Same(t, buckets(c.took, c.deadline), c.want, "%s", name)
	}
}

func TestGroupsWithFindingsComeFirstAlsoWithoutNodes(t *testing.T) {
	c := populated(checks()["findings"])
	delete(c.Assessment.Populations, "nodepool/default")
	var got []string
	for _, g := range c.groups() {
		got = append(got, fmt.Sprintf("%s %s %d/%d %s", g.Name, g.Owner, g.Ready, g.Nodes, g.Note))
	}
	want := []string{
		"nodegroup/web-blue managed-nodegroup 18/24 6 findings", "asg/web-workers-20260114 autoscaling-group 8/8 2 findings",
		"nodepool/default karpenter 0/0 1 finding", "nodepool/gpu karpenter 1/2 ",
	}
	expect.Same(t, got, want, "groups")
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	d := Page(many(1, 2000))
	c := d.Clusters[0]
	if len(c.Findings) != pageFindings || c.More.Findings != 2000-pageFindings || len(c.Groups) != pageRows || c.More.Groups != 101 || d.Rest == "" {
		t.Errorf("%d findings and %d more, %d groups and %d more", len(c.Findings), c.More.Findings, len(c.Groups), c.More.Groups)
	}
	drawn := 0
	for _, g := range c.Groups {
		if g.Registration != nil && g.Registration.Buckets != nil {
			drawn++
		}
	}
	expect.That(t, drawn == pageCharts, "the times of %d groups are drawn", drawn)
	if got := rendered(t, many(1, 2000)); !strings.Contains(got, "and 1500 more: rollcall check --output json has all of them") || !strings.Contains(got, ">2000</") {
		t.Error("the page does not say what it leaves out")
	}
	for _, c := range Page(many(100, 20)).Clusters {
		expect.That(t, len(c.Findings) == pageEach, "%s: %d findings", c.Name, len(c.Findings))
	}
}

// many returns checks of that many clusters with that many findings each, every one with a
// cause and a held act.
func many(clusters, findings int) []Check {
	cause := diagnosed(checks()["findings"]).Diagnoses
	why := cause[slices.SortedFunc(maps.Keys(cause), func(a, b roll.FindingKey) int { return strings.Compare(string(a.Instance), string(b.Instance)) })[0]]
	var out []Check
	for n := range clusters {
		c := named(populated(checks()["healthy"]), fmt.Sprintf("cluster-%03d", n))
		c.Assessment.Nodes, c.Assessment.Ready = 100*findings, 99*findings
		c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{}
		for i := range findings {
			f := silent(n*findings+i+1, 3*time.Hour)
			c.Assessment.Findings = append(c.Assessment.Findings, f)
			c.Diagnoses[f.Key()] = why
			c.Plan.Held = append(c.Plan.Held, held(f, plan.UnhealthyShare, "too many are past their tolerance"))
		}
		for g := range findings / 10 {
			name := roll.NodeGroupGroup(fmt.Sprintf("workers-%03d", g))
			c.Assessment.Populations[name] = assess.Population{Owner: roll.OwnerManagedNodeGroup, Nodes: 100, Ready: 99, Deadline: 15 * time.Minute, Took: []int{30 + g, 40 + g, 50 + g}}
			c.Assessment.Registration[name] = assess.RegistrationTimes{Count: 3, P50: 40 * time.Second, P95: time.Minute, P99: time.Minute}
		}
		for _, g := range []roll.Group{"asg/web-workers-20260114", "nodepool/default", "nodepool/gpu", "nodegroup/web-blue"} {
			if findings >= 1000 {
				delete(c.Assessment.Populations, g)
				delete(c.Assessment.Registration, g)
			}
		}
		out = append(out, c)
	}
	return out
}

func TestALargePageIsStillRead(t *testing.T) {
	for name, checks := range map[string][]Check{"2,000 findings": many(1, 2000), "100 clusters": many(100, 20), "100 calm clusters": many(100, 0)} {
		n := len(rendered(t, checks))
		expect.That(t, n <= 6<<20, "%s: %d KB", name, n>>10)
	}
}

func BenchmarkPage(b *testing.B) {
	for name, checks := range map[string][]Check{"2000-findings": many(1, 2000), "100-clusters": many(100, 20)} {
		b.Run(name, func(b *testing.B) {
			var size int
			for b.Loop() {
				size = len(rendered(b, checks))
			}
			b.ReportMetric(float64(size), "B/page")
		})
	}
}

// The top of a page shows the worst cluster, what needs a person, and what happens by itself.
func TestAPageAnswersFirst(t *testing.T) {
	all := checks()
	var got []string
	for _, a := range Page([]Check{all["healthy"], named(diagnosed(all["findings"]), "shop"), named(all["watching"], "quiet"), all["unreadable"]}).Answers {
		for _, l := range a.Lines {
			got = append(got, fmt.Sprintf("%s: %s: %s", a.Question, l.Cluster, l.Text))
		}
	}
	want := []string{
		"Worst cluster: shop-production: Its nodes could not be judged.",
		"Needs a person: shop-production: not judged: the Kubernetes API of shop-production refused the token of arn:aws:sts::111122223333:assumed-role/rollcall-inspect/rollcall (401 Unauthorized): the cluster h…",
		"Needs a person: shop: 3 NodeRoleNotMapped, 2 LaunchTemplateDrift (perhaps), of unknown cause: 1 Unregistered",
		"Happens by itself: shop: 2 terminate at 12:09Z, 1 terminated, 1 still within tolerance",
		"Happens by itself: quiet: 1 still within tolerance",
	}
	expect.Same(t, got, want, "answers")
	for _, a := range Page([]Check{all["healthy"]}).Answers[1:] {
		expect.That(t, a.Tone == page.ToneGood && len(a.Lines) == 1 && a.Lines[0].Text == "Nothing.", "%+v", a)
	}
}
