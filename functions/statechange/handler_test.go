package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/config"
	"rollcall/shared/roll"
	"rollcall/shared/trigger"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

// world is an account with instances, schedules and no policy. It pages and fails as
// the test says, and counts.
type world struct {
	instances map[string]types.Instance
	scheduled map[trigger.Check]bool
	describes int
	creates   int
	failEC2   map[int]bool // by number of the call
	failMade  map[string]bool
}

func newWorld() *world {
	return &world{instances: map[string]types.Instance{}, scheduled: map[trigger.Check]bool{}, failEC2: map[int]bool{}, failMade: map[string]bool{}}
}

func (w *world) launch(n int, at time.Time, tags ...string) string {
	id := fmt.Sprintf("i-%017x", n)
	i := types.Instance{InstanceId: aws.String(id), LaunchTime: aws.Time(at), VpcId: aws.String("vpc-1")}
	for k := 0; k < len(tags); k += 2 {
		i.Tags = append(i.Tags, types.Tag{Key: aws.String(tags[k]), Value: aws.String(tags[k+1])})
	}
	w.instances[id] = i
	return id
}

func (w *world) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	w.describes++
	if w.failEC2[w.describes] {
		return nil, errors.New("no answer")
	}
	if len(in.Filters) != 1 || len(in.Filters[0].Values) > 200 || !aws.ToBool(in.IncludeManagedResources) {
		return nil, fmt.Errorf("a request that EC2 refuses: %+v", in)
	}
	out := &ec2.DescribeInstancesOutput{}
	for _, id := range in.Filters[0].Values {
		if i, ok := w.instances[id]; ok {
			out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{i}})
		}
	}
	return out, nil
}

func (w *world) At(_ context.Context, c trigger.Check) (bool, error) {
	w.creates++
	if w.failMade[c.Cluster] {
		return false, errors.New("no schedule")
	}
	made := !w.scheduled[c]
	w.scheduled[c] = true
	return made, nil
}

func (w *world) GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	return nil, &ssmtypes.ParameterNotFound{}
}

func (w *world) handler() *handler {
	return &handler{
		ec2: w, schedules: w, policies: config.NewPolicyStore(w, config.Settings{PolicyParameter: "/rollcall/policy"}),
		now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler), metrics: io.Discard,
	}
}

