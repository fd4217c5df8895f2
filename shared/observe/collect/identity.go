package collect

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// rolesTotal is how many instance profiles, and therefore roles, are read per check.
const rolesTotal = 10

// readIdentity reads the instance profiles of the instances, their roles and the roles'
// permissions, each once.
func (l *look) readIdentity() {
	profile, role := l.action("iam:GetInstanceProfile"), l.action("iam:GetRole")
	attached, inline := l.action("iam:ListAttachedRolePolicies"), l.action("iam:ListRolePolicies")
	arns := roll.Map(l.configs(needRole|needAuth), func(c evidence.InstanceConfig) string { return c.ProfileARN })
	var roles []string
	shown := map[string]evidence.Role{}
	arns, left := first(distinct(arns), l.most(rolesTotal))
	for _, arn := range arns {
		fact, whole := l.profile(profile, arn)
		l.ev.Profiles[arn] = fact
		for _, r := range whole {
			shown[r.Name] = r
		}
		roles = append(roles, fact.Value.Roles...)
	}
	skip(l.ev.Profiles, left, fmt.Sprintf("%d instance profiles are read per check, the most urgent first", rolesTotal))
	for _, name := range distinct(roles) {
		l.ev.Roles[name] = l.role(role, name)
		if r, ok := shown[name]; ok && !l.ev.Roles[name].Settled() {
			l.ev.Roles[name] = evidence.Read(r)
		}
		l.ev.Policies[name] = l.policies(attached, inline, name)
	}
	l.readSoundProfiles(profile, len(arns))
}

// readSoundProfiles reads the instance profiles of instances without findings, if a node fell
// silent or runs Windows: a role that works elsewhere is mapped as it must be. read is how many profiles were read
// before.
func (l *look) readSoundProfiles(a *action, read int) {
	if !slices.ContainsFunc(l.findings, func(f roll.Finding) bool { return f.Kind == roll.Unknown || ofWindows(&f) }) {
		return
	}
	arns := distinct(roll.Map(l.ev.Sound, func(s evidence.Sound) string { return s.Profile }))
	arns = slices.DeleteFunc(arns, func(arn string) bool { _, done := l.ev.Profiles[arn]; return done })
	arns, _ = first(arns, l.most(rolesTotal-read))
	for _, arn := range arns {
		l.ev.Profiles[arn], _ = l.profile(a, arn)
	}
}

// profile reads an instance profile, and returns its roles where it shows them whole. They serve where iam:GetRole
// fails.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetInstanceProfile.html
func (l *look) profile(a *action, arn string) (fact evidence.Fact[evidence.InstanceProfile], whole []evidence.Role) {
	in := &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(roll.LastPart(arn))}
	fact = part(a, arn, l.iam.GetInstanceProfile, in, func(out *iam.GetInstanceProfileOutput) *types.InstanceProfile { return out.InstanceProfile }, func(p *types.InstanceProfile) evidence.InstanceProfile {
		for i := range p.Roles {
			if r := &p.Roles[i]; r.Arn != nil && r.AssumeRolePolicyDocument != nil {
				whole = append(whole, roleOf(r))
			}
		}
		return evidence.InstanceProfile{ARN: aws.ToString(p.Arn), Name: aws.ToString(p.InstanceProfileName), Roles: roll.Map(p.Roles, func(r types.Role) string { return aws.ToString(r.RoleName) })}
	})
	return fact, whole
}

func (l *look) role(a *action, name string) evidence.Fact[evidence.Role] {
	return part(a, name, l.iam.GetRole, &iam.GetRoleInput{RoleName: aws.String(name)}, func(out *iam.GetRoleOutput) *types.Role { return out.Role }, roleOf)
}

func roleOf(r *types.Role) evidence.Role {
	return evidence.Role{ARN: aws.ToString(r.Arn), Name: aws.ToString(r.RoleName), Created: aws.ToTime(r.CreateDate).UTC(), TrustPolicy: policyText(aws.ToString(r.AssumeRolePolicyDocument))}
}

// policyText decodes the percent-encoding in which IAM returns policies.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html
func policyText(encoded string) string {
	if text, err := url.PathUnescape(encoded); err == nil {
		return text
	}
	return encoded
}

