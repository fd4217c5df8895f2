// Package release builds what a release consists of: the functions' code, the command line for six
// platforms with its man pages and shell completions, the manifest by which krew installs it, the template that deploys the code
// from a bucket, a bill of materials, and checksums.
// The same source and Go version give the same bytes.
//
// GoReleaser was considered: it would add 369 modules to the tools, needs a newer Go than the
// project, and calls a further program for the bill of materials.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Target is a program of a release.
type Target struct {
	OS, Arch string
	Function string // the folder of a function; "" for the command line
}

// Functions are the functions, by the logical id in the template.
var Functions = map[string]string{"StateChangeFunction": "statechange", "SweepFunction": "sweep", "InspectFunction": "inspect", "RemediateFunction": "remediate", "ApproveFunction": "approve"}

// Targets returns every program of a release.
func Targets() []Target {
	var all []Target
	for _, name := range Functions {
		all = append(all, Target{OS: "linux", Arch: "arm64", Function: name})
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, Target{OS: system, Arch: arch})
		}
	}
	slices.SortFunc(all, func(a, b Target) int { return strings.Compare(a.Archive("0"), b.Archive("0")) })
	return all
}

// Program is the name of the binary in its archive.
func (t Target) Program() string {
	switch {
	case t.Function != "":
		return "bootstrap"
	case t.OS == "windows":
		return "rollcall.exe"
	}
	return "rollcall"
}

// Archive is the name of the archive. Those of functions have no version, which is in the folder
// of the bucket: the template names them.
func (t Target) Archive(version string) string {
	switch {
	case t.Function != "":
		return t.Function + ".zip"
	case t.OS == "windows":
		return fmt.Sprintf("rollcall_%s_%s_%s.zip", version, t.OS, t.Arch)
	}
	return fmt.Sprintf("rollcall_%s_%s_%s.tar.gz", version, t.OS, t.Arch)
}

// Version is the form of a version, without a leading v.
var Version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Options configure a release.
type Options struct {
	Root, Out, Version string
	// URL is the folder from which the archives can be downloaded, for the manifest of krew; it may
	// be "".
	URL string
	// Template is template.yaml as transformed by tests/template/transform.py.
	Template []byte
	Targets  []Target
	// Build builds a program; nil is Compile.
	Build func(ctx context.Context, root, version, file string, t Target) error
	// Write writes the manual of the command line into a folder; nil is Manual.
	Write func(ctx context.Context, root, version, dir string) error
}

// Make writes a release into the folder Out, which must not exist.
func Make(ctx context.Context, o Options) error {
	if !Version.MatchString(o.Version) {
		return fmt.Errorf("%q is not a version such as 1.2.3", o.Version)
	}
	if err := os.Mkdir(o.Out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "rollcall-release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	build := o.Build
	if build == nil {
		build = Compile
	}
	write := o.Write
	if write == nil {
		write = Manual
	}
	manual := filepath.Join(work, "manual")
	if slices.ContainsFunc(o.Targets, func(t Target) bool { return t.Function == "" }) {
		if err := write(ctx, o.Root, o.Version, manual); err != nil {
			return err
		}
	}
	var programs []string
	for _, t := range o.Targets {
		file := filepath.Join(work, t.Archive(o.Version)+"."+t.Program())
		if err := build(ctx, o.Root, o.Version, file, t); err != nil {
			return err
		}
		programs = append(programs, file)
		if err := pack(o.Root, manual, filepath.Join(o.Out, t.Archive(o.Version)), file, t); err != nil {
			return err
		}
	}
	packaged, err := Package(o.Template, o.Version)
	if err != nil {
		return err
	}
	bill, err := Bill(o.Version, programs)
	if err != nil {
		return err
	}
	plugin, err := Krew(o.Out, o.Version, o.URL, o.Targets)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"rollcall.json": packaged, "rollcall.yaml": plugin, "rollcall_" + o.Version + ".cdx.json": bill} {
		if err := os.WriteFile(filepath.Join(o.Out, name), data, 0o644); err != nil {
			return err
		}
	}
	return sums(o.Out)
}

