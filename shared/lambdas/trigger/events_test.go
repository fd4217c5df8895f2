package trigger_test

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// record is one record of a batch as Lambda hands it to a function.
type record struct {
	MessageID      string            `json:"messageId"`
	ReceiptHandle  string            `json:"receiptHandle"`
	Body           string            `json:"body"`
	Attributes     map[string]string `json:"attributes"`
	MD5            string            `json:"md5OfBody"`
	EventSource    string            `json:"eventSource"`
	EventSourceARN string            `json:"eventSourceARN"`
	Region         string            `json:"awsRegion"`
}

// sample reads the records of a file in events/.
func sample(t testing.TB, name string) []record {
	t.Helper()
	data := must.Read(t, filepath.Join("../../../events", name))
	var batch struct{ Records []record }
	err := json.Unmarshal(data, &batch)
	must.That(t, err == nil, "%s: %v", name, err)
	must.That(t, len(batch.Records) > 0, "%s holds no records", name)
	return batch.Records
}

func samples(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob("../../../events/" + pattern)
	must.That(t, err == nil && len(files) > 0, "%v %v", files, err)
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}

func TestSamplesAreBatchesAsLambdaSendsThem(t *testing.T) {
	for _, name := range append(append(samples(t, "statechange-*.json"), samples(t, "order*.json")...), "check.json", "health-scheduled.json") {
		seen := map[string]bool{}
		for i, r := range sample(t, name) {
			sum := md5.Sum([]byte(r.Body))
			expect.That(t, r.MD5 == hex.EncodeToString(sum[:]), "%s, record %d: md5OfBody is not that of the body", name, i)
			if r.MessageID == "" || seen[r.MessageID] || r.ReceiptHandle == "" || r.EventSource != "aws:sqs" || r.Region == "" ||
				!strings.HasPrefix(r.EventSourceARN, "arn:aws:sqs:"+r.Region+":111122223333:") ||
				r.Attributes["ApproximateReceiveCount"] == "" || r.Attributes["SentTimestamp"] == "" {
				t.Errorf("%s, record %d: %+v", name, i, r)
			}
			seen[r.MessageID] = true
			fifo := strings.HasSuffix(r.EventSourceARN, ".fifo")
			for _, attribute := range []string{"MessageGroupId", "MessageDeduplicationId", "SequenceNumber"} {
				expect.That(t, (r.Attributes[attribute] != "") == fifo, "%s, record %d: %s %q", name, i, attribute, r.Attributes[attribute])
			}
		}
	}
}

func TestSampleSweepIsAnInvocationByTheScheduler(t *testing.T) {
	data := must.Read(t, "../../../events/sweep.json")
	var e map[string]any
	must.Succeed(t, json.Unmarshal(data, &e))
	expect.That(t, e["source"] == "aws.scheduler" && e["detail-type"] == "Scheduled Event" && e["detail"] == "{}", "%v", e)
}

func contentID(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}
