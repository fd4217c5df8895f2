package template

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func text(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// grant runs make grant with an aws command that answers as told, and notes how it
// was called.
func grant(t *testing.T, mode, role string, arguments ...string) (out, calls string, err error) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	fake := "#!/bin/sh\necho \"$@\" >> " + log + "\n" +
		"case $* in\n*describe-cluster*) answer='" + mode + "' ;;\n*InspectRoleArn*) answer='" + role + "/inspect' ;;\n*RemediateRoleArn*) answer='" + role + "/remediate' ;;\nesac\n" +
		"case $answer in '' | /*) exit 255 ;; esac\necho \"$answer\"\n"
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-s", "-C", root, "--no-print-directory", "grant"}, arguments...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL=")
	data, err := cmd.CombinedOutput()
	made, _ := os.ReadFile(log)
	return string(data), string(made), err
}

func TestGrantPrintsWhatAppliesToTheClusterAndChangesNothing(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role"
	entry := "aws eks create-access-entry --cluster-name demo \\\n  --principal-arn " + role + "/inspect \\\n  --type STANDARD --kubernetes-groups rollcall:viewers\n"
	mapped := "    - rolearn: " + role + "/remediate\n      username: rollcall-remediate\n      groups:\n        - rollcall:remediators\n"
	for name, c := range map[string]struct {
		mode, role     string
		entry, mapping bool
	}{
		"access entries": {"API", role, true, false},
		"both":           {"API_AND_CONFIG_MAP", role, true, false},
		"aws-auth":       {"CONFIG_MAP", role, false, true},
		"not known":      {"", role, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			out, calls, err := grant(t, c.mode, c.role, "CLUSTER=demo", "STACK=mine")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(out, "kubectl apply -f infra/rbac.yaml") || strings.Contains(out, entry) != c.entry || strings.Contains(out, mapped) != c.mapping {
				t.Errorf("printed:\n%s", out)
			}
			for call := range strings.Lines(calls) {
				if !strings.Contains(call, " describe-") {
					t.Errorf("it called aws %s", call)
				}
			}
			if !strings.Contains(calls, "--name demo") || !strings.Contains(calls, "--stack-name mine") {
				t.Errorf("it asked:\n%s", calls)
			}
		})
	}
	out, _, err := grant(t, "", "", "CLUSTER=demo")
	if err != nil || !strings.Contains(out, "could not be looked up") || !strings.Contains(out, "role/ROLLCALL-INSPECT") {
		t.Errorf("without an account: %v\n%s", err, out)
	}
	for _, bad := range []string{"CLUSTER=", "CLUSTER=a b", "CLUSTER=-x", "CLUSTER=$(id)"} {
		if out, calls, err := grant(t, "API", role, bad); err == nil || calls != "" {
			t.Errorf("%s: %v\n%s%s", bad, err, out, calls)
		}
	}
}

// rule is one of a ClusterRole.
type rule struct {
	APIGroups []string `yaml:"apiGroups"`
	Resources []string
	Verbs     []string
}

// allowed lists what rules allow, as in "nodeclaims.karpenter.sh list".
func allowed(rules []rule) []string {
	var out []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					out = append(out, strings.TrimSuffix(resource+"."+group, ".")+" "+verb)
				}
			}
		}
	}
	return out
}

// Each of the groups that are given to the roles has a ClusterRole of its own: one looks,
// and only the other may change anything.
func TestWhatTheGroupsMayDoInACluster(t *testing.T) {
	may := map[string][]string{
		"rollcall:viewers":     {"nodes list", "nodeclaims.karpenter.sh list"},
		"rollcall:remediators": {"nodes list", "nodes get", "nodes patch", "nodes delete", "nodeclaims.karpenter.sh list", "nodeclaims.karpenter.sh delete", "pods list", "pods/eviction create"},
	}
	documents := strings.Split(text(t, "infra", "rbac.yaml"), "\n---\n")
	type named struct {
		Kind, Name string
	}
	var groups []string
	for pair := range slices.Chunk(documents, 2) {
		if len(pair) != 2 {
			t.Fatalf("%d documents, want a role and its binding each", len(documents))
		}
		var role struct {
			Kind     string
			Metadata named
			Rules    []rule
		}
		var binding struct {
			RoleRef  named `yaml:"roleRef"`
			Subjects []named
		}
		if err := yaml.Unmarshal([]byte(pair[0]), &role); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(pair[1]), &binding); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" || binding.RoleRef != (named{Kind: role.Kind, Name: role.Metadata.Name}) {
			t.Errorf("bound is %+v", binding.RoleRef)
		}
		for _, s := range binding.Subjects {
			if s.Kind != "Group" {
				t.Errorf("bound to %+v", s)
			}
			groups = append(groups, s.Name)
			if diff := cmp.Diff(may[s.Name], allowed(role.Rules)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", s.Name, diff)
			}
		}
	}
	if !slices.Equal(groups, []string{"rollcall:viewers", "rollcall:remediators"}) {
		t.Errorf("groups %v", groups)
	}
}

// An operator looks up what rings and what can be set.
func TestTheReadmeNamesEveryParameterAndAlarm(t *testing.T) {
	readme, tmpl := text(t, "infra", "README.md"), text(t, "template.yaml")
	_, after, _ := strings.Cut(tmpl, "\nParameters:\n")
	parameters, _, _ := strings.Cut(after, "\nRules:\n")
	var names []string
	for line := range strings.Lines(parameters) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, ":\n"), "  "); ok && !strings.HasPrefix(name, " ") && !strings.Contains(name, ":") && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	if len(names) < 10 {
		t.Fatalf("found only the parameters %v", names)
	}
	for _, name := range append(names, read(t).ofType("AWS::CloudWatch::Alarm")...) {
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("infra/README.md does not tell of %s", name)
		}
	}
}
