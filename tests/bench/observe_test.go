package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"rollcall/shared/kube"
	"rollcall/shared/observe"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// at is the time of all observations.
var at = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// site is one canned cluster with its clients.
type site struct {
	nodes int
	wire  *wire
	aws   string // endpoint of the AWS APIs
	kube  string // endpoint of the Kubernetes API
	ca    []byte
	ec2   *ec2.Client
	eks   *eks.Client
	cfg   aws.Config // for both
}

func newSite(a addresses, nodes int, t trouble) site {
	path := "/" + strconv.Itoa(nodes) + "-" + string(t)
	s := site{nodes: nodes, wire: &wire{sent: map[string]int{}}, aws: a.AWS + path, kube: a.Kube + path, ca: a.CA}
	cfg := aws.Config{
		Region: region, BaseEndpoint: aws.String(s.aws), HTTPClient: wholeBodies{awshttp.NewBuildableClient(), s.wire},
		RetryMaxAttempts: 1, // a failure must fail the benchmark, not be measured twice
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAEXAMPLE", SecretAccessKey: "canned"}, nil
		}),
	}
	s.cfg, s.ec2, s.eks = cfg, ec2.NewFromConfig(cfg), eks.NewFromConfig(cfg)
	return s
}

// wholeBodies sends each request in one piece. The SDK's client closes the request body
// as soon as an answer arrives. An answer from the same machine can arrive before
// net/http has noticed the end of the body: then it treats the request as aborted and
// closes the connection under the answer.
// https://github.com/aws/aws-sdk-go-v2/issues/2737
type wholeBodies struct {
	client *awshttp.BuildableClient
	wire   *wire
}

// wire counts the requests to EC2 by their action, and the bytes of its answers, as XML.
type wire struct {
	sent  map[string]int
	bytes int64
}

// counted counts the bytes that are read.
type counted struct {
	io.ReadCloser
	into *int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.into += int64(n)
	return n, err
}

// Do implements aws.HTTPClient.
func (w wholeBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body)) // a type that net/http knows to be in memory
		if form, err := url.ParseQuery(string(body)); err == nil && form.Has("Action") {
			w.wire.sent[form.Get("Action")]++
			answer, err := w.client.Do(r)
			if err == nil {
				answer.Body = counted{answer.Body, &w.wire.bytes}
			}
			return answer, err
		}
	}
	return w.client.Do(r)
}

// seen counts the objects found by an observation.
type seen struct{ instances, nodes int }

// floor fetches and decodes what an observation does, and keeps nothing.
func (s site) floor(ctx context.Context) (seen, error) {
	var out seen
	in := &ec2.DescribeInstancesInput{
		Filters:                 []types.Filter{{Name: aws.String("tag-key"), Values: []string{"kubernetes.io/cluster/" + clusterName}}},
		IncludeManagedResources: aws.Bool(true),
		MaxResults:              aws.Int32(instancesPerPage),
	}
	for more := true; more; more = aws.ToString(in.NextToken) != "" {
		page, err := s.ec2.DescribeInstances(ctx, in)
		if err != nil {
			return out, fmt.Errorf("describe instances: %w", err)
		}
		for i := range page.Reservations {
			out.instances += len(page.Reservations[i].Instances)
		}
		in.NextToken = page.NextToken
	}
	client, parameters, err := s.kubeClient()
	if err != nil {
		return out, fmt.Errorf("make a Kubernetes client: %w", err)
	}
	options := metav1.ListOptions{Limit: kube.PageSize}
	for more := true; more; more = options.Continue != "" {
		var page corev1.NodeList
		if err := client.Get().Resource("nodes").VersionedParams(&options, parameters).Do(ctx).Into(&page); err != nil {
			return out, fmt.Errorf("list nodes: %w", err)
		}
		out.nodes += len(page.Items)
		options.Continue = page.Continue
	}
	return out, nil
}

func (s site) kubeClient() (rest.Interface, kruntime.ParameterCodec, error) {
	client, err := rest.RESTClientFor(&rest.Config{
		Host: s.kube, APIPath: "/api", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca},
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
			ContentType:          contentProtobuf, AcceptContentTypes: contentProtobuf,
		},
	})
	return client, kruntime.NewParameterCodec(scheme), err
}

// dialer connects to the canned API server, which needs no token: the cost of signing one
// does not depend on the size of the cluster.
type dialer struct{}

func (dialer) Dial(c roll.Cluster) (*kube.Client, error) {
	return kube.NewClient(c.Endpoint, c.CA, "rollcall-bench", nil)
}

// noGroups is an account without Auto Scaling groups. A check reads one page for a hundred
// groups, so the cost does not depend on the size of the cluster.
type noGroups struct{}

func (noGroups) DescribeAutoScalingInstances(context.Context, *autoscaling.DescribeAutoScalingInstancesInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	return &autoscaling.DescribeAutoScalingInstancesOutput{}, nil
}

func (noGroups) DescribeAutoScalingGroups(context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return &autoscaling.DescribeAutoScalingGroupsOutput{}, nil
}

func (noGroups) DescribeScalingActivities(context.Context, *autoscaling.DescribeScalingActivitiesInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	return &autoscaling.DescribeScalingActivitiesOutput{}, nil
}

