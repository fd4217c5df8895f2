// Package demo plays a day of a simulated account: its faults, what Rollcall finds,
// reports, does and holds, and what that costs and saves. Only the faults are staged: the
// functions that run are the deployed ones.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// Options are the settings of a demo.
type Options struct {
	Out io.Writer
	// Color uses the colors and symbols of a terminal.
	Color bool
	// HTML is the path of the page, "" for none.
	HTML string
	// Verbose prints every event of the day instead of one screen.
	Verbose bool
	// Whole is Verbose with the full text of every notice. Without it only the first notice
	// of each cause is shown in full.
	Whole bool
	// Pace is the pause between two entries.
	Pace time.Duration
	// Progress is called with the current step, and with "" before anything is printed. It
	// may be nil.
	Progress func(string)
}

// Run plays the day. It returns an error if the day could not be written, or if ctx ended
// first.
func Run(ctx context.Context, o Options) error {
	o.Verbose = o.Verbose || o.Whole
	defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
	day, stop := sim.Day(), func() bool { return ctx.Err() != nil }
	s := newStory(o, day)
	s.ctx = ctx
	s.opening()
	// The same day under a Rollcall that only reports, for comparison. Nothing waits for it but the
	// totals.
	type run struct {
		result sim.Result
		err    error
	}
	other, compared := newStory(Options{Out: io.Discard}, day), make(chan run, 1)
	go func() {
		r, err := sim.Run(day.Untended(), sim.Watch{Tell: other.tell, GoOn: true, Stop: stop})
		compared <- run{r, err}
	}()
	if !o.Verbose {
		s.o.Progress("playing 24 hours")
	}
	result, err := sim.Run(day, sim.Watch{Tell: s.tell, Step: s.step, GoOn: true, Stop: stop})
	s.flush()
	untended := <-compared
	s.o.Progress("")
	if err := cmp.Or(err, untended.err, ctx.Err()); err != nil {
		return err
	}
	if o.Verbose {
		s.closing(result, untended.result)
	} else {
		s.screen(other, result, untended.result)
	}
	if err := cmp.Or(s.err, ctx.Err()); err != nil {
		return err
	}
	if len(result.Violations) > 0 {
		return fmt.Errorf("a rule was broken: %s: %s", result.Violations[0].Rule, result.Violations[0].Detail)
	}
	if o.HTML == "" {
		return nil
	}
	data, err := page.Render(s.document(result, untended.result))
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.HTML, data, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	s.say("\nThe same as a page: %s\n", o.HTML)
	return s.err
}

// story is the day up to the current event.
type story struct {
	o      Options
	ctx    context.Context // ends a pause; nil in tests
	day    sim.Scenario
	err    error // the first failure to write
	minute []sim.Event
	events []sim.Event // all events
	course map[string][]sim.Standing
	times  []time.Time
	told   map[string]bool // notices that were printed in full, by cause
	// printed is when a line was last printed, and again the number of repetitions left out
	// since, by cluster.
	printed map[string]time.Time
	again   map[string]int
	// ordered is when an act was first ordered.
	ordered map[string]time.Time
	held    []*withheld
	shown   int // entries of the screen that were printed
}

func (s *story) pause() {
	if s.o.Pace <= 0 || s.ctx == nil {
		return
	}
	select {
	case <-s.ctx.Done():
	case <-time.After(s.o.Pace):
	}
}

// withheld is an act that was held for a while, for instances of one group.
type withheld struct {
	from, last                           time.Time
	cluster, group, kind, action, reason string
	detail                               string
	instances                            map[string]time.Time // when each was last held
}

func newStory(o Options, day sim.Scenario) *story {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &story{o: o, day: day, course: map[string][]sim.Standing{}, told: map[string]bool{}, ordered: map[string]time.Time{}, printed: map[string]time.Time{}, again: map[string]int{}}
}

func (s *story) say(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.o.Out, format, args...)
	}
}

func (s *story) tell(e sim.Event) {
	s.events = append(s.events, e)
	s.minute = append(s.minute, e)
	if e.Kind == sim.EventHeld {
		s.hold(e)
	}
}

// hold records held acts, by group and reason.
func (s *story) hold(e sim.Event) {
	for _, h := range s.held {
		if h.cluster == e.Cluster && h.group == e.Group && h.kind == e.Finding && h.action == e.Action && h.reason == e.Reason && e.At.Sub(h.last) < time.Hour {
			h.last = e.At
			h.instances[e.Instance] = e.At
			return
		}
	}
	s.held = append(s.held, &withheld{
		from: e.At, last: e.At, cluster: e.Cluster, group: e.Group, kind: e.Finding, action: e.Action, reason: e.Reason, detail: e.Detail,
		instances: map[string]time.Time{e.Instance: e.At},
	})
}

