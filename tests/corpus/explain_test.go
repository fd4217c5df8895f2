package corpus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
)

// tool is the binary that is judged, built by make build: ROLLCALL=bin/rollcall.
const tool = "ROLLCALL"

// explain asks the tool about a bundle.
var explain = func(bundle string) (corpus.Document, error) {
	cmd := exec.Command(os.Getenv(tool), "explain", "--bundle", bundle, "--output", "json", "--mode", "remediate")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) { // 2: there are findings
		if exit != nil {
			return corpus.Document{}, fmt.Errorf("explain %s: %w: %s", bundle, err, exit.Stderr)
		}
		return corpus.Document{}, fmt.Errorf("explain %s: %w", bundle, err)
	}
	var d corpus.Document
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("explain %s printed no document: %w", bundle, err)
	}
	return d, nil
}

func TestExplainTellsTheCause(t *testing.T) {
	if os.Getenv(tool) == "" {
		t.Skip("set " + tool + " to the tool that is to be judged, such as /repo/bin/rollcall")
	}
	for _, c := range generate.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("cases", c.Name)
			text, err := os.ReadFile(filepath.Join(dir, "expect.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want corpus.Expectation
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			got, err := explain(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, difference := range corpus.Verify(got, want) {
				t.Error(difference)
			}
			if t.Failed() {
				t.Log(want.Why)
			}
		})
	}
}
