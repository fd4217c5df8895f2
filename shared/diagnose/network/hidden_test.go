package network_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
)

// hider makes a fact unknown: unreadable, or never requested.
type hider func(c *evidence.Case, unreadable bool)

func hide[T any](f *evidence.Fact[T], unreadable bool) {
	*f = evidence.Fact[T]{}
	if unreadable {
		*f = evidence.Failed[T]("no permission")
	}
}

// entry hides a part of one entry of a map.
func entry[K comparable, V any](of func(*evidence.Case) map[K]V, key K, part func(*V, bool)) hider {
	return func(c *evidence.Case, unreadable bool) {
		v := of(c)[key]
		part(&v, unreadable)
		of(c)[key] = v
	}
}

func hideAll[K ~string, T any](c *evidence.Case, of func(*evidence.Case) map[K]evidence.Fact[T]) (out []hider) {
	for _, key := range slices.Sorted(maps.Keys(of(c))) {
		out = append(out, entry(of, key, hide[T]))
	}
	return out
}

func ofInstance(part func(*evidence.Instance, bool)) hider {
	return entry(func(c *evidence.Case) map[roll.InstanceID]evidence.Instance { return c.Instances }, instanceID, part)
}

func ofNode(part func(*evidence.Node, bool)) hider {
	return entry(func(c *evidence.Case) map[string]evidence.Node { return c.Nodes }, nodeName, part)
}

func ofVPC(part func(*evidence.VPC, bool)) hider {
	return entry(func(c *evidence.Case) map[string]evidence.VPC { return c.Network.VPCs }, vpcID, part)
}

func ofGroup(part func(*evidence.Group, bool)) hider {
	return func(c *evidence.Case, unreadable bool) {
		entry(func(c *evidence.Case) map[roll.Group]evidence.Group { return c.Groups }, c.Finding.Group, part)(c, unreadable)
	}
}

// hiders returns those of every fact of a case.
func hiders(c *evidence.Case) []hider {
	return slices.Concat(
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.Subnet] { return c.Network.Subnets }),
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.RouteTable] { return c.Network.RouteTables }),
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.ACL] { return c.Network.ACLs }),
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.SecurityGroup] {
			return c.Network.SecurityGroups
		}),
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.NATGateway] { return c.Network.NATGateways }),
		hideAll(c, func(c *evidence.Case) map[string]evidence.Fact[evidence.Image] { return c.Images }),
		[]hider{
			func(c *evidence.Case, unreadable bool) { hide(&c.Cluster.Config, unreadable) },
			ofInstance(func(i *evidence.Instance, u bool) { hide(&i.Config, u) }),
			ofInstance(func(i *evidence.Instance, u bool) { hide(&i.UserData, u) }),
			ofInstance(func(i *evidence.Instance, u bool) { hide(&i.Console, u) }),
			ofNode(func(n *evidence.Node, u bool) { hide(&n.Object, u) }),
			ofNode(func(n *evidence.Node, u bool) { hide(&n.Lease, u) }),
			ofNode(func(n *evidence.Node, u bool) { hide(&n.Events, u) }),
			ofNode(func(n *evidence.Node, u bool) { hide(&n.Pods, u) }),
			ofVPC(func(v *evidence.VPC, u bool) { hide(&v.DNSSupport, u) }),
			ofVPC(func(v *evidence.VPC, u bool) { hide(&v.DNSHostnames, u) }),
			ofVPC(func(v *evidence.VPC, u bool) { hide(&v.DHCP, u) }),
			ofVPC(func(v *evidence.VPC, u bool) { hide(&v.Endpoints, u) }),
			ofGroup(func(g *evidence.Group, u bool) { hide(&g.Activities, u) }),
			ofGroup(func(g *evidence.Group, u bool) { hide(&g.NodeClaims, u) }),
			ofGroup(func(g *evidence.Group, u bool) { hide(&g.NodeGroup, u) }),
		})
}

// partial checks that hiding any facts of a case shows no decisive cause that was not there
// before. What is unreadable must never clear a code that was found.
func partial(t *testing.T, c *evidence.Case, whole *cause.Sheet) {
	t.Helper()
	decisive, hint := split(whole)
	found := append(slices.Clone(decisive), hint...)
	all := hiders(c)
	random := rand.New(rand.NewPCG(7, 11))
	for n := range len(all) + 40 {
		less := clone(c)
		unreadable := n%2 == 0
		if n < len(all) {
			all[n](less, unreadable) // each alone, and then any
		} else {
			for _, h := range all {
				if random.IntN(4) == 0 {
					h(less, unreadable)
				}
			}
		}
		s := &cause.Sheet{}
		network.Analyze(less, s)
		for _, code := range causetest.Decisive(s) {
			if !slices.Contains(decisive, code) {
				t.Fatalf("%s is decisive with less evidence (hidden %d, unreadable %t)\n%s\nwith all of it:\n%s", code, n, unreadable, tell(s), tell(whole))
			}
		}
		for _, code := range s.Clear() {
			if unreadable && slices.Contains(found, code) {
				t.Fatalf("%s is ruled out with less evidence (hidden %d)\n%s\nwith all of it:\n%s", code, n, tell(s), tell(whole))
			}
		}
	}
}

