package lambdas

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestARemarkOfTheSDKIsALine(t *testing.T) {
	ambient(now, nil).Odd("failed to close the answer") // held against the page of log lines
	var out bytes.Buffer
	Ambient{Log: slog.New(slog.NewJSONHandler(&out, nil))}.Odd("failed to close\nthe answer")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"WARN","msg":"remark of the SDK","detail":"failed to close\nthe answer"`) {
		t.Errorf("got %s", got)
	}
}
