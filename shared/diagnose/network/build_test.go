package network_test

import (
	"maps"
	"slices"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
)

// The names in the world in which every case begins: everything in it is healthy and was read.
const (
	instanceID = roll.InstanceID("i-0123456789abcdef0")
	nodeName   = "ip-10-0-32-21.eu-west-1.compute.internal"
	host       = "0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
	vpcID      = "vpc-0a1b2c3d4e5f60001"
	nodeSubnet = "subnet-0a1b2c3d4e5f60101"
	apiSubnet1 = "subnet-0a1b2c3d4e5f60201"
	apiSubnet2 = "subnet-0a1b2c3d4e5f60202"
	natSubnet  = "subnet-0a1b2c3d4e5f60301"
	nodeTable  = "rtb-0a1b2c3d4e5f60101"
	natTable   = "rtb-0a1b2c3d4e5f60301"
	natID      = "nat-0a1b2c3d4e5f60001"
	gatewayID  = "igw-0a1b2c3d4e5f60001"
	nodeGroup  = "sg-0a1b2c3d4e5f60001"
	apiGroup   = "sg-0a1b2c3d4e5f60002"
	nodeACL    = "acl-0a1b2c3d4e5f60001"
	openACL    = "acl-0a1b2c3d4e5f60002"
	natAddress = "198.51.100.11"
	template   = "lt-0a1b2c3d4e5f60001"
	imageID    = "ami-0a1b2c3d4e5f60001"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// world is a case that can be changed in parts.
type world struct {
	*evidence.Case
	config  evidence.InstanceConfig
	cluster evidence.ClusterConfig
	boot    userdata.Boot
	node    evidence.Node
	vpc     evidence.VPC
	group   evidence.Group
	image   evidence.Image
}

func all(cidrs ...string) evidence.Permission {
	return evidence.Permission{Protocol: "-1", AllPorts: true, CIDRs: cidrs}
}

func tcp(from, to int, cidrs ...string) evidence.Permission {
	return evidence.Permission{Protocol: "tcp", From: from, To: to, CIDRs: cidrs}
}

func member(port int, groups ...string) evidence.Permission {
	return evidence.Permission{Protocol: "tcp", From: port, To: port, Groups: groups}
}

func aclRule(number int, egress, allow bool, protocol string, from, to int, cidr string) evidence.ACLRule {
	return evidence.ACLRule{Number: number, Egress: egress, Allow: allow, Protocol: protocol, From: from, To: to, CIDR: cidr, AllPorts: protocol == "-1"}
}

func passAll() []evidence.ACLRule {
	return []evidence.ACLRule{aclRule(100, false, true, "-1", 0, 0, "0.0.0.0/0"), aclRule(100, true, true, "-1", 0, 0, "0.0.0.0/0"),
		aclRule(101, false, true, "-1", 0, 0, "::/0"), aclRule(101, true, true, "-1", 0, 0, "::/0")}
}

// healthy returns a cluster with both endpoints and an unregistered instance in a private
// subnet behind a NAT gateway, with its own security groups.
func healthy() *world {
	w := &world{
		config: evidence.InstanceConfig{
			State: "running", Type: "m7i.large", Architecture: "x86_64", Image: imageID, VPC: vpcID, Subnet: nodeSubnet, PrivateIP: "10.0.32.21",
			SecurityGroups: []string{nodeGroup}, HopLimit: 2, ClusterTags: []string{"payments"},
			Group: roll.NodeGroupGroup("workers"), LaunchTemplate: template, LaunchTemplateVersion: "3",
		},
		cluster: evidence.ClusterConfig{
			Name: "payments", Status: "ACTIVE", Version: "1.35", Endpoint: "https://" + host, VPC: vpcID, Subnets: []string{apiSubnet1, apiSubnet2},
			ClusterSecurityGroup: apiGroup, PublicAccess: true, PrivateAccess: true, PublicCIDRs: []string{"0.0.0.0/0"}, IPFamily: "ipv4",
		},
		boot: userdata.Boot{Joins: []userdata.Join{{Tool: userdata.Nodeadm}}},
		vpc: evidence.VPC{
			CIDR: "10.0.0.0/16", DNSSupport: evidence.Read(true), DNSHostnames: evidence.Read(true),
			DHCP:      evidence.Read(evidence.DHCPOptions{ID: "dopt-0a1b2c3d", NameServer: []string{"AmazonProvidedDNS"}, DomainName: "eu-west-1.compute.internal"}),
			Endpoints: evidence.Read([]evidence.VPCEndpoint{}),
		},
		image: evidence.Image{Family: "al2023", EKS: true, Kubernetes: "1.35"},
		node:  evidence.Node{},
		group: evidence.Group{Activities: evidence.Read([]evidence.Activity{}), NodeClaims: evidence.Read([]evidence.NodeClaim{})},
	}
	w.Case = &evidence.Case{
		Evidence: &evidence.Evidence{At: now, Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "payments"}, Network: surroundings()},
		Finding:  roll.Finding{Instance: instanceID, Kind: roll.Unregistered, Owner: roll.OwnerManagedNodeGroup, Group: roll.NodeGroupGroup("workers")},
	}
	return w
}

