package roll

import (
	"strings"
	"time"
)

// ClusterID identifies an EKS cluster across accounts and regions. It is the key of the ledger, so
// that clusters with the same name never share records.
type ClusterID struct {
	Account string `json:"account"` // 12 digits
	Region  string `json:"region"`  // such as eu-west-1
	Name    string `json:"cluster"` // the EKS cluster name, case-sensitive
}

// String returns the id as account/region/name.
func (id ClusterID) String() string {
	return id.Account + "/" + id.Region + "/" + id.Name
}

// ParseClusterARN parses arn:<partition>:eks:<region>:<account>:cluster/<name>. It returns false
// for any other text.
func ParseClusterARN(arn string) (ClusterID, bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "eks" {
		return ClusterID{}, false
	}
	name, ok := strings.CutPrefix(parts[5], "cluster/")
	if !ok || name == "" || parts[3] == "" || parts[4] == "" {
		return ClusterID{}, false
	}
	return ClusterID{Account: parts[4], Region: parts[3], Name: name}, true
}

// ClusterActive is the only cluster status (eks:DescribeCluster) in which findings may lead to
// acts. The others are CREATING, DELETING, FAILED, UPDATING and PENDING.
const ClusterActive = "ACTIVE"

// Cluster is one EKS cluster as eks:DescribeCluster returns it.
type Cluster struct {
	ID       ClusterID
	Status   string // see ClusterActive
	Version  string // Kubernetes minor version, such as 1.36
	Endpoint string // URL of the Kubernetes API server
	CA       []byte // PEM bundle that signs the endpoint's certificate
	LocalID  string // the id that tokens for a local cluster on AWS Outposts name; "" for any other cluster
	Created  time.Time
	// ZonalShift: ARC may shift the cluster away from a zone (zonalShiftConfig.enabled).
	ZonalShift bool
	// AutoMode: EKS Auto Mode runs nodes of the cluster (computeConfig.enabled).
	AutoMode bool
	// ModeTag is the value of the cluster's tag rollcall:mode, "" if it has none. If the cluster could not
	// be described, it is ModeTagUnread, or the last value if that allows less.
	ModeTag string
}

// ModeTagUnread stands for an unread tag rollcall:mode, which may lower the mode. It rules out acts,
// and not the notice that the cluster is unread. Nothing is ordered in such a check anyway, and since
// when the mode is remediate is kept.
const ModeTagUnread = "notify"
