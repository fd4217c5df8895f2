package bundle

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// answerIAM answers about roles and policies, and about zonal shifts.
func (c *contents) answerIAM(in any) (any, error) {
	switch in := in.(type) {
	case *iam.GetInstanceProfileInput:
		p, err := c.profiles.find(aws.ToString(in.InstanceProfileName))
		return &iam.GetInstanceProfileOutput{InstanceProfile: p}, err
	case *iam.GetRoleInput:
		r, err := c.roles.find(aws.ToString(in.RoleName))
		return &iam.GetRoleOutput{Role: r}, err
	case *iam.ListAttachedRolePoliciesInput:
		p, err := c.attached.find(aws.ToString(in.RoleName))
		return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: p.AttachedPolicies}, err
	case *iam.ListRolePoliciesInput:
		p, err := c.inline.find(aws.ToString(in.RoleName))
		return &iam.ListRolePoliciesOutput{PolicyNames: p.PolicyNames}, err
	case *iam.GetRolePolicyInput:
		p, err := c.inlineTexts.find(inlineKey(aws.ToString(in.RoleName), aws.ToString(in.PolicyName)))
		return &iam.GetRolePolicyOutput{RoleName: p.RoleName, PolicyName: p.PolicyName, PolicyDocument: p.PolicyDocument}, err
	case *iam.GetPolicyInput:
		p, err := c.managed.find(aws.ToString(in.PolicyArn))
		return &iam.GetPolicyOutput{Policy: p}, err
	case *iam.GetPolicyVersionInput:
		p, err := c.policyTexts.find(aws.ToString(in.PolicyArn))
		return &iam.GetPolicyVersionOutput{PolicyVersion: p.PolicyVersion}, err
	case *arczonalshift.GetManagedResourceInput:
		// No other file of a bundle can show a shift, so without zonal-shifts.json there counts as
		// none: whoever acts asks ARC again.
		if len(c.shifts.rows) == 0 {
			return &arczonalshift.GetManagedResourceOutput{}, nil
		}
		out := c.shifts.rows[0] // a copy, because the client modifies its answer
		return &out, nil
	}
	if s := callOf(in); s != nil {
		return s.call.answer(c, in)
	}
	return nil, fmt.Errorf("a bundle holds no answer to %T", in)
}
