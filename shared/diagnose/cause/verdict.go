package cause

import (
	"fmt"
	"strconv"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Verdict is what a rule says about one code: a cause, ruled out, not checked, or nothing (the zero value).
type Verdict struct {
	cause    *roll.Cause
	reason   string // why the code was not checked
	ruledOut bool
}

// RuledOut says that the cause was looked for and is not there.
var RuledOut = Verdict{ruledOut: true}

// NotChecked says that the cause could not be looked for. The reason names the missing read.
func NotChecked(reason string) Verdict { return Verdict{reason: reason} }

// Missing says that the cause could not be looked for without a fact; what names the fact.
func Missing[T any](f evidence.Fact[T], what string) Verdict { return NotChecked(f.Missing(what)) }

// Decisive starts a cause that the evidence proves.
func Decisive() Verdict { return With(roll.Decisive) }

// Suggestive starts a cause that fits the evidence.
func Suggestive() Verdict { return With(roll.Suggestive) }

// DecisiveIf starts a cause that is decisive if it is sure, and else suggestive.
func DecisiveIf(sure bool) Verdict {
	if sure {
		return Decisive()
	}
	return Suggestive()
}

// With starts a cause of that confidence.
func With(c roll.Confidence) Verdict { return Verdict{cause: &roll.Cause{Confidence: c}} }

// DecisiveIf sets the confidence: decisive if it is sure, and else suggestive.
func (v Verdict) DecisiveIf(sure bool) Verdict {
	v.cause.Confidence = DecisiveIf(sure).cause.Confidence
	return v
}

// In sets what the cause lies in, such as role/<ARN>: instances with the same subject share the cause.
func (v Verdict) In(subject string) Verdict {
	v.cause.Subject = subject
	return v
}

// Says sets the summary.
func (v Verdict) Says(format string, args ...any) Verdict {
	v.cause.Summary = fmt.Sprintf(format, args...)
	return v
}

// Also continues the summary.
func (v Verdict) Also(text string) Verdict {
	v.cause.Summary += text
	return v
}

// Saw adds a row of evidence.
func (v Verdict) Saw(source, field, observed, expected string) Verdict {
	return v.Shows(roll.Evidence{Source: source, Field: field, Observed: observed, Expected: expected})
}

// Shows adds rows of evidence.
func (v Verdict) Shows(rows ...roll.Evidence) Verdict {
	v.cause.Evidence = append(v.cause.Evidence, rows...)
	return v
}

// Fix sets the commands that help; empty lines are left out.
func (v Verdict) Fix(lines ...string) Verdict {
	v.cause.Fix = paste.Lines(lines...)
	return v
}

// Unsettled sets why a suggestive cause could not be proven.
func (v Verdict) Unsettled(why string) Verdict {
	v.cause.Unsettled = why
	return v
}

// Look is one look at a finding: its evidence, and the sheet for the verdicts.
type Look struct {
	*evidence.Case
	*Sheet
}

// AWS returns a command of the AWS CLI in the cluster's region.
func (l *Look) AWS(words ...string) string {
	words = append([]string{"aws"}, words...)
	if l.Region != "" {
		words = append(words, "--region", l.Region)
	}
	return paste.Command(words...)
}

// NoNode says that the finding's node was not read.
func (l *Look) NoNode() Verdict { return Missing(l.Node().Object, "node "+l.Finding.Node) }

// LaunchTemplate returns the subject of the launch template that the instance comes from, "" if there is none.
func (l *Look) LaunchTemplate() string {
	i := l.Config().Value
	if i.LaunchTemplate == "" {
		return ""
	}
	return "launch-template/" + i.LaunchTemplate + ":" + i.LaunchTemplateVersion
}

// Line is a line of the console as evidence.
func Line(number int, excerpt, expected string) roll.Evidence {
	return roll.Evidence{Source: "console", Field: fmt.Sprintf("line %d", number), Observed: excerpt, Expected: expected}
}

// Rules look for one code each.
type Rules[L any] map[Code]func(L) Verdict

// Apply notes what each rule says about a look.
func (r Rules[L]) Apply(s *Sheet, l L) {
	for code, look := range r {
		s.Note(code, look(l))
	}
}

// Said is a condition's status, reason and message in one text.
func Said(c evidence.Condition) string {
	text := c.Status
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// weight orders verdicts about one code: the strongest counts.
func (v Verdict) weight() int {
	switch {
	case v.cause != nil && v.cause.Confidence == roll.Decisive:
		return 4
	case v.cause != nil:
		return 3
	case v.reason != "":
		return 2
	case v.ruledOut:
		return 1
	}
	return 0
}

// TrueFirst compares for a sort that puts true before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Minor returns the minor version in text such as v1.35.2-eks-1234567 or 1.35.
func Minor(version string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), "1.")
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}
