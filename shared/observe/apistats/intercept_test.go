package apistats

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/tests/harness/expect"
)

// simulated is an EC2 client that implements one call.
type simulated struct{}

func (simulated) DescribeVpcs(_ context.Context, in *ec2.DescribeVpcsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error) {
	return &ec2.DescribeVpcsOutput{NextToken: in.NextToken}, nil
}

func (simulated) DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return nil, errors.New("simulated")
}

func TestTheLastInterceptorSeesACallFirst(t *testing.T) {
	var log []string
	noting := func(name string) Interceptor {
		return func(ctx context.Context, in any, next Call) (any, error) {
			log = append(log, name+" "+Action(ctx))
			return next(ctx, in)
		}
	}
	a := &answers{all: []string{found}}
	cfg := Intercept(Intercept(Intercept(configure(&Counter{}, a), noting("inner")), Methods(simulated{})), noting("outer"))
	client := ec2.NewFromConfig(cfg)
	out, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{NextToken: aws.String("page")})
	expect.That(t, err == nil && aws.ToString(out.NextToken) == "page", "got %+v, %v", out, err)
	if _, err := client.DescribeSubnets(t.Context(), nil); err == nil || !strings.HasSuffix(err.Error(), "simulated") {
		t.Errorf("got %v", err)
	}
	expect.That(t, a.sent == 0, "%d requests were sent for simulated calls", a.sent)
	if _, err := client.DescribeInstances(t.Context(), nil); err != nil || a.sent != 1 {
		t.Errorf("%d requests were sent: %v", a.sent, err)
	}
	_, _ = autoscaling.NewFromConfig(cfg).DescribeTags(t.Context(), nil)
	want := "outer ec2:DescribeVpcs, outer ec2:DescribeSubnets, outer ec2:DescribeInstances, inner ec2:DescribeInstances, outer autoscaling:DescribeTags, inner autoscaling:DescribeTags"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
