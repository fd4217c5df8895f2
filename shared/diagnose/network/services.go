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

// The services that a node needs. To register it asks EC2 for its name; to become ready
// it pulls images from ECR, whose layers are in S3. STS is what pods with roles ask.
// https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
var (
	toRegister = []string{"ec2"}
	toBeReady  = []string{"ecr.api", "ecr.dkr", "s3"}
)

const sts = "sts"

// services looks for the VPC endpoints that an instance needs where it has no way to the
// internet (VpcEndpointMissing). An endpoint counts if it is available, answers to the
// service's own name, and its security groups let the instance in.
func (l *look) services() {
	const code = cause.VpcEndpointMissing
	if !l.clusterRead(code) {
		return
	}
	switch a := l.api(); {
	case a.place == nowhere:
		l.s.NotChecked(a.gap, code)
		return
	case a.place == public && l.speaking():
		l.s.RuledOut(code) // it reaches an API server that is on the internet
		return
	case a.place == public:
		return // what cuts it off is told as ApiEndpointUnreachable
	}
	endpoints := l.VPC().Endpoints
	refused, unclear := l.refusing(endpoints.Value)
	if refused {
		return
	}
	why := l.internet()
	switch why.state {
	case open:
		l.reached(endpoints, unclear)
		return
	case unsure:
		l.s.NotChecked(why.gap, code)
		return
	}
	if proxied, said := l.proxied(); proxied == open && !l.symptom(toBeReady).direct {
		l.s.NotChecked(said, code)
		return
	}
	if !endpoints.Settled() {
		l.s.NotChecked(endpoints.Missing("the endpoints of "+l.i.VPC), code)
		return
	}
	l.lacking(why, endpoints.Value, unclear)
}

// reached notes that no service is out of reach, as far as the policies of the endpoints were read.
func (l *look) reached(endpoints evidence.Fact[[]evidence.VPCEndpoint], unclear string) {
	switch {
	case !endpoints.Settled():
		l.s.NotChecked(endpoints.Missing("the endpoints of "+l.i.VPC), cause.VpcEndpointMissing)
	case unclear != "":
		l.s.NotChecked(unclear, cause.VpcEndpointMissing)
	default:
		l.s.RuledOut(cause.VpcEndpointMissing)
	}
}

// lacking looks for each service that is needed, and then for STS.
func (l *look) lacking(why way, endpoints []evidence.VPCEndpoint, unclear string) {
	const code = cause.VpcEndpointMissing
	needed := toBeReady
	if l.Finding.Kind == roll.Unregistered {
		needed = toRegister
	}
	var lacks []lack
	open := ""
	for _, service := range append(slices.Clone(needed), sts) {
		k := l.reach(endpoints, service)
		switch {
		case k.state == closed && (service != sts || len(lacks) == 0):
			lacks = append(lacks, k)
		case k.state == unsure && service != sts:
			open = orElse(open, k.gap)
		}
	}
	switch {
	case len(lacks) > 0 && (lacks[0].service != sts || open == ""):
		l.lackFound(why, lacks)
	case open != "":
		l.s.NotChecked(open, code)
	default:
		l.reached(evidence.Read(endpoints), unclear)
	}
}

// internet is the way to the internet: closed if routes, security groups or network ACLs
// certainly close it. Groups and ACLs that stop the API server's HTTPS too are a defect
// of their own, which no endpoint cures. The services of AWS are asked by IPv4 unless
// told otherwise, so an instance with an IPv6 way out is not certainly cut off.
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
	if w.state == closed && l.i.IPv6 {
		if six := l.out(true); six.state != closed {
			return way{gap: "there may be a way out by IPv6, and which services the instance asks by it is not known"}
		}
	}
	return w
}

func (l *look) internetGroups() way {
	r := l.through(l.i.SecurityGroups, true, internetPeer("the internet", false))
	w := way{state: r.state, gap: r.gap, evidence: r.evidence}
	if r.state == closed && l.groupsOut(private).state != open {
		return way{gap: "its security groups let no HTTPS out of the VPC, and not certainly any to the API server"}
	}
	if r.state == closed {
		w.why = "its security groups let no HTTPS out of the VPC"
	}
	return w
}

