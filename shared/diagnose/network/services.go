package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// The services that a node needs. To register it calls EC2 for its name; to become ready it
// pulls images from ECR, whose layers are in S3. Pods with roles call STS or, with EKS Pod Identity, an agent in
// the node's network that calls the EKS Auth API.
//
//   - https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
//   - https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html
var (
	toRegister = []string{"ec2"}
	toBeReady  = []string{"ecr.api", "ecr.dkr", "s3"}
)

const (
	sts     = "sts"
	eksAuth = "eks-auth"
)

// needed returns the services without which the finding's instance stays as it is.
func (l *look) needed() []string {
	if l.Finding.Kind == roll.Unregistered {
		return toRegister
	}
	return toBeReady
}

// services checks for the VPC endpoints that an instance needs without a way to the internet
// (VpcEndpointMissing). An endpoint counts if it is available, has the service's own name, and
// its security groups admit the instance. One that takes the traffic and refuses it does so whatever
// the way to the API server is.
func (l *look) services() cause.Verdict {
	if gap := l.clusterGap(); gap != "" {
		return cause.NotChecked(gap)
	}
	a := l.api()
	if a.place == nowhere {
		return cause.NotChecked(a.gap)
	}
	endpoints := l.VPC().Endpoints
	refused, unclear := l.refusing(endpoints.Value)
	if refused != nil {
		return *refused
	}
	why := l.internet()
	if a.place == public && l.speaking() {
		why = way{state: open} // it reaches an API server that is on the internet
	}
	if why.state != closed {
		if v, ok := l.trapped(endpoints.Value, why.state == open || l.hostedZones()); ok {
			return v
		}
	}
	proxied, said := l.proxied()
	past := l.pastProxy()
	switch {
	case why.state == open:
		return l.reached(endpoints, unclear)
	case a.place == public && !past:
		return cause.Verdict{} // ApiEndpointUnreachable reports what cuts it off
	case why.state == unsure:
		return cause.NotChecked(why.gap)
	case proxied == open && !past && !l.failedPull(toBeReady).direct:
		return cause.NotChecked(said)
	case !endpoints.Settled():
		return cause.Missing(endpoints, "the endpoints of "+l.i.VPC)
	}
	return l.lacking(why, endpoints.Value, unclear)
}

// trapped checks for an interface endpoint that answers to a needed service's name in the whole VPC
// and whose security groups refuse the instance: the way out then leads to no other address of the
// service. It is proven where the console or a pull shows that the service does not answer, and sure
// says that it would answer at another address, or that the name has no other one.
// https://docs.aws.amazon.com/vpc/latest/privatelink/interface-endpoints.html#enable-private-dns-names
func (l *look) trapped(endpoints []evidence.VPCEndpoint, sure bool) (v cause.Verdict, ok bool) {
	for _, service := range l.needed() {
		for _, e := range endpoints {
			if !l.serves(e, service) || strings.EqualFold(e.Type, "Gateway") || !l.takes(e) {
				continue
			}
			k := l.admits(e, service)
			switch k.state {
			case open:
				continue
			case unsure:
				return cause.NotChecked(k.gap), true
			}
			f, silent := l.Unanswered(service)
			pull := l.failedPull([]string{service})
			v = cause.DecisiveIf(sure && (silent || pull.shown && pull.direct)).In(k.subject).
				Says("the instance cannot reach %s: %s; the endpoint's private DNS name receives all traffic to %s, so other ways out do not help", service, k.why, service).
				Shows(k.evidence...).Saw("VPC endpoint "+e.ID, "PrivateDnsEnabled", "true", "a group that admits the instance").Fix(k.fix)
			if silent {
				v.Shows(cause.Line(f, "an answer of "+service))
			}
			if pull.shown {
				v.Shows(pull.evidence)
			}
			return v, true
		}
	}
	return cause.Verdict{}, false
}

