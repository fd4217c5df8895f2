package apistats

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

func TestADirectCallIsLikeOneOfTheSDK(t *testing.T) {
	seen := ""
	cfg := Intercept(Answered("eu-west-1", Methods(simulated{})), func(ctx context.Context, in any, next Call) (any, error) {
		seen = Action(ctx)
		if seen == "autoscaling:DescribeTags" {
			return nil, errors.New("throttled")
		}
		return next(ctx, in)
	})
	e, a := ec2.NewFromConfig(cfg), autoscaling.NewFromConfig(cfg)
	subnets, tags := Direct(&cfg, e.DescribeSubnets), Direct(&cfg, a.DescribeTags)
	for name, call := range map[string]func() [2]error{
		"ec2:DescribeSubnets": func() [2]error {
			_, want := e.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			_, got := subnets(t.Context(), &ec2.DescribeSubnetsInput{})
			return [2]error{want, got}
		},
		"autoscaling:DescribeTags": func() [2]error {
			_, want := a.DescribeTags(t.Context(), &autoscaling.DescribeTagsInput{})
			_, got := tags(t.Context(), &autoscaling.DescribeTagsInput{})
			return [2]error{want, got}
		},
	} {
		if errs := call(); seen != name || errs[0].Error() != errs[1].Error() {
			t.Errorf("%s was seen as %s: %q, want %q", name, seen, errs[1], errs[0])
		}
	}
	page := "page"
	if out, err := Direct(&cfg, e.DescribeVpcs)(t.Context(), &ec2.DescribeVpcsInput{NextToken: &page}); err != nil || *out.NextToken != page {
		t.Errorf("got %+v, %v", out, err)
	}
}
