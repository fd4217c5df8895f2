package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
)

const (
	quotedTaint = `'--register-with-taints="karpenter.sh/unregistered=:NoExecute"'`
	plainTaint  = `'--register-with-taints=karpenter.sh/unregistered=:NoExecute'`
)

// registeredNode returns a registered node of the family Custom, with what Karpenter reports
// about it.
func registeredNode(s *scene, conditions ...evidence.Condition) *scene {
	return s.karpenter("Custom", conditions...).node("v1.32.9-eks-113cf36").kind(roll.Uninitialized)
}

func (s *scene) tainted(key, effect string) *scene {
	n := s.e.Nodes[s.f.Node]
	n.Object.Value.Taints = append(n.Object.Value.Taints, evidence.Taint{Key: key, Effect: effect})
	s.e.Nodes[s.f.Node] = n
	return s
}

// missed makes Karpenter report in an event that the taint was missing.
func (s *scene) missed() *scene {
	return s.group(func(g *evidence.Group) {
		g.NodeClaims.Value[0].Events = evidence.Read([]evidence.Event{{Type: "Warning", Reason: "UnregisteredTaintMissing", Message: "Missing karpenter.sh/unregistered taint"}})
	})
}

func registeredFlags() []example {
	registered := evidence.Condition{Type: "Registered", Status: "True", Reason: "Registered"}
	own := func(args string) *scene { return healthyWith(amiOwn, extraArgs(args)) }
	return []example{
		{"a quoted taint, and Karpenter refuses the node for want of it", registeredNode(own(quotedTaint), conditionTaint), "UserDataMalformedFlags StartupTaintMissing"},
		{"a plain taint, and Karpenter refuses the node for want of it", registeredNode(own(plainTaint), conditionTaint), "StartupTaintMissing"},
		{"a quoted taint, and Karpenter goes on without it", registeredNode(own(quotedTaint), registered).missed(), "UserDataMalformedFlags? StartupTaintMissing?"},
		{"a quoted taint, and nothing is said of it", registeredNode(own(quotedTaint), registered), "UserDataMalformedFlags?"},
		{"a quoted taint of another key, and Karpenter refuses the node", registeredNode(own(`'--register-with-taints="team=a:NoSchedule"'`), conditionTaint), "StartupTaintMissing UserDataMalformedFlags?"},
		{"a quoted taint in a branch", registeredNode(healthyWith(amiOwn, script("if test -f /etc/x; then /etc/eks/bootstrap.sh "+name+" --kubelet-extra-args "+quotedTaint+"; fi")), conditionTaint), "StartupTaintMissing UserDataMalformedFlags?"},
		{"flags that systemd drops", registeredNode(own("'--node-labels=a=b\n --register-with-taints=karpenter.sh/unregistered=:NoExecute'"), conditionTaint), "StartupTaintMissing UserDataMalformedFlags?"},
		{"single quotes within, which systemd of Amazon Linux 2 drops", registeredNode(own(`"--node-labels='a=b' --register-with-taints='karpenter.sh/unregistered=:NoExecute'"`), conditionTaint), "UserDataMalformedFlags StartupTaintMissing"},
		{"quotes around labels alone, with which the kubelet started", registeredNode(own(`'--node-labels="team=a" --max-pods=58'`), registered), ""},
		{"a taint that the kubelet refuses, and yet it registered", registeredNode(own(`'--register-with-taints=karpenter.sh/unregistered=NoExecute'`), registered), "UserDataMalformedFlags?"},
		{"a healthy one of the same template", registeredNode(own(quotedTaint), conditionTaint).group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
		}), "StartupTaintMissing UserDataMalformedFlags?"},
		{"Karpenter's own quotes", legacy().karpenter("AL2", registered).data(extraArgs(quotedTaint)).node("v1.32.9-eks-113cf36").kind(roll.Uninitialized), ""},
		{"a node group's quoted taint", own(quotedTaint).managed("CUSTOM").node("v1.32.9-eks-113cf36").kind(roll.Uninitialized), "UserDataMalformedFlags?"},
		{"a plain taint", registeredNode(own(plainTaint), registered), ""},
		{"Karpenter's taint with another effect", registeredNode(own(`'--register-with-taints=karpenter.sh/unregistered:NoSchedule'`), registered).tainted("karpenter.sh/unregistered", "NoSchedule"), "StartupTaintMissing"},
		{"Karpenter's taint with an effect that keeps nobody away", registeredNode(own(plainTaint), registered).tainted("karpenter.sh/unregistered", "PreferNoSchedule"), "StartupTaintMissing?"},
		{"Karpenter's taint, not taken off yet", registeredNode(own(plainTaint)).tainted("karpenter.sh/unregistered", "NoExecute"), ""},
		{"Karpenter's own quotes, and it refuses the node", legacy().karpenter("AL2", conditionTaint).data(extraArgs(quotedTaint)).node("v1.32.9-eks-113cf36").kind(roll.Uninitialized), "StartupTaintMissing"},
	}
}

