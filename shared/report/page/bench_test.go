package page

import (
	"fmt"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
)

// large has 10 clusters with 60 lanes of 40 marks each.
func large() Document {
	d := Document{Title: "large", From: midnight, To: after(24 * hour)}
	kinds := []MarkKind{MarkLaunch, MarkFault, MarkFinding, MarkNotice, MarkHeld, MarkOrder, MarkAct, MarkResolved}
	for c := range 10 {
		t := &Timeline{From: midnight, To: after(24 * hour)}
		for i := range 288 {
			t.Ready = append(t.Ready, Sample{At: after(time.Duration(i) * 5 * minute), Ready: 60 - i%7, Total: 60})
		}
		for n := range 60 {
			l := Lane{Label: instance(100*c + n), Sub: "nodepool/default"}
			for m := range 40 {
				at := time.Duration(m)*35*minute + time.Duration(n)*minute
				l.Marks = append(l.Marks, Mark{after(at), kinds[(m+n)%len(kinds)], fmt.Sprintf("what happened in lane %d, number %d", n, m)})
				l.Spans = append(l.Spans, Span{after(at), after(at + 35*minute), []State{StateReady, StateNotReady, StateUnknown}[m%3], ""})
			}
			t.Lanes = append(t.Lanes, l)
		}
		d.Clusters = append(d.Clusters, Cluster{Name: fmt.Sprintf("cluster-%d", c), Nodes: 60, Ready: 58, Timeline: t})
	}
	return d
}

func TestALargePageHasAFewMegabytes(t *testing.T) {
	n := len(render(t, large()))
	expect.That(t, n <= 9<<20, "%d MB", n>>20)
}

func BenchmarkRender(b *testing.B) {
	d := large()
	render(b, d)
	for b.Loop() {
		b.SetBytes(int64(len(render(b, d))))
	}
}
