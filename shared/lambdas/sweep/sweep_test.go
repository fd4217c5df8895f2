package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/observe/apistats"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// region has clusters, two to a page, and tags.
type region struct {
	clusters []string
	tags     []string
	vpcs     map[string]string
	sizes    map[string]int
	failing  map[string]bool
	sent     []string
	tagCalls int
	planned  time.Time // for which the schedule planned the sweep, zero if a person invokes it
}

func (r *region) ListClusters(_ context.Context, in *eks.ListClustersInput, _ ...func(*eks.Options)) (*eks.ListClustersOutput, error) {
	if r.failing["eks:ListClusters"] {
		return nil, errors.New("no answer")
	}
	from := 0
	if in.NextToken != nil {
		_, _ = fmt.Sscan(*in.NextToken, &from)
	}
	to := min(from+2, len(r.clusters))
	out := &eks.ListClustersOutput{Clusters: r.clusters[from:to]}
	if to < len(r.clusters) {
		out.NextToken = aws.String(fmt.Sprint(to))
	}
	return out, nil
}

func (r *region) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	if r.failing["describe "+aws.ToString(in.Name)] {
		return nil, errors.New("not for this role")
	}
	vpc, ok := r.vpcs[aws.ToString(in.Name)]
	if !ok {
		return nil, &ekstypes.ResourceNotFoundException{}
	}
	return &eks.DescribeClusterOutput{Cluster: &ekstypes.Cluster{ResourcesVpcConfig: &ekstypes.VpcConfigResponse{VpcId: aws.String(vpc)}}}, nil
}

func (r *region) DescribeTags(context.Context, *ec2.DescribeTagsInput, ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error) {
	r.tagCalls++
	if r.failing["ec2:DescribeTags"] {
		return nil, errors.New("no answer")
	}
	out := &ec2.DescribeTagsOutput{}
	for _, t := range r.tags {
		out.Tags = append(out.Tags, ec2types.TagDescription{Key: aws.String(t)})
	}
	return out, nil
}

func (r *region) Sizes(context.Context, string) (map[string]int, error) {
	if r.failing["sizes"] {
		return nil, errors.New("no table")
	}
	return r.sizes, nil
}

func (r *region) Send(_ context.Context, c trigger.Check) error {
	if r.failing[c.Cluster] {
		return errors.New("no queue")
	}
	r.sent = append(r.sent, string(c.Encode()))
	return nil
}

func (r *region) sweep(t *testing.T, at time.Time, vpcs ...string) error {
	t.Helper()
	r.sent = nil
	h := &Handler{Ambient: around(at, io.Discard), EKS: r, EC2: r, Fleet: r, Checks: r, Interval: 5 * time.Minute, VPCs: vpcs}
	if r.planned.IsZero() {
		return h.Handle(t.Context(), []byte("{}"))
	}
	return h.Handle(t.Context(), fmt.Appendf(nil, `{"planned":%q}`, r.planned.Format(time.RFC3339)))
}

func names(sent []string) (out []string) {
	for _, s := range sent {
		c, err := trigger.ParseCheck([]byte(s))
		if err != nil {
			panic(err)
		}
		out = append(out, c.Cluster)
	}
	return out
}

var swept = time.Date(2026, 3, 10, 12, 20, 7, 0, time.UTC)

func TestOneMessagePerClusterForTheMinuteThatHasBegun(t *testing.T) {
	r := &region{clusters: []string{"a", "b", "c"}, tags: []string{"kubernetes.io/cluster/gone"}}
	for range 2 { // the same twice: the queue drops repeated content
		must.Succeed(t, r.sweep(t, swept))
		want := []string{`{"cluster":"a","due":"2026-03-10T12:20:00Z"}`, `{"cluster":"b","due":"2026-03-10T12:20:00Z"}`, `{"cluster":"c","due":"2026-03-10T12:20:00Z"}`}
		expect.That(t, slices.Equal(r.sent, want), "sent %q", r.sent)
	}
	expect.That(t, r.tagCalls == 0, "tags are looked up once an hour")
}

func TestOnceAnHourAlsoClustersThatOnlyTagsKnow(t *testing.T) {
	r := &region{clusters: []string{"a"}, tags: []string{"kubernetes.io/cluster/gone", "kubernetes.io/cluster/a", "kubernetes.io/cluster/gone", "kubernetes.io/cluster/not a name", "Name"}}
	hour := swept.Truncate(time.Hour)
	for offset, want := range map[time.Duration][]string{0: {"a", "gone"}, 4*time.Minute + 59*time.Second: {"a", "gone"}, 5 * time.Minute: {"a"}, 55 * time.Minute: {"a"}} {
		if err := r.sweep(t, hour.Add(offset)); err != nil || !slices.Equal(names(r.sent), want) {
			t.Errorf("%s after the hour: %v, %v, want %v", offset, names(r.sent), err, want)
		}
	}
	r.failing = map[string]bool{"ec2:DescribeTags": true}
	if err := r.sweep(t, hour); err != nil || !slices.Equal(names(r.sent), []string{"a"}) {
		t.Errorf("tags unreadable: %v, %v: what EKS knows is checked all the same", names(r.sent), err)
	}
}