func surroundings() evidence.Network {
	subnet := func(id, cidr string) evidence.Fact[evidence.Subnet] {
		return evidence.Read(evidence.Subnet{CIDR: cidr, FreeAddresses: 4000})
	}
	acl := func() evidence.Fact[evidence.ACL] {
		return evidence.Read(evidence.ACL{ID: openACL, Rules: passAll()})
	}
	return evidence.Network{
		Subnets: map[string]evidence.Fact[evidence.Subnet]{
			nodeSubnet: subnet(nodeSubnet, "10.0.32.0/19"), apiSubnet1: subnet(apiSubnet1, "10.0.1.0/24"), apiSubnet2: subnet(apiSubnet2, "10.0.2.0/24"),
		},
		RouteTables: map[string]evidence.Fact[evidence.RouteTable]{
			nodeSubnet: table(nodeTable, evidence.Route{Destination: "0.0.0.0/0", Target: natID}),
			natSubnet:  table(natTable, evidence.Route{Destination: "0.0.0.0/0", Target: gatewayID}),
		},
		ACLs: map[string]evidence.Fact[evidence.ACL]{nodeSubnet: acl(), apiSubnet1: acl(), apiSubnet2: acl(), natSubnet: acl()},
		SecurityGroups: map[string]evidence.Fact[evidence.SecurityGroup]{
			nodeGroup: evidence.Read(evidence.SecurityGroup{Egress: []evidence.Permission{all("0.0.0.0/0")}}),
			apiGroup: evidence.Read(evidence.SecurityGroup{Egress: []evidence.Permission{all("0.0.0.0/0")}, Ingress: []evidence.Permission{
				{Protocol: "-1", AllPorts: true, Groups: []string{apiGroup}}, member(443, nodeGroup),
			}}),
		},
		NATGateways: map[string]evidence.Fact[evidence.NATGateway]{
			natID: evidence.Read(evidence.NATGateway{ID: natID, VPC: vpcID, Subnet: natSubnet, State: "available", PublicIPs: []string{natAddress}}),
		},
	}
}

func table(id string, routes ...evidence.Route) evidence.Fact[evidence.RouteTable] {
	return evidence.Read(evidence.RouteTable{ID: id, Routes: append([]evidence.Route{{Destination: "10.0.0.0/16", Target: "local"}}, routes...)})
}

// finish assembles the parts, each as read unless it was set before.
func (w *world) finish() *evidence.Case {
	if w.Instances == nil {
		w.Instances = map[roll.InstanceID]evidence.Instance{}
	}
	i := w.Instances[instanceID]
	known(&i.Config, w.config)
	known(&i.UserData, w.boot)
	w.Instances[instanceID] = i
	known(&w.Cluster.Config, w.cluster)
	w.Nodes = map[string]evidence.Node{nodeName: w.node}
	w.Groups = map[roll.Group]evidence.Group{w.Finding.Group: w.group}
	w.Images = map[string]evidence.Fact[evidence.Image]{imageID: evidence.Read(w.image)}
	w.Network.VPCs = map[string]evidence.VPC{vpcID: w.vpc}
	return w.Case
}

func known[T any](f *evidence.Fact[T], v T) {
	if f.State == evidence.NotAsked && f.Why == "" {
		*f = evidence.Read(v)
	}
}

// instance changes what EC2 reports about the instance besides its configuration.
func (w *world) instance(change func(*evidence.Instance)) {
	if w.Instances == nil {
		w.Instances = map[roll.InstanceID]evidence.Instance{}
	}
	i := w.Instances[instanceID]
	change(&i)
	w.Instances[instanceID] = i
}

// do combines the changes of a world.
func do(steps ...func(*world)) func(*world) { return causetest.Do(steps...) }

