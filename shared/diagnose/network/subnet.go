package network

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// fewAddresses: a subnet with fewer is full for a CNI, which takes addresses in advance.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
const fewAddresses = 5

// addresses looks at what is left in the instance's subnet (SubnetIpsExhausted). The
// instance has its own address, so a full subnet keeps it from nothing by itself: it is
// decisive only of a node for whose pods the CNI certainly found none. That others of
// its group were not launched for lack of addresses is shown, and proves it of a node
// that waits for its CNI; it says nothing of an instance that does not register.
func (l *look) addresses() {
	const code = cause.SubnetIpsExhausted
	f := l.Subnet()
	if !f.Known() {
		l.s.NotChecked(f.Missing("subnet "+l.i.Subnet), code)
		return
	}
	n := f.Value.FreeAddresses
	prefix, scattered := l.podSays(noPrefix)
	if n >= fewAddresses && !scattered {
		if why := l.Untold(); why != "" && l.noCNI() {
			l.s.NotChecked(why, code)
		} else {
			l.s.RuledOut(code)
		}
		return
	}
	c := roll.Cause{
		Code: code, Confidence: roll.Suggestive, Subject: "subnet/" + l.i.Subnet,
		Summary:  fmt.Sprintf("the subnet %s (%s) has %d free addresses, too few for the CNI to give some to pods", l.i.Subnet, f.Value.CIDR, n),
		Evidence: []roll.Evidence{{Source: "subnet " + l.i.Subnet, Field: "AvailableIpAddressCount", Observed: fmt.Sprint(n), Expected: fmt.Sprintf("%d or more", fewAddresses)}},
		Fix: paste.Lines(
			"# where there is room:",
			l.aws("ec2", "describe-subnets", "--filters", "Name=vpc-id,Values="+l.i.VPC, "--query", "Subnets[].[SubnetId,AvailabilityZone,CidrBlock,AvailableIpAddressCount]", "--output", "table"),
			"# let the Amazon VPC CNI keep fewer addresses in advance:",
			command("kubectl", "-n", "kube-system", "set", "env", "daemonset/aws-node", "WARM_IP_TARGET=1", "MINIMUM_IP_TARGET=2")),
	}
	if scattered && n >= fewAddresses {
		c.Confidence, c.Summary = roll.Decisive, fmt.Sprintf("the subnet %s (%s) has %d free addresses and no contiguous /28 among them, and the CNI gives out prefixes of that size", l.i.Subnet, f.Value.CIDR, n)
		c.Evidence[0].Expected = "a contiguous block of 16"
		c.Evidence = append(c.Evidence, prefix)
		c.Fix = paste.Lines(
			"# reserve blocks for prefixes in a subnet, here or in one of its own for nodes, so that single addresses do not scatter them:",
			l.aws("ec2", "create-subnet-cidr-reservation", "--subnet-id", l.i.Subnet, "--reservation-type", "prefix", "--cidr", "CIDR"),
			"# or go without prefixes:",
			command("kubectl", "-n", "kube-system", "set", "env", "daemonset/aws-node", "ENABLE_PREFIX_DELEGATION=false"))
		l.s.Found(c)
		return
	}
	if e, ok := l.cniError(); ok {
		c.Confidence, c.Evidence = roll.Decisive, append(c.Evidence, e)
	}
	if e, ok := l.launchError(); ok {
		c.Evidence = append(c.Evidence, e)
		if l.noCNI() {
			c.Confidence = roll.Decisive
		}
	}
	l.s.Found(c)
}

// noAddress are the words of the Amazon VPC CNI and of the EKS node monitoring agent for
// a pod that gets no address.
// https://docs.aws.amazon.com/eks/latest/best-practices/ip-opt.html
// https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
var noAddress = []string{"failed to assign an IP address to container", "InsufficientFreeAddressesInSubnet", "IPAMDNoIPs"}

// noPrefix is EC2's word, as the Amazon VPC CNI repeats it, for a subnet without a contiguous
// block, whatever single addresses it has.
// https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
var noPrefix = []string{"InsufficientCidrBlocks"}

// cniError is a pod of the node, or an event about it or the node, that says so.
func (l *look) cniError() (roll.Evidence, bool) { return l.podSays(noAddress) }

// podSays is a pod of the node, or an event about it or the node, that has one of the words.
func (l *look) podSays(words []string) (roll.Evidence, bool) {
	if l.Finding.Kind == roll.Unregistered {
		return roll.Evidence{}, false
	}
	n := l.Node()
	for _, e := range n.Events.Value {
		if says(e.Message, words) {
			return eventEvidence("events", e), true
		}
	}
	for _, p := range n.Pods.Value {
		source := "pod " + p.Namespace + "/" + p.Name
		if says(p.Message, words) {
			return roll.Evidence{Source: source, Field: "state.waiting", Observed: p.Message, Expected: "an address"}, true
		}
		for _, e := range p.Events {
			if says(e.Message, words) {
				return eventEvidence(source, e), true
			}
		}
	}
	return roll.Evidence{}, false
}

func eventEvidence(source string, e evidence.Event) roll.Evidence {
	return roll.Evidence{Source: source, Field: "event " + e.Reason, Observed: e.Message, Expected: "an address for the pod"}
}

func says(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// launchError is a launch of the group that failed for want of addresses in this subnet.
// Auto Scaling names the subnet in EC2's words.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
func (l *look) launchError() (roll.Evidence, bool) {
	words := []string{"InsufficientFreeAddressesInSubnet", "not enough free addresses in subnet"}
	for _, a := range l.Group().Activities.Value {
		if text := a.Message + " " + a.Description; a.Status == "Failed" && says(text, words) && strings.Contains(text, l.i.Subnet) {
			return roll.Evidence{Source: "scaling activities", Field: "StatusMessage", Observed: orElse(a.Message, a.Description), Expected: "a launch"}, true
		}
	}
	for _, claim := range l.Group().NodeClaims.Value {
		if c, ok := claim.Condition("Launched"); ok && c.Status != "True" && says(c.Reason+" "+c.Message, words) && strings.Contains(c.Message, l.i.Subnet) {
			return roll.Evidence{Source: "NodeClaim " + claim.Name, Field: "conditions.Launched", Observed: c.Message, Expected: "True"}, true
		}
	}
	return roll.Evidence{}, false
}