func (s *story) step(at time.Time, clusters []sim.Standing) {
	s.flush()
	s.live(at)
	if at.Minute()%5 == 0 {
		s.times = append(s.times, at)
		for _, c := range clusters {
			s.course[c.Cluster] = append(s.course[c.Cluster], c)
		}
	}
}

func (s *story) opening() {
	columns := screenWidth
	if s.o.Verbose {
		columns = width
	}
	s.say("%s\n", s.paint(bold, "A day in the life of an account"))
	for _, line := range report.Wrapped(fmt.Sprintf("%d clusters, %d nodes, mode remediate. The account is simulated; nothing of yours is read or touched.", len(s.day.Clusters), s.nodes()), columns) {
		s.say("%s\n", line)
	}
	s.say("\n")
}

// nodes returns the desired number of nodes of all clusters.
func (s *story) nodes() (n int) {
	for _, c := range s.day.Clusters {
		for _, g := range c.Groups {
			n += g.Desired
		}
	}
	return n
}

// flush prints the lines of a minute. Similar events share one line.
func (s *story) flush() {
	var lines []*line
	for _, e := range s.minute {
		l := lineOf(e)
		if l == nil {
			continue
		}
		if i := slices.IndexFunc(lines, func(o *line) bool { return o.key == l.key }); i >= 0 {
			lines[i].add(e)
			continue
		}
		if e.Kind == sim.EventOrder { // an order is repeated until it is carried out
			key := e.Cluster + e.Instance + e.Finding + e.Action
			if last, ok := s.ordered[key]; ok && e.At.Sub(last) < time.Hour {
				continue
			}
			s.ordered[key] = e.At
		}
		l.add(e)
		lines = append(lines, l)
	}
	s.minute = s.minute[:0]
	for _, l := range lines {
		if !s.o.Verbose || s.repeats(l) {
			continue
		}
		s.print(l)
		s.pause()
	}
}

// repeated is the minimum time before a line is printed again. Karpenter repeats every
// quarter of an hour the launch and termination of instances that do not register.
const repeated = 2 * time.Hour

// repeats reports whether a line only repeats a recent one. Such lines are counted, and the
// count is printed before the cluster's next news.
func (s *story) repeats(l *line) bool {
	e := l.event
	last, ok := s.printed[l.key]
	s.printed[l.key] = e.At
	if ok && e.At.Sub(last) < repeated && e.Kind != sim.EventAct {
		s.again[e.Cluster]++
		return true
	}
	if n := s.again[e.Cluster]; n > 0 {
		delete(s.again, e.Cluster)
		s.say("%s  %-9s %s\n", "     ", e.Cluster, s.paint(faint, fmt.Sprintf("... %d more like those above", n)))
	}
	return false
}

type line struct {
	key       string
	word      string
	color     string
	text      string // %s is the subject
	event     sim.Event
	instances []string
}

func (l *line) add(e sim.Event) {
	if e.Instance != "" && !slices.Contains(l.instances, e.Instance) {
		l.instances = append(l.instances, e.Instance)
	}
}

// whom returns the subject of the line.
func (l *line) whom() string {
	switch n := len(l.instances); n {
	case 0:
		return ""
	case 1:
		return l.instances[0]
	default:
		return fmt.Sprintf("%d instances", n)
	}
}

// lineOf returns the line of an event, nil if it is not shown.
func lineOf(e sim.Event) *line {
	l := &line{event: e, color: plain}
	switch e.Kind {
	case sim.EventFault:
		l.word, l.color, l.text = "FAULT", yellow, e.Text
		switch e.Stage {
		case "over":
			l.text = "over: " + e.Text
		case "healed":
			return nil
		}
	case sim.EventAilment:
		l.word, l.color, l.text = "sick", yellow, "%s of "+e.Group+": "+e.Detail
		if e.Detail == wellAgain {
			l.word, l.color, l.text = "healthy", green, "%s of "+e.Group
		}
	case sim.EventFinding:
		l.word, l.color = "finding", red
		l.text = e.Finding + " " + e.Stage + ": %s of " + e.Group
		if e.Stage == "resolved" {
			l.color = green
		}
	case sim.EventNotice:
		l.word, l.color, l.text = "notice", cyan, e.Subject
	case sim.EventHeld:
		if passing(e.Reason) {
			return nil
		}
		l.word, l.color, l.text = "held", magenta, e.Action+" of %s: "+e.Reason
	case sim.EventOrder:
		l.word, l.text = "order", e.Action+" %s of "+e.Group
	case sim.EventAct:
		l.word, l.color, l.text = "ACT", bold, done[e.Action]+" %s of "+e.Group
	case sim.EventEnd:
		l.word, l.text = "owner", "%s of "+e.Group+" "+strings.Replace(e.Detail, "ended by", "terminated by", 1)
		if strings.Contains(e.Detail, "rotation") || strings.Contains(e.Detail, "scale-in") || strings.Contains(e.Detail, "Rollcall") {
			return nil
		}
	case sim.EventLaunch:
		l.word, l.text = "owner", "%s "+e.Detail+" in "+e.Group
	case sim.EventViolated:
		l.word, l.color, l.text = "BROKEN", red, e.Detail
	default:
		return nil
	}
	l.key = strings.Join([]string{l.word, e.Cluster, l.text}, "|")
	return l
}

