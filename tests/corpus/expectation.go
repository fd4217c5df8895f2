// Package corpus is a collection of diagnosis cases: bundles as `rollcall capture` would write
// them, each with the verdict that its evidence supports. Its README says how to read one; the
// package generate builds them.
//
// The cases are written from the documentation of AWS, Kubernetes, Karpenter and the operating
// systems, and from reports of users, never from the code under test.
package corpus

// Verdict is a line of verdicts.jsonl: a case and what its evidence supports.
type Verdict struct {
	Case   string `json:"case"`
	Class  string `json:"class"`
	Report string `json:"report,omitempty"`
	Expectation
}

// Expectation is what must be found in a case.
type Expectation struct {
	// Why says in one sentence what the case shows.
	Why string `json:"why"`
	// Sources are the pages and reports on which the case is based.
	Sources []string `json:"sources"`
	// Findings lists every finding there may be. Instances that are not listed must have none.
	Findings []Finding `json:"findings"`
	// NoFindings says that the list is empty on purpose.
	NoFindings bool `json:"noFindings"`
	// Complete is the document's expected value; nil if the case does not check it.
	Complete *bool `json:"complete,omitempty"`
	// Orders lists every order in mode remediate; nil if the case does not check them, empty if
	// there may be none.
	Orders *[]Order `json:"orders,omitempty"`
	// Held lists acts that must be held; others may be too.
	Held []Held `json:"held,omitempty"`
}

// Finding is what must be diagnosed for one finding.
type Finding struct {
	Instance string `json:"instance"` // or the subject, if the finding is about no instance
	Kind     string `json:"kind"`
	// FirstDecisive is the code of the decisive cause that must come first. "" means that
	// nothing in the bundle proves a cause.
	FirstDecisive string `json:"firstDecisive"`
	// AlsoDecisive are further codes that may be decisive; any other decisive code is an error.
	AlsoDecisive []string `json:"alsoDecisive,omitempty"`
	// Suggestive are codes that must be among the causes, with either confidence that the lists
	// above allow.
	Suggestive []string `json:"suggestive,omitempty"`
	// RuledOut are codes that must be reported as ruled out.
	RuledOut []string `json:"ruledOut,omitempty"`
	// NotChecked are codes that must be reported as not checked.
	NotChecked []string `json:"notChecked,omitempty"`
	// Says are words that the first cause's summary must have, and SaysNot are words that no cause's
	// may have.
	Says    []string `json:"says,omitempty"`
	SaysNot []string `json:"saysNot,omitempty"`
}

// Order is an act that must be ordered.
type Order struct {
	Instance string `json:"instance"`
	Action   string `json:"action"`
}

// Held is an act that must be held. An empty Reason accepts any reason.
type Held struct {
	Instance string `json:"instance"`
	Reason   string `json:"reason,omitempty"`
}
