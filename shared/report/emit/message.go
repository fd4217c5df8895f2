package emit

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// The most characters of texts. With these, an event stays far below the EventBridge limit
// of 256 KB, and a title below the usual 250 characters.
const (
	titleLength    = 200
	textLength     = 3000
	sentenceLength = 1000
	fixLength      = 4000
)

func sentence(s string) string { return short(s, sentenceLength) }

// short cuts a text in the middle, because its ends matter most.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// plain returns a text that is safe within a quoted string of a template. It is also safe in
// a chat, where angle brackets would create mentions and links.
func plain(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, unquoted.Replace(s))
	return short(strings.Join(strings.Fields(s), " "), n)
}

var unquoted = strings.NewReplacer(`"`, "'", `\`, "/", "<", "(", ">", ")")

func sentences(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			b.WriteString(strings.TrimSuffix(p, "."))
			b.WriteString(". ")
		}
	}
	return plain(b.String(), textLength)
}

// about returns the message of an event about an instance. The title begins with what
// distinguishes it from others, and ends with what happened.
func about(h Head, s Subject, severity report.Severity, what, happened, text string) Message {
	m := Message{
		Severity: severity, Text: text,
		Title: plain(fmt.Sprintf("%s: %s %s (%s) %s", h.Cluster, what, s.Instance+s.about, s.Group, happened), titleLength),
	}
	switch {
	case h.Region == "":
	case s.Instance == "":
		m.Console = roll.ClusterPage(h.Region, h.Cluster)
	default:
		m.Console = roll.InstancePage(h.Region, roll.InstanceID(s.Instance))
	}
	return m
}

func (f Finding) message() Message {
	severity, happened := report.SeverityCritical, "past its tolerance"
	if f.Stage != string(roll.Overdue) {
		severity, happened = report.SeverityWarning, "within its tolerance"
	}
	return about(f.Head, f.Subject, severity, f.Kind, happened, sentences(f.Summary, f.because(), f.follows()))
}

// because says why, as far as that is known. If there is a decisive cause, it is the first.
func (f Finding) because() string {
	switch {
	case f.Cause != "":
		return "Why: " + f.Why + " (" + f.Cause + ")"
	case len(f.Causes) > 0:
		return "Perhaps: " + f.Causes[0].Summary + " (" + f.Causes[0].Code + ")"
	}
	return ""
}

// follows says what Rollcall does about it, and when.
func (f Finding) follows() string {
	switch {
	case f.Ordered != nil:
		return "Rollcall has ordered: " + f.Ordered.Action
	case f.Held != nil:
		return fmt.Sprintf("Held back: %s (%s): %s", f.Held.Action, f.Held.Reason, f.Held.Detail) + ends(". ", f.Held.Ends, f.Held.Until)
	case f.Next != nil:
		return fmt.Sprintf("Next, if nothing changes: %s at %s", f.Next.Do, roll.Clock(f.Next.At))
	}
	return "Rollcall does nothing about it by itself"
}

// ends says what ends a reason, and when.
func ends(before, what string, until time.Time) string {
	switch {
	case !until.IsZero():
		return before + "This ends at " + roll.Clock(until)
	case what != "":
		return before + "This ends " + what
	}
	return ""
}

// ended ends the sentence that a finding is over.
var ended = map[How]string{
	Cleared: "the instance runs on, without it",
	Gone:    "the instance does not run any more",
	Changed: "another trouble of the instance took its place",
}

func (r Resolved) message() Message {
	acts := ""
	if len(r.Acts) > 0 {
		acts = "Rollcall did: " + strings.Join(r.Acts, ", ")
	}
	lasted := fmt.Sprintf("It began at %s and lasted %s", roll.Clock(r.Since), report.Age(time.Duration(r.Lasted)*time.Second))
	return about(r.Head, r.Subject, report.SeverityInfo, r.Kind, "is over: "+string(r.How), sentences("It is over: "+ended[r.How], lasted, acts))
}

func (a Action) message() Message {
	about := func(severity report.Severity, happened string, more ...string) Message {
		return about(a.Head, a.Subject, severity, a.Action, happened, sentences(append([]string{a.Detail}, more...)...))
	}
	wrong := ""
	switch {
	case a.Summary == "":
	case plan.Action(a.Action).Free():
		wrong = "Why: " + a.Summary
	default:
		wrong = "What is wrong: " + a.Summary
	}
	switch a.Result {
	case remediate.Acted:
		if a.Approved != nil {
			return about(report.SeverityInfo, "done", "Approved by "+a.Approved.String(), wrong)
		}
		return about(report.SeverityInfo, "done", wrong)
	case Held:
		return about(report.SeverityWarning, "held: "+a.Reason, ends("", a.Ends, a.Until), wrong)
	case remediate.Refused:
		return about(report.SeverityInfo, "refused: "+a.Reason, wrong)
	case remediate.Unclear:
		return about(report.SeverityCritical, "unclear", "It is unclear whether it took effect; a later check will show it", wrong)
	}
	return about(report.SeverityCritical, "failed", wrong)
}
