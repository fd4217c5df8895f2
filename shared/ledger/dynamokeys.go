package ledger

import (
	"fmt"
	"strings"

	"rollcall/shared/roll"
)

// The attributes that every item has beside what is remembered. README.md lists
// the keys of every kind of item.
const (
	attrPartition = "pk"
	attrSort      = "sk"
	// attrExpires is the table's TTL attribute, in seconds since 1970.
	attrExpires = "expires"
)

// The kinds of items: what stands before the first # of a sort key.
const (
	kindFinding   = "finding"
	kindNotReady  = "notready"
	kindRest      = "rest"
	kindGroup     = "group"
	kindRemediate = "remediate"
	kindNotice    = "notice"
	kindTold      = "told"
	kindAction    = "action"
	kindBudget    = "budget"
	kindFirst     = "first"
	kindChecked   = "checked"
	kindNotices   = "notices"
	kindMissing   = "missing"
	kindSpot      = "spot"
	kindFlips     = "flips"
	kindPressure  = "pressure"
	kindMemory    = "memory"
	kindTrouble   = "trouble"
	kindRefusal   = "refusal"
)

// partition is the partition key of all that is remembered of a cluster: one Query
// reads it, and two clusters of one name never share it.
func partition(c roll.ClusterID) string { return "cluster#" + c.String() }

// kindOf is the kind of item that a sort key names.
func kindOf(sortKey string) string {
	kind, _, _ := strings.Cut(sortKey, "#")
	return kind
}

func findingSort(k roll.FindingKey) string {
	return kindFinding + "#" + string(k.Instance) + "#" + string(k.Kind)
}

func notReadySort(id roll.InstanceID) string { return kindNotReady + "#" + string(id) }

func restSort(id roll.InstanceID) string { return kindRest + "#" + string(id) }

func spotSort(k SpotKey) string             { return kindSpot + "#" + string(k.Instance) + "#" + string(k.Event) }
func missingSort(id roll.InstanceID) string { return kindMissing + "#" + string(id) }

func flipsSort(id roll.InstanceID) string { return kindFlips + "#" + string(id) }

func pressureSort(id roll.InstanceID) string { return kindPressure + "#" + string(id) }

func memorySort(g roll.Group) string { return kindMemory + "#" + string(g) }

func refusalSort(k RefusalKey) string {
	return kindRefusal + "#" + k.Order + "#" + k.Reason
}

func groupSort(o roll.Origin) string { return kindGroup + "#" + string(o) }

func remediateSort(g roll.Group) string { return kindRemediate + "#" + string(g) }

// noticeSort cannot be split again where a group's name contains a #; the item's
// attributes say what it is about. The same goes for toldSort.
func noticeSort(k NoticeKey) string { return kindNotice + "#" + about(k) }

func toldSort(k NoticeKey, part int) string {
	return fmt.Sprintf("%s#%s#%03d", kindTold, about(k), part)
}

// about is what a notice is about. The cause is left out where there is none, as before
// notices had one.
func about(k NoticeKey) string {
	s := string(k.Group) + "#" + string(k.Kind)
	if k.Cause != "" {
		s += "#" + k.Cause
	}
	return s
}

// actionSort puts a cluster's acts in the order of their time. The turn at the end
// keeps two tries of one order apart, whatever their clocks say.
func actionSort(a Action, turn int64) string {
	return fmt.Sprintf("%s#%s#%s#%d", kindAction, a.At.UTC().Format(sortableTime), a.ID, turn)
}

// sortableTime has as many digits for every time, so that texts sort as times do.
const sortableTime = "2006-01-02T15:04:05.000000000Z"

// expiry is when DynamoDB may delete an act: ActionRetention after the intent, or
// after the outcome if that took longer. Only acts expire, and only once they have
// an outcome: everything else is written on change only, so that its age says nothing
// about whether it is still needed; the check that finds it not needed deletes it.
func expiry(a Action, o Outcome) int64 {
	last := a.At
	if o.At.After(last) {
		last = o.At
	}
	return last.Add(ActionRetention).Unix()
}
