// Package logtest compares what the tests of a function log with the page that documents its
// log lines, and checks the format of its metrics.
package logtest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"rollcall/tests/harness/emftest"
)

// Main runs the tests of a package that has the handlers of these functions, and compares what
// they logged with infra/MONITORING.md. "all" stands for what every function logs.
func Main(m *testing.M, functions ...string) int {
	if len(rows(page(), keyTable)) < 20 || len(rows(page(), lineTable)) < 20 {
		panic("infra/MONITORING.md has not its tables of log lines")
	}
	code := m.Run()
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	for _, d := range differences(code == 0 && run == "" && skip == "", functions) {
		fmt.Fprintln(os.Stderr, "log lines and metrics:", d)
		code = 1
	}
	return code
}

// documented is a row of the page's table of messages.
type documented struct {
	level           slog.Level
	functions       []string
	always, perhaps []string
}

// The headers of its tables.
const (
	keyTable  = "| key | what it is |"
	lineTable = "| message | level | function | keys | when |"
)

var coded = regexp.MustCompile("`([^`]+)`")

// rows returns the cells of the table with this header.
func rows(page, header string) (out [][]string) {
	_, after, _ := strings.Cut(page, header+"\n")
	for line := range strings.Lines(after) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "); !strings.Contains(cells[0], "---") {
			out = append(out, cells)
		}
	}
	return out
}

func codes(cell string) (out []string) {
	for _, m := range coded.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// differences returns the differences between the lines that the tests logged and
// infra/MONITORING.md. If all tests ran, every line that the page has of these functions must
// have been logged.
func differences(all bool, functions []string) []string {
	faults := slices.Clone(written.faults)
	fault := func(format string, arguments ...any) { faults = append(faults, fmt.Sprintf(format, arguments...)) }
	keys := map[string]bool{}
	for _, row := range rows(page(), keyTable) {
		for _, k := range codes(row[0]) {
			keys[k] = true
		}
	}
	table := map[string]documented{}
	optional := regexp.MustCompile("\\(`[^`]+`\\)")
	for _, row := range rows(page(), lineTable) {
		d := documented{perhaps: codes(strings.Join(optional.FindAllString(row[3], -1), "")), always: codes(optional.ReplaceAllString(row[3], ""))}
		if err := d.level.UnmarshalText([]byte(strings.TrimSpace(row[1]))); err != nil {
			fault("%s: %v", row[0], err)
		}
		d.functions = strings.Split(strings.TrimSpace(row[2]), ", ")
		table[codes(row[0])[0]] = d
	}
	for message, l := range written.lines {
		d, ok := table[message]
		switch {
		case !ok:
			fault("%q is logged and not on the page", message)
			continue
		case d.level != l.level:
			fault("%q is logged as %s", message, l.level)
		}
		for _, k := range d.always {
			if !l.always[k] {
				fault("%q is logged without %s", message, k)
			}
		}
		for k := range l.ever {
			if !slices.Contains(d.always, k) && !slices.Contains(d.perhaps, k) {
				fault("%q is logged with %s", message, k)
			}
		}
	}
	for message, d := range table {
		l := written.lines[message]
		ours, others := 0, 0
		for _, f := range d.functions {
			if slices.Contains(functions, f) {
				ours++
			} else {
				others++
			}
		}
		all := all && ours > 0
		if all && l == nil {
			fault("%q is on the page, and no test has it logged", message)
			continue
		}
		for _, k := range append(d.always, d.perhaps...) {
			if !keys[k] {
				fault("the page does not say what %s is", k)
			}
			if all && others == 0 && !l.ever[k] {
				fault("%q is never logged with %s", message, k)
			}
		}
		for _, k := range d.perhaps {
			if all && others == 0 && l.always[k] {
				fault("%q is always logged with %s", message, k)
			}
		}
	}
	return faults
}

// page is infra/MONITORING.md. A test's result is not taken from the cache after it changed.
var page = sync.OnceValue(func() string {
	data, err := os.ReadFile("../../../infra/MONITORING.md")
	if os.IsNotExist(err) {
		data, err = os.ReadFile("../../infra/MONITORING.md") // from shared/lambdas itself
	}
	if err != nil {
		panic(err)
	}
	return string(data)
})

// written holds what all functions of all tests of a package wrote; see Main.
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

// Enabled keeps lines of every level.
func (l logger) Enabled(context.Context, slog.Level) bool { return true }

// Handle records a line with the keys of its logger.
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

// WithAttrs returns a logger whose lines have more keys.
func (l logger) WithAttrs(keys []slog.Attr) slog.Handler {
	l.keys = append(slices.Clone(l.keys), keys...)
	return l
}

// WithGroup panics: the documented keys stand on the root.
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

// Broken is a writer that fails.
type Broken struct{}

func (Broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func isBroken(w io.Writer) bool { _, ok := w.(Broken); return ok }

// Log returns a logger whose lines are compared with the page, and kept in kept if that is not
// nil.
func Log(kept *[]slog.Record) *slog.Logger { return slog.New(logger{page: kept}) }

// Metrics returns a writer of metrics as of a time, whose format is checked.
func Metrics(at time.Time, next io.Writer) io.Writer {
	return &metrics{emftest.Writer{Next: next, Now: func() time.Time { return at }}}
}

// Batch returns a batch of messages with these bodies.
func Batch(bodies ...string) events.SQSEvent {
	var b events.SQSEvent
	for i, body := range bodies {
		b.Records = append(b.Records, events.SQSMessage{MessageId: fmt.Sprintf("m-%d", i), Body: body})
	}
	return b
}
