package report

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// topicFake records what was published.
type topicFake struct {
	published []*sns.PublishInput
	err       error
}

func (f *topicFake) Publish(_ context.Context, in *sns.PublishInput, _ ...func(*sns.Options)) (*sns.PublishOutput, error) {
	f.published = append(f.published, in)
	return &sns.PublishOutput{}, f.err
}

// size returns the bytes that SNS counts: the message and its attributes.
func (f *topicFake) size() int {
	n := 0
	for _, in := range f.published {
		n += len(aws.ToString(in.Message)) + len(aws.ToString(in.Subject))
		for name, v := range in.MessageAttributes {
			n += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue))
		}
	}
	return n
}

func nobody(context.Context) string { return "" }

const topic = "arn:aws:sns:eu-west-1:111122223333:rollcall"

func TestPublishesTextToMailAndJSONToAllOthers(t *testing.T) {
	for name, m := range messages(t) {
		fake := &topicFake{}
		must.Succeed(t, NewTopic(fake, topic, "", nobody).Publish(t.Context(), m))
		must.That(t, len(fake.published) == 1, "%s: %d requests", name, len(fake.published))
		in := fake.published[0]
		if aws.ToString(in.TopicArn) != topic || aws.ToString(in.Subject) != m.Subject || aws.ToString(in.MessageStructure) != "json" || in.TargetArn != nil || in.PhoneNumber != nil {
			t.Errorf("%s: %+v", name, in)
		}
		var body map[string]string
		must.Succeed(t, json.Unmarshal([]byte(aws.ToString(in.Message)), &body))
		expect.Same(t, body, map[string]string{"default": string(m.JSON), "email": m.Text, "sms": m.Subject}, "%s", name)
		got := map[string]string{}
		for name, v := range in.MessageAttributes {
			expect.That(t, aws.ToString(v.DataType) == "String" && aws.ToString(v.StringValue) != "", "attribute %s: %+v: SNS refuses empty ones", name, v)
			got[name] = aws.ToString(v.StringValue)
		}
		want := map[string]string{"cluster": m.Attributes.Cluster, "group": m.Attributes.Group, "kind": m.Attributes.Kind, "cause": m.Attributes.Cause, "severity": string(m.Attributes.Severity), "action": m.Attributes.Action, "news": m.Attributes.News, "incident": m.Attributes.Incident}
		expect.Same(t, got, want, "%s: attributes", name)
	}
}

func TestTheReleaseIsNamed(t *testing.T) {
	fake := &topicFake{}
	m := messages(t)["notice-ordered"]
	must.Succeed(t, NewTopic(fake, topic, chatTopic, nobody).From("1.4.0").Publish(t.Context(), m))
	var body map[string]string
	must.Succeed(t, json.Unmarshal([]byte(aws.ToString(fake.published[0].Message)), &body))
	if want := m.Text + "Sent by: Rollcall 1.4.0\n"; body["email"] != want || body["default"] != string(m.JSON) {
		t.Errorf("the mail ends %q, want %q; the JSON form is unchanged: %v", last(body["email"]), last(want), body["default"] == string(m.JSON))
	}
	for _, in := range fake.published {
		if got := in.MessageAttributes["release"]; aws.ToString(got.StringValue) != "1.4.0" {
			t.Errorf("%s: the attribute release is %q", aws.ToString(in.TopicArn), aws.ToString(got.StringValue))
		}
		n := len(in.MessageAttributes)
		expect.That(t, n <= 10, "%d attributes: raw delivery to a queue takes ten", n)
	}
}

// last returns the last line of a text.
func last(text string) string {
	return text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
}

func TestAFailedPublishNamesCallAndCaller(t *testing.T) {
	const me = "arn:aws:sts::111122223333:assumed-role/inspect/demo"
	fake := &topicFake{err: &smithy.OperationError{ServiceID: "SNS", OperationName: "Publish", Err: &smithy.GenericAPIError{Code: "AuthorizationError", Message: "User: " + me + " is not authorized to perform: SNS:Publish on resource: " + topic + " because no resource-based policy allows the SNS:Publish action"}}}
	err := NewTopic(fake, topic, "", func(context.Context) string { return me }).Publish(t.Context(), Message{Subject: "s", Text: "t", JSON: []byte("{}")})
	want := "sns:Publish was denied to " + me + " because no resource-based policy allows the SNS:Publish action: allow sns:Publish on " + topic + " in the resource-based policy that applies to that role"
	expect.That(t, err != nil && err.Error() == want, "got  %v\nwant %s", err, want)
}

const chatTopic = topic + "-chat"

// oneTopic is a fake SNS in which one topic fails.
type oneTopic struct {
	*topicFake
	down string
}

func (f oneTopic) Publish(ctx context.Context, in *sns.PublishInput, o ...func(*sns.Options)) (*sns.PublishOutput, error) {
	if out, err := f.topicFake.Publish(ctx, in, o...); aws.ToString(in.TopicArn) != f.down {
		return out, err
	}
	return nil, &smithy.GenericAPIError{Code: "NotFound", Message: "Topic does not exist"}
}

// After the notice itself, the chat topic gets the form for Amazon Q Developer, with the same
// attributes.
func TestPublishesToChats(t *testing.T) {
	for name, m := range messages(t) {
		fake := &topicFake{}
		must.Succeed(t, NewTopic(fake, topic, chatTopic, nobody).Publish(t.Context(), m))
		must.That(t, len(fake.published) == 2, "%s: %d requests", name, len(fake.published))
		in := fake.published[1]
		expect.That(t, aws.ToString(in.TopicArn) == chatTopic && in.MessageStructure == nil && aws.ToString(in.Message) == string(m.Chat), "%s: %+v", name, in)
		diff := cmp.Diff(fake.published[0].MessageAttributes, in.MessageAttributes, cmpopts.IgnoreUnexported(types.MessageAttributeValue{}))
		expect.That(t, diff == "", "%s: attributes (-notice +chat)\n%s", name, diff)
	}
}

// A notice that only the chat did not get counts as sent, because sending it again would
// repeat it for all others. A notice that was not published does not go to the chat either.
func TestAChatThatFailsDoesNotMakeANoticeUnsent(t *testing.T) {
	for down, want := range map[string]struct {
		sent  bool
		tries int
	}{"": {true, 2}, chatTopic: {true, 2}, topic: {false, 1}} {
		fake := &topicFake{}
		err := NewTopic(oneTopic{fake, down}, topic, chatTopic, nobody).Publish(t.Context(), messages(t)["notice-ordered"])
		if Sent(err) != want.sent || (err != nil) != (down != "") || len(fake.published) != want.tries {
			t.Errorf("%s is down: %v, sent %v, %d tries", down, err, Sent(err), len(fake.published))
		}
	}
}
