package corpus_test

import (
	"bytes"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The committed corpus must be what the generator writes, to the byte: a changed verdict is a
// changed line of the table.
func TestTheCorpusIsWhatTheGeneratorMakes(t *testing.T) {
	table := must.Read(t, "verdicts.jsonl")
	if made := generate.Table(); !bytes.Equal(made, table) {
		was := slices.Collect(strings.Lines(string(table)))
		for line := range strings.Lines(string(made)) {
			expect.That(t, slices.Contains(was, line), "verdicts.jsonl lacks %s", line)
		}
		t.Error("verdicts.jsonl is not what is made now: run make corpus")
	}
	made := map[string][]byte{}
	for _, c := range generate.Examples() {
		for name, text := range c.Files {
			made[filepath.Join(c.Name, filepath.FromSlash(name))] = text
		}
	}
	committed := read(t, "examples")
	for name, text := range made {
		if old, ok := committed[name]; !ok {
			t.Errorf("%s is not committed: run make corpus", name)
		} else if !bytes.Equal(old, text) {
			t.Errorf("%s differs from what is made now: run make corpus", name)
		}
	}
	for name := range committed {
		_, ok := made[name]
		expect.That(t, ok, "%s is committed and not made any more: run make corpus", name)
	}
	n := len(generate.Examples())
	expect.That(t, n == 3, "%d examples, want 3", n)
}

// read returns all files below a folder.
func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[name], err = os.ReadFile(path)
		return err
	})
	must.Succeed(t, err)
	return out
}

func TestEachCodeOfTheCatalogueHasACase(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range generate.All() {
		for _, f := range c.Expect.Findings {
			for _, code := range slices.Concat([]string{f.FirstDecisive}, f.AlsoDecisive, f.Suggestive, f.RuledOut, f.NotChecked) {
				if code != "" && !slices.Contains(codes, code) {
					t.Errorf("%s: %s is no code of the catalogue", c.Name, code)
				}
			}
			shown[f.FirstDecisive] = true
			for _, code := range f.Suggestive {
				shown[code] = shown[code] || slices.Contains(onlySuggestive, code)
			}
			for _, code := range f.AlsoDecisive {
				shown[code] = shown[code] || code == besideAnother
			}
		}
	}
	for _, code := range codes {
		expect.That(t, shown[code], "no case shows %s", code)
	}
}

func TestThereAreEnoughCases(t *testing.T) {
	names, classes, variants := map[string]bool{}, map[generate.Class]int{}, map[generate.FieldReport]int{}
	for _, c := range generate.Cases() {
		expect.That(t, !names[c.Name], "two cases are called %s", c.Name)
		names[c.Name] = true
		classes[c.Class]++
		variants[c.Report]++
	}
	expect.That(t, len(names) >= 160, "%d cases, want 160", len(names))
	n := classes[generate.Well] + classes[generate.Misleading]
	expect.That(t, n >= 20, "%d cases are healthy or misleading, want 20", n)
	for _, report := range generate.FieldReports {
		expect.That(t, variants[report] >= 3, "%d variants of the report %q, want 3", variants[report], report)
	}
}

// The kinds of clusters and nodes that are rare in practice, and the cases with several proven
// causes, whose root must be first, have cases enough.
func TestEachKindOfClusterHasCases(t *testing.T) {
	have := map[string]int{}
	for _, c := range generate.All() {
		has := func(file, words string) bool { return bytes.Contains(c.Files[file], []byte(words)) }
		sick := func(file, words string) bool {
			for line := range strings.Lines(string(c.Files[file])) {
				if strings.Contains(line, generate.Sick) && strings.Contains(line, words) {
					return true
				}
			}
			return false
		}
		for kind, is := range map[string]bool{
			"Windows":               sick("instances.json", `"Platform":"windows"`),
			"Bottlerocket":          sick("instances.json", `"ImageId":"ami-0b07`),
			"IPv6":                  has("cluster.json", `"ipFamily":"ipv6"`),
			"private":               has("cluster.json", `"endpointPublicAccess":false`) || has("vpc-endpoints.json", `"Interface"`),
			"GPU":                   has("instances.json", `"InstanceType":"g5.`),
			"a cluster that leaves": has("cluster.json", `"status": "DELETING"`),
			"several causes": slices.ContainsFunc(c.Expect.Findings, func(f corpus.Finding) bool {
				return f.FirstDecisive != "" && len(f.AlsoDecisive) > 0
			}),
		} {
			if is {
				have[kind]++
			}
		}
	}
	for kind, want := range map[string]int{"Windows": 6, "Bottlerocket": 8, "IPv6": 4, "private": 8, "GPU": 4, "a cluster that leaves": 1, "several causes": 10} {
		expect.That(t, have[kind] >= want, "%s: %d cases, want %d", kind, have[kind], want)
	}
	t.Logf("%v", have)
}

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestEachCaseIsExplained(t *testing.T) {
	for _, c := range generate.All() {
		expect.That(t, kebab.MatchString(c.Name), "%q is no name in kebab case", c.Name)
		expect.That(t, c.Why != "" && len(c.Sources) != 0, "%s lacks a reason or a source", c.Name)
		for _, s := range c.Sources {
			u, err := url.Parse(s)
			expect.That(t, err == nil && u.Scheme == "https" && u.Host != "", "%s: the source %q is no address", c.Name, s)
		}
		proven := slices.ContainsFunc(c.Expect.Findings, func(f corpus.Finding) bool { return f.FirstDecisive != "" })
		switch {
		case c.Expect.NoFindings != (len(c.Expect.Findings) == 0):
			t.Errorf("%s: noFindings is %v with %d findings", c.Name, c.Expect.NoFindings, len(c.Expect.Findings))
		case c.Class == generate.Well && !c.Expect.NoFindings:
			t.Errorf("%s is healthy and has findings", c.Name)
		case c.Class == generate.Broken && !proven:
			t.Errorf("%s is broken and nothing is proven", c.Name)
		}
	}
}

// A case that changes nothing in its bundle would test nothing: any two must differ.
func TestNoTwoBundlesAreTheSame(t *testing.T) {
	seen := map[string]string{}
	for _, c := range generate.All() {
		var all bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			all.WriteString(name + "\n")
			all.Write(c.Files[name])
		}
		other, ok := seen[all.String()]
		expect.That(t, !ok, "%s and %s have the same bundle", c.Name, other)
		seen[all.String()] = c.Name
	}
}
