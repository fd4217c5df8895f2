package console

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

func FuzzRead(f *testing.F) {
	for i, tc := range said {
		f.Add(tc.line, uint64(i))
	}
	for _, name := range []string{"al2-out-of-memory", "al2023-old-user-data", "bottlerocket-bad-toml", "misleading"} {
		f.Add(load(f, name), uint64(1))
	}
	f.Add("\x1b[\x1b]0;x\x07\x1b(B\x1b", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 32<<10 {
			t.Skip()
		}
		got := Read(text)
		check(t, text, got)
		expect.Same(t, Read(text), got, "read again")
		// A secret on a line of its own does not get out, whatever precedes it.
		r := rand.New(rand.NewPCG(seed, 1))
		secret := secretOf(r)
		planted := text + "\n" + fmt.Sprintf(carriers[r.IntN(len(carriers))], secret) + "\n"
		for _, f := range Read(planted).Found {
			if !strings.Contains(text, secret) && strings.Contains(f.Excerpt+f.Detail, secret) {
				t.Errorf("%s in %+v", secret, f)
			}
		}
	})
}
