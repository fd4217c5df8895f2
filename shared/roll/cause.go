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
	Code       string     `json:"code"` // of the catalogue of causes, such as NodeRoleNotMapped
	Confidence Confidence `json:"confidence"`
	Summary    string     `json:"summary"` // one sentence for a person, without its full stop
	Evidence   []Evidence `json:"evidence,omitzero"`
	// Fix is for a person to paste: commands or a patch with this instance's names.
	Fix string `json:"fix"`
	// Subject is where the cause lies outside the instance, such as an IAM role or a subnet;
	// "" if a replacement of the instance would fix it. Findings with the same code and
	// subject share one cause.
	Subject string `json:"subject,omitempty"`
	// Cure is what helps against it.
	Cure Cure `json:"-"`
	// Symptom: it only says how the trouble shows, as may every start of a node for a while.
	// It is no news while the finding has time.
	Symptom bool `json:"-"`
	// NotChecked are the codes of causes that would explain this symptom and could not be
	// checked, if nothing proven explains it. The diagnosis has the reasons.
	NotChecked []string `json:"notChecked,omitempty"`
	// Unsettled is why a suggested cause could be neither proven nor ruled out; "" if nothing
	// is missing.
	Unsettled string `json:"unsettled,omitempty"`
	// Unread and Passing qualify Unsettled, as in NotChecked.
	Unread, Passing bool `json:"-"`
}

// Cure is what helps against a cause.
type Cure string

// The cures. What a diagnosis finds decides with them between the steps of a ladder.
const (
	CureUnclear Cure = ""        // unknown
	CureChange  Cure = "change"  // a person has to change something; a replacement has the same cause
	CureReplace Cure = "replace" // another instance; a reboot does not help
	CureReboot  Cure = "reboot"  // a reboot may help, another instance does
	CureWait    Cure = "wait"    // it passes, or is not the instance's fault
	CureNone    Cure = "none"    // no act on the instance
)

// Diagnosis is why something is wrong, as far as that is known.
type Diagnosis struct {
	// Causes are the causes found: proven root causes first, then likely root causes of a
	// symptom that nothing proven explains, then symptoms, then other hints.
	Causes []Cause
	// RuledOut are the codes of causes that were checked and do not exist.
	RuledOut []string
	// NotChecked are the causes that could not be checked.
	NotChecked []NotChecked
}

// NotChecked is a cause that could not be checked.
type NotChecked struct {
	Code   string `json:"code"`
	Reason string `json:"reason"` // what stood in the way, and what to do about it
	// Unread: a call failed. Otherwise nothing readable proves the cause here, such as an empty
	// console, or the instance was not in the sample.
	Unread bool `json:"unread,omitempty"`
	// Passing: it failed for a reason that passes by itself.
	Passing bool `json:"-"`
}

// Decisive is the first decisive cause; false if none was found.
func (d Diagnosis) Decisive() (Cause, bool) {
	for _, c := range d.Causes {
		if c.Confidence == Decisive {
			return c, true
		}
	}
	return Cause{}, false
}

// Evidence is one observation that supports a cause.
type Evidence struct {
	Source   string `json:"source"` // such as aws-auth
	Field    string `json:"field"`  // such as mapRoles[2].rolearn
	Observed string `json:"observed"`
	Expected string `json:"expected"`
}

// Proof is a decisive cause of a finding as first found. Its evidence may disappear while the
// trouble goes on: a node is young once, and a console forgets.
type Proof struct {
	At       time.Time  `json:"at"`
	Code     string     `json:"code"`
	Subject  string     `json:"subject,omitempty"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      string     `json:"fix,omitempty"`
}

// Lasts reports a cause that stays true until it is ruled out: one that needs a change,
// another instance or a reboot. A cause that passes, and a symptom, are checked again each
// time.
func (c Cause) Lasts() bool {
	switch c.Cure {
	case CureChange, CureReplace, CureReboot:
		return c.Confidence == Decisive && !c.Symptom
	}
	return false
}
