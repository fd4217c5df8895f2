package command

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"

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

// principalOf returns a function that returns the principal of the credentials, "" if
// unknown. It is read once, with the context of the whole command, since the first caller's
// context may be about to expire. A caller whose context has expired does not need the
// answer: its error was not a denial.
func principalOf(whole context.Context, api *sts.Client) func(context.Context) string {
	ask := sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(whole, identityTime)
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
		ReadTime: f.readTime(),
		Tags:     tags.New(a.view.EC2, a.principal),
	}
	if s.mode.Allows(policy.Notify) && f.topic != "" {
		r.Notices = report.NewTopic(sns.NewFromConfig(a.cfg), f.topic, f.chat, a.principal).From(version())
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
