package corpus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rollcall/functions/local/command"
	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
)

// explain has the tool explain a bundle.
func explain(ctx context.Context, bundle string) (corpus.Document, error) {
	var out, fault bytes.Buffer
	code := command.Run(ctx, []string{"explain", "--bundle", bundle, "--output", "json", "--mode", "remediate"}, command.Environment{Stdout: &out, Stderr: &fault, Now: time.Now})
	if out.Len() == 0 {
		return corpus.Document{}, fmt.Errorf("explain %s: exit %d: %s", bundle, code, fault.String())
	}
	var d corpus.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("explain %s printed no document: %w", bundle, err)
	}
	if found := len(d.Findings) > 0; found != (code == command.ExitFindings) {
		return d, fmt.Errorf("explain %s: exit %d with %d findings", bundle, code, len(d.Findings))
	}
	return d, nil
}

func TestExplainTellsTheCause(t *testing.T) {
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
			got, err := explain(t.Context(), dir)
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

// What is found out does not hang on the order in which anything is read.
func TestTheSameBundleGivesTheSameAnswer(t *testing.T) {
	for _, name := range []string{"one-unmapped-role-behind-two-groups", "zone-went-silent", "all-is-well"} {
		first, err := explain(t.Context(), filepath.Join("cases", name))
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			again, err := explain(t.Context(), filepath.Join("cases", name))
			if err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(first)
			b, _ := json.Marshal(again)
			if !bytes.Equal(a, b) {
				t.Fatalf("%s:\n%s\nthen\n%s", name, a, b)
			}
		}
	}
}
