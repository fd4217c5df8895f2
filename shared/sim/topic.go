package sim

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
)

// notice returns what most subscribers get of a message to the topic, JSON.
func notice(message string) string {
	var parts map[string]string
	if json.Unmarshal([]byte(message), &parts) != nil {
		return ""
	}
	return parts["default"]
}

type snsAPI struct{ v *env }

const maxMessage = 256 << 10 // the maximum size of a message to a topic, in bytes

// Publish publishes a message to the topic of notices.
func (s snsAPI) Publish(ctx context.Context, in *sns.PublishInput, _ ...func(*sns.Options)) (*sns.PublishOutput, error) {
	subject, message := aws.ToString(in.Subject), aws.ToString(in.Message)
	attributes := map[string]string{}
	for name, value := range in.MessageAttributes {
		attributes[name] = aws.ToString(value.StringValue)
	}
	err := s.v.call(ctx, "sns:Publish", writes, "", func() error {
		topic := aws.ToString(in.TopicArn)
		if topic != topicARN && topic != chatARN {
			return &types.NotFoundException{Message: aws.String("Topic does not exist")}
		}
		chat := topic == chatARN
		fault := unfit(in, subject, message, attributes)
		if chat {
			fault = unfitForChat(in, message, attributes)
		}
		if fault != "" {
			return &types.InvalidParameterException{Message: aws.String("Invalid parameter: " + fault)}
		}
		if !chat {
			s.v.a.audit.published(s.v.inv, subject, message, attributes)
			s.v.a.answer(message)
		}
		return nil
	})
	if err != nil && aws.ToString(in.TopicArn) == topicARN {
		s.v.a.audit.unsent[saidKey{attributes["cluster"], attributes["group"], attributes["kind"], ""}] = s.v.a.Now()
	}
	return answered(&sns.PublishOutput{MessageId: aws.String(uid(s.v.inv.d.of("notice").nth(s.v.inv.calls)))}, err)
}

// unfit returns why SNS rejects a message, "" if it accepts it.
// https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
func unfit(in *sns.PublishInput, subject, message string, attributes map[string]string) string {
	document := notice(message)
	plain := func(r rune) bool { return r < ' ' || r > '~' }
	switch {
	case aws.ToString(in.MessageStructure) != "json" || document == "":
		return "Message Structure - No default entry in JSON message body"
	case len(message) > maxMessage:
		return "Message too long"
	case subject == "" || len(subject) > 100 || strings.ContainsFunc(subject, plain):
		return "Subject"
	}
	return empty(attributes)
}

// empty returns the error for an attribute without a value, "" if there is none.
func empty(attributes map[string]string) string {
	for name, value := range attributes {
		if value == "" {
			return "The message attribute '" + name + "' must contain a non-empty value"
		}
	}
	return ""
}

// unfitForChat returns why SNS rejects a message, or a chat does not show it; "" if neither.
// https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html
func unfitForChat(in *sns.PublishInput, message string, attributes map[string]string) string {
	var m struct {
		Version, Source string
		Content         struct{ TextType, Title, Description string }
		Metadata        struct{ ThreadID string }
	}
	switch err := json.Unmarshal([]byte(message), &m); {
	case err != nil, in.MessageStructure != nil:
		return "not a custom notification"
	case len(message) > maxMessage:
		return "Message too long"
	case m.Version != "1.0", m.Source != "custom", m.Content.TextType != "client-markdown":
		return "not a custom notification: version " + m.Version + ", source " + m.Source + ", textType " + m.Content.TextType
	case m.Content.Title == "", m.Content.Description == "", m.Metadata.ThreadID == "":
		return "a custom notification without title, description or thread"
	}
	return empty(attributes)
}
