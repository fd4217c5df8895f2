package userdata

import (
	"testing"

	"rollcall/tests/harness/expect"
)

// What a walk of the calls cannot know is unknown. It names no cluster, causes no certain fault,
// and no value that may exist counts as missing.
func TestWhatTheWalkCannotKnowIsNoVerdict(t *testing.T) {
	for name, script := range map[string]string{
		"a loop's variable":                   "for c in one two; do /etc/eks/bootstrap.sh $c; done",
		"a variable that is set twice":        "C=one\nC=$C-two\n/etc/eks/bootstrap.sh $C",
		"a variable that a branch sets":       "C=one\nif hostname | grep -q a; then C=two; fi\n/etc/eks/bootstrap.sh $C",
		"a file of the image that is sourced": "C=one\nsource /opt/cluster.env\n/etc/eks/bootstrap.sh $C",
		"a text that is computed and run":     "eval \"$(cat /opt/join)\"",
		"a variable that is read":             "C=one\nread C < /opt/cluster\n/etc/eks/bootstrap.sh $C",
		"a part of a variable":                "C=one-two\n/etc/eks/bootstrap.sh ${C%-*}",
		"the name of a variable":              "C=one\nN=C\n/etc/eks/bootstrap.sh ${!N}",
		"arithmetic":                          "/etc/eks/bootstrap.sh demo-$((1 + 1))",
		"an array":                            "A=(demo --use-max-pods false)\n/etc/eks/bootstrap.sh \"${A[@]}\"",
		"a command that is computed":          "J=$(cat /opt/join)\n$J demo",
		"a wrapper that is not known":         "unshare /etc/eks/bootstrap.sh demo",
		"a NodeConfig that is computed":       "cat /opt/node.yaml > /etc/eks/nodeadm.d/x.yaml",
		"a NodeConfig that is printed":        "printf 'kind: %s\\n' NodeConfig > /etc/eks/nodeadm.d/x.yaml",
		"a NodeConfig that echo expands":      `echo -e "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig" > /etc/eks/nodeadm.d/x.yaml`,
		"a script that echo expands":          `echo -ne '#!/bin/bash\n/etc/eks/bootstrap.sh demo\n' > /join; bash /join`,
		"a NodeConfig of computed lines":      "cat > /etc/eks/nodeadm.d/x.yaml <<EOF\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n$(cat /opt/spec)\nEOF",
		"a NodeConfig that sed makes":         "sed s/NAME/demo/ /opt/t.yaml > /etc/eks/nodeadm.d/x.yaml",
		"one that tee writes":                 "sed s/NAME/demo/ /opt/t.yaml | tee /etc/eks/nodeadm.d/x.yaml > /dev/null",
		"one that sed makes of a here-doc":    "sed s/NAME/demo/ > /etc/eks/nodeadm.d/x.yaml <<'EOF'\n" + nodeConfigHead + exampleCluster + "EOF",
		"one that a loop prints":              "while read -r l; do echo \"$l\"; done < /opt/t.yaml > /etc/eks/nodeadm.d/x.yaml",
		"one that is edited in place":         "cat > /etc/eks/nodeadm.d/x.yaml <<'EOF'\n" + nodeConfigHead + exampleCluster + "EOF\nsed -i \"s/demo/$N/\" /etc/eks/nodeadm.d/*.yaml",
		"one of the image that is copied":     "cp /opt/node.yaml /etc/eks/nodeadm.d/",
		"a script that is edited in place":    "echo /etc/eks/bootstrap.sh NAME > /join\nsed -i \"s/NAME/$N/\" /join\nbash /join",
		"one that is made anew":               "echo /etc/eks/bootstrap.sh NAME > /join\nsed \"s/NAME/$N/\" /join > /new && mv /new /join\nbash /join",
		"one that sed gives to a shell":       "echo /etc/eks/bootstrap.sh NAME > /join\nsed \"s/NAME/$N/\" /join | bash",
		"a NodeConfig with a computed switch": "cat > /etc/eks/nodeadm.d/x.yaml <<EOF\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {featureGates: {InstanceIdNodeName: $(cat /opt/gate)}}\nEOF",
	} {
		t.Run(name, func(t *testing.T) {
			b := Read([]byte("#!/bin/bash\n" + script + "\n"))
			expect.That(t, len(b.Clusters) == 0, "clusters %q", b.Clusters)
			for _, f := range b.Faults {
				expect.That(t, f.Effect != Fails && f.Effect != Skipped, "a verdict: %s by %s", f, f.By)
			}
			for _, j := range b.Joins {
				if j.Cluster.State != Dynamic && j.Tool == BootstrapScript {
					t.Errorf("the name is %+v", j.Cluster)
				}
			}
			if !b.Opaque && !b.Unclear && len(b.Joins) == 0 {
				t.Error("nothing says that something is unknown")
			}
		})
	}
	// An argument that may be any number of arguments may be any option.
	b := Read([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh demo $EXTRA_ARGS\n"))
	j := b.Joins[0]
	expect.That(t, j.Endpoint.State == Dynamic && j.CA.State == Dynamic && j.Kubelet.FlagsDynamic && b.For("demo"), "got %+v", j)
}
