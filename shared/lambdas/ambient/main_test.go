package ambient

import (
	"io"
	"os"
	"testing"
	"time"

	"rollcall/tests/harness/logtest"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

func TestMain(m *testing.M) { os.Exit(logtest.Main(m, "all")) }

func around(metrics io.Writer) Ambient {
	return Ambient{Clock: func() time.Time { return now }, Log: logtest.Log(nil), Metrics: logtest.Metrics(now, metrics), Detailed: true}
}
