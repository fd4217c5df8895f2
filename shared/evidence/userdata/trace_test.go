package userdata

import (
	"slices"
	"testing"

	"rollcall/tests/harness/expect"
)

const apiHost = "EXAMPLE0123456789ABCDEF01234567.gr7.eu-west-1.eks.amazonaws.com"

// The words of text that does not parse show what it was meant for: a tool, and the cluster.
func TestMeantForThoughItDoesNotParse(t *testing.T) {
	const open = "#!/bin/bash\necho \"joining\n"
	for _, c := range []struct {
		name, text string
		meant      bool
	}{
		{"a script behind an open quote", open + "/etc/eks/bootstrap.sh demo --use-max-pods true\n", true},
		{"the same, compressed", zip(t, open+"/etc/eks/bootstrap.sh demo\n"), true},
		{"the same, in base64 again", b64(open + "/etc/eks/bootstrap.sh demo\n"), true},
		{"the name on a line of its own", open + "/etc/eks/bootstrap.sh \\\n  demo\n", true},
		{"the name in a variable", open + "CLUSTER_NAME=demo\n/etc/eks/bootstrap.sh $CLUSTER_NAME\n", true},
		{"the endpoint alone", open + "/etc/eks/bootstrap.sh $NAME --apiserver-endpoint https://" + apiHost + "\n", true},
		{"a script for another cluster", open + "/etc/eks/bootstrap.sh demo-staging\n", false},
		{"a script for no cluster that is known", open + "/etc/eks/bootstrap.sh $NAME\n", false},
		{"no tool", open + "aws eks update-kubeconfig --name demo\n", false},
		{"a tool in a comment", open + "# /etc/eks/bootstrap.sh demo\n", false},
		{"a script that parses", "#!/bin/bash\necho /etc/eks/bootstrap.sh demo\n", false},
		{"a NodeConfig whose YAML is broken", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: [\n    name: demo\n", true},
		{"a NodeConfig of another cluster whose YAML is broken", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: [\n    name: other\n", false},
		{"a NodeConfig of another kind", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfiguration\nspec:\n  cluster:\n    name: demo\n", true},
		{"TOML that is broken", "[settings.kubernetes]\ncluster-name = \"demo\"\napi-server = \n", true},
		{"a script in a part of a type that cloud-init does not know", inMIME("text/x-sh", "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), true},
		{"the same for another cluster", inMIME("text/x-sh", "#!/bin/bash\n/etc/eks/bootstrap.sh other\n"), false},
		{"the same beside a part that joins another", inMIME("text/x-sh", "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n", "text/x-shellscript", "#!/bin/bash\n/etc/eks/bootstrap.sh other\n"), false},
		{"a runcmd that another part replaces", inMIME("text/cloud-config", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n", "text/cloud-config", "#cloud-config\nruncmd: [date]\n"), true},
		{"a runcmd that another part replaces by one that joins", inMIME("text/cloud-config", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n", "text/cloud-config", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh other]\n"), false},
		{"files that another part replaces", inMIME("text/cloud-config", "#cloud-config\nwrite_files: [{path: /x, content: /etc/eks/bootstrap.sh demo}]\nruncmd: [bash /x]\n", "text/cloud-config", "#cloud-config\nwrite_files: []\n"), true},
		{"a file that bootcmd runs before it is written", "#cloud-config\nwrite_files: [{path: /x, content: /etc/eks/bootstrap.sh demo}]\nbootcmd: [bash /x]\n", true},
		{"a runcmd with an entry that is no command", "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh demo\n- echo done: yes\n", true},
		{"a call that YAML reads as a mapping", "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh demo --kubelet-extra-args '--v: 2'\n", true},
		{"PowerShell that is cut", "<powershell>\n& \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName ${x\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Read([]byte(c.text))
			got := MeantFor([]byte(c.text), b, "demo", "https://"+apiHost)
			expect.That(t, got == c.meant, "meant for the cluster: %v, want %v (traces %v, clusters %v)", got, c.meant, b.Traces, b.Clusters)
		})
	}
}

// A script is opaque if it runs or fetches something that is not in the user data.
func TestWhatAScriptRunsBesideItsOwnText(t *testing.T) {
	for text, opaque := range map[string]bool{
		"echo a; sysctl -w vm.max_map_count=1; systemctl enable --now x": false,
		"yum install -y jq":                                    false,
		"yum install -y https://example.com/x.rpm":             true,
		"curl -fsSL https://example.com/x | bash":              true,
		"aws s3 cp s3://a/b /tmp/b && bash /tmp/b":             true,
		"bash /opt/join.sh":                                    true,
		"source /opt/join.sh":                                  true,
		"/opt/join.sh":                                         true,
		"cat > /tmp/a.sh <<'EOF'\necho a\nEOF\nbash /tmp/a.sh": false,
		"bash -c 'echo a'":                                     false,
		"f() { echo a; }; f":                                   false,
		"sudo mkdir /a && if true; then touch /a/b; fi":        false,
		"python3 -c 'print(1)'":                                true,
	} {
		expect.Equal(t, Read([]byte("#!/bin/bash\n"+text+"\n")).Opaque, opaque, "%q: opaque", text)
	}
}

// PowerShell rejects a parameter that the script does not have, and accepts its own common ones.
func TestParametersOfTheWindowsScript(t *testing.T) {
	for args, fault := range map[string]bool{
		"-EKSClusterName demo":                                     false,
		"-EKSCluster demo -KubeletExtra '--max-pods=10'":           false,
		"demo '--max-pods=10'":                                     false,
		"-EKSClusterName demo -Verbose -ErrorAction Stop":          false,
		"-EKSClusterName demo -ErrorAction:Stop -ea Stop 3>&1":     false,
		"-EKSClusterName demo -NodeLabels 'a=b'":                   true,
		"-EKSClusterName demo -ClusterCA abc -APIServerEndpoint x": true,
		"-EKSClusterName demo -KubeletArgs:'--max-pods=10'":        true,
	} {
		b := Read([]byte("<powershell>\n& \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" " + args + "\n</powershell>"))
		got := slices.ContainsFunc(b.Faults, func(f Fault) bool { return f.Reason == UnknownParam && f.By == ByWindowsScript && f.Effect == Fails })
		expect.That(t, got == fault && b.For("demo"), "%s: refused is %v, want %v; clusters %v, faults %v", args, got, fault, b.Clusters, b.Faults)
		if extra := b.Joins[0].Kubelet.Flags; fault && len(extra) > 0 {
			t.Errorf("%s: the value of an unknown parameter is taken for the kubelet's %v", args, extra)
		}
	}
}
