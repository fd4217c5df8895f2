package network

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// errand is something that a node must be let do through a VPC endpoint. Resource "" is any: of
// which repository an image comes is not known.
type errand struct{ service, action, resource string }

// errands are what a node asks the services for: to register, its name of EC2; to become ready,
// images of ECR, whose layers are in a bucket of AWS's.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
func (l *look) errands() []errand {
	if l.Finding.Kind == roll.Unregistered {
		return []errand{{"ec2", "ec2:DescribeInstances", ""}}
	}
	bucket := fmt.Sprintf("arn:%s:s3:::prod-%s-starport-layer-bucket/layer", l.partition(), l.Region)
	return []errand{
		{"ecr.api", "ecr:GetAuthorizationToken", ""}, {"ecr.dkr", "ecr:BatchGetImage", ""}, {"ecr.dkr", "ecr:GetDownloadUrlForLayer", ""}, {"s3", "s3:GetObject", bucket},
	}
}

func (l *look) partition() string {
	if strings.HasPrefix(l.Region, "cn-") {
		return "aws-cn"
	}
	if strings.HasPrefix(l.Region, "us-gov-") {
		return "aws-us-gov"
	}
	return "aws"
}

// refusing looks for an endpoint whose policy refuses the node what it must ask for. It takes what goes
// to its service, whether there is a way to the internet or not. done: that is the cause; else unclear
// names the policy that cannot be judged from outside, "" if none.
func (l *look) refusing(endpoints []evidence.VPCEndpoint) (done bool, unclear string) {
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
				l.refusedBy(e, want)
				return true, ""
			case unsure:
				unclear = "the policy of the endpoint " + e.ID + " of " + want.service + " has conditions, principals or forms that cannot be judged from outside"
			}
		}
	}
	return false, unclear
}

// takes reports that what the instance sends to the endpoint's service goes through it.
func (l *look) takes(e evidence.VPCEndpoint) bool {
	if !strings.EqualFold(e.State, "available") {
		return false
	}
	if strings.EqualFold(e.Type, "Gateway") {
		return l.byGateway(e, "").state == open
	}
	return e.PrivateDNS
}

func (l *look) refusedBy(e evidence.VPCEndpoint, want errand) {
	observed, sure := "no statement allows it", l.Finding.Kind == roll.Unregistered && l.needsEC2() == open
	seen := []roll.Evidence{{Source: "VPC endpoint " + e.ID, Field: "PolicyDocument", Observed: observed, Expected: "Allow " + want.action}}
	if want.resource != "" {
		seen[0].Expected += " on " + strings.TrimSuffix(want.resource, "layer") + "*"
	}
	if pull, ok := l.forbidden(want.service); ok {
		seen, sure = append(seen, pull), true
	}
	confidence := roll.Suggestive
	if proxied, _ := l.proxied(); sure && proxied == closed {
		confidence = roll.Decisive
	}
	l.s.Found(roll.Cause{
		Code: cause.VpcEndpointMissing, Confidence: confidence, Subject: "vpc-endpoint/" + e.ID,
		Summary:  fmt.Sprintf("the policy of the VPC endpoint %s of %s does not let the instance do %s", e.ID, want.service, want.action),
		Evidence: seen,
		Fix: paste.Lines(l.aws("ec2", "describe-vpc-endpoints", "--vpc-endpoint-ids", e.ID, "--query", "VpcEndpoints[].PolicyDocument", "--output", "text"),
			"# add to it: "+seen[0].Expected+"; or allow everything again:", l.aws("ec2", "modify-vpc-endpoint", "--vpc-endpoint-id", e.ID, "--reset-policy")),
	})
}

// forbidden is a pull, of a pod that the node waits for, that the service refused.
func (l *look) forbidden(service string) (roll.Evidence, bool) {
	from := ".dkr.ecr." + l.Region + "."
	if service == "s3" {
		from = "starport-layer-bucket"
	}
	for _, p := range l.Node().Pods.Value {
		if !l.awaited(p) {
			continue
		}
		said := []string{p.Message}
		for _, e := range p.Events {
			said = append(said, e.Message)
		}
		for _, m := range said {
			low := strings.ToLower(m)
			if strings.Contains(m, from) && (strings.Contains(low, "403") || strings.Contains(low, "forbidden") || strings.Contains(low, "denied") || strings.Contains(low, "no basic auth credentials")) {
				return roll.Evidence{Source: "pod " + p.Namespace + "/" + p.Name, Field: "state.waiting", Observed: m, Expected: "the image pulled from ECR"}, true
			}
		}
	}
	return roll.Evidence{}, false
}

// grant is a statement of an endpoint policy.
type grant struct {
	Effect                                   string
	Principal, NotPrincipal, Condition       json.RawMessage
	Action, NotAction, Resource, NotResource words
}

// words is a text or a list of texts.
type words []string

// UnmarshalJSON takes both forms.
func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	var many []string
	err := json.Unmarshal(data, &many)
	*w = many
	return err
}

// allows is whether a policy certainly lets everybody do it (open), or certainly nobody (closed).
// Without a policy all is allowed.
// https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html
func allows(policy string, want errand) state {
	if policy == "" {
		return open
	}
	var doc struct{ Statement json.RawMessage }
	var all []grant
	if json.Unmarshal([]byte(policy), &doc) != nil {
		return unsure
	}
	if json.Unmarshal(doc.Statement, &all) != nil {
		var one grant
		if json.Unmarshal(doc.Statement, &one) != nil {
			return unsure
		}
		all = []grant{one}
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

// covers reports whether a statement may be about the errand, and whether it certainly is, for
// everybody and always.
func (g grant) covers(want errand) (meant, certain bool) {
	if len(g.NotAction)+len(g.NotResource)+len(g.NotPrincipal) > 0 {
		return true, false
	}
	if !slices.ContainsFunc(g.Action, func(p string) bool { return matches(strings.ToLower(p), strings.ToLower(want.action)) }) {
		return false, false
	}
	all := slices.Contains(g.Resource, "*")
	if want.resource != "" && !slices.ContainsFunc(g.Resource, func(p string) bool { return matches(p, want.resource) }) {
		return false, false
	}
	if want.resource == "" && !all && strings.EqualFold(g.Effect, "Deny") {
		return true, false // of which resources it keeps off is not known
	}
	var text string
	var by map[string]words
	everybody := json.Unmarshal(g.Principal, &text) == nil && text == "*" || json.Unmarshal(g.Principal, &by) == nil && slices.Contains(by["AWS"], "*")
	return true, everybody && len(g.Condition) == 0
}

// matches compares with a pattern of IAM, in which * is any text and ? any letter.
func matches(pattern, text string) bool {
	p := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	ok, err := regexp.MatchString(`^`+p+`$`, text)
	return ok && err == nil
}
