package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Heights of the rows of a chart, in pixels. The labels beside it have the same heights,
// through classes that sheet declares.
const (
	heightAxis  = 22
	heightBand  = 18
	heightReady = 76
	heightHead  = 22
	heightLane  = 24
	heightGap   = 8
	curveHeight = heightReady - 2*heightGap

	// Within a lane, marks are above the bar of its states.
	pinBelow = 8
	barBelow = 19
)

// narrowest is the least width of a chart in pixels; below it the reader scrolls.
const narrowest = 880

// markGap is the least distance between marks, in percent: 11 pixels of the narrowest
// chart.
const markGap = 1.25

// thinnest is the least width of a span, in percent, so that a short one stays visible.
const thinnest = 0.25

// chart is a timeline, laid out.
type chart struct {
	ID      string
	Cluster string
	Caption string
	Facts   []string // what the chart shows, in a few words each
	Drawn   string   // what the chart shows, in a sentence
	Height  int
	Rows    []row
	Ticks   []tick
	Top     int // y at which the lines of the ticks begin
	Bottom  int // y at which they and the lanes end
	Deep    int // from Top to Bottom
	Feet    int // y of the repeated labels of the ticks, 0 if they are not repeated
	Bands   []bandBox
	Most    int // number of nodes at the top of the curve
	Curve   curve
	CurveY  int
	Lanes   []laneBox
	StemEnd int // y at which the stems of marks end, relative to the marks
	Legend  legend
	Tale    []tale

	CurveHeight int
}

// row is a row of labels beside the chart.
type row struct {
	Class string // axis, band, ready, head or lane
	Label string
	Link  string // the id that the label links to
}

// bandBox is a band, laid out.
type bandBox struct {
	X, Width, End string
	LabelX        string
	LabelY        int
	Anchor        string
	Label, Title  string
}

// laneBox is a lane, laid out. The attributes of its bars and pins are preformatted, as there are
// thousands. They contain only numbers and names of this package, no outside text.
type laneBox struct {
	Y, BarY, PinY int
	Bars          []bar
	Pins          []pin
}

// bar is a span, laid out.
type bar struct {
	Place  template.HTMLAttr
	Title  string
	length float64
}

// pin is a mark, laid out. With Several set, it represents marks of one kind in short
// succession.
type pin struct {
	Place   template.HTMLAttr
	Stem    template.HTMLAttr // a line to its true position, if it was moved aside
	Several bool
	Title   string
}

// legend lists the symbols that the chart uses.
type legend struct {
	States  []symbol
	Marks   []symbol
	Ready   bool
	Lack    bool
	Unread  bool
	Aside   bool // marks that were moved aside
	Several bool // marks that represent several
}

// symbol is the word and the CSS class of a state or a kind of mark.
type symbol struct{ Class, Word string }

// tale is one lane in words.
type tale struct {
	Label, Sub string
	Entries    []entry
}

// entry is one span or mark in words.
type entry struct {
	at               time.Time
	Time, What, Text string
}

// The states and kinds of marks with a symbol of their own, in the order of the legend.
var (
	drawnStates = []State{StateLaunching, StateMissing, StateInitializing, StateReady, StateNotReady, StateUnknown, StateDraining, StateTerminated}
	drawnMarks  = []MarkKind{MarkLaunch, MarkFault, MarkFinding, MarkNotice, MarkHeld, MarkOrder, MarkAct, MarkResolved}
)

// symbolOf returns the symbol of a state or a kind of mark. Its class is the word itself, without spaces.
func symbolOf[T ~string](v T, drawn []T) symbol {
	if !slices.Contains(drawn, v) {
		return symbol{"other", string(v)}
	}
	return symbol{strings.ReplaceAll(string(v), " ", ""), string(v)}
}

