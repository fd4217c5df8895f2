package serverless

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"golang.org/x/sync/errgroup"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/template"
	"rollcall/tests/testbed"
)

// The functions.
const (
	StateChange = "statechange"
	Sweep       = "sweep"
	Inspect     = "inspect"
	Remediate   = "remediate"
)

const (
	scheduleGroup = "rollcall-schedules"
	sweepInterval = 5 * time.Minute
)

// names are what CloudFormation would generate; see [template.Template.Flat].
var names = map[string]string{
	"StateChangeRole": "rollcall-" + StateChange, "SweepRole": "rollcall-" + Sweep, "InspectRole": "rollcall-" + Inspect, "RemediateRole": "rollcall-" + Remediate,
	"Schedules": scheduleGroup, "Schedules.Arn": "arn:aws:scheduler:" + testbed.Region + ":" + testbed.AccountID + ":schedule-group/" + scheduleGroup,
	"SweepFunction.Arn": "arn:aws:lambda:" + testbed.Region + ":" + testbed.AccountID + ":function:rollcall-" + Sweep,
	"NoticesKey.Arn":    "arn:aws:kms:" + testbed.Region + ":" + testbed.AccountID + ":key/1234abcd-12ab-34cd-56ef-1234567890ab",
}

// Identities returns the functions' roles. They differ, so that the call log shows the
// caller.
func Identities() []testbed.Identity {
	var all []testbed.Identity
	for _, name := range []string{StateChange, Sweep, Inspect, Remediate} {
		all = append(all, identity(name))
	}
	return all
}

func identity(name string) testbed.Identity {
	key := "AKIA" + strings.ToUpper((name + "EXAMPLEEXAMPLE")[:16])
	return testbed.Identity{AccessKeyID: key, SecretAccessKey: name + "/not/a/secret", ARN: "arn:aws:iam::" + testbed.AccountID + ":role/rollcall-" + name}
}

// Viewers returns the roles that read clusters and change nothing there.
func Viewers() []string { return []string{identity(Inspect).ARN} }

// Remediators returns the roles that also act in clusters.
func Remediators() []string { return []string{identity(Remediate).ARN} }

