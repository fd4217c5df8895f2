package corpus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"rollcall/functions/local/command"
	"rollcall/tests/corpus"
	"rollcall/tests/corpus/explain"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// explained returns the tool's explanation of a case.
func explained(ctx context.Context, c generate.Made) (d corpus.Document, err error) {
	out, code, err := explain.Case(ctx, c)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("explain %s printed no document: %w", c.Name, err)
	}
	if found := len(d.Findings) > 0; found != (code == command.ExitFindings) {
		return d, fmt.Errorf("explain %s: exit %d with %d findings", c.Name, code, len(d.Findings))
	}
	return d, nil
}

// verdicts returns the lines of the committed table, by case.
func verdicts(t *testing.T) map[string]corpus.Verdict {
	t.Helper()
	table := must.Read(t, "verdicts.jsonl")
	out := map[string]corpus.Verdict{}
	for d := json.NewDecoder(bytes.NewReader(table)); ; {
		var v corpus.Verdict
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out[v.Case] = v
	}
}

func TestExplainTellsTheCause(t *testing.T) {
	table := verdicts(t)
	for _, c := range generate.All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := table[c.Name]
			must.That(t, ok, "verdicts.jsonl has no line of this case: run make corpus")
			got, err := explained(t.Context(), c)
			must.Succeed(t, err)
			for _, difference := range corpus.Verify(got, want.Expectation) {
				t.Error(difference)
			}
			if t.Failed() {
				t.Log(want.Why)
			}
		})
	}
}

// symptoms only say how trouble shows: nobody can change what they name.
var symptoms = []string{
	"NodeGroupUnhealthy", "KubeletSilent", "NeverReported", "CniNotReady", "InstanceStatusImpaired", "NodeadmFailed", "CloudInitFailed", "ReplacementRepeats",
}

// The paragraph on top names a root wherever one is proven of the instance that it is about.
func TestTheParagraphBeginsWithTheRoot(t *testing.T) {
	roots, shown := 0, map[string]bool{}
	for _, c := range generate.All() {
		got, err := explained(t.Context(), c)
		must.Succeed(t, err)
		if len(got.Findings) == 0 {
			continue
		}
		var root, symptom []string // summaries of the causes of the instance
		for _, f := range got.Findings {
			if f.About() != got.Findings[0].About() {
				continue
			}
			for _, cause := range f.Causes {
				switch text := strings.TrimSuffix(cause.Summary, ".") + "."; {
				case slices.Contains(symptoms, cause.Code):
					symptom, shown[cause.Code] = append(symptom, text), true
				case cause.Confidence == corpus.Decisive:
					root = append(root, text)
				}
			}
		}
		if len(root) == 0 {
			continue
		}
		because := func(text string) bool { return strings.Contains(got.Summary, ", because "+text) }
		expect.That(t, slices.ContainsFunc(root, because) && !slices.ContainsFunc(symptom, because), "%s: %q is proven, and the paragraph begins: %s", c.Name, root, got.Summary)
		if len(symptom) > 0 {
			roots++
		}
	}
	for _, code := range symptoms {
		expect.That(t, shown[code], "no case shows %s", code)
	}
	expect.That(t, roots >= 40, "%d cases have a proven root beside a symptom, want 40", roots)
}