func (l *look) internetACL() way {
	f := l.ACL()
	if !f.Known() {
		return way{gap: f.Missing("the network ACL of " + l.i.Subnet)}
	}
	r := both(
		decide(f.Value, flow{egress: true, ports: httpsPort, to: internet4, what: "the internet"}),
		decide(f.Value, flow{ports: l.ephemeral(), to: internet4, what: "the internet"}))
	w := way{state: r.state, gap: r.gap, evidence: r.evidence}
	if r.state == closed && l.aclNear(private).state != open {
		return way{gap: "its network ACL lets no HTTPS out of the VPC and back, and not certainly any to the API server"}
	}
	if r.state == closed {
		w.why = "its network ACL " + f.Value.ID + " lets no HTTPS out of the VPC and back"
	}
	return w
}

// lack is what is known of the way to a service through a VPC endpoint.
type lack struct {
	service string
	state   state
	gap     string
	why     string
	// hint: something that is not read may make up for it.
	hint     bool
	evidence roll.Evidence
	fix      string
	subject  string // "" for the VPC
}

// reach is the best that the endpoints of a service offer.
func (l *look) reach(endpoints []evidence.VPCEndpoint, service string) lack {
	best := l.noEndpoint(service)
	for _, e := range endpoints {
		if !l.serves(e, service) {
			continue
		}
		k := l.by(e, service)
		k.service = service
		if k.state == open {
			return k
		}
		if k.state == unsure || best.state == closed {
			best = k
		}
	}
	return best
}

func (l *look) noEndpoint(service string) lack {
	return lack{
		service: service, state: closed, why: "the VPC has no endpoint of " + service,
		evidence: roll.Evidence{Source: "VPC " + l.i.VPC, Field: "VPC endpoints", Observed: "none of " + l.serviceName(service), Expected: "one that is available"},
		fix:      l.createEndpoint(service),
	}
}

// by is the way through one endpoint.
func (l *look) by(e evidence.VPCEndpoint, service string) lack {
	source := "VPC endpoint " + e.ID
	switch {
	case !strings.EqualFold(e.State, "available"):
		return lack{
			state: closed, why: fmt.Sprintf("the endpoint %s of %s is %s", e.ID, service, e.State),
			evidence: roll.Evidence{Source: source, Field: "State", Observed: e.State, Expected: "available"},
			fix:      paste.Lines("# when it does not become available, delete it and make another", l.aws("ec2", "describe-vpc-endpoints", "--vpc-endpoint-ids", e.ID)),
		}
	case strings.EqualFold(e.Type, "Gateway"):
		return l.byGateway(e, service)
	case !e.PrivateDNS:
		return lack{
			// A hosted zone of one's own may send the name there.
			state: closed, hint: true, why: fmt.Sprintf("the endpoint %s of %s does not answer to the service's name, since its private DNS is off", e.ID, service),
			evidence: roll.Evidence{Source: source, Field: "PrivateDnsEnabled", Observed: "false", Expected: "true"},
			fix:      l.aws("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--private-dns-enabled"),
		}
	}
	return l.admits(e, service)
}

// byGateway: a gateway endpoint serves the subnets whose route tables it is in.
// https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
func (l *look) byGateway(e evidence.VPCEndpoint, service string) lack {
	t := l.RouteTable()
	if !t.Known() {
		return lack{gap: t.Missing("the subnet's route table")}
	}
	routed := slices.ContainsFunc(t.Value.Routes, func(r evidence.Route) bool { return r.Target == e.ID && !r.Blackhole })
	if routed || slices.Contains(e.RouteTables, t.Value.ID) {
		return lack{state: open}
	}
	return lack{
		state: closed, why: fmt.Sprintf("the endpoint %s of %s is not in the route table %s of the subnet", e.ID, service, t.Value.ID),
		evidence: roll.Evidence{Source: "VPC endpoint " + e.ID, Field: "RouteTableIds", Observed: orElse(strings.Join(e.RouteTables, ", "), "none"), Expected: t.Value.ID},
		fix:      l.aws("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--add-route-table-ids", t.Value.ID),
	}
}

