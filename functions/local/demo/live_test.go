package demo

import (
	"bytes"
	"strings"
	"testing"

	"rollcall/shared/sim"
)

// What was printed while the day went on is what the whole day says of it.
func TestWhatIsPrintedLiveStaysTrue(t *testing.T) {
	var b bytes.Buffer
	s := newStory(Options{Out: &b}, sim.Day())
	if _, err := sim.Run(s.day, sim.Watch{Tell: s.tell, Step: s.step, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	if s.shown < len(s.day.Faults)/2 {
		t.Errorf("%d of %d entries were printed before the day was over", s.shown, len(s.day.Faults))
	}
	found, want := s.byFault(), ""
	for _, f := range s.day.Faults[:s.shown] {
		want += s.entry(f, found[f.ID])
	}
	if got := b.String(); got != want {
		t.Errorf("printed:\n%s\nthe whole day says:\n%s", got, want)
	}
	if !strings.Contains(want, "why  ") {
		t.Errorf("nothing says why:\n%s", want)
	}
}
