package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// What EC2 keeps of an instance that Rollcall terminated is reported three hours later,
// with its cost. It is not deleted.
func TestWhatOutlivesAnInstanceIsTold(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: 6 * time.Minute, Keeps: true, KeepsInterface: true})
	volume, err := bed.KeptVolume(t.Context(), id)
	must.Succeed(t, err)
	a.remediate()
	a.later(10 * time.Minute)
	same(t, "outcome", acted(a.remediate().only(t)), []string{"acted " + id})
	a.writes()

	a.later(4 * time.Hour)
	check := a.remediate().only(t)
	i := slices.IndexFunc(check.Findings, func(f report.FindingDocument) bool { return f.Subject == "volume/"+volume })
	must.That(t, i >= 0, "nothing is said of %s: %+v", volume, check.Findings)
	f := check.Findings[i]
	expect.That(t, f.Kind == "Stuck" && f.Instance == id && strings.Contains(f.Summary, id) && strings.Contains(f.Summary, "USD"), "%+v", f)
	for _, w := range a.writes() {
		expect.That(t, !strings.HasPrefix(w, "Delete"), "%s", w)
	}
}
