package main

import (
	"bytes"
	"encoding/xml"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// words returns the words of the lines that are not empty.
func words(lines []string) (out []string) {
	for _, l := range lines {
		if f := strings.Fields(l); len(f) > 0 {
			out = append(out, strings.Join(f, " "))
		}
	}
	return out
}

// frames returns the lines of the first and the last frame of a drawn recording.
func frames(t *testing.T, svg []byte) (first, last []string) {
	var root struct {
		Lines []struct {
			ID    string   `xml:"id,attr"`
			Texts []string `xml:"text"`
		} `xml:"svg>defs>g"`
		Frames []struct {
			Uses []struct {
				Line string `xml:"href,attr"`
			} `xml:"use"`
		} `xml:"svg>g>g"`
	}
	must.Succeed(t, xml.Unmarshal(svg, &root))
	text := map[string]string{}
	for _, l := range root.Lines {
		text["#"+l.ID] = strings.Join(l.Texts, " ")
	}
	must.That(t, len(root.Frames) >= 10, "%d frames", len(root.Frames))
	for _, u := range root.Frames[0].Uses {
		first = append(first, text[u.Line])
	}
	for _, u := range root.Frames[len(root.Frames)-1].Uses {
		last = append(last, text[u.Line])
	}
	return first, last
}

// The picture at the head of the README is what the demo prints today, from its first frame on,
// which a viewer without motion shows.
func TestTheSessionIsWhatTheDemoPrints(t *testing.T) {
	screen, err := recorded()
	must.Succeed(t, err)
	svg := must.Read(t, "session.svg")
	want := words(strings.Split(escape.ReplaceAllString(screen, ""), "\n"))
	first, last := frames(t, svg)
	for name, got := range map[string][]string{"first": first, "last": last} {
		if diff := cmp.Diff(want, words(got)); diff != "" {
			t.Errorf("the %s frame is old: make session draws it again (-demo +picture)\n%s", name, diff)
		}
	}
	if n := len(strings.Split(screen, "\n")) - 2; n > 60 {
		t.Errorf("the demo prints %d lines, which is more than a screen", n)
	}
	expect.That(t, len(svg) <= 60_000, "the picture has %d bytes", len(svg))
}

func TestEntriesAppearOneByOne(t *testing.T) {
	var at []float64
	for _, e := range events(strings.Split("$ x\nfirst\n\nsecond\nthird\n  of it\nfourth", "\n")) {
		at = append(at, math.Round(10*e.at))
	}
	if want := []float64{0, 0, 12, 12, 12, 18, 18, 24}; !slices.Equal(at, want) {
		t.Errorf("the lines appear at %v", at)
	}
	if err := run(&bytes.Buffer{}, nil); err == nil {
		t.Error("nothing is recorded without a name")
	}
}
