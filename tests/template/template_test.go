package template

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

func TestLinksInTheDocumentsLeadSomewhere(t *testing.T) {
	documents := []string{}
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		must.Succeed(t, err)
		documents = append(documents, found...)
	}
	must.That(t, len(documents) >= 5, "found only %v", documents)
	for _, doc := range documents {
		text := must.Read(t, doc)
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(doc), target))
			expect.That(t, err == nil, "%s links to %s, which does not exist", doc, target)
		}
	}
}

// The README's policy is what users copy first.
func TestThePolicyInTheReadmeIsValid(t *testing.T) {
	text := must.Read(t, filepath.Join(root, "README.md"))
	_, after, ok := bytes.Cut(text, []byte("    apiVersion: rollcall/v1\n"))
	must.That(t, ok, "the README shows no policy")
	policy := "apiVersion: rollcall/v1\n"
	for line := range strings.Lines(string(after)) {
		rest, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		policy += rest
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(policy), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", "-ldflags", "-s -w", "../../functions/local", "policy", "check", file).CombinedOutput()
	expect.That(t, err == nil && !strings.Contains(string(out), "warning"), "%v\n%s", err, out)
}
