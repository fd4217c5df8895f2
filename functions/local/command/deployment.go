package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// deployment is what a deployment's stack reveals of it.
type deployment struct {
	stack           string
	account, region string
	settings        config.Settings // of its functions, as far as they are needed here
	roles           []string        // ARNs of the roles that clusters let in
	version         string          // of the release that its functions run
}

type stacks interface {
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
}

// shown lists the outputs and parameters in template.yaml that hold the functions'
// settings.
var shown = []struct{ setting, place string }{
	{config.Table, "output LedgerTableName"},
	{config.PolicyParameter, "output PolicyParameterName"},
	{config.EvidenceBucket, "output EvidenceBucket"},
	{config.Mode, "parameter Mode"},
	{config.WarnAfter, "parameter WarnAfter"},
	{config.Deadline, "parameter Deadline"},
}

// stackFlags are those of a command about one deployment.
type stackFlags struct {
	access
	stack  string
	output form
}

func (f *stackFlags) add(c *cobra.Command, timeout time.Duration) {
	c.Flags().StringVar(&f.stack, "stack", "rollcall", "`NAME` of the CloudFormation stack of the deployment")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML)
	f.oneRegion(c)
	f.accountFlags(c, timeout)
}

// run checks the flags, and does what the command is for in the account.
func (f stackFlags) run(ctx context.Context, env Environment, do func(context.Context, *progress, *account) error) error {
	_, wrong := f.settle("")
	if err := errors.Join(f.output.check(), wrong); err != nil {
		return err
	}
	return f.inOne(ctx, env, do)
}

func (a *account) deployment(ctx context.Context, stack string) (deployment, error) {
	return readDeployment(ctx, cloudformation.NewFromConfig(a.cfg), stack, a.region, a.principal)
}

// readDeployment reads the settings from a stack. region and principal are for messages.
func readDeployment(ctx context.Context, api stacks, name, region string, principal func(context.Context) string) (deployment, error) {
	d := deployment{stack: name}
	out, err := api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	switch {
	case awserr.IsNoStack(err), err == nil && len(out.Stacks) == 0:
		return d, fmt.Errorf("--stack: there is no CloudFormation stack %q in %s: check the name, the region and the profile", name, region)
	case err != nil:
		return d, errors.New("--stack: " + awserr.Describe(err, "cloudformation:DescribeStacks", principal(ctx)))
	}
	s := out.Stacks[0]
	id, err := arn.Parse(aws.ToString(s.StackId))
	if err != nil {
		return d, fmt.Errorf("--stack: the id of stack %s, %q, is not an ARN: %w", name, aws.ToString(s.StackId), err)
	}
	d.account, d.region = id.AccountID, id.Region
	there := map[string]string{}
	for _, o := range s.Outputs {
		there["output "+aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	for _, p := range s.Parameters {
		there["parameter "+aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	d.version = there["output Version"]
	for _, place := range []string{"output InspectRoleArn", "output RemediateRoleArn"} {
		if role, ok := there[place]; ok {
			d.roles = append(d.roles, role)
		}
	}
	slices.Sort(d.roles)
	var missing, settings []string
	values := map[string]string{}
	for _, t := range shown {
		value, ok := there[t.place]
		if !ok {
			missing = append(missing, t.place)
		}
		values[t.setting], settings = value, append(settings, t.setting)
	}
	if len(missing) > 0 {
		return d, fmt.Errorf("--stack: stack %s (%s) has no %s: it is not a deployment of Rollcall, or one of an earlier version", name, s.StackStatus, strings.Join(missing, ", "))
	}
	lookup := func(variable string) (string, bool) { v, ok := values[variable]; return v, ok }
	if d.settings, err = config.Read(lookup, settings...); err != nil {
		return d, fmt.Errorf("--stack: stack %s: %w", name, err)
	}
	return d, nil
}

// searched is the number of clusters whose memories are read in parallel in search of an
// instance.
const searched = 8

// find returns the clusters of an account and region whose memory knows an instance. all is
// the number of clusters searched.
func find(ctx context.Context, m ledger.OfClusters, account, region string, id roll.InstanceID) (knowing []string, all int, err error) {
	clusters, err := m.Clusters(ctx, account, region)
	if err != nil {
		return nil, 0, err
	}
	knows := make([]bool, len(clusters))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(searched)
	for i, c := range clusters {
		group.Go(func() error {
			state, err := m.Read(ctx, c)
			knows[i] = err == nil && state.Knows(id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	for i, c := range clusters {
		if knows[i] {
			knowing = append(knowing, c.Name)
		}
	}
	return knowing, len(clusters), nil
}
