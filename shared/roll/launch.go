package roll

import "time"

// Launch is what is told of a group whose launches fail, or of which one does not come
// about, since its latest launch that succeeded.
type Launch struct {
	Owner   Owner
	Since   time.Time // of the first that failed, or waits
	Failed  time.Time // when the latest failure was told, zero if none was
	Message string    // that failure, without secrets; "" if none was told
	Source  string    // what told it, such as "NodeClaim" or "instance i-..."
	Field   string    // where it was told, such as "Launched" or "StatusMessage"
	// Status is that of a managed node group that EKS reports as failed or unhealthy, such as
	// CREATE_FAILED; "" for other groups. EKS has waited by then.
	Status string
	// Issues are the health issues of such a group that concern launches.
	Issues []HealthIssue
}

// HealthIssue is a health issue that EKS reports of a managed node group or of a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
type HealthIssue struct {
	Code    string // such as Ec2SubnetNotFound
	Message string // in a snapshot without secrets
}