// lay lays out a timeline, nil if it has no period. links are the ids of findings by
// instance.
func lay(id, cluster string, t Timeline, links map[string]string) *chart {
	if t.From.IsZero() || !t.To.After(t.From) {
		return nil
	}
	a := axis{t.From, t.To}
	lanes := len(t.Lanes)
	c := &chart{
		ID: id, Cluster: cluster, Caption: t.Caption, Ticks: a.ticks(), StemEnd: barBelow - pinBelow, CurveHeight: curveHeight,
		Drawn: fmt.Sprintf("From %s to %s; %d %s.", roll.Clock(t.From), roll.Clock(t.To), lanes, roll.Plural(lanes, "instance", "instances")),
	}
	c.row("axis", "UTC", "", heightAxis)
	c.Top = c.Height
	c.bands(a, t.Bands)
	c.ready(a, t.Ready)
	states, kinds := map[State]bool{}, map[MarkKind]bool{}
	if len(t.Marks) > 0 {
		t.Lanes = append([]Lane{{Label: "cluster", Marks: t.Marks}}, t.Lanes...)
	}
	for i, l := range t.Lanes {
		if l.Sub != "" && (i == 0 || t.Lanes[i-1].Sub != l.Sub) {
			c.row("head", l.Sub, "", heightHead)
		}
		c.lane(a, l, links[l.Label], states, kinds)
	}
	c.Bottom, c.Deep = c.Height, c.Height-c.Top
	if lanes > 16 {
		c.Feet = c.row("axis", "UTC", "", heightAxis) + 15
	}
	c.explain(a, t, states, kinds)
	return c
}

// row adds a row of labels and returns the y at which it begins.
func (c *chart) row(class, label, link string, height int) int {
	y := c.Height
	c.Rows = append(c.Rows, row{Class: class, Label: label, Link: link})
	c.Height += height
	return y
}

// characters returns the width of a label, in percent of the narrowest chart.
func characters(s string) float64 { return float64(len([]rune(s))+1) * 6.2 * 100 / narrowest }

// bands lays out the bands. Their labels take as few rows as possible without overlap.
func (c *chart) bands(a axis, bands []Band) {
	var ends []float64 // of the labels of each row
	for _, b := range slices.SortedStableFunc(slices.Values(bands), func(a, b Band) int { return a.From.Compare(b.From) }) {
		to := cmp.Or(b.To, a.to)
		if !a.meets(b.From, to) {
			continue
		}
		x, end := a.at(b.From), a.at(to)
		box := bandBox{
			X: number(x), Width: number(max(end-x, thinnest)), End: number(end), LabelX: number(x), Anchor: "start", Label: b.Label,
			Title: fmt.Sprintf("%s, %s", b.Label, stretch(a, b.From, b.To)),
		}
		left, right := x, x+characters(b.Label)
		if right > 100 {
			box.LabelX, box.Anchor = box.End, "end"
			left, right = end-characters(b.Label), end
		}
		n := slices.IndexFunc(ends, func(end float64) bool { return end <= left })
		if n < 0 {
			n = len(ends)
			ends = append(ends, 0)
		}
		ends[n] = right
		box.LabelY = c.Height + n*heightBand + 13
		c.Bands = append(c.Bands, box)
	}
	for range ends {
		c.row("band", "", "", heightBand)
	}
}

func (c *chart) ready(a axis, samples []Sample) {
	if len(samples) == 0 {
		return
	}
	c.Curve, c.Most = trace(a, samples, 1000, curveHeight)
	c.CurveY = c.row("ready", "Ready nodes", "", heightReady) + heightGap
	c.Legend.Ready, c.Legend.Lack = true, c.Curve.Lack != ""
	c.Legend.Unread = slices.ContainsFunc(samples, func(s Sample) bool { return s.Unknown })
}

func (c *chart) lane(a axis, l Lane, link string, states map[State]bool, kinds map[MarkKind]bool) {
	y := c.row("lane", l.Label, link, heightLane)
	box := laneBox{Y: y, BarY: y + barBelow, PinY: y + pinBelow}
	for _, s := range l.Spans {
		to := cmp.Or(s.To, a.to)
		if !a.meets(s.From, to) {
			continue
		}
		x1, x2 := a.at(s.From), a.at(to)
		x2 = min(100, max(x2, x1+thinnest))
		x1 = min(x1, x2-thinnest)
		states[s.State] = true
		box.Bars = append(box.Bars, bar{
			Place:  template.HTMLAttr(`class="` + symbolOf(s.State, drawnStates).Class + `" x1="` + number(x1) + `%" x2="` + number(x2) + `%"`),
			Title:  string(s.State) + ", " + stretch(a, s.From, s.To) + roll.Behind(": ", s.Title),
			length: x2 - x1,
		})
	}
	// Short bars are drawn last, on top of long ones.
	slices.SortStableFunc(box.Bars, func(a, b bar) int { return cmp.Compare(b.length, a.length) })
	box.Pins = c.pins(a, l.Marks, kinds)
	c.Lanes = append(c.Lanes, box)
}

