package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// fixtures returns the files that match, by name without the extension.
func fixtures(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	must.That(t, err == nil && len(files) > 0, "no fixtures at %s: %v", pattern, err)
	found := make(map[string][]byte)
	for _, file := range files {
		data := must.Read(t, file)
		found[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] = data
	}
	return found
}

// badFile has the bad documents, in the format of golang.org/x/tools/txtar: the files NAME.yaml,
// and NAME.txt with the expected faults.
const badFile = "testdata/bad.txtar"

// unprintable are bad documents that an editor may not preserve.
var unprintable = map[string]string{
	"control-character": "apiVersion: rollcall/v1\nmode: \aobserve\n",
	"not-utf8":          "apiVersion: rollcall/v1\nmode: \xff\n",
}

var section = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// bad returns the documents that must be refused, by name.
func bad(t testing.TB) map[string][]byte {
	t.Helper()
	text := must.Read(t, badFile)
	found := make(map[string][]byte)
	at := section.FindAllSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		if name, ok := strings.CutSuffix(string(text[m[2]:m[3]]), ".yaml"); ok {
			found[name] = text[m[1]:end:end]
		}
	}
	for name, text := range unprintable {
		found[name] = []byte(text)
	}
	return found
}

func TestEveryFaultIsReportedWithItsLineAndKey(t *testing.T) {
	var said strings.Builder
	said.WriteString("Documents that must be refused, each with what the error says. \"go test ./shared/policy -update\" writes what it says.\n")
	documents := bad(t)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		d, err := Parse(documents[name])
		must.That(t, err != nil, "%s: parsed", name)
		expect.That(t, d == nil, "%s: gave a document together with an error", name)
		if _, ok := unprintable[name]; !ok {
			fmt.Fprintf(&said, "-- %s.yaml --\n%s", name, documents[name])
		}
		fmt.Fprintf(&said, "-- %s.txt --\n%s\n", name, err)
	}
	golden.File(t, badFile, said.String())
}
