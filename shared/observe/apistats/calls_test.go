package apistats

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// answers are the answers of a service in order. The last one repeats.
type answers struct {
	mu   sync.Mutex
	all  []string // of HTTP: a status and a body; "" does not answer
	sent int
}

func (a *answers) Do(*http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.all[min(a.sent, len(a.all)-1)]
	a.sent++
	if answer == "" {
		return nil, errors.New("no route to host")
	}
	status, body, _ := strings.Cut(answer, " ")
	codes := map[string]int{"200": 200, "400": 400, "403": 403, "503": 503}
	return &http.Response{StatusCode: codes[status], Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func configure(c *Counter, a *answers) aws.Config {
	cfg := aws.Config{
		Region: "eu-west-1", HTTPClient: a, Credentials: credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "x", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
	c.Watch(&cfg)
	return cfg
}

const (
	found     = `200 <DescribeInstancesResponse/>`
	throttled = `503 <Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slowly</Message></Error></Errors></Response>`
	denied    = `403 <Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>`
)

func TestEveryTryCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []string
		want    Count
	}{
		"answered":         {[]string{found}, Count{Sent: 1}},
		"throttled twice":  {[]string{throttled, throttled, found}, Count{Sent: 3, Throttled: 2}},
		"throttled always": {[]string{throttled}, Count{Sent: 3, Throttled: 3}},
		"denied":           {[]string{denied}, Count{Sent: 1, Denied: 1}},
		"not answered":     {[]string{""}, Count{Sent: 3}},
	} {
		c, a := &Counter{}, &answers{all: tt.answers}
		_, _ = ec2.NewFromConfig(configure(c, a)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
		expect.Same(t, c.Take(), map[string]Count{"ec2": tt.want}, "%s: counts", name)
		expect.Equal(t, a.sent, tt.want.Sent, "%s: requests sent", name)
		expect.That(t, len(c.Take()) == 0, "%s: counted twice", name)
	}
}

// The name under which a service is counted must not depend on the client's spelling.
func TestTheServicesAreTheOnesThatAreCalled(t *testing.T) {
	c := &Counter{}
	cfg, ctx := configure(c, &answers{all: []string{`400 {}`}}), t.Context()
	_, _ = arczonalshift.NewFromConfig(cfg).GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String("x")})
	_, _ = autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups(ctx, nil)
	_, _ = dynamodb.NewFromConfig(cfg).Query(ctx, &dynamodb.QueryInput{TableName: aws.String("x")})
	_, _ = ec2.NewFromConfig(cfg).DescribeInstances(ctx, nil)
	_, _ = eks.NewFromConfig(cfg).ListClusters(ctx, nil)
	_, _ = eventbridge.NewFromConfig(cfg).ListEventBuses(ctx, nil)
	_, _ = iam.NewFromConfig(cfg).GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("x")})
	_, _ = s3.NewFromConfig(cfg).GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("bucket"), Key: aws.String("x")})
	_, _ = scheduler.NewFromConfig(cfg).ListSchedules(ctx, nil)
	_, _ = sns.NewFromConfig(cfg).ListTopics(ctx, nil)
	_, _ = sqs.NewFromConfig(cfg).ListQueues(ctx, nil)
	_, _ = ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("x")})
	_, _ = sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	want := map[string]Count{}
	for _, s := range Services() {
		if s != Kubernetes {
			want[s] = Count{Sent: 1}
		}
	}
	expect.Same(t, c.Take(), want, "counts")
}

// A token for a cluster is a request that is signed here and sent by others.
func TestWhatIsOnlySignedDoesNotCount(t *testing.T) {
	c, a := &Counter{}, &answers{all: []string{found}}
	signed, err := sts.NewPresignClient(sts.NewFromConfig(configure(c, a))).PresignGetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	must.That(t, err == nil && strings.Contains(signed.URL, "X-Amz-Signature"), "%v: %+v", err, signed)
	if n := c.Take(); len(n) != 0 || a.sent != 0 {
		t.Errorf("counted %v, sent %d", n, a.sent)
	}
}

type roundTrip func() (*http.Response, error)

func (r roundTrip) RoundTrip(*http.Request) (*http.Response, error) { return r() }

func TestRequestsToClustersCount(t *testing.T) {
	c := &Counter{}
	for _, status := range []int{200, 404, 429, 401, 403, 0} {
		next := roundTrip(func() (*http.Response, error) {
			if status == 0 {
				return nil, errors.New("no route to host")
			}
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		})
		res, err := c.Transport(next).RoundTrip(&http.Request{})
		if (err != nil) != (status == 0) || err == nil && res.StatusCode != status {
			t.Errorf("%d: %v, %v", status, res, err)
		}
		if res != nil {
			_ = res.Body.Close()
		}
	}
	expect.Same(t, c.Take(), map[string]Count{Kubernetes: {Sent: 6, Throttled: 1, Denied: 2}}, "counts")
}

func TestCountsFromManySidesAddUp(t *testing.T) {
	c, a := &Counter{}, &answers{all: []string{found}}
	client := ec2.NewFromConfig(configure(c, a))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, _ = client.DescribeInstances(t.Context(), nil)
			c.add(Kubernetes, true, false)
		})
	}
	all.Wait()
	expect.Same(t, c.Take(), map[string]Count{"ec2": {Sent: 20}, Kubernetes: {Sent: 20, Throttled: 20}}, "counts")
	var none *Counter
	expect.That(t, none.Take() == nil, "nobody counts something")
}
