package bootstrap_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

func everyExample() []example {
	return slices.Concat(soundUserData(), foreignUserData(), brokenUserData(), othersUserData(), kubeletFlags(), karpentersTaint(), registeredFlags(), addressFamilies(), unstartedKubelets(), privateClusters(),
		noUserData(), largeUserData(), bareImages(), architectures(), versions(), amazonLinux2(), consoles())
}

// why is the reason why the facts that these tests hide were not read.
const why = "no permission for rollcall-inspect"

// hiders hide one fact each.
var hiders = map[string]func(*scene){
	"config": func(s *scene) {
		s.update(func(i *evidence.Instance) { i.Config = evidence.Failed[evidence.InstanceConfig](why) })
	},
	"user data": func(s *scene) {
		s.update(func(i *evidence.Instance) { i.UserData = evidence.Failed[userdata.Boot](why) })
	},
	"console":  func(s *scene) { s.update(func(i *evidence.Instance) { i.Console = evidence.Failed[console.Log](why) }) },
	"instance": func(s *scene) { s.e.Instances = map[roll.InstanceID]evidence.Instance{} },
	"image": func(s *scene) {
		s.e.Images = map[string]evidence.Fact[evidence.Image]{image: evidence.Failed[evidence.Image](why)}
	},
	"templates": func(s *scene) { s.e.Templates = nil },
	"cluster":   func(s *scene) { s.e.Cluster.Config = evidence.Failed[evidence.ClusterConfig](why) },
	"routes":    func(s *scene) { s.e.Network.RouteTables = nil },
	"subnets":   func(s *scene) { s.e.Network.Subnets = nil },
	"gateways":  func(s *scene) { s.e.Network.NATGateways = nil },
	"endpoints": func(s *scene) { s.e.Network.VPCs = nil },
	"node":      func(s *scene) { s.e.Nodes = nil },
	"node group": func(s *scene) {
		s.group(func(g *evidence.Group) { g.NodeGroup = evidence.Failed[evidence.NodeGroup](why) })
	},
	"node class": func(s *scene) {
		s.group(func(g *evidence.Group) { g.NodeClass = evidence.Failed[evidence.NodeClass](why) })
	},
	"node claims": func(s *scene) {
		s.group(func(g *evidence.Group) { g.NodeClaims = evidence.Failed[[]evidence.NodeClaim](why) })
	},
	"events": func(s *scene) {
		s.group(func(g *evidence.Group) {
			claims := slices.Clone(g.NodeClaims.Value)
			for i := range claims {
				claims[i].Events = evidence.Failed[[]evidence.Event](why)
			}
			g.NodeClaims.Value = claims
		})
	},
	"activities": func(s *scene) {
		s.group(func(g *evidence.Group) { g.Activities = evidence.Failed[[]evidence.Activity](why) })
	},
}

// clone returns a copy of the scene with maps of its own.
func (s *scene) clone() *scene {
	e := *s.e
	e.Instances, e.Images, e.Templates, e.Nodes, e.Groups = maps.Clone(e.Instances), maps.Clone(e.Images), maps.Clone(e.Templates), maps.Clone(e.Nodes), maps.Clone(e.Groups)
	return &scene{e: &e, f: s.f}
}

// Whatever is unreadable, nothing becomes decisive that was not, nothing is ruled out that was
// found, and what is not checked says why.
func TestWhatIsHiddenIsNeverAFault(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(maps.Keys(hiders))
	for _, x := range everyExample() {
		before := x.s.analyze()
		for range 100 {
			s := x.s.clone()
			var hidden []string
			for _, n := range names {
				if rng.IntN(4) == 0 {
					hiders[n](s)
					hidden = append(hidden, n)
				}
			}
			after := s.analyze()
			for _, code := range causetest.Decisive(after) {
				if !slices.Contains(causetest.Decisive(before), code) {
					t.Fatalf("%s: %s becomes decisive once %s are hidden; before %q", x.name, code, hidden, causetest.Told(before))
				}
			}
			for _, c := range before.Causes() {
				// What only the console shows is missing if the console is not read: a console
				// without signs rules nothing out, and keeps nothing from being ruled out.
				console := func(e roll.Evidence) bool { return e.Source == "console" }
				unseen := slices.ContainsFunc(c.Evidence, console) && (slices.Contains(hidden, "console") || slices.Contains(hidden, "instance"))
				if c.Confidence == roll.Decisive && slices.Contains(after.Clear(), c.Code) && !unseen {
					t.Fatalf("%s: %s is ruled out once %s are hidden", x.name, c.Code, hidden)
				}
			}
			causetest.Reasons(t, x.name, after)
		}
	}
}

