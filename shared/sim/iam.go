package sim

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// iamAPI is IAM: the instance profile of each group with its role, and the roles that
// clusters map in the place of those.
type iamAPI struct{ v *env }

func roleARN(name string) string    { return "arn:aws:iam::" + accountID + ":role/" + name }
func profileARN(name string) string { return "arn:aws:iam::" + accountID + ":instance-profile/" + name }

// uniqueID is IAM's own id of what has the name.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
func uniqueID(prefix, name string) string {
	return prefix + strings.ToUpper(shortID(newDice(0).of(prefix).of(name), 17))
}

// role is a role, by who may assume it.
type role struct {
	name     string
	trust    string
	policies []string
}

// role finds a role of the account.
func (a *account) role(name string) (role, bool) {
	other := false
	for _, c := range a.clusters {
		for _, g := range c.groups {
			if g.role == name {
				return role{
					name: name, trust: trusting(`"Service":"ec2.amazonaws.com"`, "sts:AssumeRole"),
					policies: []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"},
				}, true
			}
		}
		other = other || c.maps(name)
	}
	// Karpenter's controller is a pod, and assumes its role as one.
	return role{name: name, trust: trusting(`"Service":"pods.eks.amazonaws.com"`, "sts:AssumeRole", "sts:TagSession")}, other
}

// trusting is a trust policy.
func trusting(principal string, actions ...string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{%s},"Action":["%s"]}]}`, principal, strings.Join(actions, `","`))
}

// existing is a role, or the error that there is none.
func (a *account) existing(name *string) (role, error) {
	if r, ok := a.role(aws.ToString(name)); ok {
		return r, nil
	}
	return role{}, noSuch("NoSuchEntity", "The role with name %s cannot be found.", aws.ToString(name))
}

// describe is the role as IAM tells it. All are a year old.
func (a *account) describe(r role) *types.Role {
	return &types.Role{
		RoleName: aws.String(r.name), Arn: aws.String(roleARN(r.name)), RoleId: aws.String(uniqueID("AROA", r.name)), Path: aws.String("/"),
		CreateDate: aws.Time(a.start.AddDate(-1, 0, 0)), AssumeRolePolicyDocument: aws.String(url.PathEscape(r.trust)),
	}
}

// GetRole tells of a role.
func (i iamAPI) GetRole(ctx context.Context, in *iam.GetRoleInput, _ ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	out := new(iam.GetRoleOutput)
	err := i.v.call(ctx, "iam:GetRole", reads, "", func() error {
		r, err := i.v.a.existing(in.RoleName)
		if err == nil {
			out.Role = i.v.a.describe(r)
		}
		return err
	})
	return answered(out, err)
}

// GetInstanceProfile tells of an instance profile and the role in it, which has its name.
func (i iamAPI) GetInstanceProfile(ctx context.Context, in *iam.GetInstanceProfileInput, _ ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error) {
	name := aws.ToString(in.InstanceProfileName)
	out := new(iam.GetInstanceProfileOutput)
	err := i.v.call(ctx, "iam:GetInstanceProfile", reads, "", func() error {
		r, _ := i.v.a.role(name)
		if len(r.policies) == 0 { // no node's
			return noSuch("NoSuchEntity", "Instance Profile %s cannot be found.", name)
		}
		described := i.v.a.describe(r)
		out.InstanceProfile = &types.InstanceProfile{
			InstanceProfileName: aws.String(name), Arn: aws.String(profileARN(name)), InstanceProfileId: aws.String(uniqueID("AIPA", name)), Path: aws.String("/"),
			CreateDate: described.CreateDate, Roles: []types.Role{*described},
		}
		return nil
	})
	return answered(out, err)
}

// ListAttachedRolePolicies lists the managed policies of a role.
func (i iamAPI) ListAttachedRolePolicies(ctx context.Context, in *iam.ListAttachedRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	out := new(iam.ListAttachedRolePoliciesOutput)
	err := i.v.call(ctx, "iam:ListAttachedRolePolicies", reads, "", func() error {
		r, err := i.v.a.existing(in.RoleName)
		for _, name := range r.policies {
			out.AttachedPolicies = append(out.AttachedPolicies, types.AttachedPolicy{PolicyName: aws.String(name), PolicyArn: aws.String("arn:aws:iam::aws:policy/" + name)})
		}
		return err
	})
	return answered(out, err)
}

// controllerPolicy is written into the role of Karpenter's controller.
// https://karpenter.sh/docs/reference/cloudformation/
const (
	controllerPolicy = "KarpenterController"
	controllerMay    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet","ec2:TerminateInstances","iam:PassRole"],"Resource":"*"}]}`
)

// inline are the names of the policies that are written into a role.
func (r role) inline() []string {
	if len(r.policies) > 0 { // a node's
		return []string{}
	}
	return []string{controllerPolicy}
}

// ListRolePolicies lists the policies that are written into a role.
func (i iamAPI) ListRolePolicies(ctx context.Context, in *iam.ListRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error) {
	out := new(iam.ListRolePoliciesOutput)
	err := i.v.call(ctx, "iam:ListRolePolicies", reads, "", func() error {
		r, err := i.v.a.existing(in.RoleName)
		out.PolicyNames = r.inline()
		return err
	})
	return answered(out, err)
}

// GetRolePolicy tells what a policy says that is written into a role.
func (i iamAPI) GetRolePolicy(ctx context.Context, in *iam.GetRolePolicyInput, _ ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error) {
	out := &iam.GetRolePolicyOutput{RoleName: in.RoleName, PolicyName: in.PolicyName, PolicyDocument: aws.String(url.PathEscape(controllerMay))}
	err := i.v.call(ctx, "iam:GetRolePolicy", reads, "", func() error {
		r, err := i.v.a.existing(in.RoleName)
		if err == nil && !slices.Contains(r.inline(), aws.ToString(in.PolicyName)) {
			err = noSuch("NoSuchEntity", "The role policy with name %s cannot be found.", aws.ToString(in.PolicyName))
		}
		return err
	})
	return answered(out, err)
}

// GetPolicy tells of a managed policy of the account: it has none.
func (i iamAPI) GetPolicy(ctx context.Context, in *iam.GetPolicyInput, _ ...func(*iam.Options)) (*iam.GetPolicyOutput, error) {
	err := i.v.call(ctx, "iam:GetPolicy", reads, "", func() error {
		return noSuch("NoSuchEntity", "Policy %s was not found.", aws.ToString(in.PolicyArn))
	})
	return answered(new(iam.GetPolicyOutput), err)
}

// GetPolicyVersion likewise.
func (i iamAPI) GetPolicyVersion(ctx context.Context, in *iam.GetPolicyVersionInput, _ ...func(*iam.Options)) (*iam.GetPolicyVersionOutput, error) {
	err := i.v.call(ctx, "iam:GetPolicyVersion", reads, "", func() error {
		return noSuch("NoSuchEntity", "Policy %s was not found.", aws.ToString(in.PolicyArn))
	})
	return answered(new(iam.GetPolicyVersionOutput), err)
}
