package report

import (
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
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
		{"a symptom", [][]roll.Cause{{silent}}, "i-0 has not joined payments for 17m, because the kubelet is silent. That is a symptom, and not everything that could explain it was checked (KernelPanic, DiskFull, OutOfMemory and 1 more)."},
		{"no cause", [][]roll.Cause{{}}, "i-0 has not joined payments for 17m. The cause is unknown: nothing that was checked explains it."},
	} {
		check := Check{Diagnoses: map[roll.FindingKey]roll.Diagnosis{}}
		check.Snapshot = &roll.Snapshot{At: at}
		check.Snapshot.Cluster.ID.Name = "payments"
		for i, causes := range c.causes {
			f := roll.Finding{Instance: roll.InstanceID("i-" + string(rune('0'+i))), Kind: kinds[i], Since: at.Add(-17 * time.Minute), Stage: roll.Overdue}
			check.Assessment.Findings = append(check.Assessment.Findings, f)
			check.Diagnoses[f.Key()] = roll.Diagnosis{Causes: causes}
		}
		got := check.Gist()
		expect.That(t, got == c.want, "%s:\n got %s\nwant %s", c.name, got, c.want)
	}
}

// An instance with several findings is one instance: the paragraph begins with the root that one of
// them has, not with what another one only shows, and counts it among no others.
func TestTheGistOfAnInstanceWithSeveralFindings(t *testing.T) {
	root := roll.Cause{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Summary: "its role is mapped to nothing"}
	likely := root
	likely.Confidence = roll.Suggestive
	group := roll.Cause{Code: "NodeGroupUnhealthy", Confidence: roll.Decisive, Symptom: true, Summary: "its node group reports NodeCreationFailure"}
	for name, c := range map[string]struct {
		first, second []roll.Cause
		want          string
	}{
		"a symptom, and a root elsewhere":              {[]roll.Cause{group}, []roll.Cause{root, group}, "because its role is mapped to nothing."},
		"no cause, and a root elsewhere":               {nil, []roll.Cause{root}, "because its role is mapped to nothing."},
		"no cause, and a symptom elsewhere":            {nil, []roll.Cause{group}, "because its node group reports NodeCreationFailure."},
		"a symptom, and what is only likely elsewhere": {[]roll.Cause{group}, []roll.Cause{likely}, "because its node group reports NodeCreationFailure."},
		"a root in both":                               {[]roll.Cause{root}, []roll.Cause{root}, "because its role is mapped to nothing."},
	} {
		check := Check{Diagnoses: map[roll.FindingKey]roll.Diagnosis{}, Snapshot: &roll.Snapshot{At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}}
		for kind, causes := range map[roll.Kind][]roll.Cause{roll.Impaired: c.first, roll.Unknown: c.second} {
			check.Diagnoses[roll.Finding{Instance: "i-0", Kind: kind}.Key()] = roll.Diagnosis{Causes: causes}
		}
		for _, kind := range []roll.Kind{roll.Impaired, roll.Unknown} {
			check.Assessment.Findings = append(check.Assessment.Findings, roll.Finding{Instance: "i-0", Kind: kind, Since: check.Snapshot.At.Add(-time.Hour), Stage: roll.Overdue})
		}
		got := check.Gist()
		expect.That(t, strings.HasSuffix(got, c.want), "%s:\n got %s\nwant %s", name, got, c.want)
	}
}

// A cause that each instance has for itself is one cause, whose summary names the first of them.
func TestACauseOfSeveralInstancesIsNamedOnce(t *testing.T) {
	silent := func(id roll.InstanceID) shared {
		return shared{cause: roll.Cause{Code: "KubeletSilent", Confidence: roll.Decisive, Summary: "the kubelet of " + string(id) + " is silent"}, instances: []roll.InstanceID{id}}
	}
	full := shared{cause: roll.Cause{Code: "DiskFull", Confidence: roll.Suggestive, Summary: "a disk is full"}, instances: []roll.InstanceID{"i-4"}}
	for name, tt := range map[string]struct {
		causes []shared
		of     int
		want   []why
	}{
		"one":             {[]shared{silent("i-1")}, 1, []why{{code: "KubeletSilent", summary: "the kubelet of i-1 is silent"}}},
		"two":             {[]shared{silent("i-1"), silent("i-2")}, 2, []why{{code: "KubeletSilent", summary: "the kubelet of i-1 is silent; 1 more instance has this cause"}}},
		"three of four":   {[]shared{silent("i-1"), silent("i-2"), silent("i-3")}, 4, []why{{code: "KubeletSilent", summary: "the kubelet of i-1 is silent; 2 more instances have this cause", share: "3 of 4"}}},
		"and another one": {[]shared{silent("i-1"), silent("i-2"), full}, 3, []why{{code: "KubeletSilent", summary: "the kubelet of i-1 is silent; 1 more instance has this cause", share: "2 of 3"}, {code: "Other causes", summary: "DiskFull (perhaps), 1 of 3"}}},
	} {
		expect.List(t, reasons(tt.causes, "", tt.of), tt.want, "%s", name)
	}
}
