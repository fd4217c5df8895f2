package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/template"
)

const root = "../.."

func transformed(t *testing.T) []byte {
	t.Helper()
	data, err := template.Transform(t.Context(), root, "template.yaml")
	must.Succeed(t, err)
	return data
}

// made makes a release and returns its files.
func made(t *testing.T, o Options) map[string][]byte {
	t.Helper()
	o.Root, o.Out, o.Version, o.Template = root, filepath.Join(t.TempDir(), "out"), "1.2.3", transformed(t)
	must.Succeed(t, Make(t.Context(), o))
	entries, err := os.ReadDir(o.Out)
	must.Succeed(t, err)
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(o.Out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// itself builds nothing: each program is the test's own binary, with the target behind its end and
// another time of its file.
func itself(_ context.Context, _, _, file string, t Target) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(data, t.Archive("")...), 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, time.Now(), time.Now().Add(-time.Duration(os.Getpid())*time.Minute))
}

// leaflet is a manual of two files.
func leaflet(_ context.Context, _, version, dir string) error {
	for name, text := range map[string]string{"man1/rollcall.1": version, "completions/_rollcall": "#compdef"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func same(t *testing.T, a, b map[string][]byte) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Errorf("files %v and %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	for name := range a {
		expect.That(t, bytes.Equal(a[name], b[name]), "%s has other bytes the second time", name)
	}
}

func TestAReleaseHasEverythingAndTheSameBytesAgain(t *testing.T) {
	o := Options{Targets: Targets(), Build: itself, Write: leaflet}
	files := made(t, o)
	want := strings.Fields("SHA256SUMS approve.zip inspect.zip remediate.zip rollcall.json rollcall.yaml rollcall_1.2.3.cdx.json rollcall_1.2.3_darwin_amd64.tar.gz rollcall_1.2.3_darwin_arm64.tar.gz rollcall_1.2.3_linux_amd64.tar.gz " +
		"rollcall_1.2.3_linux_arm64.tar.gz rollcall_1.2.3_windows_amd64.zip rollcall_1.2.3_windows_arm64.zip statechange.zip sweep.zip")
	expect.List(t, slices.Sorted(maps.Keys(files)), want, "files")
	for name, data := range files {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); name != "SHA256SUMS" && !bytes.Contains(files["SHA256SUMS"], []byte(line)) {
			t.Errorf("SHA256SUMS lacks %s", line)
		}
	}
	function, err := zip.NewReader(bytes.NewReader(files["sweep.zip"]), int64(len(files["sweep.zip"])))
	if err != nil || len(function.File) != 1 || function.File[0].Name != "bootstrap" || function.File[0].Mode() != 0o755 {
		t.Errorf("a function's code: %v, %+v", err, function)
	}
	const rest = ", LICENSE 644, README.md 644, CHANGELOG.md 644, rbac.yaml 644, completions/_rollcall 644, man1/rollcall.1 644"
	for name, data := range files {
		if !strings.HasPrefix(name, "rollcall_1.2.3_") {
			continue
		}
		want := "rollcall 755" + rest
		if strings.Contains(name, "windows") {
			want = "rollcall.exe 755" + rest
		}
		expect.Equal(t, strings.Join(members(t, name, data), ", "), want, "%s has", name)
	}
	same(t, files, made(t, o))
}