func (c *chart) pins(a axis, marks []Mark, kinds map[MarkKind]bool) []pin {
	runs := succession(a, byTime(marks))
	at := roll.Map(runs, func(r []Mark) float64 { return a.at(r[0].At) })
	placed := spread(at, markGap, markGap/2, 100-markGap/2)
	out := make([]pin, 0, len(runs))
	for i, r := range runs {
		kinds[r[0].Kind] = true
		p := pin{Place: template.HTMLAttr(`href="#m-` + symbolOf(r[0].Kind, drawnMarks).Class + `" x="` + number(placed[i]) + `%"`), Several: len(r) > 1}
		lines := roll.Map(repeated(a, r), func(e entry) string { return e.Time + " " + e.What + roll.Behind(": ", e.Text) })
		p.Title = strings.Join(lines, "\n")
		if math.Abs(placed[i]-at[i]) > markGap/2 {
			p.Stem = template.HTMLAttr(`x1="` + number(placed[i]) + `%" x2="` + number(at[i]) + `%"`)
			c.Legend.Aside = true
		}
		c.Legend.Several = c.Legend.Several || p.Several
		out = append(out, p)
	}
	return out
}

// succession groups marks that are drawn as one: those of one kind that follow each other
// closely, within the width of four marks.
func succession(a axis, marks []Mark) [][]Mark {
	var out [][]Mark
	for _, m := range marks {
		if n := len(out) - 1; n >= 0 {
			run := out[n]
			x, last := a.at(m.At), run[len(run)-1]
			if last.Kind == m.Kind && x-a.at(last.At) < markGap && x-a.at(run[0].At) < 4*markGap {
				out[n] = append(run, m)
				continue
			}
		}
		out = append(out, []Mark{m})
	}
	return out
}

func byTime(marks []Mark) []Mark {
	return slices.SortedStableFunc(slices.Values(marks), func(a, b Mark) int { return a.At.Compare(b.At) })
}

// explain adds the text of the chart: the legend, facts, and the lanes in words.
func (c *chart) explain(a axis, t Timeline, states map[State]bool, kinds map[MarkKind]bool) {
	c.Legend.States, c.Legend.Marks = symbols(states, drawnStates), symbols(kinds, drawnMarks)
	if low, ok := lowest(t.Ready); ok {
		c.Facts = append(c.Facts, fmt.Sprintf("fewest ready: %d of %d at %s", low.Ready, low.Total, a.clock(low.At)))
	}
	for _, b := range t.Bands {
		c.Facts = append(c.Facts, fmt.Sprintf("%s: %s", b.Label, stretch(a, b.From, b.To)))
	}
	c.Tale = roll.Map(t.Lanes, func(l Lane) tale { return tell(a, l) })
}

// symbols returns the symbols of the values met: first those with one of their own, then the rest, sorted.
func symbols[T ~string](met map[T]bool, drawn []T) []symbol {
	all := slices.Concat(drawn, slices.Sorted(maps.Keys(met)))
	all = slices.DeleteFunc(roll.Distinct(all), func(v T) bool { return !met[v] })
	return roll.Map(all, func(v T) symbol { return symbolOf(v, drawn) })
}

// tell returns a lane in words, ordered by time.
func tell(a axis, l Lane) tale {
	spans := roll.Map(l.Spans, func(s Span) entry { return entry{s.From, stretch(a, s.From, s.To), string(s.State), s.Title} })
	all := append(repeated(a, byTime(l.Marks)), spans...)
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	return tale{Label: l.Label, Sub: l.Sub, Entries: all}
}

