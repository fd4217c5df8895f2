package awscli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/corpus/explain"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/harness/python"
)

const root = "../.."

// pasted matches a command of the AWS CLI in a text, with the lines that a backslash continues.
var pasted = regexp.MustCompile("(?m)\\baws [a-z][a-z0-9-]+ [a-z]+(?:-[a-z0-9]+)*(?: (?:\\\\\n|[^`\n])*)?")

// check returns what is wrong with each command, "" if nothing is.
func check(t *testing.T, commands []string) []string {
	t.Helper()
	return python.Answers[string](t, root, "check.py", commands, len(commands))
}

// verify reports the commands with faults, by where each was found. Prose names commands without their parameters,
// and scripts append some.
func verify(t *testing.T, found map[string]string, least int, prose bool) {
	t.Helper()
	commands := slices.Sorted(maps.Keys(found))
	expect.That(t, len(commands) >= least, "%d commands, want at least %d", len(commands), least)
	for i, fault := range check(t, commands) {
		partial := prose && (strings.HasPrefix(fault, "lacks ") || strings.HasSuffix(fault, " has no value"))
		expect.That(t, fault == "" || partial, "%s: %s: %s", found[commands[i]], fault, commands[i])
	}
}

// commandsIn calls add with the commands in each string of a JSON value.
func commandsIn(v any, add func(string)) {
	switch v := v.(type) {
	case string:
		for _, at := range pasted.FindAllStringIndex(v, -1) {
			if !strings.HasPrefix(v[at[1]:], "-") { // a variable of the shell is a part of its name
				add(v[at[0]:at[1]])
			}
		}
	case map[string]any:
		for _, item := range v {
			commandsIn(item, add)
		}
	case []any:
		for _, item := range v {
			commandsIn(item, add)
		}
	}
}

func TestTheCommandsOfExplanationsExist(t *testing.T) {
	found := map[string]string{}
	for _, c := range generate.All() {
		out, _, err := explain.Case(t.Context(), c)
		must.Succeed(t, err)
		var document any
		must.Succeed(t, json.Unmarshal(out, &document))
		commandsIn(document, func(command string) { found[command] = c.Name })
	}
	verify(t, found, 150, false)
}

func TestTheCommandsOfTheDocumentsExist(t *testing.T) {
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			commandsIn(string(must.Read(t, path)), func(command string) { found[command] = path })
		}
		return nil
	})
	must.Succeed(t, err)
	verify(t, found, 40, true)
}

func TestWhatTheCommandLineLacksIsFound(t *testing.T) {
	for command, want := range map[string]string{
		"aws ec2 reboot-instances --instance-ids i-0123456789abcdef0 --region eu-west-1":          "",
		"aws ec2 restart-instances --instance-ids i-0123456789abcdef0":                            "no operation restart-instances",
		"aws ec2 reboot-instances --instance i-0123456789abcdef0":                                 "no option --instance",
		"aws ec2 reboot-instances --region eu-west-1":                                             "lacks --instance-ids",
		"aws eks create-access-entry --cluster-name c --principal-arn a --type LINUX":             "",
		"aws ec2 modify-instance-metadata-options --instance-id i --http-tokens maybe":            "--http-tokens cannot be maybe",
		"aws ec2 create-tags --resources i --tags Key=a,Worth=b":                                  "--tags has no Worth",
		`aws ec2 authorize-security-group-egress --group-id sg --ip-permissions '[{"Port":443}]'`: "--ip-permissions has no Port",
		"aws kubernetes get-nodes":                                          "no service kubernetes",
		"aws ec2 reboot-instances --instance-ids":                           "--instance-ids has no value",
		"aws ec2 wait instance-running --instance-ids i":                    "",
		"aws ec2 wait instance-runs --instance-ids i":                       "no waiter instance-runs",
		"aws ec2 reboot-instances now":                                      "now belongs to no option",
		"aws ec2 reboot-instances --instance-ids i-1; aws ec2 nonsense --x": "",
		"aws eks describe-cluster --name '":                                 "cannot be parsed",
	} {
		got := check(t, []string{command})[0]
		expect.That(t, got == want || want != "" && strings.Contains(got, want), "%s: %q, want %q", command, got, want)
	}
}
