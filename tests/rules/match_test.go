package rules

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// takes lists the samples that each rule matches.
var takes = map[string][]string{
	"IncidentOpens": {"finding-escalated", "finding-opened-condition", "finding-opened-contradicted", "finding-opened-overdue", "finding-opened-stuck", "finding-opened-unlaunched"},
	"IncidentOver":  {"finding-resolved", "finding-resolved-cleared", "finding-resolved-condition", "finding-resolved-stuck", "finding-resolved-unlaunched"},
	"Audited":       {"action-failed", "action-failed-drain", "action-held", "action-held-approval", "action-held-owner", "action-refused", "action-taken", "action-taken-approved", "action-taken-late", "action-unclear"},
	"PassedOn": {
		"action-failed", "action-failed-drain", "action-held", "action-held-approval", "action-held-owner", "action-refused", "action-taken", "action-taken-approved", "action-taken-late", "action-unclear",
		"finding-escalated", "finding-opened", "finding-opened-condition", "finding-opened-contradicted", "finding-opened-overdue", "finding-opened-scheduled", "finding-opened-stuck", "finding-opened-unlaunched", "finding-resolved", "finding-resolved-cleared", "finding-resolved-condition", "finding-resolved-stuck", "finding-resolved-unlaunched",
	},
}

// region is the emulated EventBridge and SQS.
type region struct {
	events *eventbridge.Client
	queues *sqs.Client
}

func emulated() region {
	config := aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(account.AWSEndpoint()), HTTPClient: testbed.HTTPClient,
		Credentials: credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "secret", ""),
	}
	return region{eventbridge.NewFromConfig(config), sqs.NewFromConfig(config)}
}

// listen puts a rule of the template on the bus, with a queue instead of its target.
func (a region) listen(t *testing.T, id string, r rule) (url string) {
	t.Helper()
	queue, err := a.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(id)})
	must.Succeed(t, err)
	if _, err := a.events.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: aws.String(id), EventPattern: aws.String(string(r.EventPattern))}); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	target := types.Target{Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:eu-west-1:123456789012:" + id)}
	if tr := r.Targets[0].InputTransformer; tr != nil {
		target.InputTransformer = &types.InputTransformer{InputPathsMap: tr.InputPathsMap, InputTemplate: aws.String(tr.InputTemplate)}
	}
	if _, err := a.events.PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: aws.String(id), Targets: []types.Target{target}}); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return aws.ToString(queue.QueueUrl)
}

// put sends an event to the bus, as Rollcall does.
func (a region) put(t *testing.T, event map[string]any) {
	t.Helper()
	detail, err := json.Marshal(event["detail"])
	must.Succeed(t, err)
	var resources []string
	for _, r := range event["resources"].([]any) {
		resources = append(resources, r.(string))
	}
	out, err := a.events.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		Source: aws.String(event["source"].(string)), DetailType: aws.String(event["detail-type"].(string)), Detail: aws.String(string(detail)), Resources: resources,
	}}})
	must.That(t, err == nil && out.FailedEntryCount == 0, "%v, %+v", err, out)
}

// take receives the messages of a queue.
func (a region) take(t *testing.T, url string) (bodies []string) {
	t.Helper()
	var out *sqs.ReceiveMessageOutput
	for try := 1; ; try++ {
		var err error
		if out, err = a.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(url), MaxNumberOfMessages: 10, VisibilityTimeout: 1}); err == nil {
			break
		}
		if try == 3 {
			t.Fatal(err)
		}
		t.Logf("an answer was lost: %v", err)
		time.Sleep(1100 * time.Millisecond) // until received messages are visible again
	}
	for _, m := range out.Messages {
		bodies = append(bodies, aws.ToString(m.Body))
		if _, err := a.queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(url), ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	return bodies
}

func TestEachRuleTakesWhatItShouldAndNothingElse(t *testing.T) {
	a, urls := emulated(), map[string]string{}
	made := everything(t)
	described := rules(t, made)
	for id, r := range described {
		urls[id] = a.listen(t, id, r)
		for _, name := range takes[id] {
			expect.That(t, samples(t)[name] != nil, "there is no sample %s", name)
		}
	}
	must.That(t, len(takes) == len(urls), "%d rules, and %d known here", len(urls), len(takes))
	for name, event := range samples(t) {
		a.put(t, event)
		for id, url := range urls {
			got := a.take(t, url)
			if want := slices.Contains(takes[id], name); len(got) > 1 || (len(got) == 1) != want {
				t.Errorf("%s takes %s %d times, want %v", id, name, len(got), want)
				continue
			} else if !want {
				continue
			}
			r := described[id]
			if r.Targets[0].InputTransformer == nil {
				if !reflect.DeepEqual(object(t, []byte(got[0]))["detail"], event["detail"]) {
					t.Errorf("%s of %s gives its target\n%s", id, name, got[0])
				}
				continue
			}
			mine, err := transform(*r.Targets[0].InputTransformer, event, false)
			must.Succeed(t, err)
			if !reflect.DeepEqual(object(t, []byte(got[0])), object(t, []byte(mine))) {
				t.Errorf("%s of %s gives its target\n%s\nnot\n%s", id, name, got[0], mine)
			}
		}
	}
	back := samples(t)["finding-resolved"]
	back["detail"].(map[string]any)["stage"] = "watching"
	a.put(t, back)
	for id, url := range urls {
		if got, want := len(a.take(t, url)), id == "IncidentOver" || id == "PassedOn"; (got == 1) != want {
			t.Errorf("%s takes the end of a finding that a longer tolerance took back %d times, want %v", id, got, want)
		}
	}
	other := samples(t)["finding-escalated"]
	other["source"] = "somebody.else"
	a.put(t, other)
	for id, url := range urls {
		if got := a.take(t, url); len(got) > 0 {
			t.Errorf("%s takes an event of somebody else: %s", id, strings.Join(got, "\n"))
		}
	}
	if answers, err := account.Unexpected(t.Context()); err != nil || len(answers) > 0 {
		t.Errorf("the emulator gave answers that AWS would not give: %+v, %v", answers, err)
	}
}
