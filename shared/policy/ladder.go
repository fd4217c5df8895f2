package policy

import (
	"slices"
	"strings"
	"time"
)

// Do is what a step of a ladder does.
type Do string

// The verbs. Which of them make sense depends on the kind of finding.
const (
	DoWarn   Do = "warn"   // send a notice of severity warning
	DoTag    Do = "tag"    // write Rollcall's tags on the instance
	DoNotify Do = "notify" // send a notice
	// DoCordon marks the node unschedulable, and DoDrain evicts its pods. Both are
	// skipped where there is no node, or a silent one.
	DoCordon Do = "cordon"
	DoDrain  Do = "drain"
	DoReboot Do = "reboot" // reboot the instance, once at most for a finding
	// DoTerminate terminates the instance, or deletes its NodeClaim where the rule of
	// its owner is OwnerDeleteNodeClaim. It is always the last step.
	DoTerminate  Do = "terminate"
	DoDeleteNode Do = "delete-node" // delete the Node object of a Ghost: the last step too
)

var verbs = []Do{DoWarn, DoTag, DoNotify, DoCordon, DoDrain, DoReboot, DoTerminate, DoDeleteNode}

// Available reports whether this version carries the verb out: all of those above,
// and never anything else. A ladder stops before the first step that is not available: to go on without it would do the
// harsher thing without the milder one that the operator put before it.
func (d Do) Available() bool { return slices.Contains(thisVersion.does, d) }

// Acts reports whether the verb interrupts something. The others only tell.
func (d Do) Acts() bool {
	switch d {
	case DoCordon, DoDrain, DoReboot, DoTerminate, DoDeleteNode:
		return true
	}
	return false
}

// Step is one step of a ladder.
type Step struct {
	Do Do
	// After is the time after the step before it: after that step's outcome, where it
	// was an act. For the first step it is the time after the tolerance ends. Zero is
	// at once.
	After time.Duration
	// Once: not again for the same finding, whatever became of it.
	Once bool
	// Line is where the document has it, 0 for a default.
	Line int
	// Doubt is set by [Policy.Ladder] alone: an act that must be held, because the cause
	// with this code may be there, and its ladder has another act here, or none.
	Doubt string
}

// Usable is the part of a ladder that this version carries out: the steps before
// the first one that is not available.
func Usable(steps []Step) []Step {
	for i, s := range steps {
		if !s.Do.Available() {
			return steps[:i:i]
		}
	}
	return steps
}

// StepAt is the time of step i of a ladder when the tolerance ends at due: the
// waits of the steps 0 to i, one after the other. Before the first step it is
// due, and after the last one it is the time of the last. Acts take time of their
// own, and a wait behind one counts from its outcome, so it is the earliest.
func StepAt(steps []Step, i int, due time.Time) time.Time {
	for _, s := range steps[:max(0, min(i+1, len(steps)))] {
		due = due.Add(s.After)
	}
	return due
}

// ladderText is a ladder for a person: "notify, reboot once, terminate after 10m".
func ladderText(steps []Step) string {
	if len(steps) == 0 {
		return "nothing"
	}
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = string(s.Do)
		if s.Once {
			words[i] += " once"
		}
		if s.After > 0 {
			words[i] += " after " + durationText(s.After)
		}
	}
	return strings.Join(words, ", ")
}
