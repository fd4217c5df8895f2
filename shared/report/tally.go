package report

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// Tally counts names, in the order in which they were first added.
type Tally struct {
	Names []string
	Count map[string]int
}

// Add adds one to the count of a name.
func (t *Tally) Add(name string) {
	if t.Count == nil {
		t.Count = map[string]int{}
	}
	if t.Count[name]++; t.Count[name] == 1 {
		t.Names = append(t.Names, name)
	}
}

// List formats each name and its count, in this order: "%[2]d %[1]s" puts the count first.
func (t Tally) List(format string) []string {
	return roll.Map(t.Names, func(name string) string { return fmt.Sprintf(format, name, t.Count[name]) })
}

// Counted returns the names in one line, each after its count.
func (t Tally) Counted() string { return strings.Join(t.List("%[2]d %[1]s"), ", ") }
