package report

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// doing returns the end of a subject: the act that follows.
func doing(entries []plan.Entry) string {
	if act, n := heaviest(entries); act != "" {
		return fmt.Sprintf("%s %d", acts[act].doing, n)
	}
	for _, e := range entries {
		switch {
		case e.Held == nil:
		case e.Held.Reason == plan.SharedCause, e.Held.Reason == plan.CauseOutside:
			return "paused, needs you" // the subject names the cause, which a person has to fix
		case e.Held.Reason == plan.OwnerWillAct:
			return pausedInWords(e.Held.Reason)
		case e.Held.Reason == plan.ApprovalPending:
			return acts[e.Held.Action].noun + " needs your approval"
		default:
			return fmt.Sprintf("%s (%s)", pausedInWords(e.Held.Reason), inWordsOf(string(e.Held.Reason)))
		}
	}
	for _, e := range entries {
		switch {
		case e.Left == "":
		case liesOutside(e):
			return "needs you" // what the owner launches in its place has the same cause
		default:
			return "left to the owner"
		}
	}
	for _, e := range entries {
		if e.Finding.Stage == roll.Overdue {
			return "overdue"
		}
	}
	return "not due yet"
}

// heaviest returns the most severe ordered act, and for how many instances; "" if none is
// ordered.
func heaviest(entries []plan.Entry) (act plan.Action, n int) {
	for _, e := range entries {
		switch {
		case e.Order == nil || acts[e.Order.Action].weight < acts[act].weight:
		case e.Order.Action == act:
			n++
		default:
			act, n = e.Order.Action, 1
		}
	}
	return act, n
}

// ordered ends the sentence that an act is ordered.
var ordered = map[plan.Action]string{
	plan.Cordon:          "no new pods are scheduled on its node",
	plan.Drain:           "its pods are evicted as their disruption budgets allow, over several checks",
	plan.Reboot:          "this happens once; if its node does not come back, the next step of the ladder follows",
	plan.DeleteNode:      "only the Node object is deleted; its instance is gone already",
	plan.DeleteNodeClaim: "Karpenter then drains its node and terminates the instance",
}

// deed describes what Rollcall does about an instance.
type deed struct {
	brief    string // in a few words; instances treated alike have the same
	sentence string
	own      bool // the sentence applies to this instance alone: a time, or an order
}

// does says what Rollcall does about an entry.
func does(e plan.Entry, mode policy.Mode, at time.Time) deed {
	switch {
	case e.Order != nil:
		return deed{
			brief:    fmt.Sprintf("%s is ordered", e.Order.Action),
			sentence: fmt.Sprintf("ordered now: %s of %s (order %s, dropped if it has not begun by %s)%s", e.Order.Action, e.Finding.Instance, e.Order.ID, roll.Clock(e.Order.Expires), roll.Behind("; ", ordered[e.Order.Action])),
			own:      true,
		}
	case roll.HoldActive(e.Hold, at):
		return deed{own: true, brief: fmt.Sprintf("kept as it is (%s)", roll.TagHold), sentence: fmt.Sprintf("kept as it is (%s=%s)%s; it keeps costing until %s", roll.TagHold, short(e.Hold, 40), ran(e, at), holdEnds(e.Hold))}
	case e.Held != nil:
		return withheld(e)
	case e.Left != "":
		return deed{brief: "left to the owner", sentence: left(e, mode, at), own: true}
	case follows(e, mode, at) && coming[e.Step.Do] != "":
		s := fmt.Sprintf("%s at %s if nothing changes", coming[e.Step.Do], roll.Clock(e.Step.At))
		if e.Step.Approve.Needed() {
			s = fmt.Sprintf("%s if a person approves it; a notice asks for that at %s", coming[e.Step.Do], roll.Clock(e.Step.At))
		}
		if liesOutside(e) {
			s += "; it is held where others have the same cause"
		}
		return deed{brief: fmt.Sprintf("%s follows at %s", e.Step.Do, roll.Clock(e.Step.At)), sentence: s, own: true}
	case e.Finding.Kind == roll.Scheduled && e.Finding.Stage == roll.Warned:
		return deed{brief: "announced", sentence: "no act follows before " + roll.Clock(e.Finding.Due), own: true}
	case e.Finding.Stage == roll.Warned:
		s := fmt.Sprintf("its tolerance ends at %s", roll.Clock(e.Finding.Due))
		if liesOutside(e) {
			s += "; it is not terminated: a replacement would fail for the same reason"
		}
		return deed{brief: "within its tolerance", sentence: s, own: true}
	}
	return deed{brief: "no act follows", sentence: "Rollcall only reports this: no action follows"}
}

