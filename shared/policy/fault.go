package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one error in a document, or a setting without effect.
type Fault struct {
	Line    int    `json:"line"`    // starts at 1
	Column  int    `json:"column"`  // starts at 1
	Key     string `json:"key"`     // path, such as overrides[1].registration.deadline; "" for the whole document
	Problem string `json:"problem"` // what is wrong and what is allowed, for a person
}

// String returns the fault on one line: "line 7: limits.unhealthy: 120% is over 100%".
func (f Fault) String() string {
	if f.Key == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.Problem)
	}
	return fmt.Sprintf("line %d: %s: %s", f.Line, f.Key, f.Problem)
}

// Faults is the error that Parse returns: everything that is wrong with a document, sorted by
// place. It is never empty.
type Faults []Fault

// Error returns all faults, one per line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// byPlace sorts faults by their place in the document.
func byPlace(fs []Fault) {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
