// Package scenarios runs the folders beside it. Each describes an account and a cluster, their changes over time, and
// what Rollcall must find, order, hold, do and request at each step. README.md describes a folder's files.
//
// All parts are real, except AWS, which is emulated, and the clock, which the scenario advances.
package scenarios

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

var bed *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{RBAC: "infra/rbac.yaml"}, func(b *testbed.Bed) { bed = b }, nil))
}

func TestScenarios(t *testing.T) {
	folders, err := filepath.Glob("*/scenario.yaml")
	must.That(t, err == nil && len(folders) > 0, "no scenarios: %v", err)
	for _, f := range folders {
		dir := filepath.Dir(f)
		t.Run(dir, func(t *testing.T) { play(t, dir) })
	}
}

// play runs one scenario from its first step to its last.
func play(t *testing.T, dir string) {
	s, err := load(dir)
	must.Succeed(t, err)
	w, err := build(t.Context(), bed, s, time.Now().UTC().Truncate(time.Second))
	must.Succeed(t, err)
	d, err := deploy(t.Context(), w, s, t.TempDir())
	must.Succeed(t, err)
	began := w.now
	for i, st := range s.Steps {
		w.now = began.Add(time.Duration(st.At))
		must.Succeed(t, w.apply(t.Context(), st.Do))
		if st.Check == nil {
			continue
		}
		p := &player{t: t, w: w, d: d, when: fmt.Sprintf("step %d at %s", i+1, time.Duration(st.At))}
		if st.Why != "" {
			p.when += " (" + st.Why + ")"
		}
		p.check(st, i == len(s.Steps)-1)
	}
	if unexpected, err := bed.Unexpected(t.Context()); err != nil || len(unexpected) > 0 {
		t.Errorf("the emulator gave answers that AWS would not give: %+v, %v", unexpected, err)
	}
}

// player compares one check with what a step expects of it.
type player struct {
	t    *testing.T
	w    *world
	d    *deployment
	when string
}

// check runs the check of a step and compares it. The last check is repeated at the same time: nothing has happened
// since, so there must be nothing new to report or do.
func (p *player) check(st step, last bool) {
	p.t.Helper()
	if len(st.BeforeAct) > 0 {
		p.d.beforeAct = func() error { return p.w.apply(p.t.Context(), st.BeforeAct) }
	}
	doc, calls := p.look()
	if p.d.beforeAct != nil {
		p.t.Errorf("%s: nothing was about to be done, so beforeAct did not happen", p.when)
		p.d.beforeAct = nil
	}
	p.compare(doc, calls, *st.Check)
	p.afterwards(*st.Check)
	if last || st.Check.Again != nil {
		_, again := p.look()
		p.same("calls of the same check again", again, st.Check.Again)
	}
}

// look runs one check and returns its report and the changing requests it made.
func (p *player) look() (report.Document, []string) {
	p.t.Helper()
	must.Succeed(p.t, bed.ForgetCalls(p.t.Context()))
	doc, err := p.d.check(p.t.Context())
	must.Succeed(p.t, err)
	calls, err := p.w.changes(p.t.Context())
	expect.That(p.t, err == nil, "%s: %v", p.when, err)
	for _, err := range p.d.faults {
		p.t.Errorf("%s: before the act: %v", p.when, err)
	}
	p.d.faults = nil
	return doc, calls
}

