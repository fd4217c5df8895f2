package docs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/diagnose/cause"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

type statement struct {
	Sid              string
	Action, Resource any
}

const readOnlyPolicy = "infra/iam-read-only.json"

func statementsOf(t *testing.T, file string) []statement {
	t.Helper()
	var document struct{ Statement []statement }
	must.Succeed(t, json.Unmarshal([]byte(page(t, file)), &document))
	return document.Statement
}

// The file can be used unchanged in any account, and allows no change.
func TestTheReadOnlyPolicyReadsOnly(t *testing.T) {
	for _, s := range statementsOf(t, readOnlyPolicy) {
		for _, a := range s.Action.([]any) {
			_, verb, _ := strings.Cut(a.(string), ":")
			if !slices.ContainsFunc([]string{"Describe", "Get", "List"}, func(p string) bool { return strings.HasPrefix(verb, p) }) {
				t.Errorf("%s is no read", a)
			}
		}
		expect.That(t, s.Resource == "*", "statement %s names %v, which is of one account", s.Sid, s.Resource)
	}
}

// The page must say what is missed without each permission.
func TestTheAccessPageSaysWhatIsMissedWithoutEachAction(t *testing.T) {
	all := append(statementsOf(t, readOnlyPolicy), statementsOf(t, "infra/iam-policy.json")...)
	var statements, rows []string
	for _, s := range all {
		statements = append(statements, s.Sid)
		header, ok := map[string]string{
			"Observe": "| action of `Observe` | read of | without it |", "Diagnose": "| action of `Diagnose` | read of | not checked without it |",
			"Explain": "| action of `Explain` | read of | instead of it |",
		}[s.Sid]
		if !ok {
			continue
		}
		var want, got []string
		for _, a := range s.Action.([]any) {
			want = append(want, a.(string))
		}
		for _, row := range table(t, "infra/README.md", header) {
			got = append(got, names(row[0])...)
		}
		slices.Sort(want)
		slices.Sort(got)
		expect.That(t, slices.Equal(got, want), "the page has the actions\n%v, statement %s\n%v", got, s.Sid, want)
	}
	for _, row := range table(t, "infra/README.md", "| statement | for | why |") {
		rows = append(rows, names(row[0])...)
	}
	expect.That(t, slices.Equal(rows, statements), "the page has the statements %v, the policy %v", rows, statements)
}

func TestTheAccessPageNamesCausesThatExist(t *testing.T) {
	for _, row := range table(t, "infra/README.md", "| action of `Diagnose` | read of | not checked without it |") {
		for _, code := range names(row[2]) {
			expect.That(t, cause.Known(code), "without %s, %s is not checked, which is no cause", row[0], code)
		}
	}
}

func TestTheAccessPageSaysWhatIsMissedWithoutEachVerb(t *testing.T) {
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Rules    []struct {
			APIGroups        []string `yaml:"apiGroups"`
			Resources, Verbs []string
		}
		RoleRef  struct{ Kind, Name string } `yaml:"roleRef"`
		Subjects []struct{ Name string }
	}
	var objects []object
	bound := map[string][]string{} // the groups that have a role
	for _, text := range strings.Split(page(t, "infra/rbac.yaml"), "\n---\n") {
		var o object
		must.Succeed(t, yaml.Unmarshal([]byte(text), &o))
		objects = append(objects, o)
		for _, s := range o.Subjects {
			role := o.RoleRef.Kind + " " + o.Metadata.Namespace + "/" + o.RoleRef.Name
			bound[role] = append(bound[role], s.Name)
		}
	}
	want := map[string][]string{} // verbs by group and resource
	for _, o := range objects {
		for _, group := range bound[o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name] {
			for _, r := range o.Rules {
				for _, resource := range r.Resources {
					key := group + " " + strings.TrimSuffix(resource+"."+r.APIGroups[0], ".")
					want[key] = append(want[key], r.Verbs...)
				}
			}
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
	must.That(t, len(want) >= 5, "found only %v", want)
	for key, verbs := range want {
		slices.Sort(verbs)
		slices.Sort(got[key])
		expect.That(t, slices.Equal(got[key], verbs), "%s: the page has %v, the manifest %v", key, got[key], verbs)
		delete(got, key)
	}
	for key := range got {
		t.Errorf("the manifest does not let %s do anything", key)
	}
}
