package network

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/iam"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// errand is a call that a node must be able to make through a VPC endpoint. Resource "" means
// any: the repository of an image is unknown.
type errand struct{ service, action, resource string }

// errands returns the calls that a node makes: to EC2 for its name in order to register, and to
// ECR for images in order to become ready. AWS keeps the image layers in a bucket of its own.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
func (l *look) errands() []errand {
	if l.Finding.Kind == roll.Unregistered {
		return []errand{{"ec2", "ec2:DescribeInstances", ""}}
	}
	bucket := fmt.Sprintf("arn:%s:s3:::prod-%s-starport-layer-bucket/layer", roll.Partition(l.Region), l.Region)
	return []errand{
		{"ecr.api", "ecr:GetAuthorizationToken", ""}, {"ecr.dkr", "ecr:BatchGetImage", ""}, {"ecr.dkr", "ecr:GetDownloadUrlForLayer", ""}, {"s3", "s3:GetObject", bucket},
	}
}

// refusing checks for an endpoint whose policy denies a call that the node must make. An
// endpoint takes all traffic to its service, whether or not there is a way to the internet.
// unclear names a policy that cannot be evaluated from outside, "" if there is none.
func (l *look) refusing(endpoints []evidence.VPCEndpoint) (refused *cause.Verdict, unclear string) {
	shown := slices.ContainsFunc(endpoints, func(e evidence.VPCEndpoint) bool { return e.Policy != "" })
	for _, want := range l.errands() {
		for _, e := range endpoints {
			if !l.serves(e, want.service) || !l.takes(e) {
				continue
			}
			switch allows(e.Policy, want) {
			case open:
				if e.Policy == "" && shown {
					unclear = evidence.AnswerOf + "ec2:DescribeVpcEndpoints lacks the policy of " + e.ID
				}
			case closed:
				v := l.refusedBy(e, want)
				return &v, ""
			case unsure:
				unclear = "the policy of the endpoint " + e.ID + " of " + want.service + " has conditions, principals or forms that cannot be judged from outside"
			}
		}
	}
	return nil, unclear
}

// takes reports whether the instance's traffic to the endpoint's service goes through the
// endpoint.
func (l *look) takes(e evidence.VPCEndpoint) bool {
	if !strings.EqualFold(e.State, "available") {
		return false
	}
	if strings.EqualFold(e.Type, "Gateway") {
		return l.byGateway(e, "").state == open
	}
	return e.PrivateDNS
}

func (l *look) refusedBy(e evidence.VPCEndpoint, want errand) cause.Verdict {
	allow := "Allow " + want.action
	if want.resource != "" {
		allow += " on " + strings.TrimSuffix(want.resource, "layer") + "*"
	}
	pull, forbidden := l.forbidden(want.service)
	proxied, _ := l.proxied()
	led := strings.EqualFold(e.Type, "Gateway") || l.hostedZones() // other resolvers may lead past an interface
	c := cause.DecisiveIf(proxied == closed && led && (forbidden || l.Finding.Kind == roll.Unregistered && l.needsEC2() == open)).In("vpc-endpoint/"+e.ID).
		Says("the policy of the VPC endpoint %s of %s does not allow the instance to call %s", e.ID, want.service, want.action).
		Saw("VPC endpoint "+e.ID, "PolicyDocument", "no statement allows it", allow).
		Fix(l.AWS("ec2", "describe-vpc-endpoints", "--vpc-endpoint-ids", e.ID, "--query", "VpcEndpoints[].PolicyDocument", "--output", "text"),
			"# add to it: "+allow+"; or allow everything again:",
			l.AWS("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--reset-policy"))
	if forbidden {
		c.Shows(pull)
	}
	return c
}

// forbidden returns a pull that the service refused, for a pod that the node waits for.
func (l *look) forbidden(service string) (roll.Evidence, bool) {
	from := ".dkr.ecr." + l.Region + "."
	if service == "s3" {
		from = "starport-layer-bucket"
	}
	for _, p := range l.Node().Pods.Value {
		if !l.awaited(p) {
			continue
		}
		for _, m := range messages(p) {
			if strings.Contains(m, from) && contains(strings.ToLower(m), "403", "forbidden", "denied", "no basic auth credentials") {
				return waiting(p, m), true
			}
		}
	}
	return roll.Evidence{}, false
}

// grant is a statement of an endpoint policy.
type grant struct {
	Effect                                   string
	Principal, NotPrincipal, Condition       json.RawMessage
	Action, NotAction, Resource, NotResource iam.Texts
}

// allows returns whether a policy certainly allows the call to everybody (open), or certainly
// to nobody (closed). Without a policy everything is allowed.
// https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html
func allows(policy string, want errand) state {
	if policy == "" {
		return open
	}
	all, err := iam.Statements[grant](policy)
	if err != nil {
		return unsure
	}
	allowed, doubt := false, false
	for _, g := range all {
		meant, certain := g.covers(want)
		switch {
		case !meant:
		case strings.EqualFold(g.Effect, "Deny") && certain:
			return closed
		case !certain:
			doubt = true
		default:
			allowed = true
		}
	}
	switch {
	case doubt:
		return unsure
	case allowed:
		return open
	}
	return closed
}

// covers reports whether a statement may be about the call, and whether it certainly is, for
// everybody and always.
func (g grant) covers(want errand) (meant, certain bool) {
	if len(g.NotAction)+len(g.NotResource)+len(g.NotPrincipal) > 0 {
		return true, false
	}
	if !slices.ContainsFunc(g.Action, func(p string) bool { return iam.Matches(strings.ToLower(p), strings.ToLower(want.action)) }) {
		return false, false
	}
	all := slices.Contains(g.Resource, "*")
	if want.resource != "" && !slices.ContainsFunc(g.Resource, func(p string) bool { return iam.Matches(p, want.resource) }) {
		return false, false
	}
	if want.resource == "" && !all && strings.EqualFold(g.Effect, "Deny") {
		return true, false // the resources that it denies are unknown
	}
	return true, iam.Everybody(g.Principal) && len(g.Condition) == 0
}
