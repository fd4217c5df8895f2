// Package fleet looks for causes that lie in the cluster as a whole, in a zone, or in the
// group that an instance belongs to.
//
// The package is pure.
package fleet

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the cluster and the group of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	l := &look{cause.Look{Case: c, Sheet: s}}
	l.cluster()
	s.Note(cause.ZoneOutage, l.zone())
	s.Note(cause.OwnerGone, l.owner())
	if l.joins() {
		l.nodeGroup()
		s.Note(cause.ReplacementRepeats, l.repeats())
		s.Note(cause.LaunchTemplateDrift, l.drift())
	}
	l.webhooks()
}

// refusesNodes are the health issues of a cluster that keep nodes from joining by
// themselves: without STS of the region no token can be verified.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ClusterIssue.html
var refusesNodes = []string{"StsRegionalEndpointDisabled"}

// look is one look at a finding.
type look struct{ cause.Look }

// joins reports a finding of an instance that does not become, or stay, a node that can
// work: what stands in the way of that explains it.
func (l *look) joins() bool {
	switch l.Finding.Kind {
	case roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown:
		return true
	}
	return false
}

// inCluster is the subject of a cause that lies in the cluster.
func (l *look) inCluster() string { return "cluster/" + l.ClusterID.Name }

// cluster looks at whether the cluster itself is in order.
func (l *look) cluster() {
	for _, g := range l.Gaps {
		if g.Kind == roll.GapClusterUnreachable || g.Kind == roll.GapUnauthorized {
			l.Note(cause.ControlPlaneUnreachable, l.unreachable(g))
		}
	}
	switch config := l.Cluster.Config; {
	case config.Known():
		l.Note(cause.ClusterNotActive, l.notActive(config.Value.Status))
		l.Note(cause.ClusterUnhealthy, l.unhealthy(config.Value.Issues))
	case config.State != evidence.Absent:
		l.NotChecked(config.Gap(), cause.ClusterNotActive, cause.ClusterUnhealthy)
	}
}

func (l *look) notActive(status string) cause.Verdict {
	if status == roll.ClusterActive {
		return cause.RuledOut
	}
	name := l.ClusterID.Name
	return cause.Decisive().In(l.inCluster()).
		Says("cluster %s is %s: until it is ACTIVE nothing can be concluded about its nodes", name, status).
		Saw("EKS cluster", "status", status, roll.ClusterActive).
		Fix(fmt.Sprintf("aws eks list-updates --region %[1]s --name %[2]s\naws eks wait cluster-active --region %[1]s --name %[2]s", l.Region, name))
}

// unreachable is decisive unless EC2 or the tags show what is wrong.
func (l *look) unreachable(g roll.Gap) cause.Verdict {
	return cause.DecisiveIf(l.joins()).In(l.inCluster()).
		Says("the Kubernetes API of %s could not be asked, so nothing can be concluded about its nodes", l.ClusterID.Name).
		Saw("Kubernetes API", g.Call, g.Detail, "an answer").
		Fix(fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query 'cluster.{status:status,health:health,endpoint:endpoint,vpc:resourcesVpcConfig,access:accessConfig}'", l.Region, l.ClusterID.Name))
}

func (l *look) unhealthy(issues []roll.HealthIssue) cause.Verdict {
	if len(issues) == 0 {
		return cause.RuledOut
	}
	if !l.joins() {
		return cause.Verdict{}
	}
	var codes []string
	refuses := func(issue roll.HealthIssue) bool { return slices.Contains(refusesNodes, issue.Code) }
	for _, issue := range issues {
		codes = append(codes, issue.Code)
	}
	return cause.DecisiveIf(l.Finding.Kind == roll.Unregistered && slices.ContainsFunc(issues, refuses)).In(l.inCluster()).
		Says("EKS reports health issues of cluster %s itself: %s", l.ClusterID.Name, strings.Join(codes, ", ")).
		Shows(health("EKS cluster", issues)...).
		Fix(fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query cluster.health   # and correct what it names", l.Region, l.ClusterID.Name))
}

// health is what EKS reports about a cluster or a node group.
func health(source string, issues []roll.HealthIssue) []roll.Evidence {
	var seen []roll.Evidence
	for i, issue := range issues {
		seen = append(seen, roll.Evidence{Source: source, Field: fmt.Sprintf("health.issues[%d]", i), Observed: issue.Code + ": " + issue.Message, Expected: "no issue"})
	}
	return seen
}
