package corpus

import "cmp"

// Document is the part of the output of `rollcall explain --output json` that cases check.
type Document struct {
	Complete bool       `json:"complete"`
	Summary  string     `json:"summary"`
	Findings []Observed `json:"findings"`
	Orders   []Order    `json:"orders"`
	Held     []Held     `json:"held"`
}

// Observed is a finding as the tool reports it.
type Observed struct {
	Instance   string      `json:"instance"`
	Subject    string      `json:"subject"` // the object, if the finding is about one; Instance is then its machine
	Node       string      `json:"node"`
	Kind       string      `json:"kind"`
	Causes     []Cause     `json:"causes"`
	RuledOut   []string    `json:"ruledOut"`
	NotChecked []Unchecked `json:"notChecked"`
}

// About returns the object or instance that the finding is about.
func (o Observed) About() string { return cmp.Or(o.Subject, o.Instance) }

// The two confidences of a cause.
const (
	Decisive   = "decisive"
	Suggestive = "suggestive"
)

// Cause is a cause as the tool reports it.
type Cause struct {
	Code       string `json:"code"`
	Confidence string `json:"confidence"`
	Summary    string `json:"summary"`
}

// Unchecked is a cause that the tool could not check.
type Unchecked struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}
