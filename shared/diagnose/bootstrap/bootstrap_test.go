package bootstrap_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

type example struct {
	name string
	s    *scene
	want string // in the form of told
}

func check(t *testing.T, examples []example) {
	t.Helper()
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			sheet := x.s.analyze()
			if got := causetest.Told(sheet); got != x.want {
				t.Errorf("%q, want %q", got, x.want)
				for _, c := range sheet.Causes() {
					t.Logf("%s: %s", c.Code, c.Summary)
				}
			}
			causetest.Whole(t, x.name, sheet)
		})
	}
}

func TestExamples(t *testing.T) { check(t, everyExample()) }

func soundUserData() []example {
	return []example{
		{"a NodeConfig", nodeadm(), ""},
		{"a NodeConfig in MIME, beside a script", nodeadm().data(multipart(part(ofShell, script("echo hello")), part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
		{"a NodeConfig that is indented as a whole", nodeadm().data(multipart(part(ofNodeadm, "  "+strings.ReplaceAll(nodeConfig(name, endpoint, ca), "\n", "\n  ")))), ""},
		{"an address in other letters and with a slash", nodeadm().data(nodeConfig(name, strings.ToLower(endpoint[:len("https://")+32])+endpoint[len("https://")+32:]+"/", ca)), ""},
		{"bootstrap.sh, which is AL2 and worth a hint with 1.35", legacy(), "AmiFamilyUnsupported?"},
		{"bootstrap.sh on a cluster that still has AL2", legacy().cluster(func(c *evidence.ClusterConfig) { c.Version = "1.32" }), ""},
		{"bootstrap.sh on Ubuntu", healthyWith(amiUbuntu, bootstrapSh("")), ""},
		{"TOML", rocket(), ""},
		{"PowerShell", healthyWith(amiWindows, "<powershell>\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile -EKSClusterName \""+name+"\"\n</powershell>\n"), ""},
		{"PowerShell with a list of addresses, with blanks behind its commas", healthyWith(amiWindows, start("-EKSClusterName "+name+" -ExcludedSnatCIDRs 10.40.0.0/16, 10.41.0.0/16")), ""},
		{"PowerShell that puts the name together", healthyWith(amiWindows, strings.Replace(start("-EKSClusterName $c"), "\n", "\n$c = 'pay'\n$c += 'ments'\n", 1)), ""},
		{"PowerShell with a table of arguments", healthyWith(amiWindows, strings.Replace(start("@join"), "\n", "\n$join = @{ EKSClusterName = '"+name+"'; APIServerEndpoint = '"+endpoint+"'; Base64ClusterCA = '"+ca+"' }\n", 1)).private(), ""},
		{"a NodeConfig that sed makes of a template", nodeadm().data(fromTemplate("sed \"s/NAME/$C/\" /tmp/t > /etc/eks/nodeadm.d/x.yaml")), ""},
		{"and tee writes", nodeadm().data(fromTemplate("sed \"s/NAME/$C/\" /tmp/t | tee /etc/eks/nodeadm.d/x.yaml")), ""},
		{"that is edited where it is", nodeadm().data(fromTemplate("mv /tmp/t /etc/eks/nodeadm.d/x.yaml", "sed -i \"s/NAME/$C/\" /etc/eks/nodeadm.d/*.yaml")), ""},
		{"a copied NodeConfig", nodeadm().data(fromTemplate("install -m 600 /tmp/t /etc/eks/nodeadm.d/x.yaml")), "UserDataClusterMismatch"},
		{"a script that is edited before it runs", healthyWith(amiUbuntu, script("echo /etc/eks/bootstrap.sh NAME > /join", "sed -i \"s/NAME/$C/\" /join", "bash /join")), "UserDataEmpty?"},
		{"two NodeConfigs that complete each other", nodeadm().data(multipart(
			part(ofNodeadm, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n    - --node-labels=team=a\n"),
			part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
		{"EKS Auto Mode is AWS's own", func() *scene { s := nodeadm().without(); s.f.Owner = roll.OwnerAutoMode; return s }(), ""},
	}
}

// fromTemplate writes the NodeConfig of the cluster NAME to /tmp/t and runs more, beside a NodeConfig.
func fromTemplate(more ...string) string {
	return multipart(part(ofNodeadm, nodeConfig(name, endpoint, ca)), part(ofShell, writesTemplate(more...)))
}

func writesTemplate(more ...string) string {
	return script("C=$(cat /etc/payments/cluster)", "cat > /tmp/t <<'EOF'", nodeConfig("NAME", endpoint, ca)+"EOF", strings.Join(more, "\n"))
}

// dropsIn writes the NodeConfig for nodeadm-run.service and runs more.
func dropsIn(more ...string) string {
	return script("cat > /etc/eks/nodeadm.d/x.yaml <<'EOF'", nodeConfig(name, endpoint, ca)+"EOF", strings.Join(more, "\n"))
}

// passedOver is a whole boot of Ubuntu whose cloud-init passes a NodeConfig over.
var passedOver = []string{
	"[    0.000000] Linux version 6.8.0-1031-aws (buildd@lcy02-amd64-052) (x86_64-linux-gnu-gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04.2) 12.3.0) #33~22.04.1-Ubuntu SMP",
	"[   14.301124] cloud-init[902]: 2026-03-10 11:20:33,217 - __init__.py[WARNING]: Unhandled unknown content-type (application/node.eks.aws) userdata: 'b'---'...'",
	"[   17.811204] cloud-init[990]: Cloud-init v. 25.1.4-0ubuntu0~22.04.1 finished at Tue, 10 Mar 2026 11:20:37 +0000. Datasource DataSourceEc2Local.  Up 17.80 seconds",
}

// unknownType and noType are the same boot whose cloud-init passes over what is of another type, or all of
// the user data.
var (
	unknownType = []string{passedOver[0], strings.Replace(passedOver[1], "application/node.eks.aws", "text/x-settings", 1), passedOver[2]}
	noType      = []string{passedOver[0], strings.Replace(passedOver[1], "unknown content-type (application/node.eks.aws)", "non-multipart (text/x-not-multipart)", 1), passedOver[2]}
)

func unreadData(i *evidence.Instance) { i.UserData = evidence.Failed[userdata.Boot]("why") }

func foreignUserData() []example {
	twice := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	both := multipart(part(ofShell, script("/etc/eks/bootstrap.sh "+name+" || true")), part(ofNodeadm, nodeConfig(name, endpoint, ca)))
	return []example{
		{"bootstrap.sh on AL2023", nodeadm().data(bootstrapSh("")), "UserDataWrongFormat"},
		{"bootstrap.sh in a branch on AL2023", nodeadm().data(script("if [ -x /etc/eks/bootstrap.sh ]; then", "  /etc/eks/bootstrap.sh "+name, "fi")), "UserDataWrongFormat"},
		{"bootstrap.sh beside a NodeConfig", nodeadm().data(both), ""},
		{"a NodeConfig on AL2", legacy().data(nodeConfig(name, endpoint, ca)), "UserDataWrongFormat AmiFamilyUnsupported?"},
		{"a NodeConfig beside bootstrap.sh on AL2", legacy().data(both), "AmiFamilyUnsupported?"},
		{"a first line that env cannot run", healthyWith(amiUbuntu, "#!/usr/bin/env bash -e\n/etc/eks/bootstrap.sh "+name+"\n"), "UserDataUnparseable"},
		{"a cloud-config of two documents", healthyWith(amiUbuntu, "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh "+name+"\n---\npackages: [jq]\n"), "UserDataUnparseable"},
		{"and beside a NodeConfig", nodeadm().data(multipart(part("text/cloud-config", "#cloud-config\npackages: [jq]\n---\n{}\n"), part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
		{"a script whose file another one overwrites", healthyWith(amiUbuntu, multipart(part(ofShell+"; name=init.sh", script("/etc/eks/bootstrap.sh "+name)), part(ofShell+"; name=init.sh", script("date")))), "UserDataUnparseable"},
		{"a NodeConfig on Ubuntu is a hint", healthyWith(amiUbuntu, nodeConfig(name, endpoint, ca)), "UserDataWrongFormat?"},
		{"cloud-init passes it over", healthyWith(amiUbuntu, nodeConfig(name, endpoint, ca)).console(passedOver...), "UserDataWrongFormat CloudInitFailed AmiWithoutKubernetes?"},
		{"and a program runs that nodeadm may be a part of", healthyWith(amiUbuntu, multipart(part(ofNodeadm, nodeConfig(name, endpoint, ca)), part(ofShell, script("curl -fsSLo /opt/join https://example.com/join", "/opt/join")))).console(passedOver...), "UserDataWrongFormat? AmiWithoutKubernetes? CloudInitFailed?"},
		{"and nodeadm ran", healthyWith(amiUbuntu, nodeConfig(name, endpoint, ca)).console(append(slices.Clone(passedOver), nodeadmDone...)...), "UserDataWrongFormat?"},
		{"cloud-init passes it over, and a script beside it calls bootstrap.sh", healthyWith(amiUbuntu, both).console(passedOver...), "AmiWithoutKubernetes? CloudInitFailed?"},
		{"the same on AL2", legacy().data(both).console(lines(bootAL2, passedOver[1:])...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"a part of an unknown type beside such a script", healthyWith(amiUbuntu, multipart(part(ofShell, script("/etc/eks/bootstrap.sh "+name)), part("text/x-settings", "team = payments"))).console(unknownType...), "UserDataUnparseable? AmiWithoutKubernetes? CloudInitFailed?"},
		{"a part of an unknown type beside a script that may join", healthyWith(amiUbuntu, multipart(part(ofShell, script("curl -fsSLo /opt/join https://example.com/join", "/opt/join")), part("text/x-settings", "team = payments"))).console(unknownType...), "UserDataUnparseable? AmiWithoutKubernetes? CloudInitFailed?"},
		{"a call of bootstrap.sh in a part of an unknown type", healthyWith(amiUbuntu, multipart(part("text/x-settings", script("/etc/eks/bootstrap.sh "+name)), part(ofShell, script("date")))).console(unknownType...), "UserDataUnparseable CloudInitFailed AmiWithoutKubernetes?"},
		{"unread user data that is of no type", healthyWith(amiUbuntu, "").update(unreadData).console(noType...), "AmiWithoutKubernetes? CloudInitFailed"},
		{"unread user data with a part of an unknown type", healthyWith(amiUbuntu, "").update(unreadData).console(unknownType...), "AmiWithoutKubernetes? CloudInitFailed?"},
		{"on an image of one's own", healthyWith(amiOwn, nodeConfig(name, endpoint, ca)).console(passedOver...), "UserDataWrongFormat? AmiWithoutKubernetes? CloudInitFailed?"},
		{"TOML on Ubuntu", healthyWith(amiUbuntu, toml(name, endpoint, ca)), "UserDataWrongFormat"},
		{"PowerShell on Ubuntu", healthyWith(amiUbuntu, powershell), "UserDataWrongFormat"},
		{"PowerShell on AL2", legacy().data(powershell), "UserDataWrongFormat AmiFamilyUnsupported?"},
		{"PowerShell on AL2023", nodeadm().data(powershell), "UserDataWrongFormat"},
		{"PowerShell on Bottlerocket", rocket().data(powershell), "UserDataWrongFormat"},
		{"a NodeConfig on Windows", healthyWith(amiWindows, nodeConfig(name, endpoint, ca)), "UserDataWrongFormat"},
		{"TOML on Windows", healthyWith(amiWindows, toml(name, endpoint, ca)), "UserDataWrongFormat"},
		{"a cloud-config on Windows", healthyWith(amiWindows, "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh "+name+"\n"), "UserDataWrongFormat"},
		{"a cloud-config on Bottlerocket", rocket().data("#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh " + name + "\n"), "UserDataWrongFormat"},
		{"TOML on AL2023", nodeadm().data(toml(name, endpoint, ca)), "UserDataWrongFormat"},
		{"TOML on AL2", legacy().data(toml(name, endpoint, ca)), "UserDataWrongFormat AmiFamilyUnsupported?"},
		{"a script on Bottlerocket", rocket().data(bootstrapSh("")), "UserDataWrongFormat"},
		{"a NodeConfig on Bottlerocket", rocket().data(nodeConfig(name, endpoint, ca)), "UserDataWrongFormat"},
		{"MIME on Bottlerocket, even with TOML in it", rocket().data(multipart(part("text/plain", toml(name, endpoint, ca)))), "UserDataWrongFormat"},
		{"a script on Windows", healthyWith(amiWindows, bootstrapSh("")), "UserDataWrongFormat"},
		{"PowerShell without its tags", healthyWith(amiWindows, "[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile -EKSClusterName \""+name+"\"\n"), "UserDataWrongFormat"},
		{"a NodeConfig in a part of another type", nodeadm().data(multipart(part("text/plain", nodeConfig(name, endpoint, ca)))), "UserDataWrongFormat"},
		{"base64 of base64 on Bottlerocket", rocket().data(twice(toml(name, endpoint, ca))), "UserDataWrongFormat"},
		{"base64 of base64 on AL2", legacy().data(twice(bootstrapSh(""))), "UserDataWrongFormat AmiFamilyUnsupported?"},
		{"base64 of base64, which nodeadm undoes", nodeadm().data(twice(nodeConfig(name, endpoint, ca))), ""},
		{"bootstrap.sh, and a part that was not followed", nodeadm().data(multipart(part(ofShell, bootstrapSh("")), part("text/x-include-url", "#include\nhttps://example.com/more"))), "UserDataWrongFormat?"},
		{"an AMI of which nothing tells the family", healthyWith(amiOwn, bootstrapSh("")), ""},
		{"an AMI of which only the console tells the family, and which may have a script of its own", healthyWith(amiOwn, bootstrapSh("")).console(bootAL2023...), "UserDataWrongFormat?"},
		{"and whose script says that it was removed", healthyWith(amiOwn, bootstrapSh("")).console(lines(bootAL2023, []string{"[   12.100000] cloud-init[1893]: !!!!!!!!!! ERROR: bootstrap.sh has been removed from AL2023-based EKS AMIs."})...), "UserDataWrongFormat"},
		{"and whose nodeadm finds nothing", healthyWith(amiOwn, bootstrapSh("")).console(lines(bootAL2023, []string{noConfig, configFailed})...), "UserDataWrongFormat NodeadmFailed"},
		{"another AMI, of which the node group's type tells", healthyWith(amiOwn, bootstrapSh("")).managed("AL2023_x86_64_STANDARD"), "UserDataWrongFormat"},
		{"a healthy instance of the same template works with it", nodeadm().data(bootstrapSh("")).group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
		}), "UserDataWrongFormat?"},
		{"one of another version proves nothing", nodeadm().data(bootstrapSh("")).group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "2"}}
		}), "UserDataWrongFormat"},
		{"a script alone on an AMI of one's own, which may join by itself", healthyWith(amiOwn, installs).console(bootAL2023...), "UserDataEmpty?"},
		{"a script alone on an AMI of one's own, on which nodeadm finds nothing", healthyWith(amiOwn, installs).console(lines(bootAL2023, []string{noConfig, configFailed})...), "UserDataWrongFormat NodeadmFailed"},
		{"and on which it was started after all", healthyWith(amiOwn, installs).console(lines(bootAL2023, []string{noConfig, configFailed}, nodeadmDone)...), "UserDataEmpty?"},
		{"and whose script starts nodeadm by itself", healthyWith(amiOwn, installs+"nodeadm init -c file:///etc/payments/node.yaml\n").console(lines(bootAL2023, []string{noConfig, configFailed})...), "NodeadmFailed"},
		{"and whose script runs what it fetches", healthyWith(amiOwn, fetches).console(lines(bootAL2023, []string{noConfig, configFailed}, finished)...), "UserDataWrongFormat NodeadmFailed"},
		{"and whose script, which may be to join, failed", healthyWith(amiOwn, fetches).console(lines(bootAL2023, []string{noConfig, configFailed, partFailed})...), "UserDataWrongFormat? NodeadmFailed CloudInitFailed?"},
		{"the same on an AMI of EKS", nodeadm().data(fetches).console(lines(bootAL2023, []string{noConfig, configFailed, partFailed})...), "UserDataWrongFormat? NodeadmFailed CloudInitFailed?"},
		{"and whose script, of which all is known, failed", healthyWith(amiOwn, installs).console(lines(bootAL2023, []string{noConfig, configFailed, partFailed})...), "UserDataWrongFormat NodeadmFailed CloudInitFailed?"},
		{"the console alone shows that bootstrap.sh is gone", nodeadm().unread().console(lines(bootAL2023, []string{
			"[   12.100000] cloud-init[1893]: !!!!!!!!!! ERROR: bootstrap.sh has been removed from AL2023-based EKS AMIs.",
		})...), "UserDataWrongFormat?"},
		{"the console shows that nodeadm found no NodeConfig either", nodeadm().unread().console(lines(bootAL2023, []string{
			`[    9.710421] nodeadm[1701]: {"level":"fatal","ts":1773141655.81,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no config in chain"}`,
			"[   12.100000] cloud-init[1893]: !!!!!!!!!! ERROR: bootstrap.sh has been removed from AL2023-based EKS AMIs.",
		})...), "UserDataWrongFormat NodeadmFailed"},
	}
}

// Of a cluster's two authorities in a rotation DescribeCluster does not say which one signs. A node that works with
// the same user data shows it.
func TestOneOfTwoAuthoritiesIsUnsettled(t *testing.T) {
	mate := func(g *evidence.Group) {
		g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
	}
	later := func(g *evidence.Group) {
		g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "4", Joined: launched.Add(2 * time.Hour)}}
	}
	for _, tt := range []struct {
		name  string
		scene *scene
		open  bool
	}{
		{"one of two", nodeadm().cluster(rotated), true},
		{"one of two, with which another instance works", nodeadm().cluster(rotated).group(mate), false},
		{"one of two, before an act, when the other instances are not known", nodeadm().cluster(rotated).alone(), false},
		{"one of two, of a node that went silent", nodeadm().kind(roll.Unknown).cluster(rotated), true},
		{"one of two, of a silent node of whose group an instance joined since", nodeadm().kind(roll.Unknown).cluster(rotated).group(later), false},
		{"one of two, of a silent node before an act", nodeadm().kind(roll.Unknown).cluster(rotated).alone(), false},
		{"another one", nodeadm().data(nodeConfig(name, endpoint, otherCA)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range tt.scene.analyze().Causes() {
				expect.Equal(t, strings.HasPrefix(c.Unsettled, evidence.AnswerOf), tt.open, "%s: %q", c.Code, c.Unsettled)
			}
		})
	}
}

// unread returns the scene with unreadable user data.
func (s *scene) unread() *scene {
	return s.update(func(i *evidence.Instance) {
		i.UserData = evidence.Failed[userdata.Boot]("ec2:DescribeInstanceAttribute: no permission")
	})
}

func brokenUserData() []example {
	return []example{
		{"a NodeConfig that is no YAML", nodeadm().data(strings.Replace(nodeConfig(name, endpoint, ca), "    name: ", "    name ", 1) + "  : oops\n"), "UserDataUnparseable"},
		{"a NodeConfig of another kind", nodeadm().data(strings.Replace(nodeConfig(name, endpoint, ca), "kind: NodeConfig", "kind: NodeConfiguration", 1)), "UserDataUnparseable"},
		{"a NodeConfig of a version that the AMI's nodeadm does not know", nodeadm().data(nextVersion), "UserDataUnparseable"},
		{"a NodeConfig of a version that a later AMI refuses", healthyWith(laterAMI, nextVersion).console(lines(bootAL2023, []string{
			`[   12.330441] nodeadm[1502]: {"level":"fatal","ts":1770000000.1,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no kind \"NodeConfig\" is registered for version \"node.eks.aws/v1beta1\" in scheme"}`})...), "UserDataUnparseable NodeadmFailed"},
		{"a NodeConfig that a script alone writes, before which nodeadm stops", nodeadm().data(dropsIn("systemctl restart kubelet")), "UserDataUnparseable"},
		{"and a NodeConfig without a cluster beside it", nodeadm().data(multipart(part(ofNodeadm, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags: [--node-labels=team=a]\n"), part(ofShell, dropsIn()))), "UserDataUnparseable"},
		{"and a NodeConfig with the cluster beside it", nodeadm().data(multipart(part(ofNodeadm, nodeConfig(name, endpoint, ca)), part(ofShell, dropsIn()))), ""},
		{"and a script that runs nodeadm, which may read it one day", nodeadm().data(dropsIn("nodeadm init")), "UserDataUnparseable?"},
		{"and one that starts its service, after a change of its unit", nodeadm().data(dropsIn("systemctl start nodeadm-run.service")), "UserDataUnparseable?"},
		{"and one that writes its unit", nodeadm().data(dropsIn("sed -i s,imds://user-data,file:///etc/eks/nodeadm.d/, /etc/systemd/system/nodeadm-config.service")), "UserDataUnparseable?"},
		{"by its other path", nodeadm().data(dropsIn("sed -i s,imds://user-data,file:///etc/eks/nodeadm.d/, /lib/systemd/system/nodeadm-config.service")), "UserDataUnparseable?"},
		{"on an AMI of one's own", healthyWith(amiOwn, dropsIn()).console(bootAL2023...), "UserDataUnparseable?"},
		{"and its nodeadm finds nothing", healthyWith(amiOwn, dropsIn()).console(lines(bootAL2023, []string{noConfig, configFailed})...), "UserDataUnparseable NodeadmFailed"},
		{"a NodeConfig with an authority that is no base64", nodeadm().data(nodeConfig(name, endpoint, "'***'")), "UserDataUnparseable"},
		{"settings with a table that dotted keys made, and a header of its own", rocket().data("[settings]\nkubernetes.max-pods = 3\n" + toml(name, endpoint, ca)), "UserDataUnparseable"},
		{"settings that lack the endpoint", rocket().data("[settings.kubernetes]\ncluster-name = '" + name + "'\n"), "UserDataUnparseable"},
		{"and a bootstrap container may make them", rocket().data("[settings.kubernetes]\ncluster-name = '" + name + "'\n[settings.bootstrap-containers.join]\nsource = 'example.com/join:1'\nmode = 'always'\n"), "UserDataUnparseable?"},
		{"and one that is off", rocket().data("[settings.kubernetes]\ncluster-name = '" + name + "'\n[settings.bootstrap-containers.join]\nsource = 'example.com/join:1'\nmode = 'off'\n"), "UserDataUnparseable"},
		{"and one that no mode turns on", rocket().data("[settings.kubernetes]\ncluster-name = '" + name + "'\n[settings.bootstrap-containers.join]\nsource = 'example.com/join:1'\n"), "UserDataUnparseable"},
		{"a NodeConfig that lacks the endpoint", nodeadm().data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: " + name + "\n"), "UserDataUnparseable"},
		{"a NodeConfig that an AMI of one's own may complete", healthyWith(amiOwn, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: "+name+"\n").console(bootAL2023...), "UserDataUnparseable?"},
		{"a NodeConfig that an AMI of one's own was to complete, and did not", halfConfigured(`{"level":"fatal","ts":1770000000.1,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"Apiserver endpoint is missing in cluster configuration"}`), "UserDataUnparseable NodeadmFailed"},
		{"a NodeConfig that an AMI of one's own completes, before nodeadm fails otherwise", halfConfigured(`{"level":"fatal","ts":1770000000.1,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"operation error EC2: DescribeInstances, exceeded maximum number of attempts, 3"}`), "UserDataUnparseable? NodeadmFailed"},
		{"MIME whose part has no empty line after its header", nodeadm().data(multipart(part(ofNodeadm, nodeConfig(name, endpoint, ca)), "Content-Type: text/x-shellscript\n#!/bin/bash\nset -ex\n")), "UserDataUnparseable"},
		{"TOML that does not parse", rocket().data(toml(name, endpoint, ca) + "example.com/x86=:NoSchedule\n"), "UserDataUnparseable"},
		{"TOML without a settings table", rocket().data("[setting.kubernetes]\ncluster-name = \"" + name + "\"\n# settings.\n"), "UserDataUnparseable"},
		{"a cloud-config that does not parse and would have joined", legacy().data("#cloud-config\nruncmd:\n- [ /etc/eks/bootstrap.sh, " + name + "\n"), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a cloud-config that does not parse beside a script that joins", legacy().data(multipart(part("text/cloud-config", "#cloud-config\nruncmd: [\n"), part(ofShell, bootstrapSh("")))), "UserDataUnparseable? AmiFamilyUnsupported?"},
		{"a script in a part of a type that cloud-init does not know", legacy().data(multipart(part("text/x-sh", bootstrapSh("")))), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a part of such a type beside a script that joins", legacy().data(multipart(part("text/x-sh", script("date")), part(ofShell, bootstrapSh("")))), "AmiFamilyUnsupported?"},
		{"a part of such a type beside a NodeConfig", nodeadm().data(multipart(part("text/x-sh", script("date")), part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
		{"a runcmd that another part replaces", legacy().data(multipart(part("text/cloud-config", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh "+name+"]\n"), part("text/cloud-config", "#cloud-config\nruncmd: [date]\n"))), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a runcmd with an entry that YAML reads as a mapping", legacy().data("#cloud-config\nruncmd:\n- echo \"joining: " + name + "\"\n- /etc/eks/bootstrap.sh " + name + "\n"), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"such a bootcmd beside a script that joins", legacy().data(multipart(part("text/cloud-config", "#cloud-config\nbootcmd:\n- echo a: b\n"), part(ofShell, bootstrapSh("")))), "AmiFamilyUnsupported?"},
		{"one that joins nothing and is replaced, beside a script that joins", legacy().data(multipart(part("text/cloud-config", "#cloud-config\nruncmd: [date]\n"), part("text/cloud-config", "#cloud-config\nruncmd: [uptime]\n"), part(ofShell, bootstrapSh("")))), "AmiFamilyUnsupported?"},
		{"a file that bootcmd runs before write_files writes it", legacy().data("#cloud-config\nwrite_files: [{path: /join, content: /etc/eks/bootstrap.sh " + name + "}]\nbootcmd: [bash /join]\n"), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a script that begins with a blank line, which the kernel does not run", legacy().data("\n" + bootstrapSh("")), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a script that bash gives up somewhere", legacy().data(script("/etc/eks/bootstrap.sh "+name+" --apiserver-endpoint "+endpoint+" --b64-cluster-ca "+ca, "if true; then")), "UserDataUnparseable? AmiFamilyUnsupported?"},
		{"a broken script beside a NodeConfig", nodeadm().data(multipart(part(ofShell, script("if true; then")), part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
		{"Ignition's JSON on a system that nothing tells", healthyWith(amiOwn, `{"ignition":{"version":"3.3.0"},"systemd":{"units":[{"name":"kubelet.service","enabled":true}]}}`), ""},
		{"a configuration of Talos on a system that nothing tells", healthyWith(amiOwn, "version: v1alpha1\nmachine:\n  type: worker\n"), ""},
		{"Ignition's JSON on Amazon Linux 2", legacy().data(`{"ignition":{"version":"3.3.0"},"systemd":{"units":[{"name":"join","contents":"ExecStart=/etc/eks/bootstrap.sh ` + name + `"}]}}`), "UserDataUnparseable AmiFamilyUnsupported?"},
		{"a broken NodeConfig on a system that nothing tells", healthyWith(amiOwn, strings.Replace(nodeConfig(name, endpoint, ca), "    name: ", "    name ", 1)+"  : oops\n"), "UserDataUnparseable?"},
	}
}

// nextVersion is a NodeConfig of a version that no nodeadm had when this was written, and laterAMI an
// AMI of EKS that is newer.
var (
	nextVersion = strings.Replace(nodeConfig(name, endpoint, ca), "v1alpha1", "v1beta1", 1)
	laterAMI    = func() evidence.Image {
		i := amiAL2023
		i.Name = strings.Replace(i.Name, "v20260224", "v20991231", 1)
		return i
	}()
)

func TestWhatDependsOnTheVersionOfTheReaderIsNotChecked(t *testing.T) {
	for what, s := range map[string]*scene{
		"a NodeConfig of a later version":  healthyWith(laterAMI, nextVersion),
		"a setting that is not known":      rocket().data(toml(name, endpoint, ca) + "max-pod = 3\n"),
		"an inline table on several lines": rocket().data(toml(name, endpoint, ca) + "node-labels = {\n  a = 'b',\n}\n"),
	} {
		causetest.NotChecked(t, what, s.analyze(), "depends on the version of", cause.UserDataUnparseable)
	}
}

// Text that does not parse shows by its traces that it was meant to join, and the cause names them.
func TestTheTraceByWhichUserDataWasMeantToJoinIsNamed(t *testing.T) {
	for _, tt := range []struct {
		scene *scene
		want  string // "" if there is none
	}{
		{legacy().data("#!/bin/bash\necho \"joining\n/etc/eks/bootstrap.sh " + name + "\n"), "names bootstrap.sh, by which it was meant to join"},
		{nodeadm().data(strings.Replace(nodeConfig(name, endpoint, ca), "kind: NodeConfig", "kind: NodeConfiguration", 1)), "names nodeadm, by which it was meant to join"},
		{rocket().data(toml(name, endpoint, ca) + "example.com/x86=:NoSchedule\n"), "names bottlerocket, by which it was meant to join"},
		{legacy().data("\n" + bootstrapSh("")), ""}, // it parses: the kernel does not run it
	} {
		var named []string
		for _, c := range tt.scene.analyze().Causes() {
			for _, e := range c.Evidence {
				if c.Code == cause.UserDataUnparseable && strings.Contains(e.Observed, "meant to join") {
					named = append(named, e.Observed)
				}
			}
		}
		got := strings.Join(named, "; ")
		expect.That(t, got == tt.want, "%q, want %q", got, tt.want)
	}
}

// halfConfigured is an instance of an AMI of one's own with a NodeConfig that names the cluster
// alone, and nodeadm's last words on its console.
func halfConfigured(words string) *scene {
	return healthyWith(amiOwn, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: "+name+"\n").
		console(lines(bootAL2023, []string{"[   12.330441] nodeadm[1502]: " + words})...)
}

// The object of the sentence is what to fix.
func TestTheFixSaysWhatToMend(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{multipart(part(ofNodeadm, strings.Replace(nodeConfig(name, endpoint, ca), "    name: ", "    name ", 1)+"  : oops\n")), "correct part 1, line 6 (nodeconfig), which does not parse"},
		{"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: " + name + "\n", "add what is missing to user data: spec.cluster.apiServerEndpoint, spec.cluster.certificateAuthority, spec.cluster.cidr"},
	} {
		causes := nodeadm().data(tt.data).analyze().Causes()
		expect.That(t, len(causes) != 0 && strings.Contains(causes[0].Fix, tt.want+"\n"), "no %q in %+v", tt.want, causes)
	}
}

func TestUserDataForAnotherCluster(t *testing.T) {
	names := nodeadm().data(nodeConfig("Payments", endpoint, ca)).analyze().Causes()[0].Summary
	expect.That(t, strings.Contains(names, "upper and lower case"), "%s: does not say that the case matters", names)
}

func othersUserData() []example {
	return []example{
		{"another name", nodeadm().data(nodeConfig("billing", endpoint, ca)), "UserDataClusterMismatch"},
		{"the name in other letters", nodeadm().data(nodeConfig("Payments", endpoint, ca)), "UserDataClusterMismatch"},
		{"a variable that nobody put in", nodeadm().data(nodeConfig("${CLUSTER}", endpoint, ca)), "UserDataClusterMismatch"},
		{"another endpoint", nodeadm().data(nodeConfig(name, other, ca)), "UserDataClusterMismatch"},
		{"an endpoint of a name of one's own", nodeadm().data(nodeConfig(name, "https://api.example.com", ca)), "UserDataClusterMismatch?"},
		{"the other name of the same endpoint", nodeadm().data(nodeConfig(name, "https://0123456789ABCDEF0123456789ABCDEF.gr7.eks-cluster.eu-west-1.api.aws", ca)), "UserDataClusterMismatch?"},
		{"another authority", nodeadm().data(nodeConfig(name, endpoint, otherCA)), "UserDataClusterMismatch"},
		{"another authority while the cluster is updated", nodeadm().data(nodeConfig(name, endpoint, otherCA)).cluster(func(c *evidence.ClusterConfig) { c.Status = "UPDATING" }), "UserDataClusterMismatch?"},
		{"the authority that signs, before another does", nodeadm().cluster(rotated), "UserDataClusterMismatch?"},
		{"the same of bootstrap.sh", legacy().data(bootstrapSh("")).cluster(rotated), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"both authorities of a rotation", nodeadm().data(nodeConfig(name, endpoint, bundle)).cluster(rotated), ""},
		{"another authority besides that of the cluster", nodeadm().data(nodeConfig(name, endpoint, bundle)), ""},
		{"an authority that is none of a rotation", nodeadm().data(nodeConfig(name, endpoint, "Y2M=")).cluster(rotated), "UserDataClusterMismatch"},
		{"the authority that signs, of a node that went silent", silent(), "UserDataClusterMismatch?"},
		{"the same, from a sample of its launch template version", silent().sampled(), "UserDataClusterMismatch?"},
		{"the same, and another instance of the version works", silent().group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
		}), ""},
		{"the same, and its kubelet renews its lease", silent().leased(0), ""},
		{"both authorities, of a node that went silent", silent().data(nodeConfig(name, endpoint, bundle)), ""},
		{"the only authority, of a node that went silent", nodeadm().kind(roll.Unknown).node("v1.35.2-eks-1a2b3c4"), ""},
		{"another name, of a node that went silent", nodeadm().data(nodeConfig("billing", endpoint, ca)).kind(roll.Unknown).node("v1.35.2-eks-1a2b3c4"), ""},
		{"bootstrap.sh that asks EKS at boot, of a node that went silent", legacy().data(script("/etc/eks/bootstrap.sh " + name)).cluster(rotated).kind(roll.Unknown), ""},
		{"another name for bootstrap.sh", legacy().data(script("/etc/eks/bootstrap.sh billing")), "UserDataClusterMismatch AmiFamilyUnsupported?"},
		{"another endpoint and authority for bootstrap.sh", legacy().data(script("/etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + other + " --b64-cluster-ca " + otherCA)), "UserDataClusterMismatch AmiFamilyUnsupported?"},
		{"an authority that bootstrap.sh cannot decode", legacy().data(script("/etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + endpoint + " --b64-cluster-ca CLUSTER_CA")), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"alone, so that it is replaced", legacy().data(script("/etc/eks/bootstrap.sh " + name + " --b64-cluster-ca CLUSTER_CA")), "AmiFamilyUnsupported?"},
		{"TOML with an authority that is not base64", rocket().data(toml(name, endpoint, "CLUSTER_CA")), "UserDataUnparseable"},
		{"another endpoint alone, which bootstrap.sh replaces", legacy().data(script("/etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + other)), "AmiFamilyUnsupported?"},
		{"a call in a branch", legacy().data(script("if test -f /etc/other; then /etc/eks/bootstrap.sh billing; fi")), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"another endpoint in a branch", legacy().data(script("if test -f /etc/other; then /etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + other + " --b64-cluster-ca " + ca + "; fi")), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"another authority in a branch", legacy().data(script("if test -f /etc/other; then /etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + endpoint + " --b64-cluster-ca " + otherCA + "; fi")), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"another endpoint in the form of IPv6", nodeadm().data(nodeConfig(name, "https://ffffffff0123456789abcdef01234567.gr7.eks-cluster.eu-west-1.api.aws", ca)), "UserDataClusterMismatch"},
		{"a wrong call and a right one", legacy().data(script("/etc/eks/bootstrap.sh billing || /etc/eks/bootstrap.sh " + name)), "UserDataClusterMismatch? AmiFamilyUnsupported?"},
		{"a name that the instance computes", legacy().data(script("/etc/eks/bootstrap.sh $(cat /etc/cluster)")), "AmiFamilyUnsupported?"},
		{"TOML for another cluster", rocket().data(toml("billing", endpoint, ca)), "UserDataClusterMismatch"},
		{"TOML for another region", rocket().data(toml(name, endpoint, ca) + "[settings.aws]\nregion = 'us-east-2'\n"), "UserDataClusterMismatch"},
		{"TOML for this region", rocket().data(toml(name, endpoint, ca) + "[settings.aws]\nregion = 'eu-west-1'\n"), ""},
		{"TOML for another region, and EC2 is not asked for the name", rocket().data(toml(name, endpoint, ca) + "hostname-override-source = 'instance-id'\n[settings.aws]\nregion = 'us-east-2'\n"), "UserDataClusterMismatch?"},
		{"TOML for another region that names the node", rocket().data(toml(name, endpoint, ca) + "hostname-override = 'ip-10-0-0-1.eu-west-1.compute.internal'\n[settings.aws]\nregion = 'us-east-2'\n"), "UserDataClusterMismatch?"},
		{"a NodeConfig of which a later one corrects the name", nodeadm().data(multipart(part(ofNodeadm, nodeConfig("billing", other, otherCA)), part(ofNodeadm, nodeConfig(name, endpoint, ca)))), ""},
	}
}

func kubeletFlags() []example {
	hint := " AmiFamilyUnsupported?"
	flags := func(list string) string { return nodeConfig(name, endpoint, ca, "  kubelet:\n    flags:\n"+list) }
	return []example{
		// What is known to work, and what only looks like it.
		{"quotes within quotes", legacy().data(extraArgs(`'--node-labels="team=a,tier=b" --max-pods=58'`)), "UserDataMalformedFlags?" + hint},
		{"single quotes within quotes, which old systemd may drop", legacy().data(extraArgs(`"--node-labels='team=a' --max-pods=58"`)), "UserDataMalformedFlags?" + hint},
		{"a quote that is never closed", legacy().data(extraArgs(`'--node-labels="team=a,tier=b --max-pods=58'`)), "UserDataMalformedFlags" + hint},
		{"a quote around the flags that is never closed", legacy().data(extraArgs(`'--node-labels=team=a --max-pods=58`)), "UserDataMalformedFlags" + hint},
		{"double quotes around them that are never closed", legacy().data(extraArgs(`"--node-labels=team=a --max-pods=58`) + "echo done\n"), "UserDataMalformedFlags" + hint},
		{"a quote before the cluster's name that is never closed", legacy().data("#!/bin/bash\n/etc/eks/bootstrap.sh 'payments --kubelet-extra-args --max-pods=58\n"), "UserDataUnparseable" + hint},
		{"a quote around the flags that a later line closes", legacy().data(extraArgs(`'--node-labels=team=a`) + "--max-pods=58'\n"), "UserDataMalformedFlags?" + hint},
		{"a quote that is never closed, after which nothing comes", legacy().data(extraArgs(`'--node-labels=team=a --max-pods="58'`)), "UserDataMalformedFlags?" + hint},
		{"quotes that reach the kubelet", legacy().data(extraArgs(`'--node-labels=team=\\\"a\\\" --max-pods=58'`)), "UserDataMalformedFlags" + hint},
		{"plain flags", legacy().data(extraArgs(`'--node-labels=team=a --max-pods=58'`)), strings.TrimSpace(hint)},

		{"nested quotes in a NodeConfig's flags", nodeadm().data(flags("    - '--node-labels=\"team=a\"'\n")), "UserDataMalformedFlags?"},
		{"an unclosed quote in a NodeConfig's flags", nodeadm().data(flags("    - '--node-labels=\"team=a'\n    - --max-pods=58\n")), "UserDataMalformedFlags"},
		{"quotes in quotes in a NodeConfig's flags", nodeadm().data(flags("    - |-\n      --node-labels='\"team=a\"'\n")), "UserDataMalformedFlags"},
		{"Karpenter's own quotes", nodeadm().karpenter("AL2023").data(multipart(part(ofNodeadm, "# Karpenter Generated NodeConfig\n"+flags("    - '--node-labels=\"team=a\"'\n")))), ""},
		{"quotes like Karpenter's in a part of one's own", nodeadm().karpenter("AL2023").data(multipart(part(ofNodeadm, flags("    - '--node-labels=\"team=a\"'\n")))), "UserDataMalformedFlags?"},
		{"Karpenter's own quotes on AL2", legacy().karpenter("AL2").data(extraArgs(`'--node-labels="team=a" --register-with-taints="karpenter.sh/unregistered:NoExecute"'`)), strings.TrimSpace(hint)},

		{"a label that a kubelet may not set", legacy().data(extraArgs(`--node-labels=node-role.kubernetes.io/worker=`)), "UserDataMalformedFlags" + hint},
		{"such a label in TOML", rocket().data(toml(name, endpoint, ca) + "[settings.kubernetes.node-labels]\n\"node-role.kubernetes.io/worker\" = \"\"\n"), "UserDataMalformedFlags"},
		{"a taint without an effect", nodeadm().data(flags("    - --register-with-taints=team=a\n")), "UserDataMalformedFlags"},
		{"a taint in the configuration whose effect does not exist", nodeadm().data(nodeConfig(name, endpoint, ca, "  kubelet:\n    config:\n      registerWithTaints:\n      - key: team\n        effect: Never\n")), "UserDataMalformedFlags"},
		{"a flag with one dash", nodeadm().data(flags("    - -max-pods=58\n")), "UserDataMalformedFlags"},
		{"a word that is no flag", nodeadm().data(flags("    - stray\n")), "UserDataMalformedFlags"},
		{"a flag that takes the next one for its value", nodeadm().data(flags("    - --node-labels\n    - --max-pods=58\n")), "UserDataMalformedFlags"},
		{"a path that takes the next flag for its value", nodeadm().data(flags("    - --root-dir\n    - --max-pods=58\n")), "UserDataMalformedFlags?"},
		{"a flag whose value is missing", nodeadm().data(flags("    - --node-ip\n")), "UserDataMalformedFlags"},
		{"a quote in a value that is not kept", nodeadm().data(flags("    - |-\n      --provider-id='\"x\"'\n")), "UserDataMalformedFlags?"},
		{"an unclosed quote around taints", nodeadm().data(flags("    - '--register-with-taints=\"team=a:NoSchedule'\n    - stray\n")), "UserDataMalformedFlags"},
		{"a name of one's own for the node", nodeadm().data(flags("    - --hostname-override=payments-worker\n")), "UserDataMalformedFlags"},
		{"a name that the instance was to compute", nodeadm().data(flags("    - --hostname-override=$(hostname)\n")), "UserDataMalformedFlags"},
		{"a name in TOML", rocket().data(toml(name, endpoint, ca) + "hostname-override = 'payments-worker.example.com'\n"), "UserDataMalformedFlags"},
		{"a name in TOML that is the instance's own", rocket().data(toml(name, endpoint, ca) + "hostname-override = 'ip-10-0-0-1.eu-west-1.compute.internal'\n"), ""},
		{"the instance's id for a name", nodeadm().data(flags("    - --hostname-override=i-0123456789abcdef0\n")), ""},
		{"a name of one's own, by bootstrap.sh", legacy().data(extraArgs(`'--hostname-override=payments-worker'`)), "UserDataMalformedFlags" + hint},
		{"a name that bootstrap.sh hands on as it is", legacy().data(extraArgs(`'--hostname-override=$(hostname)'`)), "UserDataMalformedFlags" + hint},
		{"a name that the script computes", legacy().data(extraArgs(`"--hostname-override=$(hostname)"`)), hint[1:]},
		{"a name of one's own, on an AMI of another maker", healthyWith(amiUbuntu, extraArgs(`'--hostname-override=payments-worker'`)), "UserDataMalformedFlags?"},
		{"a name of one's own, in a branch", legacy().data(script("if test -f /etc/x; then /etc/eks/bootstrap.sh " + name + " --kubelet-extra-args --hostname-override=payments-worker; fi")), "UserDataMalformedFlags?" + hint},
		{"a flag that no kubelet is known to have", nodeadm().data(flags("    - --max-podz=58\n")), "UserDataMalformedFlags?"},
		{"a flag that is gone from this kubelet", nodeadm().data(flags("    - --container-runtime=remote\n")), "UserDataMalformedFlags"},
		{"a flag that is gone, of a kubelet of which nothing tells the version", healthyWith(amiOwn, flags("    - --container-runtime=remote\n")), ""},
		{"a flag that may be gone, in a branch", legacy().data(script("if test -f /etc/x; then /etc/eks/bootstrap.sh " + name + " --kubelet-extra-args --container-runtime=remote; fi")), "UserDataMalformedFlags?" + hint},
		{"an argument that bootstrap.sh does not know", legacy().data(script("/etc/eks/bootstrap.sh --kubelet-extra-args='--max-pods=20' " + name)), "UserDataMalformedFlags" + hint},
		{"a line break, for which systemd drops the flags", legacy().data(extraArgs("'--node-labels=a=b\n --max-pods=20'")), "UserDataMalformedFlags?" + hint},
		{"flags that the instance computes", legacy().data(extraArgs(`"--node-labels=a=b $MORE"`)), strings.TrimSpace(hint)},
		{"flags of a unit that the user data writes anew", legacy().data(script("cat > /etc/systemd/system/kubelet.service.d/90-own.conf <<EOF", "[Service]", "EOF",
			"/etc/eks/bootstrap.sh "+name+` --kubelet-extra-args '--node-labels="a=b --max-pods=20'`)), "UserDataMalformedFlags?" + hint},
	}
}

// conditionTaint is what Karpenter before 1.3 reports about a node without its taint.
var conditionTaint = evidence.Condition{Type: "Registered", Status: "False", Reason: "UnregisteredTaintNotFound"}

func TestKarpentersTaint(t *testing.T) {
	all := karpentersTaint()
	i := slices.IndexFunc(all, func(x example) bool { return x.name == "the event of 1.3 and later" })
	summary := all[i].s.analyze().Causes()[0].Summary
	expect.That(t, strings.Contains(summary, "since Karpenter 1.3"), "%s: does not say that later versions go on", summary)
}

func karpentersTaint() []example {
	const conflict = "  kubelet:\n    flags:\n    - --register-with-taints=team=a:NoSchedule\n    config:\n      registerWithTaints:\n      - key: karpenter.sh/unregistered\n        effect: NoExecute\n"
	const taint = "  kubelet:\n    config:\n      registerWithTaints:\n      - key: karpenter.sh/unregistered\n        effect: NoExecute\n"
	registered := evidence.Condition{Type: "Registered", Status: "True", Reason: "Registered"}
	event := func(s *scene) *scene {
		return s.group(func(g *evidence.Group) {
			g.NodeClaims.Value[0].Events = evidence.Read([]evidence.Event{{Type: "Warning", Reason: "UnregisteredTaintMissing", Message: "Missing karpenter.sh/unregistered taint"}})
		})
	}
	with := func(family, more string, conditions ...evidence.Condition) *scene {
		return nodeadm().karpenter(family, conditions...).data(nodeConfig(name, endpoint, ca, more))
	}
	return []example{
		{"taints twice, and Karpenter refuses the node", with("AL2023", conflict, conditionTaint).kind(roll.Uninitialized), "UserDataTaintConflict StartupTaintMissing"},
		{"taints twice, and Karpenter goes on", with("AL2023", conflict, registered).kind(roll.Uninitialized), "UserDataTaintConflict?"},
		{"taints twice do not keep a node from registering", with("AL2023", conflict), "UserDataTaintConflict?"},
		{"taints twice on a node of nobody's", nodeadm().data(nodeConfig(name, endpoint, ca, conflict)), ""},
		{"Custom without the taint, and Karpenter refuses the node", with("Custom", "", conditionTaint).kind(roll.Uninitialized), "StartupTaintMissing"},
		{"the condition is Unknown and not False", with("Custom", "", evidence.Condition{Type: "Registered", Status: "Unknown", Reason: "UnregisteredTaintNotFound"}).kind(roll.Uninitialized), "StartupTaintMissing"},
		{"Custom without the taint, not registered yet", with("Custom", ""), "StartupTaintMissing?"},
		{"Custom with the taint", with("Custom", taint), ""},
		{"Custom without the taint, and registered", with("Custom", "", registered).kind(roll.Uninitialized), ""},
		{"the event of 1.3 and later", event(with("AL2023", taint, registered)).kind(roll.Uninitialized), "StartupTaintMissing?"},
		{"an alias is not Custom", with("Custom", "").group(func(g *evidence.Group) { g.NodeClass.Value.AMIAlias = "al2023@latest" }), ""},
		{"another reason for which it is not registered", with("AL2023", taint, evidence.Condition{Type: "Registered", Status: "Unknown", Reason: "NodeNotFound"}), ""},
	}
}

// sharedSubnet lets another account share the subnet: EC2 does not show the endpoints of that account.
func sharedSubnet(s *scene) *scene {
	s.e.Network.Subnets[subnet] = evidence.Read(evidence.Subnet{Owner: "123456789012", CIDR: "10.0.32.0/19"})
	return s
}

func privateClusters() []example {
	bare := script("/etc/eks/bootstrap.sh " + name)
	const hint = "AmiFamilyUnsupported?"
	to := func(target string) evidence.Route { return evidence.Route{Destination: "0.0.0.0/0", Target: target} }
	endpoints := func(s *scene, of ...evidence.VPCEndpoint) *scene {
		v := s.e.Network.VPCs[vpc]
		v.Endpoints = evidence.Read(of)
		s.e.Network.VPCs[vpc] = v
		return s
	}
	gateway := func(change func(*evidence.NATGateway), routes ...evidence.Route) *scene {
		s := legacy().data(bare).private(to("nat-1"))
		n := evidence.NATGateway{ID: "nat-1", State: "available"}
		if change != nil {
			change(&n)
		}
		s.e.Network.NATGateways["nat-1"] = evidence.Read(n)
		if len(routes) > 0 {
			s.e.Network.RouteTables[n.Subnet] = evidence.Read(evidence.RouteTable{ID: "rtb-2", Routes: routes})
		}
		return s
	}
	in := func(subnet string) func(*evidence.NATGateway) {
		return func(n *evidence.NATGateway) { n.Subnet = subnet }
	}
	eks := evidence.VPCEndpoint{ID: "vpce-1", Service: "com.amazonaws.eu-west-1.eks", State: "available", PrivateDNS: true}
	return []example{
		{"no way at all", legacy().data(bare).private(), "UserDataPrivateClusterArgs " + hint},
		{"perhaps by way of the account that shares the subnet", sharedSubnet(legacy().data(bare).private()), "UserDataPrivateClusterArgs? " + hint},
		{"the endpoint alone does not do", legacy().data(script("/etc/eks/bootstrap.sh " + name + " --apiserver-endpoint " + endpoint)).private(), "UserDataPrivateClusterArgs " + hint},
		{"both arguments", legacy().private(), hint},
		{"a NAT gateway", legacy().data(bare).private(to("nat-1")), hint},
		{"a NAT gateway of which nothing is known", legacy().data(bare).private(to("nat-2")), "UserDataPrivateClusterArgs? " + hint},
		{"a private NAT gateway", gateway(func(n *evidence.NATGateway) { n.Private = true }), "UserDataPrivateClusterArgs? " + hint},
		{"a NAT gateway that failed", gateway(func(n *evidence.NATGateway) { n.State = "failed" }), "UserDataPrivateClusterArgs? " + hint},
		{"a NAT gateway whose subnet leads to an internet gateway", gateway(in("subnet-out"), to("igw-1")), hint},
		{"a NAT gateway whose subnet leads nowhere", gateway(in("subnet-out"), local, evidence.Route{Destination: "::/0", Target: "igw-1"}), "UserDataPrivateClusterArgs " + hint},
		{"a NAT gateway whose subnet leads to a firewall", gateway(in("subnet-out"), to("vpce-fw")), "UserDataPrivateClusterArgs? " + hint},
		{"a NAT gateway for some addresses", gateway(nil).private(evidence.Route{Destination: "192.0.2.0/24", Target: "nat-1"}), "UserDataPrivateClusterArgs? " + hint},
		{"an internet gateway for IPv6", legacy().data(bare).private(evidence.Route{Destination: "::/0", Target: "igw-1"}).config(func(c *evidence.InstanceConfig) { c.IPv6 = true }), "UserDataPrivateClusterArgs? " + hint},
		{"a transit gateway", legacy().data(bare).private(evidence.Route{Destination: "10.0.0.0/8", Target: "tgw-1"}), "UserDataPrivateClusterArgs? " + hint},
		{"an internet gateway, and no public address", legacy().data(bare).private(to("igw-1")), "UserDataPrivateClusterArgs " + hint},
		{"an internet gateway and a public address", legacy().data(bare).private(to("igw-1")).config(func(c *evidence.InstanceConfig) { c.PublicIP = "192.0.2.7" }), hint},
		{"a route whose target is gone", legacy().data(bare).private(evidence.Route{Destination: "0.0.0.0/0", Target: "nat-1", Blackhole: true}), "UserDataPrivateClusterArgs " + hint},
		{"a gateway endpoint of S3", legacy().data(bare).private(evidence.Route{Destination: "pl-6da54004", Target: "vpce-s3"}), "UserDataPrivateClusterArgs " + hint},
		{"a firewall's endpoint", legacy().data(bare).private(to("vpce-fw")), "UserDataPrivateClusterArgs? " + hint},
		{"the endpoint of EKS", endpoints(legacy().data(bare).private(), eks), hint},
		{"the endpoint of EKS that is not accepted yet", endpoints(legacy().data(bare).private(), evidence.VPCEndpoint{ID: "vpce-1", Service: eks.Service, State: "pendingAcceptance"}), "UserDataPrivateClusterArgs? " + hint},
		{"the endpoint of Pod Identity is another one", endpoints(legacy().data(bare).private(), evidence.VPCEndpoint{ID: "vpce-1", Service: "com.amazonaws.eu-west-1.eks-auth", State: "available", PrivateDNS: true}), "UserDataPrivateClusterArgs " + hint},
		{"a proxy", legacy().data(script("export https_proxy=http://proxy.example.com:3128", "/etc/eks/bootstrap.sh "+name)).private(), "UserDataPrivateClusterArgs? " + hint},
		{"a public endpoint alone", legacy().data(bare).cluster(func(c *evidence.ClusterConfig) { c.PrivateAccess = false }), hint},
		{"nodeadm does not ask", nodeadm().private(), ""},
		{"a way that the console shows to lead nowhere", legacy().data(bare).private(to("nat-2")).console(lines(bootAL2, []string{
			`[   40.100000] cloud-init[3301]: Connect timeout on endpoint URL: "https://eks.eu-west-1.amazonaws.com/clusters/payments"`,
		})...), "UserDataPrivateClusterArgs " + hint},
	}
}

// What a console shows of an AMI with nodeadm that gets no NodeConfig.
const (
	fetches      = "#!/bin/bash\nset -e\naws s3 cp s3://payments-boot/join.sh /tmp/join.sh\nbash /tmp/join.sh\n"
	partFailed   = "[   12.400000] cloud-init[1893]: 2026-03-10 11:21:01,102 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]"
	installs     = "#!/bin/bash\nset -e\nyum install -y amazon-cloudwatch-agent\n"
	configFailed = "[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config."
	noConfig     = `[   12.330441] nodeadm[1502]: {"level":"fatal","ts":1770000000.1,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no config in chain"}`
)

// unconfigured is an instance of an AMI of one's own without user data, with its console.
func unconfigured(text ...string) *scene {
	return healthyWith(amiOwn, "").without().console(lines(bootAL2023, text)...)
}

// bare gives the instance a launch template that names its AMI and has no user data.
func (s *scene) bare() *scene {
	s.e.Templates[template+":3"] = evidence.Read(evidence.LaunchTemplate{ID: template, Version: "3", Image: image, UserData: evidence.None[userdata.Boot]()})
	return s
}

func noUserData() []example {
	return []example{
		{"an AMI of EKS", nodeadm().without(), "UserDataEmpty"},
		{"Bottlerocket", rocket().without(), "UserDataEmpty"},
		{"white space", nodeadm().data(" \n\n"), "UserDataEmpty"},
		{"an AMI of one's own, which may join by itself", healthyWith(amiOwn, "").without(), "UserDataEmpty?"},
		{"an AMI of one's own, on which nodeadm finds nothing", unconfigured(configFailed), "UserDataEmpty NodeadmFailed"},
		{"an AMI of one's own, on which nodeadm finds nothing and says so", unconfigured(noConfig, configFailed), "UserDataEmpty NodeadmFailed"},
		{"an AMI of one's own, whose nodeadm is told that there is no user data", unconfigured(`[   10.002210] nodeadm[1380]: {"level":"fatal","ts":1775563100.4,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"operation error ec2imds: GetUserData, http response error StatusCode: 404, request to EC2 IMDS failed"}`, configFailed), "UserDataEmpty NodeadmFailed"},
		{"an AMI of one's own, whose nodeadm cannot ask", unconfigured(`[   10.002210] nodeadm[1380]: {"level":"fatal","ts":1775563100.4,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"operation error ec2imds: GetUserData, http response error StatusCode: 401, request to EC2 IMDS failed"}`, configFailed), "UserDataEmpty? NodeadmFailed"},
		{"an AMI of one's own, whose nodeadm got further", unconfigured("[   45.000000] nodeadm[2015]: SDK 2026/02/19 07:57:30 DEBUG retrying request EC2/DescribeInstances, attempt 6", configFailed), "UserDataEmpty? NodeadmFailed"},
		{"an AMI of one's own, whose nodeadm fails later", unconfigured("[FAILED] Failed to start nodeadm-run.service - EKS Nodeadm Run."), "UserDataEmpty? NodeadmFailed"},
		{"an AMI of one's own, and EKS or Karpenter may have given its part", unconfigured(configFailed).managed("AL2023_x86_64_STANDARD"), "UserDataEmpty? NodeadmFailed"},
		{"a node group with an AMI of its own", nodeadm().managed("CUSTOM").without(), "UserDataEmpty"},
		{"a node group with an AMI of one's own", healthyWith(amiOwn, "").managed("CUSTOM").bare().without(), "UserDataEmpty"},
		{"a node group with an AMI of one's own, whose template was not read", healthyWith(amiOwn, "").managed("CUSTOM").without(), "UserDataEmpty?"},
		{"a node group with an AMI of one's own, which starts to join", unconfigured("[FAILED] Failed to start nodeadm-run.service - EKS Nodeadm Run.").managed("CUSTOM").bare(), "UserDataEmpty? NodeadmFailed"},
		{"Karpenter's family Custom with an AMI of one's own", healthyWith(amiOwn, "").karpenter("Custom").without(), "UserDataEmpty"},
		{"a node group to which EKS gives its part", nodeadm().managed("AL2023_x86_64_STANDARD").without(), "UserDataEmpty?"},
		{"a template that is known to have none", nodeadm().managed("AL2023_x86_64_STANDARD").bare().without(), "UserDataEmpty"},
		{"Karpenter's family Custom", nodeadm().karpenter("Custom").without(), "UserDataEmpty"},
		{"Karpenter adds its part to others", nodeadm().karpenter("AL2023").without(), "UserDataEmpty?"},
		{"a script that does something else", nodeadm().data(script("echo hello")), "UserDataWrongFormat"},
		{"a script that runs what it fetches", nodeadm().data(script("curl -fsSL https://example.com/join.sh | bash")), "UserDataEmpty?"},
		{"a script that starts the kubelet in a way of its own", legacy().data(script("systemctl start kubelet")), "AmiFamilyUnsupported?"},
		{"TOML that says nothing of a cluster", rocket().data("[settings.motd]\nx = 1\n"), "UserDataEmpty?"},
	}
}

func largeUserData() []example {
	return []example{
		{"above", nodeadm().update(func(i *evidence.Instance) { i.UserData = evidence.Read(userdata.Boot{Size: userdata.MaxRaw + 1}) }), "UserDataTooLarge"},
		{"equal", nodeadm().update(func(i *evidence.Instance) {
			boot := userdata.Read([]byte(nodeConfig(name, endpoint, ca)))
			boot.Size = userdata.MaxRaw
			i.UserData = evidence.Read(boot)
		}), ""},
	}
}

// If the instance's own user data was not read, that of its launch template is the same if a
// group launched it.
func TestTheTemplatesUserDataStandsInForTheInstances(t *testing.T) {
	s := nodeadm().update(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("sampled") })
	s.e.Templates[template+":3"] = evidence.Read(evidence.LaunchTemplate{
		ID: template, Version: "3", HasUserData: true, UserData: evidence.Read(userdata.Read([]byte(nodeConfig("billing", endpoint, ca)))),
	})
	sheet := s.analyze()
	if got := causetest.Told(sheet); got != "UserDataClusterMismatch" {
		t.Fatalf("%q", got)
	}
	if c := sheet.Causes()[0]; c.Evidence[0].Source != "launch template "+template+":3" || c.Subject != "launch-template/"+template+":3" {
		t.Errorf("%+v", c)
	}
	s.config(func(c *evidence.InstanceConfig) { c.ASG = "" })
	expect.Equal(t, causetest.Told(s.analyze()), "", "launched by itself")
}

// Before an act only one instance is checked, and it is unknown whether others like it work.
// That it joins another cluster is proven anyway: an act on it would be on another cluster's
// instance.
func TestAnotherClusterIsProvenByOneInstanceAlone(t *testing.T) {
	for text, want := range map[string]string{
		nodeConfig("billing", endpoint, ca):     "UserDataClusterMismatch",
		script("/etc/eks/bootstrap.sh " + name): "UserDataWrongFormat?",
	} {
		s := nodeadm().data(text)
		s.e.Alone = true
		expect.Equal(t, causetest.Told(s.analyze()), want, "causetest.Told(s.analyze())")
	}
}

// ubuntuRan is what the bootstrap.sh of Ubuntu's images for EKS prints.
var ubuntuRan = []string{
	"[   15.811204] cloud-init[990]: Using containerd as the container runtime",
	"[   15.811520] cloud-init[990]: Aliasing EKS k8s snap commands",
	"[   17.391114] cloud-init[990]: Configuring kubelet snap",
	"[   17.602219] cloud-init[990]: Starting k8s kubelet daemon",
}

func bareImages() []example {
	plain := func(data string, text ...[]string) *scene {
		return healthyWith(amiOwn, data).console(lines(text...)...)
	}
	config := nodeConfig(name, endpoint, ca)
	missing := []string{"[   12.100000] cloud-init[1893]: /var/lib/cloud/instance/scripts/part-001: line 3: /etc/eks/bootstrap.sh: No such file or directory"}
	return []example{
		{"booted without a trace of nodeadm", plain(config, bootAL2023, finished), "AmiWithoutKubernetes"},
		{"not booted to the end yet", plain(config, bootAL2023), ""},
		{"the beginning of the boot is missing", plain(config, finished), "AmiWithoutKubernetes?"},
		{"booted, and nodeadm ran", plain(config, bootAL2023, nodeadmDone, finished), ""},
		{"an AMI of EKS whose console shows nothing of it", nodeadm().console(lines(bootAL2023, finished)...), ""},
		{"bootstrap.sh prints where it is told to", plain(bootstrapSh(""), bootAL2, finished), "AmiWithoutKubernetes? AmiFamilyUnsupported?"},
		{"bootstrap.sh is not there", plain(bootstrapSh(""), bootAL2, missing, finished), "AmiWithoutKubernetes AmiFamilyUnsupported?"},
		{"bootstrap.sh is not there, which set -x shows as a call", plain(bootstrapSh(""), bootAL2, []string{"[   12.000000] cloud-init[1893]: + /etc/eks/bootstrap.sh prod"}, missing, finished), "AmiWithoutKubernetes AmiFamilyUnsupported?"},
		{"bootstrap.sh is called, and nothing is missing", plain(bootstrapSh(""), bootAL2, []string{"[   12.000000] cloud-init[1893]: + /etc/eks/bootstrap.sh prod"}, finished), "AmiFamilyUnsupported?"},
		{"AL2023 without the tools of EKS", plain(bootstrapSh(""), bootAL2023, missing, finished), "AmiWithoutKubernetes UserDataWrongFormat?"},
		{"Windows, whose console shows no trace of what it ran", ownWindows().console("2026/03/10 11:20:05Z: OS: Microsoft Windows NT 10.0.20348", "2026/03/10 11:20:26Z: Message: Windows is Ready to use"), ""},
		{"bootstrap.sh of Ubuntu ran", healthyWith(amiUbuntu, bootstrapSh("")).console(lines(passedOver[:1], ubuntuRan, passedOver[2:])...), ""},
		{"its console shows only the end", healthyWith(amiUbuntu, bootstrapSh("")).console(lines(ubuntuRan[2:], passedOver[2:])...), ""},
		{"Ubuntu without a trace of it", healthyWith(amiUbuntu, bootstrapSh("")).console(lines(passedOver[:1], passedOver[2:])...), "AmiWithoutKubernetes?"},
		{"a copy of an AMI of EKS", healthyWith(evidence.Image{Name: amiAL2023.Name, Family: "al2023", Kubernetes: "1.35"}, config).console(lines(bootAL2023, finished)...), "AmiWithoutKubernetes?"},
		{"an AMI that joins by itself, without user data", plain("", bootAL2023, finished).without(), "UserDataEmpty? AmiWithoutKubernetes?"},
	}
}

func TestArchitecture(t *testing.T) {
	for _, s := range []*scene{arm(nodeadm()), arm(rocket()), arm(nodeadm()).data(nodeConfig("billing", endpoint, ca))} {
		if !slices.Contains(s.analyze().Clear(), cause.ArchitectureMismatch) {
			t.Errorf("the architecture of a running instance whose AMI agrees is not ruled out: %s", causetest.Told(s.analyze()))
		}
	}
}

// arm makes the instance and its AMI arm64.
func arm(s *scene) *scene {
	s.config(func(c *evidence.InstanceConfig) { c.Architecture, c.Type = "arm64", "m7g.large" })
	return s.image(func(i *evidence.Image) { i.Architecture = "arm64" })
}

func architectures() []example {
	fetch := func(arch string) string {
		return multipart(part(ofShell, script("set -e", "curl -fsSLo /usr/local/bin/fetch-ca https://artifacts.example.com/fetch-ca/linux_"+arch+"/fetch-ca", "chmod +x /usr/local/bin/fetch-ca", "/usr/local/bin/fetch-ca")),
			part(ofNodeadm, nodeConfig(name, endpoint, ca)))
	}
	branch := multipart(part(ofShell, script(`if [ "$(uname -m)" = x86_64 ]; then`, "curl -fsSLo /usr/local/bin/fetch-ca https://artifacts.example.com/fetch-ca/linux_amd64/fetch-ca", "chmod +x /usr/local/bin/fetch-ca", "fi", "/usr/local/bin/fetch-ca")),
		part(ofNodeadm, nodeConfig(name, endpoint, ca)))
	refused := func(path string) []string {
		return lines(bootAL2023, []string{"[   12.553021] cloud-init[1893]: /var/lib/cloud/instance/scripts/part-001: line 5: " + path + ": cannot execute binary file: Exec format error"})
	}
	activity := evidence.Activity{Status: "Failed", Message: "The architecture 'arm64' of the specified instance type does not match the architecture 'x86_64' of the specified AMI. Launching EC2 instance failed."}
	return []example{
		{"arm64 runs, and its AMI agrees", arm(nodeadm()), ""},
		{"a program for amd64 is fetched, and the kernel refuses it", arm(nodeadm()).data(fetch("amd64")).console(refused("/usr/local/bin/fetch-ca")...), "ArchitectureMismatch"},
		{"a program for amd64 is fetched", arm(nodeadm()).data(fetch("amd64")), "ArchitectureMismatch?"},
		{"a program for arm64 is fetched", arm(nodeadm()).data(fetch("arm64")), ""},
		{"a program for amd64 is fetched in a branch that asks for the architecture", arm(nodeadm()).data(branch), ""},
		{"and the kernel refuses that very program", arm(nodeadm()).data(branch).console(refused("/usr/local/bin/fetch-ca")...), "ArchitectureMismatch"},
		{"and the kernel refuses another one", arm(nodeadm()).data(branch).console(refused("/opt/agent")...), "ArchitectureMismatch?"},
		{"a refused program, and nodeadm did its work", arm(nodeadm()).data(fetch("amd64")).console(lines(refused("/usr/local/bin/fetch-ca"), nodeadmDone)...), "ArchitectureMismatch?"},
		{"a program of which the console tells the machine", nodeadm().data(fetch("arm64")).config(func(c *evidence.InstanceConfig) { c.Architecture = "" }).console(refused("/usr/local/bin/fetch-ca")...), "ArchitectureMismatch"},
		{"the kernel refuses a program of which nothing else is known", arm(nodeadm()).console(refused("/opt/agent")...), "ArchitectureMismatch?"},
		{"the kernel refuses the kubelet", arm(nodeadm()).console(refused("/usr/bin/kubelet")...), "ArchitectureMismatch"},
		{"EC2 refused others of the group, and this one runs", nodeadm().group(func(g *evidence.Group) { g.Activities = evidence.Read([]evidence.Activity{activity}) }), ""},
		{"EC2 refused others of the group, and this one's AMI is not known", nodeadm().hideImage().group(func(g *evidence.Group) { g.Activities = evidence.Read([]evidence.Activity{activity}) }), "ArchitectureMismatch?"},
		{"a NodeClaim of the pool was refused", nodeadm().hideImage().karpenter("AL2023").group(func(g *evidence.Group) {
			g.NodeClaims.Value = append(g.NodeClaims.Value, evidence.NodeClaim{Name: "default-2", Conditions: []evidence.Condition{{Type: "Launched", Status: "Unknown", Reason: "LaunchFailed", Message: activity.Message}}})
		}), "ArchitectureMismatch?"},
		{"AMI and instance are said to differ", nodeadm().image(func(i *evidence.Image) { i.Architecture = "arm64" }), "ArchitectureMismatch?"},
	}
}

func (s *scene) hideImage() *scene {
	s.e.Images = nil
	return s
}

func versions() []example {
	ami := func(version string) *scene {
		return nodeadm().image(func(i *evidence.Image) { i.Kubernetes = version })
	}
	return []example{
		{"newer than the control plane", ami("1.36"), "KubeletVersionSkew?"},
		{"as new", ami("1.35"), ""},
		{"three minors older", ami("1.32"), ""},
		{"four minors older", ami("1.31"), "KubeletVersionSkew?"},
		{"the console tells better than the name of a copy", ami("1.36").image(func(i *evidence.Image) { i.EKS = false }).console(lines(bootAL2023, []string{`[    9.710421] nodeadm[1701]: {"level":"info","msg":"Fetched kubelet version","version":"v1.35.2"}`})...), ""},
		{"only a copy's name tells", ami("1.36").image(func(i *evidence.Image) { i.EKS = false }), "KubeletVersionSkew?"},
		{"only the node group tells", healthyWith(amiOwn, nodeConfig(name, endpoint, ca)).managed("AL2023_x86_64_STANDARD").group(func(g *evidence.Group) { g.NodeGroup.Value.Version = "1.31" }), "KubeletVersionSkew?"},
		{"a healthy node has the same AMI", ami("1.36").group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, Image: image}}
		}), ""},
		{"a node that is not ready", nodeadm().kind(roll.NotReady).node("v1.31.6-eks-1552ad0"), "KubeletVersionSkew?"},
		{"a node that does not become ready", nodeadm().kind(roll.Uninitialized).node("v1.36.0-eks-1a2b3c4"), "KubeletVersionSkew?"},
		{"a node within the range", nodeadm().kind(roll.NotReady).node("v1.33.4-eks-1a2b3c4"), ""},
		{"a node that went silent worked with its version", nodeadm().kind(roll.Unknown).node("v1.31.6-eks-1552ad0"), ""},
	}
}

func amazonLinux2() []example {
	own := func() *scene { return healthyWith(amiOwn, bootstrapSh("")) }
	kubelet := func(version string, more ...string) []string {
		return lines(bootAL2, []string{"2026-03-10T11:20:46+0000 [eks-bootstrap] INFO: Using kubelet version " + version}, more)
	}
	return []example{
		{"none is published for the cluster's version", legacy(), "AmiFamilyUnsupported?"},
		{"the last version for which one is published", legacy().cluster(func(c *evidence.ClusterConfig) { c.Version = "1.32" }), ""},
		{"a kubelet of 1.35 on cgroup v1", own().console(kubelet("1.35.0")...), "AmiFamilyUnsupported"},
		{"a kubelet of 1.34 on cgroup v1", own().console(kubelet("1.34.1")...), "AmiFamilyUnsupported?"},
		{"failCgroupV1 is off", own().data(extraArgs("--fail-cgroupv1=false")).console(kubelet("1.35.0")...), "AmiFamilyUnsupported?"},
		{"a configuration of its own may turn failCgroupV1 off", own().data(extraArgs("--config=/etc/kubelet.yaml")).console(kubelet("1.35.0")...), "AmiFamilyUnsupported?"},
		{"the user data was not read", own().unread().console(kubelet("1.35.0")...), "AmiFamilyUnsupported?"},
		{"the kubelet says so itself", own().unread().update(func(i *evidence.Instance) {
			i.Console = evidence.Read(console.Log{Lines: 9, OS: "al2", Found: []console.Found{{Sign: "CgroupV1Refused", Line: 8, Excerpt: "kubelet is configured to not run on a host using cgroup v1"}}})
		}), "AmiFamilyUnsupported"},
		{"Amazon Linux 2023", nodeadm(), ""},
	}
}

// fetching is an instance of Cluster API whose boothook is to write the file that its user data
// includes, with its console.
func fetching(text ...string) *scene {
	s := healthyWith(amiAL2, multipart(
		part("text/cloud-boothook", "#cloud-boothook\n#!/bin/bash\naws secretsmanager get-secret-value --secret-id aws.cluster.x-k8s.io/a1b2-0 --output text --query SecretBinary | base64 -d > /etc/secret-userdata.txt\n"),
		part("text/x-include-url", "file:///etc/secret-userdata.txt\n"))).console(lines(bootAL2, text)...)
	s.f.Owner, s.f.Group = roll.OwnerClusterAPI, ""
	return s
}

// ownWindows is an instance of an AMI of one's own with Windows.
func ownWindows() *scene {
	own := func(i *evidence.Image) {
		*i = evidence.Image{Name: "payments-windows", Owner: "111122223333", Architecture: "x86_64"}
	}
	return healthyWith(amiOwn, start("-EKSClusterName "+name)).image(own).config(func(c *evidence.InstanceConfig) { c.Platform = "windows" })
}

// start returns PowerShell that calls the joining script with these arguments.
func start(arguments string) string {
	return "<powershell>\n& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" " + arguments + "\n</powershell>\n"
}

const (
	bootRocket    = "[    0.000000] Linux version 6.12.68 (builder@buildkitsandbox) (x86_64-bottlerocket-linux-gnu-gcc)"
	powershell    = "<powershell>\nWrite-Host hello\n</powershell>\n"
	includeFailed = "[   13.100000] cloud-init[3139]: 2026-03-10 11:20:18,881 - user_data.py[WARNING]: [Errno 2] No such file or directory: '/etc/secret-userdata.txt' for url: file:///etc/secret-userdata.txt"
	hookFailed    = "[   13.510000] cloud-init[3139]: 2026-03-10 11:20:18,902 - util.py[WARNING]: Boothooks script /var/lib/cloud/instances/i-0bad0000000000001/boothooks/part-001 execution error"
	readsAgain    = "[   15.006211] cloud-init[3201]: Cloud-init v. 19.3-46.amzn2.0.8 running 'init' at Tue, 10 Mar 2026 11:20:21 +0000. Up 15.00 seconds."
)

func consoles() []example {
	const failed = `[    9.710421] nodeadm[1701]: {"level":"fatal","ts":1773141655.81,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"exceeded max wait time for InstanceCondition waiter"}`
	const hookFatal = `[   66.104112] nodeadm-internal[1523]: fatal cli/main.go:35 Command failed {"error": "failed to ensure primary ENI only configuration: context deadline exceeded"}`
	const crashed = "[FAILED] Failed to start cloud-init.service - Initial cloud-init job (metadata service crawler)."
	const stageFailed = "[   14.330000] cloud-init[3139]: failed run of stage init"
	const bootcmdFailed = "[    8.610000] cloud-init[3139]: 2026-03-10 11:20:21,202 - util.py[WARNING]: Running module bootcmd (<module 'cloudinit.config.cc_bootcmd' from '/usr/lib/python2.7/site-packages/cloudinit/config/cc_bootcmd.pyc'>) failed"
	const scriptFailed = "[   12.500000] cloud-init[1893]: 2026-03-10 11:21:01,202 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)"
	const scriptRuns = "[ ***  ] A start job is running for Execute cloud user/final scripts (36min 3s / no limit)"
	const sourceless = "[   14.201337] cloud-init[1893]: Cloud-init v. 19.3-46.amzn2.0.8 finished at Tue, 10 Mar 2026 11:21:02 +0000. Datasource DataSourceNone.  Up 14.19 seconds"
	const cycle = "[ SKIP ] Ordering cycle found, skipping "
	after := func(age time.Duration, s *scene) *scene { s.e.At = launched.Add(age); return s }
	return []example{
		{"nodeadm failed", nodeadm().console(lines(bootAL2023, []string{failed})...), "NodeadmFailed"},
		{"its unit failed", nodeadm().console(lines(bootAL2023, []string{"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config."})...), "NodeadmFailed"},
		{"nodeadm failed, and was run again", nodeadm().console(lines(bootAL2023, []string{failed}, nodeadmDone)...), ""},
		{"nodeadm failed in an earlier boot", nodeadm().console(lines(bootAL2023, []string{failed}, bootAL2023, nodeadmDone)...), ""},
		{"the kubelet's unit failed", nodeadm().console(lines(bootAL2023, []string{"[FAILED] Failed to start kubelet.service - Kubernetes Kubelet."})...), "NodeadmFailed?"},
		{"units of other things failed", nodeadm().console(lines(bootAL2023, []string{"[FAILED] Failed to start systemd-hwdb-update.service - Rebuild Hardware Database."}, nodeadmDone, finished)...), ""},
		{"cloud-init's unit failed, which nodeadm does not need", nodeadm().console(lines(bootAL2023, []string{crashed})...), "CloudInitFailed?"},
		{"cloud-init crashed, which nodeadm does not need", nodeadm().console(lines(bootAL2023, []string{stageFailed, crashed})...), "CloudInitFailed?"},
		{"cloud-init's unit failed, as it does for each module that fails", legacy().console(lines(bootAL2, []string{bootcmdFailed, crashed})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"and cloud-init went on", legacy().console(lines(bootAL2, []string{crashed, finished[0]})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"cloud-init crashed", legacy().console(lines(bootAL2, []string{stageFailed, crashed})...), "CloudInitFailed AmiFamilyUnsupported?"},
		{"cloud-init crashed, and the kubelet was started", nodeadm().console(lines(bootAL2023, []string{crashed}, nodeadmDone)...), ""},
		{"cloud-init found no source of user data", legacy().console(lines(bootAL2, []string{sourceless})...), "CloudInitFailed AmiFamilyUnsupported?"},
		{"and the kubelet of an image that joins by itself was started before", legacy().console(lines(bootAL2, []string{"[  OK  ] Started Kubernetes Kubelet.", sourceless})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"cloud-init found none, which nodeadm does not need", nodeadm().console(lines(bootAL2023, []string{sourceless})...), "CloudInitFailed?"},
		{"a script of the user data failed", nodeadm().console(lines(bootAL2023, []string{scriptFailed})...), "CloudInitFailed?"},
		{"a file that the user data includes is not there, and the boothook that writes it failed", fetching(includeFailed, hookFailed, finished[0]), "CloudInitFailed AmiFamilyUnsupported?"},
		{"the boothook wrote it and had cloud-init read it", fetching(includeFailed, hookFailed, readsAgain, finished[0]), "AmiFamilyUnsupported?"},
		{"it is not there, and the boothook did not fail", fetching(includeFailed, finished[0]), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"the boothook alone failed", fetching(hookFailed, finished[0]), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"the same beside a call of bootstrap.sh", legacy().console(lines(bootAL2, []string{includeFailed, hookFailed})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"the stage that reads the user data failed, and cloud-init went on", fetching(stageFailed, finished[0]), "CloudInitFailed AmiFamilyUnsupported?"},
		{"the stage of the scripts failed", fetching("[   14.330000] cloud-init[3139]: failed run of stage modules-final", finished[0]), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"bootstrap.sh failed", legacy().console(lines(bootAL2, []string{"2026-03-10T11:20:46+0000 [eks-bootstrap] ERROR: Exhausted retries while describing cluster!"})...), "CloudInitFailed AmiFamilyUnsupported?"},
		{"Bottlerocket's programs failed", rocket().console("[    0.000000] Linux version 6.12.68 (builder@buildkitsandbox) (x86_64-bottlerocket-linux-gnu-gcc)", "[    3.100000] early-boot-config[871]: Error parsing TOML user data: expected an equals"), "CloudInitFailed"},
		{"nothing was printed yet", nodeadm(), ""},
		{"systemd did not run nodeadm", nodeadm().console(lines(bootAL2023, []string{"[DEPEND] Dependency failed for nodeadm-run.service - EKS Nodeadm Run."})...), "NodeadmFailed"},
		{"systemd left it out to break a cycle", nodeadm().console(lines(bootAL2023, []string{cycle + "nodeadm-run.service - EKS Nodeadm Run"}, finished)...), "NodeadmFailed"},
		{"and it was started later", nodeadm().console(lines(bootAL2023, []string{cycle + "nodeadm-run.service - EKS Nodeadm Run"}, nodeadmDone, finished)...), ""},
		{"it left out nodeadm's boot hook", nodeadm().console(lines(bootAL2023, []string{cycle + "nodeadm-boot-hook.service - EKS Nodeadm Boot Hook"})...), "NodeadmFailed?"},
		{"it left out the network of cloud-init, which nodeadm does not need", nodeadm().console(lines(bootAL2023, []string{cycle + "cloud-init.service"})...), "CloudInitFailed?"},
		{"it left out what reads the user data", legacy().console(lines(bootAL2, []string{cycle + "Initial cloud-init job (metadata service crawler)"})...), "CloudInitFailed AmiFamilyUnsupported?"},
		{"it left out what runs its scripts", legacy().console(lines(bootAL2, []string{cycle + "Execute cloud user/final scripts"})...), "CloudInitFailed AmiFamilyUnsupported?"},
		{"it left out what the scripts do not need", legacy().console(lines(bootAL2, []string{cycle + "Apply the settings specified in cloud-config"})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"only nodeadm's boot hook failed", nodeadm().console(lines(bootAL2023, []string{"[FAILED] Failed to start nodeadm-boot-hook.service - EKS Nodeadm Boot Hook."})...), "NodeadmFailed?"},
		{"it says so itself", nodeadm().console(lines(bootAL2023, []string{hookFatal, "[FAILED] Failed to start nodeadm-boot-hook.service - EKS Nodeadm Boot Hook."})...), "NodeadmFailed?"},
		{"and nodeadm failed after it", nodeadm().console(lines(bootAL2023, []string{hookFatal, failed})...), "NodeadmFailed"},
		{"systemd did not start the kubelet of AL2", legacy().console(lines(bootAL2, []string{"[DEPEND] Dependency failed for kubelet.service - Kubernetes Kubelet."})...), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"the boot of Bottlerocket stopped", rocket().console(bootRocket, "[FAILED] Failed to start Load Tesla kernel modules.", "[DEPEND] Dependency failed for Driver units.", "[DEPEND] Dependency failed for Bottlerocket initial configuration complete."), "CloudInitFailed"},
		{"a unit of Bottlerocket failed", rocket().console(bootRocket, "[FAILED] Failed to start Load Tesla kernel modules."), ""},
		{"a bootstrap container of Bottlerocket failed", rocket().console(bootRocket, "[FAILED] Failed to start bootstrap container agents."), "CloudInitFailed?"},
		{"an essential one failed", rocket().data(toml(name, endpoint, ca)+"[settings.bootstrap-containers.agents]\nessential = true\nmode = 'once'\n").console(bootRocket, "[FAILED] Failed to start bootstrap container agents."), "CloudInitFailed"},
		{"a script of the user data does not end, before nodeadm", after(38*time.Minute, nodeadm().console(lines(bootAL2023, []string{scriptRuns})...)), "CloudInitFailed"},
		{"it ran for a part of the time", after(3*time.Hour, nodeadm().console(lines(bootAL2023, []string{scriptRuns})...)), "CloudInitFailed?"},
		{"bootstrap.sh may have run before", after(38*time.Minute, legacy().console(lines(bootAL2, []string{scriptRuns})...)), "AmiFamilyUnsupported? CloudInitFailed?"},
		{"a bootstrap container does not end", after(38*time.Minute, rocket().console(bootRocket, "[ ***  ] A start job is running for bootstrap container agents (36min 3s / no limit)")), "CloudInitFailed"},
		{"and the boot went on", rocket().console(bootRocket, "[FAILED] Failed to start bootstrap container agents.", "[  OK  ] Reached target Multi-User System."), ""},
		{"and the kubelet's runtime failed then", rocket().console(bootRocket, "[FAILED] Failed to start containerd container runtime.", "[DEPEND] Dependency failed for Kubelet.", "[  OK  ] Reached target Multi-User System."), "CloudInitFailed"},
		{"the kubelet refuses its labels, and its unit fails for it", nodeadm().console(lines(bootAL2023, []string{"kubelet[2857]: failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/x]", "systemd[1]: kubelet.service: Failed with result 'exit-code'."})...), "CloudInitFailed"},
		{"the kubelet refuses its flags", nodeadm().console(lines(bootAL2023, nodeadmDone, []string{`kubelet[2857]: E0310 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`})...), "CloudInitFailed"},
	}
}

// A FIPS variant of Bottlerocket calls EC2's FIPS endpoint, which few regions have.
func TestFIPSVariantOfBottlerocket(t *testing.T) {
	const held = "launch-template/" + template + ":3"
	timedOut := "[  306.571770] pluto[1534]: Timed out retrieving private DNS name from EC2: deadline has elapsed"
	fips := func(data string, console ...string) *scene {
		return rocket().data(toml(name, endpoint, ca) + data).console(append([]string{bootRocket}, console...)...).
			image(func(i *evidence.Image) { i.Name = "bottlerocket-aws-k8s-1.35-fips-x86_64-v1.55.0-f3ac4e6c" })
	}
	in := func(region string, s *scene) *scene { s.e.Region = region; return s }
	for _, tt := range []struct {
		name    string
		scene   *scene
		subject string
	}{
		{"a region without FIPS endpoints", fips("", timedOut), held},
		{"one in the US", in("us-east-2", fips("", timedOut)), ""},
		{"one in Canada", in("ca-central-1", fips("", timedOut)), ""},
		{"one that is not known", in("", fips("", timedOut)), ""},
		{"settings of its own for the SDK", fips("[settings.aws]\nconfig = 'W2RlZmF1bHRdCnVzZV9maXBzX2VuZHBvaW50PWZhbHNl'\n", timedOut), ""},
		{"another failure", fips("", "[    6.512345] pluto[1534]: IMDS request failed: No 'local-ipv4' found"), ""},
		{"no FIPS variant", rocket().console(bootRocket, timedOut), ""},
		{"user data that was not read", fips("", timedOut).update(func(i *evidence.Instance) { i.UserData = evidence.Failed[userdata.Boot]("no") }), ""},
		{"a healthy instance of the same template", fips("", timedOut).group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-0fedcba9876543210", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
		}), ""},
	} {
		c, ok := roll.Find(tt.scene.analyze().Causes(), func(c roll.Cause) bool { return c.Code == cause.CloudInitFailed })
		expect.That(t, ok && c.Confidence == roll.Decisive && c.Subject == tt.subject, "%s: %+v", tt.name, c)
		expect.Equal(t, strings.Contains(c.Summary, "FIPS") && strings.Contains(c.Fix, "use_fips_endpoint=false"), tt.subject != "", "%s", tt.name)
	}
}

func TestWhatStandsFirst(t *testing.T) {
	s := nodeadm().data(strings.Replace(nodeConfig(name, endpoint, ca), "    name: ", "    name ", 1) + "  : oops\n").console(lines(bootAL2023, []string{
		`[    9.710421] nodeadm[1701]: {"level":"fatal","ts":1773141655.81,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no config in chain"}`,
	})...)
	got := causetest.Told(s.analyze())
	expect.That(t, got == "UserDataUnparseable NodeadmFailed", "%q: what is to be changed comes before what shows it", got)
}
