package testbed

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// A Notice is a message published to a topic.
type Notice struct {
	TopicARN string
	Subject  string
	Message  string
	// Attributes are the message attributes, by name; a String.Array is its JSON text.
	Attributes map[string]string
}

// Topic creates a topic with a subscribed queue. It returns the topic's ARN and a function that returns all notices
// since its last call.
func (b *Bed) Topic(ctx context.Context) (topicARN string, read func(context.Context) ([]Notice, error), err error) {
	name := fmt.Sprintf("notices-%d", b.topics.Add(1))
	topic, err := b.sns.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String(name)})
	if err != nil {
		return "", nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	read, err = b.Subscribe(ctx, aws.ToString(topic.TopicArn))
	return aws.ToString(topic.TopicArn), read, err
}

// subscriber begins the names of the queues of [Bed.Subscribe].
const subscriber = "subscriber-"

// Subscribe subscribes a queue to a topic. It returns a function that returns all notices since its last call.
func (b *Bed) Subscribe(ctx context.Context, topicARN string) (read func(context.Context) ([]Notice, error), err error) {
	name := fmt.Sprintf(subscriber+"%d", b.topics.Add(1))
	queue, err := b.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("create queue %s: %w", name, err)
	}
	_, err = b.sns.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: aws.String(topicARN),
		Protocol: aws.String("sqs"),
		Endpoint: aws.String("arn:aws:sqs:" + Region + ":" + AccountID + ":" + name),
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe queue %s to %s: %w", name, topicARN, err)
	}
	return func(ctx context.Context) ([]Notice, error) { return b.takeNotices(ctx, aws.ToString(queue.QueueUrl)) }, nil
}

// takeNotices empties a queue. moto delivers at once, so an empty answer means that there is no more.
func (b *Bed) takeNotices(ctx context.Context, queueURL string) ([]Notice, error) {
	var notices []Notice
	for {
		out, err := b.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(queueURL), MaxNumberOfMessages: 10})
		if err != nil {
			return nil, fmt.Errorf("receive from %s: %w", queueURL, err)
		}
		if len(out.Messages) == 0 {
			return notices, nil
		}
		for _, m := range out.Messages {
			n, err := parseNotice(aws.ToString(m.Body))
			if err != nil {
				return nil, fmt.Errorf("message %s of %s: %w", aws.ToString(m.MessageId), queueURL, err)
			}
			notices = append(notices, n)
			_, err = b.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: aws.String(queueURL), ReceiptHandle: m.ReceiptHandle})
			if err != nil {
				return nil, fmt.Errorf("delete message %s of %s: %w", aws.ToString(m.MessageId), queueURL, err)
			}
		}
	}
}

// parseNotice reads the envelope that SNS sends to SQS without raw message delivery.
func parseNotice(body string) (Notice, error) {
	var envelope struct {
		TopicArn, Subject, Message string
		MessageAttributes          map[string]struct{ Type, Value string }
	}
	if err := json.Unmarshal([]byte(body), &envelope); err != nil {
		return Notice{}, fmt.Errorf("decode the SNS envelope: %w", err)
	}
	n := Notice{TopicARN: envelope.TopicArn, Subject: envelope.Subject, Message: envelope.Message}
	if len(envelope.MessageAttributes) > 0 {
		n.Attributes = make(map[string]string, len(envelope.MessageAttributes))
		for k, a := range envelope.MessageAttributes {
			n.Attributes[k] = a.Value
		}
	}
	return n, nil
}