// admits asks the security groups at both ends of an interface endpoint.
func (l *look) admits(e evidence.VPCEndpoint, service string) lack {
	in := l.byAny(func(v6 bool) result { return l.through(e.SecurityGroups, false, l.nodePeer(v6)) })
	if in.state == closed {
		k := lack{
			state: closed, subject: "security-group/" + first(e.SecurityGroups),
			why:      fmt.Sprintf("the security groups of the endpoint %s of %s (%s) let no HTTPS in from the instance", e.ID, service, strings.Join(e.SecurityGroups, ", ")),
			evidence: in.evidence[0],
			fix:      l.aws("ec2", "authorize-security-group-ingress", "--group-id", first(e.SecurityGroups), "--protocol", "tcp", "--port", "443", "--source-group", first(l.i.SecurityGroups)),
		}
		return k
	}
	out := l.byAny(func(v6 bool) result {
		p := peer{what: "the endpoint " + e.ID, groups: e.SecurityGroups, space: everything6}
		if !v6 {
			p.space, p.known = l.spaceOf(e.Subnets)
		}
		return l.through(l.i.SecurityGroups, true, p)
	})
	switch {
	case out.state == closed:
		return lack{
			state: closed, subject: "security-group/" + first(l.i.SecurityGroups),
			why:      fmt.Sprintf("the security groups of the instance let no HTTPS out to the endpoint %s of %s", e.ID, service),
			evidence: out.evidence[0],
			fix:      l.allowOut(map[string]any{"UserIdGroupPairs": []map[string]string{{"GroupId": first(e.SecurityGroups)}}}),
		}
	case in.state == unsure:
		return lack{gap: in.gap}
	case out.state == unsure:
		return lack{gap: out.gap}
	}
	return lack{state: open}
}

// byAny asks by IPv4, and by IPv6 where the instance has an address: an interface
// endpoint may have both.
func (l *look) byAny(ask func(v6 bool) result) result {
	families := []family{{sure: true}}
	if l.i.IPv6 {
		families = append(families, family{v6: true})
	}
	return either(families, ask)
}

// lackFound notes the services that are out of reach.
func (l *look) lackFound(why way, lacks []lack) {
	var names, fixes []string
	var reasons []string
	subject, sure := "", true
	e := slices.Clone(why.evidence)
	for _, k := range lacks {
		names, reasons, fixes = append(names, k.service), append(reasons, k.why), append(fixes, k.fix)
		e = append(e, k.evidence)
		subject, sure = orElse(subject, k.subject), sure && !k.hint
	}
	pull := l.symptom(names)
	if pull.shown && names[0] != sts && l.Finding.Kind != roll.Unregistered {
		e = append(e, pull.evidence)
	}
	confidence, unsettled := l.lackConfidence(names, sure, pull), ""
	if confidence != roll.Decisive && sure && names[0] != sts && l.Finding.Kind != roll.Unregistered {
		unsettled = pull.gap
	}
	l.s.Found(roll.Cause{
		Code: cause.VpcEndpointMissing, Confidence: confidence, Subject: orElse(subject, "vpc/"+l.i.VPC), Unsettled: unsettled,
		Summary:  fmt.Sprintf("the instance cannot reach %s: there is no way to the internet (%s), and %s", strings.Join(names, ", "), why.why, strings.Join(reasons, "; ")),
		Evidence: e, Fix: paste.Lines(fixes...),
	})
}

// lackConfidence: an instance that never registered lacks EC2 for certain if what joins
// it asks EC2. A node lacks its images for certain if a pod that it waits for says so:
// other images may be on the AMI, or in a registry within reach.
func (l *look) lackConfidence(names []string, sure bool, s pull) roll.Confidence {
	proxied, _ := l.proxied()
	none := proxied == closed
	switch {
	case !sure || names[0] == sts:
		return roll.Suggestive
	case l.Finding.Kind == roll.Unregistered && none && l.needsEC2() == open:
		return roll.Decisive
	case l.Finding.Kind != roll.Unregistered && s.shown && (none || s.direct):
		return roll.Decisive
	}
	return roll.Suggestive
}

// pull is an image from ECR in the region that does not come, of a pod that the node
// waits for.
type pull struct {
	shown bool
	// gap is why nobody knows whether there is one, "" if somebody does.
	gap string
	// direct: the registry was dialed itself, not through a proxy, and did not answer.
	direct   bool
	evidence roll.Evidence
}

// symptom is a pull that fails because one of the services is out of reach, as far as its words
// tell.
func (l *look) symptom(services []string) pull {
	pods := l.Node().Pods
	if !pods.Settled() {
		return pull{gap: pods.Missing("list of pods of node " + l.Finding.Node)}
	}
	untold := pull{}
	for _, p := range pods.Value {
		if !l.awaited(p) || p.Waiting != "ImagePullBackOff" && p.Waiting != "ErrImagePull" {
			continue
		}
		said := []string{p.Message}
		for _, e := range p.Events {
			said = append(said, e.Message)
		}
		all := strings.Join(said, "\n")
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
			evidence: roll.Evidence{Source: "pod " + p.Namespace + "/" + p.Name, Field: "state.waiting", Observed: p.Waiting + ": " + p.Message, Expected: "the image pulled from ECR"},
		}
	}
	return untold
}

