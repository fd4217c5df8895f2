package sim

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// ssmAPI is Systems Manager, as an environment calls it.
type ssmAPI struct{ v *env }

// GetParameter reads the policy document.
func (s ssmAPI) GetParameter(ctx context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	var document string
	err := s.v.call(ctx, "ssm:GetParameter", reads, "", func() error {
		if aws.ToString(in.Name) == policyParameter {
			document = s.v.a.dep.policy
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
