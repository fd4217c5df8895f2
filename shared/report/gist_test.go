package report

import (
	"testing"
	"time"

	"rollcall/shared/roll"
)

// The paragraph uses the first finding whose first cause is a proven root, otherwise the first
// finding, and says how certain its first cause is.
func TestTheGistOfAnExplanation(t *testing.T) {
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	unmapped := roll.Cause{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Subject: "role/a", Summary: "its role is mapped to nothing", Fix: "# look first\naws eks create-access-entry --type EC2_LINUX   # then wait\nkubectl get nodes"}
	likely := unmapped
	likely.Confidence = roll.Suggestive
	silent := roll.Cause{Code: "KubeletSilent", Confidence: roll.Decisive, Symptom: true, Summary: "the kubelet is silent", NotChecked: []string{"KernelPanic", "DiskFull", "OutOfMemory", "ZoneOutage"}}
	kinds := []roll.Kind{roll.Unregistered, roll.Unregistered, roll.Unknown}
	ghost := roll.Finding{Instance: "i-9", Kind: roll.Ghost, Since: at.Add(-14 * time.Minute), Stage: roll.Overdue, Summary: "EC2 terminated its instance by a Spot interruption"}
	gone := Check{}
	gone.Snapshot = &roll.Snapshot{At: at}
	gone.Assessment.Findings = []roll.Finding{ghost}
	if got, want := gone.Gist(), "i-9 has been "+kindInWords(ghost)+" for 14m: EC2 terminated its instance by a Spot interruption."; got != want {
		t.Errorf("a finding that says why:\n got %s\nwant %s", got, want)
	}
	for _, c := range []struct {
		name   string
		causes [][]roll.Cause // of each finding
		want   string
	}{
		{"nothing is found", nil, ""},
		{"one finding", [][]roll.Cause{{unmapped}}, "i-0 has not joined payments for 17m, because its role is mapped to nothing. Run `aws eks create-access-entry --type EC2_LINUX`."},
		{"one that shares the cause, and one that does not", [][]roll.Cause{{unmapped}, {unmapped}, {silent}},
			"i-0 has not joined payments for 17m, because its role is mapped to nothing. Run `aws eks create-access-entry --type EC2_LINUX`. 1 other shares it. 1 other has another cause, or none that is known."},
		{"a symptom, and a root in another", [][]roll.Cause{{silent}, {likely}, {unmapped}},
			"i-2 has been silent for 17m, because its role is mapped to nothing. Run `aws eks create-access-entry --type EC2_LINUX`. 1 other shares it. 1 other has another cause, or none that is known."},
		{"only likely", [][]roll.Cause{{likely, silent}}, "i-0 has not joined payments for 17m, perhaps because its role is mapped to nothing. Run `aws eks create-access-entry --type EC2_LINUX`."},
		{"a symptom", [][]roll.Cause{{silent}}, "i-0 has not joined payments for 17m, because the kubelet is silent. That only says how it shows: what would explain it was not all checked (KernelPanic, DiskFull, OutOfMemory and 1 more)."},
		{"no cause", [][]roll.Cause{{}}, "i-0 has not joined payments for 17m. Why is not known: nothing that was checked explains it."},
	} {
		check := Check{Diagnoses: map[roll.FindingKey]roll.Diagnosis{}}
		check.Snapshot = &roll.Snapshot{At: at}
		check.Snapshot.Cluster.ID.Name = "payments"
		for i, causes := range c.causes {
			f := roll.Finding{Instance: roll.InstanceID("i-" + string(rune('0'+i))), Kind: kinds[i], Since: at.Add(-17 * time.Minute), Stage: roll.Overdue}
			check.Assessment.Findings = append(check.Assessment.Findings, f)
			check.Diagnoses[f.Key()] = roll.Diagnosis{Causes: causes}
		}
		if got := check.Gist(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
