package cause

import (
	"fmt"
	"strconv"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

// Verdict is what a rule says about one code: a cause, ruled out, not checked, or nothing (the
// zero value).
type Verdict struct {
	cause    *roll.Cause
	reason   string // why the code was not checked
	ruledOut bool
}

// RuledOut is the verdict that the cause was checked and is not present.
var RuledOut = Verdict{ruledOut: true}

// NotChecked returns the verdict that the cause could not be checked. The reason names the
// missing read.
func NotChecked(reason string) Verdict { return Verdict{reason: reason} }

// Missing returns the verdict that the cause could not be checked without the fact; what names
// the fact.
func Missing[T any](f evidence.Fact[T], what string) Verdict { return NotChecked(f.Missing(what)) }

// Decisive returns a verdict with a cause that the evidence proves.
func Decisive() Verdict { return DecisiveIf(true) }

// Suggestive returns a verdict with a cause that fits the evidence.
func Suggestive() Verdict { return DecisiveIf(false) }

// DecisiveIf returns a verdict with a cause that is decisive if sure, and otherwise suggestive.
func DecisiveIf(sure bool) Verdict { return Verdict{cause: &roll.Cause{}}.DecisiveIf(sure) }

// DecisiveIf sets the confidence: decisive if sure, and otherwise suggestive.
func (v Verdict) DecisiveIf(sure bool) Verdict {
	v.cause.Confidence = roll.Suggestive
	if sure {
		v.cause.Confidence = roll.Decisive
	}
	return v
}

// Confidence returns that of the cause, "" if the verdict has none.
func (v Verdict) Confidence() roll.Confidence {
	if v.cause == nil {
		return ""
	}
	return v.cause.Confidence
}

// In sets the subject of the cause, such as role/<ARN>. Instances with the same subject share
// the cause.
func (v Verdict) In(subject string) Verdict {
	v.cause.Subject = subject
	return v
}

// Everywhere says that a person has to change the subject, since a replacement would have the cause too. For
// most codes the catalogue says so.
func (v Verdict) Everywhere() Verdict {
	v.cause.Cure = roll.CureChange
	return v
}

// Says sets the summary.
func (v Verdict) Says(format string, args ...any) Verdict {
	v.cause.Summary = fmt.Sprintf(format, args...)
	return v
}

// Also appends to the summary.
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

// Fix sets the commands that help and omits empty lines.
func (v Verdict) Fix(lines ...string) Verdict {
	v.cause.Fix = paste.Lines(lines...)
	return v
}

// Unsettled sets why a suggestive cause could not be proven.
func (v Verdict) Unsettled(why string) Verdict {
	v.cause.Unsettled = why
	return v
}

// Past says that what was found had ended before the trouble began.
func (v Verdict) Past() Verdict {
	v.cause.Over = true
	return v
}

// Look holds one finding's evidence and the sheet for its verdicts.
type Look struct {
	*evidence.Case
	*Sheet
}

// AWS returns an AWS CLI command for the cluster's region.
func (l *Look) AWS(words ...string) string {
	words = append([]string{"aws"}, words...)
	if l.Region != "" {
		words = append(words, "--region", l.Region)
	}
	return paste.Command(words...)
}

// NoNode returns the verdict that the finding's node was not read.
func (l *Look) NoNode() Verdict { return Missing(l.Node().Object, "node "+l.Finding.Node) }

// Remarks for fixes that change what an owner launches nodes from: the owner then replaces those that it has.
//
//   - https://karpenter.sh/docs/concepts/disruption/#drift
//   - https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
const (
	Drift   = "# Karpenter then replaces the nodes that came from it one after another (drift), within the disruption budgets"
	Rollout = "# EKS then replaces the nodes of the group a few at a time, and drains each before"
)

// LaunchTemplate returns the subject of the instance's launch template, "" if there is none.
func (l *Look) LaunchTemplate() string {
	i := l.Config().Value
	if i.LaunchTemplate == "" {
		return ""
	}
	return "launch-template/" + i.LaunchTemplate + ":" + i.LaunchTemplateVersion
}

// Line returns a line of the console, or of the host's logs, as evidence.
func Line(f console.Found, expected string) roll.Evidence {
	if f.From != "" {
		return roll.Evidence{Source: "host logs", Field: f.From, Observed: f.Excerpt, Expected: expected}
	}
	return roll.Evidence{Source: "console", Field: fmt.Sprintf("line %d", f.Line), Observed: f.Excerpt, Expected: expected}
}

// Rules maps each code to the rule that checks it.
type Rules[L any] map[Code]func(L) Verdict

// Apply records each rule's verdict on the sheet.
func (r Rules[L]) Apply(s *Sheet, l L) {
	for code, look := range r {
		s.Note(code, look(l))
	}
}

// Said returns a condition's status, reason and message as one text.
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

// weight returns the rank of a verdict among those about one code; the highest counts.
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

// Minor returns the minor version in text such as v1.35.2-eks-1234567 or 1.35.
func Minor(version string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), "1.")
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}
