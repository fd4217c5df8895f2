package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"rollcall/shared/awserr"
	"rollcall/shared/kube"
	"rollcall/shared/mark"
	"rollcall/shared/observe"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/run"
)

// account is the AWS account and region that the ambient credentials reach.
type account struct {
	region    string
	cfg       aws.Config
	ec2       *ec2.Client
	kube      *kube.Dialer
	observer  *observe.Observer
	principal func(context.Context) string
}

// identityTime bounds the question who we are, which only serves messages.
const identityTime = 5 * time.Second

// connect loads the ambient configuration and makes sure that there are
// credentials, so that their lack is said once and not once per call.
func connect(ctx context.Context, region string) (*account, error) {
	var options []func(*config.LoadOptions) error
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, give --region, or add one to the profile")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, errors.New(awserr.Describe(err, "sts:GetCallerIdentity", ""))
	}
	tokens, err := kube.NewTokenSource(cfg)
	if err != nil {
		return nil, err
	}
	identity := sts.NewFromConfig(cfg)
	principal := observe.Once(func(ctx context.Context) string {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), identityTime)
		defer cancel()
		out, err := identity.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "" // only a message will say less
		}
		return aws.ToString(out.Arn)
	})
	client, dialer := ec2.NewFromConfig(cfg), kube.NewDialer(tokens, "rollcall/"+version())
	return &account{
		region: cfg.Region, cfg: cfg, ec2: client, kube: dialer, principal: principal,
		observer: observe.New(observe.Options{
			EC2: client, EKS: eks.NewFromConfig(cfg), AutoScaling: autoscaling.NewFromConfig(cfg), ZonalShift: arczonalshift.NewFromConfig(cfg),
			Kube: dialer, Region: cfg.Region, Principal: principal,
		}),
	}, nil
}

// runner plugs the account into the pipeline. What the mode does not allow is not
// plugged in.
func (a *account) runner(s settings, f checkFlags, now func() time.Time) (*run.Runner, error) {
	r := &run.Runner{
		Observer: a.observer, Ledger: s.ledger, Policy: s.policy, Permitted: s.mode, Clock: now,
		ReadTime: f.timeout, ActTime: f.timeout,
		Tags: mark.New(a.ec2, a.principal),
	}
	if s.mode.Allows(policy.Notify) && f.topic != "" {
		r.Notices = report.NewTopic(sns.NewFromConfig(a.cfg), f.topic, a.principal)
	}
	if s.mode.Allows(policy.Remediate) {
		remediator, err := remediate.New(remediate.Options{
			Targets: a.observer, EC2: a.ec2, Kube: a.kube, Ledger: s.ledger, Permitted: s.mode, Principal: a.principal, Clock: now,
			// Read anew before each act: to set its mode to observe stops the next one.
			Policy: func(context.Context) (*policy.Document, error) { return readPolicy(f.policy) },
		})
		if err != nil {
			return nil, err
		}
		r.Orders = remediator
	}
	return r, nil
}
