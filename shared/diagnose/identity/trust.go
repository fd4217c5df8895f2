package identity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// verdict is whether a trust policy lets EC2 assume the role.
type verdict uint8

const (
	unclear verdict = iota // conditions, or forms that are not followed
	allows
	denies
)

// trust asks whether EC2 may assume the role: without that its metadata service hands
// out no credentials.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
func (d *door) trust(r evidence.Role) {
	if r.TrustPolicy == "" {
		d.s.NotChecked("the role's trust policy was not read", cause.RoleTrustInvalid)
		return
	}
	switch trusts(r.TrustPolicy) {
	case allows:
		d.s.RuledOut(cause.RoleTrustInvalid)
	case unclear:
		d.s.NotChecked(fmt.Sprintf("the trust policy of %s has conditions or forms that cannot be judged from outside", r.Name), cause.RoleTrustInvalid)
	case denies:
		d.found(roll.Cause{
			Code: cause.RoleTrustInvalid, Subject: "role/" + r.ARN,
			Summary:  fmt.Sprintf("the trust policy of the role %s does not let ec2.amazonaws.com assume it, so %s gets no credentials", r.Name, d.Finding.Instance),
			Evidence: []roll.Evidence{{Source: "role", Field: "AssumeRolePolicyDocument.Statement", Observed: "no statement allows sts:AssumeRole to ec2.amazonaws.com", Expected: "Allow sts:AssumeRole, Principal.Service ec2.amazonaws.com"}},
			Fix: fmt.Sprintf("aws iam update-assume-role-policy --role-name %s --policy-document '{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"Service\":\"ec2.amazonaws.com\"},\"Action\":\"sts:AssumeRole\"}]}'\n"+
				"# this replaces the whole trust policy: add the statements that others need", r.Name),
		})
	}
}

// statement is a statement of a trust policy. IAM writes lists of one as plain texts.
type statement struct {
	Effect       string
	Principal    json.RawMessage
	NotPrincipal json.RawMessage
	Action       texts
	NotAction    texts
	Condition    json.RawMessage
}

// texts is a text or a list of texts.
type texts []string

// UnmarshalJSON takes both forms.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var many []string
	err := json.Unmarshal(data, &many)
	*t = many
	return err
}

// statements is one statement or a list of them.
type statements []statement

// UnmarshalJSON takes both forms.
func (s *statements) UnmarshalJSON(data []byte) error {
	var many []statement
	if json.Unmarshal(data, &many) == nil {
		*s = many
		return nil
	}
	var one statement
	err := json.Unmarshal(data, &one)
	*s = statements{one}
	return err
}

// trusts reads a trust policy: a Deny that is meant for EC2 wins, then an Allow.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
func trusts(policy string) verdict {
	var doc struct{ Statement statements }
	if err := json.Unmarshal([]byte(policy), &doc); err != nil {
		return unclear
	}
	out := denies
	for _, st := range doc.Statement {
		meant, known := st.meansEC2()
		switch {
		case !known:
			out = max2(out, unclear)
		case !meant:
		case strings.EqualFold(st.Effect, "Deny"):
			if len(st.Condition) == 0 {
				return denies
			}
			return unclear
		case len(st.Condition) > 0:
			out = max2(out, unclear)
		default:
			out = allows
		}
	}
	return out
}

// max2 is the more hopeful of two verdicts.
func max2(a, b verdict) verdict {
	if a == denies {
		return b
	}
	return a
}

// meansEC2 reports whether a statement is about EC2 assuming the role; known is false
// where the statement says so by exceptions.
func (s statement) meansEC2() (meant, known bool) {
	if len(s.NotPrincipal) > 0 || len(s.NotAction) > 0 {
		return false, false
	}
	act := false
	for _, a := range s.Action {
		act = act || strings.EqualFold(a, "sts:AssumeRole") || a == "*" || strings.EqualFold(a, "sts:*") || strings.EqualFold(a, "sts:Assume*") || strings.EqualFold(a, "sts:AssumeRole*")
	}
	if !act {
		return false, true
	}
	var all string
	if json.Unmarshal(s.Principal, &all) == nil {
		return all == "*", true
	}
	var by map[string]texts
	if json.Unmarshal(s.Principal, &by) != nil {
		return false, false
	}
	for kind, names := range by {
		for _, name := range names {
			// ec2.amazonaws.com.cn is the form of the China partition.
			if kind == "Service" && (name == "ec2.amazonaws.com" || name == "ec2.amazonaws.com.cn") || kind == "AWS" && name == "*" {
				return true, true
			}
		}
	}
	return false, true
}

// assumers are who may assume a role beside EC2.
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

// readAssumers reads from a trust policy whether pods may assume the role: by the cluster's
// OIDC provider, where a condition names the service account as the subject of its token,
// or by EKS Pod Identity.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
func readAssumers(policy string) (out assumers) {
	var doc struct{ Statement statements }
	if err := json.Unmarshal([]byte(policy), &doc); err != nil {
		return out
	}
	for _, st := range doc.Statement {
		var by map[string]texts
		if !strings.EqualFold(st.Effect, "Allow") || json.Unmarshal(st.Principal, &by) != nil {
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

// serviceAccount is the one that a condition of the statement asks for, "" if none does.
func (s statement) serviceAccount() string {
	var tests map[string]map[string]texts
	if json.Unmarshal(s.Condition, &tests) != nil {
		return ""
	}
	for _, test := range tests {
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
