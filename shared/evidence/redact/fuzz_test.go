package redact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/tests/harness/expect"
)

func FuzzText(f *testing.F) {
	for _, tc := range positive {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(tc.text))
	}
	for _, text := range kept() {
		f.Add(text)
	}
	for _, a := range adversarial {
		f.Add(strings.Repeat(a, 3))
	}
	f.Add("password=[redacted: password] token: [redacted: nothing]")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 16<<10 {
			t.Skip()
		}
		clean := Text(text)
		again := Text(clean)
		expect.That(t, again == clean, "not stable: %q\nbecomes %q\nthen    %q", text, clean, again)
		if utf8.ValidString(text) && !utf8.ValidString(clean) {
			t.Errorf("no longer UTF-8: %q of %q", clean, text)
		}
		expect.That(t, strings.Count(text, "\n") == strings.Count(clean, "\n"), "line breaks changed: %q of %q", clean, text)
		expect.That(t, len(clean) <= 16*len(text)+64, "%d bytes became %d", len(text), len(clean))
		Excerpt(text)
	})
}
