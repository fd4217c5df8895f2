package template

import (
	"slices"
	"testing"

	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/lambdas/config"
	"rollcall/tests/harness/expect"
)

// Only with HostLogs may a command be sent, by inspect alone: the stack's document, to nodes of EKS,
// of Karpenter, and what Rollcall itself marked. Other functions and commands have no part in it.
func TestHostLogsAreReadWhereTheyAreWanted(t *testing.T) {
	const document = "arn:aws:ssm:eu-west-1:123456789012:document/${HostLogsDocument}"
	tagged := func(key string) map[string]map[string][]string {
		return map[string]map[string][]string{"Null": {"ssm:resourceTag/" + key: {"false"}}}
	}
	reads := Statement{Sid: "ReadHostLogs", Effect: "Allow", Actions: []string{"ssm:ListCommandInvocations", "ssm:GetCommandInvocation"}, Resources: []string{"*"}}
	sends := func(sid, resource string, conditions map[string]map[string][]string) Statement {
		return Statement{Sid: sid, Effect: "Allow", Actions: []string{"ssm:SendCommand"}, Resources: []string{resource}, Conditions: conditions}
	}
	all := map[string][]Statement{
		"inspect": {
			reads, {Sid: "SeeAgents", Effect: "Allow", Actions: []string{"ssm:DescribeInstanceInformation"}, Resources: []string{"*"}},
			sends("AskForHostLogs", document, nil), sends("AskNodesOfNodeGroups", instances, tagged("eks:cluster-name")),
			sends("AskNodesOfKarpenter", instances, tagged("karpenter.sh/nodepool")), sends("AskWhatHasAFinding", instances, tagged("rollcall:finding")),
		},
		"remediate": {reads},
	}
	for _, tt := range []struct {
		hostLogs, secrets string
		wanted            bool
	}{{"false", "true", false}, {"true", "false", false}, {"true", "true", true}} {
		tmpl := read(t, "Mode", "remediate", "ChatApproval", "true", "HostLogs", tt.hostLogs, "ReadConsoleAndUserData", tt.secrets)
		name, documents := "", []string(nil)
		want := map[string][]Statement{}
		if tt.wanted {
			name, documents, want = "${HostLogsDocument}", []string{"HostLogsDocument"}, all
		}
		expect.List(t, tmpl.ofType("AWS::SSM::Document"), documents, "%+v: the documents", tt)
		for folder := range Functions {
			var got []Statement
			for _, s := range function(t, tmpl, folder).Statements {
				if !slices.Equal(s.Actions, []string{"ssm:GetParameter"}) && slices.ContainsFunc(s.Actions, func(a string) bool { return a[:4] == "ssm:" }) {
					got = append(got, s)
				}
			}
			expect.Same(t, got, want[folder], "%+v: %s", tt, folder)
			if value := function(t, tmpl, folder).Environment[config.HostLogs]; all[folder] != nil && value != name {
				t.Errorf("%+v: the code of %s is told %q, want %q", tt, folder, value, name)
			}
		}
	}
}

// The document is the tool's own script, takes no parameters, and ends by itself.
func TestTheDocumentOfHostLogsIsFixed(t *testing.T) {
	tmpl := read(t, "HostLogs", "true")
	want := map[string]any{
		"DocumentType": "Command", "TargetType": "/AWS::EC2::Instance",
		"Content": map[string]any{
			"schemaVersion": "2.2", "description": "Prints the ends of the logs of a Linux host, at most 24,000 characters, and changes nothing",
			"mainSteps": []any{map[string]any{
				"action": "aws:runShellScript", "name": "logs", "precondition": map[string]any{"StringEquals": []any{"platformType", "Linux"}},
				"inputs": map[string]any{"timeoutSeconds": "60", "runCommand": []any{hostlog.Script}},
			}},
		},
	}
	expect.Same(t, tmpl.Resources["HostLogsDocument"].Properties, want, "-want +got")
}