// reached returns the verdict that every service is reachable, as far as the endpoints'
// policies were read.
func (l *look) reached(endpoints evidence.Fact[[]evidence.VPCEndpoint], unclear string) cause.Verdict {
	switch {
	case !endpoints.Settled():
		return cause.Missing(endpoints, "the endpoints of "+l.i.VPC)
	case unclear != "":
		return cause.NotChecked(unclear)
	}
	return cause.RuledOut
}

// lacking checks each service that is needed, then the EKS Auth API if a pod crashes that needs it, and then
// STS.
func (l *look) lacking(why way, endpoints []evidence.VPCEndpoint, unclear string) cause.Verdict {
	var lacks []lack
	gap := ""
	for _, service := range append(slices.Clone(l.needed()), eksAuth, sts) {
		w, hint := l.reach(endpoints, service)
		_, crashes := l.roleless(service)
		forRoles := service == eksAuth || service == sts
		switch {
		case service == eksAuth && !crashes:
			if w.state != open {
				gap = cmp.Or(gap, l.unseenPods())
			}
		case w.state == closed && (!forRoles || len(lacks) == 0):
			lacks = append(lacks, lack{w, service, hint})
		case w.state == unsure && service != sts:
			gap = cmp.Or(gap, w.gap)
		case service == "ec2" && l.callsFIPS():
			gap = "the instance calls EC2 at ec2-fips." + l.Region + ".amazonaws.com, and which VPC endpoint answers to that name is not read"
		}
	}
	switch {
	case len(lacks) > 0 && (lacks[0].service != sts || gap == ""):
		return l.outOfReach(why, lacks)
	case gap != "":
		return cause.NotChecked(gap)
	}
	return l.reached(evidence.Read(endpoints), unclear)
}

// callsFIPS reports whether what joins the instance calls EC2 at another name than that of its endpoint in the
// VPC. In GovCloud EC2 has one name.
//
//   - https://github.com/bottlerocket-os/bottlerocket/issues/4382
//   - https://github.com/aws/aws-sdk-go-v2/blob/main/service/ec2/endpoints.go
func (l *look) callsFIPS() bool {
	return l.CallsFIPS() && l.needsEC2() == open && !strings.HasPrefix(l.Region, "us-gov-")
}

// internet returns the way to the internet: closed if routes, security groups or network ACLs
// certainly close it. Groups and ACLs that stop the API server's HTTPS too are a separate
// defect, which no endpoint fixes. AWS services may be reached by IPv6 if so configured, so an
// instance with an IPv6 way out is not certainly cut off, unless it certainly calls by IPv4.
func (l *look) internet() way {
	w := l.out(false)
	if w.state != closed {
		for _, c := range []way{l.internetGroups(), l.internetACL()} {
			if c.state == closed || c.state == unsure && w.state == open {
				w = c
			}
			if c.state == closed {
				break
			}
		}
	}
	if w.state == closed && l.i.IPv6 && l.out(true).state != closed {
		if !l.callsByIPv4() {
			return way{gap: "there may be a way out by IPv6, and it is not known which services the instance reaches by it"}
		}
		w.why += "; IPv6 does not help, since what joins it calls the endpoint of EC2 that has IPv4 alone"
	}
	return w
}

// callsByIPv4 reports whether what joins the instance certainly calls EC2, by the endpoint that has
// IPv4 alone. bootstrap.sh and nodeadm call the one that AWS's tools take by default. Nothing may
// set another one: the user data was followed, and the AMI is EKS's own.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-endpoints.html
// https://github.com/awslabs/amazon-eks-ami/issues/1506
func (l *look) callsByIPv4() bool {
	boot := l.boot()
	return l.Finding.Kind == roll.Unregistered && l.needsEC2() == open && boot.Value.Joins[0].Tool != userdata.BottlerocketSettings &&
		!boot.Value.DualStack && !boot.Value.Opaque && !boot.Value.Unread() && l.Image().Value.EKS
}

