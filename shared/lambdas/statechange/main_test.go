package statechange

import (
	"io"
	"os"
	"testing"
	"time"

	"rollcall/shared/lambdas/ambient"
	"rollcall/tests/harness/logtest"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

func TestMain(m *testing.M) { os.Exit(logtest.Main(m, "statechange")) }

func around(at time.Time, metrics io.Writer) ambient.Ambient {
	return ambient.Ambient{Clock: func() time.Time { return at }, Log: logtest.Log(nil), Metrics: logtest.Metrics(at, metrics), Detailed: true}
}
