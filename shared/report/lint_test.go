package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// linted has a finding in a file, one in none, and a hint.
func linted() LintDocument {
	return LintDocument{
		At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), Cluster: "payments", Launches: []string{"nodepool/default", "launch template lt-0123456789abcdef0:3"},
		Findings: []LintFinding{
			{
				Launches: []string{"nodepool/default"}, LintPlace: LintPlace{"manifests/node pool,1.yaml", 7}, Code: "UndeclaredStartupTaint", Summary: "the node has a taint that NodePool default does not declare, 100% sure",
				Evidence: []LintEvidence{{roll.Evidence{Source: "NodePool", Field: "spec.template.spec.startupTaints", Observed: "none", Expected: "a:NoExecute"}, LintPlace{"manifests/node pool,1.yaml", 7}}},
				Fix:      "kubectl edit nodepool default\n# declare it\n", Subject: "nodepool/default",
			},
			{Launches: []string{"launch template lt-0123456789abcdef0:3"}, Code: "NodeRoleNotMapped", Summary: "no access entry maps the role", Evidence: []LintEvidence{}},
		},
		Hints:      []LintFinding{{Launches: []string{"nodepool/default"}, LintPlace: LintPlace{File: "/tmp/user-data.sh"}, Code: "UndeclaredStartupTaint", Summary: "perhaps", Evidence: []LintEvidence{}}},
		NotChecked: []LintGap{{[]string{"WrongVpc", "DnsDisabled", "NaclBlocksApi", "DhcpOptionsWrong"}, "nodepool/default does not show the subnet"}},
		Notes:      []string{"nodepool/other: its node class \"other\" was not given"},
	}
}

func TestWhatLintPrints(t *testing.T) {
	var table, github bytes.Buffer
	must.Succeed(t, linted().Write(&table, Layout{}))
	must.Succeed(t, linted().GitHub(&github))
	log, err := json.MarshalIndent(linted().SARIF("1.2.3"), "", "  ")
	must.Succeed(t, err)
	golden.File(t, "testdata/lint-table.golden", table.String())
	golden.File(t, "testdata/lint-github.golden", github.String())
	golden.File(t, "testdata/lint-sarif.golden", string(log)+"\n")
}
