// Package apistats intercepts the requests of clients to APIs. A [Counter] counts the requests
// sent, each try separately, since each counts against the quota. It also counts how many were
// throttled or denied. An [Interceptor] sees each call to AWS as a whole, to record it or to answer
// it.
package apistats

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"rollcall/shared/aws/awserr"
)

// Kubernetes is the service name for requests to API servers of clusters.
const Kubernetes = "kubernetes"

// names maps AWS services, by the names that their clients use, to the names under which they are
// counted: the prefix of their actions.
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

// Services returns the names under which requests are counted. A service that is not listed is
// counted under the name that its client uses.
func Services() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Values(names)), Kubernetes)))
}

// Count is the number of requests to a service.
type Count struct {
	Sent      int // tries, with any result
	Throttled int // of these, throttled
	Denied    int // of these, denied for a missing permission
}

// Counter counts requests. It is safe for concurrent use; a nil Counter counts nothing.
type Counter struct {
	mu sync.Mutex
	by map[string]Count
}

// Take returns the counts since it was last called, by service.
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

// retrying is the SDK's retry step: what comes after it runs for each try. A request that is only
// signed, such as the token for a cluster, has no such step, and nothing is sent.
const retrying = "Retry"

// Watch counts the requests of clients created from the configuration.
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

// service returns the name under which a call is counted.
func service(ctx context.Context) string {
	id := awsmiddleware.GetServiceID(ctx)
	if name, ok := names[id]; ok {
		return name
	}
	return id
}

// Transport returns a transport that counts the requests to the API servers of clusters and passes
// them to next.
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