func (l *look) internetGroups() way {
	r := l.through(l.i.SecurityGroups, true, internetPeer("the internet", false))
	return outBeside(r, l.groupsOut(private), "its security groups let no HTTPS out of the VPC")
}

func (l *look) internetACL() way {
	return outBeside(l.aclOut(false), l.aclNear(private), "its network ACL "+l.ACL().Value.ID+" lets no HTTPS out of the VPC and back")
}

// aclOut returns what the ACL of the instance's subnet allows of HTTPS to public addresses.
func (l *look) aclOut(v6 bool) way {
	f := l.ACL()
	if !f.Known() {
		return way{gap: f.Missing("the network ACL of " + l.i.Subnet)}
	}
	return both(
		decide(f.Value, flow{egress: true, ports: httpsPort, to: internet(v6), what: "the internet"}),
		decide(f.Value, flow{ports: l.ephemeral(), to: internet(v6), what: "the internet"}))
}

// outBeside returns what rules say about the way to the internet, compared with that to the API
// server.
func outBeside(w, api way, why string) way {
	if w.state == closed {
		w.why = why
		if api.state != open {
			return way{gap: why + ", and perhaps none to the API server either"}
		}
	}
	return w
}

// lack is what is known about the way to a service through a VPC endpoint.
type lack struct {
	way     // its subject is "" for the VPC
	service string
	// hint: something that was not read may compensate, unless the service is seen not to answer.
	hint bool
}

// reach returns the best way that the endpoints of a service offer, and what lack calls a hint.
func (l *look) reach(endpoints []evidence.VPCEndpoint, service string) (best way, hint bool) {
	best, hint = l.noEndpoint(service)
	for _, e := range endpoints {
		if !l.serves(e, service) {
			continue
		}
		w, mayHint := l.by(e, service)
		if w.state == open {
			return w, false
		}
		if w.state == unsure || best.state == closed {
			best, hint = w, mayHint
		}
	}
	return best, hint
}

// noEndpoint returns what is known where the VPC has no endpoint of a service. One of another VPC may
// serve it, by a route that leads there and a hosted zone that resolves the service's name to it, which
// is not read.
// https://docs.aws.amazon.com/whitepapers/latest/building-scalable-secure-multi-vpc-network-infrastructure/centralized-access-to-vpc-private-endpoints.html
func (l *look) noEndpoint(service string) (w way, hint bool) {
	why := "the VPC has no endpoint of " + service
	beyond, hub := roll.Find(l.RouteTable().Value.Routes, toNeighbours)
	hidden := l.Hidden()
	switch {
	case hidden != "":
		why += ", as far as is known: " + hidden
	case hub:
		why += fmt.Sprintf(", and whether %s leads to one of another VPC is not read", beyond.Target)
	}
	return way{
		state: closed, why: why, fix: l.createEndpoint(service),
		evidence: []roll.Evidence{{Source: "VPC " + l.i.VPC, Field: "VPC endpoints", Observed: "none of " + l.serviceName(service), Expected: "one that is available"}},
	}, hub || hidden != ""
}

// toNeighbours reports whether the route may lead to other networks than the VPC and the internet.
func toNeighbours(r evidence.Route) bool {
	p, isPrefix := parsePrefix(r.Destination)
	switch r.Kind() {
	case "local", "igw", "eigw":
		return false
	case "vpce": // a firewall's; those of gateway endpoints are for prefix lists
		return isPrefix && !r.Blackhole
	case "nat": // one to the internet is judged by where it leads
		return isPrefix && !r.Blackhole && p.Addr().IsPrivate()
	}
	return !r.Blackhole
}

