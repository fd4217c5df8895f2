package template

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
