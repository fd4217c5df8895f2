// Package noticetest judges notices as the person who receives them would: on a phone, at night.
package noticetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Notice is a notice as it is published.
type Notice struct {
	Subject, Text string
	JSON, Chat    []byte // Chat is nil if it is not known
}

// What a notice may have. SNS takes subjects of up to 100 characters.
const (
	MostSubject = 100 // characters of a subject
	MostLines   = 15  // lines of text, without commands and empty lines
	MostBefore  = 900 // characters before the first command
	longestFix  = 6_000
)

// forbidden are words that STYLE.md replaces, with the better ones.
var forbidden = []struct {
	words  *regexp.Regexp
	better string
}{
	{regexp.MustCompile(`(?i)\b(tells?|told|telling)\b`), "report"},
	{regexp.MustCompile(`(?i)\b(mends?|mended)\b`), "fix"},
	{regexp.MustCompile(`(?i)\b(an?|second|another|last|next|each) looks?\b|\blook(s|ed|ing)? (again|closer|on)\b|\blooked at again\b`), "check"},
	{regexp.MustCompile(`(?i)\b(holds?|held) (it )?back\b`), "paused, suspended"},
	{regexp.MustCompile(`(?i)\b(ends?|ended|ending) (it|them|instances?|an instance|the instances?)\b`), "terminate"},
	{regexp.MustCompile(`(?i)\bstands? by itself\b`), "standalone"},
	{regexp.MustCompile(`(?i)\b(nobody can say|of which nobody|so many)\b`), "unknown"},
}

// title matches the title of a block of commands.
var title = regexp.MustCompile(`(?m)^To [^\n]*[:?]$`)

// Faults returns what is wrong with a notice, nothing if it is in order.
func Faults(n Notice) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var d struct {
		Cluster, Action, Summary string
		Causes                   []struct{ Code, Fix string }
	}
	if err := json.Unmarshal(n.JSON, &d); err != nil {
		return []string{"the JSON form: " + err.Error()}
	}
	if len(n.Subject) == 0 || len(n.Subject) > MostSubject || strings.ContainsFunc(n.Subject, func(r rune) bool { return r < ' ' || r > '~' }) {
		add("the subject is not 1 to %d ASCII characters: %q", MostSubject, n.Subject)
	}
	if !strings.HasPrefix(n.Subject, d.Cluster[:min(len(d.Cluster), 20)]) {
		add("the subject does not begin with the cluster: %q", n.Subject)
	}
	prose, commands := 0, 0
	var before int
	seen := map[string]bool{}
	for line := range strings.Lines(n.Text) {
		command, isCommand := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		switch {
		case isCommand:
			commands++
			if seen[command] && strings.Contains(command, " ") && !strings.HasPrefix(command, " ") {
				add("a command comes twice: %s", command)
			}
			seen[command] = true
			continue
		case strings.TrimSpace(line) != "":
			prose++
		}
		if commands == 0 {
			before += len([]rune(line))
		}
		for _, f := range forbidden {
			if w := f.words.FindString(line); w != "" {
				add("%q, rather %s: %s", w, f.better, strings.TrimSpace(line))
			}
		}
	}
	if prose > MostLines {
		add("%d lines of text", prose)
	}
	over := d.Action == "resolved"
	if before > MostBefore && !over {
		add("%d characters before the first command", before)
	}
	if commands == 0 && !over {
		add("no command")
	}
	if !over && !strings.Contains(n.Text, "\n  rollcall ") {
		add("no command to see everything else")
	}
	if got := len(title.FindAllString(n.Text, -1)); got > 3 {
		add("%d blocks of commands", got)
	}
	for _, c := range d.Causes {
		if c.Fix == "" || len(c.Fix) > longestFix {
			continue
		}
		// The fix is the second block, or another command is, which Rollcall's own act needs.
		blocks := strings.SplitN(n.Text, "\n\n", 3)
		if len(blocks) < 3 || !title.MatchString(blocks[1]) {
			add("the second block is no command, and %s has a fix", c.Code)
		} else if fix, _, _ := strings.Cut(c.Fix, "\n"); strings.Contains(blocks[1], "To fix ") && !strings.Contains(blocks[1], "\n  "+fix) {
			add("the second block lacks the fix of %s", c.Code)
		}
		if !strings.Contains(n.Text, "\nTo fix ") && !strings.Contains(n.Text, " by hand") && !strings.Contains(n.Text, "To terminate what") {
			add("the fix of %s is missing", c.Code)
		}
		break
	}
	if n.Chat == nil {
		return faults
	}
	var chat struct {
		Content struct{ Title, Description string }
	}
	if err := json.Unmarshal(n.Chat, &chat); err != nil {
		return append(faults, "the chat form: "+err.Error())
	}
	if !strings.Contains(chat.Content.Title, n.Subject) {
		add("the chat's title is %q", chat.Content.Title)
	}
	first, _, _ := strings.Cut(n.Text, "\n")
	said, _, _ := strings.Cut(chat.Content.Description, "\n")
	if len(said) < 100 && said != first || d.Summary != "" && !strings.HasPrefix(first, strings.TrimSuffix(d.Summary, "…")) {
		add("mail, chat and JSON begin with %q, %q and %q", first, said, d.Summary)
	}
	return faults
}