// by returns the way through one endpoint.
func (l *look) by(e evidence.VPCEndpoint, service string) (w way, hint bool) {
	source := "VPC endpoint " + e.ID
	switch {
	case !strings.EqualFold(e.State, "available"):
		return way{
			state: closed, why: fmt.Sprintf("the endpoint %s of %s is %s", e.ID, service, e.State),
			evidence: []roll.Evidence{{Source: source, Field: "State", Observed: e.State, Expected: "available"}},
			fix:      paste.Lines("# delete it and make another when it does not become available", l.AWS("ec2", "describe-vpc-endpoints", "--vpc-endpoint-ids", e.ID)),
		}, false
	case strings.EqualFold(e.Type, "Gateway"):
		if w := l.byGateway(e, service); w.state != open {
			return w, false
		}
		return l.outToGateway(e, service), false
	case !e.PrivateDNS:
		// A custom hosted zone may resolve the name to it.
		return way{
			state: closed, why: fmt.Sprintf("the endpoint %s of %s does not answer to the service's name, since its private DNS is off", e.ID, service),
			evidence: []roll.Evidence{{Source: source, Field: "PrivateDnsEnabled", Observed: "false", Expected: "true"}},
			fix:      l.AWS("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--private-dns-enabled"),
		}, true
	}
	return l.admits(e, service), false
}

// byGateway returns the way through a gateway endpoint, which serves the subnets of its route
// tables.
// https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
func (l *look) byGateway(e evidence.VPCEndpoint, service string) way {
	t := l.RouteTable()
	if !t.Known() {
		return way{gap: t.Missing("the subnet's route table")}
	}
	routed := slices.ContainsFunc(t.Value.Routes, func(r evidence.Route) bool { return r.Target == e.ID && !r.Blackhole })
	if routed || slices.Contains(e.RouteTables, t.Value.ID) {
		return way{state: open}
	}
	return way{
		state: closed, why: fmt.Sprintf("the endpoint %s of %s is not in the route table %s of the subnet", e.ID, service, t.Value.ID),
		evidence: []roll.Evidence{{Source: "VPC endpoint " + e.ID, Field: "RouteTableIds", Observed: cmp.Or(strings.Join(e.RouteTables, ", "), "none"), Expected: t.Value.ID}},
		fix:      l.AWS("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--add-route-table-ids", t.Value.ID),
	}
}

// outToGateway returns what the instance's security groups and the network ACL of its subnet allow of
// HTTPS to the service of a gateway endpoint, whose addresses stay public. A security group may name
// the prefix list that is routed to the endpoint.
// https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-s3.html#gateway-endpoint-considerations-s3
func (l *look) outToGateway(e evidence.VPCEndpoint, service string) way {
	var lists []string
	destination := toAnywhere()
	for _, r := range l.RouteTable().Value.Routes {
		if r.Target == e.ID {
			lists = append(lists, r.Destination)
			destination = map[string]any{"PrefixListIds": []map[string]string{{"PrefixListId": r.Destination}}}
		}
	}
	groups := l.byAny(func(v6 bool) way {
		p := internetPeer(service, v6)
		p.lists = lists
		return l.through(l.i.SecurityGroups, true, p)
	})
	if groups.state == closed {
		groups.subject, groups.fix = "security-group/"+first(l.i.SecurityGroups), l.allowOut(destination)
		groups.why = fmt.Sprintf("the security groups of the instance let no HTTPS out to the addresses of %s, to which the endpoint %s leads", service, e.ID)
		return groups
	}
	acl := l.byAny(l.aclOut)
	if acl.state == closed {
		acl.subject, acl.fix = "network-acl/"+acl.deny.acl, l.allowACL(acl.deny)
		acl.why = fmt.Sprintf("the network ACL %s lets no HTTPS out to the addresses of %s and back, to which the endpoint %s leads", acl.deny.acl, service, e.ID)
	}
	return both(groups, acl)
}