// defects are changes from which worlds are built at random.
var defects = []func(*world){
	publicOnly(),
	publicOnly("203.0.113.0/24"),
	privateOnly,
	routes(),
	routes(evidence.Route{Destination: "0.0.0.0/0", Target: natID, Blackhole: true}),
	routes(to("0.0.0.0/0", gatewayID), to("::/0", gatewayID)),
	nat(func(n *evidence.NATGateway) { n.State = "failed" }),
	func(w *world) { w.Network.RouteTables[natSubnet] = table(natTable) },
	egress(),
	egress(member(443, apiGroup)),
	egress(tcp(443, 443, "10.0.1.0/24")),
	ingress(),
	ingress(tcp(443, 443, "10.0.0.0/16")),
	func(w *world) { w.cluster.SecurityGroups = []string{nodeGroup} },
	func(w *world) { w.cluster.Subnets = []string{nodeSubnet, apiSubnet1} },
	acl(nodeSubnet),
	acl(nodeSubnet, append(passAll(), aclRule(80, true, false, "6", 443, 443, "10.0.1.0/24"))...),
	acl(nodeSubnet, append(passAll(), aclRule(80, false, false, "6", 40000, 50000, "0.0.0.0/0"))...),
	acl(apiSubnet1),
	acl(apiSubnet2, append(passAll(), aclRule(80, false, false, "6", 443, 443, "10.0.32.0/19"))...),
	acl(natSubnet),
	func(w *world) { w.vpc.DNSSupport = evidence.Read(false) },
	func(w *world) { w.vpc.DNSHostnames = evidence.Read(false) },
	func(w *world) {
		w.vpc.DHCP = evidence.Read(evidence.DHCPOptions{ID: "dopt-0a1b2c3d", NameServer: []string{"8.8.8.8"}, DomainName: "example.com"})
	},
	endpoints(nil, "ec2", "sts", "s3"),
	endpoints(func(e *evidence.VPCEndpoint) { e.PrivateDNS = false }, "ec2", "ecr.api"),
	proxied,
	func(w *world) { w.boot.Joins = nil },
	six("0123456789ABCDEF.eks-cluster.eu-west-1.api.aws"),
	func(w *world) { w.config.VPC = "vpc-0a1b2c3d4e5f60009" },
	func(w *world) { w.config.IMDSDisabled, w.config.HopLimit = true, 1 },
	func(w *world) {
		w.Finding.Owner, w.config.ClusterTags, w.image.Kubernetes = roll.OwnerAutoScalingGroup, nil, "1.25"
	},
	func(w *world) {
		s := w.Network.Subnets[nodeSubnet]
		s.Value.FreeAddresses = 1
		w.Network.Subnets[nodeSubnet] = s
	},
	kind(roll.Unknown, hour),
	waitsForCNI(roll.Uninitialized, daemon("aws-node", "ImagePullBackOff", imagePull)),
	waitsForCNI(roll.NotReady, daemon("ebs-csi-node", "CrashLoopBackOff", "failed to assign an IP address to container")),
}

func TestPartialEvidenceShowsNothingNew(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 17))
	for n := range 250 {
		w := healthy()
		for range 1 + random.IntN(5) {
			defects[random.IntN(len(defects))](w)
		}
		s, c := &cause.Sheet{}, w.finish()
		network.Analyze(c, s)
		causetest.Whole(t, fmt.Sprint("case ", n), s)
		partial(t, c, s)
	}
}

// What is found and cleared does not depend on map order.
func TestTheVerdictsAreAlwaysTheSame(t *testing.T) {
	w := healthy()
	publicOnly("203.0.113.0/24")(w)
	egress()(w)
	w.instance(func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot]("sampled") })
	for _, id := range []roll.InstanceID{"i-0fedcba9876543210", "i-0fedcba9876543211", "i-0fedcba9876543212"} {
		boot := w.boot
		boot.Proxy = id == "i-0fedcba9876543211"
		w.Instances[id] = evidence.Instance{Config: evidence.Read(w.config), UserData: evidence.Read(boot)}
	}
	c := w.finish()
	var before string
	for range 20 {
		s := &cause.Sheet{}
		network.Analyze(c, s)
		if now := tell(s); before != "" && now != before {
			t.Fatalf("%s\nand then\n%s", before, now)
		} else {
			before = now
		}
	}
}