// policies lists the policies attached to a role. Inline policies count as unread if they cannot be
// listed: the rest is useful without them.
func (l *look) policies(attached, inline *action, role string) evidence.Fact[evidence.Policies] {
	all, end := pages(attached, maxPages, l.iam.ListAttachedRolePolicies, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(role)},
		func(out *iam.ListAttachedRolePoliciesOutput) []types.AttachedPolicy { return out.AttachedPolicies })
	switch {
	case end.gone:
		return evidence.None[evidence.Policies]()
	case end.err != nil:
		return evidence.Failed[evidence.Policies](end.why)
	}
	fact := evidence.Read(evidence.Policies{Attached: roll.Map(all, func(p types.AttachedPolicy) string { return aws.ToString(p.PolicyArn) })})
	names, end := pages(inline, maxPages, l.iam.ListRolePolicies, &iam.ListRolePoliciesInput{RoleName: aws.String(role)},
		func(out *iam.ListRolePoliciesOutput) []string { return out.PolicyNames })
	if end.err != nil {
		fact.Why = end.why // why a part is missing
		return fact
	}
	fact.Value.Inline = names
	return fact
}

// readDocuments reads the policies of a role that may be a controller's. A service account in the
// trust policy already shows whose role it is.
func (l *look) readDocuments(r evidence.Role) {
	if strings.Contains(r.TrustPolicy, "system:serviceaccount:") {
		return
	}
	policies := l.policies(l.action("iam:ListAttachedRolePolicies"), l.action("iam:ListRolePolicies"), r.Name)
	l.ev.Policies[r.Name], l.ev.Documents[r.Name] = policies, l.documents(r.Name, policies)
}

// documents reads the role's policies except AWS's own. If some cannot be read, the rest is still
// of use, and the first error is the reason why it is incomplete.
func (l *look) documents(role string, p evidence.Fact[evidence.Policies]) evidence.Fact[[]evidence.PolicyDocument] {
	if !p.Known() {
		return evidence.Fact[[]evidence.PolicyDocument]{State: p.State, Why: p.Why}
	}
	inline, managed, version := l.action("iam:GetRolePolicy"), l.action("iam:GetPolicy"), l.action("iam:GetPolicyVersion")
	out := evidence.Read([]evidence.PolicyDocument{})
	out.Why = p.Why
	add := func(f evidence.Fact[evidence.PolicyDocument]) {
		if f.Known() {
			out.Value = append(out.Value, f.Value)
		} else if out.Why == "" {
			out.Why = f.Gap()
		}
	}
	arns := slices.DeleteFunc(slices.Clone(p.Value.Attached), func(arn string) bool { return strings.Contains(arn, ":iam::aws:policy/") })
	names, leftNames := first(p.Value.Inline, l.most(documentsTotal))
	arns, leftARNs := first(arns, l.most(documentsTotal-len(names)))
	for _, name := range names {
		add(l.inlineDocument(inline, role, name))
	}
	for _, arn := range arns {
		add(l.managedDocument(managed, version, arn))
	}
	if len(leftNames)+len(leftARNs) > 0 && out.Why == "" {
		out.Why = fmt.Sprintf("%d policies of %s are read, and it has more", documentsTotal, role)
	}
	return out
}

func (l *look) inlineDocument(a *action, role, name string) evidence.Fact[evidence.PolicyDocument] {
	return one(a, l.iam.GetRolePolicy, &iam.GetRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name)}, func(out *iam.GetRolePolicyOutput) evidence.Fact[evidence.PolicyDocument] {
		return evidence.Read(evidence.PolicyDocument{Name: name, Text: policyText(aws.ToString(out.PolicyDocument))})
	})
}

func (l *look) managedDocument(policy, version *action, arn string) evidence.Fact[evidence.PolicyDocument] {
	id := part(policy, arn, l.iam.GetPolicy, &iam.GetPolicyInput{PolicyArn: aws.String(arn)}, func(out *iam.GetPolicyOutput) *types.Policy { return out.Policy }, func(p *types.Policy) string { return aws.ToString(p.DefaultVersionId) })
	return evidence.Then(id, func(id string) evidence.Fact[evidence.PolicyDocument] {
		in := &iam.GetPolicyVersionInput{PolicyArn: aws.String(arn), VersionId: aws.String(id)}
		return part(version, arn, l.iam.GetPolicyVersion, in, func(out *iam.GetPolicyVersionOutput) *types.PolicyVersion { return out.PolicyVersion }, func(v *types.PolicyVersion) evidence.PolicyDocument {
			return evidence.PolicyDocument{Name: arn, Text: policyText(aws.ToString(v.Document))}
		})
	})
}
