package userdata

import (
	"strings"
	"testing"
)

func TestBootOfBottlerocket(t *testing.T) {
	cluster := "[settings.kubernetes]\napi-server = '" + apiServer + "'\ncluster-certificate = '" + exampleCA + "'\ncluster-name = 'demo'\n"
	newer := "fault: user data (bottlerocket) has a form that only TOML 1.1 allows [Bottlerocket depends on the version]\nuser data by bottlerocket, cluster demo, its endpoint and CA"
	checkBoots(t, []bootCase{
		{name: "Karpenter on Bottlerocket",
			data: "[settings]\n" + cluster + "cluster-dns-ip = '10.100.0.10'\nmax-pods = 58\n[settings.kubernetes.node-labels]\n'karpenter.sh/capacity-type' = 'spot'\n'karpenter.sh/nodepool' = 'default'\n[settings.kubernetes.node-taints]\n'karpenter.sh/unregistered' = [':NoExecute']\nteam = ['a:NoSchedule', 'b:PreferNoSchedule']\n", want: `
				user data by bottlerocket, cluster demo, its endpoint and CA
				  taint karpenter.sh/unregistered=:NoExecute by settings.kubernetes.node-taints
				  taint team=a:NoSchedule by settings.kubernetes.node-taints
				  taint team=b:PreferNoSchedule by settings.kubernetes.node-taints
				  label karpenter.sh/capacity-type=spot
				  label karpenter.sh/nodepool=default`},
		{name: "everything that is read",
			data: cluster + "cluster-dns-ip = ['10.100.0.10', '10.100.0.11']\nauthentication-mode = 'aws'\nbootstrap-token = 'abcdef.0123456789abcdef'\nhostname-override = 'a.example.com'\nnode-ip = '10.0.0.1'\ncloud-provider = 'external'\npod-infra-container-image = 'example.com/pause:3.5'\nnode-labels = {'node-role.kubernetes.io/worker' = ''}\nnode-taints = {a = 'b:Sometimes', c = 'd'}\n[settings.network]\nhttps-proxy = 'http://user:hunter2@proxy.example.com:3128'\nno-proxy = ['localhost']\n", want: `
				user data by bottlerocket, cluster demo, its endpoint and CA
				  taint a=b: by settings.kubernetes.node-taints; has no effect, or one that does not exist
				  taint =: by settings.kubernetes.node-taints; is not <key>=<value>:<effect>
				  label node-role.kubernetes.io/worker=; is one that a kubelet may not set
				  hostname: a.example.com
				proxy`},
		{name: "what it needs is not there", data: "[settings.kubernetes]\ncluster-name = 'demo'\n", want: `
				user data by bottlerocket, cluster demo
				  missing: settings.kubernetes.api-server settings.kubernetes.cluster-certificate`},
		{name: "values of the wrong type",
			data: "[settings.kubernetes]\ncluster-name = 42\nmax-pods = '58'\ncluster-dns-ip = [1]\nnode-labels = {a = 1}\nnode-taints = 'a=b:NoSchedule'\n[settings]\nnetwork = 'none'\n", want: `
				fault: user data (bottlerocket) has a value of the wrong type: settings.network [Bottlerocket stops with an error]
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.cluster-name [Bottlerocket stops with an error]
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.cluster-dns-ip [Bottlerocket stops with an error]
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.max-pods [Bottlerocket stops with an error]
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.node-labels [Bottlerocket stops with an error]
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.node-taints [Bottlerocket stops with an error]
				user data by bottlerocket
				  cluster: (malformed)
				  missing: settings.kubernetes.api-server settings.kubernetes.cluster-certificate`},
		{name: "a certificate that is not base64", data: strings.ReplaceAll(cluster, exampleCA, "<cluster-ca>"), want: `
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.cluster-certificate [Bottlerocket stops with an error]
				user data by bottlerocket, cluster demo
				  endpoint: ` + apiServer + `
				  ca: malformed`},
		{name: "one with a line break, which Bottlerocket does not take", data: strings.ReplaceAll(cluster, "'"+exampleCA+"'", "\"\"\""+exampleCA[:64]+"\n"+exampleCA[64:]+"\"\"\""), want: `
				fault: user data (bottlerocket) has a value of the wrong type: settings.kubernetes.cluster-certificate [Bottlerocket stops with an error]
				user data by bottlerocket, cluster demo, its endpoint and CA`},
		{name: "no settings", data: "# settings.kubernetes\n[kubernetes]\ncluster-name = 'demo'\n", want: `fault: user data (bottlerocket) has no settings table: settings [Bottlerocket stops with an error]`},
		{name: "TOML that does not parse", data: cluster + "node-taints = { a = b }\n", want: `fault: user data, line 5 (bottlerocket) does not parse [Bottlerocket stops with an error]`},
		{name: "a table that dotted keys made, with a header of its own", data: "[settings]\nkubernetes.max-pods = 3\n" + cluster, want: `fault: user data, line 3 (bottlerocket) does not parse [Bottlerocket stops with an error]`},
		{name: "dotted keys into a table that has a header of its own", data: cluster + "[settings]\nkubernetes.max-pods = 3\n", want: `fault: user data, line 6 (bottlerocket) does not parse [Bottlerocket stops with an error]`},
		{name: "an inline table on several lines, which TOML 1.1 allows", data: cluster + "node-labels = {\n  a = 'b' }\n", want: newer + "\n  label a=b"},
		{name: "an inline table with a comma at its end", data: cluster + "node-labels = { a = 'b', }\n", want: newer + "\n  label a=b"},
		{name: "an inline table on several lines within an array", data: cluster + "cluster-dns-ip = [ '10.100.0.10' ]\n[settings.network]\nx = [\n  {\n a = 1 }]\n", want: newer},
		{name: "what TOML 1.0 allows too", data: cluster + "node-labels = { a = 'b' } # {\ncluster-dns-ip = [\n  '10.100.0.10', # }\n]\n[settings.network]\nno-proxy = [ 'a', ]\nhttps-proxy = '''\n{\n''''\n[[settings.updates]]\ny = { a = [\n1,\n], b = 'c,}', d = \"\\\\e{\\\"\" }\n", want: `
				user data by bottlerocket, cluster demo, its endpoint and CA
				  label a=b
				proxy`},
		{name: "settings that no known version has", data: cluster + "max-pod = 3\n[settings.kernal]\n[settings.kernel]\nlockdown = 'none'\n", want: `
				fault: user data (bottlerocket) has a setting that no known version of Bottlerocket has: settings [Bottlerocket depends on the version]
				fault: user data (bottlerocket) has a setting that no known version of Bottlerocket has: settings.kubernetes [Bottlerocket depends on the version]
				user data by bottlerocket, cluster demo, its endpoint and CA`},
		{name: "in a MIME part", data: inMIME("text/plain", cluster), want: `
				fault: part 1 (bottlerocket) stands where its reader does not look for it [Bottlerocket stops with an error]
				part 1 by bottlerocket, cluster demo, its endpoint and CA`},
		{name: "for ECS", data: "[settings.ecs]\ncluster = 'demo'\n"},
		{name: "it joins no cluster", data: "[settings.kubernetes]\nstandalone-mode = true\ncluster-name = 'demo'\n"},
		{name: "base64 within base64, which Bottlerocket does not undo", data: b64(cluster), want: `
				encoded twice
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [Bottlerocket stops with an error]
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [cloud-init depends on the version]
				user data by bottlerocket, cluster demo, its endpoint and CA`},
		{name: "compressed", data: zip(t, cluster), want: `user data by bottlerocket, cluster demo, its endpoint and CA`},
	})
}

