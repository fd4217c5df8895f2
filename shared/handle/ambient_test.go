package handle

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

func ambient(at time.Time, metrics io.Writer) Ambient {
	return Ambient{Clock: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler), Metrics: metrics}
}

func batch(bodies ...string) events.SQSEvent {
	var b events.SQSEvent
	for i, body := range bodies {
		b.Records = append(b.Records, events.SQSMessage{MessageId: fmt.Sprintf("m-%d", i), Body: body})
	}
	return b
}
