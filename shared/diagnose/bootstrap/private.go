package bootstrap

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// way is whether there is one to the EKS API.
type way int

const (
	unread way = iota
	none
	perhaps
	open
)

// privateArgs asks whether bootstrap.sh has to ask the EKS API for what it was not told,
// and cannot reach it: unless it gets both the endpoint and the certificate authority, it
// calls eks:DescribeCluster.
// https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
func (b *start) privateArgs() {
	j, ok := b.asksEKS()
	switch config := b.Cluster.Config; {
	case b.os.family != al2 && b.os.family != ubuntu:
		if b.os.family == "" {
			b.s.NotChecked(b.os.gap, cause.UserDataPrivateClusterArgs)
		}
		return
	case !ok:
		b.s.RuledOut(cause.UserDataPrivateClusterArgs)
		return
	case !config.Known():
		b.s.NotChecked(config.Gap(), cause.UserDataPrivateClusterArgs)
		return
	case !config.Value.PrivateAccess && !config.Value.PublicAccess:
		b.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks resourcesVpcConfig", cause.UserDataPrivateClusterArgs)
		return
	case !config.Value.PrivateAccess:
		// To a public endpoint nodes need a way out anyhow.
		b.s.RuledOut(cause.UserDataPrivateClusterArgs)
		return
	}
	how, why := b.wayToEKS()
	timedOut, seen := b.timedOut()
	switch {
	case how == unread && !timedOut:
		b.s.NotChecked(why, cause.UserDataPrivateClusterArgs)
	case how == open && !timedOut:
		b.s.RuledOut(cause.UserDataPrivateClusterArgs)
	default:
		b.given((how == none || timedOut) && !j.Conditional, b.privateCause(j, why, seen))
	}
}

// asksEKS is a call of bootstrap.sh that lacks one of the two; none if another call has
// both.
func (b *start) asksEKS() (found userdata.Join, ok bool) {
	for _, j := range b.joins() {
		if j.Tool != userdata.BootstrapScript {
			continue
		}
		if j.Endpoint.State != userdata.Absent && j.CA.State != userdata.Absent {
			return userdata.Join{}, false
		}
		if !ok {
			found, ok = j, true
		}
	}
	return found, ok
}

// wayToEKS looks for a way from the subnet to the EKS API, and says what it found, or what
// was not read. What lies behind a transit gateway or a proxy is not known.
func (b *start) wayToEKS() (how way, why string) {
	endpoints, table := b.VPC().Endpoints, b.RouteTable()
	for _, e := range endpoints.Value {
		if endpoints.Known() && strings.HasSuffix(e.Service, ".eks") {
			if e.State == "available" && e.PrivateDNS {
				return open, "the VPC has the endpoint " + e.ID + " of the EKS API"
			}
			return perhaps, fmt.Sprintf("the endpoint %s of the EKS API is %s", e.ID, e.State)
		}
	}
	if table.Known() {
		if how, why = b.routes(table.Value); how != none {
			return how, why
		}
	}
	switch {
	case b.data.Value.Proxy.Any():
		return perhaps, "the user data sets a proxy"
	case !endpoints.Settled():
		return unread, endpoints.Gap()
	case !table.Settled():
		return unread, table.Gap()
	}
	return none, "the VPC has no endpoint of the EKS API, and no route leads out of the subnet"
}

// routes looks for a route out of the VPC. A gateway endpoint leads to S3 or DynamoDB, and
// an internet gateway serves public addresses only.
func (b *start) routes(t evidence.RouteTable) (how way, why string) {
	how = none
	i := b.Config().Value
	for _, r := range t.Routes {
		prefix, _, _ := strings.Cut(r.Target, "-")
		nat := b.Network.NATGateways[r.Target]
		switch {
		case r.Blackhole, r.Target == "local", prefix == "vpce" && strings.HasPrefix(r.Destination, "pl-"):
		case prefix == "igw" && i.PublicIP == "" && !i.IPv6:
		case prefix == "igw" && i.PublicIP != "", prefix == "nat" && nat.Known() && nat.Value.State == "available" && !nat.Value.Private:
			if r.Destination == "0.0.0.0/0" {
				return open, fmt.Sprintf("route table %s has a default route to %s", t.ID, r.Target)
			}
			how, why = perhaps, fmt.Sprintf("route table %s leads to %s", t.ID, r.Target)
		default:
			how, why = perhaps, fmt.Sprintf("route table %s leads to %s", t.ID, r.Target)
		}
	}
	return how, why
}

// timedOut reports whether the console shows that the EKS API did not answer.
func (b *start) timedOut() (bool, []roll.Evidence) {
	log := b.Instance().Console
	if !log.Known() {
		return false, nil
	}
	for _, f := range log.Value.Found {
		if f.Sign == console.EndpointUnreachable && f.Boot == log.Value.Boots && strings.HasPrefix(f.Detail, "eks."+b.Region+".") {
			return true, consoleEvidence(f, "an answer of the EKS API")
		}
	}
	return false, nil
}

func (b *start) privateCause(j userdata.Join, why string, seen []roll.Evidence) roll.Cause {
	lacking := []string{"--apiserver-endpoint", "--b64-cluster-ca"}
	if j.Endpoint.State != userdata.Absent {
		lacking = lacking[1:]
	} else if j.CA.State != userdata.Absent {
		lacking = lacking[:1]
	}
	without := strings.Join(lacking, " and ")
	return roll.Cause{
		Code:    cause.UserDataPrivateClusterArgs,
		Summary: fmt.Sprintf("%s has a private endpoint, and bootstrap.sh on %s is called without %s, so that it has to ask the EKS API: %s", b.ClusterID.Name, b.Finding.Instance, without, why),
		Evidence: append([]roll.Evidence{
			{Source: b.source, Field: at(j.Part, "bootstrap.sh"), Observed: "no " + strings.Join(lacking, ", no "), Expected: "--apiserver-endpoint and --b64-cluster-ca"},
			{Source: "EKS cluster", Field: "resourcesVpcConfig", Observed: fmt.Sprintf("endpointPrivateAccess true, endpointPublicAccess %v", b.Cluster.Config.Value.PublicAccess), Expected: "bootstrap.sh needs no EKS API"},
			{Source: "subnet " + b.Config().Value.Subnet, Field: "way to the EKS API", Observed: why, Expected: fmt.Sprintf("an endpoint com.amazonaws.%s.eks, or a route out", b.Region)},
		}, seen...),
		Fix: b.describe() + "\n" + b.change(fmt.Sprintf("call /etc/eks/bootstrap.sh %s --apiserver-endpoint ENDPOINT --b64-cluster-ca CA with the values that the first command shows", b.ClusterID.Name)),
	}
}
