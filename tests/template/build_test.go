package template

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// With a build in source, SAM does not copy the whole tree for each function first.
func TestSAMBuildsFourFunctions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "build")
	out, err := offline(t.Context(), tool(t, "sam"), "build", "--build-in-source", "--template", filepath.Join(root, "template.yaml"), "--build-dir", dir).CombinedOutput()
	must.That(t, err == nil, "%v\n%s", err, out)
	for folder, id := range Functions {
		entries, err := os.ReadDir(filepath.Join(dir, id))
		if err != nil || len(entries) != 1 {
			t.Errorf("the artifact of %s holds %v, want bootstrap alone: %v", id, entries, err)
			continue
		}
		bootstrap := filepath.Join(dir, id, "bootstrap")
		binary, err := elf.Open(bootstrap)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		expect.That(t, binary.Machine == elf.EM_AARCH64, "%s is for %s", id, binary.Machine)
		expect.That(t, binary.Section(".interp") == nil, "%s is linked against libraries that Lambda may not have", id)
		expect.Succeed(t, binary.Close())
		info, err := exec.CommandContext(t.Context(), "go", "version", "-m", bootstrap).CombinedOutput()
		must.That(t, err == nil, "%v\n%s", err, info)
		expect.That(t, strings.Contains(string(info), "path\trollcall/functions/"+folder+"\n"), "%s was built of another folder than functions/%s:\n%s", id, folder, info)
		for _, setting := range []string{"-tags=lambda.norpc\n", "-trimpath=true\n", "CGO_ENABLED=0\n"} {
			expect.That(t, strings.Contains(string(info), "build\t"+setting), "%s was built without %s", id, setting)
		}
		expect.That(t, !strings.Contains(string(info), "vcs.revision"), "%s carries a commit: it would be uploaded anew with every one", id)
	}
	// CloudFormation does not support YAML aliases, which template.yaml uses.
	built := must.Read(t, filepath.Join(dir, "template.yaml"))
	for line := range strings.Lines(string(built)) {
		value := strings.TrimLeft(line, " -")
		if _, after, ok := strings.Cut(value, ": "); ok {
			value = after
		}
		expect.That(t, !strings.HasPrefix(value, "*") && !strings.HasPrefix(value, "&"), "the built template still has an alias: %s", line)
	}
}