// The turns of a large cluster may all be in sweeps that do not ask for what only tags know.
func TestWhatALargeDeletedClusterLeftIsSweptOnceAnHour(t *testing.T) {
	r := &region{sizes: map[string]int{}}
	for i := range 12 {
		name := fmt.Sprint("gone-", i)
		r.sizes[name], r.tags = 5000, append(r.tags, "kubernetes.io/cluster/"+name)
	}
	must.Succeed(t, r.sweep(t, swept.Truncate(time.Hour)))
	expect.That(t, len(r.sent) == 12, "sent %v, want all 12", names(r.sent))
}

// A schedule fires some seconds late, and the clock may be behind: the sweep goes by the planned time.
func TestSweepsAreCountedByThePlannedTime(t *testing.T) {
	hour := swept.Truncate(time.Hour)
	r := &region{clusters: []string{"large"}, sizes: map[string]int{"large": 2002}, tags: []string{"kubernetes.io/cluster/gone"}}
	count := map[string]int{}
	for i := range 24 { // two hours, of which each other sweep seems to come before its turn
		planned := hour.Add(time.Duration(i) * 5 * time.Minute)
		r.planned = planned
		must.Succeed(t, r.sweep(t, planned.Add([]time.Duration{-2 * time.Second, 7 * time.Second}[i%2])))
		for _, n := range names(r.sent) {
			count[n]++
		}
	}
	expect.That(t, count["large"] == 12 && count["gone"] == 2, "in two hours: %v, want 12 large and 2 gone", count)
}

func TestOnlyClustersOfTheWantedVPCs(t *testing.T) {
	r := &region{clusters: []string{"a", "b", "deleted"}, vpcs: map[string]string{"a": "vpc-1", "b": "vpc-2"}, tags: []string{"kubernetes.io/cluster/gone"}}
	if err := r.sweep(t, swept.Truncate(time.Hour), "vpc-2"); err != nil || !slices.Equal(names(r.sent), []string{"b"}) {
		t.Errorf("sent %v, %v", names(r.sent), err)
	}
}

// A service control policy can deny a cluster by its tag. The others are checked, and a sweep that could tell of none is no
// completed check.
func TestAClusterThatCannotBeDescribedKeepsNoOtherFromItsCheck(t *testing.T) {
	r := &region{clusters: []string{"a", "b"}, vpcs: map[string]string{"a": "vpc-1", "b": "vpc-1"}, failing: map[string]bool{"describe a": true}}
	err := r.sweep(t, swept, "vpc-1")
	if err == nil || !strings.Contains(err.Error(), "the VPC of a: eks:DescribeCluster failed: not for this role") || !slices.Equal(names(r.sent), []string{"b"}) {
		t.Errorf("sent %v, %v", names(r.sent), err)
	}
	var out bytes.Buffer
	r.failing["describe b"] = true
	h := &Handler{Ambient: around(swept, &out), EKS: r, EC2: r, Fleet: r, Checks: r, Interval: 5 * time.Minute, VPCs: []string{"vpc-1"}}
	if err := h.Handle(t.Context(), nil); err == nil || strings.Contains(out.String(), "ChecksCompleted") {
		t.Errorf("%v: %s", err, &out)
	}
}

func TestALargeClusterIsSweptLessOften(t *testing.T) {
	r := &region{clusters: []string{"huge", "large", "small"}, sizes: map[string]int{"huge": 100_000, "large": 5000}}
	count := map[string]int{}
	for i := range 24 { // two hours
		must.Succeed(t, r.sweep(t, swept.Add(time.Duration(i)*5*time.Minute)))
		for _, n := range names(r.sent) {
			count[n]++
		}
	}
	expect.That(t, count["small"] == 24 && count["large"] == 8 && count["huge"] == 2, "in two hours: %v, want 24 small, 8 large, 2 huge", count)
	r.failing = map[string]bool{"sizes": true}
	if err := r.sweep(t, swept); err != nil || len(r.sent) != 3 {
		t.Errorf("sizes unreadable: sent %v, %v, want every cluster", names(r.sent), err)
	}
}

func TestAFailureIsRepeatedByLambda(t *testing.T) {
	r := &region{clusters: []string{"a", "b", "c"}, failing: map[string]bool{"b": true}}
	if err := r.sweep(t, swept); err == nil || !slices.Equal(names(r.sent), []string{"a", "c"}) {
		t.Errorf("sent %v, %v, want the others served and an error", names(r.sent), err)
	}
	r.failing = map[string]bool{"eks:ListClusters": true}
	err := r.sweep(t, swept)
	expect.That(t, err != nil && strings.Contains(err.Error(), "eks:ListClusters"), "got %v", err)
}

// Calls to AWS are counted with the invocation that made them.
func TestCallsAreCounted(t *testing.T) {
	var out bytes.Buffer
	c := &apistats.Counter{}
	answer := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	res, err := c.Transport(answer).RoundTrip(&http.Request{})
	must.Succeed(t, err)
	_ = res.Body.Close()
	r := &region{}
	h := &Handler{EKS: r, EC2: r, Fleet: r, Checks: r, Interval: 5 * time.Minute}
	h.Ambient = around(now, &out)
	h.Calls = c
	if err := h.Handle(t.Context(), nil); err != nil || !strings.Contains(out.String(), `"Service":"kubernetes"`) || !strings.Contains(out.String(), "ChecksCompleted") {
		t.Errorf("%v: %s", err, &out)
	}
	out.Reset()
	r.clusters = []string{"a"} // its own check counts
	if err := h.Handle(t.Context(), nil); err != nil || strings.Contains(out.String(), "ChecksCompleted") {
		t.Errorf("%v: %s", err, &out)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
