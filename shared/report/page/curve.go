package page

import "strings"

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