// Build compiles the functions with the test clock into a folder.
func Build(ctx context.Context, root, dir string) error {
	for _, name := range []string{StateChange, Sweep, Inspect, Remediate} {
		cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-overlay", "tests/serverless/testdata/overlay.json", "-o", filepath.Join(dir, name), "./functions/"+name)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// Stack is a deployment of the functions on a bed.
type Stack struct {
	bed       *testbed.Bed
	binaries  string
	functions map[string]*function // those that the mode has
	twin      *function            // another instance of remediate
	more      []string             // variables of theirs beside those of the template
	clockFile string
	ahead     time.Duration
	lastSweep time.Time
	sweeping  bool

	formation *cloudformation.Client
	sqs       *sqs.Client
	scheduler *scheduler.Client

	eventsURL, checksURL, ordersURL string
	Topic                           string // of notices
	Notices                         func(context.Context) ([]testbed.Notice, error)
	Chat                            string // the topic for chats
	Chats                           func(context.Context) ([]testbed.Notice, error)
	Table                           string
	Evidence                        string // the bucket

	// Duplicate delivers every message twice.
	Duplicate bool
	// Die makes the named function die at its n-th AWS call, once: "before:3". Under the
	// name of an act, such as "cordon", it makes remediate die during the first order of
	// that act.
	Die map[string]string
	// Tell names, by the same keys, a file. The function writes to it the names of the AWS
	// calls of its next invocation, in the order in which they are counted.
	Tell map[string]string
	// Step is how far the clock advances at once; zero means a minute.
	Step time.Duration
	// Died counts the deaths.
	Died int
	// Twins delivers every order to two remediators at the same time.
	Twins bool
	// Log lists what was delivered, in order.
	Log []string
}

// Deploy creates the stack rollcall from the template in the bed's account, whose mode it has, with a policy and a ledger
// that remembers checks of the cluster, and starts the functions. more are further variables of theirs.
func Deploy(ctx context.Context, bed *testbed.Bed, tmpl *template.Template, binaries, dir string, more ...string) (*Stack, error) {
	s, err := Create(ctx, bed, tmpl, binaries, dir, more...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.watched(ctx), s.Policy(ctx, "apiVersion: rollcall/v1\n")); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Create creates the stack alone, as in an account in which Rollcall never was, and starts the functions.
func Create(ctx context.Context, bed *testbed.Bed, tmpl *template.Template, binaries, dir string, more ...string) (*Stack, error) {
	cfg := bed.AWSConfigFor(testbed.Seeder)
	s := &Stack{
		bed: bed, binaries: binaries, functions: map[string]*function{}, clockFile: filepath.Join(dir, "clock"), more: more, formation: cloudformation.NewFromConfig(cfg), sqs: sqs.NewFromConfig(cfg), scheduler: scheduler.NewFromConfig(cfg),
		Die: map[string]string{}, Tell: map[string]string{}, sweeping: true,
	}
	if err := os.WriteFile(s.clockFile, []byte("0s"), 0o600); err != nil {
		return nil, fmt.Errorf("write the clock: %w", err)
	}
	body, err := tmpl.Flat(names)
	if err != nil {
		return nil, err
	}
	if _, err := s.formation.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: aws.String(template.Stack), TemplateBody: aws.String(string(body))}); err != nil {
		return nil, fmt.Errorf("create the stack: %w", err)
	}
	// Not by the emulator's CloudFormation, which does not know these groups.
	if _, err := s.scheduler.CreateScheduleGroup(ctx, &scheduler.CreateScheduleGroupInput{Name: aws.String(scheduleGroup)}); err != nil {
		return nil, fmt.Errorf("create the schedule group: %w", err)
	}
	if err := s.run(ctx, tmpl); err != nil {
		s.Close()
		return nil, err
	}
	if s.Notices, err = bed.Subscribe(ctx, s.Topic); err == nil {
		s.Chats, err = bed.Subscribe(ctx, s.Chat)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Update updates the stack to the template, such as that of another mode. The functions start again.
func (s *Stack) Update(ctx context.Context, tmpl *template.Template) error {
	body, err := tmpl.Flat(names)
	if err != nil {
		return err
	}
	if _, err := s.formation.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: aws.String(template.Stack), TemplateBody: aws.String(string(body))}); err != nil {
		return fmt.Errorf("update the stack: %w", err)
	}
	return s.run(ctx, tmpl)
}

// Delete deletes the stack and its functions. What the template retains stays.
func (s *Stack) Delete(ctx context.Context) error {
	s.Close()
	s.functions, s.twin = map[string]*function{}, nil
	if _, err := s.formation.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String(template.Stack)}); err != nil {
		return fmt.Errorf("delete the stack: %w", err)
	}
	if _, err := s.scheduler.DeleteScheduleGroup(ctx, &scheduler.DeleteScheduleGroupInput{Name: aws.String(scheduleGroup)}); err != nil {
		return fmt.Errorf("delete the schedule group: %w", err)
	}
	return nil
}

// Discard deletes what outlives the stack, by the commands that uninstall prints.
func (s *Stack) Discard(ctx context.Context) error {
	cfg := s.bed.AWSConfigFor(testbed.Seeder)
	if _, err := dynamodb.NewFromConfig(cfg).DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(s.Table)}); err != nil {
		return fmt.Errorf("delete the table: %w", err)
	}
	store := s3.NewFromConfig(cfg)
	versions, err := store.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: aws.String(s.Evidence)})
	if err != nil {
		return fmt.Errorf("list the evidence: %w", err)
	}
	for _, v := range versions.Versions {
		_, err := store.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(s.Evidence), Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: v.Key, VersionId: v.VersionId}}}})
		if err != nil {
			return fmt.Errorf("delete evidence: %w", err)
		}
	}
	if _, err := store.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(s.Evidence)}); err != nil {
		return fmt.Errorf("delete the bucket: %w", err)
	}
	return s.Policy(ctx, "")
}

