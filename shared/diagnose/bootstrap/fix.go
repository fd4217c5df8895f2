package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// change returns how to change the user data where it comes from, and what to write there.
func (b *start) change(what string) string {
	i := b.Config().Value
	id, version := i.LaunchTemplate, i.LaunchTemplateVersion
	switch {
	case b.Finding.Owner == roll.OwnerKarpenter && i.NodeClass != "":
		return paste.Lines(paste.Format("kubectl get ec2nodeclass %[1]s -o jsonpath='{.spec.userData}'\nkubectl edit ec2nodeclass %[1]s   # spec.userData: ", i.NodeClass)+paste.Remark(what), cause.Drift)
	case b.Finding.Owner == roll.OwnerManagedNodeGroup:
		return b.changeNodeGroup(what)
	case id != "":
		return b.newVersion(id, version, what) + b.useVersion(id)
	}
	return paste.Format("aws ec2 describe-instance-attribute --region %s --instance-id %s --attribute userData --query UserData.Value --output text | base64 -d > user-data.txt\n# launch another instance with it corrected: ",
		b.Region, string(b.Finding.Instance)) + paste.Remark(what)
}

// changeNodeGroup returns how to change the launch template that a person gave the node group.
// The one that its instances come from is EKS's own.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func (b *start) changeNodeGroup(what string) string {
	name, _ := b.Finding.Group.NodeGroup()
	g := b.Group().NodeGroup
	if !g.Known() || g.Value.LaunchTemplate == "" {
		return paste.Format("aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s --query nodegroup.launchTemplate\n# in that launch template, ", b.Region, b.ClusterID.Name, name) + paste.Remark(what)
	}
	return paste.Lines(b.newVersion(g.Value.LaunchTemplate, g.Value.TemplateVer, what), paste.Format(
		"aws eks update-nodegroup-version --region %s --cluster-name %s --nodegroup-name %s --launch-template id=%s,version=$VERSION", b.Region, b.ClusterID.Name, name, g.Value.LaunchTemplate), cause.Rollout)
}

// newVersion returns the commands that create a launch template version with other user data.
func (b *start) newVersion(id, version, what string) string {
	version = cmp.Or(version, "$Latest")
	return paste.Format("aws ec2 describe-launch-template-versions --region %[1]s --launch-template-id %[2]s --versions %[3]s --query 'LaunchTemplateVersions[0].LaunchTemplateData.UserData' --output text | base64 -d > user-data.txt\n"+
		"${EDITOR:-vi} user-data.txt   # ", b.Region, id, version) + paste.Remark(what) + paste.Format("\n"+
		"VERSION=$(aws ec2 create-launch-template-version --region %[1]s --launch-template-id %[2]s --source-version %[3]s --launch-template-data \"{\\\"UserData\\\":\\\"$(base64 < user-data.txt | tr -d '\\n')\\\"}\" --query LaunchTemplateVersion.VersionNumber --output text)",
		b.Region, id, version)
}

// useVersion returns the command that makes the Auto Scaling group launch from the new version.
func (b *start) useVersion(id string) string {
	asg := b.Config().Value.ASG
	if asg == "" {
		return ""
	}
	return paste.Format("\naws autoscaling update-auto-scaling-group --region %s --auto-scaling-group-name %s --launch-template LaunchTemplateId=%s,Version=$VERSION   # unless it follows $Latest or has a mixed instances policy", b.Region, asg, id)
}

// describe returns the command that shows the cluster's name, endpoint and authority.
func (b *start) describe() string {
	return paste.Format("aws eks describe-cluster --region %s --name %s --query 'cluster.{name:name,endpoint:endpoint,ca:certificateAuthority.data,cidr:kubernetesNetworkConfig.serviceIpv4Cidr}'", b.Region, b.ClusterID.Name)
}

// showConsole returns the command that shows the console.
func (b *start) showConsole() string {
	return paste.Format("aws ec2 get-console-output --region %s --instance-id %s --latest --output text", b.Region, string(b.Finding.Instance))
}