func TestWhatWasReadAndIsFineIsRuledOut(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *scene
		want []cause.Code
	}{
		{"AL2023", nodeadm().console(lines(bootAL2023, nodeadmDone, finished)...), []cause.Code{
			cause.UserDataEmpty, cause.UserDataTooLarge, cause.UserDataWrongFormat, cause.UserDataUnparseable, cause.UserDataClusterMismatch, cause.UserDataMalformedFlags,
			cause.AmiWithoutKubernetes, cause.ArchitectureMismatch, cause.KubeletVersionSkew, cause.AmiFamilyUnsupported, cause.NodeadmFailed, cause.CloudInitFailed,
		}},
		{"AL2 in a private cluster", legacy().private(), []cause.Code{cause.UserDataPrivateClusterArgs, cause.UserDataWrongFormat, cause.UserDataClusterMismatch, cause.UserDataMalformedFlags}},
		{"Karpenter", nodeadm().karpenter("Custom").data(nodeConfig(name, endpoint, ca, "  kubelet:\n    flags:\n    - --register-with-taints=karpenter.sh/unregistered:NoExecute\n")), []cause.Code{
			cause.UserDataTaintConflict, cause.StartupTaintMissing,
		}},
		{"a node that is not ready", nodeadm().kind(roll.NotReady).node("v1.35.0-eks-70ce843"), []cause.Code{cause.KubeletVersionSkew}},
	} {
		sheet := tt.s.analyze()
		for _, code := range tt.want {
			if !slices.Contains(sheet.Clear(), code) {
				t.Errorf("%s: %s is not ruled out; found %q", tt.name, code, causetest.Told(sheet))
			}
		}
		if tt.s.f.Kind == roll.NotReady && len(sheet.Clear()) != 1 {
			t.Errorf("%s: ruled out %v, of which most cannot apply", tt.name, sheet.Clear())
		}
	}
}

func TestWhatCouldNotBeReadIsNotChecked(t *testing.T) {
	custom := func() *scene { return nodeadm().karpenter("Custom") }
	own := func() *scene { return healthyWith(amiOwn, nodeConfig(name, endpoint, ca)) }
	bare := func() *scene { return legacy().data(script("/etc/eks/bootstrap.sh " + name)).private() }
	for _, tt := range []struct {
		hide string
		s    *scene
		want []cause.Code
	}{
		{"user data", nodeadm(), []cause.Code{
			cause.UserDataEmpty, cause.UserDataTooLarge, cause.UserDataWrongFormat, cause.UserDataUnparseable, cause.UserDataClusterMismatch,
			cause.UserDataMalformedFlags, cause.UserDataPrivateClusterArgs, cause.ArchitectureMismatch,
		}},
		{"user data", custom(), []cause.Code{cause.UserDataTaintConflict, cause.StartupTaintMissing}},
		{"node class", custom(), []cause.Code{cause.StartupTaintMissing}},
		{"image", own(), []cause.Code{cause.UserDataWrongFormat, cause.AmiWithoutKubernetes, cause.ArchitectureMismatch, cause.KubeletVersionSkew, cause.AmiFamilyUnsupported}},
		{"config", own(), []cause.Code{cause.ArchitectureMismatch, cause.AmiWithoutKubernetes}},
		{"cluster", nodeadm(), []cause.Code{cause.UserDataClusterMismatch, cause.KubeletVersionSkew}},
		{"cluster", legacy(), []cause.Code{cause.AmiFamilyUnsupported}},
		{"cluster", bare(), []cause.Code{cause.UserDataPrivateClusterArgs}},
		{"routes", bare(), []cause.Code{cause.UserDataPrivateClusterArgs}},
		{"endpoints", bare(), []cause.Code{cause.UserDataPrivateClusterArgs}},
		{"console", nodeadm(), []cause.Code{cause.NodeadmFailed, cause.CloudInitFailed}},
		{"console", own(), []cause.Code{cause.AmiWithoutKubernetes, cause.NodeadmFailed, cause.CloudInitFailed}},
		{"node", nodeadm().kind(roll.NotReady).node("v1.35.0").hideImage(), []cause.Code{cause.KubeletVersionSkew}},
	} {
		hiders[tt.hide](tt.s)
		causetest.NotChecked(t, tt.hide, tt.s.analyze(), "", tt.want...)
	}
}

