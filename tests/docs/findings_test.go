package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

var defaults = policy.Default().For("", "", roll.Selector{})

// minutes formats a duration as the README does.
func minutes(d time.Duration) string { return fmt.Sprintf("%d", int(d.Minutes())) }

// tolerated returns the default tolerances of a kind, in minutes.
func tolerated(k roll.Kind) []string {
	condition := func(status string) []string {
		d, _ := defaults.Tolerance("Ready", status)
		return []string{minutes(d)}
	}
	switch k {
	case roll.Unregistered:
		return []string{minutes(defaults.Registration.Deadline), minutes(defaults.Registration.WarnAfter)}
	case roll.Uninitialized:
		return []string{minutes(defaults.Initialization.Deadline), minutes(defaults.Initialization.WarnAfter)}
	case roll.NotReady:
		return condition("False")
	case roll.Unknown:
		return condition("Unknown")
	case roll.ConditionFailed:
		var out []string
		for _, c := range defaults.Conditions {
			if c.Type != "Ready" && !slices.Contains(out, minutes(c.Tolerate)) {
				out = append(out, minutes(c.Tolerate))
			}
		}
		return out
	case roll.Flapping, roll.Scheduled: // reported at once
		return nil
	case roll.Unlaunched:
		return []string{minutes(defaults.Launch.Tolerance), minutes(defaults.Launch.Pending)}
	}
	return []string{minutes(defaults.Tolerances[k])}
}

// numbers returns the numbers of a cell, in order.
func numbers(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r < '0' || r > '9' })
}

var acts = []policy.Do{policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode}

// The README must state the default behavior.
func TestTheReadmeHasEveryKindWithItsToleranceAndItsActs(t *testing.T) {
	rows := map[string][]string{}
	for _, row := range table(t, "README.md", "| finding | meaning | tolerated | then, in mode `remediate` |") {
		rows[names(row[0])[0]] = row
	}
	if len(rows) != len(roll.Kinds()) {
		t.Errorf("%d rows, %d kinds", len(rows), len(roll.Kinds()))
	}
	for _, kind := range roll.Kinds() {
		row, ok := rows[string(kind)]
		if !ok {
			t.Errorf("no row of %s", kind)
			continue
		}
		got, want := numbers(row[2]), tolerated(kind)
		slices.Sort(got)
		slices.Sort(want)
		expect.That(t, slices.Equal(got, want), "%s is tolerated for %v minutes by default, the README says %q", kind, want, row[2])
		var acting []policy.Do
		for _, step := range defaults.Ladders[kind] {
			if slices.Contains(acts, step.Do) {
				acting = append(acting, step.Do)
			}
			if after := minutes(step.After); step.After > 0 && !slices.Contains(numbers(row[3]), after) {
				t.Errorf("%s: %s comes %s minutes later, the README says %q", kind, step.Do, after, row[3])
			}
		}
		for _, act := range acts {
			if slices.Contains(acting, act) != strings.Contains(row[3], string(act)) {
				t.Errorf("the default ladder of %s has the acts %v, the README says %q", kind, acting, row[3])
			}
		}
	}
}

func TestThePlanPageHasTheDefaultLadders(t *testing.T) {
	ladders := map[string]string{}
	for _, row := range table(t, "shared/plan/README.md", "| kind | ladder by default |") {
		for _, kind := range names(row[0]) {
			ladders[kind] = row[1]
		}
	}
	found := 0
	for _, s := range policy.Default().Explain("", "", roll.Selector{}) {
		if kind, ok := strings.CutPrefix(s.Key, "ladders."); ok {
			found++
			expect.That(t, ladders[kind] == s.Value, "the ladder of %s is %q, the page says %q", kind, s.Value, ladders[kind])
		}
	}
	expect.That(t, found == len(ladders), "%d ladders, %d on the page", found, len(ladders))
}
