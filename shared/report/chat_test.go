package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func chatOf(t *testing.T, m Message) ChatMessage {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(m.Chat)))
	dec.DisallowUnknownFields()
	var c ChatMessage
	must.Succeed(t, dec.Decode(&c))
	return c
}

// crowded returns notices with more content than fits.
func crowded(t *testing.T) map[string]Message {
	t.Helper()
	out := messages(t)
	out["a thousand"] = aThousand(t, strings.Repeat("ü", 256))
	id := cluster
	id.Name = strings.Repeat("a", 100)
	n := notices()["caused"]
	for i := range n.notice.Entries {
		c := unmapped()
		c.Summary, c.Fix = strings.Repeat("größe ", 1000), strings.Repeat("kubectl apply -f x\n", 300)
		n.notice.Entries[i].Causes = []roll.Cause{c}
		n.notice.Entries[i].Finding.Group = roll.AutoScalingGroup(strings.Repeat("größe", 50))
	}
	n.notice.Key.Group = n.notice.Entries[0].Finding.Group
	m, err := here.Notice(id, n.notice, n.mode, now)
	must.Succeed(t, err)
	out["long names and causes"] = m
	for i := range n.notice.Entries {
		n.notice.Entries[i].Causes[0].Summary, n.notice.Entries[i].Causes[0].Fix = strings.Repeat("<!here> ", 1000), strings.Repeat("<@U1>", 139)
	}
	m, err = here.Notice(id, n.notice, n.mode, now)
	must.Succeed(t, err)
	out["marks everywhere"] = m
	return out
}

func TestEveryMessageIsWhatAChatTakes(t *testing.T) {
	for name, m := range crowded(t) {
		c := chatOf(t, m)
		if c.Version != "1.0" || c.Source != "custom" || c.Content.TextType != "client-markdown" {
			t.Errorf("%s: version %q, source %q, type %q", name, c.Version, c.Source, c.Content.TextType)
		}
		expect.That(t, c.Content.Title != "" && c.Content.Description != "" && c.Metadata.ThreadID != "" && c.Metadata.Summary != "", "%s: something is missing: %+v", name, c)
		expect.That(t, utf8.Valid(m.Chat) && len(m.Chat) <= 20_000, "%s: %d bytes", name, len(m.Chat))
		for what, s := range map[string]struct {
			text string
			most int
		}{
			"title": {c.Content.Title, chatTitle}, "description": {c.Content.Description, 3000}, "summary": {c.Metadata.Summary, chatSummary}, "thread": {c.Metadata.ThreadID, 500},
		} {
			expect.That(t, len(s.text) <= s.most, "%s: the %s has %d bytes", name, what, len(s.text))
		}
		if len(c.Content.NextSteps) > 3 || len(c.Content.Keywords) > 10 || len(c.Metadata.RelatedResources) > 10 {
			t.Errorf("%s: %d steps, %d keywords, %d resources", name, len(c.Content.NextSteps), len(c.Content.Keywords), len(c.Metadata.RelatedResources))
		}
		for _, s := range append(append([]string{}, c.Content.NextSteps...), c.Content.Keywords...) {
			expect.That(t, s != "" && len(s) <= chatStep, "%s: a step or keyword of %d bytes: %q", name, len(s), s)
		}
		expect.That(t, strings.Count(c.Content.Description, "```")%2 == 0, "%s: a code block does not end:\n%s", name, c.Content.Description)
	}
}

// However long the notice is, the chat shows the cause and the acts.
func TestTheListIsCutAndNotTheCause(t *testing.T) {
	m := crowded(t)["long names and causes"]
	c := chatOf(t, m)
	for _, want := range []string{"*NodeRoleNotMapped*: größe", "in the mail", "SharedCause"} {
		expect.That(t, strings.Contains(c.Content.Description, want), "a chat does not hear %q:\n%s", want, c.Content.Description)
	}
	got := documentOf(t, m).Causes[0].Summary
	expect.That(t, got == strings.Repeat("größe ", 1000), "the cause is not whole: %s", got)
	if !strings.Contains(m.Text, "NodeRoleNotMapped: größe größe") || !strings.Contains(m.Text, strings.Repeat("  kubectl apply -f x\n", 300)) {
		t.Error("the text has not the cause and all that is to be pasted")
	}
}

