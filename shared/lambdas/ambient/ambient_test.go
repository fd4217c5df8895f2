package ambient

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"rollcall/shared/report/metric"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/logtest"
)

func TestARemarkOfTheSDKIsALine(t *testing.T) {
	around(nil).Odd("failed to close the answer") // held against the page of log lines
	var out bytes.Buffer
	Ambient{Log: slog.New(slog.NewJSONHandler(&out, nil))}.Odd("failed to close\nthe answer")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"WARN","msg":"remark of the SDK","detail":"failed to close\nthe answer"`) {
		t.Errorf("got %s", got)
	}
}

func TestWhatEndsAnInvocationOrAFunctionIsALine(t *testing.T) {
	around(nil).Failed(`{"errorMessage":"no answer"}`) // held against the page of log lines
	around(nil).CannotStart(errors.New("ROLLCALL_TABLE is not set"))
	around(nil).Started("1.2.3")
	var out bytes.Buffer
	a := Ambient{Log: slog.New(slog.NewJSONHandler(&out, nil))}
	a.Failed("panic:\nno answer")
	a.CannotStart(errors.New("ROLLCALL_TABLE is not set\nROLLCALL_TOPIC_ARN is not set"))
	got := out.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, `"level":"ERROR","msg":"invocation failed","error":"panic:\nno answer"`) || !strings.Contains(got, `"level":"ERROR","msg":"cannot start","error":"ROLLCALL_TABLE is not set\n`) {
		t.Errorf("got %s", got)
	}
}

// A failure to write metrics does not affect the work.
func TestMetricsThatCannotBeWrittenAreALine(t *testing.T) {
	var kept []slog.Record
	a := around(logtest.Broken{})
	a.Log = logtest.Log(&kept)
	a.Count(metric.Sample{Of: metric.Sweeps, Value: 1})
	expect.That(t, len(kept) == 1 && kept[0].Message == "metrics not written", "logged %v", kept)
}
