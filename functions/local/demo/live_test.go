package demo

import (
	"bytes"
	"strings"
	"testing"

	"rollcall/shared/sim"
	"rollcall/tests/harness/expect"
)

// What was printed while the day went on is what the whole day says of it.
func TestWhatIsPrintedLiveStaysTrue(t *testing.T) {
	var b bytes.Buffer
	s := newStory(Options{Out: &b}, sim.Day())
	if _, err := sim.Run(s.day, sim.Watch{Tell: s.tell, Step: s.step, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	expect.That(t, s.shown >= len(s.day.Faults)/2, "%d of %d entries were printed before the day was over", s.shown, len(s.day.Faults))
	found, want := s.byFault(), ""
	for _, f := range s.day.Faults[:s.shown] {
		want += s.entry(f, found[f.ID])
	}
	got := b.String()
	expect.That(t, got == want, "printed:\n%s\nthe whole day says:\n%s", got, want)
	expect.That(t, strings.Contains(want, "why  "), "nothing says why:\n%s", want)
}
