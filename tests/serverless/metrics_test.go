package serverless

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/emftest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// measured returns what CloudWatch would extract from a function's log. Each line must be
// one JSON object: the log group's format requires it, and queries depend on it.
func (s *Stack) measured(t *testing.T, name string) *emftest.Writer {
	t.Helper()
	w := &emftest.Writer{Now: s.Now}
	for line := range strings.Lines(s.functions[name].output.all()) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || object["_aws"] == nil && (object["msg"] == nil || object["function"] != name) {
			t.Errorf("%s wrote %q: %v", name, line, err)
		}
		_, err := w.Write([]byte(line))
		expect.That(t, err == nil, "%s: %v", name, err)
	}
	return w
}

// The number of messages that the functions count as sent equals the number that arrived,
// also with the API server.
func TestTheFunctionsCountWhatTheySend(t *testing.T) {
	s := deploy(t, "remediate", "ROLLCALL_DETAILED_METRICS=true") // by service too
	fleet(t, 3)
	launch(t)
	must.Succeed(t, s.Advance(t.Context(), 26*time.Minute))
	must.Succeed(t, s.Advance(t.Context(), time.Hour)) // the first sweep of an hour also queries EC2 for deleted clusters
	for name, services := range map[string]string{
		StateChange: "ec2 ssm scheduler", Sweep: "eks ec2 dynamodb sqs",
		Inspect:   "ec2 eks iam ssm dynamodb sns sqs scheduler events kubernetes",
		Remediate: "ec2 eks iam ssm dynamodb sns s3 events kubernetes",
	} {
		w, all := s.measured(t, name), 0.0
		for service := range strings.FieldsSeq(services) {
			n := w.Sum("APICalls", "Service", service)
			expect.That(t, n != 0, "%s counts nothing for %s", name, service)
			all += n
		}
		sum := w.Sum("APICalls")
		expect.That(t, sum >= all, "%s counts %v in all, and %v by service", name, sum, all)
	}
	if w := s.measured(t, Remediate); w.Sum("ActionsTaken", "Action", "terminate") != 1 || w.Sum("ActionsTaken") != 1 {
		t.Errorf("%+v", w.Data)
	}
	w := s.measured(t, Inspect)
	expect.That(t, w.Sum("FindingsOpened", "Kind", "Unregistered") == 1 && w.Sum("ChecksCompleted", "Cluster", "demo") != 0 && w.Sum("NoticesSent") != 0, "%+v", w.Data)
}

// A function without its variables ends with one line, by which the queries know it.
func TestAFunctionThatCannotStartSaysWhichItIs(t *testing.T) {
	for _, name := range []string{StateChange, Sweep, Inspect, Remediate} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, name))
		cmd.Env = []string{"ROLLCALL_TEST_CLOCK=" + filepath.Join(t.TempDir(), "clock")}
		out, err := cmd.CombinedOutput()
		expect.That(t, err != nil && strings.Count(string(out), "\n") == 1 && strings.Contains(string(out), `"msg":"cannot start","function":"`+name+`"`), "%s: %v\n%s", name, err, out)
		for _, fault := range illegible(name, string(out)) {
			t.Error(fault)
		}
	}
}
