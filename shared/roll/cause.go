package roll

import "time"

// Confidence is how far the evidence carries a cause.
type Confidence string

// The confidences.
const (
	// Decisive: the evidence alone proves that this breaks the node.
	Decisive Confidence = "decisive"
	// Suggestive: consistent with it.
	Suggestive Confidence = "suggestive"
)

// Cause is why something is wrong. Its JSON is that of reports, notices and events; only
// reports show the evidence.
type Cause struct {
	Code       string     `json:"code"` // of the catalogue of causes, such as NodeRoleNotMapped
	Confidence Confidence `json:"confidence"`
	Summary    string     `json:"summary"` // one sentence for a person, without its full stop
	Evidence   []Evidence `json:"evidence,omitzero"`
	// Fix is what a person can paste: commands or a patch with this instance's own names.
	Fix string `json:"fix"`
	// Subject is what the cause lies in when that is not the instance alone, such as
	// an IAM role or a subnet: "" if a replacement of the instance would cure it.
	// Several findings with one code and one subject have one cause between them.
	Subject string `json:"subject,omitempty"`
	// Cure is what helps against it.
	Cure Cure `json:"-"`
	// Symptom: it only says how the trouble shows, as every start of a node may for a
	// while; it is no news while the finding has time.
	Symptom bool `json:"-"`
	// NotChecked are, of a symptom that nothing proven explains, the codes of the causes that
	// would explain it and could not be looked for. The diagnosis has the reasons.
	NotChecked []string `json:"notChecked,omitempty"`
	// Unsettled says of a suggested cause why what would prove it, or rule it out, is not known;
	// "" where nothing like that is missing.
	Unsettled string `json:"unsettled,omitempty"`
	// Unread and Passing are of Unsettled, as of NotChecked.
	Unread, Passing bool `json:"-"`
}

// Cure is what helps against a cause.
type Cure string

// The cures. What a diagnosis finds decides with them between the steps of a ladder.
const (
	CureUnclear Cure = ""        // it does not say
	CureChange  Cure = "change"  // a person has to change something; a replacement meets the same
	CureReplace Cure = "replace" // another instance: a reboot does not help
	CureReboot  Cure = "reboot"  // a reboot may do, and another instance does
	CureWait    Cure = "wait"    // it passes, or is not the instance's fault
	CureNone    Cure = "none"    // nothing is to be done to the instance
)

// Diagnosis is why something is wrong, as far as that could be found out.
type Diagnosis struct {
	// Causes are what was found: proven roots first, then likely roots of a symptom that
	// nothing proven explains, then what only shows the trouble, then other hints.
	Causes []Cause
	// RuledOut are the codes of causes that were looked for and are not there.
	RuledOut []string
	// NotChecked are the codes of causes that could not be looked for.
	NotChecked []NotChecked
}

// NotChecked is a cause that could not be looked for.
type NotChecked struct {
	Code   string `json:"code"`
	Reason string `json:"reason"` // what stood in the way, and what to do about it
	// Unread: a call that tells of it failed. Else nothing that can be read proves it here, such as
	// a console that shows nothing, or it was left out of a sample.
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

// Evidence is one thing that was read and that speaks for a cause.
type Evidence struct {
	Source   string `json:"source"` // such as aws-auth
	Field    string `json:"field"`  // such as mapRoles[2].rolearn
	Observed string `json:"observed"`
	Expected string `json:"expected"`
}

// Proof is a decisive cause of a finding as it was first found. What proved it may show no
// more later, while the trouble goes on: a node is young once, and a console forgets.
type Proof struct {
	At       time.Time  `json:"at"`
	Code     string     `json:"code"`
	Subject  string     `json:"subject,omitempty"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      string     `json:"fix,omitempty"`
}

// Lasts reports a cause that is as true later as when it was found, until it is ruled out:
// something that has to change, or that another instance or a reboot cures. What passes by
// itself, or only shows the trouble, is looked at anew each time.
func (c Cause) Lasts() bool {
	switch c.Cure {
	case CureChange, CureReplace, CureReboot:
		return c.Confidence == Decisive && !c.Symptom
	}
	return false
}
