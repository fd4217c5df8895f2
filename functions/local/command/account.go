package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"rollcall/shared/archive"
	"rollcall/shared/awserr"
	"rollcall/shared/mark"
	"rollcall/shared/observe"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/run"
)

// account is the AWS account and region that the ambient credentials reach.
type account struct {
	region    string
	cfg       aws.Config
	view      *view.Account
	principal func(context.Context) string
}

// identityTime bounds the question who we are, which only serves messages.
const identityTime = 5 * time.Second

// connect loads the ambient configuration and makes sure that there are
// credentials, so that their lack is said once and not once per call. evidence is where
// evidence is kept, "" for nowhere.
func connect(ctx context.Context, env Environment, region, evidence string) (*account, error) {
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
	place, err := evidenceIn(cfg, evidence)
	if err != nil {
		return nil, err
	}
	look, err := view.Open(cfg, "rollcall/"+version(), view.Options{Principal: principal, Store: place, PageInterval: env.PageInterval})
	if err != nil {
		return nil, err
	}
	return &account{region: cfg.Region, cfg: cfg, view: look, principal: principal}, nil
}

// evidenceIn is where evidence is kept: a folder, or an S3 bucket as s3://BUCKET; nil for
// nowhere.
func evidenceIn(cfg aws.Config, place string) (view.Store, error) {
	bucket, inS3 := strings.CutPrefix(place, "s3://")
	switch {
	case place == "":
		return nil, nil
	case !inS3:
		return archive.NewDir(place), nil
	case bucket == "" || strings.Contains(strings.TrimSuffix(bucket, "/"), "/"):
		return nil, fmt.Errorf("--evidence %s: it takes a folder, or a bucket alone as s3://BUCKET", place)
	}
	return archive.NewS3(s3.NewFromConfig(cfg), strings.TrimSuffix(bucket, "/")), nil
}

// runner plugs the account into the pipeline. What the mode does not allow is not
// plugged in.
func (a *account) runner(s settings, f checkFlags, now func() time.Time) (*run.Runner, error) {
	r := &run.Runner{
		Observer: a.view.Observer, Why: a.view.Check, Ledger: s.ledger, Policy: s.policy, Permitted: s.mode, Clock: now, Unremembered: f.ledger == "",
		ReadTime: f.timeout, WhyTime: f.timeout, ActTime: f.timeout,
		Tags: mark.New(a.view.EC2, a.principal),
	}
	if s.mode.Allows(policy.Notify) && f.topic != "" {
		r.Notices = report.NewTopic(sns.NewFromConfig(a.cfg), f.topic, f.chat, a.principal)
	}
	if s.mode.Allows(policy.Remediate) {
		remediator, err := remediate.New(remediate.Options{
			Targets: a.view.Observer, EC2: a.view.EC2, Kube: a.view.Kube, Why: a.view.Act, Ledger: s.ledger, Permitted: s.mode, Principal: a.principal, Clock: now,
			// Read anew before each act: stop: true in it stops the next one.
			Policy: func(context.Context) (*policy.Document, error) { return readPolicy(f.policy) },
		})
		if err != nil {
			return nil, err
		}
		r.Orders = remediator
	}
	return r, nil
}
