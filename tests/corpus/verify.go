package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// Verify compares the tool's output with the case's expectation and returns every difference,
// in words.
func Verify(got Document, want Expectation) []string {
	v := verifier{}
	v.findings(got.Findings, want.Findings)
	if want.Complete != nil && got.Complete != *want.Complete {
		v.say("complete is %v, want %v", got.Complete, *want.Complete)
	}
	if want.Orders != nil {
		v.orders(got.Orders, *want.Orders)
	}
	for _, h := range want.Held {
		v.held(got.Held, h)
	}
	return v.differences
}

type verifier struct{ differences []string }

func (v *verifier) say(format string, args ...any) {
	v.differences = append(v.differences, fmt.Sprintf(format, args...))
}

func (v *verifier) findings(got []Observed, want []Finding) {
	for _, w := range want {
		n := 0
		for _, g := range got {
			if w.is(g) {
				n++
				v.finding(g, w)
			}
		}
		if n != 1 {
			v.say("%s %s: found %d times, want once", w.Instance, w.Kind, n)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w Finding) bool { return w.is(g) }) {
			v.say("%s %s: found, and nothing is wrong there", g.About()+g.aside(), g.Kind)
		}
	}
}

func (f Finding) is(g Observed) bool {
	return f.Instance == g.About() && f.Kind == g.Kind
}

// aside returns the node's name if there is nothing else to name.
func (g Observed) aside() string {
	if g.About() == "" {
		return g.Node
	}
	return ""
}

// finding checks the causes of one finding.
func (v *verifier) finding(g Observed, w Finding) {
	subject := w.Instance + " " + w.Kind
	first := ""
	for _, c := range g.Causes {
		switch {
		case c.Confidence != Decisive && c.Confidence != Suggestive:
			v.say("%s: cause %s has the confidence %q", subject, c.Code, c.Confidence)
		case c.Confidence == Suggestive:
		case first == "" && c.Code == w.FirstDecisive:
			first = c.Code
		case first == "":
			first = c.Code
			v.first(subject, c.Code, w)
		case c.Code != w.FirstDecisive && !slices.Contains(w.AlsoDecisive, c.Code):
			v.say("%s: %s is called decisive, and the evidence does not prove it", subject, c.Code)
		}
	}
	if first == "" && w.FirstDecisive != "" {
		v.say("%s: no decisive cause, want %s", subject, w.FirstDecisive)
	}
	v.order(subject, g.Causes)
	v.mentions(subject, g, w)
	v.words(subject, g.Causes, w)
}

// words checks the summaries of the causes.
func (v *verifier) words(subject string, causes []Cause, w Finding) {
	for _, words := range w.Says {
		if len(causes) == 0 || !strings.Contains(causes[0].Summary, words) {
			v.say("%s: the first cause does not say %q", subject, words)
		}
	}
	for _, words := range w.SaysNot {
		for _, c := range causes {
			if strings.Contains(c.Summary, words) {
				v.say("%s: %s says %q", subject, c.Code, words)
			}
		}
	}
}

// first reports a first decisive cause that is not the expected one.
func (v *verifier) first(subject, code string, w Finding) {
	allowed := slices.Contains(w.AlsoDecisive, code)
	switch {
	case w.FirstDecisive == "" && allowed:
	case !allowed && w.FirstDecisive == "":
		v.say("%s: %s is called decisive, and the evidence proves no cause", subject, code)
	default:
		v.say("%s: the first decisive cause is %s, want %s", subject, code, w.FirstDecisive)
	}
}

// symptoms are the codes that only say how the trouble shows: a suggested root comes before a
// symptom.
var symptoms = []string{
	"InstanceStatusImpaired", "NodeadmFailed", "CloudInitFailed", "CniNotReady", "NeverReported", "KubeletSilent", "ReplacementRepeats", "NodeGroupUnhealthy", "DuplicateLaunch",
}

// order checks that no suggestive cause comes before a decisive root, and no symptom before
// one.
func (v *verifier) order(subject string, causes []Cause) {
	before := ""
	for _, c := range causes {
		switch {
		case c.Confidence == Suggestive, slices.Contains(symptoms, c.Code):
			before = c.Code
		case before != "":
			v.say("%s: the decisive %s stands behind %s", subject, c.Code, before)
			return
		}
	}
}

// mentions checks for the codes that must be reported, whatever their place.
func (v *verifier) mentions(subject string, g Observed, w Finding) {
	var told, unchecked []string
	for _, c := range g.Causes {
		told = append(told, c.Code)
	}
	for _, u := range g.NotChecked {
		unchecked = append(unchecked, u.Code)
		if strings.TrimSpace(u.Reason) == "" {
			v.say("%s: %s was not checked, and no reason is given", subject, u.Code)
		}
	}
	for _, want := range []struct {
		codes, among []string
		place        string
	}{
		{w.Suggestive, told, "the causes"},
		{w.RuledOut, g.RuledOut, "ruledOut"},
		{w.NotChecked, unchecked, "notChecked"},
	} {
		for _, code := range want.codes {
			if !slices.Contains(want.among, code) {
				v.say("%s: %s is not among %s", subject, code, want.place)
			}
		}
	}
	for _, code := range g.RuledOut {
		if slices.Contains(told, code) || slices.Contains(unchecked, code) {
			v.say("%s: %s is ruled out and told otherwise too", subject, code)
		}
	}
}

func (v *verifier) orders(got, want []Order) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			v.say("%s: %s is not ordered", w.Instance, w.Action)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			v.say("%s: %s is ordered, and must not be", g.Instance, g.Action)
		}
	}
}

func (v *verifier) held(got []Held, want Held) {
	var reasons []string
	for _, g := range got {
		if g.Instance == want.Instance {
			reasons = append(reasons, g.Reason)
		}
	}
	switch {
	case len(reasons) == 0:
		v.say("%s: nothing is held, want %s", want.Instance, want.reason())
	case want.Reason != "" && !slices.Contains(reasons, want.Reason):
		v.say("%s: held for %s, want %s", want.Instance, strings.Join(reasons, ", "), want.Reason)
	}
}

func (h Held) reason() string {
	if h.Reason == "" {
		return "any reason"
	}
	return h.Reason
}
