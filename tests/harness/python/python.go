// Package python runs the tests' Python scripts, with what "make testbed-deps" puts into .venv.
package python

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"rollcall/tests/harness/must"
)

// Answers returns what a script of the test's folder prints, a JSON list with one answer for each of n questions. It
// reads the questions, as JSON, from its standard input. root leads to the project's folder.
func Answers[A any](t testing.TB, root, script string, questions any, n int) []A {
	t.Helper()
	asked, err := json.Marshal(questions)
	must.Succeed(t, err)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".venv", "bin", "python"), script)
	cmd.Stdin = bytes.NewReader(asked)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	must.That(t, err == nil, "%s (make testbed-deps installs what this needs): %v\n%s", script, err, complaint.String())
	var answers []A
	err = json.Unmarshal(out, &answers)
	must.That(t, err == nil && len(answers) == n, "%s: %d answers to %d questions: %v\n%s", script, len(answers), n, err, out)
	return answers
}
