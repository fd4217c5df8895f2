package roll

import "time"

// Confidence is how much the evidence proves.
type Confidence string

// The confidences.
const (
	// Decisive: the evidence alone proves that this breaks the node.
	Decisive Confidence = "decisive"
	// Suggestive: consistent with it.
	Suggestive Confidence = "suggestive"
)

// Cause is why something is wrong. Its JSON is that of reports, notices and events; only
// reports include the evidence.
type Cause struct {
	Code       string     `json:"code"` // code in the catalogue of causes, such as NodeRoleNotMapped
	Confidence Confidence `json:"confidence"`
	Summary    string     `json:"summary"` // one sentence for a person, without a full stop
	Evidence   []Evidence `json:"evidence,omitzero"`
	// Fix is commands or a patch to paste, with this instance's names.
	Fix string `json:"fix"`
	// Subject is the object outside the instance that has the cause, such as an IAM role or a
	// subnet. It is "" if a replacement of the instance would fix it. Findings with the same code
	// and subject share one cause.
	Subject string `json:"subject,omitempty"`
	// Cure is what helps against the cause.
	Cure Cure `json:"-"`
	// Symptom: the cause only describes how the fault shows. Within the finding's tolerance it is
	// not news, since a starting node shows it too.
	Symptom bool `json:"-"`
	// Shown: the evidence proves the symptom, but the symptom is only suggestive as a cause,
	// because something that may explain it was found or could not be read.
	Shown bool `json:"-"`
	// Over: what was found had ended before the fault began. It is reported, and explains nothing
	// unless it came back.
	Over bool `json:"-"`
	// NotChecked are the codes of causes that would explain this symptom but could not be checked.
	// It is set only if nothing proven explains the symptom. The diagnosis has the reasons.
	NotChecked []string `json:"notChecked,omitempty"`
	// Unsettled is why a suggested cause could be neither proven nor ruled out; "" if nothing
	// is missing.
	Unsettled string `json:"unsettled,omitempty"`
	// Unread and Passing qualify Unsettled; they mean the same as in NotChecked.
	Unread, Passing bool `json:"-"`
}

// Cure is what helps against a cause.
type Cure string

// The cures. The ladder uses them to decide which steps to take.
const (
	CureUnclear Cure = ""        // unknown
	CureChange  Cure = "change"  // a person has to change something; a replacement would have the same cause
	CureReplace Cure = "replace" // replace the instance; a reboot does not help
	CureReboot  Cure = "reboot"  // a reboot may help, a replacement does
	CureWait    Cure = "wait"    // it passes by itself, or is not the instance's fault
	CureNone    Cure = "none"    // no act on the instance
)

// Diagnosis is what is known of the causes of a finding.
type Diagnosis struct {
	// Causes are the causes found: proven root causes, then likely root causes of a symptom that
	// nothing proven explains, then symptoms, then other hints.
	Causes []Cause
	// RuledOut are the codes of causes that were checked and are absent.
	RuledOut []string
	// NotChecked are the causes that could not be checked.
	NotChecked []NotChecked
}

// NotChecked is a cause that could not be checked.
type NotChecked struct {
	Code   string `json:"code"`
	Reason string `json:"reason"` // why it could not be checked, and how to fix that
	// Unread: a call failed. Otherwise there was no evidence to read, such as an empty console, or
	// the instance was not in the sample.
	Unread bool `json:"unread,omitempty"`
	// Passing: the call failed for a temporary reason.
	Passing bool `json:"-"`
}

// Decisive returns the first decisive cause; false if there is none.
func (d Diagnosis) Decisive() (Cause, bool) {
	return Find(d.Causes, func(c Cause) bool { return c.Confidence == Decisive })
}

// Evidence is one observation that supports a cause.
type Evidence struct {
	Source   string `json:"source"` // such as aws-auth
	Field    string `json:"field"`  // such as mapRoles[2].rolearn
	Observed string `json:"observed"`
	Expected string `json:"expected"`
}

// Proof is a decisive cause of a finding as first found. Its evidence may disappear while the fault
// lasts: a node is young only once, and console output is overwritten.
type Proof struct {
	At       time.Time  `json:"at"`
	Code     string     `json:"code"`
	Subject  string     `json:"subject,omitempty"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      string     `json:"fix,omitempty"`
}

// Proven reports whether the evidence proves what the code says: a decisive cause, or a symptom that
// something else explains.
func (c Cause) Proven() bool { return c.Confidence == Decisive || c.Shown }

// Lasts reports whether a cause stays true until it is ruled out: its cure is a change, a
// replacement or a reboot. Causes that pass, and symptoms, are checked again each time.
func (c Cause) Lasts() bool {
	switch c.Cure {
	case CureChange, CureReplace, CureReboot:
		return c.Confidence == Decisive && !c.Symptom
	}
	return false
}
