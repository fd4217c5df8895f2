package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"rollcall/tests/corpus"
)

// examples are the cases that are committed as folders, for readers.
var examples = []string{"all-is-well", "role-in-neither-store", "controller-role-in-aws-auth"}

// Examples builds the cases that are committed as folders.
func Examples() []Made {
	return slices.DeleteFunc(All(), func(m Made) bool { return !slices.Contains(examples, m.Name) })
}

// Named returns the case of that name.
func Named(t testing.TB, name string) Made {
	t.Helper()
	cases := Cases()
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the corpus has no case %s", name)
	}
	return cases[i].Make()
}

// FS returns the bundle as a file system.
func (m Made) FS() fs.FS {
	fsys := fstest.MapFS{}
	for name, text := range m.Files {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	return fsys
}

// Folder writes the bundle of the case of that name to a folder that is removed when the test
// ends.
func Folder(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Named(t, name).write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write writes each case as a folder of dir, and removes everything else in dir.
func Write(dir string, cases []Made) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	for _, m := range cases {
		if err := m.write(filepath.Join(dir, m.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (m Made) write(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make a folder for case %s: %w", m.Name, err)
		}
		if err := os.WriteFile(file, m.Files[name], 0o644); err != nil {
			return fmt.Errorf("write case %s: %w", m.Name, err)
		}
	}
	return nil
}

// Table returns the file verdicts.jsonl: one line per case, in the order of Cases.
func Table() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, m := range All() {
		if err := enc.Encode(corpus.Verdict{Case: m.Name, Class: string(m.Class), Report: string(m.Report), Expectation: m.Expect}); err != nil {
			panic(fmt.Sprintf("the verdict of %s has no JSON: %v", m.Name, err))
		}
	}
	return out.Bytes()
}
