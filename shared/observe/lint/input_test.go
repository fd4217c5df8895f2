package lint

import (
	"strings"
	"testing"
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
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, d := range got {
				said = append(said, string(d.Content)+" "+d.Name+":"+string(rune('0'+d.line)))
			}
			if text := strings.Join(said, ", "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// A manifest that does not parse must not pass as one without node pools.
func TestWhatIsMeantAndDoesNotParseIsAnError(t *testing.T) {
	if got, err := Sources("pools.yaml", []byte("kind: NodePool\n\tmetadata: a")); err == nil || !strings.Contains(err.Error(), "pools.yaml") {
		t.Errorf("got %v, %v", got, err)
	}
}
