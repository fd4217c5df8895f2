package template

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func text(t *testing.T, parts ...string) string {
	t.Helper()
	data := must.Read(t, filepath.Join(append([]string{root}, parts...)...))
	return string(data)
}

// grant runs make grant with a fake aws command. The fake has a configured region, or
// none if it is "", answers with the given mode and roles, and records its calls.
func grant(t *testing.T, configured, mode, role string, arguments ...string) (out, calls string, err error) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	fake := "#!/bin/sh\necho \"$@\" >> " + log + "\n" +
		"case $* in\n*describe-cluster*) answer='" + mode + "' ;;\n*list-clusters*) answer=$CLUSTERS ;;\n*InspectRoleArn*) answer='" + role + "/inspect' ;;\n*RemediateRoleArn*) answer=${REMEDIATE-'" + role + "/remediate'} ;;\n'configure get region'*) answer=$CONFIGURED ;;\nesac\n" +
		"case $answer in '' | /*) exit 255 ;; esac\necho \"$answer\"\n"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "aws"), []byte(fake), 0o700))
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-s", "-C", root, "--no-print-directory", "grant"}, arguments...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL=", "AWS_REGION=", "AWS_DEFAULT_REGION=", "CONFIGURED="+configured)
	data, err := cmd.CombinedOutput()
	made, _ := os.ReadFile(log)
	return string(data), string(made), err
}

func TestGrantPrintsWhatAppliesToTheClusterAndChangesNothing(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role"
	entry := "aws eks create-access-entry --region eu-west-1 --cluster-name demo \\\n  --principal-arn " + role + "/inspect \\\n  --type STANDARD --kubernetes-groups rollcall:viewers\n"
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
			out, calls, err := grant(t, "eu-west-1", c.mode, c.role, "CLUSTER=demo", "STACK=mine")
			must.That(t, err == nil, "%v\n%s", err, out)
			if !strings.Contains(out, "kubectl --context rollcall-demo apply -f infra/rbac.yaml") || strings.Contains(out, entry) != c.entry || strings.Contains(out, mapped) != c.mapping {
				t.Errorf("printed:\n%s", out)
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "kubectl ") && !strings.HasPrefix(line, "kubectl --context rollcall-demo ") || strings.HasPrefix(line, "aws ") && !strings.Contains(line, " --region eu-west-1 ") {
					t.Errorf("it depends on what is current: %s", line)
				}
			}
			before, _, known := strings.Cut(out, "kubectl --context")
			if !known || !strings.Contains(before, "aws eks update-kubeconfig --region eu-west-1 --name demo --alias rollcall-demo\n") {
				t.Errorf("nothing makes the context that it names:\n%s", out)
			}
			for call := range strings.Lines(calls) {
				if !strings.Contains(call, " describe-") && !strings.HasPrefix(call, "configure get region ") {
					t.Errorf("it called aws %s", call)
				}
			}
			expect.That(t, strings.Contains(calls, "--name demo") && strings.Contains(calls, "--stack-name mine"), "it asked:\n%s", calls)
		})
	}
	// The authenticator compares roles without their path.
	out, _, err := grant(t, "eu-west-1", "CONFIG_MAP", role+"/platform/team", "CLUSTER=demo")
	if err != nil || !strings.Contains(out, "rolearn: "+role+"/inspect\n") || !strings.Contains(out, "rolearn: "+role+"/remediate\n") {
		t.Errorf("a role with a path in aws-auth: %v\n%s", err, out)
	}
	out, _, err = grant(t, "", "", "", "CLUSTER=demo")
	if err != nil || !strings.Contains(out, "could not be read") || !strings.Contains(out, "role/ROLLCALL-INSPECT") || !strings.Contains(out, "The region is not known") || !strings.Contains(out, "--region REGION --name demo") {
		t.Errorf("without an account: %v\n%s", err, out)
	}
	out, calls, err := grant(t, "eu-west-1", "API", role, "CLUSTER=demo", "AWS_REGION=eu-central-1")
	if err != nil || !strings.Contains(out, "update-kubeconfig --region eu-central-1 ") || strings.Contains(out+calls, "eu-west-1") {
		t.Errorf("with a region in the environment: %v\n%s%s", err, out, calls)
	}
	t.Setenv("REMEDIATE", "None") // the output exists in mode remediate only
	for _, mode := range []string{"API", "CONFIG_MAP"} {
		out, _, err = grant(t, "eu-west-1", mode, role, "CLUSTER=demo")
		if err != nil || !strings.Contains(out, role+"/inspect") || strings.Contains(out, ":remediators") || strings.Contains(out, "could not be read") || !strings.Contains(out, "Run this again once Mode=remediate is set") {
			t.Errorf("%s, below mode remediate: %v\n%s", mode, err, out)
		}
	}
	must.Succeed(t, os.Unsetenv("REMEDIATE"))
	t.Setenv("CLUSTERS", "demo other")
	out, calls, err = grant(t, "eu-west-1", "API", role)
	if err != nil || strings.Count(out, "apply -f infra/rbac.yaml") != 2 || !strings.Contains(out, entry) || !strings.Contains(out, strings.ReplaceAll(entry, "demo", "other")) || strings.Count(calls, "describe-stacks") != 2 {
		t.Errorf("for all clusters: %v\n%s%s", err, out, calls)
	}
	t.Setenv("CLUSTERS", "")
	if out, _, err := grant(t, "eu-west-1", "API", role); err == nil || !strings.Contains(out, "aws eks list-clusters --region eu-west-1 lists no cluster, or failed: check credentials and region, or name one: make grant CLUSTER=NAME") {
		t.Errorf("without any cluster: %v\n%s", err, out)
	}
	for _, bad := range []string{"CLUSTER=a b", "CLUSTER=-x", "CLUSTER=$$(id)"} {
		out, calls, err := grant(t, "eu-west-1", "API", role, bad)
		expect.That(t, err != nil && calls == "", "%s: %v\n%s%s", bad, err, out, calls)
	}
	if out, _, err := grant(t, "a; id", "API", role, "CLUSTER=demo"); err == nil {
		t.Errorf("a region that is none passes:\n%s", out)
	}
}

