package demo

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/policy"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// played runs the day of the demo once. Its result is used for both results of a page.
var played = sync.OnceValues(func() (*story, sim.Result) {
	day := sim.Day()
	s := newStory(Options{Out: io.Discard}, day)
	r, err := sim.Run(day, sim.Watch{Tell: s.tell, Step: s.step, GoOn: true})
	if err != nil {
		panic(err)
	}
	return s, r
})

func rendered(t *testing.T) []byte {
	t.Helper()
	s, r := played()
	data, err := page.Render(s.document(r, r))
	must.Succeed(t, err)
	return data
}

func TestTheSameDayMakesTheSamePage(t *testing.T) {
	expect.That(t, bytes.Equal(rendered(t), rendered(t)), "a story that is rendered twice makes two pages")
}

func TestThePageStandsByItself(t *testing.T) {
	data := rendered(t)
	expect.That(t, len(data) <= 3<<20, "the page has %d bytes", len(data))
	for _, loads := range []string{"<script ", "<link", "<iframe", "<img", " src=", "@import", "url(", `href="http`} {
		expect.That(t, !bytes.Contains(data, []byte(loads)), "the page has %q", loads)
	}
}

func TestThePageTellsTheWholeDay(t *testing.T) {
	s, _ := played()
	text := html.UnescapeString(string(rendered(t)))
	for _, c := range s.day.Clusters {
		expect.That(t, strings.Contains(text, "Timeline of "+c.Name), "no timeline of %s", c.Name)
	}
	for _, f := range s.day.Faults {
		expect.That(t, strings.Contains(text, f.Says), "nothing of the fault %q", f.Says)
	}
	notices := 0
	for _, e := range s.events {
		switch {
		case e.Kind == sim.EventNotice:
			notices++
			expect.That(t, strings.Contains(text, strings.TrimRight(e.Text, "\n")), "%s: the notice %q is not there as it arrived", e.At, e.Subject)
		case e.Kind == sim.EventFinding && e.Cause != "" && !strings.Contains(text, `<span class="code">`+e.Cause+"</span>"):
			t.Errorf("%s: the cause %s of %s is not there", e.At, e.Cause, e.Instance)
		}
	}
	expect.That(t, notices != 0, "a day without notices")
}

// The field reports on which Rollcall is based, each with the cause that it must show.
func TestEveryFieldReportIsTold(t *testing.T) {
	s, r := played()
	d := s.document(r, r)
	for _, report := range []struct{ name, cluster, group, kind, cause string }{
		{"a custom AMI with a broken startup taint", "orders", "asg/golden", "Unregistered", "UserDataMalformedFlags"},
		{"an undeclared Cilium taint", "search", "nodepool/cilium", "Uninitialized", "UndeclaredStartupTaint"},
		{"an arm64 pool that does not register", "search", "nodepool/arm", "Unregistered", "ArchitectureMismatch"},
		{"the controller's role mapped", "payments", "nodepool/batch", "Unregistered", "ControllerRoleMapped"},
		{"short of memory, then silent", "payments", "asg/memory", "Unknown", "MemoryPressurePreceded"},
	} {
		i := slices.IndexFunc(d.Clusters, func(c page.Cluster) bool { return c.Name == report.cluster })
		if !slices.ContainsFunc(d.Clusters[i].Findings, func(f page.Finding) bool {
			return f.Group == report.group && f.Kind == report.kind && slices.ContainsFunc(f.Causes, func(c roll.Cause) bool { return c.Code == report.cause })
		}) {
			t.Errorf("%s: no %s of %s with the cause %s", report.name, report.kind, report.group, report.cause)
		}
		if !slices.ContainsFunc(d.Clusters[i].Notes, func(n string) bool { return strings.Contains(n, report.kind+" ("+report.cause+")") }) {
			t.Errorf("%s: the notes of %s do not tell it", report.name, report.cluster)
		}
	}
}

