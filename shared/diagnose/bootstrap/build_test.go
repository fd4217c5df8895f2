package bootstrap_test

import (
	"strings"
	"time"

	"rollcall/shared/diagnose/bootstrap"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

const (
	name     = "payments"
	instance = roll.InstanceID("i-0123456789abcdef0")
	image    = "ami-0123456789abcdef0"
	template = "lt-0123456789abcdef0"
	subnet   = "subnet-0123456789abcdef0"
	vpc      = "vpc-0123456789abcdef0"
	asg      = roll.Group("asg/payments-workers")
	pool     = roll.Group("nodepool/default")
	workers  = roll.Group("nodegroup/workers")

	endpoint = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
	other    = "https://FEDCBA9876543210FEDCBA9876543210.gr7.eu-west-1.eks.amazonaws.com"
	// Certificates in PEM form; their content is not checked.
	ca      = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClkyRT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	otherCA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClkySTkKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	bundle  = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClkyRT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQotLS0tLUJFR0lOIENFUlRJRklDQVRFLS0tLS0KWTJJOQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==" // of both
)

var local = evidence.Route{Destination: "10.0.0.0/16", Target: "local"}

var launched = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a finding with its evidence.
type scene struct {
	e *evidence.Evidence
	f roll.Finding
}

// healthyWith returns an instance of an Auto Scaling group that has everything it needs, with
// that AMI and user data.
func healthyWith(ami evidence.Image, data string) *scene {
	ami.Architecture, ami.Owner = "x86_64", "123456789012"
	c := userdata.CertificateOf(ca)
	s := &scene{f: roll.Finding{Instance: instance, Kind: roll.Unregistered, Owner: roll.OwnerAutoScalingGroup, Group: asg}}
	s.e = &evidence.Evidence{
		Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: name},
		Instances: map[roll.InstanceID]evidence.Instance{instance: {
			Config: evidence.Read(evidence.InstanceConfig{
				State: "running", Launched: launched, Type: "m6i.large", Architecture: "x86_64", Image: image, VPC: vpc, Subnet: subnet,
				ASG: "payments-workers", LaunchTemplate: template, LaunchTemplateVersion: "3",
			}),
			UserData: evidence.Read(userdata.Read([]byte(data))),
			Console:  evidence.Read(console.Read("")),
		}},
		Images:    map[string]evidence.Fact[evidence.Image]{image: evidence.Read(ami)},
		Templates: map[string]evidence.Fact[evidence.LaunchTemplate]{},
		Nodes:     map[string]evidence.Node{},
		Groups:    map[roll.Group]evidence.Group{asg: {}},
		Network: evidence.Network{
			Subnets:     map[string]evidence.Fact[evidence.Subnet]{subnet: evidence.Read(evidence.Subnet{CIDR: "10.0.32.0/19"})},
			RouteTables: map[string]evidence.Fact[evidence.RouteTable]{subnet: evidence.Read(evidence.RouteTable{ID: "rtb-1", Routes: []evidence.Route{local, {Destination: "0.0.0.0/0", Target: "nat-1"}}})},
			NATGateways: map[string]evidence.Fact[evidence.NATGateway]{"nat-1": evidence.Read(evidence.NATGateway{ID: "nat-1", State: "available", PublicIPs: []string{"192.0.2.1"}})},
			VPCs:        map[string]evidence.VPC{vpc: {Endpoints: evidence.Read([]evidence.VPCEndpoint{})}},
		},
	}
	s.e.Cluster.Config = evidence.Read(evidence.ClusterConfig{
		Name: name, Status: roll.ClusterActive, Version: "1.35", Endpoint: endpoint, CAHash: c.Value, PublicAccess: true, PrivateAccess: true,
	})
	return s
}

// The AMIs of EKS, by their names.
var (
	amiAL2023       = evidence.Image{Name: "amazon-eks-node-al2023-x86_64-standard-1.35-v20260224", OwnerAlias: "amazon", Family: "al2023", EKS: true, Kubernetes: "1.35"}
	amiAL2          = evidence.Image{Name: "amazon-eks-node-1.32-v20251112", OwnerAlias: "amazon", Family: "al2", EKS: true, Kubernetes: "1.32"}
	amiBottlerocket = evidence.Image{Name: "bottlerocket-aws-k8s-1.35-x86_64-v1.55.0-f3ac4e6c", OwnerAlias: "amazon", Family: "bottlerocket", EKS: true, Kubernetes: "1.35"}
	amiWindows      = evidence.Image{Name: "Windows_Server-2022-English-Core-EKS_Optimized-1.35-2026.02.11", OwnerAlias: "amazon", Family: "windows", EKS: true, Kubernetes: "1.35"}
	amiUbuntu       = evidence.Image{Name: "ubuntu-eks/k8s_1.35/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260201", Family: "ubuntu", Kubernetes: "1.35"}
	amiOwn          = evidence.Image{Name: "payments-golden-2026-02"}
)

