package console

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"rollcall/shared/evidence/redact"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestEmptyTextHasNoLines(t *testing.T) {
	if got := Read(""); got.Lines != 0 || got.Truncated || len(got.Found) > 0 {
		t.Errorf("%+v", got)
	}
	got := Read("\n")
	expect.That(t, got.Lines == 1, "%+v", got)
}

func TestTextAsLongAsEC2KeepsHasLostItsBeginning(t *testing.T) {
	for _, tc := range []struct {
		bytes int
		want  bool
	}{{kept - 1, false}, {kept, true}, {64 << 10, true}, {MaxBytes + 1, true}} {
		got := Read(strings.Repeat("x", tc.bytes))
		expect.That(t, got.Truncated == tc.want, "%d bytes: %v", tc.bytes, got.Truncated)
	}
}

func TestOfTooLongATextTheEndIsRead(t *testing.T) {
	const panicked = "[    1.000001] Kernel panic - not syncing: first\n"
	text := panicked + strings.Repeat("noise\n", MaxBytes/6) + "[    9.000001] Kernel panic - not syncing: last"
	got := Read(text)
	must.That(t, len(got.Found) == 1 && got.Found[0].Detail == "last", "%+v", got.Found)
	want := strings.Count(text, "\n") + 1
	expect.That(t, got.Found[0].Line == want && got.Lines == want, "line %d of %d, want %d", got.Found[0].Line, got.Lines, want)
}

func TestEachSignIsFoundAFewTimesOnly(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "[FAILED] Failed to start bootstrap container unit-%d.\n", i)
	}
	b.WriteString("[FAILED] Failed to start bootstrap container unit-3.\n")
	got := Read(b.String())
	must.That(t, len(got.Found) == maxPerSign, "%d found", len(got.Found))
}

func TestExcerptAndDetailAreShort(t *testing.T) {
	got := Read(`nodeadm[7]: fatal cli/main.go:46 Command failed {"error": "` + strings.Repeat("long ", 1000) + `"}`)
	f, ok := got.First(NodeadmFailed)
	expect.That(t, ok && len(f.Detail) <= maxDetail+8 && len(f.Excerpt) <= redact.MaxWidth+8 && strings.HasPrefix(f.Detail, "long long"), "%+v", f)
}

func TestFirstPrefersTheLastBoot(t *testing.T) {
	got := Read(load(t, "panic-and-reboot"))
	f, ok := got.First(KernelPanic)
	expect.That(t, ok && f.Boot == 2 && f.Line == 11, "%+v", f)
	if f, ok := got.First(NodeadmRan); !ok || f.Boot != 1 {
		t.Errorf("%+v", f)
	}
	expect.That(t, !got.Has(KubeletStarted), "has what it has not")
	if f, ok := got.First(KubeletStarted); ok || f != (Found{}) {
		t.Errorf("%+v", f)
	}
}

func TestLinesKeepTheirNumbersWhateverEndsThem(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r\r\n", "\n\r"} {
		text := strings.Join([]string{"one", "two\x1b[0m", "Kernel panic - not syncing: x", "four"}, end)
		f, ok := Read(text).First(KernelPanic)
		expect.That(t, ok && f.Line == 3 && f.Detail == "x", "%q: %+v", end, f)
	}
}

func TestControlCharactersHideNothing(t *testing.T) {
	// Two halves of a key that only a terminal joins.
	text := "[FAILED] Failed to start bootstrap container AKIA\x00IOSF\x1b[0mODNN\u200b7EXAMPLE.\n"
	f, ok := Read(text).First(BottlerocketFailed)
	expect.That(t, ok && !strings.Contains(f.Excerpt+f.Detail, "EXAMPLE"), "%+v", f)
	check(t, text, Read(text))
}

// check checks what must hold for every log.
func check(t *testing.T, text string, got Log) {
	t.Helper()
	expect.That(t, len(got.Found) <= 2*len(rules)*maxPerSign, "%d findings", len(got.Found))
	if want := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; text != "" && got.Lines != want {
		t.Errorf("%d lines, want %d", got.Lines, want)
	}
	type key struct {
		sign   Sign
		detail string
		boot   int
	}
	seen := map[key]bool{}
	line := 0
	for _, f := range got.Found {
		expect.That(t, f.Line >= line && f.Line <= got.Lines && f.Boot >= 0 && f.Boot <= got.Boots, "%+v of %d lines", f, got.Lines)
		line = f.Line
		k := key{f.Sign, f.Detail, f.Boot}
		expect.That(t, !seen[k], "twice: %+v", f)
		seen[k] = true
		for _, r := range f.Excerpt + f.Detail + got.KubeletVersion {
			if r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%q in %+v", r, f)
			}
		}
	}
}
