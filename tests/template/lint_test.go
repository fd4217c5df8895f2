package template

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const root = "../.."

// tool returns the path of a program that make test installs.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(Tool(root, name))
	must.Succeed(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing (%v): make test installs it", name, err)
	}
	return path
}

// offline returns a command without credentials, telemetry and instance metadata.
func offline(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "AWS_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "SAM_CLI_TELEMETRY=0", "AWS_EC2_METADATA_DISABLED=true", "AWS_DEFAULT_REGION=eu-west-1")
	return cmd
}

// Warnings are failures: a template that deploys with a warning fails in another account.
func TestTheTemplatesLintWithoutAWarning(t *testing.T) {
	transformed := filepath.Join(t.TempDir(), "transformed.json")
	data, err := Transform(t.Context(), root, "template.yaml")
	must.Succeed(t, err)
	must.Succeed(t, os.WriteFile(transformed, data, 0o600))
	for name, file := range map[string]string{
		"as written":           filepath.Join(root, "template.yaml"),
		"as transformed":       transformed, // typos in the names of IAM actions show only here
		"access to a cluster":  filepath.Join(root, "infra", "cluster-access.yaml"),
		"for an organization":  filepath.Join(root, "infra", "stackset.yaml"),
		"a Slack channel":      filepath.Join(root, "infra", "slack.yaml"),
		"rules for its events": filepath.Join(root, "events", "rules.yaml"),
		"an incident tool":     filepath.Join(root, "events", "incidents.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := offline(t.Context(), tool(t, "cfn-lint"), "--include-checks", "I", "--", file).CombinedOutput()
			expect.That(t, err == nil, "%v\n%s", err, out)
		})
	}
}

// The lint must be able to fail: on the transformed template it finds a typo in an action
// that it accepts before.
func TestTheLintFindsAnActionThatDoesNotExist(t *testing.T) {
	data, err := Transform(t.Context(), root, "template.yaml")
	must.Succeed(t, err)
	const right = "ec2:TerminateInstances"
	must.That(t, strings.Contains(string(data), right), "nobody may %s", right)
	file := filepath.Join(t.TempDir(), "typo.json")
	must.Succeed(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), right, "ec2:TerminateInstance")), 0o600))
	out, err := offline(t.Context(), tool(t, "cfn-lint"), "--include-checks", "I", "--", file).CombinedOutput()
	expect.That(t, err != nil && strings.Contains(strings.ToLower(string(out)), "terminateinstance"), "%v\n%s", err, out)
}

func TestSAMValidatesTheTemplate(t *testing.T) {
	out, err := offline(t.Context(), tool(t, "sam"), "validate", "--lint", "--region", "eu-west-1", "--template", filepath.Join(root, "template.yaml")).CombinedOutput()
	expect.That(t, err == nil && strings.Contains(string(out), "valid SAM Template"), "%v\n%s", err, out)
}
