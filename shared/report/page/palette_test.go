package page

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// pair is a colour on another, and the least contrast that it needs: 4.5 for text, 3 for
// graphics, by WCAG 2.2, success criteria 1.4.3 and 1.4.11.
type pair struct {
	front, back string
	least       float64
}

const (
	text  = 4.5
	shape = 3.0
)

var pairs = []pair{
	{"ink", "paper", text}, {"ink", "wash", text}, {"ink", "band", text}, {"ink", "fill", text}, {"ink", "lack", text},
	{"soft", "paper", text}, {"soft", "wash", text}, {"soft", "band", text},
	{"link", "paper", text}, {"link", "wash", text},
	{"good", "paper", text}, {"good", "wash", text},
	{"warn", "paper", text}, {"warn", "wash", text},
	{"bad", "paper", text}, {"bad", "wash", text},
	{"held", "paper", text}, {"held", "wash", text},
	{"paper", "ink", text}, {"paper", "warn", shape}, {"paper", "bad", shape}, {"paper", "held", shape}, {"paper", "good", shape}, {"paper", "link", shape},
	{"good", "band", shape}, {"warn", "band", shape}, {"bad", "band", shape}, {"held", "band", shape}, {"link", "band", shape},
	{"idle", "paper", shape}, {"idle", "band", shape}, {"idle", "wash", shape},
	{"calm", "band", shape}, {"calm", "paper", shape},
	{"good", "fill", shape}, {"bad", "lack", shape},
	{"bandline", "paper", shape}, {"bandline", "band", shape},
}

// luminance returns the relative luminance of a colour by WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	must.That(t, err == nil && len(hex) == 7, "%q is no colour", hex)
	linear := func(c uint64) float64 {
		s := float64(c) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8&255) + 0.0722*linear(n&255)
}

// contrast returns the contrast ratio of two colours by WCAG 2.2, 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrast(t *testing.T) {
	if c := contrast(t, "#000000", "#ffffff"); math.Abs(c-21) > 0.001 {
		t.Fatalf("black on white is %v", c)
	}
	find := func(name string) colour {
		i := slices.IndexFunc(palette, func(c colour) bool { return c.name == name })
		must.That(t, i >= 0, "there is no colour %q", name)
		return palette[i]
	}
	for _, p := range pairs {
		front, back := find(p.front), find(p.back)
		for scheme, c := range map[string]float64{"light": contrast(t, front.light, back.light), "dark": contrast(t, front.dark, back.dark)} {
			expect.That(t, c >= p.least, "%s: %s on %s is %.2f, less than %v", scheme, p.front, p.back, c, p.least)
		}
	}
}

// The contrast test covers the page only if the page has no other colours.
func TestEveryColourIsOfThePalette(t *testing.T) {
	declared := regexp.MustCompile(`(?:^|[;{])\s*(color|background|fill|stroke|border(?:-(?:top|right|bottom|left))?(?:-color)?|outline):([^;}]+)`)
	names := regexp.MustCompile(`var\(--([a-z]+)\)`)
	used := map[string]bool{}
	for _, m := range declared.FindAllStringSubmatch(rules, -1) {
		value := m[2]
		for _, n := range names.FindAllStringSubmatch(value, -1) {
			used[n[1]] = true
		}
		rest := strings.TrimSpace(names.ReplaceAllString(value, ""))
		expect.That(t, slices.Contains([]string{"", "none", "inherit", "1px solid", "2px solid", "3px solid"}, rest), "%s:%s has a colour of its own", m[1], value)
	}
	expect.Equal(t, regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(`).FindString(rules), "", "page.css has the colour")
	for _, c := range palette {
		if !used[c.name] && !strings.Contains(rules, fmt.Sprintf("var(--%s)", c.name)) {
			t.Errorf("%s is not used", c.name)
		}
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.front == c.name || p.back == c.name }) && c.name != "line" && c.name != "grid" {
			t.Errorf("the contrast of %s is not checked", c.name)
		}
		delete(used, c.name)
	}
	for n := range used {
		t.Errorf("there is no colour %q", n)
	}
}
