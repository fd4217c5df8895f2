package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/aws/tags"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
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

// place is where the account is, and how long it may take.
type place struct {
	region   string        // "" as the environment has it
	evidence string        // where evidence is kept, "" for nowhere
	timeout  time.Duration // of finding the credentials, and of every attempt of a call
}

// someTime checks --timeout.
func someTime(timeout time.Duration) error {
	if timeout <= 0 {
		return fmt.Errorf("--timeout %s: it must be more than zero", timeout)
	}
	return nil
}

// connect loads the ambient configuration and makes sure that there are
// credentials, so that their lack is said once and not once per call. ctx is that of the
// whole command.
func connect(ctx context.Context, env Environment, p place) (*account, error) {
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(p.timeout))}
	if p.region != "" {
		options = append(options, config.WithRegion(p.region))
	}
	loading, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(loading, options...)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, give --region, or add one to the profile")
	}
	if _, err := cfg.Credentials.Retrieve(loading); err != nil {
		return nil, errors.New(awserr.Describe(err, "sts:GetCallerIdentity", ""))
	}
	principal := principalOf(ctx, sts.NewFromConfig(cfg), min(identityTime, p.timeout))
	store, err := evidenceIn(cfg, p.evidence)
	if err != nil {
		return nil, err
	}
	look, err := view.Open(cfg, "rollcall/"+version(), view.Options{Principal: principal, Store: store, PageInterval: env.PageInterval})
	if err != nil {
		return nil, err
	}
	return &account{region: cfg.Region, cfg: cfg, view: look, principal: principal}, nil
}

// principalOf tells whose credentials these are, "" if that is not known. It is asked once,
// in the time of the whole command: who asks first may have little left. To whoever has none
// left it matters not, since what he met was no refusal.
func principalOf(whole context.Context, api *sts.Client, limit time.Duration) func(context.Context) string {
	ask := sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(whole, limit)
		defer cancel()
		out, err := api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "" // only a message will say less
		}
		return aws.ToString(out.Arn)
	})
	return func(ctx context.Context) string {
		if ctx.Err() != nil {
			return ""
		}
		return ask()
	}
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
		Tags: tags.New(a.view.EC2, a.principal),
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