// addressed makes the cluster one of that family, and gives the node the addresses.
func (s *scene) addressed(family string, addresses ...string) *scene {
	s.e.Cluster.Config.Value.IPFamily = family
	n := s.e.Nodes[s.f.Node]
	n.Object.Value.Addresses = append(addresses, s.f.Node)
	s.e.Nodes[s.f.Node] = n
	return s
}

const cloudTaint = "node.cloudprovider.kubernetes.io/uninitialized"

func addressFamilies() []example {
	waits := func(s *scene) *scene {
		return s.node("v1.32.9-eks-113cf36").kind(roll.Uninitialized).tainted(cloudTaint, "NoSchedule")
	}
	return []example{
		{"an IPv4 address in a cluster of IPv6", waits(legacy()).addressed("ipv6", "10.0.0.1"), "UserDataMalformedFlags"},
		{"the same, and the user data was not read", waits(legacy().unread()).addressed("ipv6", "10.0.0.1"), "UserDataMalformedFlags"},
		{"the same of Karpenter's own user data", waits(nodeadm().karpenter("AL2023")).addressed("ipv6", "10.0.0.1"), "UserDataMalformedFlags"},
		{"the same, and another of the template works", waits(legacy()).addressed("ipv6", "10.0.0.1").group(func(g *evidence.Group) {
			g.Members = []evidence.Member{{Instance: "i-00000001", Healthy: true, LaunchTemplate: template, LaunchTemplateVersion: "3"}}
		}), "UserDataMalformedFlags?"},
		{"an IPv6 address in a cluster of IPv6", waits(legacy()).addressed("ipv6", "2001:db8::1"), ""},
		{"an address of each family", waits(legacy()).addressed("ipv6", "2001:db8::1", "10.0.0.1"), ""},
		{"no address yet", waits(legacy()).addressed("ipv6"), ""},
		{"an IPv4 address in a cluster of IPv4", waits(legacy()).addressed("ipv4", "10.0.0.1"), ""},
		{"an IPv4 address in a cluster whose family was not read", waits(legacy()).addressed("", "10.0.0.1"), ""},
		{"an IPv4 address, and the cloud controller took its taint off", legacy().node("v1.32.9-eks-113cf36").kind(roll.Uninitialized).addressed("ipv6", "10.0.0.1"), ""},
	}
}

func TestAddressFamilies(t *testing.T) { check(t, addressFamilies()) }

func TestTheFixForTheOtherFamilyFitsWhoWroteTheUserData(t *testing.T) {
	for want, s := range map[string]*scene{
		"--ip-family ipv6":                  legacy(),
		"spec.cluster.cidr must be":         nodeadm(),
		"cluster-dns-ip and node-ip":        rocket(),
		"rollout restart":                   nodeadm().karpenter("AL2023"),
		"--assign-ipv6-address-on-creation": legacy(),
	} {
		s = s.node("v1.32.9-eks-113cf36").kind(roll.Uninitialized).tainted(cloudTaint, "NoSchedule").addressed("ipv6", "10.0.0.1")
		causes := s.analyze().Causes()
		if len(causes) == 0 || !strings.Contains(causes[0].Fix, want) {
			t.Errorf("%q is not in %+v", want, causes)
		}
	}
}

// says makes the node's kubelet report why it is not ready.
func (s *scene) says(message string) *scene {
	n := s.e.Nodes[s.f.Node]
	n.Object.Value.Conditions = []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: message}}
	s.e.Nodes[s.f.Node] = n
	return s
}

const (
	unstarted = "[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]"
	reserves  = `Mar 10 11:31:04 ip-10-0-0-1 kubelet[2857]: E0310 11:31:04.199967    2857 kubelet.go:1688] "Failed to start ContainerManager" err="invalid Node Allocatable configuration. Resource \"memory\" has a reservation of 12766414848 but capacity of 3999997952. Expected capacity >= reservation."`
	sysctls   = `Mar 10 11:31:04 ip-10-0-0-1 kubelet[2857]: E0310 11:31:04.199967    2857 kubelet.go:1703] "Failed to start ContainerManager" err="[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0]"`
	unknown   = `Mar 10 11:31:04 ip-10-0-0-1 kubelet[2857]: E0310 11:31:04.199967    2857 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`
)

// A kubelet that registers and then exits says so again with every start.
func unstartedKubelets() []example {
	node := func() *scene { return nodeadm().node("v1.35.2-eks-113cf36").kind(roll.Uninitialized) }
	return []example{
		{"more is reserved than there is", node().says(unstarted).printed("kubelet", reserves), "CloudInitFailed"},
		{"sysctls differ", node().says(unstarted).printed("kubelet", sysctls), "CloudInitFailed"},
		{"on the console", node().says(unstarted).console(reserves), "CloudInitFailed"},
		{"what it refuses before it registers, and so no more", node().says(unstarted).printed("kubelet", unknown), ""},
		{"it has started since", node().says("container runtime is down").printed("kubelet", reserves), ""},
		{"it was ready before", node().kind(roll.NotReady).says(unstarted).printed("kubelet", reserves), ""},
		{"nothing shows why", node().says(unstarted).printed("kubelet", "Mar 10 11:31:04 ip-10-0-0-1 kubelet[2857]: I0310 11:31:04.199967    2857 server.go:1] \"Started\""), ""},
	}
}

