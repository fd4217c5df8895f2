package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"rollcall/functions/local/demo"
)

//go:embed session.svg.tmpl
var drawing string

// The measures of the terminal, in pixels. A character is a little wider than 0.6 times its height, as in
// the usual fonts; each run of characters has a place of its own, so that columns are aligned in
// others, too.
const (
	charWidth  = 8.0
	lineHeight = 18.0
	top, left  = 62.0, 18.0
	// pace is the time between two entries, and the line of a command is typed before.
	pace  = 0.6
	typed = 1.2
)

// session draws the demo as a terminal shows it: a picture with its text, which appears line by
// line where the reader allows that, and is whole from the beginning elsewhere.
func session(w io.Writer) error {
	screen, err := recorded()
	if err != nil {
		return err
	}
	return template.Must(template.New("session").Funcs(template.FuncMap{"xml": escaped}).Parse(drawing)).Execute(w, drawn(screen))
}

// recorded returns what the demo prints on a terminal, with its colors.
func recorded() (string, error) {
	var b bytes.Buffer
	b.WriteString("\x1b[2m$\x1b[0m bin/rollcall demo\n")
	err := demo.Run(context.Background(), demo.Options{Out: &b, Color: true})
	return b.String(), err
}

// span is a run of characters in one color.
type span struct {
	X           float64
	Class, Text string
}

// row is a line, and when it appears.
type row struct {
	Y, At float64
	Spans []span
}

// picture is the value of the template.
type picture struct {
	Width, Height float64
	Rows          []row
}

var color = regexp.MustCompile("\x1b\\[([0-9]*)m")

// drawn lays a screen out. Entries begin in the first column.
func drawn(screen string) picture {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	p := picture{Width: 2*left + 100*charWidth}
	at := 0.0
	for i, line := range lines {
		switch {
		case i == 1:
			at = typed
		case i > 3 && line != "" && !strings.HasPrefix(line, " "):
			at += pace
		}
		p.Rows = append(p.Rows, row{Y: top + float64(i)*lineHeight, At: at, Spans: spans(line)})
	}
	p.Height = top + float64(len(lines)-1)*lineHeight + left
	return p
}

// spans splits a line where its color changes.
func spans(line string) (out []span) {
	class, column := "", 0
	add := func(text string) {
		trimmed := strings.TrimLeft(text, " ")
		begin := column + len(text) - len(trimmed)
		column += len([]rune(text))
		if trimmed = strings.TrimRight(trimmed, " "); trimmed != "" {
			out = append(out, span{X: left + float64(begin)*charWidth, Class: class, Text: trimmed})
		}
	}
	rest := line
	for {
		at := color.FindStringSubmatchIndex(rest)
		if at == nil {
			add(rest)
			return out
		}
		add(rest[:at[0]])
		if class = "c" + rest[at[2]:at[3]]; slices.Contains([]string{"c", "c0"}, class) {
			class = ""
		}
		rest = rest[at[1]:]
	}
}

func escaped(s string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// texts returns the text of a drawn session, as the words of its lines.
func texts(svg []byte) (out []string, err error) {
	var root struct {
		Lines []struct {
			Spans []string `xml:"tspan"`
		} `xml:"g>text"`
	}
	if err := xml.Unmarshal(svg, &root); err != nil {
		return nil, fmt.Errorf("the picture: %w", err)
	}
	for _, l := range root.Lines {
		out = append(out, strings.Join(l.Spans, " "))
	}
	return out, nil
}