// shared lets another account share the node's subnet: EC2 shows none of its NAT gateways and endpoints.
func shared(w *world) {
	s := w.Network.Subnets[nodeSubnet].Value
	s.Owner = "123456789012"
	w.Network.Subnets[nodeSubnet] = evidence.Read(s)
	for id := range w.Network.NATGateways {
		w.Network.NATGateways[id] = evidence.None[evidence.NATGateway]()
	}
}

func ofClass(c evidence.NodeClass) func(*world) {
	return func(w *world) { w.group.NodeClass = evidence.Read(c) }
}
func inGroup(g evidence.NodeGroup) func(*world) {
	return func(w *world) { w.group.NodeGroup = evidence.Read(g) }
}
func addressed6(w *world) { w.config.IPv6 = true }

// unread makes the user data unreadable.
func unread(w *world) {
	w.instance(func(i *evidence.Instance) { i.UserData = evidence.Failed[userdata.Boot]("no") })
}

// proxied makes the user data set a proxy, for nodeadm too.
func proxied(w *world) { w.boot = throughProxy(w.boot) }

func throughProxy(b userdata.Boot) userdata.Boot {
	b.Proxy, b.Joins = true, slices.Clone(b.Joins)
	for i := range b.Joins {
		b.Joins[i].Proxied = true
	}
	return b
}

// proxiedByScript makes a script of the user data set a proxy.
func proxiedByScript(w *world) { w.boot.Proxy = true }

func publicOnly(cidrs ...string) func(*world) {
	return func(w *world) {
		w.cluster.PrivateAccess = false
		if len(cidrs) > 0 {
			w.cluster.PublicCIDRs = cidrs
		}
	}
}

// company makes the VPC use the company's resolvers, behind a transit gateway.
func company(domain string, servers ...string) func(*world) {
	return func(w *world) {
		w.vpc.DHCP = evidence.Read(evidence.DHCPOptions{ID: "dopt-0a1b2c3d", NameServer: servers, DomainName: domain})
		t := w.Network.RouteTables[nodeSubnet].Value
		routes(append(slices.Clone(t.Routes), to("10.20.0.0/16", "tgw-0a1b2c3d"))...)(w)
	}
}

// ownImage makes the AMI one of which nothing is known.
func ownImage(w *world) { w.image = evidence.Image{Name: "golden-7"} }

func privateOnly(w *world) { w.cluster.PublicAccess = false }

func routes(routes ...evidence.Route) func(*world) {
	return func(w *world) { w.Network.RouteTables[nodeSubnet] = table(nodeTable, routes...) }
}

func to(destination, target string) evidence.Route {
	return evidence.Route{Destination: destination, Target: target}
}

// sampled takes away the way out, and leaves the instance's user data unasked. That of another instance of
// the group, with that version of the launch template, sets a proxy.
func sampled(version string) func(*world) {
	return do(publicOnly(), routes(), func(w *world) {
		w.instance(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("sampled") })
		other := w.config
		other.LaunchTemplateVersion = version
		w.Instances["i-0fedcba9876543210"] = evidence.Instance{Config: evidence.Read(other), UserData: evidence.Read(userdata.Boot{Proxy: true})}
	})
}

// ofTemplate adds a version of the launch template, with user data that may set a proxy.
func ofTemplate(version string, proxy bool) func(*world) {
	return func(w *world) {
		boot := w.boot
		if boot.Proxy = false; proxy {
			boot = throughProxy(boot)
		}
		w.Templates = map[string]evidence.Fact[evidence.LaunchTemplate]{
			template + ":" + version: evidence.Read(evidence.LaunchTemplate{ID: template, Version: version, UserData: evidence.Read(boot)}),
		}
	}
}

func nat(change func(*evidence.NATGateway)) func(*world) {
	return func(w *world) {
		n := w.Network.NATGateways[natID].Value
		change(&n)
		w.Network.NATGateways[natID] = evidence.Read(n)
	}
}

// secondNAT routes the subnet of the NAT gateway to another one, whose subnet has that table.
func secondNAT(t evidence.Fact[evidence.RouteTable]) func(*world) {
	return func(w *world) {
		const id, in = "nat-0a1b2c3d4e5f60002", "subnet-0a1b2c3d4e5f60302"
		w.Network.RouteTables[natSubnet] = table(natTable, to("0.0.0.0/0", id))
		w.Network.RouteTables[in] = t
		w.Network.NATGateways[id] = evidence.Read(evidence.NATGateway{ID: id, VPC: vpcID, Subnet: in, State: "available", PublicIPs: []string{"198.51.100.12"}})
	}
}