func TestFlagsOfARegisteredNodeThatWereNotRead(t *testing.T) {
	causetest.NotChecked(t, "user data", registeredNode(legacy().unread()).analyze(), "no permission", cause.UserDataMalformedFlags)
	if s := registeredNode(nodeadm()).analyze(); !slices.Contains(s.Clear(), cause.UserDataMalformedFlags) {
		t.Errorf("flags that are in order are not ruled out: %v", s.Open())
	}
}

// The fix uses the words of the system that reads it.
func TestTheFixFitsTheSystem(t *testing.T) {
	windows := func(args string) string {
		return "<powershell>\n& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName '" + name + "' -KubeletExtraArgs '" + args + "'\n</powershell>\n"
	}
	flags := func(flag string) string {
		return nodeConfig(name, endpoint, ca, "  kubelet:\n    flags:\n    - '"+flag+"'\n")
	}
	const nested = `--register-with-taints="karpenter.sh/unregistered=:NoExecute,team=a:NoSchedule"`
	for _, tt := range []struct {
		name string
		s    *scene
		want string
		not  string
	}{
		{"AL2", registeredNode(healthyWith(amiAL2, extraArgs("'"+nested+"'")), conditionTaint), "--kubelet-extra-args, write --register-with-taints=karpenter.sh/unregistered:NoExecute,team=a:NoSchedule beside", ""},
		{"an AMI that nothing tells, by its user data", registeredNode(healthyWith(amiOwn, extraArgs(quotedTaint)), conditionTaint), "--kubelet-extra-args, write --register-with-taints=karpenter.sh/unregistered:NoExecute beside", ""},
		{"Ubuntu", registeredNode(healthyWith(amiUbuntu, extraArgs(quotedTaint)), conditionTaint), "--kubelet-extra-args", ""},
		{"AL2023", registeredNode(healthyWith(amiAL2023, flags(nested)), conditionTaint),
			`registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}, {key: team, value: "a", effect: NoSchedule}]`, "--kubelet-extra-args"},
		{"Windows", registeredNode(healthyWith(amiWindows, windows(nested)), conditionTaint), "-KubeletExtraArgs, write --register-with-taints=karpenter.sh/unregistered:NoExecute,team=a:NoSchedule", "--kubelet-extra-args"},
		{"Bottlerocket without the taint", registeredNode(rocket(), conditionTaint), `"karpenter.sh/unregistered" = [":NoExecute"]`, "--register-with-taints"},
		{"AL2023 without the taint", registeredNode(nodeadm(), conditionTaint), "registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]", ""},
		{"AL2 without the taint", registeredNode(legacy(), conditionTaint), "--register-with-taints=karpenter.sh/unregistered:NoExecute", ""},
		{"a label in TOML", rocket().data(toml(name, endpoint, ca) + "[settings.kubernetes.node-labels]\n\"node-role.kubernetes.io/worker\" = \"\"\n"), "take node-role.kubernetes.io/worker out of [settings.kubernetes.node-labels]", "--name"},
		{"a flag in a NodeConfig", nodeadm().data(flags(`--node-labels="team=a"`)), "spec.kubelet.flags", "--kubelet-extra-args"},
		{"the other effect", registeredNode(healthyWith(amiAL2, extraArgs(`'--register-with-taints=karpenter.sh/unregistered:NoSchedule'`)), conditionTaint).tainted("karpenter.sh/unregistered", "NoSchedule"),
			"in place of karpenter.sh/unregistered:NoSchedule", ""},
		{"the other effect, put on by somebody", registeredNode(legacy()).tainted("karpenter.sh/unregistered", "NoSchedule"), "kubectl taint nodes ip-10-0-0-1.eu-west-1.compute.internal karpenter.sh/unregistered:NoSchedule-", "--register-with-taints"},
		// What already exists is not suggested.
		{"the taint is there, and well written", registeredNode(healthyWith(amiAL2, extraArgs(plainTaint)), conditionTaint), "/api/v1/nodes/ip-10-0-0-1.eu-west-1.compute.internal/proxy/configz", "--register-with-taints"},
		{"taints twice, and the NodePool has the flag's", registeredNode(healthyWith(amiAL2023, nodeConfig(name, endpoint, ca, "  kubelet:\n    flags:\n    - --register-with-taints=team=a:NoSchedule\n    config:\n      registerWithTaints:\n      - key: karpenter.sh/unregistered\n        effect: NoExecute\n")), conditionTaint).
			group(func(g *evidence.Group) {
				g.NodePool = evidence.Read(evidence.NodePool{Name: "default", Taints: []evidence.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}}})
			}), "out of the kubelet’s flags", "in the NodePool"},
	} {
		causes := tt.s.analyze().Causes()
		if len(causes) == 0 {
			t.Errorf("%s: nothing is found", tt.name)
			continue
		}
		if fix := causes[0].Fix; !strings.Contains(fix, tt.want) || tt.not != "" && strings.Contains(fix, tt.not) {
			t.Errorf("%s: %s\nlacks %q, or has %q", tt.name, fix, tt.want, tt.not)
		}
	}
}
