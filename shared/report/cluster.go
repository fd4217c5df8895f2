package report

import (
	"fmt"
	"strings"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Group and kind of notices about a cluster as a whole. They are the same for its
// trouble and for its end, whatever the reason is by then.
const (
	groupCluster = "cluster"
	kindCluster  = "Cluster"
)

// ClusterNotice renders the notice that a cluster cannot be judged, or that it can
// again.
func ClusterNotice(id roll.ClusterID, a plan.Alarm, mode policy.Mode, at time.Time) (Message, error) {
	d := document(id, at, groupCluster, kindCluster)
	d.Reason, d.Detail, d.Since = string(a.Reason), a.Detail, a.Since.UTC()
	var b strings.Builder
	say := fmt.Sprintf("cannot be judged (%s), nothing is done", a.Reason)
	if a.Over {
		d.Severity, d.Action, d.Until = SeverityInfo, actionResolved, at.UTC()
		say = "resolved: can be judged again"
		fmt.Fprintf(&b, "Resolved: cluster %s can be judged again.\n\n", id.Name)
	} else {
		d.Severity = SeverityCritical
		fmt.Fprintf(&b, "Cluster %s cannot be judged.\n\n", id.Name)
	}
	fmt.Fprintf(&b, "Cluster   %s (account %s, %s)\nSince     %s (%s)\nMode      %s\nReason    %s\nDetail    %s\n",
		id.Name, id.Account, id.Region, a.Since.UTC().Format(time.RFC3339), Age(at.Sub(a.Since)), inMode(mode), a.Reason, a.Detail)
	if a.Over {
		fmt.Fprintf(&b, "\nWhat follows\n  %s\n", afterwards(a.Reason))
	} else {
		fmt.Fprintf(&b, "\nMeanwhile\n  Nothing is concluded about its nodes, and nothing is done to them. What was found\n  before stands as it was. Rollcall goes on looking, and tells when it can judge again.\n")
		check(&b, id, a.Reason)
	}
	s, _ := fit(id.Name, say)
	return d.message(s, b.String())
}

// afterwards says what is to be expected once a cluster can be judged again.
func afterwards(r plan.Reason) string {
	if r == plan.SnapshotIncomplete {
		return "Findings are acted on again as the policy says."
	}
	return "Nothing is ordered for a while (limits.stormCooldown), so that nodes that only come\n  back late are not taken for broken ones. Then findings are acted on as the policy says."
}

// check says what a person should look at when a cluster cannot be judged.
func check(b *strings.Builder, id roll.ClusterID, r plan.Reason) {
	describe := func(query string) string {
		return fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query 'cluster.[%s]'", id.Region, id.Name, query)
	}
	switch r {
	case plan.ClusterNotActive:
		commands(b, "To look closer: is it being updated, or has it failed?",
			describe("status,health"), fmt.Sprintf("aws eks list-updates --region %s --name %s", id.Region, id.Name))
	case plan.ClusterUnreachable:
		commands(b, "To look closer: does its API server answer, can Rollcall reach it, does it let Rollcall in?",
			"kubectl get --raw '/readyz?verbose'", describe("status,health,resourcesVpcConfig"),
			fmt.Sprintf("aws eks list-access-entries --region %s --cluster-name %s", id.Region, id.Name))
	default:
		commands(b, "To look closer: the detail above names the call that failed; is a permission missing, or AWS slow?",
			describe("status,health"), fmt.Sprintf("aws ec2 describe-instances --region %s --filters Name=tag-key,Values=%s%s --max-items 1", id.Region, roll.ClusterTagPrefix, id.Name))
	}
}
