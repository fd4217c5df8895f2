package corpus_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/tests/corpus/explain"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/must"
)

var (
	// interrupts matches a command that restarts or ends an instance. One fix may run one.
	interrupts = regexp.MustCompile(`^(aws ec2 (reboot|terminate)-instances|aws autoscaling terminate-instance-in-auto-scaling-group|kubectl delete nodeclaim)\b`)
	// conditional matches a remark that leaves the command below it to a person.
	conditional = regexp.MustCompile(`^# (or, )?(only )?(if|once|when)\b`)
	// quotes are what zsh, the shell of macOS, reads in a remark at its prompt. An open quote takes in the lines that follow.
	// https://zsh.sourceforge.io/Doc/Release/Options.html#Input_002fOutput (INTERACTIVE_COMMENTS is off by default)
	quotes = regexp.MustCompile("['`]|\\$\\(")
)

// pasteFaults returns what goes wrong if a person pastes a whole fix at the prompt of a shell.
func pasteFaults(t *testing.T, fix string) (faults []string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(fix), "")
	must.Succeed(t, err)
	begins := map[uint]bool{}
	for _, s := range file.Stmts {
		begins[s.Pos().Line()] = true
	}
	ran, above := 0, ""
	for i, line := range strings.Split(fix, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			if quotes.MatchString(line) && !isCommand(line) {
				faults = append(faults, "zsh opens a quote: "+line)
			}
		case begins[uint(i+1)]:
			if conditional.MatchString(above) {
				faults = append(faults, "is run whatever the condition: "+above+" "+line)
			}
			if interrupts.MatchString(line) {
				if ran++; ran == 2 {
					faults = append(faults, "interrupts the instance twice: "+line)
				}
			}
		}
		above = line
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && begins[c.Pos().Line()] && !strings.HasPrefix(strings.Split(fix, "\n")[c.Pos().Line()-1], "#") {
			faults = append(faults, "zsh takes the remark as arguments: "+c.Text)
		}
		return true
	})
	return faults
}

// isCommand reports whether a comment is a command that a person may run, whose quotes are closed.
func isCommand(line string) bool {
	_, err := syntax.NewParser().Parse(strings.NewReader(strings.TrimPrefix(line, "# ")), "")
	return err == nil && regexp.MustCompile(`^# (aws|kubectl) `).MatchString(line)
}

// fixesIn calls add with the fixes in a JSON value.
func fixesIn(v any, add func(string)) {
	switch v := v.(type) {
	case map[string]any:
		if fix, ok := v["fix"].(string); ok && fix != "" {
			add(fix)
		}
		for _, of := range v {
			fixesIn(of, add)
		}
	case []any:
		for _, of := range v {
			fixesIn(of, add)
		}
	}
}

// A person at night pastes the fix of a notice as a whole, and the default shell of macOS knows no comments at its
// prompt: what is right only under a condition is no command, and remarks stand on lines of their own.
func TestAFixCanBePastedAsAWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range generate.All() {
		document, _, err := explain.Case(t.Context(), c)
		must.Succeed(t, err)
		var v any
		must.Succeed(t, json.Unmarshal(document, &v))
		fixesIn(v, func(fix string) {
			if seen[fix] {
				return
			}
			seen[fix] = true
			for _, fault := range pasteFaults(t, fix) {
				t.Errorf("%s: %s", c.Name, fault)
			}
		})
	}
	must.That(t, len(seen) >= 200, "%d fixes", len(seen))
}
