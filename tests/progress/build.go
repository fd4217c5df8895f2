package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// build runs go build with the arguments.
func build(ctx context.Context, name string, args []string, stdout, stderr io.Writer) error {
	stale, err := list(ctx, stderr, append([]string{"-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, withoutOutput(args)...)...)
	if err != nil {
		return err
	}
	b := &compilation{name: name, began: time.Now(), left: map[string]bool{}, stderr: stderr}
	for _, p := range stale {
		b.left[p] = true
	}
	b.total = len(b.left)
	b.say(b.opening())
	cmd := goTool(ctx, append([]string{"build", "-v"}, args...)...)
	cmd.Stdout = stdout
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := follow(cmd, out, buildEvery, b.line, func() { b.say(b.state(time.Now())) }); err != nil {
		return err
	}
	b.say(fmt.Sprintf("%s: built in %s", name, about(time.Since(b.began))))
	return nil
}

// withoutOutput returns the arguments of go build without -o, which go list does not know.
func withoutOutput(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == "-o" {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// compilation is what is known of a build.
type compilation struct {
	name   string
	began  time.Time
	left   map[string]bool // packages that are to be compiled
	total  int
	stderr io.Writer
}

func (b *compilation) say(s string) {
	if b.total > 1 { // a build that only links is not worth a line
		_, _ = fmt.Fprintln(b.stderr, s)
	}
}

// line takes a line of go build -v: a package that it begins to compile, or else something to
// pass on.
func (b *compilation) line(s string) {
	if p := strings.TrimSpace(s); b.left[p] {
		delete(b.left, p)
		return
	} else if p != "" && !strings.ContainsAny(p, " :") {
		return // a package that was not stale
	}
	_, _ = io.WriteString(b.stderr, s)
}

func (b *compilation) opening() string {
	return fmt.Sprintf("%s: %d packages to compile, then to link", b.name, b.total)
}

func (b *compilation) state(now time.Time) string {
	done, took := b.total-len(b.left), now.Sub(b.began)
	if len(b.left) == 0 {
		return fmt.Sprintf("%s: all compiled, linking; %s so far", b.name, about(took))
	}
	s := fmt.Sprintf("%s: %d of %d packages compiled, %s so far", b.name, done, b.total, about(took))
	if done > 0 {
		s += fmt.Sprintf(", %s left", about(took/time.Duration(done)*time.Duration(len(b.left))))
	}
	return s
}

// about returns a duration in words, to the minute if it is long.
func about(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