// Both ways to stop leave orders in their queue or hold them. A function without concurrency
// would move them to the dead-letter queue and raise an alarm.
func TestTheWaysToStopAreThoseThatLoseNothing(t *testing.T) {
	readme := text(t, "infra", "README.md")
	_, after, found := strings.Cut(readme, "\n### To stop every act\n")
	section, _, _ := strings.Cut(after, "\n### ")
	if !found || !strings.Contains(section, "rollcall stop --stack rollcall") || !strings.Contains(section, "aws lambda update-event-source-mapping --no-enabled") {
		t.Errorf("the page does not say how to stop:\n%s", section)
	}
	expect.Equal(t, read(t, "Mode", "remediate").Outputs["RemediateEventSource"], "${RemediateFunctionQueue}", "the event source to disable is")
	pages, err := filepath.Glob(filepath.Join(root, "*", "*.md"))
	must.Succeed(t, err)
	for _, file := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "template.yaml")) {
		data := must.Read(t, file)
		expect.That(t, !strings.Contains(string(data), "put-function-concurrency"), "%s stops by concurrency", file)
	}
}

// An operator looks up alarms and parameters.
func TestThePagesNameEveryParameterAndAlarm(t *testing.T) {
	readme, tmpl := text(t, "infra", "README.md"), text(t, "template.yaml")
	_, after, _ := strings.Cut(tmpl, "\nParameters:\n")
	parameters, _, _ := strings.Cut(after, "\nRules:\n")
	var names []string
	for line := range strings.Lines(parameters) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, ":\n"), "  "); ok && !strings.HasPrefix(name, " ") && !strings.Contains(name, ":") && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	must.That(t, len(names) >= 10, "found only the parameters %v", names)
	for _, name := range names {
		expect.That(t, strings.Contains(readme, "`"+name+"`"), "infra/README.md does not tell of %s", name)
	}
	alarms := whole(t).ofType("AWS::CloudWatch::Alarm")
	expect.List(t, listed(text(t, "infra", "TROUBLESHOOTING.md")), alarms, "infra/TROUBLESHOOTING.md lists the alarms")
}

// listed returns the names in the first column of a page's table of alarms.
func listed(page string) (names []string) {
	_, table, _ := strings.Cut(page, "\n| alarm | ")
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			names = append(names, m[1])
		}
		if line == "\n" {
			break
		}
	}
	slices.Sort(names)
	return names
}

// The page also says how long an alarm's evaluation period is; the others have 5 minutes.
func TestTheMonitoringPageSaysHowLongAlarmsLookBack(t *testing.T) {
	tmpl, page := whole(t), text(t, "infra", "MONITORING.md")
	named := listed(page)
	for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
		var a alarm
		must.Succeed(t, tmpl.properties(id, &a))
		period := a.Period
		for _, m := range a.Metrics {
			if s := m.MetricStat; s != nil {
				period = s.Period
			}
		}
		back := (time.Duration(period) * time.Second).Minutes()
		says := fmt.Sprintf("%.0f minutes", back)
		switch {
		case a.EvaluationPeriods > 1:
			says = fmt.Sprintf("%d periods of %s", a.EvaluationPeriods, says)
		case back >= 60:
			says = fmt.Sprintf("%.0f hours", back/60)
		}
		if !slices.Contains(named, id) {
			expect.That(t, says == "5 minutes", "%s looks back %s, which infra/MONITORING.md does not say", id, says)
			continue
		}
		expect.That(t, strings.Contains(page, "\n| `"+id+"` | "+says+" | "), "infra/MONITORING.md does not say that %s looks back %s", id, says)
	}
}
