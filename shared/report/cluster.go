package report

import (
	"fmt"
	"time"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Group and kind of notices about a cluster as a whole. They are the same in the notice of
// resolution, even if the reason has changed by then.
const (
	groupCluster = "cluster"
	kindCluster  = "Cluster"
)

// ClusterNotice returns the notice that a cluster cannot be judged, or that it can be judged
// again.
func (from From) ClusterNotice(id roll.ClusterID, a plan.Alarm, mode policy.Mode, at time.Time) (Message, error) {
	d := document(id, at, groupCluster, kindCluster, a.Incident)
	d.Reason, d.Detail, d.Since, d.News = string(a.Reason), a.Detail, a.Since.UTC(), []string{string(plan.NewsOpened)}
	d.Links = linksTo(id, "", roll.GroupNone, "")
	l := letter{headline: fmt.Sprintf("Cluster %s cannot be judged.", id.Name), why: []why{{string(a.Reason), a.Detail, ""}}}
	say := fmt.Sprintf("can't be judged (%s): nothing is done", inWordsOf(string(a.Reason)))
	d.Severity = SeverityCritical
	if a.Over {
		d.Severity, d.Action, d.Until, d.News = SeverityInfo, actionResolved, at.UTC(), []string{newsResolved}
		say = "resolved: can be judged again"
		l.headline = fmt.Sprintf("Resolved: cluster %s can be judged again.", id.Name)
		d.Does = []string{afterwards(a.Reason)}
		if a.Gone {
			say = "resolved: the cluster is gone"
			l.headline = fmt.Sprintf("Resolved: there is no cluster %s any more.", id.Name)
			d.Does = []string{"Instances that it left behind are reported, and not terminated."}
		}
	} else {
		d.Does = []string{"Nothing is concluded about its nodes, and nothing is done to them. Earlier findings stay as they were. Rollcall keeps checking, and reports when it can judge the cluster again."}
		l.against(id, check(id, a.Reason))
		l.rest = &Recipe{"To see everything else", []string{paste.Format("rollcall check --region %s --cluster %s", id.Region, id.Name)}}
	}
	began, acts := "Since", string(mode)
	if a.Over {
		began = "It began"
	}
	if mode != policy.Remediate {
		acts += " (Rollcall reports, and does not act)"
	}
	l.facts, l.next = []fact{{began, since(a.Since, at)}, {"Mode", acts}}, d.Does
	s, _ := fit(id.Name, say)
	return d.message(s, l)
}

// afterwards says what to expect once a cluster can be judged again.
func afterwards(r plan.Reason) string {
	if r == plan.SnapshotIncomplete {
		return "Findings are acted on again as the policy says."
	}
	return "Nothing is ordered for a while (limits.stormCooldown), so that nodes that come back late are not mistaken for broken ones. Then findings are acted on as the policy says."
}

// check returns the command that a person should run first when a cluster cannot be judged.
func check(id roll.ClusterID, r plan.Reason) Recipe {
	describe := func(query string) string {
		return paste.Format("aws eks describe-cluster --region %s --name %s --query %s", id.Region, id.Name, "cluster.["+query+"]")
	}
	switch r {
	case plan.ClusterNotActive:
		return Recipe{"To see whether it is being updated, or has failed", []string{describe("status,health")}}
	case plan.ClusterUnreachable:
		return Recipe{"To see whether its API server answers", []string{"kubectl get --raw '/readyz?verbose'"}}
	}
	return Recipe{"To see whether the cluster is healthy (the reason above names the call that failed)", []string{describe("status,health")}}
}