// newImage returns how to find the EKS AMI for a Kubernetes version and have the owner use it.
func (b *start) newImage(family, version string) string {
	i := b.Config().Value
	name, managed := b.Finding.Group.NodeGroup()
	g := b.Group().NodeGroup
	ofEKS := managed && familyOf(g.Value.AMIType) != ""
	switch {
	case b.Finding.Owner == roll.OwnerKarpenter && i.NodeClass != "" && families[family].alias != "":
		return paste.Lines(paste.Format("kubectl get ec2nodeclass %[1]s -o jsonpath='{.spec.amiFamily} {.spec.amiSelectorTerms}'\n"+
			"kubectl patch ec2nodeclass %[1]s --type merge -p %[2]s   # or pin a version; its user data must be for that AMI", i.NodeClass, `{"spec":{"amiFamily":null,"amiSelectorTerms":[{"alias":"`+families[family].alias+`"}]}}`), cause.Drift)
	case ofEKS && familyOf(g.Value.AMIType) == family:
		return paste.Lines(paste.Format("aws eks update-nodegroup-version --region %s --cluster-name %s --nodegroup-name %s", b.Region, b.ClusterID.Name, name), cause.Rollout)
	case ofEKS:
		return paste.Format("# the AMI type of a node group cannot be changed: make another one of type AL2023_%s_%s, and delete this one once its pods have moved\n"+
			"aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s", strings.Replace(b.arch(), "arm64", "ARM_64", 1), strings.ToUpper(b.variant(al2023)), b.Region, b.ClusterID.Name, name)
	}
	return b.findImage(family, version) + "   # the AMI to name in the launch template; its user data must be for that AMI"
}

// findImage returns the command that finds a family's AMI for a version.
//
// - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
// - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html
// - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-windows-ami-id.html
func (b *start) findImage(family, version string) string {
	variant := b.variant(family)
	parameter := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/recommended/image_id", version, b.arch(), variant)
	switch family {
	case bottlerocket:
		parameter = fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/latest/image_id", version, variant, b.arch())
	case windows:
		parameter = fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-EKS_Optimized-%s/image_id", variant, version)
	}
	return paste.Format("aws ssm get-parameter --region %s --name %s --query Parameter.Value --output text", b.Region, parameter)
}

// variants match what the names of EKS's AMIs say beside the system: the drivers, FIPS, or the release and
// edition of Windows.
var variants = map[string]*pattern.Pattern{
	al2023:       pattern.New(`^amazon-eks-node-al2023-(?:x86_64|arm64)-([a-z0-9_-]+?)-1\.`),
	bottlerocket: pattern.New(`^bottlerocket-aws-k8s-1\.\d+((?:-[a-z0-9]+)*?)-(?:x86_64|aarch64|arm64)-v`),
	windows:      pattern.New(`^Windows_Server-(\d+-English-(?:Core|Full))-EKS_Optimized-`),
}

// variant returns the variant of a family's AMI that has what the instance's own has: without its driver a
// GPU is of no use, and containers of Windows need the release that they were built for. Amazon Linux 2 had
// one variant for all accelerators.
func (b *start) variant(family string) string {
	name, machine := b.Image().Value.Name, b.Config().Value.Type
	if m := variants[family].FindStringSubmatch(name); m != nil {
		return m[1]
	}
	accelerated := strings.HasPrefix(name, "amazon-eks-gpu-node-") || b.Group().NodeGroup.Value.AMIType == "AL2_x86_64_GPU"
	switch {
	case family == bottlerocket:
		return ""
	case family == windows:
		return "2022-English-Core"
	case accelerated && (strings.HasPrefix(machine, "inf") || strings.HasPrefix(machine, "trn")):
		return "neuron"
	case accelerated:
		return "nvidia"
	}
	return "standard"
}

// arch returns the instance's architecture as AMIs name it.
func (b *start) arch() string {
	if a := b.Config().Value.Architecture; a == "arm64" {
		return a
	}
	return "x86_64"
}