// observe observes the cluster as a check does, without the pauses between pages.
func (s site) observe(ctx context.Context) *roll.Snapshot {
	return s.observer().Snapshot(ctx, clusterName, at, roll.Watch{})
}

func (s site) observer() *observe.Observer {
	return observe.New(observe.Options{AWS: apistats.Intercept(s.cfg, apistats.Methods(noGroups{})), Kube: dialer{}, PageInterval: time.Nanosecond})
}

// complaint returns an error that says what is missing from a snapshot of the canned
// cluster.
func (s site) complaint(snapshot *roll.Snapshot) error {
	if len(snapshot.Gaps) > 0 {
		return fmt.Errorf("the snapshot has gaps: %+v", snapshot.Gaps)
	}
	if len(snapshot.Instances) != s.nodes || len(snapshot.Nodes) != s.nodes {
		return fmt.Errorf("the snapshot has %d instances and %d nodes, want %d of each", len(snapshot.Instances), len(snapshot.Nodes), s.nodes)
	}
	members := roll.Pair(snapshot)
	if len(members) != s.nodes {
		return fmt.Errorf("%d members, want %d", len(members), s.nodes)
	}
	for _, m := range members {
		if m.Instance == nil || m.Node == nil {
			return fmt.Errorf("instance %q, node %q: not paired", m.ID(), m.NodeName())
		}
	}
	return nil
}

// floorFirst alternates which measurement runs first, over all benchmarks of the process:
// the second finds warmer caches.
var floorFirst bool

// looks is the minimum number of nodes that one iteration observes. A single observation
// of a small cluster is too short to average out changes of a busy machine's speed.
const looks = 20_000

// BenchmarkObserve observes clusters without faults.
//
// cpu-x-floor is the main figure; the aim is at most 1.3. In a large cluster it can fall
// below 1: with a snapshot that is kept, the collector lets more garbage accumulate
// before it runs, and that saves more than Rollcall adds.
//
// retained-B/node is what a snapshot keeps. beyond-page-B/node is how much more was alive
// at the peak than without a snapshot; the aim is less than 1,000. A peak varies by up to
// a page with the timing of the collector, so this figure is reported only where a page
// is small compared to the rest.
func BenchmarkObserve(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			warm(b)
			s := prepare(b, nodes, noTrouble)
			var floor, look cost
			var retained, rounds int64
			for b.Loop() {
				for range max(1, looks/nodes) {
					floorFirst = !floorFirst
					if floorFirst {
						floor.add(s.measureFloor(b))
					}
					c, kept := s.measureObservation(b)
					look.add(c)
					retained += kept
					if !floorFirst {
						floor.add(s.measureFloor(b))
					}
					rounds++
				}
			}
			per := func(total int64) float64 { return float64(total) / float64(rounds) / float64(nodes) }
			b.ReportMetric(0, "ns/op") // it would be that of both together, with the wait for the server
			b.ReportMetric(per(look.cpu.Nanoseconds())/1e3, "cpu-µs/node")
			b.ReportMetric(per(floor.cpu.Nanoseconds())/1e3, "floor-cpu-µs/node")
			b.ReportMetric(float64(look.cpu)/float64(floor.cpu), "cpu-x-floor")
			b.ReportMetric(per(int64(look.allocated)), "B/node")
			b.ReportMetric(per(int64(floor.allocated)), "floor-B/node")
			b.ReportMetric(per(retained), "retained-B/node")
			b.ReportMetric(float64(look.peak)/1e6, "peak-live-MB")
			b.ReportMetric(float64(floor.peak)/1e6, "floor-peak-live-MB")
			if nodes >= 10_000 {
				b.ReportMetric((float64(look.peak)-float64(floor.peak))/float64(nodes), "beyond-page-B/node")
			}
		})
	}
}

func (s site) measureFloor(b *testing.B) cost {
	b.Helper()
	var found seen
	var err error
	c := measure(b, func() { found, err = s.floor(b.Context()) })
	if found.instances != s.nodes || found.nodes != s.nodes {
		err = errors.Join(err, fmt.Errorf("the floor found %+v, want %d of each", found, s.nodes))
	}
	must.Succeed(b, err)
	return c
}

// measureObservation returns the cost of an observation and how many bytes the snapshot
// keeps.
func (s site) measureObservation(b *testing.B) (cost, int64) {
	b.Helper()
	collect()
	before := live()
	var snapshot *roll.Snapshot
	c := measure(b, func() { snapshot = s.observe(b.Context()) })
	collect()
	kept := int64(live()) - int64(before)
	if err := s.complaint(snapshot); err != nil { // also keeps the snapshot until here
		b.Fatal(err)
	}
	runtime.KeepAlive(snapshot)
	return c, kept
}

// warm observes a small cluster once, so that connections, type registries and pools
// exist before the measurement.
func warm(b *testing.B) {
	b.Helper()
	s := prepare(b, 1_000, noTrouble)
	if _, err := s.floor(b.Context()); err != nil {
		b.Fatal(err)
	}
	must.Succeed(b, s.complaint(s.observe(b.Context())))
}