// Arguments known only on the instance may be empty: bootstrap.sh then calls the EKS API.
func TestComputedArgumentsOfAPrivateClusterAreNotChecked(t *testing.T) {
	for _, args := range []string{`$EXTRA`, `--apiserver-endpoint "$URL" --b64-cluster-ca "$CA"`, `--apiserver-endpoint ` + endpoint + ` --b64-cluster-ca "$(cat /etc/ca)"`} {
		sheet := legacy().data(script("/etc/eks/bootstrap.sh " + name + " " + args)).private().analyze()
		causetest.NotChecked(t, args, sheet, "computes arguments of the script that joins", cause.UserDataPrivateClusterArgs)
	}
}

func TestFixesNameWhereTheUserDataComesFrom(t *testing.T) {
	const wrong = "billing"
	for _, tt := range []struct {
		name  string
		s     *scene
		parts []string
	}{
		{"an Auto Scaling group", nodeadm(), []string{"--launch-template-id " + template + " --source-version 3", "update-auto-scaling-group --region eu-west-1 --auto-scaling-group-name payments-workers"}},
		{"a managed node group", nodeadm().managed("CUSTOM"), []string{"--launch-template-id lt-0aaaaaaaaaaaaaaaa --source-version 7", "update-nodegroup-version --region eu-west-1 --cluster-name payments --nodegroup-name workers --launch-template id=lt-0aaaaaaaaaaaaaaaa,version=$VERSION", "EKS then replaces the nodes of the group"}},
		{"a managed node group without a template of its own", nodeadm().managed("AL2023_x86_64_STANDARD"), []string{"describe-nodegroup --region eu-west-1 --cluster-name payments --nodegroup-name workers"}},
		{"Karpenter", nodeadm().karpenter("AL2023"), []string{"kubectl edit ec2nodeclass default", "(drift)"}},
		{"a template whose version is not known", nodeadm().config(func(c *evidence.InstanceConfig) { c.LaunchTemplateVersion, c.ASG = "", "a group" }), []string{"--source-version '$Latest'", "--auto-scaling-group-name 'a group'"}},
		{"nobody", nodeadm().config(func(c *evidence.InstanceConfig) { c.LaunchTemplate, c.ASG = "", "" }), []string{"describe-instance-attribute --region eu-west-1 --instance-id " + string(instance)}},
	} {
		fix := tt.s.data(nodeConfig(wrong, endpoint, ca)).analyze().Causes()[0].Fix
		for _, p := range append(tt.parts, "describe-cluster --region eu-west-1 --name payments") {
			expect.That(t, strings.Contains(fix, p), "%s:\n%s\nlacks %s", tt.name, fix, p)
		}
	}
}

func TestInstancesOfOneTemplateHaveOneSubject(t *testing.T) {
	for _, tt := range []struct {
		s    *scene
		want string
	}{
		{nodeadm(), "launch-template/" + template + ":3"},
		{nodeadm().karpenter("AL2023"), "nodeclass/default"},
		{nodeadm().config(func(c *evidence.InstanceConfig) { c.LaunchTemplate = "" }), "user-data/"},
	} {
		got := tt.s.data(nodeConfig("billing", endpoint, ca)).analyze().Causes()[0].Subject
		expect.That(t, strings.HasPrefix(got, tt.want), "subject %q, want %q", got, tt.want)
	}
}

// Its flags and labels come from the user data, the AMI or the group: another instance gets them too.
func TestWhatAKubeletRefusesIsNotTheInstances(t *testing.T) {
	refused := `kubelet[2857]: E0310 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`
	if c := legacy().console(refused).group(func(g *evidence.Group) {
		g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
	}).analyze().Causes()[0]; c.Cure != roll.CureUnclear {
		t.Errorf("beside one that works: %+v", c)
	}
	for line, want := range map[string]roll.Cure{
		refused: roll.CureChange,
		"[   14.330000] cloud-init[3139]: failed run of stage init": roll.CureUnclear,
	} {
		c := legacy().console(line).analyze().Causes()[0]
		if c.Code != "CloudInitFailed" || c.Cure != want || want == roll.CureChange && c.Subject != "launch-template/"+template+":3" {
			t.Errorf("%s: %+v", line, c)
		}
	}
}