func TestBootOfWindows(t *testing.T) {
	checkBoots(t, []bootCase{
		{name: "Karpenter on Windows",
			data: "<powershell>\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile -EKSClusterName 'demo' -APIServerEndpoint '" + apiServer + "' -Base64ClusterCA '" + exampleCA + "' -KubeletExtraArgs '--node-labels=\"karpenter.sh/nodepool=default\" --register-with-taints=\"karpenter.sh/unregistered:NoExecute\" --max-pods=110' -DNSClusterIP '172.20.0.10'\n</powershell>", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo, its endpoint and CA
				  flag node-labels=karpenter.sh/nodepool=default; quotes within quotes
				  flag register-with-taints=karpenter.sh/unregistered:NoExecute; quotes within quotes
				  flag max-pods=110
				  taint karpenter.sh/unregistered=:NoExecute by --register-with-taints
				  label karpenter.sh/nodepool=default`},
		{name: "terraform-aws-eks, with redirections, single quotes in the flags and a proxy",
			data: "<powershell>\n[string]$EKSBinDir = \"$env:ProgramFiles\\Amazon\\EKS\"\n[string]$EKSBootstrapScriptName = 'Start-EKSBootstrap.ps1'\n[string]$EKSBootstrapScriptFile = \"$EKSBinDir\\$EKSBootstrapScriptName\"\n$env:HTTPS_PROXY = 'http://user:hunter2@proxy'\n[Environment]::SetEnvironmentVariable(\"NO_PROXY\", \"localhost\", \"Machine\")\nif ($true) {\n& $EKSBootstrapScriptFile -EKSClusterName demo -APIServerEndpoint " + apiServer + " -Base64ClusterCA " + exampleCA + " -KubeletExtraArgs \"--node-labels='a=b'\" -ServiceCIDR:172.20.0.0/16 3>&1 4>&1 5>&1 6>&1\n}\n$LastError = if ($?) { 0 } else { $Error[0].Exception.HResult }\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, in a branch, cluster demo, its endpoint and CA
				  flag node-labels='a=b'; quotes reach the kubelet
				  label =; is not <key>=<value>
				proxy`},
		{name: "EC2Launch v2, shortened parameters, a name that only the instance knows, a proxy of the system",
			data: "version: 1.1\ntasks:\n- task: executeScript\n  inputs:\n  - type: powershell\n    content: |-\n      netsh winhttp set proxy proxy.example.com:3128\n      & \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSC (Get-Name) -API $url -Kubelet \"--max-pods=$n\"\n", want: `
				task 1 by Start-EKSBootstrap.ps1
				  cluster: (dynamic)
				  endpoint: (dynamic)
				  flag max-pods (dynamic)
				proxy`},
		{name: "no parameter is named, and the fourth is the endpoint of EKS", data: "<powershell>\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' demo '--max-pods=20' '--v=2' https://eks.eu-west-1.amazonaws.com " + apiServer + " " + exampleCA + "\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo, its endpoint and CA
				  flag max-pods=20`},
		{name: "no name", data: "<powershell>\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' -DNSClusterIP 10.100.0.10\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1
				  missing: -EKSClusterName`},
		{name: "a list of addresses with blanks behind its commas, which is one argument",
			data: "<powershell>\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' -EKSClusterName demo -ExcludedSnatCIDRs 10.40.0.0/16, \"10.41.0.0/16\" , 10.42.0.0/16 -KubeletExtraArgs '--max-pods=20'\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo
				  flag max-pods=20`},
		{name: "a list of texts, which the script gets in no known form",
			data: "<powershell>\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' demo -KubeletExtraArgs '--max-pods=20', '--v=2'\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo
				  more flags, computed`},
		{name: "texts that are put together",
			data: "<powershell>\n$name = 'de'\n$name += \"mo\"\n$flags = '--max-pods=20'\n$flags += \" --v=2\"\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' $name -KubeletExtraArgs $flags\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo
				  flag max-pods=20
				  flag v=2`},
		{name: "what is appended is computed, or the variable is not set, or another operator",
			data: "<powershell>\n$name = 'demo'\n$name += $suffix\n$flags += '--v=2'\n$flags2 = '--v=2'\n$flags2 *= 2\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' $name -KubeletExtraArgs $flags -APIServerEndpoint $flags2\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1
				  cluster: (dynamic)
				  endpoint: (dynamic)
				  more flags, computed`},
		{name: "a table of arguments beside one of its own",
			data: "<powershell>\n$arguments = @{\n  APIServerEndpoint = '" + apiServer + "'\n}\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' -EKSClusterName demo @arguments\n</powershell>\n", want: `
				user data by Start-EKSBootstrap.ps1, cluster demo
				  endpoint: (dynamic)` + "\n  ca: dynamic \n  more flags, computed"},
		{name: "no closing tag", data: "<powershell>\n& 'C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1' demo\n", want: `
				fault: user data (powershell) ends before its closing boundary [this reader not followed]
				user data by Start-EKSBootstrap.ps1, cluster demo`},
	})
}

