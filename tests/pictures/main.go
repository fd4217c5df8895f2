// Pictures prepares what the README shows of the demo's simulated day, for make pictures.
//
//	go run ./tests/pictures session    # the demo on a terminal, as a recording (asciicast)
//	go run ./tests/pictures notice     # a notice as mail on a phone, as a page to photograph
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/sim"
)

//go:embed mail.html.tmpl
var markup string

var mail = template.Must(template.New("mail").Parse(markup))

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	switch strings.Join(args, " ") {
	case "session":
		return session(w)
	case "notice":
		return onPhone(w)
	}
	return errors.New("usage: pictures session | notice")
}

// onPhone writes the notice as a person on call sees it: SNS sends mail as plain text.
func onPhone(w io.Writer) error {
	notice, err := first(sim.Day(), cause.ControllerRoleMapped)
	if err != nil {
		return err
	}
	return mail.Execute(w, map[string]any{
		"Clock": notice.At.UTC().Format("15:04"), "Day": notice.At.UTC().Format("Mon 2 Jan"),
		"Subject": notice.Subject, "Lines": lines(notice.Text),
	})
}

// first returns the first notice of a day that reports a cause.
func first(day sim.Scenario, code string) (sim.Event, error) {
	var found sim.Event
	_, err := sim.Run(day, sim.Watch{GoOn: true, Tell: func(e sim.Event) {
		if e.Kind == sim.EventNotice && e.Cause == code && found.Text == "" {
			found = e
		}
	}})
	if err == nil && found.Text == "" {
		err = fmt.Errorf("no notice of %s told %s", day.Start.Format(time.DateOnly), code)
	}
	return found, err
}

// lines returns the lines of a text, without empty ones at its end.
func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
