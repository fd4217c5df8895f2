package sim

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// iamAPI is IAM: each group's instance profile and role, and the roles mapped in their place.
type iamAPI struct{ v *env }

func roleARN(name string) string    { return "arn:aws:iam::" + accountID + ":role/" + name }
func profileARN(name string) string { return "arn:aws:iam::" + accountID + ":instance-profile/" + name }

// uniqueID returns IAM's unique ID for a name.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
func uniqueID(prefix, name string) string {
	return prefix + strings.ToUpper(shortID(newDice(0).of(prefix).of(name), 17))
}

type role struct {
	name     string
	trust    string
	policies []string // managed ones, which only a node's role has
	inline   []string
}

func (a *account) role(name string) (role, bool) {
	other := false
	for _, c := range a.clusters {
		for _, g := range c.groups {
			if g.role == name {
				return role{
					name: name, trust: trusting(`"Service":"ec2.amazonaws.com"`, "sts:AssumeRole"),
					policies: []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"}, inline: []string{},
				}, true
			}
		}
		other = other || c.maps(name)
	}
	// Karpenter's controller is a pod, and assumes its role with EKS Pod Identity.
	return role{name: name, trust: trusting(`"Service":"pods.eks.amazonaws.com"`, "sts:AssumeRole", "sts:TagSession"), inline: []string{controllerPolicy}}, other
}

func trusting(principal string, actions ...string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{%s},"Action":["%s"]}]}`, principal, strings.Join(actions, `","`))
}

func (a *account) existing(name *string) (role, error) {
	if r, ok := a.role(aws.ToString(name)); ok {
		return r, nil
	}
	return role{}, noSuch("NoSuchEntity", "The role with name %s cannot be found.", aws.ToString(name))
}

// describe returns the role as IAM does. All roles are a year old.
func (a *account) describe(r role) *types.Role {
	return &types.Role{
		RoleName: aws.String(r.name), Arn: aws.String(roleARN(r.name)), RoleId: aws.String(uniqueID("AROA", r.name)), Path: aws.String("/"),
		CreateDate: aws.Time(a.start.AddDate(-1, 0, 0)), AssumeRolePolicyDocument: aws.String(url.PathEscape(r.trust)),
	}
}

// GetRole returns a role.
func (i iamAPI) GetRole(in *iam.GetRoleInput, out *iam.GetRoleOutput) error {
	r, err := i.v.a.existing(in.RoleName)
	if err == nil {
		out.Role = i.v.a.describe(r)
	}
	return err
}

// GetInstanceProfile returns an instance profile and its role, which has the same name.
func (i iamAPI) GetInstanceProfile(in *iam.GetInstanceProfileInput, out *iam.GetInstanceProfileOutput) error {
	name := aws.ToString(in.InstanceProfileName)
	r, _ := i.v.a.role(name)
	if len(r.policies) == 0 { // not a node's
		return noSuch("NoSuchEntity", "Instance Profile %s cannot be found.", name)
	}
	described := i.v.a.describe(r)
	out.InstanceProfile = &types.InstanceProfile{
		InstanceProfileName: aws.String(name), Arn: aws.String(profileARN(name)), InstanceProfileId: aws.String(uniqueID("AIPA", name)), Path: aws.String("/"),
		CreateDate: described.CreateDate, Roles: []types.Role{*described},
	}
	return nil
}

// ListAttachedRolePolicies lists the managed policies of a role.
func (i iamAPI) ListAttachedRolePolicies(in *iam.ListAttachedRolePoliciesInput, out *iam.ListAttachedRolePoliciesOutput) error {
	r, err := i.v.a.existing(in.RoleName)
	for _, name := range r.policies {
		out.AttachedPolicies = append(out.AttachedPolicies, types.AttachedPolicy{PolicyName: aws.String(name), PolicyArn: aws.String("arn:aws:iam::aws:policy/" + name)})
	}
	return err
}

// controllerPolicy is the name of the inline policy of the Karpenter controller's role.
// https://karpenter.sh/docs/reference/cloudformation/
const (
	controllerPolicy = "KarpenterController"
	controllerMay    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet","ec2:TerminateInstances","iam:PassRole"],"Resource":"*"}]}`
)

// ListRolePolicies lists the inline policies of a role.
func (i iamAPI) ListRolePolicies(in *iam.ListRolePoliciesInput, out *iam.ListRolePoliciesOutput) error {
	r, err := i.v.a.existing(in.RoleName)
	out.PolicyNames = r.inline
	return err
}

// GetRolePolicy returns an inline policy of a role.
func (i iamAPI) GetRolePolicy(in *iam.GetRolePolicyInput, out *iam.GetRolePolicyOutput) error {
	*out = iam.GetRolePolicyOutput{RoleName: in.RoleName, PolicyName: in.PolicyName, PolicyDocument: aws.String(url.PathEscape(controllerMay))}
	r, err := i.v.a.existing(in.RoleName)
	if err == nil && !slices.Contains(r.inline, aws.ToString(in.PolicyName)) {
		err = noSuch("NoSuchEntity", "The role policy with name %s cannot be found.", aws.ToString(in.PolicyName))
	}
	return err
}

// GetPolicy returns a managed policy of the account: there are none.
func (i iamAPI) GetPolicy(in *iam.GetPolicyInput, _ *iam.GetPolicyOutput) error {
	return noSuch("NoSuchEntity", "Policy %s was not found.", aws.ToString(in.PolicyArn))
}