// run starts the functions with the variables that the stack gives them.
func (s *Stack) run(ctx context.Context, tmpl *template.Template) error {
	s.Close()
	out, err := s.formation.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(template.Stack)})
	if err != nil {
		return fmt.Errorf("read the stack: %w", err)
	}
	outputs := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	s.Topic, s.Chat, s.Table, s.Evidence = outputs["NoticesTopicArn"], outputs["ChatTopicArn"], outputs["LedgerTableName"], outputs["EvidenceBucket"]
	before := s.functions
	s.functions, s.twin = map[string]*function{}, nil
	for name, id := range template.Functions {
		if _, there := tmpl.Resources[id]; !there {
			continue
		}
		var variables map[string]string
		if err := json.Unmarshal([]byte(outputs["Environment"+name]), &variables); err != nil {
			return fmt.Errorf("variables of %s: %w", name, err)
		}
		env := append(s.bed.EnvFor(identity(name)), "ROLLCALL_TEST_CLOCK="+s.clockFile, "AWS_MAX_ATTEMPTS=2")
		for variable, value := range variables {
			env = append(env, variable+"="+value)
		}
		env = append(env, s.more...)
		if s.functions[name], err = newFunction(name, filepath.Join(s.binaries, name), env); err != nil {
			return err
		}
		if old := before[name]; old != nil {
			s.functions[name].output = old.output
		}
		switch name {
		case Sweep:
			s.checksURL = variables["ROLLCALL_CHECKS_QUEUE_URL"]
			s.eventsURL = strings.Replace(s.checksURL, "checks.fifo", "events", 1)
		case Inspect:
			s.ordersURL = variables["ROLLCALL_ORDERS_QUEUE_URL"]
		case Remediate:
			if s.twin, err = newFunction(Remediate, filepath.Join(s.binaries, Remediate), env); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close stops the functions.
func (s *Stack) Close() {
	for _, f := range s.functions {
		f.close()
	}
	if s.twin != nil {
		s.twin.close()
	}
}

// Now returns the stack's time.
func (s *Stack) Now() time.Time { return time.Now().Add(s.ahead) }

// Advance advances the clock step by step. Schedules that fall due fire, messages are
// delivered, and the sweep runs every five minutes.
func (s *Stack) Advance(ctx context.Context, d time.Duration) error {
	for d > 0 {
		step := min(d, cmp.Or(s.Step, time.Minute))
		d -= step
		s.ahead += step
		if err := os.WriteFile(s.clockFile, []byte(s.ahead.String()), 0o600); err != nil {
			return fmt.Errorf("write the clock: %w", err)
		}
		if err := s.fire(ctx); err != nil {
			return err
		}
		if s.sweeping && s.Now().Sub(s.lastSweep) >= sweepInterval {
			s.lastSweep = s.Now()
			if _, err := s.invoke(ctx, Sweep, map[string]any{}); err != nil && !errors.Is(err, ErrDied) {
				return err
			}
		}
		if err := s.Settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// StopSweeping stops the sweep, so that only events start checks.
func (s *Stack) StopSweeping() { s.sweeping = false }

// fire sends the inputs of due schedules to their queue and deletes the schedules, as
// EventBridge Scheduler does. The emulator only stores them.
func (s *Stack) fire(ctx context.Context) error {
	pages := scheduler.NewListSchedulesPaginator(s.scheduler, &scheduler.ListSchedulesInput{GroupName: aws.String(scheduleGroup)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list schedules: %w", err)
		}
		for _, summary := range page.Schedules {
			got, err := s.scheduler.GetSchedule(ctx, &scheduler.GetScheduleInput{GroupName: aws.String(scheduleGroup), Name: summary.Name})
			if err != nil {
				return fmt.Errorf("get schedule %s: %w", aws.ToString(summary.Name), err)
			}
			at, err := time.Parse("at(2006-01-02T15:04:05)", aws.ToString(got.ScheduleExpression))
			if err != nil {
				return fmt.Errorf("schedule %s: %w", aws.ToString(summary.Name), err)
			}
			if at.After(s.Now()) {
				continue
			}
			s.Log = append(s.Log, "fire "+aws.ToString(got.Target.Input))
			if err := s.send(ctx, s.checksURL, aws.ToString(got.Target.Input), aws.ToString(got.Target.SqsParameters.MessageGroupId)); err != nil {
				return err
			}
			if _, err := s.scheduler.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{GroupName: aws.String(scheduleGroup), Name: summary.Name}); err != nil {
				return fmt.Errorf("delete schedule: %w", err)
			}
		}
	}
	return nil
}

func (s *Stack) send(ctx context.Context, url, body, group string) error {
	in := &sqs.SendMessageInput{QueueUrl: aws.String(url), MessageBody: aws.String(body)}
	if group != "" {
		in.MessageGroupId = aws.String(group)
	}
	if url == s.ordersURL {
		in.MessageDeduplicationId = aws.String(fmt.Sprint(time.Now().UnixNano()))
	}
	if _, err := s.sqs.SendMessage(ctx, in); err != nil {
		return fmt.Errorf("send to %s: %w", url, err)
	}
	return nil
}

// Settle delivers messages until the queues are empty.
func (s *Stack) Settle(ctx context.Context) error {
	for {
		delivered := 0
		for _, q := range []struct {
			url, function string
			batch         int
		}{{s.eventsURL, StateChange, 500}, {s.checksURL, Inspect, 1}, {s.ordersURL, Remediate, 1}} {
			if s.functions[q.function] == nil {
				continue // not in this mode
			}
			n, err := s.deliver(ctx, q.url, q.function, q.batch)
			if err != nil {
				return err
			}
			delivered += n
		}
		if delivered == 0 {
			return nil
		}
	}
}

// hiddenWithin bounds how long a queue may hide messages.
const hiddenWithin = 20 * time.Second

// receive receives from a queue until it returns messages or has none. If an answer is
// lost, its messages and those behind them in their group stay hidden for the queue's
// default visibility timeout, which is minutes of real time unless it is set to a second.
func (s *Stack) receive(ctx context.Context, url string, most int) ([]sqstypes.Message, error) {
	for begin := time.Now(); ; {
		out, err := s.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(url), MaxNumberOfMessages: int32(most), VisibilityTimeout: 1})
		if err != nil {
			return nil, err
		}
		if len(out.Messages) > 0 {
			return out.Messages, nil
		}
		kept, err := s.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(url), AttributeNames: []sqstypes.QueueAttributeName{
			sqstypes.QueueAttributeNameApproximateNumberOfMessages, sqstypes.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		}})
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(kept.Attributes)), func(n string) bool { return n != "0" }) {
			return nil, nil
		}
		if time.Since(begin) > hiddenWithin {
			return nil, fmt.Errorf("it hands out none of its messages: %v", kept.Attributes)
		}
		s.Log = append(s.Log, fmt.Sprintf("%s keeps messages back: %v", url, kept.Attributes))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// deliver passes one batch of a queue to its function and deletes the messages that it
