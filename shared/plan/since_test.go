package plan

import (
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/tests/harness/expect"
)

// A launch after a cordon of hours ago, which was lifted, replaces nothing.
func TestAReplacementIsLaunchedAfterTheLatestCordon(t *testing.T) {
	act := func(do Action, ago time.Duration) ledger.Action {
		return ledger.Action{Do: string(do), Instance: instanceID(1), Group: "nodepool/w", At: now.Add(-ago), Free: do == Uncordon, Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-ago)}}
	}
	ended := act(Terminate, 0)
	for name, tt := range map[string]struct {
		earlier []ledger.Action
		want    time.Duration
	}{
		"none":                           {nil, 0},
		"a cordon and a drain":           {[]ledger.Action{act(Cordon, 20*time.Minute), act(Drain, 10*time.Minute)}, 20 * time.Minute},
		"a cordon of hours ago":          {[]ledger.Action{act(Cordon, 3*time.Hour)}, 0},
		"its drain came hours later":     {[]ledger.Action{act(Cordon, 5*time.Hour), act(Drain, 2*time.Hour)}, 2 * time.Hour},
		"a long drain":                   {[]ledger.Action{act(Cordon, 5*time.Hour), act(Drain, 5*time.Hour-time.Minute)}, 5 * time.Hour},
		"a cordon that was lifted":       {[]ledger.Action{act(Cordon, 9*time.Hour), act(Drain, 8*time.Hour), act(Uncordon, 7*time.Hour)}, 0},
		"one that was lifted, and a new": {[]ledger.Action{act(Cordon, 9*time.Hour), act(Uncordon, 7*time.Hour), act(Cordon, 20*time.Minute)}, 20 * time.Minute},
	} {
		got := replacementSince(append(tt.earlier, ended), ended)
		expect.That(t, got.Equal(now.Add(-tt.want)), "%s: %s before, want %s", name, now.Sub(got), tt.want)
	}
}
