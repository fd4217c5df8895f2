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
