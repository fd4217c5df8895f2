// Package network looks for what keeps an instance from reaching its cluster's API server and
// the AWS services that a node needs: routes, NAT gateways, the endpoint's CIDR list, security
// groups, network ACLs, DNS, VPC endpoints, free addresses, tags and the metadata service.
//
// It follows packets from the node's subnet to the API server's addresses and back. What lies
// behind a transit gateway, a peering, a firewall or a forwarding machine is not read, so a way
// through one is neither open nor closed. A way is closed only if everything that could open it
// was read.
//
// The cluster's endpoint access says where the API server is. With private access its name
// resolves to the cluster's network interfaces in the VPC; with public access alone, to an
// address outside.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
//
// A closed way explains an instance that never registered, and a silent node whose lease
// expired. A node that reports its status has shown that the way is open. A kubelet keeps its
// connection, so DNS is only a hint at why a node went silent.
//
// The package is pure.
package network

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// pathCodes are about the way to the API server.
var pathCodes = []cause.Code{
	cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi,
	cause.DnsDisabled, cause.DhcpOptionsWrong,
}

// codes maps a kind of finding to the codes that can explain it. A node that registered has
// shown that its VPC is right and that its first steps had what they needed.
var codes = map[roll.Kind][]cause.Code{
	roll.Unregistered:  append([]cause.Code{cause.WrongVpc, cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ClusterTagMissing, cause.ImdsDisabled}, pathCodes...),
	roll.Uninitialized: append([]cause.Code{cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ClusterTagMissing, cause.ImdsHopLimit, cause.ImdsDisabled}, pathCodes...),
	roll.NotReady:      append([]cause.Code{cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.ImdsHopLimit, cause.ImdsDisabled}, pathCodes...),
	roll.Unknown:       append([]cause.Code{cause.ImdsDisabled}, pathCodes...),
}

// rules check one code each. The instance was read.
var rules = map[cause.Code]func(*look) cause.Verdict{
	cause.WrongVpc:                (*look).wrongVPC,
	cause.ApiEndpointUnreachable:  (*look).unreachable,
	cause.PublicAccessCidrBlocked: (*look).publicCIDRs,
	cause.SecurityGroupBlocksApi:  (*look).securityGroups,
	cause.NaclBlocksApi:           (*look).networkACLs,
	cause.DnsDisabled:             (*look).dns,
	cause.DhcpOptionsWrong:        (*look).dhcp,
	cause.VpcEndpointMissing:      (*look).services,
	cause.SubnetIpsExhausted:      (*look).addresses,
	cause.ClusterTagMissing:       (*look).tag,
	cause.ImdsHopLimit:            (*look).hopLimit,
	cause.ImdsDisabled:            (*look).metadata,
}

// look is the state for a finding whose instance was read.
type look struct {
	cause.Look
	i evidence.InstanceConfig
	k evidence.ClusterConfig // the zero value unless it was read; see clusterGap
}

// Analyze notes what it finds about the network of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	asked := codes[c.Finding.Kind]
	if c.Finding.Kind == roll.ConditionFailed && c.Finding.Condition == "NetworkingReady" && c.Subnet().Known() {
		asked = []cause.Code{cause.SubnetIpsExhausted}
	}
	config := c.Config()
	if !config.Known() {
		s.NotChecked(config.Missing("instance "+string(c.Finding.Instance)+" in EC2"), asked...)
		return
	}
	l := &look{Look: cause.Look{Case: c, Sheet: s}, i: config.Value, k: c.Cluster.Config.Value}
	if l.i.VPC == "" || l.i.Subnet == "" || len(l.i.SecurityGroups) == 0 {
		s.NotChecked(evidence.AnswerOf+"ec2:DescribeInstances lacks the VPC, the subnet or the security groups of "+string(c.Finding.Instance), asked...)
		return
	}
	for _, code := range asked {
		s.Note(code, l.against(code, rules[code](l)))
	}
}

// state is what is known about a way.
type state uint8

const (
	unsure state = iota
	open
	closed
)

