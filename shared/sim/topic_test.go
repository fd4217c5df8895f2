package sim

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"rollcall/tests/harness/expect"
)

func TestWhatSNSTakes(t *testing.T) {
	a := bare(t, false)
	for name, tt := range map[string]struct {
		set func(*sns.PublishInput)
		ok  bool
	}{
		"a notice":                    {func(*sns.PublishInput) {}, true},
		"another topic":               {func(in *sns.PublishInput) { in.TopicArn = aws.String("arn:aws:sns:eu-west-1:111122223333:x") }, false},
		"a message of one form":       {func(in *sns.PublishInput) { in.Message = aws.String("{}") }, false},
		"text that is not structured": {func(in *sns.PublishInput) { in.MessageStructure = nil }, false},
		"too much": {func(in *sns.PublishInput) {
			in.Message = aws.String(`{"default":"` + strings.Repeat("x", maxMessage) + `"}`)
		}, false},
		"no subject":                   {func(in *sns.PublishInput) { in.Subject = nil }, false},
		"a subject of two lines":       {func(in *sns.PublishInput) { in.Subject = aws.String("a\nb") }, false},
		"a subject that is not ASCII":  {func(in *sns.PublishInput) { in.Subject = aws.String("a – b") }, false},
		"a subject of 100":             {func(in *sns.PublishInput) { in.Subject = aws.String(strings.Repeat("a", 100)) }, true},
		"a subject of 101":             {func(in *sns.PublishInput) { in.Subject = aws.String(strings.Repeat("a", 101)) }, false},
		"an attribute without a value": {func(in *sns.PublishInput) { in.MessageAttributes["cause"] = attribute("") }, false},
	} {
		in := &sns.PublishInput{
			TopicArn: aws.String(topicARN), Subject: aws.String("Rollcall"), MessageStructure: aws.String("json"),
			Message: aws.String(`{"default":"{\"cluster\":\"demo\"}","email":"all is well"}`), MessageAttributes: map[string]types.MessageAttributeValue{"cluster": attribute("demo")},
		}
		tt.set(in)
		v := a.environment(inspect)
		v.within(0, false, func() {
			_, err := (snsAPI{v}).Publish(t.Context(), in)
			expect.That(t, (err == nil) == tt.ok, "%s: %v", name, err)
		})
	}
}

func attribute(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
}