func containsAll(all, of []string) bool {
	return !slices.ContainsFunc(of, func(s string) bool { return !slices.Contains(all, s) })
}

// noToken is what a runtime says that was given no token of the registry, which the kubelet
// gets from the service ecr.api.
const noToken = "no basic auth credentials"

// lackedBy are the services that the words of a failed pull say are out of reach, none if they do
// not tell which: the token comes from ecr.api, the manifest from ecr.dkr, and the layers come from a
// bucket of S3.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
func lackedBy(words string) (services []string) {
	for line := range strings.Lines(words) {
		line = strings.ToLower(line)
		switch {
		case strings.Contains(line, noToken):
			services = append(services, "ecr.api")
		case !strings.Contains(line, "dial tcp") && !strings.Contains(line, "timeout") && !strings.Contains(line, "deadline exceeded"):
		case strings.Contains(line, "starport-layer-bucket"):
			services = append(services, "s3")
		default:
			services = append(services, "ecr.dkr")
		}
	}
	return services
}

// awaited: the node does not become ready without the pod: it is of a DaemonSet, and
// there is no CNI yet, or a startup taint of the agent that it belongs to remains.
func (l *look) awaited(p evidence.Pod) bool {
	name, ok := strings.CutPrefix(p.Owner, "DaemonSet/")
	if !ok {
		return false
	}
	agent, _, _ := strings.Cut(name, "-")
	return l.noCNI() || slices.ContainsFunc(l.Node().Object.Value.Taints, func(t evidence.Taint) bool {
		return roll.StartupTaint(t.Key, nil) && slices.Contains(owners(t.Key), agent)
	})
}

// owners are the words of a taint's domain that tell whose it is: ebs of
// ebs.csi.aws.com/agent-not-ready.
func owners(key string) []string {
	domain, _, _ := strings.Cut(key, "/")
	return slices.DeleteFunc(strings.Split(domain, "."), func(word string) bool {
		return slices.Contains([]string{"node", "csi", "aws", "com", "io"}, word)
	})
}

// noCNI: the node says that no network plugin has set itself up.
func (l *look) noCNI() bool {
	ready, _ := l.Node().Object.Value.Condition("Ready")
	return strings.Contains(ready.Message, "NetworkPluginNotReady") || strings.Contains(ready.Message, "cni config uninitialized")
}

// answered: a pull failed with an answer of the registry that another endpoint would not
// change. That it asks for a token, which the pull had none of, is no such answer.
func answered(words string) bool {
	for line := range strings.Lines(words) {
		line = strings.ToLower(line)
		if strings.Contains(line, noToken) {
			continue
		}
		for _, word := range []string{"not found", "forbidden", "unauthorized", "denied", "manifest unknown", "no match for platform", " 401", " 403", " 404"} {
			if strings.Contains(line, word) {
				return true
			}
		}
	}
	return false
}

// serviceName is the name under which an endpoint of the service is made.
// https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html
func (l *look) serviceName(service string) string {
	prefix := "com.amazonaws."
	if strings.HasPrefix(l.Region, "cn-") && service != "s3" {
		prefix = "cn.com.amazonaws."
	}
	return prefix + l.Region + "." + service
}

// createEndpoint makes the endpoint: S3's as a gateway in the subnet's route table,
// others as an interface in the subnet. The name is asked for where it is not known.
func (l *look) createEndpoint(service string) string {
	if service == "s3" {
		return l.aws("ec2", "create-vpc-endpoint", "--vpc-id", l.i.VPC, "--vpc-endpoint-type", "Gateway", "--service-name", l.serviceName(service), "--route-table-ids", l.RouteTable().Value.ID)
	}
	create := l.aws("ec2", "create-vpc-endpoint", "--vpc-id", l.i.VPC, "--vpc-endpoint-type", "Interface", "--service-name", l.serviceName(service),
		"--subnet-ids", l.i.Subnet, "--security-group-ids", orElse(l.k.ClusterSecurityGroup, first(l.i.SecurityGroups)), "--private-dns-enabled")
	if strings.HasPrefix(l.Region, "us-iso") || strings.HasPrefix(l.Region, "eu-iso") {
		return paste.Lines("# the service may have another name in this partition:",
			l.aws("ec2", "describe-vpc-endpoint-services", "--query", "ServiceNames[?ends_with(@, '."+l.Region+"."+service+"')]"), create)
	}
	return create
}