// processed. The others, and those during which it died, are delivered again.
func (s *Stack) deliver(ctx context.Context, url, name string, most int) (int, error) {
	var batch []sqstypes.Message
	for len(batch) < most {
		messages, err := s.receive(ctx, url, min(10, most-len(batch)))
		if err != nil {
			return 0, fmt.Errorf("receive from %s: %w", url, err)
		}
		if len(messages) == 0 {
			break
		}
		batch = append(batch, messages...)
		for _, m := range messages { // so that the next receive does not return them again
			if _, err := s.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: aws.String(url), ReceiptHandle: m.ReceiptHandle}); err != nil {
				return 0, fmt.Errorf("delete from %s: %w", url, err)
			}
		}
	}
	if len(batch) == 0 {
		return 0, nil
	}
	event := events.SQSEvent{}
	for _, m := range batch {
		event.Records = append(event.Records, events.SQSMessage{MessageId: aws.ToString(m.MessageId), Body: aws.ToString(m.Body), EventSource: "aws:sqs", AWSRegion: testbed.Region})
		s.Log = append(s.Log, name+" "+aws.ToString(m.Body))
	}
	times := 1
	if s.Duplicate {
		times = 2
	}
	for range times {
		// At most two receives, as in the template; then the dead-letter queue.
		for try := 1; ; try++ {
			failed, err := s.invokeBatch(ctx, name, event)
			if err == nil && len(failed) == 0 {
				break
			}
			if err != nil && !errors.Is(err, ErrDied) {
				return 0, err
			}
			if try == 2 {
				s.Log = append(s.Log, "dead letter of "+name)
				break
			}
			if err == nil {
				event.Records = slices.DeleteFunc(event.Records, func(m events.SQSMessage) bool { return !slices.Contains(failed, m.MessageId) })
			}
		}
	}
	return len(batch), nil
}

