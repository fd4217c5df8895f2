package lint

import (
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestWhatAFileHolds(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"manifests": {"kind: NodePool\napiVersion: karpenter.sh/v1\nmetadata: {name: a}\n---\nkind: Deployment\n---\nkind: EC2NodeClass\nmetadata: {name: b}\n", "NodePool a:1, EC2NodeClass b:7"},
		"a list": {"kind: List\nitems:\n- {kind: EC2NodeClass, metadata: {name: b}}\n- {kind: ConfigMap, metadata: {name: aws-auth}}\n- {kind: ConfigMap, metadata: {name: other}}\n",
			"EC2NodeClass b:3, aws-auth aws-auth:4"},
		"launch template":         {`{"LaunchTemplateVersions": []}`, "launch template versions :1"},
		"access entries":          {`{"accessEntries": []}`, "access entries :1"},
		"script":                  {"#!/bin/bash\n", "user data :1"},
		"parts":                   {"MIME-Version: 1.0\n", "user data :1"},
		"settings":                {"[settings.kubernetes]\n", "user data :1"},
		"NodeConfig":              {"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", "user data :1"},
		"PowerShell":              {"<powershell>\n", "user data :1"},
		"other YAML":              {"a: b\n", ""},
		"no YAML":                 {"{{ if }}\n\t:", ""},
		"text":                    {"hello\n", ""},
		"nothing":                 {"", ""},
		"NodePool of another API": {"kind: NodePool\napiVersion: eks.amazonaws.com/v1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Sources("file", []byte(tt.text))
			must.Succeed(t, err)
			var said []string
			for _, d := range got {
				said = append(said, string(d.Content)+" "+d.Name+":"+string(rune('0'+d.line)))
			}
			text := strings.Join(said, ", ")
			expect.That(t, text == tt.want, "got %q, want %q", text, tt.want)
		})
	}
}

// A typo in a kind must not pass as a file of another tool.
func TestAKindThatItsAPIGroupDoesNotHave(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: karpenter.sh/v1\nkind: NodePool\n---\napiVersion: karpenter.sh/v1\nkind: NodePol\n": `line 4: karpenter.sh/v1 has no kind "NodePol"`,
		"kind: List\nitems:\n- {apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClas}\n":                  `line 3: karpenter.k8s.aws/v1 has no kind "EC2NodeClas"`,
		"apiVersion: node.eks.aws/v1alpha1\n":                                                            `line 1: node.eks.aws/v1alpha1 has no kind ""`,
		"apiVersion: karpenter.sh/v1\nkind: NodePoolList\n":                                              "",
		"apiVersion: karpenter.sh/v1\nkind: NodeClaim\n":                                                 "",
		"apiVersion: apps/v1\nkind: Deployment\n":                                                        "",
		"&x {kind: List, items: [*x]}":                                                                   "",
		"{{ if }}\n\t:":                                                                                  "",
		"- a\n":                                                                                          "",
	} {
		expect.Equal(t, strings.Join(Misnamed([]byte(text)), ", "), want, "%q", text)
	}
}

// A manifest that does not parse must not pass as one without node pools.
func TestWhatIsMeantAndDoesNotParseIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"a tab":            "kind: NodePool\n\tmetadata: a",
		"broken JSON":      `{"kind": "NodePool", "metadata": {`,
		"a key twice":      "kind: EC2NodeClass\nspec: {}\nspec: {}\n",
		"an item's alias":  "&x {kind: List, items: [*x]}",
		"an alias of more": "kind: List\nitems: [&x {kind: List, items: []}, *x]\n",
	} {
		got, err := Sources("pools.yaml", []byte(text))
		expect.That(t, err != nil && strings.Contains(err.Error(), "pools.yaml"), "%s: got %v, %v", name, got, err)
	}
}

// YAML ends lines by more than a line feed.
func TestALineBeyondTheFileIsNoPlace(t *testing.T) {
	found, err := Sources("pools.yaml", []byte("# a\r# b\rkind: EC2NodeClass\rmetadata: {name: c}\r"))
	must.That(t, err == nil && len(found) == 1, "%v, %v", found, err)
	line := found[0].find(roll.Evidence{Source: "user data", Field: "UserData", Observed: "nothing of it"})
	expect.That(t, line == found[0].line, "line %d", line)
}
