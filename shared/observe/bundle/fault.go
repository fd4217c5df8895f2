package bundle

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// Fault is one fault of a file.
type Fault struct {
	File         string
	Line, Column int    // from 1, in characters; 0 for the file as a whole
	Problem      string // what is wrong and how to fix it
}

// String returns the fault on one line: "nodes.json:7:3: ...".
func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Problem
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Problem)
}

// Faults is the error of an unusable bundle: all its faults, sorted by file and position. It is
// never empty.
type Faults []Fault

// Error returns all faults, one on each line.
func (fs Faults) Error() string {
	return strings.Join(roll.Map(fs, Fault.String), "\n")
}

func (fs Faults) sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// maxFaults bounds the faults reported per file: a file of another shape is wrong everywhere.
const maxFaults = 5

// input is a file being read.
type input struct {
	spec   *spec
	data   []byte // UTF-8
	faults Faults
	more   int // faults beyond maxFaults
}

// fail adds a fault at a byte offset of the file, -1 for the file as a whole.
func (in *input) fail(at int, format string, args ...any) {
	if len(in.faults) == maxFaults {
		in.more++
		return
	}
	f := Fault{File: in.spec.name, Problem: fmt.Sprintf(format, args...)}
	if at >= 0 {
		before := in.data[:min(at, len(in.data))]
		f.Line = bytes.Count(before, []byte("\n")) + 1
		f.Column = len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	}
	in.faults = append(in.faults, f)
}

// told returns the faults. The last one reports how many more there are.
func (in *input) told() Faults {
	in.faults.sort()
	if in.more > 0 {
		in.faults[len(in.faults)-1].Problem += fmt.Sprintf(" (and %d more faults in the file)", in.more)
	}
	return in.faults
}