// admits evaluates the security groups at both ends of an interface endpoint.
func (l *look) admits(e evidence.VPCEndpoint, service string) way {
	in := l.byAny(func(v6 bool) way { return l.through(e.SecurityGroups, false, l.nodePeer(v6)) })
	out := l.byAny(func(v6 bool) way {
		p := peer{what: "the endpoint " + e.ID, groups: e.SecurityGroups, space: everything6}
		if !v6 {
			p.space, p.known = l.spaceOf(e.Subnets)
		}
		return l.through(l.i.SecurityGroups, true, p)
	})
	switch {
	case in.state == closed:
		in.subject, in.fix = "security-group/"+first(e.SecurityGroups), l.allowIn(e.SecurityGroups)
		in.why = fmt.Sprintf("the security groups of the endpoint %s of %s (%s) let no HTTPS in from the instance", e.ID, service, strings.Join(e.SecurityGroups, ", "))
		in.evidence = in.evidence[:1]
		return in
	case out.state == closed:
		out.subject, out.fix = "security-group/"+first(l.i.SecurityGroups), l.allowOut(toGroup(e.SecurityGroups))
		out.why = fmt.Sprintf("the security groups of the instance let no HTTPS out to the endpoint %s of %s", e.ID, service)
		out.evidence = out.evidence[:1]
		return out
	case in.state == unsure:
		return in
	}
	return out
}

// byAny evaluates IPv4, and IPv6 if the instance has an address: an interface endpoint may have
// both.
func (l *look) byAny(ask func(v6 bool) way) way {
	families := []family{{sure: true}}
	if l.i.IPv6 {
		families = append(families, family{v6: true, why: perhapsIPv6})
	}
	return either(families, ask)
}

// outOfReach returns the cause that services are unreachable. An instance that never registered
// certainly needs EC2 if the tool that joins it calls EC2. A node certainly needs its images if
// a pod that it waits for says so: other images may be on the AMI or in a reachable registry. It
// certainly needs STS, or the EKS Auth API, if such a pod has its role from there, and crashes.
func (l *look) outOfReach(why way, lacks []lack) cause.Verdict {
	var names, fixes, reasons []string
	var rows []roll.Evidence
	crashing, crashes := l.roleless(lacks[0].service)
	subject, sure, unanswered := "", lacks[0].service != sts || crashes, false
	for _, k := range lacks {
		names, reasons, fixes, rows = append(names, k.service), append(reasons, k.why), append(fixes, k.fix), append(rows, k.evidence...)
		f, silent := l.Unanswered(k.service)
		if silent && k.hint {
			rows = append(rows, cause.Line(f, "an answer of "+k.service))
		}
		subject, sure, unanswered = cmp.Or(subject, k.subject), sure && (silent || !k.hint), unanswered || silent
	}
	registered, pull := l.Finding.Kind != roll.Unregistered, l.failedPull(names)
	direct, _ := l.direct()
	past := l.pastProxy()
	switch {
	case past:
		direct, _ = l.doubtImage(closed, "")
	case unanswered:
		direct, _ = l.proxied()
	}
	proven := !registered && direct == closed && l.needsEC2() == open ||
		pull.shown && (direct == closed || pull.direct) ||
		crashes && direct == closed
	fixes = append([]string{forWholeVPC(fixes)}, fixes...)
	c := cause.DecisiveIf(sure && proven).In(cmp.Or(subject, "vpc/"+l.i.VPC)).
		Says("the instance cannot reach %s: there is no way to the internet (%s), and %s", strings.Join(names, ", "), why.why, strings.Join(reasons, "; ")).
		Shows(why.evidence...).Shows(rows...).Fix(fixes...)
	if pull.shown && !crashes && names[0] != sts {
		c.Shows(pull.evidence)
	}
	if crashes {
		asks := map[string]string{sts: "asks STS", eksAuth: "asks the EKS Pod Identity Agent, which asks eks-auth,"}[names[0]]
		c.Saw("pods", crashing.Namespace+"/"+crashing.Name, "waits in "+crashing.Waiting+", and "+asks+" for the role of its service account", "is ready")
	}
	if past {
		c.Also("; nodeadm calls EC2 before cloud-init runs the script that sets a proxy").
			Fix(append(fixes, "# or set the proxy in the NodeConfig, for all services: spec.instance.environment.default")...)
	}
	switch {
	case !l.Subnet().Known():
		c.Unsettled(l.Hidden())
	case registered && sure && !proven:
		c.Unsettled(pull.gap)
	}
	return c
}