// clusterGap returns why the cluster's network is unknown, "" if it is known.
func (l *look) clusterGap() string {
	switch {
	case !l.Cluster.Config.Known():
		return l.Cluster.Config.Missing("the EKS cluster")
	case !l.k.PublicAccess && !l.k.PrivateAccess, l.k.VPC == "": // a cluster always has one kind of access
		return evidence.AnswerOf + "eks:DescribeCluster lacks resourcesVpcConfig, or the VPC in it"
	}
	return ""
}

func (l *look) clusterName() string { return cmp.Or(l.ClusterID.Name, l.k.Name) }

// leaseGrace is how much older than its duration a lease must be for the node to count as
// silent. The control plane waits 50 s after the last renewal (node-monitor-grace-period).
const leaseGrace = 40 * time.Second

// speaking reports whether the kubelet reached the API server just now: it reports Ready=False
// itself, since a silent one is set to Unknown, or its lease is fresh.
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
func (l *look) speaking() bool {
	if l.Finding.Kind == roll.NotReady {
		return true
	}
	lease := l.Node().Lease
	return l.Finding.Kind != roll.Unregistered && lease.Known() && lease.Value.Fresh(l.At)
}

// silent reports whether the node's lease expired or never existed.
func (l *look) silent() bool {
	lease := l.Node().Lease
	return lease.State == evidence.Absent || lease.Known() && !lease.Value.Fresh(l.At.Add(-leaseGrace))
}

// explains reports whether a closed way to the API server certainly explains the finding.
func (l *look) explains() bool { return l.Finding.Kind == roll.Unregistered || l.silent() }

// blocks returns a verdict with a cause that closes the way to the API server, decisive if
// sure. It is unsettled if it is unknown whether the node uses a proxy instead, or whether it
// still reports.
func (l *look) blocks(sure bool) cause.Verdict {
	if sure {
		return cause.Decisive()
	}
	c, lease := cause.Suggestive(), l.Node().Lease
	if proxied, why := l.proxied(); proxied == unsure {
		return c.Unsettled(why)
	}
	if l.Finding.Kind == roll.Unknown && !lease.Settled() {
		return c.Unsettled(lease.Missing("lease of node " + l.Finding.Node))
	}
	return c
}

// silence returns the evidence that the node is cut off: its lease, and the failed connection
// on the console.
func (l *look) silence() (seen []roll.Evidence) {
	if lease := l.Node().Lease; l.Finding.Kind != roll.Unregistered && lease.Known() && l.silent() {
		seen = append(seen, roll.Evidence{
			Source: "lease", Field: "spec.renewTime", Observed: lease.Value.Renewed.UTC().Format(time.RFC3339), Expected: "renewed within " + lease.Value.Term().String(),
		})
	}
	if f, ok := l.timedOut(); ok {
		seen = append(seen, cause.Line(f, "a connection to "+l.host()))
	}
	return seen
}

// timedOut returns the console line about a failed connection to the API server itself. A
// connection through a proxy would say so.
func (l *look) timedOut() (console.Found, bool) {
	return roll.Find(l.Instance().Log().Value.Found, func(f console.Found) bool {
		return f.Sign == console.EndpointUnreachable && f.Detail != "" && f.Detail == l.host() && !strings.Contains(f.Excerpt, "proxyconnect")
	})
}

// origin returns what the instance shares its settings with: its group, or else its launch
// template.
func (l *look) origin() string {
	if l.Finding.Group != "" && l.Finding.Group != roll.GroupNone {
		return string(l.Finding.Group)
	}
	return l.LaunchTemplate()
}

// serves reports whether a VPC endpoint is for the service, such as ecr.api, in the region, and for the
// VPC's instances: the name of S3's interface endpoint may be for inbound resolver endpoints alone. The
// names begin with com.amazonaws, in China with cn.com.amazonaws.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/privatelink-interface-endpoints.html
// https://github.com/aws/aws-cdk/pull/25333
func (l *look) serves(e evidence.VPCEndpoint, service string) bool {
	return strings.HasSuffix(e.Service, "."+l.Region+"."+service) && !e.InboundOnly
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func contains(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