// silent returns a node that went silent two hours ago, of a cluster with two certificate authorities, of
// which its user data has one.
func silent() *scene {
	s := nodeadm().cluster(rotated).kind(roll.Unknown).node("v1.35.2-eks-1a2b3c4").leased(2 * time.Hour)
	s.f.Since = s.e.At.Add(-2 * time.Hour)
	return s
}

// leased gives the node a lease that was renewed that long ago.
func (s *scene) leased(ago time.Duration) *scene {
	s.e.At = launched.Add(3 * time.Hour)
	n := s.e.Nodes[s.f.Node]
	n.Lease = evidence.Read(evidence.Lease{Renewed: s.e.At.Add(-ago)})
	s.e.Nodes[s.f.Node] = n
	return s
}

// sampled makes another instance of the same launch template version the one whose user data was read.
func (s *scene) sampled() *scene {
	s.e.Instances["i-00000002"] = s.e.Instances[instance]
	return s.update(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("sampled") })
}

// alone makes it the only instance that was read.
func (s *scene) alone() *scene { s.e.Alone = true; return s }

// rotated gives the cluster a second certificate authority besides its own.
func rotated(c *evidence.ClusterConfig) { c.CAHash = userdata.CertificateOf(bundle).Value }

// nodeConfig returns what nodeadm reads. more goes below spec.
func nodeConfig(cluster, endpoint, ca string, more ...string) string {
	return "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: " + cluster + "\n    apiServerEndpoint: " + endpoint +
		"\n    certificateAuthority: " + ca + "\n    cidr: 172.20.0.0/16\n" + strings.Join(more, "")
}

func multipart(parts ...string) string {
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n" + strings.Join(parts, "--//\n") + "--//--\n"
}

func part(kind, text string) string { return "Content-Type: " + kind + "\n\n" + text + "\n" }

const (
	ofNodeadm = "application/node.eks.aws"
	ofShell   = "text/x-shellscript; charset=\"us-ascii\""
)

func script(lines ...string) string { return "#!/bin/bash\n" + strings.Join(lines, "\n") + "\n" }

// bootstrapSh returns a call of bootstrap.sh with all arguments, and more.
func bootstrapSh(more string) string {
	return script("set -e", strings.TrimSpace("/etc/eks/bootstrap.sh "+name+" --apiserver-endpoint "+endpoint+" --b64-cluster-ca "+ca+" "+more))
}

func extraArgs(quoted string) string { return bootstrapSh("--kubelet-extra-args " + quoted) }

func toml(cluster, endpoint, ca string) string {
	return "[settings.kubernetes]\ncluster-name = \"" + cluster + "\"\napi-server = \"" + endpoint + "\"\ncluster-certificate = \"" + ca + "\"\n"
}

func nodeadm() *scene { return healthyWith(amiAL2023, nodeConfig(name, endpoint, ca)) }
func legacy() *scene  { return healthyWith(amiAL2, bootstrapSh("")) }
func rocket() *scene  { return healthyWith(amiBottlerocket, toml(name, endpoint, ca)) }

// karpenter makes the instance one of Karpenter's, of an AMI family, with its NodeClaim.
func (s *scene) karpenter(family string, conditions ...evidence.Condition) *scene {
	s.f.Owner, s.f.Group = roll.OwnerKarpenter, pool
	s.config(func(c *evidence.InstanceConfig) { c.NodeClass, c.ASG = "default", "" })
	s.e.Groups = map[roll.Group]evidence.Group{pool: {
		NodeClass:  evidence.Read(evidence.NodeClass{AMIFamily: family}),
		NodeClaims: evidence.Read([]evidence.NodeClaim{{Name: "default-x7k2p", Instance: instance, Conditions: conditions, Events: evidence.Read([]evidence.Event{})}}),
	}}
	return s
}

