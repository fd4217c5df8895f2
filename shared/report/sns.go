package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"rollcall/shared/awserr"
)

type snsAPI interface {
	Publish(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Topic publishes notices to an SNS topic.
type Topic struct {
	sns       snsAPI
	arn       string
	principal func(context.Context) string
}

// NewTopic publishes to the topic of that ARN. principal tells whose credentials
// are used, for messages.
func NewTopic(api snsAPI, arn string, principal func(context.Context) string) *Topic {
	return &Topic{sns: api, arn: arn, principal: principal}
}

// Publish sends a message: as text to email subscriptions and as JSON to all
// others.
func (t *Topic) Publish(ctx context.Context, m Message) error {
	body, err := json.Marshal(map[string]string{"default": string(m.JSON), "email": m.Text})
	if err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	attributes := map[string]types.MessageAttributeValue{}
	for name, value := range map[string]string{
		"cluster": m.Attributes.Cluster, "group": m.Attributes.Group, "kind": m.Attributes.Kind,
		"cause": m.Attributes.Cause, "severity": string(m.Attributes.Severity), "action": m.Attributes.Action,
	} {
		attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	_, err = t.sns.Publish(ctx, &sns.PublishInput{
		TopicArn: aws.String(t.arn), Subject: aws.String(m.Subject),
		Message: aws.String(string(body)), MessageStructure: aws.String("json"), MessageAttributes: attributes,
	})
	if err != nil {
		return errors.New(awserr.Describe(err, "sns:Publish", t.principal(ctx)))
	}
	return nil
}