func (p *player) compare(doc report.Document, calls []string, want check) {
	p.t.Helper()
	expect.That(p.t, doc.Complete != want.Incomplete, "%s: complete is %v; notes %q", p.when, doc.Complete, doc.Notes)
	expect.That(p.t, doc.Waiting == want.Waiting, "%s: %d waiting, want %d", p.when, doc.Waiting, want.Waiting)
	var findings, causes, said, watching, notNodes, orders, held, acts []string
	for _, f := range doc.Findings {
		findings = append(findings, words(cmp.Or(f.Subject, f.Instance), f.Kind, f.Stage))
		for _, c := range f.Causes {
			causes = append(causes, words(cmp.Or(f.Subject, f.Instance), f.Kind, c.Code, string(c.Confidence)))
			said = append(said, c.Summary, c.Fix)
		}
	}
	for _, f := range doc.Watching {
		watching = append(watching, words(cmp.Or(f.Subject, f.Instance), f.Kind))
	}
	for _, n := range doc.NotNodes {
		notNodes = append(notNodes, string(n.Instance))
	}
	for _, o := range doc.Orders {
		orders = append(orders, words(o.Instance, o.Action))
	}
	for _, h := range doc.Held {
		held = append(held, words(string(h.Instance), string(h.Action), string(h.Reason)))
	}
	for _, o := range doc.Outcomes {
		acts = append(acts, words(o.Instance, o.Action, o.Result, o.Reason))
	}
	p.sameSet("findings", findings, want.Findings)
	p.sameSet("watching", watching, want.Watching)
	p.sameSet("tagged, not nodes", notNodes, want.NotNodes)
	p.sameSet("orders", orders, want.Orders)
	p.sameSet("held", held, want.Held)
	if want.Causes != nil {
		p.sameSet("causes", causes, want.Causes)
	}
	p.same("acts", acts, want.Acts)
	p.same("calls", calls, want.Calls)
	for _, note := range want.Notes {
		expect.That(p.t, slices.ContainsFunc(doc.Notes, func(n string) bool { return strings.Contains(p.w.named(n), note) }), "%s: no note says %q: %q", p.when, note, doc.Notes)
	}
	for _, words := range want.Says {
		expect.That(p.t, slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, words) }), "%s: no cause says %q: %q", p.when, words, said)
	}
	if at := p.w.now.Add(time.Duration(want.Next)); want.Next > 0 && !doc.Next.Equal(at) {
		p.t.Errorf("%s: the next check is at %s, want %s", p.when, doc.Next, at)
	}
}

// afterwards compares the state that the check left behind.
func (p *player) afterwards(want check) {
	p.t.Helper()
	if want.Cordoned != nil {
		nodes, err := bed.Kube().CoreV1().Nodes().List(p.t.Context(), metav1.ListOptions{})
		must.Succeed(p.t, err)
		var cordoned []string
		for _, n := range nodes.Items {
			if n.Spec.Unschedulable {
				cordoned = append(cordoned, n.Name)
			}
		}
		p.sameSet("cordoned", cordoned, want.Cordoned)
	}
	if want.Pods != nil {
		pods, err := bed.PodNames(p.t.Context())
		must.Succeed(p.t, err)
		p.sameSet("pods", pods, want.Pods)
	}
	if want.Tags != nil {
		tags, err := p.w.marks(p.t.Context())
		must.Succeed(p.t, err)
		p.sameSet("tags", tags, want.Tags)
	}
}

// words joins the non-empty parts of a line.
func words(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(w string) bool { return w == "" }), " ")
}

// same compares lists, including their order.
func (p *player) same(what string, got, want []string) {
	p.t.Helper()
	got, want = p.name(got), p.expand(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: %s\n got %s\nwant %s", p.when, what, list(got), list(want))
	}
}

// sameSet compares lists in any order.
func (p *player) sameSet(what string, got, want []string) {
	p.t.Helper()
	got, want = slices.Sorted(slices.Values(got)), p.expand(want)
	got = p.name(got)
	slices.Sort(got)
	slices.Sort(want)
	p.same(what, got, want)
}

func (p *player) name(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, p.w.named(l))
	}
	return out
}

// expand replaces a line about a counted name by one line for each of its members.
func (p *player) expand(lines []string) (out []string) {
	for _, l := range lines {
		fields := strings.Fields(l)
		for i, f := range fields {
			if set := p.w.sets[f]; len(set) > 1 || len(set) == 1 && set[0] != f {
				for _, name := range set {
					out = append(out, strings.Join(slices.Concat(fields[:i], []string{name}, fields[i+1:]), " "))
				}
				fields = nil
				break
			}
		}
		if fields != nil {
			out = append(out, strings.Join(fields, " "))
		}
	}
	return out
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	return "\n     " + strings.Join(lines, "\n     ")
}