func TestEveryFindingIsOnThePageAndHasALane(t *testing.T) {
	s, r := played()
	for _, c := range s.document(r, r).Clusters {
		told := map[string]bool{}
		for _, e := range s.events {
			if e.Kind == sim.EventFinding && e.Cluster == c.Name {
				told[e.Instance+" "+e.Finding] = true
			}
		}
		for _, f := range c.Findings {
			delete(told, f.Instance+" "+f.Kind)
			if f.Until.Before(f.Since) && !f.Until.IsZero() {
				t.Errorf("%s of %s was over at %s, before it began at %s", f.Kind, f.Instance, f.Until, f.Since)
			}
			if !slices.ContainsFunc(c.Timeline.Lanes, func(l page.Lane) bool { return l.Label == f.Instance || stands(l, f.Instance) }) {
				t.Errorf("%s of %s has no lane", f.Kind, f.Instance)
			}
		}
		for left := range told {
			t.Errorf("%s: %s is not among the findings", c.Name, left)
		}
	}
}

// stands reports whether a lane is for several instances, including this one.
func stands(l page.Lane, instance string) bool {
	return slices.ContainsFunc(l.Spans, func(sp page.Span) bool { return strings.Contains(sp.Title, instance) })
}

func TestSpansFollowOneAnother(t *testing.T) {
	s, r := played()
	for _, c := range s.document(r, r).Clusters {
		for _, l := range c.Timeline.Lanes {
			for i, sp := range l.Spans {
				last := i == len(l.Spans)-1
				if !last && !sp.To.Equal(l.Spans[i+1].From) || !sp.To.IsZero() && sp.To.Before(sp.From) {
					t.Errorf("%s: %s from %s to %s", l.Label, sp.State, sp.From, sp.To)
				}
			}
		}
	}
}

