// Pictures writes a notice as a person on call sees it, as a page in the width of a phone.
// The notice is one that the demo's simulated day sent. The README's pictures are made
// from it and from the demo's page: make pictures.
package main

import (
	_ "embed"
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
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
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
