package lambdas

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/shared/report/emftest"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

// written holds what all functions of all tests wrote; see TestMain.
var written = &notebook{lines: map[string]*logged{}}

// notebook records the logged lines with their keys, and output that was no metric.
type notebook struct {
	mu     sync.Mutex
	lines  map[string]*logged // by message
	faults []string
}

// logged is one sort of lines.
type logged struct {
	level        slog.Level
	always, ever map[string]bool // keys of every line, and of at least one
}

func (n *notebook) log(r slog.Record, keys []slog.Attr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	has := map[string]bool{}
	for _, k := range keys {
		has[k.Key] = true
	}
	l, ok := n.lines[r.Message]
	if !ok {
		l = &logged{level: r.Level, always: maps.Clone(has), ever: map[string]bool{}}
		n.lines[r.Message] = l
	}
	if l.level != r.Level || len(has) != len(keys) {
		n.faults = append(n.faults, fmt.Sprintf("%q is logged as %s and %s, or has a key twice: %v", r.Message, l.level, r.Level, keys))
	}
	maps.Copy(l.ever, has)
	maps.DeleteFunc(l.always, func(key string, _ bool) bool { return !has[key] })
}

func (n *notebook) fault(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, err.Error())
}

// logger records its lines.
type logger struct {
	keys []slog.Attr
	page *[]slog.Record // of one test, with the logger's own keys too; may be nil
}

func (l logger) Enabled(context.Context, slog.Level) bool { return true }

func (l logger) Handle(_ context.Context, r slog.Record) error {
	keys := slices.Clone(l.keys)
	r.Attrs(func(a slog.Attr) bool { keys = append(keys, a); return true })
	written.log(r, keys)
	if l.page != nil {
		whole := slog.NewRecord(r.Time, r.Level, r.Message, 0)
		whole.AddAttrs(keys...)
		*l.page = append(*l.page, whole)
	}
	return nil
}

func (l logger) WithAttrs(keys []slog.Attr) slog.Handler {
	l.keys = append(slices.Clone(l.keys), keys...)
	return l
}

func (l logger) WithGroup(string) slog.Handler { panic("keys stand on the root") }

// metrics checks the format of each line before it writes it.
type metrics struct{ emftest.Writer }

func (m *metrics) Write(lines []byte) (int, error) {
	n, err := m.Writer.Write(lines)
	if err != nil && !isBroken(m.Next) {
		written.fault(err)
	}
	return n, err
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func isBroken(w io.Writer) bool { _, ok := w.(broken); return ok }

func ambient(at time.Time, next io.Writer) Ambient {
	clock := func() time.Time { return at }
	return Ambient{Clock: clock, Log: slog.New(logger{}), Metrics: &metrics{emftest.Writer{Next: next, Now: clock}}}
}

func batch(bodies ...string) events.SQSEvent {
	var b events.SQSEvent
	for i, body := range bodies {
		b.Records = append(b.Records, events.SQSMessage{MessageId: fmt.Sprintf("m-%d", i), Body: body})
	}
	return b
}