// done maps an action to its description in the past tense.
var done = map[string]string{
	"terminate": "terminated", "reboot": "rebooted", "cordon": "cordoned the node of", drain: "drained the node of", "uncordon": "uncordoned the node of", "evict": "evicted a pod from the node of",
	"delete-node": "deleted the node of", "delete-nodeclaim": "deleted the NodeClaim of",
}

// passing reports whether a reason passes by itself; no notice reports it.
func passing(reason string) bool { return plan.Reason(reason).Passing() }

// The columns of a line: for the whole day, and for one screen.
const (
	width       = 80
	screenWidth = 100
)

// print prints a line, folded, with its details below.
func (s *story) print(l *line) {
	e := l.event
	text := strings.Replace(l.text, "%s", l.whom(), 1)
	head := fmt.Sprintf("%s  %-9s %-8s ", e.At.Format("15:04"), e.Cluster, l.word)
	indent := strings.Repeat(" ", len(head))
	for i, part := range report.Wrapped(text, width-len(head)) {
		if i == 0 {
			s.say("%s%s\n", head[:len(head)-9], s.paint(l.color, fmt.Sprintf("%-8s %s", l.word, part)))
			continue
		}
		s.say("%s%s\n", indent, s.paint(l.color, part))
	}
	switch {
	case e.Kind == sim.EventFinding && e.Cause != "":
		s.below(indent, "because "+e.Cause+": "+e.Detail)
	case e.Kind == sim.EventHeld:
		s.below(indent, e.Detail)
	case e.Kind == sim.EventNotice:
		s.notice(indent, e)
	}
}

func (s *story) below(indent, text string) {
	for _, part := range report.Wrapped(text, width-len(indent)) {
		s.say("%s%s\n", indent, s.paint(faint, part))
	}
}

// notice prints a notice as it arrives by email. The first of each cause and kind is
// printed in full.
func (s *story) notice(indent string, e sim.Event) {
	if e.Cause != "" {
		s.say("%s%s\n", indent, s.paint(faint, "cause "+e.Cause))
	}
	if !s.o.Whole && (e.Cause == "" || s.told[e.Cause]) {
		return
	}
	s.told[e.Cause] = true
	s.say("\n")
	for _, row := range strings.Split(strings.TrimRight(e.Text, "\n"), "\n") {
		s.say("    %s %s\n", s.paint(cyan, "|"), row)
	}
	s.say("\n")
}

func (s *story) closing(r, untended sim.Result) {
	s.say("\n%s\n\n", s.paint(bold, "What was held, and why"))
	if len(s.held) == 0 {
		s.say("  nothing\n")
	}
	for _, h := range s.lasting() {
		n := len(h.instances)
		s.say("  %s-%s  %-9s %s of %d %s in %s: %s\n", h.from.Format("15:04"), s.lifted(h).Format("15:04"), h.cluster, h.action, n, roll.Plural(n, "instance", "instances"), h.group, s.paint(magenta, h.reason))
		s.below("                     ", h.detail)
	}
	s.say("\n%s\n\n", s.paint(bold, "The day in figures"))
	for _, f := range s.figures(r, untended) {
		s.say("  %-44s %s\n", f.Label, f.Value)
		s.below("    ", f.Note)
	}
}

// lasting returns the held acts of the day whose reasons did not pass by themselves,
// earliest first.
func (s *story) lasting() []*withheld {
	out := slices.DeleteFunc(slices.Clone(s.held), func(h *withheld) bool { return passing(h.reason) })
	slices.SortStableFunc(out, func(a, b *withheld) int {
		return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.cluster, b.cluster))
	})
	return out
}

// The colors of a terminal.
const (
	plain   = ""
	bold    = "1"
	faint   = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

func (s *story) paint(color, text string) string {
	if !s.o.Color || color == plain {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
