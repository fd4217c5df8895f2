package statechange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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

	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/logtest"
	"rollcall/tests/harness/must"
)

// account has instances, schedules and the stack's policy. It pages and fails as the test
// requires, and counts calls.
type account struct {
	instances map[string]types.Instance
	scheduled map[trigger.Check]bool
	describes int
	creates   int
	failEC2   map[int]bool // by number of the call
	failMade  map[string]bool
	policy    string // "" means that the parameter is gone
	memory    *ledger.Memory
}

func newAccount() *account {
	return &account{policy: "apiVersion: rollcall/v1\n", memory: ledger.NewMemory(), instances: map[string]types.Instance{}, scheduled: map[trigger.Check]bool{}, failEC2: map[int]bool{}, failMade: map[string]bool{}}
}

func (a *account) launch(n int, at time.Time, tags ...string) string {
	id := fmt.Sprintf("i-%017x", n)
	i := types.Instance{InstanceId: aws.String(id), LaunchTime: aws.Time(at), VpcId: aws.String("vpc-1")}
	for k := 0; k < len(tags); k += 2 {
		i.Tags = append(i.Tags, types.Tag{Key: aws.String(tags[k]), Value: aws.String(tags[k+1])})
	}
	a.instances[id] = i
	return id
}

func (a *account) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	a.describes++
	if a.failEC2[a.describes] {
		return nil, errors.New("no answer")
	}
	if len(in.Filters) != 1 || len(in.Filters[0].Values) > 200 || !aws.ToBool(in.IncludeManagedResources) {
		return nil, fmt.Errorf("a request that EC2 refuses: %+v", in)
	}
	out := &ec2.DescribeInstancesOutput{}
	for _, id := range in.Filters[0].Values {
		if i, ok := a.instances[id]; ok {
			out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{i}})
		}
	}
	return out, nil
}

func (a *account) At(_ context.Context, c trigger.Check) (bool, error) {
	a.creates++
	if a.failMade[c.Cluster] {
		return false, errors.New("no schedule")
	}
	made := !a.scheduled[c]
	a.scheduled[c] = true
	return made, nil
}

func (a *account) GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	if a.policy != "" {
		return &ssm.GetParameterOutput{Parameter: &ssmtypes.Parameter{Value: aws.String(a.policy)}}, nil
	}
	return nil, &ssmtypes.ParameterNotFound{}
}

func (a *account) Record(ctx context.Context, id roll.ClusterID, c ledger.Changes) error {
	if a.failMade[id.Name] {
		return errors.New("no table")
	}
	return a.memory.Record(ctx, id, c)
}

func (a *account) handler() *Handler {
	return &Handler{
		Ambient: around(now, io.Discard), Ledger: a,
		EC2: a, Schedules: a, Policies: config.NewPolicyStore(a, config.Settings{PolicyParameter: "/rollcall/policy"}),
	}
}

