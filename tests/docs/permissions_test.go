package docs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Whoever grants less than all must find what that costs.
func TestTheAccessPageSaysWhatIsMissedWithoutEachAction(t *testing.T) {
	var document struct {
		Statement []struct {
			Sid    string
			Action any
		}
	}
	if err := json.Unmarshal([]byte(page(t, "infra/iam-policy.json")), &document); err != nil {
		t.Fatal(err)
	}
	var want, got, statements, rows []string
	for _, s := range document.Statement {
		statements = append(statements, s.Sid)
		if actions, ok := s.Action.([]any); ok && s.Sid == "Observe" {
			for _, a := range actions {
				want = append(want, a.(string))
			}
		}
	}
	for _, row := range table(t, "infra/README.md", "| action of `Observe` | read of | without it |") {
		got = append(got, names(row[0])...)
	}
	for _, row := range table(t, "infra/README.md", "| statement | for | why |") {
		rows = append(rows, names(row[0])...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the page has the actions\n%v, the policy\n%v", got, want)
	}
	if !slices.Equal(rows, statements) {
		t.Errorf("the page has the statements %v, the policy %v", rows, statements)
	}
}

func TestTheAccessPageSaysWhatIsMissedWithoutEachVerb(t *testing.T) {
	want := map[string][]string{} // verbs by group and resource
	role := map[string]string{"rollcall-viewer": "rollcall:viewers", "rollcall-remediator": "rollcall:remediators"}
	for _, text := range strings.Split(page(t, "infra/rbac.yaml"), "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []struct {
				APIGroups        []string `yaml:"apiGroups"`
				Resources, Verbs []string
			}
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		for _, r := range object.Rules {
			key := role[object.Metadata.Name] + " " + strings.TrimSuffix(r.Resources[0]+"."+r.APIGroups[0], ".")
			want[key] = append(want[key], r.Verbs...)
		}
	}
	got := map[string][]string{}
	for _, row := range table(t, "infra/README.md", "| group | resource | verbs | for | without it |") {
		groups := names(row[0])
		if row[0] == "both" {
			groups = []string{"rollcall:viewers", "rollcall:remediators"}
		}
		for _, g := range groups {
			key := g + " " + names(row[1])[0]
			got[key] = append(got[key], names(row[2])...)
		}
	}
	if len(want) < 5 {
		t.Fatalf("found only %v", want)
	}
	for key, verbs := range want {
		slices.Sort(verbs)
		slices.Sort(got[key])
		if !slices.Equal(got[key], verbs) {
			t.Errorf("%s: the page has %v, the manifest %v", key, got[key], verbs)
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("the manifest does not let %s do anything", key)
	}
}
