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
	l := letter{headline: fmt.Sprintf("Cluster %s cannot be judged.", id.Name), facts: d.facts(), links: d.Links.listed()}
	say := fmt.Sprintf("cannot be judged (%s), nothing is done", a.Reason)
	d.Severity = SeverityCritical
	if a.Over {
		d.Severity, d.Action, d.Until, d.News = SeverityInfo, actionResolved, at.UTC(), []string{newsResolved}
		say = "resolved: can be judged again"
		l.headline = fmt.Sprintf("Resolved: cluster %s can be judged again.", id.Name)
		l.does = []string{afterwards(a.Reason)}
		if a.Gone {
			say = "resolved: the cluster is gone"
			l.headline = fmt.Sprintf("Resolved: there is no cluster %s any more.", id.Name)
			l.does = []string{"Instances that it left behind are told of, and not ended."}
		}
	} else {
		l.does = []string{"Nothing is concluded about its nodes, and nothing is done to them. What was found before stands as it was. Rollcall goes on looking, and tells when it can judge again."}
		l.look = []recipe{check(id, a.Reason)}
	}
	began := "Since"
	if a.Over {
		began = "It began"
	}
	l.facts = append(l.facts, fact{began, since(a.Since, at)}, fact{"Reason", string(a.Reason)}, fact{"Detail", a.Detail})
	l.details = append([]fact{{"Mode", inMode(mode)}}, d.sequel()...)
	s, _ := fit(id.Name, say)
	return d.message(s, l)
}

// afterwards says what to expect once a cluster can be judged again.
func afterwards(r plan.Reason) string {
	if r == plan.SnapshotIncomplete {
		return "Findings are acted on again as the policy says."
	}
	return "Nothing is ordered for a while (limits.stormCooldown), so that nodes that only come back late are not taken for broken ones. Then findings are acted on as the policy says."
}

// check returns what a person should check when a cluster cannot be judged.
func check(id roll.ClusterID, r plan.Reason) recipe {
	describe := func(query string) string {
		return paste.Format("aws eks describe-cluster --region %s --name %s --query %s", id.Region, id.Name, "cluster.["+query+"]")
	}
	switch r {
	case plan.ClusterNotActive:
		return recipe{"To look closer: is it being updated, or has it failed?",
			[]string{describe("status,health"), paste.Format("aws eks list-updates --region %s --name %s", id.Region, id.Name)}}
	case plan.ClusterUnreachable:
		return recipe{"To look closer: does its API server answer, can Rollcall reach it, does it let Rollcall in?",
			[]string{"kubectl get --raw '/readyz?verbose'", describe("status,health,resourcesVpcConfig"), paste.Format("aws eks list-access-entries --region %s --cluster-name %s", id.Region, id.Name)}}
	}
	return recipe{"To look closer: the detail above names the call that failed; is a permission missing, or AWS slow?",
		[]string{describe("status,health"), paste.Format("aws ec2 describe-instances --region %s --filters Name=tag-key,Values=%s%s --max-items 1", id.Region, roll.ClusterTagPrefix, id.Name)}}
}
