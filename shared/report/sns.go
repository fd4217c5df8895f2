package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"rollcall/shared/aws/awserr"
)

type snsAPI interface {
	Publish(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Topic publishes notices to an SNS topic, and to a second one for chats if there is one.
type Topic struct {
	sns       snsAPI
	arn, chat string
	principal func(context.Context) string
	release   string
}

// NewTopic returns a Topic that publishes to the topic arn, and for chats to the topic chat
// if it is not "". principal returns whose credentials are used, for error messages.
func NewTopic(api snsAPI, arn, chat string, principal func(context.Context) string) *Topic {
	return &Topic{sns: api, arn: arn, chat: chat, principal: principal}
}

// From has the mails end with the version of the release that sends them, and their messages
// have it as the attribute release.
func (t *Topic) From(release string) *Topic {
	t.release = release
	return t
}

// errChat means that a notice was published, but not to the chat topic.
var errChat = errors.New("the notice was sent, but not to the chat topic")

// Sent reports whether a notice was published, even if Publish returned an error. Publishing
// it again would send it twice to its subscribers.
func Sent(err error) bool { return err == nil || errors.Is(err, errChat) }

// Publish sends a message: as text to email subscriptions, as the subject to phones, as JSON to all others, and then
// to the chat topic. If only the chat topic failed, Sent reports the error as sent.
func (t *Topic) Publish(ctx context.Context, m Message) error {
	attributes := m.Attributes.values()
	if t.release != "" {
		m.Text += "Sent by: Rollcall " + t.release + "\n"
		attributes["release"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(t.release)}
	}
	// SNS sends at most 1,600 characters as SMS, which the JSON form exceeds; the subject fits into one.
	// https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
	body, err := encoded(map[string]string{"default": string(m.JSON), "email": m.Text, "sms": m.Subject})
	if err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	in := &sns.PublishInput{
		TopicArn: aws.String(t.arn), Subject: aws.String(m.Subject),
		Message: aws.String(string(body)), MessageStructure: aws.String("json"), MessageAttributes: attributes,
	}
	if _, err := t.sns.Publish(ctx, in); err != nil {
		return errors.New(awserr.Describe(err, "sns:Publish", t.principal(ctx)))
	}
	if t.chat == "" {
		return nil
	}
	in = &sns.PublishInput{TopicArn: aws.String(t.chat), Message: aws.String(string(m.Chat)), MessageAttributes: attributes}
	if _, err := t.sns.Publish(ctx, in); err != nil {
		return fmt.Errorf("%w: %s", errChat, awserr.Describe(err, "sns:Publish", t.principal(ctx)))
	}
	return nil
}

// encoded returns a value as JSON without HTML escaping. A message is no HTML page, and six
// bytes for each such character could use up a quarter of what SNS takes.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quoted returns the number of bytes of a text within a message.
func quoted(s string) int {
	b, _ := encoded(s) // every string can be encoded
	return len(b)
}

func (a Attributes) values() map[string]types.MessageAttributeValue {
	out := map[string]types.MessageAttributeValue{}
	for name, value := range map[string]string{
		"cluster": a.Cluster, "group": a.Group, "kind": a.Kind, "cause": a.Cause, "severity": string(a.Severity), "action": a.Action,
		"news": a.News, "incident": a.Incident,
	} {
		out[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	return out
}
