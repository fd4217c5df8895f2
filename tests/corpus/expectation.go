// Package corpus is a collection of diagnosis cases: bundles as `rollcall capture`
// would write them, each with the verdict that its evidence supports. Its README says
// how to read one; the package generate builds them.
//
// The cases are written from the documentation of AWS, Kubernetes, Karpenter and the
// operating systems, and from reports of users, never from the code that is judged by
// them.
package corpus

// Verdict is a line of verdicts.jsonl: a case, and what its evidence supports.
type Verdict struct {
	Case   string `json:"case"`
	Class  string `json:"class"`
	Report string `json:"report,omitempty"`
	Expectation
}

// Expectation is what must be found in a case.
type Expectation struct {
	// Why says in a sentence what the case shows.
	Why string `json:"why"`
	// Sources are the pages and reports that the case is made from.
	Sources []string `json:"sources"`
	// Findings are all the findings there may be. Instances that are not listed must
	// have none.
	Findings []Finding `json:"findings"`
	// NoFindings says that the list is empty on purpose.
	NoFindings bool `json:"noFindings"`
	// Complete is what the document must say of itself; nil if the case does not care.
	Complete *bool `json:"complete,omitempty"`
	// Orders are all orders of mode remediate; nil if the case does not care, empty if
	// there may be none.
	Orders *[]Order `json:"orders,omitempty"`
	// Held are acts that must be held back; others may be too.
	Held []Held `json:"held,omitempty"`
}

// Finding is what must be found out about one finding of one instance.
type Finding struct {
	Instance string `json:"instance"` // or the subject of what is about no instance
	Kind     string `json:"kind"`
	// FirstDecisive is the code of the decisive cause that must stand first. "" means
	// that nothing in the bundle proves a cause.
	FirstDecisive string `json:"firstDecisive"`
	// AlsoDecisive are further codes that may be decisive; any other is a false one.
	AlsoDecisive []string `json:"alsoDecisive,omitempty"`
	// Suggestive are codes that must be among the causes, with either confidence that
	// the lists above allow.
	Suggestive []string `json:"suggestive,omitempty"`
	// RuledOut are codes that must be told to have been checked and found fine.
	RuledOut []string `json:"ruledOut,omitempty"`
	// NotChecked are codes that must be told to have not been checked.
	NotChecked []string `json:"notChecked,omitempty"`
}

// Order is an act that must be ordered.
type Order struct {
	Instance string `json:"instance"`
	Action   string `json:"action"`
}

// Held is an act that must be held back. Reason is empty if any reason is right.
type Held struct {
	Instance string `json:"instance"`
	Reason   string `json:"reason,omitempty"`
}