func TestFixesNameTheImageToTake(t *testing.T) {
	old := func(s *scene) *scene { return s.image(func(i *evidence.Image) { i.Kubernetes = "1.30" }) }
	named := func(s *scene, name string) *scene { return old(s).image(func(i *evidence.Image) { i.Name = name }) }
	typed := func(s *scene, t string) *scene { return s.config(func(c *evidence.InstanceConfig) { c.Type = t }) }
	for _, tt := range []struct {
		name string
		s    *scene
		part string
	}{
		{"AL2023", old(nodeadm()), "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id"},
		{"arm64", old(arm(nodeadm())), "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id"},
		{"Bottlerocket", old(rocket()), "/aws/service/bottlerocket/aws-k8s-1.35/x86_64/latest/image_id"},
		{"Windows", old(healthyWith(amiWindows, "<powershell></powershell>")), "Windows_Server-2022-English-Core-EKS_Optimized-1.35/image_id"},
		{"a managed node group", old(nodeadm().managed("AL2023_x86_64_STANDARD")), "aws eks update-nodegroup-version --region eu-west-1 --cluster-name payments --nodegroup-name workers"},
		{"a managed node group of AL2", old(legacy().managed("AL2_ARM_64")), "AL2023_x86_64_STANDARD"},
		{"AL2 with NVIDIA's driver", named(legacy(), "amazon-eks-gpu-node-1.30-v20251112"), "/amazon-linux-2023/x86_64/nvidia/recommended/image_id"},
		{"AL2 with Neuron's driver", named(typed(legacy(), "inf2.xlarge"), "amazon-eks-gpu-node-1.30-v20251112"), "/amazon-linux-2023/x86_64/neuron/recommended/image_id"},
		{"AL2 on a machine with a GPU, without its driver", old(typed(legacy(), "g6.xlarge")), "/amazon-linux-2023/x86_64/standard/recommended/image_id"},
		{"a managed node group of AL2 with NVIDIA's driver", named(typed(legacy(), "g5.xlarge"), "amazon-eks-gpu-node-1.30-v20251112").managed("AL2_x86_64_GPU"), "AL2023_x86_64_NVIDIA"},
		{"a managed node group of AL2 with Neuron's driver", named(typed(legacy(), "trn1.2xlarge"), "amazon-eks-gpu-node-1.30-v20251112").managed("AL2_x86_64_GPU"), "AL2023_x86_64_NEURON"},
		{"AL2023 with NVIDIA's driver", named(nodeadm(), "amazon-eks-node-al2023-x86_64-nvidia-1.30-v20260224"), "/amazon-linux-2023/x86_64/nvidia/recommended/image_id"},
		{"Bottlerocket with NVIDIA's driver and FIPS", named(rocket(), "bottlerocket-aws-k8s-1.30-nvidia-fips-x86_64-v1.55.0-f3ac4e6c"), "/aws/service/bottlerocket/aws-k8s-1.35-nvidia-fips/x86_64/latest/image_id"},
		{"Windows of another release", named(healthyWith(amiWindows, "<powershell></powershell>"), "Windows_Server-2019-English-Full-EKS_Optimized-1.30-2026.02.11"), "Windows_Server-2019-English-Full-EKS_Optimized-1.35/image_id"},
		{"Karpenter", old(rocket().karpenter("Bottlerocket")), `{"alias":"bottlerocket@latest"}`},
		{"Karpenter, and what follows", old(rocket().karpenter("Bottlerocket")), "(drift)"},
		{"a managed node group, and what follows", old(nodeadm().managed("AL2023_x86_64_STANDARD")), "EKS then replaces the nodes of the group"},
	} {
		causes := tt.s.analyze().Causes()
		i := slices.IndexFunc(causes, func(c roll.Cause) bool { return c.Code == cause.KubeletVersionSkew })
		expect.That(t, i >= 0 && strings.Contains(causes[i].Fix, tt.part), "%s: %+v lacks %s", tt.name, causes, tt.part)
	}
}

// A quote that is not closed takes in the values of other flags, which may be secrets.
func TestWhatAFlagSwallowedIsNotShown(t *testing.T) {
	for _, c := range legacy().data(extraArgs(`'--node-labels="team=a --manifest-url-header=Authorization:hunter2'`)).analyze().Causes() {
		for _, e := range c.Evidence {
			expect.That(t, !strings.Contains(c.Summary+c.Fix+e.Observed+e.Field+e.Expected, "hunter2"), "%s: %+v", c.Code, c)
		}
	}
}
