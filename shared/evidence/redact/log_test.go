package redact

import (
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

// Every secret that is found in a file is found where a program printed the file into a log.
func TestASecretIsFoundInALog(t *testing.T) {
	prefixes := []string{"Jan  2 03:04:05 ip-10-0-0-1 cloud-init[99]: ", "[   12.101200] cloud-init[1321]: ", ""}
	for _, tc := range positive {
		for _, p := range prefixes {
			var secret []string
			for _, part := range strings.Split(tc.text, "«")[1:] {
				inside, _, _ := strings.Cut(part, "»")
				secret = append(secret, strings.Fields(inside)...)
			}
			text := p + strings.ReplaceAll(strings.NewReplacer("«", "", "»", "").Replace(tc.text), "\n", "\n"+p)
			got := Log(text)
			expect.That(t, strings.Count(got, "\n") == strings.Count(text, "\n"), "%s: the lines of %q became those of %q", tc.name, text, got)
			for _, s := range secret {
				if len(s) > 6 && strings.Contains(got, s) && !strings.HasPrefix(s, "-----") {
					t.Errorf("%s after %q: %q is in %q", tc.name, p, s, got)
				}
			}
			expect.Equal(t, Log(got), got, "%s: %q became", tc.name, got)
		}
	}
}

// Programs colour names and values, also where they write to a file.
func TestColoursSplitNoSecretInALog(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[32mDB_PASSWORD \x1b[0m=hunter2\nnext":                             "DB_PASSWORD =[redacted: password]\nnext",
		"Jan  2 03:04:05 ip x[1]: \x1b[1mtoken\x1b[0m: \x1b[33mhun\x1b[0mter2x": "Jan  2 03:04:05 ip x[1]: token: [redacted: token]",
		"DB_PASS\x00WORD=hun\x08ter2":                                           "DB_PASSWORD=[redacted: password]",
		"[   12.345678] \x1b[0;31mfailed\x1b[0m\tto start\r\n":                  "[   12.345678] failed\tto start\r\n",
	} {
		expect.Equal(t, Log(text), want, "%q became", text)
	}
}

func TestAKeyThatATailCutIsFoundInALog(t *testing.T) {
	const p = "Jan  2 03:04:05 ip-10-0-0-1 cloud-init[99]: "
	const body = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
	for name, text := range map[string]string{
		"its beginning": p + body + "\n" + p + body + "\n" + p + "-----END RSA PRIVATE KEY-----\n" + p + "after\n",
		"its end":       p + "before\n" + p + "-----BEGIN RSA PRIVATE KEY-----\n" + p + body + "\n" + p + body + "\n",
	} {
		got := Log(text)
		expect.That(t, !strings.Contains(got, body[:20]) && strings.Contains(got, p), "without %s: %q", name, got)
	}
}