// stamp is the flag by which a program knows its version.
func stamp(version string) string {
	return "-ldflags=-s -w -X rollcall/functions/internal/start.Version=" + version + " -X rollcall/functions/local/command.released=" + version
}

// Manual has the command line write its man pages and shell completions, with the date of everything packed.
// It is compiled as make build compiles it, and not with the flags of a release, which would compile every
// package again: the text is the same.
func Manual(ctx context.Context, root, version, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "-buildvcs=false", stamp(version), "./functions/local", "manual", dir)
	cmd.Dir, cmd.Env = root, append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", packed.Unix()), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("write the manual: %w\n%s", err, out)
	}
	return nil
}

// Compile builds a program with the flags of the Makefile.
func Compile(ctx context.Context, root, version, file string, t Target) error {
	source, flags := "./functions/local", []string{"build", "-trimpath", "-buildvcs=false", stamp(version), "-o", file}
	if t.Function != "" {
		source, flags = "./functions/"+t.Function, append(flags, "-tags", "lambda.norpc")
	}
	cmd := exec.CommandContext(ctx, "go", append(flags, source)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", source, t.OS, t.Arch, err, out)
	}
	return nil
}

// Package returns the template that deploys a release: the code comes from a bucket of the region,
// which the parameters CodeBucket and CodePrefix name.
func Package(transformed []byte, version string) ([]byte, error) {
	var t map[string]any
	if err := json.Unmarshal(transformed, &t); err != nil {
		return nil, fmt.Errorf("decode the transformed template: %w", err)
	}
	parameters, _ := t["Parameters"].(map[string]any)
	resources, _ := t["Resources"].(map[string]any)
	outputs, _ := t["Outputs"].(map[string]any)
	running, _ := outputs["Version"].(map[string]any)
	if parameters == nil || resources == nil || running == nil {
		return nil, errors.New("the transformed template lacks parameters, resources or the output Version")
	}
	parameters["CodeBucket"] = map[string]any{"Type": "String", "AllowedPattern": "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", "ConstraintDescription": "must be the name of a bucket", "Description": "Bucket of the region of the stack that holds the code of the functions."}
	parameters["CodePrefix"] = map[string]any{"Type": "String", "Default": "rollcall/" + version, "AllowedPattern": "^[A-Za-z0-9!_.*'()-]+(/[A-Za-z0-9!_.*'()-]+)*$", "ConstraintDescription": "must be a folder without a slash at either end", "Description": "Folder in the bucket that holds the code of the functions."}
	for id, name := range Functions {
		f, _ := resources[id].(map[string]any)
		properties, _ := f["Properties"].(map[string]any)
		if properties == nil || properties["Code"] == nil {
			return nil, fmt.Errorf("the transformed template has no code of %s", id)
		}
		properties["Code"] = map[string]any{"S3Bucket": map[string]any{"Ref": "CodeBucket"}, "S3Key": map[string]any{"Fn::Sub": "${CodePrefix}/" + name + ".zip"}}
	}
	running["Value"] = version
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(t); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Bill returns the bill of materials of the programs in CycloneDX form: every module that is linked
// into one of them. https://cyclonedx.org/docs/1.6/json/
func Bill(version string, programs []string) ([]byte, error) {
	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Purl    string `json:"purl"`
	}
	found := map[component]bool{}
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("modules of %s: %w", filepath.Base(file), err)
		}
		found[component{"library", "std", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}] = true
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version}] = true
		}
	}
	components := []component{}
	for c := range found {
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b component) int { return strings.Compare(a.Purl, b.Purl) })
	return json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": component{"application", "rollcall", version, "pkg:golang/rollcall@" + version}}, "components": components,
	}, "", " ")
}

// sums writes the checksums of a folder's files, in the form of sha256sum.
func sums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}
