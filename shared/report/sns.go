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
}

// NewTopic publishes to the topic of that ARN, and what chats take to the other one, if it
// is not "". principal tells whose credentials are used, for messages.
func NewTopic(api snsAPI, arn, chat string, principal func(context.Context) string) *Topic {
	return &Topic{sns: api, arn: arn, chat: chat, principal: principal}
}

// ChatError tells that a notice was published, and could not be told to chats.
type ChatError struct{ err error }

// Error says so, and why.
func (e *ChatError) Error() string {
	return "the notice was sent, but not to the chat topic: " + e.err.Error()
}

// Unwrap is why.
func (e *ChatError) Unwrap() error { return e.err }

// Sent reports that a notice was published in spite of what Publish returned: to publish
// it once more would tell it twice to those who have it.
func Sent(err error) bool {
	var chat *ChatError
	return err == nil || errors.As(err, &chat)
}

// Publish sends a message: as text to email subscriptions, as JSON to all others, and then
// to the chat topic. That the last failed is a ChatError.
func (t *Topic) Publish(ctx context.Context, m Message) error {
	body, err := encoded(map[string]string{"default": string(m.JSON), "email": m.Text})
	if err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	in := &sns.PublishInput{
		TopicArn: aws.String(t.arn), Subject: aws.String(m.Subject),
		Message: aws.String(string(body)), MessageStructure: aws.String("json"), MessageAttributes: m.Attributes.values(),
	}
	if _, err := t.sns.Publish(ctx, in); err != nil {
		return errors.New(awserr.Describe(err, "sns:Publish", t.principal(ctx)))
	}
	if t.chat == "" {
		return nil
	}
	in = &sns.PublishInput{TopicArn: aws.String(t.chat), Message: aws.String(string(m.Chat)), MessageAttributes: m.Attributes.values()}
	if _, err := t.sns.Publish(ctx, in); err != nil {
		return &ChatError{errors.New(awserr.Describe(err, "sns:Publish", t.principal(ctx)))}
	}
	return nil
}

// encoded is a value as JSON. What HTML would take for a tag is left as it is: a message is
// no page, and six bytes for one would be a quarter of what SNS takes.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quoted is how many bytes a text takes within a message.
func quoted(s string) int {
	b, err := encoded(s)
	if err != nil {
		return len(s) // a text can be encoded, whatever is in it
	}
	return len(b)
}

// values are the attributes as SNS takes them.
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
