// Package apistats stands between clients and the APIs that they call. A [Counter] counts the
// requests that are sent: each try by itself, since each is one for the quota, and how many
// were refused for their rate or for want of a permission. An [Interceptor] sees each call
// to AWS as a whole, to record it or to answer it.
package apistats

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"rollcall/shared/aws/awserr"
)

// Kubernetes is the service that requests to API servers of clusters are counted under.
const Kubernetes = "kubernetes"

// names are what AWS's services are counted under, by what their clients call them: the
// prefix of their actions.
var names = map[string]string{
	"ARC Zonal Shift": "arc-zonal-shift",
	"Auto Scaling":    "autoscaling",
	"DynamoDB":        "dynamodb",
	"EC2":             "ec2",
	"EKS":             "eks",
	"EventBridge":     "events",
	"IAM":             "iam",
	"S3":              "s3",
	"SNS":             "sns",
	"SQS":             "sqs",
	"SSM":             "ssm",
	"STS":             "sts",
	"Scheduler":       "scheduler",
}

// Services lists what requests are counted under. A service that is not on it is counted
// under what its client calls it.
func Services() []string {
	all := []string{Kubernetes}
	for _, name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Count is what was sent to a service.
type Count struct {
	Sent      int // tries, whatever came of them
	Throttled int // of these, refused for their rate
	Denied    int // of these, refused for want of a permission
}

// Counter counts. It is safe for concurrent use; a nil one counts nothing.
type Counter struct {
	mu sync.Mutex
	by map[string]Count
}

// Take returns what was counted since it was last called, by service.
func (c *Counter) Take() map[string]Count {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.by
	c.by = nil
	return out
}

func (c *Counter) add(service string, throttled, denied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]Count{}
	}
	n := c.by[service]
	n.Sent++
	if throttled {
		n.Throttled++
	}
	if denied {
		n.Denied++
	}
	c.by[service] = n
}

// retrying is the step of the SDK that tries again: what stands behind it happens with each
// try. A request that is only signed, as the token for a cluster is, has no such step, and
// nothing is sent.
const retrying = "Retry"

// Watch counts what the clients send that are made of the configuration.
// https://docs.aws.amazon.com/sdk-for-go/v2/developer-guide/middleware.html
func (c *Counter) Watch(cfg *aws.Config) {
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		if _, sends := stack.Finalize.Get(retrying); !sends {
			return nil
		}
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("RollcallCalls", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleFinalize(ctx, in)
			c.add(service(ctx), awserr.IsThrottled(err), awserr.IsDenied(err))
			return out, metadata, err
		}), retrying, middleware.After)
	})
}

// service is what the service of a call is counted under.
func service(ctx context.Context) string {
	id := awsmiddleware.GetServiceID(ctx)
	if name, ok := names[id]; ok {
		return name
	}
	return id
}

// Transport counts what is sent to the API servers of clusters. It is put around what
// sends.
func (c *Counter) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{counter: c, next: next}
}

type transport struct {
	counter *Counter
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	status := 0
	if err == nil {
		status = res.StatusCode
	}
	t.counter.add(Kubernetes, status == http.StatusTooManyRequests, status == http.StatusUnauthorized || status == http.StatusForbidden)
	return res, err
}
