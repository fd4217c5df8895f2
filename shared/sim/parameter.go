package sim

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// parameters are what Systems Manager keeps for a deployment: the policy.
type parameters struct {
	policy  string // the document, "" if there is no parameter
	written bool   // there was one
}

// setPolicy writes the policy document; "" deletes the parameter.
func (d *deployment) setPolicy(yaml string) {
	d.parameters.policy, d.parameters.written = yaml, d.parameters.written || yaml != ""
}

// policyNow is the policy that holds for a group by the document as it is now, whoever has
// read it; by the built-in one if that is gone or does not validate.
func (d *deployment) policyNow(c *cluster, g *group) policy.Policy {
	doc := d.a.audit.document(d.parameters.policy)
	if doc == nil {
		doc = policy.Default()
	}
	pol := doc.Cluster(c.name, c.mode, d.permitted)(roll.GroupSelector(roll.Group(g.groupName())))
	pol.Mode = policy.Lower(pol.Mode, lowest(d.permitted, d.parameters.policy, c))
	if d.parameters.stops(d.parameters.policy) {
		pol.Mode = policy.Lower(pol.Mode, policy.Notify)
	}
	return pol
}

// ssmAPI is Systems Manager as an environment calls it.
type ssmAPI struct{ v *env }

// GetParameter reads the policy document.
func (s ssmAPI) GetParameter(ctx context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	var document string
	err := s.v.call(ctx, "ssm:GetParameter", reads, "", func() error {
		if aws.ToString(in.Name) == policyParameter {
			document = s.v.a.dep.parameters.policy
		}
		return nil
	})
	s.v.inv.sawPolicy(document, err == nil)
	switch {
	case err != nil:
		return nil, err
	case document == "":
		return nil, &types.ParameterNotFound{Message: aws.String("Parameter " + aws.ToString(in.Name) + " not found.")}
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Name: in.Name, Value: aws.String(document)}}, nil
}
