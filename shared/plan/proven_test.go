package plan

import (
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// A proven cause is remembered as it was first found, as long as each diagnosis has it, and no
// longer.
func TestWhatIsProvenIsRememberedAsItWasFirstFound(t *testing.T) {
	w := sick()
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
	lasting := roll.Cause{Code: "UndeclaredStartupTaint", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: "nodepool/p", Summary: "then"}
	passing := roll.Cause{Code: "KubeletRestartedDuringStartup", Confidence: roll.Decisive, Cure: roll.CureWait}
	symptom := roll.Cause{Code: "KubeletSilent", Confidence: roll.Decisive, Cure: roll.CureChange, Symptom: true}
	guess := roll.Cause{Code: "ImdsHopLimit", Confidence: roll.Suggestive, Cure: roll.CureChange}
	later := lasting
	later.Summary = "later"
	for n, tt := range []struct {
		causes []roll.Cause // nil: there was no diagnosis
		want   string       // what to remember
	}{
		{[]roll.Cause{passing, lasting, symptom, guess}, "then"},
		{[]roll.Cause{later}, "then"},
		{nil, "then"},
		{[]roll.Cause{passing}, ""},
	} {
		w.causes = map[roll.FindingKey][]roll.Cause{}
		if tt.causes != nil {
			w.causes[key] = tt.causes
		}
		_, p := w.make(now.Add(time.Duration(n) * time.Minute))
		w.apply(p)
		got := ""
		if proven := w.state.Findings[key].Proven; len(proven) == 1 {
			got = proven[0].Summary
		}
		expect.That(t, got == tt.want, "%d: remembered %+v, want %q", n, w.state.Findings[key].Proven, tt.want)
	}
}
