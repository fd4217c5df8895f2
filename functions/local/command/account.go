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

// identityTime limits the call that reads the caller's identity, which only serves
// messages.
const identityTime = 5 * time.Second

// place is the account's region, and the settings for its calls.
type place struct {
	region   string        // "" uses the environment's
	evidence string        // where evidence is stored, "" for nowhere
	timeout  time.Duration // limit for finding the credentials, and for every attempt of a call
}

// someTime returns an error if the value of --timeout is not valid.
func someTime(timeout time.Duration) error {
	if timeout <= 0 {
		return fmt.Errorf("--timeout %s: it must be more than zero", timeout)
	}
	return nil
}

// connect loads the ambient configuration and checks that there are credentials, so that
// missing ones are reported once and not for each call. ctx is the context of the whole
// command.
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

// principalOf returns a function that returns the principal of the credentials, "" if
// unknown. It is read once, with the context of the whole command, since the first caller's
// context may be about to expire. A caller whose context has expired does not need the
// answer: its error was not a denial.
func principalOf(whole context.Context, api *sts.Client, limit time.Duration) func(context.Context) string {
	ask := sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(whole, limit)
		defer cancel()
		out, err := api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "" // only messages lose detail
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

// evidenceIn returns the evidence store: a folder, or an S3 bucket as s3://BUCKET; nil for
// no store.
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

// runner returns a runner for the account. It has only the parts that the mode allows.
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
			// Read again before each act: stop: true in it stops the next one.
			Policy: func(context.Context) (*policy.Document, error) { return readPolicy(f.policy) },
		})
		if err != nil {
			return nil, err
		}
		r.Orders = remediator
	}
	return r, nil
}
