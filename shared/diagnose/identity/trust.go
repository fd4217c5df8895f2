package identity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/iam"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
)

// verdict says whether a trust policy lets EC2 assume the role.
type verdict uint8

const (
	unclear verdict = iota // conditions, or forms that are not evaluated
	allows
	denies
)

// trust checks whether EC2 may assume the role. Otherwise the metadata service returns no
// credentials.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
func (d *door) trust(r evidence.Role) cause.Verdict {
	if r.TrustPolicy == "" {
		return cause.NotChecked("the role's trust policy was not read")
	}
	switch trusts(r.TrustPolicy, accountOf(r.ARN)) {
	case allows:
		return cause.RuledOut
	case unclear:
		return cause.NotChecked(fmt.Sprintf("the trust policy of %s has conditions or forms that cannot be judged from outside", r.Name))
	}
	return d.blocks("role/"+r.ARN).
		Says("the trust policy of the role %s does not let ec2.amazonaws.com assume it, so %s gets no credentials", r.Name, d.Finding.Instance).
		Saw("role", "AssumeRolePolicyDocument.Statement", "no statement allows sts:AssumeRole to ec2.amazonaws.com", "Allow sts:AssumeRole, Principal.Service ec2.amazonaws.com").
		Fix(paste.Format("aws iam get-role --role-name %s --query Role.AssumeRolePolicyDocument --output json > trust-policy.json", r.Name),
			`${EDITOR:-vi} trust-policy.json   # add {"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"} to its statements, and keep those that others need`,
			paste.Format("aws iam update-assume-role-policy --role-name %s --policy-document file://trust-policy.json", r.Name))
}

// statement is a statement of a trust policy or of a role's policy. One with NotPrincipal has no
// Principal, which is then unreadable.
type statement struct {
	Effect    string
	Principal json.RawMessage
	Action    iam.Texts
	NotAction iam.Texts
	Condition json.RawMessage
}

// conditions returns the values of the statement's conditions by operator and key, nil if there are
// none or they are not well formed.
func (s statement) conditions() (tests map[string]map[string]iam.Texts) {
	if json.Unmarshal(s.Condition, &tests) != nil {
		return nil
	}
	return tests
}

// trusts evaluates a trust policy: a Deny for EC2 takes precedence over an Allow.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
func trusts(policy, account string) verdict {
	statements, err := iam.Statements[statement](policy)
	if err != nil {
		return unclear
	}
	out := denies
	for _, st := range statements {
		meant, known := st.meansEC2()
		switch {
		case known && !meant:
		case strings.EqualFold(st.Effect, "Deny"):
			if known && len(st.Condition) == 0 {
				return denies
			}
			return unclear
		case st.never(account):
		case known && len(st.Condition) == 0:
			out = allows
		case out == denies:
			out = unclear
		}
	}
	return out
}

// never reports whether a condition of the statement never holds for EC2 in the account: it names
// another account as the source, or an external ID, which EC2 does not send. Other conditions, and
// other operators, are not judged.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
func (s statement) never(account string) bool {
	for operator, test := range s.conditions() {
		for key, values := range test {
			switch {
			case !strings.EqualFold(operator, "StringEquals"):
			case strings.EqualFold(key, "sts:ExternalId"):
				return true
			case strings.EqualFold(key, "aws:SourceAccount") && account != "" && !slices.Contains(values, account):
				return true
			}
		}
	}
	return false
}

// accountOf returns the account in the ARN of a role, "" if it is none.
func accountOf(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}

// meansEC2 reports whether a statement is about EC2 assuming the role. known is false if the
// statement is written with exceptions.
func (s statement) meansEC2() (meant, known bool) {
	if len(s.NotAction) > 0 {
		return false, false
	}
	if !slices.ContainsFunc(s.Action, func(a string) bool { return iam.Matches(strings.ToLower(a), "sts:assumerole") }) {
		return false, true
	}
	by, all, err := iam.Principals(s.Principal)
	if err != nil || all {
		return all, err == nil
	}
	isEC2 := func(service string) bool {
		domain, ok := strings.CutPrefix(service, "ec2.")
		return ok && slices.Contains(domains, domain)
	}
	return slices.ContainsFunc(by["Service"], isEC2) || slices.Contains(by["AWS"], "*"), true
}

// domains are those of services in policies. Partitions besides aws take their own too.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
// https://github.com/boto/botocore/blob/develop/botocore/data/partitions.json
var domains = []string{"amazonaws.com", "amazonaws.com.cn", "c2s.ic.gov", "sc2s.sgov.gov", "csp.hci.ic.gov", "cloud.adc-e.uk", "amazonaws.eu"}

// assumers says who may assume a role besides EC2.
type assumers struct {
	pods    string // how pods assume it, "" if they may not
	account string // the service account that the policy names, as namespace:name; "" if none
	fargate bool
}

const (
	podIdentity   = "pods.eks.amazonaws.com"
	fargatePods   = "eks-fargate-pods.amazonaws.com"
	webIdentity   = "sts:AssumeRoleWithWebIdentity"
	accountPrefix = "system:serviceaccount:"
)

// readAssumers returns whether the trust policy lets pods assume the role: through the
// cluster's OIDC provider, where a condition names the token's service account, or through EKS
// Pod Identity.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
func readAssumers(policy string) (out assumers) {
	statements, err := iam.Statements[statement](policy)
	if err != nil {
		return out
	}
	for _, st := range statements {
		by, _, err := iam.Principals(st.Principal)
		if !strings.EqualFold(st.Effect, "Allow") || err != nil || by == nil {
			continue
		}
		out.fargate = out.fargate || slices.Contains(by["Service"], fargatePods)
		account := st.serviceAccount()
		cluster := func(provider string) bool {
			return strings.Contains(provider, ":oidc-provider/") && (account != "" || strings.Contains(provider, "/oidc.eks"))
		}
		switch {
		case slices.Contains(by["Service"], podIdentity):
			out.pods = "sts:AssumeRole by " + podIdentity
		case slices.ContainsFunc(by["Federated"], cluster) && slices.ContainsFunc(st.Action, func(a string) bool { return strings.EqualFold(a, webIdentity) }):
			out.pods = webIdentity + " by the OIDC provider of a cluster"
		default:
			continue
		}
		if account != "" {
			out.account = account
			out.pods += ", service account " + account
		}
	}
	return out
}

// serviceAccount returns the service account that a condition of the statement requires, "" if
// none does.
func (s statement) serviceAccount() string {
	for _, test := range s.conditions() {
		for key, values := range test {
			for _, v := range values {
				if name, ok := strings.CutPrefix(v, accountPrefix); ok && strings.HasSuffix(key, ":sub") {
					return name
				}
				if strings.HasSuffix(key, "/kubernetes-service-account") { // a session tag of Pod Identity
					return v
				}
			}
		}
	}
	return ""
}
