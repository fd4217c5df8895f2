// Package diagnose finds causes. From the evidence of a check it returns, for each finding, the
// causes that were found, ruled out or could not be checked.
//
// Each group of causes has an analyzer, a package below this one. An analyzer is a pure
// function: it reads a case and notes its verdicts on a sheet. What was not read is neither a
// pass nor a fault: it is reported as not checked, with the reason. COVERAGE.md compares the
// catalogue with other checklists.
//
// The package is pure: no I/O, no clock.
package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/bootstrap"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/fleet"
	"rollcall/shared/diagnose/host"
	"rollcall/shared/diagnose/identity"
	"rollcall/shared/diagnose/launch"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/diagnose/removal"
	"rollcall/shared/diagnose/startup"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// analyzers cover one group of causes each. Fleet is last: what EKS says about a node group
// counts only where no other analyzer has a more specific verdict.
var analyzers = []func(*evidence.Case, *cause.Sheet){
	identity.Analyze, bootstrap.Analyze, network.Analyze, startup.Analyze, host.Analyze, fleet.Analyze,
}

// about returns the analyzers for a kind of finding: stuck deletions and failed launches have
// one each, instances and nodes have the others.
func about(k roll.Kind) []func(*evidence.Case, *cause.Sheet) {
	switch k {
	case roll.Stuck:
		return []func(*evidence.Case, *cause.Sheet){removal.Analyze}
	case roll.Unlaunched:
		return []func(*evidence.Case, *cause.Sheet){launch.Analyze}
	}
	return analyzers
}

// Diagnose returns the diagnosis of every finding in the evidence.
func Diagnose(e *evidence.Evidence) map[roll.FindingKey]roll.Diagnosis {
	out := make(map[roll.FindingKey]roll.Diagnosis, len(e.Findings))
	byInstance := make(map[roll.InstanceID][]roll.Finding, len(e.Findings))
	for _, f := range e.Findings {
		byInstance[f.Instance] = append(byInstance[f.Instance], f)
	}
	for id, findings := range byInstance {
		sheets := make([]*cause.Sheet, len(findings))
		for i, f := range findings {
			sheets[i] = judge(e, f)
		}
		if id.IsInstance() {
			cause.Share(sheets)
		}
		for i, f := range findings {
			out[f.Key()] = conclude(e, f, sheets[i])
		}
	}
	return out
}

// judge returns the verdicts about one finding, seen by itself.
func judge(e *evidence.Evidence, f roll.Finding) *cause.Sheet {
	c := &evidence.Case{Evidence: e, Finding: f}
	s := &cause.Sheet{}
	if f.Contradiction != "" {
		return s // what contradicts the finding speaks against any cause of it
	}
	broken := ""
	for _, analyze := range about(f.Kind) {
		if fault := attempt(analyze, c, s); fault != "" {
			broken = fault
		}
	}
	if broken != "" {
		s.NotChecked(broken, undecided(s)...)
	}
	remembered(s, e.Proven[f.Key()])
	return s
}

func conclude(e *evidence.Evidence, f roll.Finding, s *cause.Sheet) roll.Diagnosis {
	d := roll.Diagnosis{Causes: s.Causes(), RuledOut: s.Clear(), NotChecked: s.Open()}
	unexplained(&d, &evidence.Case{Evidence: e, Finding: f})
	unread(&d, e.Unread)
	doubted(&d)
	scrub(&d)
	return d
}

// unexplained marks the suggestive causes of a node that does not report why it is not ready.
// The reason would settle most of them.
func unexplained(d *roll.Diagnosis, c *evidence.Case) {
	gap := c.Unexplained()
	if gap == "" {
		return
	}
	for i := range d.Causes {
		if s := &d.Causes[i]; s.Confidence == roll.Suggestive && s.Unsettled == "" {
			s.Unsettled = gap
		}
	}
}

// unread marks what could not be checked, or settled, because a call failed. The reason is then
// the fact's: it repeats the call's error, or says what is missing from its answer.
func unread(d *roll.Diagnosis, failed map[string]bool) {
	told := func(reason string) (passing, unread bool) {
		passing, unread = failed[reason]
		return passing, unread || strings.HasPrefix(reason, evidence.AnswerOf)
	}
	for i := range d.NotChecked {
		n := &d.NotChecked[i]
		n.Passing, n.Unread = told(n.Reason)
	}
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Passing, c.Unread = told(c.Unsettled)
	}
}

// doubted marks a symptom as suggestive where something that explains it is only suggested, shows
// elsewhere as another symptom, or could not be read. Behind a proven root it stays decisive: the
// root comes first.
func doubted(d *roll.Diagnosis) {
	for i := range d.Causes {
		s := &d.Causes[i]
		if s.Symptom && s.Confidence == roll.Decisive && cause.InDoubt(*s, *d) {
			s.Shown, s.Confidence = true, roll.Suggestive // no other symptom's doubt depends on it
		}
	}
}

// remembered notes what an earlier check proved about the same trouble, unless it is now ruled
// out. A verdict does not weaken because its proof is no longer visible.
func remembered(s *cause.Sheet, proven []roll.Proof) {
	clear := s.Clear()
	for _, p := range proven {
		if !cause.Known(p.Code) || slices.Contains(clear, p.Code) {
			continue
		}
		s.Found(roll.Cause{
			Code: p.Code, Confidence: roll.Decisive, Subject: p.Subject, Fix: p.Fix, Evidence: slices.Clone(p.Evidence),
			Summary: fmt.Sprintf("%s (as of %s)", p.Summary, roll.Clock(p.At)),
		})
	}
}

// attempt runs an analyzer and recovers from a panic, so that the check goes on. The analyzer's
// codes are then not checked.
func attempt(analyze func(*evidence.Case, *cause.Sheet), c *evidence.Case, s *cause.Sheet) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("an analyzer failed on what was read of %s: a defect of Rollcall, please report it", c.Finding.Instance)
		}
	}()
	analyze(c, s)
	return ""
}

// undecided returns the codes without a verdict.
func undecided(s *cause.Sheet) []cause.Code {
	return slices.DeleteFunc(cause.Codes(), s.Noted)
}
