package bootstrap

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// way says whether there is a way to the EKS API.
type way int

const (
	unread way = iota
	none
	perhaps
	open
)

// privateArgs checks for a bootstrap.sh, or EKS's script for Windows, that must call the EKS API
// and cannot reach it. Unless it gets both the endpoint and the certificate authority, it calls
// eks:DescribeCluster. The source of the script for Windows is not published, so there it is
// suggestive.
// https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
// https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
func (b *start) privateArgs() cause.Verdict {
	j, asks, computed := b.asksEKS()
	config := b.Cluster.Config
	switch {
	case b.os.family == "":
		return cause.NotChecked(b.os.gap)
	case b.os.family != al2 && b.os.family != ubuntu && b.os.family != windows:
		return cause.Verdict{}
	case !asks && computed:
		return cause.NotChecked(computedArgs)
	case !asks:
		return cause.RuledOut
	case !config.Known():
		return cause.NotChecked(config.Gap())
	case !config.Value.PrivateAccess && !config.Value.PublicAccess:
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks resourcesVpcConfig")
	case !config.Value.PrivateAccess:
		return cause.RuledOut // nodes need a way out to a public endpoint anyway
	}
	how, why := b.wayToEKS()
	f, timedOut := b.Unanswered("eks")
	switch {
	case how == unread && !timedOut:
		return cause.NotChecked(why)
	case how == open && !timedOut:
		return cause.RuledOut
	}
	v := b.cannotAskEKS(j, why)
	if timedOut {
		v.Shows(cause.Line(f, "an answer of the EKS API"))
	}
	return b.given((how == none && j.Tool == userdata.BootstrapScript || timedOut) && !j.Conditional, v)
}

const computedArgs = "the user data computes arguments of the script that joins on the instance"

// arguments are, by script, those with which it needs no EKS API: the endpoint and the certificate
// authority.
var arguments = map[userdata.Tool][]string{
	userdata.BootstrapScript: {"--apiserver-endpoint", "--b64-cluster-ca"},
	userdata.WindowsScript:   {"-APIServerEndpoint", "-Base64ClusterCA"},
}

// asksEKS returns a call of one of the scripts in which the endpoint or the CA is missing, none if
// another call has both. computed reports whether one of the two is known only on the instance.
func (b *start) asksEKS() (found userdata.Join, ok, computed bool) {
	for _, j := range b.joins() {
		if arguments[j.Tool] == nil {
			continue
		}
		if j.Endpoint.State != userdata.Absent && j.CA.State != userdata.Absent {
			return userdata.Join{}, false, j.Endpoint.State == userdata.Dynamic || j.CA.State == userdata.Dynamic
		}
		if !ok {
			found, ok = j, true
		}
	}
	return found, ok, false
}

// wayToEKS checks for a way from the subnet to the EKS API, and returns what it found or what
// was not read. What lies behind a transit gateway or a proxy is unknown.
func (b *start) wayToEKS() (how way, why string) {
	endpoints, table := b.VPC().Endpoints, b.RouteTable()
	for _, e := range endpoints.Value {
		if !strings.HasSuffix(e.Service, ".eks") {
			continue
		}
		if e.State == "available" && e.PrivateDNS {
			return open, "the VPC has the endpoint " + e.ID + " of the EKS API"
		}
		return perhaps, fmt.Sprintf("the endpoint %s of the EKS API is %s", e.ID, e.State)
	}
	if how, why = b.routes(table.Value); how != none {
		return how, why
	}
	switch {
	case b.data.Value.Proxy:
		return perhaps, "the user data sets a proxy"
	case !endpoints.Settled():
		return unread, endpoints.Gap()
	case !table.Settled():
		return unread, table.Gap()
	case b.Hidden() != "" && b.Subnet().Known():
		return perhaps, b.Hidden()
	case b.Hidden() != "":
		return unread, b.Hidden()
	}
	return none, "the VPC has no endpoint of the EKS API, and no route leads out of the subnet"
}

// inside reports whether a route leads nowhere outside of the VPC, or only to S3 or DynamoDB, as one
// to a gateway endpoint does.
func inside(r evidence.Route) bool {
	return r.Blackhole || r.Target == "local" || r.Kind() == "vpce" && strings.HasPrefix(r.Destination, "pl-")
}

// routes checks for a route out of the VPC. An internet gateway serves public addresses only.
func (b *start) routes(t evidence.RouteTable) (how way, why string) {
	how = none
	i := b.Config().Value
	for _, r := range t.Routes {
		kind := r.Kind()
		nat := b.Network.NATGateways[r.Target].Value
		works := kind == "igw" && i.PublicIP != "" || kind == "nat" && nat.State == "available" && !nat.Private && b.natOut(nat) == open
		switch {
		case kind == "nat" && nat.ID != "" && b.natOut(nat) == none:
		case inside(r), kind == "igw" && i.PublicIP == "" && !i.IPv6:
		case works && r.Destination == "0.0.0.0/0":
			return open, fmt.Sprintf("route table %s has a default route to %s", t.ID, r.Target)
		default:
			how, why = perhaps, fmt.Sprintf("route table %s leads to %s", t.ID, r.Target)
		}
	}
	return how, why
}

// natOut checks for a way out of the subnet of a NAT gateway, which its own route table decides. A
// table that was not requested counts as one with a way out.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
func (b *start) natOut(n evidence.NATGateway) way {
	t := b.Network.RouteTables[n.Subnet]
	switch {
	case t.State == evidence.NotAsked:
		return open
	case !t.Known():
		return unread
	}
	how := none
	for _, r := range t.Value.Routes {
		switch {
		case inside(r), strings.Contains(r.Destination, ":"):
		case r.Kind() == "igw" && r.Destination == "0.0.0.0/0":
			return open
		default:
			how = perhaps
		}
	}
	return how
}

func (b *start) cannotAskEKS(j userdata.Join, why string) cause.Verdict {
	needs := arguments[j.Tool]
	lacking := needs
	if j.Endpoint.State != userdata.Absent {
		lacking = needs[1:]
	} else if j.CA.State != userdata.Absent {
		lacking = needs[:1]
	}
	name := b.ClusterID.Name
	return b.inData().
		Says("%s has a private endpoint, and %s on %s is called without %s, so it has to ask the EKS API: %s", name, j.Tool, b.Finding.Instance, strings.Join(lacking, " and "), why).
		Saw(b.source, at(j.Part, string(j.Tool)), "no "+strings.Join(lacking, ", no "), strings.Join(needs, " and ")).
		Saw("EKS cluster", "resourcesVpcConfig", fmt.Sprintf("endpointPrivateAccess true, endpointPublicAccess %v", b.Cluster.Config.Value.PublicAccess), string(j.Tool)+" needs no EKS API").
		Saw("subnet "+b.Config().Value.Subnet, "way to the EKS API", why, fmt.Sprintf("an endpoint com.amazonaws.%s.eks, or a route out", b.Region)).
		Fix(b.describe(), b.change(fmt.Sprintf("call %s for %s with %s ENDPOINT %s CA, with the values that the first command shows", j.Tool, paste.Word(name), needs[0], needs[1])))
}
