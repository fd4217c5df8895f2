package awserr

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// The model of SQS gives each error a second name, by the trait awsQueryError, such as KMS.AccessDeniedException for
// KmsAccessDenied: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsqueryerror-trait
func TestTheKeyOfAQueue(t *testing.T) {
	for _, c := range []struct {
		name, query string
		want        kinds
	}{
		{"KmsAccessDenied", "KMS.AccessDeniedException", kinds{denied: true}},
		{"KmsThrottled", "KMS.ThrottlingException", kinds{throttled: true}},
		{"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", kinds{notFound: true}},
	} {
		for _, header := range []string{"", c.query + ";Sender"} {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-amzn-query-error", header)
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"__type": "com.amazonaws.sqs#` + c.name + `"}`))
			}))
			client := sqs.New(sqs.Options{
				Region: "eu-west-1", BaseEndpoint: aws.String(service.URL), RetryMaxAttempts: 1,
				Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			})
			_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(service.URL), MessageBody: aws.String("{}")})
			service.Close()
			if got := classify(err); err == nil || got != c.want {
				t.Errorf("%s, header %q: %v is %+v, want %+v", c.name, header, err, got, c.want)
			}
		}
	}
}