// All messages of one incident are in one thread.
func TestWhatIsSaidOfATroubleIsOneThread(t *testing.T) {
	all := messages(t)
	thread := chatOf(t, all["notice-ordered"]).Metadata.ThreadID
	for _, name := range []string{"notice-escalated", "notice-resolved", "outcome-acted-caused"} {
		expect.Equal(t, chatOf(t, all[name]).Metadata.ThreadID, thread, "%s is in thread", name)
	}
	got := chatOf(t, all["outcome-refused"]).Metadata.ThreadID
	expect.That(t, got != thread && got != "", "an outcome that no notice announced is in thread %q", got)
}

// The name of a group, a tag, or a node's condition must not be able to notify a channel, or
// to add a link to Rollcall's messages.
func TestNobodyIsCalledByAName(t *testing.T) {
	f := silent(1, time.Hour)
	f.Group = "asg/<!channel> <@U1> <HTTPS://x.example|aws> [aws](https://x.example) `rm`"
	f.Node = "node [aws][1] `rm`"
	f.Summary = "node is sick (<!here>)"
	n := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) {
		h := held(f, plan.ActionFailed, "denied <#C1> <mailto:x@example.com>")
		e.Held, e.Causes = &h, []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Summary: "<!everyone> <JavaScript:x> <//x.example|aws> <www.x.example|aws> <at>all</at> <a href=x> [aws](https://x.example) `rm`", Fix: "cat <<EOF | kubectl apply -f -\nEOF\n"}}
	}))
	m := n.sent(t)
	c := chatOf(t, m)
	for _, s := range append([]string{c.Content.Title, c.Content.Description, c.Metadata.Summary}, c.Content.NextSteps...) {
		expect.That(t, !strings.Contains(strings.ReplaceAll(s, "cat <<EOF", ""), "<"), "a chat reads a mark in %q", s)
		expect.That(t, !links.MatchString(s), "a chat reads a link in %q", s)
		expect.That(t, !strings.Contains(s, "`rm`"), "a name ends the code that it stands in: %q", s)
	}
	expect.That(t, strings.Contains(c.Content.Description, "cat <<EOF | kubectl apply"), "a command is not what it was:\n%s", c.Content.Description)
}

// Slack reads marks in code, too. A command with one is not shown, because without it it would be another.
func TestACommandWithAMarkIsNotShown(t *testing.T) {
	for _, c := range []string{"x <!here>", "x <@U1>", "x <#C1>", "x <https://x.example>", "x <HTTPS://x.example|y>", "x <x-a.b+c:y>", "x <//x.example|y>", "x `y`"} {
		expect.That(t, !pasteable(c), "a chat shows %s", c)
	}
	for _, c := range []string{"cat <<EOF | kubectl apply -f -", "aws ec2 x < file", "x <<<y", "x 2<&1"} {
		expect.That(t, pasteable(c), "a chat does not show %s", c)
	}
}

// A chat always shows what is wrong, why, and what is done.
func TestAChatHearsTheCauseAndTheAct(t *testing.T) {
	c := chatOf(t, messages(t)["notice-grown"])
	for _, want := range []string{"have not registered as nodes", "*NodeRoleNotMapped*", "aws eks create-access-entry", "SharedCause", "notice 3", "account 111122223333, eu-west-1", "48 of 48 nodes Ready"} {
		expect.That(t, strings.Contains(c.Content.Description, want), "the description lacks %q:\n%s", want, c.Content.Description)
	}
	expect.That(t, strings.HasPrefix(c.Content.Title, "🔴 shop-production: 2 nodes can't join"), "title %q", c.Content.Title)
}