// roleless returns a pod that the node waits for, that does not stay up, and that works only with a role
// from the service: STS or the EKS Auth API.
func (l *look) roleless(service string) (evidence.Pod, bool) {
	return roll.Find(l.Node().Pods.Value, func(p evidence.Pod) bool {
		has := service == sts && p.AssumesRole || service == eksAuth && p.PodIdentity
		return has && l.awaited(p) && (p.OfNetworkPlugin() || !l.noCNI()) && p.Waiting == "CrashLoopBackOff"
	})
}

// unseenPods returns why it is unknown which pods the node waits for, "" if it is known.
func (l *look) unseenPods() string {
	switch n := l.Node(); {
	case l.Finding.Kind == roll.Unregistered:
		return ""
	case !n.Object.Settled():
		return n.Object.Missing("node " + l.Finding.Node)
	case !n.Pods.Settled():
		return n.Pods.Missing("list of pods of node " + l.Finding.Node)
	}
	return ""
}

// pull is a failed pull of an ECR image in the region, for a pod that the node waits for.
type pull struct {
	shown bool
	gap   string // why it is unknown whether there is one
	// direct: the registry was dialed directly, not through a proxy, and did not answer.
	direct   bool
	evidence roll.Evidence
}

// failedPull checks for a pull that fails because one of the services is unreachable, as far as
// its message shows.
func (l *look) failedPull(services []string) pull {
	pods := l.Node().Pods
	if !pods.Settled() {
		return pull{gap: pods.Missing("list of pods of node " + l.Finding.Node)}
	}
	untold := pull{}
	for _, p := range pods.Value {
		all := strings.Join(messages(p), "\n")
		// Without the sandbox's own image ("pause") no container of the pod is created at all.
		pulls := p.Waiting == "ImagePullBackOff" || p.Waiting == "ErrImagePull" || !p.Ready && strings.Contains(all, noSandbox)
		if !l.awaited(p) || !pulls {
			continue
		}
		if !strings.Contains(all, ".dkr.ecr."+l.Region+".") || answered(all) {
			continue
		}
		about := lackedBy(all)
		if len(about) == 0 && p.EventsUnread != "" && !containsAll(services, toBeReady) {
			untold.gap = p.EventsUnread
			continue
		}
		if len(about) > 0 && !slices.ContainsFunc(about, func(s string) bool { return slices.Contains(services, s) }) {
			continue
		}
		return pull{
			shown: true, direct: strings.Contains(all, "dial tcp") && !strings.Contains(all, "proxyconnect"),
			evidence: waiting(p, p.Waiting+": "+cmp.Or(p.Message, said(p, ".dkr.ecr."))),
		}
	}
	return untold
}

// messages returns those of a pod and of its events.
func messages(p evidence.Pod) []string {
	said := []string{p.Message}
	for _, e := range p.Events {
		said = append(said, e.Message)
	}
	return said
}

// noSandbox is how the runtime reports that the image of a pod's sandbox is missing.
// https://github.com/containerd/containerd/blob/main/internal/cri/server/podsandbox/sandbox_run.go
const noSandbox = "failed to get sandbox image"

// said returns the first message of a pod or of its events that has the words, "" if none has.
func said(p evidence.Pod, words string) string {
	m, _ := roll.Find(messages(p), func(m string) bool { return strings.Contains(m, words) })
	return m
}

func waiting(p evidence.Pod, observed string) roll.Evidence {
	return roll.Evidence{Source: "pod " + p.Namespace + "/" + p.Name, Field: "state.waiting", Observed: observed, Expected: "the image pulled from ECR"}
}

func containsAll(all, of []string) bool {
	return !slices.ContainsFunc(of, func(s string) bool { return !slices.Contains(all, s) })
}

// noToken is a runtime's message without a token for the registry, which the kubelet gets from
// the service ecr.api.
const noToken = "no basic auth credentials"

