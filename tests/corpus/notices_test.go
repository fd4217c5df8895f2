package corpus_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/noticetest"
)

// outbox collects notices.
type outbox struct{ sent []report.Message }

func (o *outbox) Publish(_ context.Context, m report.Message) error {
	o.sent = append(o.sent, m)
	return nil
}

// noTags sets and removes no tags.
type noTags struct{}

func (noTags) Tag(context.Context, []roll.InstanceID, map[string]string) error { return nil }
func (noTags) Untag(context.Context, []roll.InstanceID, []string) error        { return nil }

// notices returns the notices of two checks of a case in a mode.
func notices(t *testing.T, c generate.Made, mode policy.Mode) []report.Message {
	t.Helper()
	b, err := bundle.OpenFS(c.FS())
	must.Succeed(t, err)
	pol, err := policy.Parse([]byte("apiVersion: rollcall/v1\nmode: " + string(mode) + "\n"))
	must.Succeed(t, err)
	at, ok := b.At()
	must.That(t, ok, "no time")
	box := &outbox{}
	look := view.OfBundle(b)
	r := &run.Runner{
		Observer: look.Observer, Why: look.Check, Ledger: ledger.NewMemory(), Policy: pol, Permitted: mode, Stack: "rollcall",
		Notices: box, Tags: noTags{}, Clock: func() time.Time { return at },
	}
	for range 2 {
		r.Check(t.Context(), b.ClusterID().Name, at)
		at = at.Add(2 * time.Minute)
	}
	return box.sent
}

// The notices of every case, in each mode that sends any, are short, with the fix of the cause
// that the case has.
func TestTheNoticesOfEachCaseAreShort(t *testing.T) {
	kinds, causes, modes := map[string]int{}, map[string]int{}, map[policy.Mode]int{}
	for _, c := range generate.All() {
		for _, mode := range []policy.Mode{policy.Observe, policy.Notify, policy.Remediate} {
			for _, m := range notices(t, c, mode) {
				modes[mode]++
				kinds[m.Attributes.Kind]++
				causes[m.Attributes.Cause]++
				for _, fault := range noticetest.Faults(noticetest.Notice{Subject: m.Subject, Text: m.Text, JSON: m.JSON, Chat: m.Chat}) {
					t.Errorf("%s, %s: %s\n%s\n\n%s", c.Name, mode, fault, m.Subject, m.Text)
				}
			}
		}
	}
	seen, _ := json.Marshal(map[string]any{"modes": modes, "kinds": kinds, "causes": len(causes)})
	if modes[policy.Observe] > 0 || modes[policy.Notify] < 40 || modes[policy.Remediate] < 40 || len(kinds) < 8 || len(causes) < 30 {
		t.Errorf("too few, or in the wrong mode: %s", seen)
	}
	t.Logf("%s", seen)
}