// How the text arrives, and how cloud-init, nodeadm and the kernel read it.
func TestBootOfDelivery(t *testing.T) {
	script := "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"
	checkBoots(t, []bootCase{
		{name: "nothing", want: `empty`},
		{name: "white space", data: " \n\t\n", want: `empty`},
		{name: "compressed", data: zip(t, script), want: `user data by bootstrap.sh, cluster demo`},
		{name: "base64 within base64, on one line", data: b64(script), want: `
				encoded twice
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [Bottlerocket stops with an error]
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [cloud-init depends on the version]
				user data by bootstrap.sh, cluster demo`},
		{name: "base64 within base64, in lines as base64(1) writes them", data: b64(script)[:20] + "\n" + b64(script)[20:] + "\n", want: `
				encoded twice
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [Bottlerocket stops with an error]
				fault: user data (unknown) is base64 within the base64 that EC2 undoes [cloud-init is passed over]
				user data by bootstrap.sh, cluster demo`},
		{name: "text that happens to be base64", data: "password", want: `fault: user data (unknown) begins with no word by which cloud-init knows what it is [cloud-init is passed over]`},
		{name: "a byte order mark before a script", data: "\ufeff" + script, want: `
				fault: user data (shell) begins with a byte order mark [cloud-init is passed over]
				user data by bootstrap.sh, cluster demo`},
		{name: "a byte order mark before a NodeConfig, which YAML allows", data: "\ufeff" + nodeConfigHead + exampleCluster, want: `user data by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a byte order mark before a script in a part", data: inMIME("text/x-shellscript", "\ufeff"+script), want: `
				fault: part 1 (shell) begins with a byte order mark [cloud-init stops with an error]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "a line before the #!", data: "\n" + script, want: `
				fault: user data (shell) begins with white space before its first line [cloud-init stops with an error]
				user data by bootstrap.sh, cluster demo`},
		{name: "indented by the template that made it", data: "    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n", want: `
				fault: user data (shell) begins with white space before its first line [cloud-init stops with an error]
				user data by bootstrap.sh, cluster demo`},
		{name: "a line before the #! of a part", data: inMIME("text/x-shellscript", "\n"+script), want: `
				fault: part 1 (shell) begins with white space before its first line [cloud-init stops with an error]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "a line before cloud-config, which is cut", data: "\n#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n", want: `runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "a line before a boothook", data: "\n#cloud-boothook\n" + script, want: `
				fault: user data (shell) begins with white space before its first line [cloud-init stops with an error]
				user data by bootstrap.sh, cluster demo`},
		{name: "a line before a boothook's script in a part, which is cut", data: inMIME("text/cloud-boothook", "\n"+script), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "a line before a MIME document", data: "\n" + inMIME("text/x-shellscript", script), want: `
				fault: user data (mime) begins with white space before its first line [nodeadm stops with an error]
				fault: user data (mime) begins with white space before its first line [cloud-init is passed over]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "a blank before a MIME document", data: " " + inMIME("text/x-shellscript", script), want: `
				fault: user data (mime) begins with white space before its first line [nodeadm stops with an error]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "an indented MIME document", data: "  MIME-Version: 1.0\n  Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n" + script + "--B--\n", want: `
				fault: user data (mime) begins with white space before its first line [nodeadm stops with an error]
				fault: user data (mime) begins with white space before its first line [cloud-init is passed over]
				fault: user data (unknown) begins with no word by which cloud-init knows what it is [cloud-init is passed over]`},
		{name: "MIME without its version", data: strings.TrimPrefix(inMIME("text/x-shellscript", script), "MIME-Version: 1.0\n"), want: `
				fault: user data (mime) has no MIME-Version header in its first 4096 bytes [cloud-init is passed over]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "a script without #! in a part", data: inMIME("text/x-shellscript", "/etc/eks/bootstrap.sh demo\n"), want: `
				fault: part 1 (shell) is run as a script but does not begin with #! [cloud-init stops with an error]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "cloud-config in a part that is said to be a script", data: inMIME("text/x-shellscript", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n"), want: `fault: part 1 (shell) is run as a script but does not begin with #! [cloud-init depends on the version]`},
		{name: "carriage returns throughout, which cloud-init cuts", data: strings.ReplaceAll(script, "\n", "\r\n"), want: `user data by bootstrap.sh, cluster demo`},
		{name: "carriage returns on some lines", data: "#!/bin/bash\n# comment\r\n/etc/eks/bootstrap.sh demo\r\n", want: `
				fault: user data (shell) has lines that end in a carriage return [the shell stops with an error]
				user data by bootstrap.sh, cluster demo`},
		{name: "carriage returns in comments only", data: "#!/bin/bash\n# comment\r\n\r\n/etc/eks/bootstrap.sh demo\n", want: `user data by bootstrap.sh, cluster demo`},
		{name: "carriage returns in a script of write_files", data: "#cloud-config\nwrite_files:\n- {path: /root/join.sh, encoding: b64, content: " + b64(strings.ReplaceAll(script, "\n", "\r\n")) + "}\nruncmd: [/root/join.sh]\n", want: `
				fault: write_files 1 in user data (shell) has lines that end in a carriage return [the shell stops with an error]
				runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "carriage returns in other files of write_files, and a script without", data: "#cloud-config\nwrite_files:\n- {path: /etc/motd, content: \"a\\r\\nb\\r\\n\"}\n- {path: /root/join.sh, content: \"#!/bin/sh\\n/etc/eks/bootstrap.sh demo\"}\nruncmd: [/root/join.sh]\n", want: `runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "a header of two lines", data: "Content-Type: multipart/mixed;\n boundary=B\nMIME-Version: 1.0\n\n--B\nContent-Type: text/x-shellscript\n\n" + script + "--B--\n", want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "a byte order mark before a cloud-config in a part", data: inMIME("text/cloud-config", "\ufeff#cloud-config\nruncmd: [/etc/eks/bootstrap.sh demo]\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "no closing boundary", data: strings.TrimSuffix(inMIME("application/node.eks.aws", nodeConfigHead+exampleCluster), "--//--\n"), want: `
				fault: part 1 (mime) ends before its closing boundary [nodeadm stops with an error]
				part 1 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a Content-Type of a part that nodeadm's parser refuses", data: inMIME("text/x-shellscript; charset=", script, "application/node.eks.aws", nodeConfigHead+exampleCluster), want: `
				fault: part 1 (mime) has a Content-Type header that nodeadm's parser refuses [nodeadm stops with an error]
				part 1 by bootstrap.sh, cluster demo
				part 2 by nodeadm, cluster demo, its endpoint and CA`},
		{name: "a script that does not parse, after lines that are cut", data: "\n\n#!/bin/bash\ntrue\nif then\n", want: `
				fault: user data (shell) begins with white space before its first line [cloud-init stops with an error]
				fault: user data, line 5 (shell) does not parse [the shell stops with an error]`},
		{name: "cloud-config that does not parse", data: "#cloud-config\nruncmd:\n- /etc/eks/bootstrap.sh demo\n - x: [\n", want: `fault: user data, line 4 (cloud-config) does not parse [cloud-init stops with an error]`},
		{name: "gzip that is cut off", data: zip(t, script)[:20], want: `
				fault: user data (unknown) is not valid base64 or gzip [cloud-init stops with an error]
				fault: user data (unknown) is not valid base64 or gzip [nodeadm stops with an error]
				fault: user data (unknown) is not valid base64 or gzip [Bottlerocket stops with an error]`},
		{name: "a script in a part of a type that cloud-init does not know", data: inMIME("text/x-sh", script), want: `
				fault: part 1 (shell) has a Content-Type that cloud-init does not know [cloud-init is passed over]`},
		{name: "the same with a name that only looks like the type of scripts", data: inMIME("text/x-shellscripts; charset=us-ascii", script), want: `
				fault: part 1 (shell) has a Content-Type that cloud-init does not know [cloud-init is passed over]`},
		{name: "a cloud-config of another type beside a script", data: inMIME("application/x-yaml", "#cloud-config\nruncmd: [/etc/eks/bootstrap.sh other]\n", "text/x-shellscript", script), want: `
				fault: part 1 (cloud-config) has a Content-Type that cloud-init does not know [cloud-init is passed over]
				part 2 by bootstrap.sh, cluster demo`},
		{name: "a type that is none, which Python reads as text/plain", data: inMIME("shellscript", script), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "types whose text decides", data: inMIME("text/plain", script), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "a compressed part", data: inMIME("application/gzip", zip(t, script)), want: `part 1 by bootstrap.sh, cluster demo`},
		{name: "a type that a part handler may handle", data: inMIME("text/part-handler", "#part-handler\ndef list_types(): return ['text/x-sh']\n", "text/x-sh", script), want: `
				fault: part 1 (unknown) has a form that is not read [this reader not followed]
				fault: part 2 (shell) has a form that is not read [this reader not followed]`},
		{name: "a type of scripts that Amazon Linux 2 does not have", data: inMIME("text/x-shellscript-per-boot", script), want: `
				fault: part 1 (shell) has a Content-Type that cloud-init does not know [cloud-init depends on the version]
				part 1 by bootstrap.sh, cluster demo`},
		{name: "an item of an archive of a type that cloud-init does not know", data: "#cloud-config-archive\n- {type: text/x-sh, content: \"#!/bin/sh\\n/etc/eks/bootstrap.sh demo\\n\"}\n", want: `
				fault: part 1 in user data (shell) has a Content-Type that cloud-init does not know [cloud-init is passed over]`},
		{name: "a script in another language", data: "#!/usr/bin/env python3\nprint('x')\n", want: `fault: user data (shell) has a form that is not read [this reader not followed]`},
	})
}
