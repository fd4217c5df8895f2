package start

import (
	"bytes"
	"encoding/json"
	text "log"
	"log/slog"
	"os"
	"testing"

	"github.com/aws/smithy-go/logging"

	"rollcall/shared/lambdas/ambient"
)

func TestTheSDKLogsAsTheFunctionsDo(t *testing.T) {
	var out bytes.Buffer
	log := sdk(ambient.Ambient{Log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	log.Logf(logging.Debug, "request %d", 1)
	if out.Len() > 0 {
		t.Errorf("wrote %s, want nothing of what only helps to mend the SDK", &out)
	}
	log.Logf(logging.Warn, "failed to close\nresponse %d", 2)
	var line struct{ Level, Msg, Detail string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("wrote %q, want one JSON object: %v", &out, err)
	}
	if line.Level != "WARN" || line.Msg != "remark of the SDK" || line.Detail != "failed to close\nresponse 2" {
		t.Errorf("got %+v", line)
	}
}

// Lambda's runtime logs the error of a failed invocation with the standard logger.
func TestTheRuntimeLogsAsTheFunctionsDo(t *testing.T) {
	flags := text.Flags()
	defer func() { text.SetFlags(flags); text.SetOutput(os.Stderr) }()
	var out bytes.Buffer
	runtime(ambient.Ambient{Log: slog.New(slog.NewJSONHandler(&out, nil)).With("function", "sweep")})
	text.Printf("%s", `{"errorMessage":"no answer","errorType":"errorString"}`)
	var line struct{ Level, Msg, Function, Error string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("wrote %q, want one JSON object: %v", &out, err)
	}
	if line.Level != "ERROR" || line.Msg != "invocation failed" || line.Function != "sweep" || line.Error != `{"errorMessage":"no answer","errorType":"errorString"}` {
		t.Errorf("got %+v", line)
	}
}
