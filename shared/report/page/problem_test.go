package page

import (
	"fmt"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestFindingsWithOneCauseAreOneProblemWithOneFix(t *testing.T) {
	var findings []Finding
	for n := range 18 {
		findings = append(findings, Finding{Instance: instance(n), Group: "nodepool/batch", Kind: "Unregistered", Tone: ToneWarn, Since: after(-time.Duration(n) * hour), For: fmt.Sprintf("%dh", n), Causes: []roll.Cause{role, {Code: "ImdsHopLimit", Fix: fmt.Sprintf("fix %d", n)}}})
	}
	findings[3].Tone, findings[3].Group = ToneBad, "nodepool/other"
	elsewhere := role
	elsewhere.Subject = "role/other"
	findings = append(findings, Finding{Instance: "i-1", Kind: "Unregistered", Causes: []roll.Cause{elsewhere}}, Finding{Instance: "i-2", Kind: "Unknown"}, Finding{Instance: "i-3", Kind: "Unknown"}, Finding{Instance: "i-3", Kind: "ConditionFailed", Condition: "KernelReady"})
	var got []string
	for _, p := range problems("c1", findings) {
		fixes := 0
		for _, c := range p.Causes {
			fixes += len(c.Fixes)
		}
		got = append(got, fmt.Sprintf("%s %s: %s %s for %s in %v, %d fixes", p.ID, p.Code(), p.Who(), p.Tone, p.Longest(), p.Groups, fixes))
	}
	want := []string{
		"c1-p1 ControllerRoleMapped: 18 instances bad for 17h in [nodepool/batch nodepool/other], 19 fixes",
		"c1-p2 ControllerRoleMapped: i-1  for  in [], 1 fixes",
		"c1-p3 Unknown: 2 instances  for  in [], 0 fixes",
		"c1-p4 ConditionFailed (KernelReady): i-3  for  in [], 0 fixes",
	}
	expect.Same(t, got, want, "problems")
}