// members returns the names and modes in an archive.
func members(t *testing.T, name string, data []byte) (all []string) {
	t.Helper()
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		must.Succeed(t, err)
		for _, f := range z.File {
			all = append(all, fmt.Sprintf("%s %o", f.Name, f.Mode()))
		}
		return all
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	must.Succeed(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Succeed(t, err)
		all = append(all, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
}

// The manual is written by the command line of the release, and does not tell when.
func TestTheManualOfARelease(t *testing.T) {
	if testing.Short() {
		t.Skip("links the command line")
	}
	dir := t.TempDir()
	must.Succeed(t, Manual(t.Context(), root, "1.2.3", dir))
	for _, name := range strings.Fields("man1/rollcall.1 man1/rollcall-uninstall.1 completions/rollcall.bash completions/_rollcall completions/rollcall.fish completions/rollcall.ps1") {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.HasPrefix(name, "man1/") && !strings.Contains(string(data), `"Jan 1980" "rollcall 1.2.3"`) {
			t.Errorf("%s: %v\n%.200s", name, err, data)
		}
	}
}

func TestKrewInstallsTheCommandLine(t *testing.T) {
	for url, prefix := range map[string]string{"": "", "https://example.com/v1.2.3": "https://example.com/v1.2.3/", "https://example.com/": "https://example.com/"} {
		dir := t.TempDir()
		for _, target := range Targets() {
			must.Succeed(t, os.WriteFile(filepath.Join(dir, target.Archive("1.2.3")), []byte(target.Archive("")), 0o600))
		}
		written, err := Krew(dir, "1.2.3", url, Targets())
		must.Succeed(t, err)
		var manifest struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
			Spec       struct {
				Version          string
				ShortDescription string `yaml:"shortDescription"`
				Platforms        []struct {
					URI, SHA256, Bin string
					Selector         struct {
						MatchLabels struct{ OS, Arch string } `yaml:"matchLabels"`
					}
				}
			}
		}
		must.Succeed(t, yaml.Unmarshal(written, &manifest))
		if m := manifest; m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "rollcall" || m.Spec.Version != "v1.2.3" || m.Spec.ShortDescription == "" || len(m.Spec.Platforms) != 6 {
			t.Errorf("%+v", m)
		}
		for _, p := range manifest.Spec.Platforms {
			of := Target{OS: p.Selector.MatchLabels.OS, Arch: p.Selector.MatchLabels.Arch}
			if p.URI != prefix+of.Archive("1.2.3") || p.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(of.Archive("")))) || p.Bin != of.Program() {
				t.Errorf("%+v", p)
			}
		}
	}
}

func TestTheBillNamesTheModules(t *testing.T) {
	bill := string(made(t, Options{Targets: Targets()[:1], Build: itself, Write: leaflet})["rollcall_1.2.3.cdx.json"])
	for _, want := range []string{`"bomFormat": "CycloneDX"`, `"pkg:golang/std@1.`, `"pkg:golang/rollcall@1.2.3"`} {
		expect.That(t, strings.Contains(bill, want), "the bill lacks %s:\n%s", want, bill)
	}
	expect.That(t, json.Valid([]byte(bill)) && !strings.Contains(bill, "timestamp"), "the bill is no JSON, or tells when it was written:\n%s", bill)
}

// The packaged template is the template, but for where the code comes from and the version.
func TestThePackagedTemplateTakesItsCodeFromABucket(t *testing.T) {
	packaged, err := Package(transformed(t), "1.2.3")
	must.Succeed(t, err)
	got, err := template.Resolve(packaged, map[string]string{"Mode": "remediate", "CodeBucket": "code", "CodePrefix": "a/b"})
	must.Succeed(t, err)
	want, err := template.Resolve(transformed(t), map[string]string{"Mode": "remediate"})
	must.Succeed(t, err)
	if len(got.Resources) != len(want.Resources) || got.Outputs["Version"] != "1.2.3" || want.Outputs["Version"] == "1.2.3" {
		t.Errorf("%d resources, want %d; version %v", len(got.Resources), len(want.Resources), got.Outputs["Version"])
	}
	for id, r := range got.Resources {
		if name, ok := Functions[id]; ok {
			expect.Equal(t, fmt.Sprint(r.Properties["Code"]), "map[S3Bucket:code S3Key:a/b/"+name+".zip]", "the code of %s is", id)
		} else if fmt.Sprint(r) != fmt.Sprint(want.Resources[id]) {
			t.Errorf("%s differs", id)
		}
	}
	expect.That(t, len(packaged) <= 1<<20, "%d bytes: CloudFormation takes a template of 1 MB from a bucket", len(packaged))
	if _, err := Package([]byte(`{"Parameters":{},"Resources":{},"Outputs":{"Version":{}}}`), "1.2.3"); err == nil {
		t.Error("a template without functions is packaged")
	}
}

func TestAVersionIsOne(t *testing.T) {
	for version, ok := range map[string]bool{"1.0.0": true, "1.0.0-rc.1": true, "v1.0.0": false, "1.0": false, "1.0.0;ls": false, "": false} {
		expect.That(t, Version.MatchString(version) == ok, "%q is a version: %v", version, !ok)
	}
}

// It compiles everything twice, which takes minutes: make release-check asks for it. Its value is
// all, or functions for the functions alone.
func TestEveryProgramHasTheSameBytesAgain(t *testing.T) {
	asked := os.Getenv("ROLLCALL_RELEASE_CHECK")
	if asked == "" {
		t.Skip("make release-check runs this")
	}
	targets := Targets()
	if asked == "functions" {
		targets = slices.DeleteFunc(targets, func(t Target) bool { return t.Function == "" })
	}
	o := Options{Targets: targets}
	same(t, made(t, o), made(t, o))
}
