package main

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// words returns the words of the lines that are not empty.
func words(lines []string) (out []string) {
	for _, l := range lines {
		if f := strings.Fields(l); len(f) > 0 {
			out = append(out, strings.Join(f, " "))
		}
	}
	return out
}

// The picture at the head of the README is what the demo prints today.
func TestTheSessionIsWhatTheDemoPrints(t *testing.T) {
	screen, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile("session.svg")
	if err != nil {
		t.Fatal(err)
	}
	got, err := texts(svg)
	if err != nil {
		t.Fatal(err)
	}
	want := words(strings.Split(color.ReplaceAllString(screen, ""), "\n"))
	if diff := cmp.Diff(want, words(got)); diff != "" {
		t.Errorf("the picture is old: make session draws it again (-demo +picture)\n%s", diff)
	}
	if n := len(strings.Split(screen, "\n")) - 2; n > 60 {
		t.Errorf("the demo prints %d lines, which is more than a screen", n)
	}
	if len(svg) > 60_000 {
		t.Errorf("the picture has %d bytes", len(svg))
	}
}

func TestColorsAndColumnsAreDrawn(t *testing.T) {
	got := spans("10:00  \x1b[1mbold <&>\x1b[0m  \x1b[32msaved\x1b[0m")
	want := []span{{left, "", "10:00"}, {left + 7*charWidth, "c1", "bold <&>"}, {left + 17*charWidth, "c32", "saved"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := drawn("$ x\nfirst\n\nsecond\nthird\n  of it\nfourth\n")
	var at []float64
	for _, r := range p.Rows {
		at = append(at, math.Round(10*r.At))
	}
	if want := []float64{0, 12, 12, 12, 18, 18, 24}; !slices.Equal(at, want) {
		t.Errorf("the lines appear at %v", at)
	}
	if _, err := texts([]byte("<svg")); err == nil {
		t.Error("no picture is taken for one")
	}
	if err := run(&bytes.Buffer{}, nil); err == nil {
		t.Error("nothing is drawn without a name")
	}
}