func egress(rules ...evidence.Permission) func(*world) {
	return func(w *world) {
		w.Network.SecurityGroups[nodeGroup] = evidence.Read(evidence.SecurityGroup{Egress: rules})
	}
}

func ingress(rules ...evidence.Permission) func(*world) {
	return func(w *world) {
		w.Network.SecurityGroups[apiGroup] = evidence.Read(evidence.SecurityGroup{Ingress: rules})
	}
}

func acl(subnet string, rules ...evidence.ACLRule) func(*world) {
	return func(w *world) { w.Network.ACLs[subnet] = evidence.Read(evidence.ACL{ID: nodeACL, Rules: rules}) }
}

// endpoints adds identical interface endpoints of services.
func endpoints(change func(*evidence.VPCEndpoint), services ...string) func(*world) {
	return func(w *world) {
		var list []evidence.VPCEndpoint
		for _, s := range services {
			e := evidence.VPCEndpoint{
				ID: "vpce-0a1b2c3d4e5f6-" + s, Service: "com.amazonaws.eu-west-1." + s, Type: "Interface", State: "available", PrivateDNS: true,
				Subnets: []string{apiSubnet1}, SecurityGroups: []string{apiGroup},
			}
			if s == "s3" {
				e.Type, e.PrivateDNS, e.Subnets, e.SecurityGroups, e.RouteTables = "Gateway", false, nil, nil, []string{nodeTable}
			}
			if change != nil {
				change(&e)
			}
			list = append(list, e)
		}
		w.vpc.Endpoints = evidence.Read(list)
	}
}

// kind makes it a finding about a node whose lease was renewed this long ago.
func kind(k roll.Kind, renewed time.Duration) func(*world) {
	return func(w *world) {
		w.Finding.Kind, w.Finding.Node = k, nodeName
		w.node.Lease = evidence.Read(evidence.Lease{Renewed: now.Add(-renewed), Duration: 40 * time.Second})
		w.node.Object = evidence.Read(evidence.NodeObject{Name: nodeName})
		w.node.Pods = evidence.Read([]evidence.Pod{})
		w.node.Events = evidence.Read([]evidence.Event{})
	}
}

// waitsForCNI makes it a node without a network plugin, with these pods.
func waitsForCNI(k roll.Kind, pods ...evidence.Pod) func(*world) {
	return func(w *world) {
		kind(k, 5*time.Second)(w)
		w.node.Object = evidence.Read(evidence.NodeObject{Name: nodeName, Conditions: []evidence.Condition{{
			Type: "Ready", Status: "False", Reason: "KubeletNotReady",
			Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
		}}})
		w.node.Pods = evidence.Read(pods)
	}
}

func daemon(name, waiting, message string) evidence.Pod {
	return evidence.Pod{Namespace: "kube-system", Name: name + "-x2x4l", Owner: "DaemonSet/" + name, Waiting: waiting, Message: message}
}

// six makes it an IPv6 cluster with a node that has an address of each family.
func six(endpoint string) func(*world) {
	return func(w *world) {
		w.cluster.IPFamily, w.cluster.Endpoint, w.config.IPv6 = "ipv6", "https://"+endpoint, true
	}
}

func consoleShows(sign console.Sign, detail string) func(*world) {
	return func(w *world) {
		w.instance(func(i *evidence.Instance) {
			i.Console = evidence.Read(console.Log{Lines: 9, Found: []console.Found{{Sign: sign, Line: 7, Excerpt: "dial tcp: i/o timeout", Detail: detail}}})
		})
	}
}

// clone copies the evidence so deeply that hiding a fact in the copy leaves the original
// unchanged.
func clone(c *evidence.Case) *evidence.Case {
	e := *c.Evidence
	e.Instances, e.Nodes, e.Groups, e.Images = maps.Clone(e.Instances), maps.Clone(e.Nodes), maps.Clone(e.Groups), maps.Clone(e.Images)
	e.Network.Subnets, e.Network.RouteTables, e.Network.ACLs = maps.Clone(e.Network.Subnets), maps.Clone(e.Network.RouteTables), maps.Clone(e.Network.ACLs)
	e.Network.SecurityGroups, e.Network.NATGateways, e.Network.VPCs = maps.Clone(e.Network.SecurityGroups), maps.Clone(e.Network.NATGateways), maps.Clone(e.Network.VPCs)
	return &evidence.Case{Evidence: &e, Finding: c.Finding}
}
