package sim

import (
	"testing"
	"time"

	"rollcall/tests/harness/expect"
)

func TestDecisionsAreCountedByTheLatestFaultOfTheirGroup(t *testing.T) {
	r := tried(t, trial(
		Fault{At: 10 * time.Minute, Kind: FaultSilence, Cluster: "orders", Group: workers, Count: 1},
		Fault{At: 90 * time.Minute, Kind: FaultSilence, Cluster: "orders", Group: api, Count: 3},
		Fault{At: 12 * time.Minute, For: time.Minute, Kind: FaultErrors, Share: 0.01},
	), Guards{})
	for _, want := range []Situation{
		{Fault: FaultSilence, Finding: "Unknown", Decision: "MassSilence"},
		{Fault: FaultSilence, Finding: "Unknown", Decision: "reboot"},
	} {
		expect.That(t, r.Situations[want] != 0, "%+v was not counted: %v", want, r.Situations)
	}
	n := 0
	for s, times := range r.Situations {
		expect.That(t, s.Finding != "" && s.Decision != "", "%+v says nothing", s)
		n += times
	}
	want := r.Counts[EventHeld] + r.Counts[EventOrder]
	expect.That(t, n == want, "%d decisions are counted, of %d", n, want)
}
