package page

import (
	"strconv"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// axis converts times to positions on a chart, in percent of its width.
type axis struct{ from, to time.Time }

func (a axis) at(t time.Time) float64 {
	return min(100, max(0, 100*float64(t.Sub(a.from))/float64(a.to.Sub(a.from))))
}

// meets reports whether a period overlaps the axis.
func (a axis) meets(from, to time.Time) bool { return !from.After(a.to) && !to.Before(a.from) }

// tick is a labelled moment of the axis.
type tick struct {
	X      string
	Label  string
	Anchor string // the side of the label that is at the tick
}

// steps are distances between ticks that are easy to read. All up to a day divide a day, so
// that ticks fall on the same times every day.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
}

// mostTicks is the most labels that fit beside each other on the narrowest chart.
const mostTicks = 13

// ticks returns ticks at round times on the axis.
func (a axis) ticks() []tick {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if a.to.Sub(a.from)/s < mostTicks {
			step = s
			break
		}
	}
	for a.to.Sub(a.from)/step >= mostTicks {
		step *= 2
	}
	var out []tick
	for t := a.from.Truncate(step); !t.After(a.to); t = t.Add(step) {
		if t.Before(a.from) {
			continue
		}
		k := tick{X: number(a.at(t)), Label: a.label(t, step), Anchor: "middle"}
		switch x := a.at(t); {
		case x < 2:
			k.Anchor = "start"
		case x > 98:
			k.Anchor = "end"
		}
		out = append(out, k)
	}
	return out
}

// label returns a time in as few characters as the axis allows. The date is shown where a
// day begins.
func (a axis) label(t time.Time, step time.Duration) string {
	t = t.UTC()
	switch {
	case step < time.Minute:
		return t.Format("15:04:05")
	case step >= 24*time.Hour, t.Equal(t.Truncate(24*time.Hour)) && a.days():
		return t.Format("2 Jan")
	}
	return t.Format("15:04")
}

// days reports whether the axis spans more than one day, so that a time of day is ambiguous.
func (a axis) days() bool { return a.to.Sub(a.from) > 24*time.Hour }

// clock returns a time for a text beside the chart, with its date where that is needed.
func (a axis) clock(t time.Time) string {
	if a.days() || t.Before(a.from) || t.After(a.to) {
		return t.UTC().Format("01-02 15:04:05")
	}
	return t.UTC().Format("15:04:05")
}

// took formats a duration: 48s, 1m12s, 1h5m.
func took(d time.Duration) string { return roll.Span(d.Round(time.Second)) }

// number formats a coordinate. Two decimals are finer than a pixel.
func number(x float64) string {
	s := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}
