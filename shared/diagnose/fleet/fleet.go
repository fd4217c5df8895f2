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
	cluster(c, s)
	zone(c, s)
	owner(c, s)
	nodeGroup(c, s)
	repeats(c, s)
	drift(c, s)
	webhooks(c, s)
}

// joins reports kinds of findings of instances that do not become, or stay, nodes that
// can work: what stands in the way of that explains them.
func joins(k roll.Kind) bool {
	switch k {
	case roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown:
		return true
	}
	return false
}

// cluster asks whether the cluster itself is in order.
func cluster(c *evidence.Case, s *cause.Sheet) {
	for _, g := range c.Gaps {
		switch g.Kind {
		case roll.GapClusterUnreachable, roll.GapUnauthorized:
			s.Found(unreachable(c, g))
		}
	}
	config := c.Cluster.Config
	if !config.Known() {
		if config.State != evidence.Absent {
			s.NotChecked(config.Gap(), cause.ClusterNotActive, cause.ClusterUnhealthy)
		}
		return
	}
	if config.Value.Status == roll.ClusterActive {
		s.RuledOut(cause.ClusterNotActive)
	} else {
		s.Found(roll.Cause{
			Code: cause.ClusterNotActive, Confidence: roll.Decisive, Subject: "cluster/" + c.ClusterID.Name,
			Summary:  fmt.Sprintf("cluster %s is %s: until it is ACTIVE nothing can be concluded about its nodes", c.ClusterID.Name, config.Value.Status),
			Evidence: []roll.Evidence{{Source: "EKS cluster", Field: "status", Observed: config.Value.Status, Expected: roll.ClusterActive}},
			Fix:      fmt.Sprintf("aws eks list-updates --region %[1]s --name %[2]s\naws eks wait cluster-active --region %[1]s --name %[2]s", c.Region, c.ClusterID.Name),
		})
	}
	unhealthy(c, s, config.Value)
}

func unreachable(c *evidence.Case, g roll.Gap) roll.Cause {
	confidence := roll.Decisive
	if !joins(c.Finding.Kind) {
		confidence = roll.Suggestive // it is EC2, or the tags, that tell of it
	}
	return roll.Cause{
		Code: cause.ControlPlaneUnreachable, Confidence: confidence, Subject: "cluster/" + c.ClusterID.Name,
		Summary:  fmt.Sprintf("the Kubernetes API of %s could not be asked, so nothing can be concluded about its nodes", c.ClusterID.Name),
		Evidence: []roll.Evidence{{Source: "Kubernetes API", Field: g.Call, Observed: g.Detail, Expected: "an answer"}},
		Fix:      fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query 'cluster.{status:status,health:health,endpoint:endpoint,vpc:resourcesVpcConfig,access:accessConfig}'", c.Region, c.ClusterID.Name),
	}
}

// refusesNodes are the health issues of a cluster that keep nodes from joining by
// themselves: without STS of the region no token can be verified.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ClusterIssue.html
var refusesNodes = []string{"StsRegionalEndpointDisabled"}

func unhealthy(c *evidence.Case, s *cause.Sheet, config evidence.ClusterConfig) {
	if len(config.Issues) == 0 {
		s.RuledOut(cause.ClusterUnhealthy)
		return
	}
	if !joins(c.Finding.Kind) {
		return
	}
	confidence := roll.Suggestive
	var codes []string
	var seen []roll.Evidence
	for i, issue := range config.Issues {
		if slices.Contains(refusesNodes, issue.Code) && c.Finding.Kind == roll.Unregistered {
			confidence = roll.Decisive
		}
		codes = append(codes, issue.Code)
		seen = append(seen, roll.Evidence{Source: "EKS cluster", Field: fmt.Sprintf("health.issues[%d]", i), Observed: issue.Code + ": " + issue.Message, Expected: "no issue"})
	}
	s.Found(roll.Cause{
		Code: cause.ClusterUnhealthy, Confidence: confidence, Subject: "cluster/" + c.ClusterID.Name,
		Summary:  fmt.Sprintf("EKS reports health issues of cluster %s itself: %s", c.ClusterID.Name, strings.Join(codes, ", ")),
		Evidence: seen,
		Fix:      fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query cluster.health   # and mend what it names", c.Region, c.ClusterID.Name),
	})
}
