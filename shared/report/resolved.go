package report

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// NoticeEnded is one instance whose finding has ended, in JSON.
type NoticeEnded struct {
	Instance string `json:"instance"`
	Subject  string `json:"subject,omitempty"` // set instead of Instance if it is about no instance
	How      string `json:"how"`               // recovered, acted, gone, changed or ignored
	After    string `json:"after,omitempty"`   // the act of Rollcall after which it recovered
	Spot     string `json:"spot,omitempty"`    // what EC2 announced for the Spot Instance that is gone: interruption or rebalance
}

// resolved renders the notice that the incident of a group and kind is resolved.
func (from From) resolved(id roll.ClusterID, n plan.Notice, at time.Time) (Message, error) {
	d := document(id, at, string(n.Key.Group), string(n.Key.Kind), n.Incident)
	d.Severity, d.Action, d.Until, d.Count, d.Cause, d.News = SeverityInfo, actionResolved, n.OverSince.UTC(), len(n.Ended), n.Key.Cause, []string{newsResolved}
	d.Links, d.Nodes = linksTo(id, "", n.Key.Group, ""), nodes(n)
	l := letter{headline: fmt.Sprintf("Resolved: this group has no finding %s%s any more.", n.Key.Kind, roll.Behind(" with the cause ", n.Key.Cause)), facts: []fact{{"Over", "since " + since(n.OverSince, at)}}}
	if first := n.Incident.First; !first.IsZero() && n.OverSince.After(first) {
		l.facts = append(l.facts, fact{"Lasted", Age(n.OverSince.Sub(first)) + " after the first notice"})
	}
	if n.Incident.Total > len(n.Ended) {
		l.facts = append(l.facts, fact{"In all", fmt.Sprintf("%d instances were affected; those still on record are listed", n.Incident.Total)})
	}
	for i, e := range n.Ended {
		if i < jsonEntries {
			instance, about := e.Instance.Named()
			d.Ended = append(d.Ended, NoticeEnded{Instance: instance, Subject: about, How: string(e.How), After: string(e.After), Spot: string(e.Spot)})
		}
		if i < textEntries {
			l.facts = append(l.facts, fact{string(e.Instance), ended(n.Key.Kind, e)})
		}
	}
	if more := len(n.Ended) - textEntries; more > 0 {
		l.facts = append(l.facts, fact{"Others", fmt.Sprintf("%d more", more)})
	}
	what := "resolved: " + troubled(n.Key.Kind, len(n.Ended))
	return d.message(subjectOver(id.Name, what, n.Key.Group, tally(n.Ended)), l)
}

// ended says how the finding of an instance ended.
func ended(k roll.Kind, e plan.Ended) string {
	switch how := e.How; {
	case how == plan.EndedRecovered && e.Instance.IsInstance() && e.After != "":
		return fmt.Sprintf("recovered after Rollcall %s it", acts[e.After].pastTense)
	case how == plan.EndedRecovered:
		return "recovered"
	case how == plan.EndedByAct && (k == roll.Ghost || e.After == plan.DeleteNode):
		return "acted: Rollcall deleted its node"
	case how == plan.EndedByAct && e.After == plan.DeleteNodeClaim:
		return "acted: Rollcall deleted its NodeClaim"
	case how == plan.EndedByAct:
		return "acted: Rollcall terminated it"
	case how == plan.EndedChanged:
		return "changed: it is still in trouble, of another kind or with another cause"
	case how == plan.EndedIgnored:
		return "ignored: somebody set " + roll.TagIgnore + " on it"
	case how == plan.EndedAside:
		return "not in service: its Auto Scaling group keeps it in Standby or a warm pool"
	case how == plan.EndedStopped:
		return "stopped: it need not be a node until it is started"
	}
	return "gone, not terminated by Rollcall" + spotted(e.Spot, e.SpotAt)
}

// spotted says what EC2 announced for a Spot Instance before it was gone, "" if nothing. at is
// zero if only its end is known.
func spotted(event roll.SpotEvent, at time.Time) string {
	switch {
	case event == "":
		return ""
	case at.IsZero():
		return ": EC2 reclaimed the Spot Instance"
	case event == roll.SpotRebalance:
		return fmt.Sprintf(": at %s EC2 recommended replacing the Spot Instance, which it may reclaim", roll.Clock(at))
	}
	return fmt.Sprintf(": at %s EC2 announced that it will reclaim the Spot Instance", roll.Clock(at))
}

// tally returns the counts of the ways in which findings ended.
func tally(all []plan.Ended) string {
	n := map[plan.How]int{}
	for _, e := range all {
		n[e.How]++
	}
	var parts []string
	for _, c := range []struct {
		how  plan.How
		word string
	}{{plan.EndedRecovered, "recovered"}, {plan.EndedByAct, "acted on"}, {plan.EndedGone, "gone"}, {plan.EndedChanged, "changed"}, {plan.EndedIgnored, "ignored"}, {plan.EndedAside, "not in service"}, {plan.EndedStopped, "stopped"}} {
		if n[c.how] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[c.how], c.word))
		}
	}
	return strings.Join(parts, ", ")
}
