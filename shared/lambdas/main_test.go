package lambdas

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// documented is a row of the page's table of messages.
type documented struct {
	level           slog.Level
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
// infra/MONITORING.md. If all tests ran, every line of the page must have been logged.
func differences(all bool) []string {
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
		if all && l == nil {
			fault("%q is on the page, and no test has it logged", message)
			continue
		}
		for _, k := range append(d.always, d.perhaps...) {
			if !keys[k] {
				fault("the page does not say what %s is", k)
			}
			if all && !l.ever[k] {
				fault("%q is never logged with %s", message, k)
			}
		}
		for _, k := range d.perhaps {
			if all && l.always[k] {
				fault("%q is always logged with %s", message, k)
			}
		}
	}
	return faults
}

// page is infra/MONITORING.md.
var page = sync.OnceValue(func() string {
	data, err := os.ReadFile("../../infra/MONITORING.md")
	if err != nil {
		panic(err)
	}
	return string(data)
})

// A test reads it too, so that a result is not taken from the cache after the page has
// changed.
func TestThePageOfLogLinesHasItsTables(t *testing.T) {
	if keys, lines := rows(page(), keyTable), rows(page(), lineTable); len(keys) < 20 || len(lines) < 20 {
		t.Errorf("%d keys, %d lines", len(keys), len(lines))
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	for _, d := range differences(code == 0 && run == "" && skip == "") {
		fmt.Fprintln(os.Stderr, "log lines and metrics:", d)
		code = 1
	}
	os.Exit(code)
}
