package roll

import (
	"strings"
	"time"
)

// Launch describes a group whose launches fail or stay pending since its latest successful launch.
type Launch struct {
	Owner   Owner
	Since   time.Time // start of the first launch that failed or is pending
	Failed  time.Time // when the latest failure was reported, zero if none was
	Message string    // that failure, without secrets; "" if none was reported
	Source  string    // its source, such as "NodeClaim" or "instance i-..."
	Field   string    // the field of the source, such as "Launched" or "StatusMessage"
	// Unready: Karpenter launches nothing, because the node pool or its EC2NodeClass is not ready.
	// Message quotes the conditions.
	Unready bool
	// Status is that of a managed node group that EKS reports as failed or unhealthy, such as
	// CREATE_FAILED; "" for other groups. EKS sets it only after a wait. A failed launch, which it shows until
	// another one succeeds, sets none.
	Status string
	// Issues are the health issues of this managed node group that concern launches.
	Issues []HealthIssue
}

// HealthIssue is a health issue that EKS reports of a managed node group or of a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
type HealthIssue struct {
	Code    string // such as Ec2SubnetNotFound
	Message string // without secrets in a snapshot
}

// HealthIssues returns issues as "code: message; ...".
func HealthIssues(issues []HealthIssue) string {
	return strings.Join(Map(issues, func(i HealthIssue) string { return i.Code + ": " + i.Message }), "; ")
}
