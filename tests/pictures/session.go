package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"

	"rollcall/functions/local/demo"
)

// The times of a recording, in seconds: the command is typed, then each entry is shown for a while.
const (
	typed = 1.2
	pace  = 0.6
)

// session writes the demo on a terminal as a recording, for a tool that draws it.
// https://docs.asciinema.org/manual/asciicast/v2/
func session(w io.Writer) error {
	screen, err := recorded()
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	err = out.Encode(map[string]any{"version": 2, "width": 100, "height": len(lines)})
	for _, e := range events(lines) {
		if err == nil {
			err = out.Encode([]any{e.at, "o", e.text})
		}
	}
	return err
}

// recorded returns what the demo prints on a terminal, with its colors.
func recorded() (string, error) {
	var b bytes.Buffer
	b.WriteString("\x1b[2m$\x1b[0m bin/rollcall demo\n")
	err := demo.Run(context.Background(), demo.Options{Out: &b, Color: true})
	return b.String(), err
}

// event is text that appears at a time, in seconds from the beginning.
type event struct {
	at   float64
	text string
}

// events returns when each line appears: first all for an instant, so that a viewer without
// motion shows the whole, then entry by entry. Entries begin in the first column.
func events(lines []string) []event {
	const hideCursor, clear = "\x1b[?25l", "\x1b[2J\x1b[H"
	out := []event{{0, hideCursor + strings.Join(lines, "\r\n")}, {0.01, clear + lines[0]}}
	at := typed
	for i, line := range lines[1:] {
		if i > 2 && line != "" && !strings.HasPrefix(line, " ") {
			at += pace
		}
		out = append(out, event{at, "\r\n" + line})
	}
	return out
}
