package bundle

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// IAM answers as the SDK's IAM client does.
type IAM struct {
	c *contents
}

// IAM is the bundle's answers of IAM.
func (b *Bundle) IAM() *IAM { return &IAM{b.c} }

// GetInstanceProfile answers from instance-profiles.json.
func (i *IAM) GetInstanceProfile(_ context.Context, in *iam.GetInstanceProfileInput, _ ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error) {
	p, err := i.c.profiles.find(aws.ToString(in.InstanceProfileName))
	if err != nil {
		return nil, err
	}
	return &iam.GetInstanceProfileOutput{InstanceProfile: p}, nil
}

// GetRole answers from roles.json.
func (i *IAM) GetRole(_ context.Context, in *iam.GetRoleInput, _ ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	r, err := i.c.roles.find(aws.ToString(in.RoleName))
	if err != nil {
		return nil, err
	}
	return &iam.GetRoleOutput{Role: r}, nil
}

// ListAttachedRolePolicies answers from attached-policies.json.
func (i *IAM) ListAttachedRolePolicies(_ context.Context, in *iam.ListAttachedRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	p, err := i.c.attached.find(aws.ToString(in.RoleName))
	if err != nil {
		return nil, err
	}
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: p.AttachedPolicies}, nil
}

// ListRolePolicies answers from role-policies.json.
func (i *IAM) ListRolePolicies(_ context.Context, in *iam.ListRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error) {
	p, err := i.c.inline.find(aws.ToString(in.RoleName))
	if err != nil {
		return nil, err
	}
	return &iam.ListRolePoliciesOutput{PolicyNames: p.PolicyNames}, nil
}

// GetRolePolicy answers from inline-policies.json.
func (i *IAM) GetRolePolicy(_ context.Context, in *iam.GetRolePolicyInput, _ ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error) {
	p, err := i.c.inlineTexts.find(inlineKey(aws.ToString(in.RoleName), aws.ToString(in.PolicyName)))
	if err != nil {
		return nil, err
	}
	return &iam.GetRolePolicyOutput{RoleName: p.RoleName, PolicyName: p.PolicyName, PolicyDocument: p.PolicyDocument}, nil
}

// GetPolicy answers from managed-policies.json.
func (i *IAM) GetPolicy(_ context.Context, in *iam.GetPolicyInput, _ ...func(*iam.Options)) (*iam.GetPolicyOutput, error) {
	p, err := i.c.managed.find(aws.ToString(in.PolicyArn))
	if err != nil {
		return nil, err
	}
	return &iam.GetPolicyOutput{Policy: p}, nil
}

// GetPolicyVersion answers from policy-versions.json, which has the version in force.
func (i *IAM) GetPolicyVersion(_ context.Context, in *iam.GetPolicyVersionInput, _ ...func(*iam.Options)) (*iam.GetPolicyVersionOutput, error) {
	p, err := i.c.policyTexts.find(aws.ToString(in.PolicyArn))
	if err != nil {
		return nil, err
	}
	return &iam.GetPolicyVersionOutput{PolicyVersion: p.PolicyVersion}, nil
}