// lackedBy returns the services that the messages of a failed pull show as unreachable, none if
// they do not show which. The token comes from ecr.api, the manifest from ecr.dkr, the layers
// from an S3 bucket.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
func lackedBy(words string) (services []string) {
	for line := range strings.Lines(words) {
		line = strings.ToLower(line)
		switch {
		case strings.Contains(line, noToken):
			services = append(services, "ecr.api")
		case !contains(line, "dial tcp", "timeout", "deadline exceeded"):
		case strings.Contains(line, "starport-layer-bucket"):
			services = append(services, "s3")
		default:
			services = append(services, "ecr.dkr")
		}
	}
	return services
}

// awaited reports whether the node does not become ready without the pod: the pod is of a
// DaemonSet, and there is no CNI yet or a startup taint of the pod's agent remains.
func (l *look) awaited(p evidence.Pod) bool {
	return strings.HasPrefix(p.Owner, "DaemonSet/") && l.noCNI() || l.Node().Object.Value.AwaitsAgent(p)
}

// noCNI reports whether the node waits for a network plugin.
func (l *look) noCNI() bool {
	ready, _ := l.Node().Object.Value.Condition("Ready")
	return contains(ready.Message, "NetworkPluginNotReady", "cni config uninitialized")
}

// answered reports whether a pull failed with an answer of the registry that another endpoint
// would not change. A request for the missing token is no such answer.
func answered(words string) bool {
	for line := range strings.Lines(words) {
		line = strings.ToLower(line)
		if !strings.Contains(line, noToken) && contains(line, "not found", "forbidden", "unauthorized", "denied", "manifest unknown", "no match for platform", " 401", " 403", " 404") {
			return true
		}
	}
	return false
}

// forWholeVPC returns the remark that private DNS leads every machine in the VPC to an endpoint, also those that
// reached the service over the internet before; "" if no fix turns it on.
// https://docs.aws.amazon.com/vpc/latest/privatelink/interface-endpoints.html
func forWholeVPC(fixes []string) string {
	if !slices.ContainsFunc(fixes, func(fix string) bool { return strings.Contains(fix, "--private-dns-enabled") }) {
		return ""
	}
	return "# with private DNS, every machine in the VPC reaches the service by its endpoint alone: first let HTTPS from all of them into the security groups of the endpoint"
}

// serviceName returns the name under which an endpoint of the service is created.
// https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html
func (l *look) serviceName(service string) string {
	prefix := "com.amazonaws."
	if strings.HasPrefix(l.Region, "cn-") && service != "s3" {
		prefix = "cn.com.amazonaws."
	}
	return prefix + l.Region + "." + service
}

// createEndpoint returns the commands that create the endpoint: S3's as a gateway in the
// subnet's route table, others as an interface in the subnet. They look up the names that are
// unknown.
func (l *look) createEndpoint(service string) string {
	if service == "s3" {
		return l.AWS("ec2", "create-vpc-endpoint", "--vpc-id", l.i.VPC, "--vpc-endpoint-type", "Gateway", "--service-name", l.serviceName(service), "--route-table-ids", l.RouteTable().Value.ID)
	}
	create := l.AWS("ec2", "create-vpc-endpoint", "--vpc-id", l.i.VPC, "--vpc-endpoint-type", "Interface", "--service-name", l.serviceName(service),
		"--subnet-ids", l.i.Subnet, "--security-group-ids", cmp.Or(l.k.ClusterSecurityGroup, first(l.i.SecurityGroups)), "--private-dns-enabled")
	if !slices.Contains([]string{"aws", "aws-cn", "aws-us-gov"}, roll.Partition(l.Region)) {
		return paste.Lines("# the service may have another name in this partition:",
			l.AWS("ec2", "describe-vpc-endpoint-services", "--query", "ServiceNames[?ends_with(@, '."+l.Region+"."+service+"')]"), create)
	}
	return create
}
