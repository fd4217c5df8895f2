package corpus_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/functions/local/command"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/must"
)

// most is how long explaining one instance from a bundle may take.
const most = 50 * time.Millisecond

// BenchmarkExplain explains one instance from its bundle, from the files to the printed text.
// It compares that with the floor: reading the same files and decoding the JSON in them.
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

// What explaining everything that is wrong in a very large bundle may take.
const (
	mostLarge = 10 * time.Second
	mostMB    = 500
)

// BenchmarkExplainLarge explains a bundle with 200,000 events, and one with 10,000 nodes of
// which a tenth never registered. MB is the peak memory of the process.
func BenchmarkExplainLarge(b *testing.B) {
	for name, enlarge := range map[string]func(testing.TB, string){"events": events, "nodes": nodes} {
		b.Run(name, func(b *testing.B) {
			dir := generate.Folder(b, "role-in-neither-store")
			enlarge(b, dir)
			tool := filepath.Join(b.TempDir(), "rollcall")
			must.Succeed(b, exec.CommandContext(b.Context(), "go", "build", "-o", tool, "rollcall/functions/local").Run())
			b.ResetTimer()
			for b.Loop() {
				c := exec.CommandContext(b.Context(), tool, "explain", "--bundle", dir, "--mode", "remediate", "--output", "json")
				start := time.Now()
				if err := c.Run(); c.ProcessState.ExitCode() != command.ExitFindings {
					b.Fatal(err)
				}
				took := time.Since(start)
				used := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
				b.ReportMetric(float64(used), "MB")
				if took > mostLarge || used > mostMB {
					b.Errorf("%s and %d MB, and may take %s and %d MB", took, used, mostLarge, mostMB)
				}
			}
		})
	}
}

// lines adds rows to the list in a bundle's file, which has one row per line. It keeps little
// in memory, since the memory measured for a process includes that of its parent.
func lines(b testing.TB, dir, file string, n int, row func(i int) string) {
	path := filepath.Join(dir, file)
	data := must.Read(b, path)
	end := bytes.LastIndexByte(data, ']')
	f, err := os.Create(path)
	must.Succeed(b, err)
	w := bufio.NewWriter(f)
	_, _ = w.Write(data[:end])
	for i := range n {
		if i > 0 || data[end-1] != '[' {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString(row(i))
	}
	_, _ = w.Write(data[end:])
	must.Succeed(b, w.Flush())
	must.Succeed(b, f.Close())
}

func events(b testing.TB, dir string) {
	lines(b, dir, "k8s-events.json", 200_000, func(i int) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"web-%d.%x","namespace":"default"},"involvedObject":{"kind":"Pod","namespace":"default","name":"web-%[1]d"},`+
			`"type":"Warning","count":3,"reason":"FailedScheduling","message":"0/3 nodes are available: 3 Insufficient cpu.","source":{"component":"default-scheduler"},`+
			`"firstTimestamp":"2026-03-10T11:00:00Z","lastTimestamp":"2026-03-10T11:30:00Z"}`, i%5000, i)
	})
}

// nodes adds 9,000 copies of the healthy node, and 1,000 of the instance that never registered.
func nodes(b testing.TB, dir string) {
	const healthy, sick, name = "i-0e2b0000000000001", "i-0bad0000000000001", "ip-10-0-40-21.eu-west-1.compute.internal"
	twins := func(file, of string, from, n int) {
		data := must.Read(b, filepath.Join(dir, file))
		for row := range strings.Lines(string(data)) {
			if !strings.Contains(row, of) {
				continue
			}
			row = strings.TrimRight(row, ",\n")
			lines(b, dir, file, n, func(i int) string {
				i += from
				return strings.NewReplacer(name, fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i>>16, i>>8&255, i&255), of, fmt.Sprintf("i-%017x", i)).Replace(row)
			})
		}
	}
	twins("instances.json", healthy, 0, 9000)
	twins("instances.json", sick, 9000, 1000)
	twins("instance-status.json", healthy, 0, 9000)
	twins("nodes.json", healthy, 0, 9000)
	twins("leases.json", name, 0, 9000)
}

// decode reads every file of a bundle and decodes the JSON ones.
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
	must.Succeed(b, err)
}
