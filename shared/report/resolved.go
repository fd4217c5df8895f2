package report

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// NoticeEnded is one instance whose trouble has ended, in JSON.
type NoticeEnded struct {
	Instance string `json:"instance"`
	How      string `json:"how"` // recovered, acted, gone, changed or ignored
}

// resolved renders the notice that the trouble of a group and kind is over.
func resolved(id roll.ClusterID, n plan.Notice, at time.Time) (Message, error) {
	d := document(id, at, string(n.Key.Group), string(n.Key.Kind))
	d.Severity, d.Action, d.Until, d.Count = SeverityInfo, actionResolved, n.OverSince.UTC(), len(n.Ended)
	var b strings.Builder
	fmt.Fprintf(&b, "Resolved: nothing of the kind %s is found in this group any more.\n\n", n.Key.Kind)
	where(&b, id, n.Key.Group)
	fmt.Fprintf(&b, "Over      since %s (%s)\n\nInstances\n", n.OverSince.UTC().Format(time.RFC3339), Age(at.Sub(n.OverSince)))
	for i, e := range n.Ended {
		if i < jsonEntries {
			d.Ended = append(d.Ended, NoticeEnded{Instance: string(e.Instance), How: string(e.How)})
		}
		if i < textEntries {
			fmt.Fprintf(&b, "  %s, %s\n", e.Instance, ended(n.Key.Kind, e.How))
		}
	}
	if more := len(n.Ended) - textEntries; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	what := fmt.Sprintf("resolved: %d %s", len(n.Ended), n.Key.Kind)
	return d.message(subject(id.Name, what, n.Key.Group, tally(n.Ended)), b.String())
}

// ended says how the trouble of an instance ended.
func ended(k roll.Kind, how plan.How) string {
	switch {
	case how == plan.EndedRecovered:
		return "recovered: it is there, without the trouble"
	case how == plan.EndedByAct && k == roll.Ghost:
		return "acted: Rollcall deleted its node"
	case how == plan.EndedByAct:
		return "acted: Rollcall ended it"
	case how == plan.EndedChanged:
		return "changed: its trouble goes on as one of another kind"
	case how == plan.EndedIgnored:
		return "ignored: somebody set " + roll.TagIgnore + " on it"
	}
	return "gone, and not through Rollcall"
}

// tally counts the ends.
func tally(all []plan.Ended) string {
	n := map[plan.How]int{}
	for _, e := range all {
		n[e.How]++
	}
	var parts []string
	for _, c := range []struct {
		how  plan.How
		word string
	}{{plan.EndedRecovered, "recovered"}, {plan.EndedByAct, "acted on"}, {plan.EndedGone, "gone"}, {plan.EndedChanged, "changed"}, {plan.EndedIgnored, "ignored"}} {
		if n[c.how] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[c.how], c.word))
		}
	}
	return strings.Join(parts, ", ")
}
