// Package archivetest holds the contract tests that every evidence archive must pass, and helpers
// for the tests of archives.
package archivetest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// Archive is the archive under test.
type Archive interface {
	Put(context.Context, archive.Key, map[string][]byte) (string, error)
}

// Kept is the content of an archive: files by path, with bundles unpacked.
type Kept map[string]string

// Key returns a key to test with.
func Key() archive.Key {
	return archive.Key{
		Cluster: roll.ClusterID{Account: "123456789012", Region: "eu-west-1", Name: "demo"}, Instance: "i-0123456789abcdef0",
		Kind: roll.Unregistered, At: time.Date(2026, 11, 21, 18, 41, 55, 999, time.UTC), Stage: archive.StageWarned,
	}
}

// Place is the path of Key.
const Place = "123456789012/eu-west-1/demo/i-0123456789abcdef0/20261121T184155Z-Unregistered-warned"

// Files returns files to put. Each contains text, which distinguishes the calls.
func Files(text string) map[string][]byte {
	return map[string][]byte{
		archive.Findings: []byte("findings " + text), "cluster.json": []byte("cluster " + text), "at.txt": nil,
		"user-data/i-123.txt": []byte("user data " + text), "console/i-123.txt": []byte(strings.Repeat("console "+text+"\n", 1000)),
	}
}

// Whole returns what an archive holds after files were put under a path.
func Whole(place string, files map[string][]byte) Kept {
	kept := Kept{}
	for name, content := range files {
		if name != archive.Findings {
			name = "bundle/" + name
		}
		kept[place+"/"+name] = string(content)
	}
	return kept
}

// Contract tests an archive. open returns an empty archive and a function that returns its content.
func Contract(t *testing.T, open func(*testing.T) (Archive, func() Kept)) {
	for name, test := range map[string]func(*testing.T, Archive, func() Kept){
		"keeps what is put":                             keeps,
		"keeps what was put first":                      keepsTheFirst,
		"keeps apart what has another key":              keepsApart,
		"has one place for a time in whatever zone":     oneTime,
		"takes a key from several at once":              several,
		"refuses what could lead elsewhere":             refusesNames,
		"refuses a key that could lead elsewhere":       refusesKeys,
		"refuses evidence without findings or a bundle": refusesParts,
		"leaves what it is given alone":                 leaves,
	} {
		t.Run(name, func(t *testing.T) {
			a, kept := open(t)
			test(t, a, kept)
		})
	}
}

func put(t *testing.T, a Archive, key archive.Key, files map[string][]byte) string {
	t.Helper()
	link, err := a.Put(t.Context(), key, files)
	must.Succeed(t, err)
	return link
}

func check(t *testing.T, kept func() Kept, want Kept) {
	t.Helper()
	if diff := cmp.Diff(want, kept()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func keeps(t *testing.T, a Archive, kept func() Kept) {
	link := put(t, a, Key(), Files("a"))
	check(t, kept, Whole(Place, Files("a")))
	if !strings.HasSuffix(link, "/"+Place+"/") {
		t.Errorf("it is said to be in %s", link)
	}
}

func keepsTheFirst(t *testing.T, a Archive, kept func() Kept) {
	first := put(t, a, Key(), Files("a"))
	more := Files("b")
	more["pods.json"] = []byte("{}")
	if again := put(t, a, Key(), more); again != first {
		t.Errorf("the second time it is said to be in %v, the first time in %v", again, first)
	}
	check(t, kept, Whole(Place, Files("a")))
}

func keepsApart(t *testing.T, a Archive, kept func() Kept) {
	want := Kept{}
	for text, change := range map[string]func(*archive.Key){
		"account": func(k *archive.Key) { k.Cluster.Account = "111122223333" }, "region": func(k *archive.Key) { k.Cluster.Region = "us-east-1" },
		"cluster": func(k *archive.Key) { k.Cluster.Name = "demo-2" }, "instance": func(k *archive.Key) { k.Instance = "i-0123456789abcdef1" },
		"kind": func(k *archive.Key) { k.Kind = roll.Unknown }, "time": func(k *archive.Key) { k.At = k.At.Add(time.Second) },
		"stage": func(k *archive.Key) { k.Stage = "0123456789abcdef" }, "nothing": func(*archive.Key) {},
	} {
		key := Key()
		change(&key)
		put(t, a, key, Files(text))
		place, err := key.Path()
		must.Succeed(t, err)
		maps.Copy(want, Whole(place, Files(text)))
	}
	check(t, kept, want)
}

func oneTime(t *testing.T, a Archive, kept func() Kept) {
	key := Key()
	put(t, a, key, Files("a"))
	key.At = key.At.In(time.FixedZone("", -9*60*60))
	put(t, a, key, Files("b"))
	check(t, kept, Whole(Place, Files("a")))
}

func several(t *testing.T, a Archive, kept func() Kept) {
	files := Files("a")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := a.Put(t.Context(), Key(), files); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	check(t, kept, Whole(Place, files))
}

func refusesNames(t *testing.T, a Archive, kept func() Kept) {
	for _, name := range []string{
		"", ".", "..", "../x", "a/../x", "a/./x", "/etc/x", "a//x", "a/", `a\x`, `..\x`, "C:x", ".x", "a/.x", "-rf", "a b", "a\nb", "a\x00b", "é.txt", "%2e%2e/x",
		"cluster.json/x", // which is a file's name
	} {
		files := Files("a")
		files[name] = []byte("x")
		if _, err := a.Put(t.Context(), Key(), files); err == nil || !strings.Contains(err.Error(), "no name of a file") && !strings.Contains(err.Error(), "cannot lie in it") {
			t.Errorf("%q: %v", name, err)
		}
	}
	check(t, kept, Kept{})
}

func refusesKeys(t *testing.T, a Archive, kept func() Kept) {
	for _, bad := range []string{"", "..", ".", "../x", "a/b", "/", `a\b`, "a b", "a\n", ".a", "-a"} {
		for what, change := range map[string]func(*archive.Key){
			"account": func(k *archive.Key) { k.Cluster.Account = bad }, "region": func(k *archive.Key) { k.Cluster.Region = bad },
			"cluster": func(k *archive.Key) { k.Cluster.Name = bad }, "instance": func(k *archive.Key) { k.Instance = roll.InstanceID(bad) },
			"kind": func(k *archive.Key) { k.Kind = roll.Kind(bad) }, "stage": func(k *archive.Key) { k.Stage = bad },
		} {
			key := Key()
			change(&key)
			if _, err := a.Put(t.Context(), key, Files("a")); err == nil || !strings.Contains(err.Error(), "its "+what) {
				t.Errorf("%s %q: %v", what, bad, err)
			}
		}
	}
	key := Key()
	key.At = time.Time{}
	if _, err := a.Put(t.Context(), key, Files("a")); err == nil {
		t.Error("it takes a key without a time")
	}
	check(t, kept, Kept{})
}

func refusesParts(t *testing.T, a Archive, kept func() Kept) {
	without := Files("a")
	delete(without, archive.Findings)
	for what, files := range map[string]map[string][]byte{"nothing": nil, "no findings": without, "only findings": {archive.Findings: []byte("{}")}} {
		if _, err := a.Put(t.Context(), Key(), files); err == nil || !strings.Contains(err.Error(), archive.Findings) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check(t, kept, Kept{})
}

func leaves(t *testing.T, a Archive, _ func() Kept) {
	files := Files("a")
	put(t, a, Key(), files)
	if got, want := slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(Files("a"))); !slices.Equal(got, want) {
		t.Errorf("of %v there are %v left", want, got)
	}
}