// holdEnds says what ends a hold; see roll.HoldActive.
func holdEnds(value string) string {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if _, err := time.Parse(layout, strings.TrimSpace(value)); err == nil {
			return "then"
		}
	}
	return "the tag is removed"
}

// withheld says that an act is held, why, and what ends the hold.
func withheld(e plan.Entry) deed {
	d := deed{brief: fmt.Sprintf("%s (%s)", pausedInWords(e.Held.Reason), e.Held.Reason)}
	if q := e.Held.Question; q != nil && e.Held.Reason == plan.ApprovalPending {
		d.own, d.sentence = true, fmt.Sprintf("waits for approval: %s of %s, order %s, until %s", strings.Join(q.Acts, ", "), e.Finding.Instance, q.Order, roll.Clock(q.Until))
		return d
	}
	d.sentence = d.brief + ": " + strings.TrimSuffix(clip(shown(e.Held.Detail), detailBytes), ".")
	if ends := e.Held.Reason.Ends(); ends != "" && !e.Held.Reason.Passing() { // the detail of others says it
		d.sentence += ". It ends " + ends + "."
	}
	return d
}

// ran says for how long an instance has incurred cost.
func ran(e plan.Entry, at time.Time) string {
	if e.Launched.IsZero() {
		return ""
	}
	return ", launched " + Age(at.Sub(e.Launched)) + " ago"
}

// left says that an entry is left to the owner, and what Rollcall does if the owner does not
// act.
func left(e plan.Entry, mode policy.Mode, at time.Time) string {
	s := fmt.Sprintf("left to the owner: %s", e.Left)
	if follows(e, mode, at) && coming[e.Step.Do] != "" {
		return fmt.Sprintf("%s; if that has not helped by %s, %s then", s, roll.Clock(stepAt(e)), coming[e.Step.Do])
	}
	if liesOutside(e) {
		return s + "; its replacement will have the same cause"
	}
	return fmt.Sprintf("%s, so it should be over by %s", s, roll.Clock(e.Until))
}

// liesOutside reports whether the first decisive cause is in something that a replacement
// would have too.
func liesOutside(e plan.Entry) bool {
	c, ok := roll.Diagnosis{Causes: e.Causes}.Decisive()
	return ok && c.Subject != ""
}

// ownDeeds is the most sentences that apply to single instances.
const ownDeeds = 10

// deeds says what Rollcall does, once for all instances treated alike. What applies to one
// instance alone, such as the time of its termination, is listed for each.
func deeds(entries []plan.Entry, mode policy.Mode, at time.Time) []string {
	all := roll.Map(entries, func(e plan.Entry) deed { return does(e, mode, at) })
	if len(all) == 1 {
		return []string{all[0].sentence}
	}
	groups := roll.Grouped(all, func(d deed) string {
		if d.own {
			return d.sentence
		}
		return d.brief
	})
	var out []string
	left := len(entries)
	for _, of := range groups[:min(len(groups), ownDeeds)] {
		who := fmt.Sprintf("%d of %d", len(of), len(entries))
		switch {
		case len(of) < len(entries):
		case len(of) == 2:
			who = "both"
		default:
			who = fmt.Sprintf("all %d", len(of))
		}
		out = append(out, each(who, of[0].sentence))
		left -= len(of)
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("%d of %d: rollcall explain shows what", left, len(entries)))
	}
	return out
}

// each turns a sentence about one instance into one about several.
func each(who, s string) string {
	if will, ok := strings.CutPrefix(s, "it will "); ok {
		return who + " will " + will
	}
	return who + ": " + s
}

// follows reports whether an entry's step follows if nothing changes.
func follows(e plan.Entry, mode policy.Mode, at time.Time) bool {
	switch {
	case e.Step.Do == "" || e.Held != nil || roll.HoldActive(e.Hold, at):
		return false
	case coming[e.Step.Do] != "":
		return mode == policy.Remediate
	}
	return true
}

// stepAt returns when an entry's step is due. An act waits while the entry is left to its
// owner.
func stepAt(e plan.Entry) time.Time {
	if coming[e.Step.Do] != "" && e.Until.After(e.Step.At) {
		return e.Until.UTC()
	}
	return e.Step.At.UTC()
}