func (s *Stack) invokeBatch(ctx context.Context, name string, event events.SQSEvent) (failed []string, err error) {
	if name == Remediate && s.Twins {
		var group errgroup.Group
		group.Go(func() error {
			_, err := s.twin.invoke(ctx, event)
			return err
		})
		defer func() { err = errors.Join(err, group.Wait()) }()
	}
	out, err := s.invoke(ctx, name, event)
	if errors.Is(err, ErrDied) {
		s.Died++
	}
	if err != nil {
		return nil, err
	}
	var response events.SQSEventResponse
	if err := json.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", name, err)
	}
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed, nil
}

func (s *Stack) invoke(ctx context.Context, name string, payload any) ([]byte, error) {
	var extra []string
	for _, key := range []string{name, ordered(name, payload)} {
		if die := s.Die[key]; die != "" {
			delete(s.Die, key)
			extra = []string{"ROLLCALL_TEST_DIE=" + die}
		}
		if file := s.Tell[key]; file != "" {
			delete(s.Tell, key)
			extra = append(extra, "ROLLCALL_TEST_CALLS="+file)
		}
	}
	return s.functions[name].invoke(ctx, payload, extra...)
}

// ordered returns the act of the order that remediate receives; "" for other functions.
func ordered(name string, payload any) string {
	batch, ok := payload.(events.SQSEvent)
	if !ok || name != Remediate || len(batch.Records) == 0 {
		return ""
	}
	var order struct {
		Action string `json:"action"`
	}
	// A message that is not an order has no act: some tests send one on purpose.
	_ = json.Unmarshal([]byte(batch.Records[0].Body), &order)
	return order.Action
}

// Schedules returns the schedules, by minute.
func (s *Stack) Schedules(ctx context.Context) ([]string, error) {
	var all []string
	pages := scheduler.NewListSchedulesPaginator(s.scheduler, &scheduler.ListSchedulesInput{GroupName: aws.String(scheduleGroup)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		for _, summary := range page.Schedules {
			got, err := s.scheduler.GetSchedule(ctx, &scheduler.GetScheduleInput{GroupName: aws.String(scheduleGroup), Name: summary.Name})
			if err != nil {
				return nil, fmt.Errorf("get schedule: %w", err)
			}
			all = append(all, aws.ToString(got.Target.Input))
		}
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all, nil
}

// open returns the number of acts in the table without an outcome.
func (s *Stack) open(ctx context.Context) (int, error) {
	state, err := ledger.NewDynamo(dynamodb.NewFromConfig(s.bed.AWSConfig()), s.Table).Read(ctx, roll.ClusterID{Account: testbed.AccountID, Region: testbed.Region, Name: testbed.ClusterName})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, a := range state.Actions {
		if a.Outcome == nil {
			n++
		}
	}
	return n, nil
}

// watched records in the table that complete checks of the cluster have run for a long
// time.
func (s *Stack) watched(ctx context.Context) error {
	cluster := roll.ClusterID{Account: testbed.AccountID, Region: testbed.Region, Name: testbed.ClusterName}
	return ledger.NewDynamo(dynamodb.NewFromConfig(s.bed.AWSConfig()), s.Table).Record(ctx, cluster, ledger.Changes{Put: ledger.State{First: time.Now().Add(-30 * 24 * time.Hour)}})
}

// Policy puts a document into the policy parameter; "" deletes the parameter.
func (s *Stack) Policy(ctx context.Context, text string) error {
	api := ssm.NewFromConfig(s.bed.AWSConfig())
	if text == "" {
		if _, err := api.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String("/rollcall/policy")}); err != nil {
			return fmt.Errorf("delete the policy: %w", err)
		}
		return nil
	}
	_, err := api.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/rollcall/policy"), Value: aws.String(text), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
	if err != nil {
		return fmt.Errorf("put the policy: %w", err)
	}
	return nil
}

// Output returns what a function wrote, for a failed test.
func (s *Stack) Output(name string) string {
	return strings.TrimSpace(s.functions[name].output.String())
}
