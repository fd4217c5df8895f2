package plan

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/ledger"
)

// A replacement that had to be replaced shows that replacements fail, though the latest one has no
// fault yet. An instance from before the first act shows nothing.
func TestAReplacementThatWasReplacedCounts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		launched []time.Duration // before now, of the instances that were terminated 3, 2 ... hours ago
		holds    bool
	}{
		{"both were there before", []time.Duration{48 * time.Hour, 48 * time.Hour}, false},
		{"nobody saw their launch", []time.Duration{0, 0}, false},
		{"the second replaced the first", []time.Duration{48 * time.Hour, 170 * time.Minute}, true},
		{"one alone is no series", []time.Duration{170 * time.Minute}, false},
	} {
		w := sick()
		for i, ago := range tt.launched {
			at := now.Add(time.Duration(i-3) * time.Hour)
			a := ledger.Action{ID: fmt.Sprint(i), Do: "terminate", Instance: instanceID(50 + i), Group: "asg/w", At: at, Outcome: &ledger.Outcome{Result: ledger.Done, At: at}}
			if ago > 0 {
				a.Launched = now.Add(-ago)
			}
			w.state.Actions = append(w.state.Actions, a)
		}
		w.state.Groups["asg/w"] = ledger.GroupMemory{Good: now.Add(-5 * time.Minute)} // the latest became Ready
		_, p := w.make(now)
		got := ""
		for _, h := range p.Held {
			got += string(h.Reason)
		}
		if held := got == string(ReplacementRepeats); held != tt.holds {
			t.Errorf("%s: held for %q, want ReplacementRepeats: %t", tt.name, got, tt.holds)
		}
	}
}