// repeated returns marks in words, with consecutive identical ones merged.
func repeated(a axis, marks []Mark) []entry {
	var out []entry
	for i := 0; i < len(marks); {
		first, n := marks[i], 1
		for i+n < len(marks) && marks[i+n].Kind == first.Kind && marks[i+n].Label == first.Label {
			n++
		}
		e := entry{first.At, a.clock(first.At), string(first.Kind), first.Label}
		if n > 1 {
			e.Time = fmt.Sprintf("%s to %s, %d times", e.Time, a.clock(marks[i+n-1].At), n)
		}
		out = append(out, e)
		i += n
	}
	return out
}

// lowest returns the sample with the fewest ready nodes among those with nodes not ready.
func lowest(samples []Sample) (Sample, bool) {
	var low Sample
	found := false
	for _, s := range samples {
		if !s.Unknown && s.Ready < s.Total && (!found || s.Ready < low.Ready) {
			low, found = s, true
		}
	}
	return low, found
}

func stretch(a axis, from, to time.Time) string {
	if to.IsZero() {
		return "from " + a.clock(from) + " on"
	}
	return a.clock(from) + " to " + a.clock(to) + " (" + took(to.Sub(from)) + ")"
}

// curve has the numbers of ready nodes and of all nodes, as SVG paths.
type curve struct {
	Ready string // the area below the ready nodes
	Lack  string // the area between the ready nodes and all
	Line  string // along the ready nodes
	All   string // along all nodes
}

// step is a period in which the numbers of nodes did not change.
type step struct {
	from, to     float64
	ready, total int
}

// level merges consecutive equal samples. Unknown samples are left out.
func level(a axis, samples []Sample) []step {
	var out []step
	for i, s := range samples {
		from, to := a.at(s.At), 100.0
		if i+1 < len(samples) {
			to = a.at(samples[i+1].At)
		}
		if s.Unknown || to <= from {
			continue
		}
		if n := len(out) - 1; n >= 0 && out[n].to == from && out[n].ready == s.Ready && out[n].total == s.Total {
			out[n].to = to
			continue
		}
		out = append(out, step{from, to, s.Ready, s.Total})
	}
	return out
}

// trace draws samples in a box of the given size, and returns the number of nodes at its
// top.
func trace(a axis, samples []Sample, width, height float64) (curve, int) {
	steps := level(a, samples)
	most := 1
	for _, s := range steps {
		most = max(most, s.total, s.ready)
	}
	x := func(percent float64) string { return number(percent * width / 100) }
	y := func(n int) string { return number(height - height*float64(n)/float64(most)) }
	var ready, lack, line, all strings.Builder
	box := func(b *strings.Builder, s step, low, high int) {
		b.WriteString("M" + x(s.from) + " " + y(low) + "V" + y(high) + "H" + x(s.to) + "V" + y(low) + "Z")
	}
	for i, s := range steps {
		along := func(b *strings.Builder, n int) {
			if i > 0 && steps[i-1].to == s.from {
				b.WriteString("V" + y(n) + "H" + x(s.to))
				return
			}
			b.WriteString("M" + x(s.from) + " " + y(n) + "H" + x(s.to))
		}
		box(&ready, s, 0, s.ready)
		along(&line, s.ready)
		along(&all, s.total)
		if s.total > s.ready {
			box(&lack, s, s.ready, s.total)
		}
	}
	return curve{Ready: ready.String(), Lack: lack.String(), Line: line.String(), All: all.String()}, most
}

// spread moves sorted positions to the right until all are at least low and neighbours are
// gap apart, so that no mark is drawn before its time. Positions beyond high are then moved
// back. If there is not enough room, the gap shrinks.
func spread(at []float64, gap, low, high float64) []float64 {
	out := make([]float64, len(at))
	if n := float64(len(at) - 1); n*gap > high-low {
		gap = (high - low) / n
	}
	for i, x := range at {
		out[i] = max(x, low)
		if i > 0 {
			out[i] = max(x, out[i-1]+gap)
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		if most := high - float64(len(out)-1-i)*gap; out[i] > most {
			out[i] = most
		}
	}
	return out
}
