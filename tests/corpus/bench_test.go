package corpus_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/functions/local/command"
	"rollcall/tests/corpus/generate"
)

// most is how long the explanation of one instance from a bundle may take.
const most = 50 * time.Millisecond

// BenchmarkExplain explains one instance from its bundle, from the files to the printed
// text, and compares that with its floor: to read the same files and decode the JSON in
// them.
func BenchmarkExplain(b *testing.B) {
	for _, name := range []string{"role-in-neither-store", "memory-pressure-remembered", "zone-went-silent"} {
		b.Run(name, func(b *testing.B) {
			dir := generate.Folder(b, name)
			b.ReportAllocs()
			var ours, floor time.Duration
			for b.Loop() {
				start := time.Now()
				code := command.Run(b.Context(), []string{"explain", "--bundle", dir, "--mode", "remediate"}, command.Environment{Stdout: io.Discard, Stderr: os.Stderr, Now: time.Now})
				ours += time.Since(start)
				if code != command.ExitFindings {
					b.Fatalf("exit %d", code)
				}
				b.StopTimer()
				start = time.Now()
				decode(b, dir)
				floor += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(floor), "x-floor")
			if each := ours / time.Duration(b.N); each > most {
				b.Errorf("%s each, and may take %s", each, most)
			}
		})
	}
}

// decode reads every file of a bundle, and decodes those that are JSON.
func decode(b *testing.B, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, ".json") {
			return err
		}
		var v any
		return json.Unmarshal(data, &v)
	})
	if err != nil {
		b.Fatal(err)
	}
}