func event(id, state string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-%s-%s","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"111122223333","time":"2026-03-10T12:00:20Z","region":"eu-west-1","resources":["arn:aws:ec2:eu-west-1:111122223333:instance/%s"],"detail":{"instance-id":"%s","state":"%s"}}`, id, state, id, id, state)
}

func batch(bodies ...string) events.SQSEvent {
	var b events.SQSEvent
	for i, body := range bodies {
		b.Records = append(b.Records, events.SQSMessage{MessageId: fmt.Sprintf("m-%d", i), Body: body})
	}
	return b
}

func (w *world) dues(cluster string) (out []string) {
	for c := range w.scheduled {
		if c.Cluster == cluster {
			out = append(out, c.Due.Format("15:04"))
		}
	}
	slices.Sort(out)
	return out
}

func failures(r events.SQSEventResponse) (out []string) {
	for _, f := range r.BatchItemFailures {
		out = append(out, f.ItemIdentifier)
	}
	return out
}

const claim = "kubernetes.io/cluster/demo"

func TestARunningInstanceGetsTheMinutesOfItsDeadlines(t *testing.T) {
	w := newWorld()
	id := w.launch(1, now.Add(-20*time.Second), claim, "owned")
	r, err := w.handler().handle(t.Context(), batch(event(id, "running")))
	if err != nil || len(r.BatchItemFailures) != 0 {
		t.Fatal(r, err)
	}
	if got := w.dues("demo"); !slices.Equal(got, []string{"12:06", "12:16"}) {
		t.Errorf("checks at %v, want five and fifteen minutes after the launch, rounded up", got)
	}
}

func TestDeadlinesAreThoseOfTheInstance(t *testing.T) {
	for want, set := range map[string]func(*types.Instance){
		"12:11 12:31": func(i *types.Instance) { i.InstanceType = "p5.48xlarge" },
		"12:11 12:32": func(i *types.Instance) {
			i.InstanceType = "p5.48xlarge"
			i.Tags = append(i.Tags, types.Tag{Key: aws.String(roll.TagDeadline), Value: aws.String("31m")})
		},
	} {
		w := newWorld()
		id := w.launch(1, now.Add(-20*time.Second), claim, "owned")
		i := w.instances[id]
		set(&i)
		w.instances[id] = i
		if _, err := w.handler().handle(t.Context(), batch(event(id, "running"))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.dues("demo"), " "); got != want {
			t.Errorf("checks at %s, want %s", got, want)
		}
	}
}

func TestAnInstanceThatWentBringsOneCheck(t *testing.T) {
	for _, state := range []string{"stopping", "stopped", "shutting-down", "terminated"} {
		w := newWorld()
		id := w.launch(1, now.Add(-time.Hour), claim, "owned")
		if _, err := w.handler().handle(t.Context(), batch(event(id, state))); err != nil {
			t.Fatal(err)
		}
		if got := w.dues("demo"); !slices.Equal(got, []string{"12:06"}) {
			t.Errorf("%s: checks at %v", state, got)
		}
	}
}

func TestWhatIsNotOursIsAnOutcome(t *testing.T) {
	w := newWorld()
	other := w.launch(1, now)
	badName := w.launch(2, now, "kubernetes.io/cluster/not a name", "owned")
	r, err := w.handler().handle(t.Context(), batch(event(other, "running"), event(badName, "running"), event("i-00000000000000fff", "running"), event(other, "pending"), "{", `{"version":"0"}`))
	if err != nil || len(r.BatchItemFailures) != 0 || len(w.scheduled) != 0 {
		t.Errorf("%+v, %v, %v", r, err, w.scheduled)
	}
}

func TestOnlyInstancesOfTheWantedVPCs(t *testing.T) {
	w := newWorld()
	id := w.launch(1, now, claim, "owned")
	h := w.handler()
	h.vpcs = []string{"vpc-2"}
	if _, err := h.handle(t.Context(), batch(event(id, "running"))); err != nil || len(w.scheduled) != 0 {
		t.Errorf("%v, %v", w.scheduled, err)
	}
	h.vpcs = []string{"vpc-2", "vpc-1"}
	if _, err := h.handle(t.Context(), batch(event(id, "running"))); err != nil || len(w.scheduled) != 2 {
		t.Errorf("%v, %v", w.scheduled, err)
	}
}

func TestOnlyWhatARetryMayHelpComesAgain(t *testing.T) {
	w := newWorld()
	w.failMade["sick"] = true
	ours := w.launch(1, now, claim, "owned")
	theirs := w.launch(2, now, "kubernetes.io/cluster/sick", "owned")
	r, err := w.handler().handle(t.Context(), batch("{", event(ours, "running"), event(theirs, "running"), event(theirs, "terminated")))
	if err != nil || !slices.Equal(failures(r), []string{"m-2", "m-3"}) {
		t.Errorf("%v, %v", failures(r), err)
	}
	w = newWorld()
	w.failEC2[2] = true
	var bodies []string
	for n := range 300 {
		bodies = append(bodies, event(w.launch(n, now, claim, "owned"), "running"))
	}
	r, err = w.handler().handle(t.Context(), batch(bodies...))
	if err != nil || len(r.BatchItemFailures) != 100 || failures(r)[0] != "m-200" {
		t.Errorf("%d failures, %v", len(r.BatchItemFailures), err)
	}
	if got := w.dues("demo"); len(got) != 2 {
		t.Errorf("checks at %v: the first 200 instances were looked up", got)
	}
}

func TestTheSamplesAreServed(t *testing.T) {
	samples, err := filepath.Glob("../../events/statechange-*.json")
	if err != nil || len(samples) < 5 {
		t.Fatal(samples, err)
	}
	for _, name := range samples {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b events.SQSEvent
		if err := json.Unmarshal(data, &b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r, err := newWorld().handler().handle(t.Context(), b); err != nil || len(r.BatchItemFailures) != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// burst lets n instances of one cluster start within a minute, and their events come in
// batches of a size, one by one and in no order.
func burst(tb testing.TB, n, size int) *world {
	tb.Helper()
	w := newWorld()
	h := w.handler()
	bodies := make([]string, n)
	for i := range n {
		at := now.Truncate(time.Minute).Add(time.Duration(i*60_000/n) * time.Millisecond)
		bodies[(i*7919)%n] = event(w.launch(i, at, claim, "owned"), "running")
	}
	for some := range slices.Chunk(bodies, size) {
		if r, err := h.handle(tb.Context(), batch(some...)); err != nil || len(r.BatchItemFailures) != 0 {
			tb.Fatal(r, err)
		}
	}
	return w
}

func TestABurstCostsFewCallsAndFewChecks(t *testing.T) {
	w := burst(t, 5000, batchSize(t))
	if w.describes > 100 {
		t.Errorf("%d calls of DescribeInstances, want at most 100", w.describes)
	}
	if got := w.dues("demo"); !slices.Equal(got, []string{"12:05", "12:06", "12:15", "12:16"}) {
		t.Errorf("checks at %v, want at most two for the warning and two for the deadline", got)
	}
}

func BenchmarkBurst(b *testing.B) {
	size := batchSize(b)
	var w *world
	for b.Loop() {
		w = burst(b, 5000, size)
	}
	b.ReportMetric(float64(w.describes), "describes")
	b.ReportMetric(float64(w.creates), "schedule-calls")
	b.ReportMetric(float64(len(w.scheduled)), "checks")
}

// batchSize is the template's own.
func batchSize(tb testing.TB) int {
	tb.Helper()
	data, err := os.ReadFile("../../template.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	_, after, ok := bytes.Cut(data, []byte("StateChangeFunction:\n"))
	if !ok {
		tb.Fatal("the template has no StateChangeFunction")
	}
	_, after, ok = bytes.Cut(after, []byte("BatchSize: "))
	var size int
	if _, err := fmt.Sscan(string(after[:min(len(after), 10)]), &size); !ok || err != nil || size < 1 {
		tb.Fatalf("no batch size: %v", err)
	}
	return size
}
