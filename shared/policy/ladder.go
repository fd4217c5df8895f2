package policy

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Do is what a step of a ladder does.
type Do string

// The verbs. Which of them make sense depends on the kind of finding.
const (
	DoWarn   Do = "warn"   // send a notice of severity warning
	DoTag    Do = "tag"    // write Rollcall's tags on the instance
	DoNotify Do = "notify" // send a notice
	// DoCordon marks the node unschedulable, and DoDrain evicts its pods. Both are skipped if there
	// is no node, or a silent one.
	DoCordon Do = "cordon"
	DoDrain  Do = "drain"
	DoReboot Do = "reboot" // reboot the instance, at most once per finding
	// DoTerminate terminates the instance, or deletes its NodeClaim if the rule of its owner is
	// OwnerDeleteNodeClaim. It is always the last step.
	DoTerminate  Do = "terminate"
	DoDeleteNode Do = "delete-node" // delete the Node object of a Ghost: also always the last step
)

var verbs = []Do{DoWarn, DoTag, DoNotify, DoCordon, DoDrain, DoReboot, DoTerminate, DoDeleteNode}

// Acts reports whether the verb interrupts something. The others only report.
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
	// After is the wait after the previous step, or after its outcome if it was an act. For the
	// first step it is the wait after the tolerance. Zero means at once.
	After time.Duration
	// Once: not repeated for the same finding, whatever its outcome.
	Once bool
	// Approve is the approval that an act needs from a person; the zero value if it needs none.
	Approve Approve
	// Line is its line in the document, 0 for a default.
	Line int
	// Doubt is set only by [Policy.Ladder]. The act must be held because the cause with this code
	// may exist, and its ladder has another act here, or none.
	Doubt string
}

// Approve is a rung of a ladder that asks a person to approve the acts up to the next such rung.
type Approve struct {
	// Rung is the number of the rung among those of the ladder that ask, from 1. Acts with the same
	// number are approved together.
	Rung int
	For  time.Duration // the time to approve; always positive
	// ThenGo: if nobody approves in time, the ladder continues. Otherwise the acts are held.
	ThenGo bool
}

// Needed reports whether acts need an approval.
func (a Approve) Needed() bool { return a.Rung > 0 }

// with combines the approvals that two ladders ask for: the shorter time, and hold rather than go.
func (a Approve) with(other Approve) Approve {
	switch {
	case !other.Needed():
		return a
	case !a.Needed():
		return other
	}
	a.For = min(a.For, other.For)
	a.ThenGo = a.ThenGo && other.ThenGo
	return a
}

// StepAt returns the earliest time of step i of a ladder if the tolerance ends at due: due plus the
// waits of steps 0 to i. Before the first step it is due, after the last one the time of the last.
// Acts themselves take time, and the wait after an act starts at its outcome.
func StepAt(steps []Step, i int, due time.Time) time.Time {
	for _, s := range steps[:max(0, min(i+1, len(steps)))] {
		due = due.Add(s.After)
	}
	return due
}

// ladderText returns a ladder for a person: "notify, reboot once, terminate after 10m".
func ladderText(steps []Step) string {
	if len(steps) == 0 {
		return "nothing"
	}
	words := make([]string, 0, len(steps))
	asked := 0
	for _, s := range steps {
		if s.Approve.Rung > asked {
			asked = s.Approve.Rung
			then := thenHold
			if s.Approve.ThenGo {
				then = thenGo
			}
			words = append(words, fmt.Sprintf("approve within %s or %s", roll.Span(s.Approve.For), then))
		}
		word := string(s.Do)
		if s.Once {
			word += " once"
		}
		if s.After > 0 {
			word += " after " + roll.Span(s.After)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
