package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// test runs go test with the flags for the packages.
func test(ctx context.Context, flags, patterns []string, stdout, stderr io.Writer) error {
	packages, err := list(ctx, stderr, patterns...)
	if err != nil {
		return err
	}
	t := newTests(packages, stdout, time.Now())
	_, _ = fmt.Fprintf(stderr, "%d packages to compile and test; what runs is said once a minute\n", len(packages))
	// The limit of go test is the same for all packages and for every machine.
	args := slices.Concat([]string{"test", "-json", "-timeout", "0"}, flags, patterns)
	cmd := goTool(ctx, args...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	err = follow(cmd, out, testEvery, func(s string) { t.line(s, time.Now()) }, func() {
		now := time.Now()
		_, _ = fmt.Fprintln(stderr, t.state(now))
		for _, p := range t.hanging(now) {
			_, _ = fmt.Fprintf(stderr, "%s: none of its tests began or ended for %s, so it is stopped; the stacks are below\n", p, about(quiet))
			interrupt(cmd.Process.Pid, p)
		}
	})
	t.rest()
	_, _ = fmt.Fprintln(stderr, t.total(time.Now()))
	return err
}

// event is a line of go test -json. https://pkg.go.dev/cmd/test2json
type event struct {
	Action, Package, Test, Output string
}

// tests is what is known of a run of go test.
type tests struct {
	stdout io.Writer
	began  time.Time
	all    int
	done   int
	failed []string
	open   map[string]*open
}

// open is a package whose tests run.
type open struct {
	began, last time.Time
	running     map[string]time.Time
	order       []string            // tests, as they first wrote
	wrote       map[string][]string // what each wrote, and under "" the package; until it passed
}

func newTests(packages []string, stdout io.Writer, now time.Time) *tests {
	return &tests{stdout: stdout, began: now, all: len(packages), open: map[string]*open{}}
}

// line takes a line of go test -json. One that is not JSON is passed on.
func (t *tests) line(s string, now time.Time) {
	var e event
	if err := json.Unmarshal([]byte(s), &e); err != nil {
		t.print(s)
		return
	}
	if e.Action == "build-output" {
		t.print(e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := t.open[e.Package]
	if p == nil {
		p = &open{began: now, running: map[string]time.Time{}, wrote: map[string][]string{}}
		t.open[e.Package] = p
	}
	switch e.Action {
	case "run":
		p.last = now
		p.running[e.Test] = now
	case "output":
		if e.Test != "" && framing(e.Output) {
			return
		}
		if !slices.Contains(p.order, e.Test) {
			p.order = append(p.order, e.Test)
		}
		p.wrote[e.Test] = append(p.wrote[e.Test], e.Output)
	case "pass", "skip", "fail":
		p.last = now
		delete(p.running, e.Test)
		if e.Test == "" {
			t.close(e.Package, p, e.Action)
		} else if e.Action != "fail" {
			delete(p.wrote, e.Test)
		}
	}
}

// framing reports whether a line only says that a test begins or goes on.
func framing(s string) bool {
	for _, begin := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}

// close prints what go test prints of a package that ended: of one that passed its closing
// line, of one that failed everything but what the tests wrote that passed.
func (t *tests) close(name string, p *open, action string) {
	t.done++
	delete(t.open, name)
	if action == "fail" {
		t.failed = append(t.failed, name)
		t.dump(p)
		return
	}
	for _, s := range p.wrote[""] {
		if strings.HasPrefix(s, "ok  ") || strings.HasPrefix(s, "?   ") {
			t.print(s)
		}
	}
}

// dump prints what the tests of a package wrote, and last the package itself.
func (t *tests) dump(p *open) {
	for _, test := range append(slices.DeleteFunc(p.order, func(s string) bool { return s == "" }), "") {
		for _, s := range p.wrote[test] {
			t.print(s)
		}
	}
}

// rest prints what is left of packages that did not end.
func (t *tests) rest() {
	for _, name := range slices.Sorted(maps.Keys(t.open)) {
		t.dump(t.open[name])
	}
}

func (t *tests) print(s string) { _, _ = io.WriteString(t.stdout, s) }

// state returns the line about what runs, and what is left.
func (t *tests) state(now time.Time) string {
	s := fmt.Sprintf("-- %s: %d of %d packages done", about(now.Sub(t.began)), t.done, t.all)
	if n := len(t.failed); n > 0 {
		s += fmt.Sprintf(", %d failed", n)
	}
	if len(t.open) == 0 {
		return s + "; compiling"
	}
	var running []string
	names := slices.SortedFunc(maps.Keys(t.open), func(a, b string) int { return t.open[a].began.Compare(t.open[b].began) })
	for _, name := range names {
		p := t.open[name]
		r := fmt.Sprintf("%s %s", short(name), about(now.Sub(p.began)))
		if test, since := p.longest(); test != "" {
			r += fmt.Sprintf(" (%s %s)", test, about(now.Sub(since)))
		}
		running = append(running, r)
	}
	return fmt.Sprintf("%s; running: %s; %d left", s, strings.Join(running, ", "), t.all-t.done-len(t.open))
}

// total returns the last line.
func (t *tests) total(now time.Time) string {
	took := about(now.Sub(t.began))
	switch {
	case len(t.failed) > 0:
		return fmt.Sprintf("-- %d of %d packages failed, in %s: %s", len(t.failed), t.all, took, strings.Join(t.failed, " "))
	case t.done < t.all:
		return fmt.Sprintf("-- stopped after %s: %d of %d packages were tested", took, t.done, t.all)
	}
	return fmt.Sprintf("-- all %d packages passed, in %s", t.all, took)
}

// hanging returns the packages none of whose tests began or ended for a time. It counts anew for
// those that it returns, so that each is stopped once.
func (t *tests) hanging(now time.Time) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(t.open)) {
		if p := t.open[name]; len(p.running) > 0 && now.Sub(p.last) >= quiet {
			p.last = now
			out = append(out, name)
		}
	}
	return out
}

// longest returns the test that has run for longest, without those within it.
func (p *open) longest() (test string, since time.Time) {
	for name, at := range p.running {
		if test == "" || at.Before(since) || at.Equal(since) && name < test {
			test, since = name, at
		}
	}
	return test, since
}

// short returns the path of a package within the module.
func short(name string) string {
	_, path, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return path
}