// flagTaints is the kubelet flag that sets a node's taints.
const flagTaints = "register-with-taints"

// extraArgs is the argument with which a script passes flags on to the kubelet.
var extraArgs = map[userdata.Tool]string{userdata.BootstrapScript: "--kubelet-extra-args", userdata.WindowsScript: "-KubeletExtraArgs"}

// tool returns what joins the instance, by its system, or by its user data if the system is
// unknown. It returns "" if neither shows it.
func (b *start) tool() userdata.Tool {
	joins, tools := b.joins(), b.os.of().tools
	switch {
	case len(joins) > 0:
		return joins[0].Tool
	case len(tools) > 0:
		return tools[0]
	}
	return ""
}

// writeFlags says how to write kubelet flags on the system. It repeats the taints in the flags
// as they were meant, so that none is lost.
func (b *start) writeFlags() string {
	if taints := b.meantTaints(); len(taints) > 0 {
		return b.writeTaints(taints)
	}
	switch tool := b.tool(); tool {
	case userdata.BootstrapScript, userdata.WindowsScript:
		return "put one pair of quotes around all of " + extraArgs[tool] + " and none within it, and write each flag as --name=value"
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return "make each flag an entry of its own in spec.kubelet.flags of the NodeConfig, as --name=value without quotes within it"
	case userdata.BottlerocketSettings:
		return "Bottlerocket takes settings for flags: correct them in [settings.kubernetes.node-labels] and [settings.kubernetes.node-taints]"
	}
	return "write each flag as --name=value with no quotes within the quotes"
}

// writeTaints says how to make the kubelet register with taints on the system.
//
// - https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
// - https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/#node-taints
// - https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
func (b *start) writeTaints(taints []userdata.Taint) string {
	var flag, yaml, toml []string
	for _, t := range taints {
		t = userdata.Taint{Key: paste.Plain(t.Key), Value: paste.Plain(t.Value), Effect: paste.Plain(t.Effect)}
		word, value := t.Key, ""
		if t.Value != "" {
			word, value = t.Key+"="+t.Value, fmt.Sprintf(", value: %q", t.Value)
		}
		flag = append(flag, word+":"+t.Effect)
		yaml = append(yaml, fmt.Sprintf("{key: %s%s, effect: %s}", t.Key, value, t.Effect))
		toml = append(toml, fmt.Sprintf("%q = [%q]", t.Key, t.Value+":"+t.Effect))
	}
	one := "--" + flagTaints + "=" + strings.Join(flag, ",")
	switch tool := b.tool(); tool {
	case userdata.BootstrapScript, userdata.WindowsScript:
		return "in the one pair of quotes of " + extraArgs[tool] + ", write " + one + " beside the other flags, with no quotes within"
	case userdata.Nodeadm, userdata.NodeadmCommand:
		return "in the NodeConfig, set spec.kubelet.config.registerWithTaints: [" + strings.Join(yaml, ", ") + "], and give no --" + flagTaints + " in spec.kubelet.flags"
	case userdata.BottlerocketSettings:
		return "in [settings.kubernetes.node-taints], write " + strings.Join(toml, " and ")
	}
	return "have the kubelet register with " + one + ", with no quotes within"
}

// meantTaints returns the taints of flags with quotes or faults, as they were meant. It returns
// none if one of them can no longer be recovered.
func (b *start) meantTaints() []userdata.Taint {
	var out []userdata.Taint
	for _, j := range b.joins() {
		odd := len(oddTaints(j.Kubelet)) > 0 || len(lostFlags(j)) > 0 ||
			slices.ContainsFunc(j.Kubelet.Flags, func(f userdata.Flag) bool { return f.Name == flagTaints && len(b.oddFlag(f, j)) > 0 })
		if !odd {
			continue
		}
		for _, t := range j.Kubelet.Taints {
			switch {
			case t.Dropped:
			case t.Key == "" || t.Effect == "":
				return nil
			case !slices.ContainsFunc(out, func(o userdata.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }):
				out = append(out, t)
			}
		}
	}
	return out
}