func event(id, state string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-%s-%s","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"111122223333","time":"2026-03-10T12:00:20Z","region":"eu-west-1","resources":["arn:aws:ec2:eu-west-1:111122223333:instance/%s"],"detail":{"instance-id":"%s","state":"%s"}}`, id, state, id, id, state)
}

func (a *account) dues(cluster string) (out []string) {
	for c := range a.scheduled {
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
	a := newAccount()
	id := a.launch(1, now.Add(-20*time.Second), claim, "owned")
	r, err := a.handler().Handle(t.Context(), logtest.Batch(event(id, "running")))
	if err != nil || len(r.BatchItemFailures) != 0 {
		t.Fatal(r, err)
	}
	got := a.dues("demo")
	expect.That(t, slices.Equal(got, []string{"12:06", "12:16"}), "checks at %v, want five and fifteen minutes after the launch, rounded up", got)
}

func TestDeadlinesAreThoseOfTheInstance(t *testing.T) {
	for want, set := range map[string]func(*types.Instance){
		"12:11 12:31": func(i *types.Instance) { i.InstanceType = "p5.48xlarge" },
		"12:11 12:32": func(i *types.Instance) {
			i.InstanceType = "p5.48xlarge"
			i.Tags = append(i.Tags, types.Tag{Key: aws.String(roll.TagDeadline), Value: aws.String("31m")})
		},
	} {
		a := newAccount()
		id := a.launch(1, now.Add(-20*time.Second), claim, "owned")
		i := a.instances[id]
		set(&i)
		a.instances[id] = i
		if _, err := a.handler().Handle(t.Context(), logtest.Batch(event(id, "running"))); err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, strings.Join(a.dues("demo"), " "), want, "checks at")
	}
}

func TestAnInstanceThatWentBringsOneCheck(t *testing.T) {
	for _, state := range []string{"stopping", "stopped", "shutting-down", "terminated"} {
		a := newAccount()
		id := a.launch(1, now.Add(-time.Hour), claim, "owned")
		if _, err := a.handler().Handle(t.Context(), logtest.Batch(event(id, state))); err != nil {
			t.Fatal(err)
		}
		expect.List(t, a.dues("demo"), []string{"12:06"}, "%s: checks at", state)
	}
}

func TestWhatIsNotOursIsAnOutcome(t *testing.T) {
	a := newAccount()
	other := a.launch(1, now)
	badName := a.launch(2, now, "kubernetes.io/cluster/not a name", "owned")
	r, err := a.handler().Handle(t.Context(), logtest.Batch(event(other, "running"), event(badName, "running"), event("i-00000000000000fff", "running"), event(other, "pending"), "{", `{"version":"0"}`))
	expect.That(t, err == nil && len(r.BatchItemFailures) == 0 && len(a.scheduled) == 0, "%+v, %v, %v", r, err, a.scheduled)
}

func TestOnlyInstancesOfTheWantedVPCs(t *testing.T) {
	a := newAccount()
	id := a.launch(1, now, claim, "owned")
	h := a.handler()
	h.VPCs = []string{"vpc-2"}
	if _, err := h.Handle(t.Context(), logtest.Batch(event(id, "running"))); err != nil || len(a.scheduled) != 0 {
		t.Errorf("%v, %v", a.scheduled, err)
	}
	h.VPCs = []string{"vpc-2", "vpc-1"}
	_, err := h.Handle(t.Context(), logtest.Batch(event(id, "running")))
	expect.That(t, err == nil && len(a.scheduled) == 2, "%v, %v", a.scheduled, err)
}

func TestOnlyWhatARetryMayHelpComesAgain(t *testing.T) {
	a := newAccount()
	a.failMade["sick"] = true
	ours := a.launch(1, now, claim, "owned")
	theirs := a.launch(2, now, "kubernetes.io/cluster/sick", "owned")
	r, err := a.handler().Handle(t.Context(), logtest.Batch("{", event(ours, "running"), event(theirs, "running"), event(theirs, "terminated")))
	if err != nil || !slices.Equal(failures(r), []string{"m-2", "m-3"}) {
		t.Errorf("%v, %v", failures(r), err)
	}
	a = newAccount()
	a.failEC2[2] = true
	var bodies []string
	for n := range 300 {
		bodies = append(bodies, event(a.launch(n, now, claim, "owned"), "running"))
	}
	r, err = a.handler().Handle(t.Context(), logtest.Batch(bodies...))
	expect.That(t, err == nil && len(r.BatchItemFailures) == 100 && failures(r)[0] == "m-200", "%d failures, %v", len(r.BatchItemFailures), err)
	got := a.dues("demo")
	expect.That(t, len(got) == 2, "checks at %v: the first 200 instances were looked up", got)
}

func TestTheSamplesAreServed(t *testing.T) {
	samples, err := filepath.Glob("../../../events/statechange-*.json")
	if err != nil || len(samples) < 5 {
		t.Fatal(samples, err)
	}
	for _, name := range samples {
		data := must.Read(t, name)
		var b events.SQSEvent
		if err := json.Unmarshal(data, &b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := newAccount().handler().Handle(t.Context(), b)
		expect.That(t, err == nil && len(r.BatchItemFailures) == 0, "%s: %+v, %v", name, r, err)
	}
}

// burst returns an account in which n instances of one cluster started within a minute.
// Their events come in batches of a size, one by one and in no order.
func burst(tb testing.TB, n, size int) *account {
	tb.Helper()
	a := newAccount()
	h := a.handler()
	bodies := make([]string, n)
	for i := range n {
		at := now.Truncate(time.Minute).Add(time.Duration(i*60_000/n) * time.Millisecond)
		bodies[(i*7919)%n] = event(a.launch(i, at, claim, "owned"), "running")
	}
	for some := range slices.Chunk(bodies, size) {
		if r, err := h.Handle(tb.Context(), logtest.Batch(some...)); err != nil || len(r.BatchItemFailures) != 0 {
			tb.Fatal(r, err)
		}
	}
	return a
}

func TestABurstCostsFewCallsAndFewChecks(t *testing.T) {
	a := burst(t, 5000, batchSize(t))
	expect.That(t, a.describes <= 100, "%d calls of DescribeInstances, want at most 100", a.describes)
	got := a.dues("demo")
	expect.That(t, slices.Equal(got, []string{"12:05", "12:06", "12:15", "12:16"}), "checks at %v, want at most two for the warning and two for the deadline", got)
}

func BenchmarkBurst(b *testing.B) {
	size := batchSize(b)
	var a *account
	for b.Loop() {
		a = burst(b, 5000, size)
	}
	b.ReportMetric(float64(a.describes), "describes")
	b.ReportMetric(float64(a.creates), "schedule-calls")
	b.ReportMetric(float64(len(a.scheduled)), "checks")
}

// batchSize returns the batch size in the template.
func batchSize(tb testing.TB) int {
	tb.Helper()
	data := must.Read(tb, "../../../template.yaml")
	_, after, ok := bytes.Cut(data, []byte("StateChangeFunction:\n"))
	must.That(tb, ok, "the template has no StateChangeFunction")
	_, after, ok = bytes.Cut(after, []byte("BatchSize: "))
	var size int
	_, err := fmt.Sscan(string(after[:min(len(after), 10)]), &size)
	must.That(tb, ok && err == nil && size >= 1, "no batch size: %v", err)
	return size
}

// slow is an EventBridge Scheduler with slow calls.
type slow struct {
	*account
	time *time.Time
	took time.Duration
}

func (s slow) At(ctx context.Context, c trigger.Check) (bool, error) {
	if !c.Due.After(*s.time) {
		return false, fmt.Errorf("a schedule for %s at %s never runs", c.Due.Format(time.TimeOnly), s.time.Format(time.TimeOnly))
	}
	*s.time = s.time.Add(s.took)
	return s.account.At(ctx, c)
}

// A delay before a schedule is created may take it past its minute.
func TestAScheduleThatComesLateIsForAMinuteToCome(t *testing.T) {
	a := newAccount()
	var ids []string
	for n := range 6 {
		ids = append(ids, event(a.launch(n+1, now.Add(-4*time.Minute-50*time.Second), fmt.Sprintf("kubernetes.io/cluster/demo-%d", n), "owned"), "running"))
	}
	h := a.handler()
	clock := now
	h.Clock, h.Schedules = func() time.Time { return clock }, slow{a, &clock, 30 * time.Second}
	r, err := h.Handle(t.Context(), logtest.Batch(ids...))
	if err != nil || len(r.BatchItemFailures) != 0 {
		t.Fatal(r, err)
	}
	got := a.dues("demo-5")
	expect.That(t, len(got) == 2 && got[0] != "12:01", "checks at %v", got)
}

// The built-in deadlines apply then.
func TestABadPolicyKeepsNoInstanceFromItsChecks(t *testing.T) {
	for _, document := range []string{"mode: all", ""} {
		a := newAccount()
		a.policy = document
		id := a.launch(1, now.Add(-20*time.Second), claim, "owned")
		r, err := a.handler().Handle(t.Context(), logtest.Batch(event(id, "running")))
		expect.That(t, err == nil && len(r.BatchItemFailures) == 0 && len(a.scheduled) != 0, "%q: %+v, %v: scheduled %v", document, r, err, a.scheduled)
	}
}

// An AWS Health event about instances brings the next check of their clusters forward.
func TestAHealthEventBringsACheckForward(t *testing.T) {
	a := newAccount()
	a.launch(1, now.Add(-48*time.Hour), claim, "owned")
	a.launch(2, now.Add(-48*time.Hour), "kubernetes.io/cluster/other", "owned")
	a.launch(3, now.Add(-48*time.Hour)) // of no cluster
	health := func(ids ...string) string {
		var entities []string
		for _, id := range ids {
			entities = append(entities, fmt.Sprintf(`{"entityValue":%q}`, id))
		}
		return fmt.Sprintf(`{"version":"0","id":"h-1","detail-type":"AWS Health Event","source":"aws.health","account":"111122223333","time":"2026-03-10T12:00:20Z","region":"eu-west-1","resources":[],"detail":{"service":"EC2","affectedEntities":[%s]}}`, strings.Join(entities, ","))
	}
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: health("i-00000000000000001", "i-00000000000000002", "i-00000000000000003", "i-00000000000000009")},
		{MessageId: "m-2", Body: health("i-00000000000000001")},
		{MessageId: "m-3", Body: health("vol-1")},
	}}
	response, err := a.handler().Handle(t.Context(), batch)
	if err != nil || len(response.BatchItemFailures) != 0 {
		t.Fatal(response, err)
	}
	want := []string{trigger.Soonest(now).Format("15:04")}
	if !slices.Equal(a.dues("demo"), want) || !slices.Equal(a.dues("other"), want) || len(a.scheduled) != 2 || a.describes != 1 {
		t.Errorf("checks %v after %d look-ups, want each at %s", a.scheduled, a.describes, want)
	}
	a.failEC2 = map[int]bool{2: true}
	if response, _ = a.handler().Handle(t.Context(), batch); !slices.Equal(failures(response), []string{"m-1", "m-2"}) {
		t.Errorf("comes again: %v", failures(response))
	}
}

// Announcements of EC2 about Spot Instances are recorded for their clusters, and cause no
// check.
func TestWhatEC2AnnouncesIsRemembered(t *testing.T) {
	a := newAccount()
	one := a.launch(1, now.Add(-48*time.Hour), claim, "owned")
	two := a.launch(2, now.Add(-48*time.Hour), "kubernetes.io/cluster/other", "owned")
	four := a.launch(4, now.Add(-48*time.Hour), claim, "owned")
	nobodys := a.launch(3, now.Add(-48*time.Hour))
	says := func(detailType, id string) string {
		return fmt.Sprintf(`{"version":"0","id":"s-1","detail-type":%q,"source":"aws.ec2","account":"111122223333","time":"2026-03-10T11:59:20Z","region":"eu-west-1","resources":[],"detail":{"instance-id":%q}}`, detailType, id)
	}
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: says(trigger.SpotInterruptionDetailType, one)},
		{MessageId: "m-2", Body: says(trigger.SpotRebalanceDetailType, two)},
		{MessageId: "m-3", Body: says(trigger.SpotInterruptionDetailType, nobodys)},
		{MessageId: "m-4", Body: says(trigger.SpotInterruptionDetailType, four)},
	}}
	a.failMade["other"] = true
	response, err := a.handler().Handle(t.Context(), batch)
	if err != nil || !slices.Equal(failures(response), []string{"m-2"}) {
		t.Fatalf("%v, %v: want what could not be kept again", failures(response), err)
	}
	delete(a.failMade, "other")
	if response, err = a.handler().Handle(t.Context(), batch); err != nil || len(response.BatchItemFailures) != 0 || len(a.scheduled) != 0 {
		t.Errorf("%v, %v; scheduled %v", failures(response), err, a.scheduled)
	}
	at := time.Date(2026, 3, 10, 11, 59, 20, 0, time.UTC)
	for name, want := range map[string]map[ledger.SpotKey]time.Time{
		"demo":  {{Instance: roll.InstanceID(one), Event: roll.SpotInterruption}: at, {Instance: roll.InstanceID(four), Event: roll.SpotInterruption}: at},
		"other": {{Instance: roll.InstanceID(two), Event: roll.SpotRebalance}: at},
	} {
		s, err := a.memory.Read(t.Context(), roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: name})
		expect.That(t, err == nil && maps.Equal(s.Spot, want), "%s: %v, %v, want %v", name, s.Spot, err, want)
	}
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
	h := newAccount().handler()
	h.Ambient = around(now, &out)
	h.Calls = c
	if _, err := h.Handle(t.Context(), logtest.Batch()); err != nil || !strings.Contains(out.String(), `"Service":"kubernetes"`) {
		t.Errorf("%v: %s", err, &out)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