// history returns a story made of events that the day does not have.
func history(events ...sim.Event) *story {
	day := sim.Scenario{Start: noon, Storm: 6 * time.Hour, Permitted: "remediate", Clusters: []sim.ClusterSpec{{Name: "shop", Groups: []sim.GroupSpec{{Name: "web", Owner: "autoscaling-group", Desired: 100}}}}}
	s := newStory(Options{Out: io.Discard}, day)
	for _, e := range events {
		e.Cluster, e.Group = "shop", "asg/web"
		s.tell(e)
	}
	return s
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestAnOrderThatWasNotCarriedOutIsNoAct(t *testing.T) {
	s := history(
		sim.Event{At: noon.Add(time.Minute), Kind: sim.EventState, Instance: "i-1", Stage: sim.StateNotReady},
		sim.Event{At: noon.Add(16 * time.Minute), Kind: sim.EventFinding, Instance: "i-1", Finding: "NotReady", Stage: "overdue"},
		sim.Event{At: noon.Add(17 * time.Minute), Kind: sim.EventOrder, Instance: "i-1", Finding: "NotReady", Action: "cordon", Detail: "node a is not ready"},
		sim.Event{At: noon.Add(17*time.Minute + time.Second), Kind: sim.EventAct, Instance: "i-1", Action: "cordon"},
		sim.Event{At: noon.Add(18 * time.Minute), Kind: sim.EventOrder, Instance: "i-1", Finding: "NotReady", Action: "drain", Detail: "node a is not ready"},
		sim.Event{At: noon.Add(19 * time.Minute), Kind: sim.EventOrder, Instance: "i-1", Finding: "NotReady", Action: "drain", Detail: "node a is not ready"},
		sim.Event{At: noon.Add(20 * time.Minute), Kind: sim.EventFinding, Instance: "i-1", Finding: "NotReady", Stage: "resolved"},
	)
	c := s.cluster(s.day.Clusters[0])
	if len(c.Acts) != 2 || c.Acts[0].Action != "cordon" || c.Acts[0].Result != resultDone || c.Acts[1].Action != "drain" || c.Acts[1].Result != resultOrdered {
		t.Errorf("acts %+v", c.Acts)
	}
	want := "Node a is not ready. Told at 12:16; cordon at 12:17; drain ordered at 12:18; the instance recovered."
	expect.That(t, len(c.Findings) == 1 && c.Findings[0].Summary == want, "findings %+v, want %q", c.Findings, want)
}

// An act is held until its instance, its finding or its reason ends; otherwise to the end
// of the day.
func TestWhatIsHeldLastsUntilItIsHeldNoMore(t *testing.T) {
	held := func(after time.Duration, id, reason string) sim.Event {
		return sim.Event{At: noon.Add(after), Kind: sim.EventHeld, Instance: id, Finding: "Unregistered", Action: "terminate", Reason: reason}
	}
	ended := sim.Event{At: noon.Add(20 * time.Minute), Kind: sim.EventEnd, Instance: "i-1", Detail: "ended by its owner"}
	for _, tt := range []struct {
		name   string
		events []sim.Event
		want   time.Duration
	}{
		{"its instance ends", []sim.Event{held(0, "i-1", "SharedCause"), ended}, 20 * time.Minute},
		{"its finding is over", []sim.Event{held(0, "i-1", "SharedCause"), {At: noon.Add(time.Hour), Kind: sim.EventFinding, Instance: "i-1", Finding: "Unregistered", Stage: "resolved"}}, time.Hour},
		{"it is held for another reason", []sim.Event{held(0, "i-1", "SharedCause"), held(5*time.Minute, "i-1", "OneAtATime")}, 5 * time.Minute},
		{"the first ends before the second is held", []sim.Event{held(0, "i-1", "SharedCause"), ended, held(30*time.Minute, "i-2", "SharedCause"), {At: noon.Add(40 * time.Minute), Kind: sim.EventEnd, Instance: "i-2"}}, 40 * time.Minute},
		{"nothing ends it", []sim.Event{held(0, "i-1", "SharedCause"), held(time.Minute, "i-2", "SharedCause"), ended}, 6 * time.Hour},
	} {
		s := history(tt.events...)
		if to := s.withheld("shop")[0].To; !to.Equal(noon.Add(tt.want)) {
			t.Errorf("%s: held until %s, want %s", tt.name, to, noon.Add(tt.want))
		}
	}
}

func TestTheTerminalAndThePageTellTheSameOfWhatWasHeld(t *testing.T) {
	s, r := played()
	var out bytes.Buffer
	told := *s
	told.o.Out = &out
	told.closing(r, r)
	var gone bool
	for _, c := range s.document(r, r).Clusters {
		for _, h := range c.Held {
			gone = gone || h.Reason == "ClusterNotActive"
			line := fmt.Sprintf("  %s-%s  %-9s %s of ", h.From.Format("15:04"), h.To.Format("15:04"), c.Name, h.Action)
			expect.That(t, strings.Contains(out.String(), line), "no line begins with %q", line)
		}
	}
	expect.That(t, gone, "what a deleted cluster left is not told to be held")
}

// The day uses the default tolerances.
func TestTheDayHasTheTolerancesOfTheDefaults(t *testing.T) {
	day := sim.Day()
	doc, err := policy.Parse([]byte(day.Policy))
	must.Succeed(t, err)
	for _, c := range day.Clusters {
		want := policy.Default().For(c.Name, "", roll.Selector{})
		want.Mode, want.ModeSet = policy.Remediate, true
		expect.Equal(t, cmp.Diff(want, doc.For(c.Name, "", roll.Selector{})), "", "%s has a policy of its own (-default +its)", c.Name)
	}
}

func TestLanesAreCappedAndItIsSaid(t *testing.T) {
	var events []sim.Event
	for i := range lanesShown + 5 {
		id := "i-" + strings.Repeat("a", i+1)
		events = append(events, sim.Event{At: noon.Add(time.Hour), Kind: sim.EventFinding, Instance: id, Finding: "Unknown", Stage: "overdue", Cause: "KubeletSilent"})
		if i == lanesShown+4 {
			events = append(events, sim.Event{At: noon.Add(time.Hour), Kind: sim.EventOrder, Instance: id, Finding: "Unknown", Action: "reboot"})
		}
	}
	s := history(events...)
	c := s.cluster(s.day.Clusters[0])
	lanes := c.Timeline.Lanes
	expect.That(t, len(lanes) == lanesShown && strings.Contains(c.Timeline.Caption, "5 more are left out"), "%d lanes, %q", len(lanes), c.Timeline.Caption)
	acted := "i-" + strings.Repeat("a", lanesShown+5)
	expect.That(t, slices.ContainsFunc(lanes, func(l page.Lane) bool { return l.Label == acted }), "the one that was acted on is left out")
}