// managed makes the instance one of a managed node group of that AMI type.
func (s *scene) managed(amiType string) *scene {
	s.f.Owner, s.f.Group = roll.OwnerManagedNodeGroup, workers
	g := evidence.NodeGroup{Name: "workers", Status: "ACTIVE", AMIType: amiType, Version: "1.35"}
	if amiType == "CUSTOM" {
		g.LaunchTemplate, g.TemplateVer = "lt-0aaaaaaaaaaaaaaaa", "7"
	}
	s.e.Groups = map[roll.Group]evidence.Group{workers: {NodeGroup: evidence.Read(g)}}
	return s
}

func (s *scene) kind(k roll.Kind) *scene { s.f.Kind = k; return s }

func (s *scene) update(f func(*evidence.Instance)) *scene {
	i := s.e.Instances[instance]
	f(&i)
	s.e.Instances[instance] = i
	return s
}

func (s *scene) config(f func(*evidence.InstanceConfig)) *scene {
	return s.update(func(i *evidence.Instance) { f(&i.Config.Value) })
}

func (s *scene) data(text string) *scene {
	return s.update(func(i *evidence.Instance) { i.UserData = evidence.Read(userdata.Read([]byte(text))) })
}

func (s *scene) without() *scene {
	return s.update(func(i *evidence.Instance) { i.UserData = evidence.None[userdata.Boot]() })
}

func (s *scene) console(lines ...string) *scene {
	return s.update(func(i *evidence.Instance) { i.Console = evidence.Read(console.Read(strings.Join(lines, "\n") + "\n")) })
}

// printed makes the host have printed lines of its logs.
func (s *scene) printed(section string, lines ...string) *scene {
	return s.update(func(i *evidence.Instance) {
		log, _ := hostlog.Read("==== rollcall: " + section + " ====\n" + strings.Join(lines, "\n") + "\n")
		i.HostLogs = evidence.Read(log)
	})
}

func (s *scene) image(f func(*evidence.Image)) *scene {
	fact := s.e.Images[image]
	f(&fact.Value)
	s.e.Images[image] = fact
	return s
}

func (s *scene) cluster(f func(*evidence.ClusterConfig)) *scene {
	f(&s.e.Cluster.Config.Value)
	return s
}

func (s *scene) group(f func(*evidence.Group)) *scene {
	g := s.e.Groups[s.f.Group]
	f(&g)
	s.e.Groups[s.f.Group] = g
	return s
}

// private makes the cluster's endpoint private, and gives the subnet those routes out.
func (s *scene) private(routes ...evidence.Route) *scene {
	s.cluster(func(c *evidence.ClusterConfig) { c.PublicAccess = false })
	t := s.e.Network.RouteTables[subnet]
	t.Value.Routes = append([]evidence.Route{local}, routes...)
	s.e.Network.RouteTables[subnet] = t
	return s
}

// node makes it a node with that kubelet version.
func (s *scene) node(version string) *scene {
	s.f.Node = "ip-10-0-0-1.eu-west-1.compute.internal"
	s.e.Nodes[s.f.Node] = evidence.Node{Object: evidence.Read(evidence.NodeObject{Name: s.f.Node, KubeletVersion: version})}
	return s
}

func (s *scene) analyze() *cause.Sheet {
	sheet := &cause.Sheet{}
	bootstrap.Analyze(&evidence.Case{Evidence: s.e, Finding: s.f}, sheet)
	return sheet
}

// Console lines.
var (
	bootAL2023 = []string{
		"[    0.000000] Linux version 6.12.68-92.122.amzn2023.x86_64 (mockbuild@ip-10-0-58-12) #1 SMP PREEMPT_DYNAMIC",
		"[  OK  ] Reached target network.target - Network.",
	}
	bootAL2 = []string{
		"[    0.000000] Linux version 5.10.245-241.978.amzn2.x86_64 (mockbuild@ip-10-0-58-13) #1 SMP",
	}
	finished = []string{
		"[   14.201337] cloud-init[1893]: Cloud-init v. 22.2.2 finished at Tue, 10 Mar 2026 11:21:02 +0000. Datasource DataSourceEc2.  Up 14.19 seconds",
		"localhost login: ",
	}
	nodeadmDone = []string{
		"[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.",
		"[  OK  ] Finished nodeadm-run.service - EKS Nodeadm Run.",
		"[  OK  ] Started kubelet.service - Kubernetes Kubelet.",
	}
)

func lines(groups ...[]string) []string {
	var out []string
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}
