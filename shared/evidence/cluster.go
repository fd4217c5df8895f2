package evidence

import (
	"slices"

	"rollcall/shared/roll"
)

// Cluster is what was read of the cluster as a whole.
type Cluster struct {
	Config        Fact[ClusterConfig]
	AwsAuth       Fact[AwsAuth] // Absent: there is no such ConfigMap
	AccessEntries Fact[AccessEntries]
	// Controllers are the service accounts of Karpenter's controller, under the names its chart
	// uses. They are read only if a role other than the nodes' is mapped.
	Controllers Fact[[]ServiceAccount]
	// Webhooks are the admission webhooks that are called for nodes.
	Webhooks Fact[[]Webhook]
	// PodWebhooks are the admission webhooks that are called for new pods of kube-system. They are
	// read only where a node waits for its network plugin and has no pod of one.
	PodWebhooks Fact[[]Webhook]
	// Networked is a Ready node that has its network plugin from the cluster. Nodes of EKS Auto
	// Mode, Fargate and hybrid nodes do not count. It is looked for where a node waits for its
	// network plugin.
	Networked Fact[string]
	// DaemonSets are those of all namespaces. They are read only where a node waits for its network
	// plugin without a pod of one, or has a taint that may keep a pod away.
	DaemonSets Fact[[]DaemonSet]
}

// ClusterConfig is an EKS cluster as eks:DescribeCluster returns it.
type ClusterConfig struct {
	Name     string
	Status   string // ACTIVE, CREATING, DELETING, FAILED, UPDATING, PENDING
	Version  string // Kubernetes minor version, such as 1.35
	Endpoint string // URL of the API server
	// CAHash is the SHA-256, in hex, of each certificate authority as userdata.CertificateOf returns
	// them, so that the two are comparable. While they are rotated there are two.
	CAHash string
	// AuthenticationMode is CONFIG_MAP, API or API_AND_CONFIG_MAP; "" means CONFIG_MAP.
	AuthenticationMode string
	VPC                string
	Subnets            []string
	// ClusterSecurityGroup is the security group that EKS created for the cluster. SecurityGroups
	// are further groups of its network interfaces.
	ClusterSecurityGroup string
	SecurityGroups       []string
	PublicAccess         bool
	PrivateAccess        bool
	PublicCIDRs          []string
	IPFamily             string // ipv4 or ipv6
	// Issues are those of health.issues.
	Issues []roll.HealthIssue
}

// Webhook is an admission webhook of the cluster that matches nodes, their status, or pods.
type Webhook struct {
	Configuration string // name of the configuration
	Kind          string // MutatingWebhookConfiguration or ValidatingWebhookConfiguration
	Name          string
	FailurePolicy string // Fail or Ignore
	// Resources and Operations are those that the rules name, as resource[/subresource] and verb,
	// such as nodes and CREATE.
	Resources, Operations []string
	// Selective reports whether a selector or a match condition narrows it, beside Namespaces, or
	// may: Lacks is a selector that is missing, which the API server always sets; "" if none is.
	Selective bool
	Lacks     string
	// Namespaces are what its namespace selector requires of the namespace's name.
	Namespaces []Requirement
	// Leases reports whether it is also asked when a kubelet renews its node's lease; LeasesIf: only if its
	// namespace selector matches, which requires more than a name, or is not known.
	Leases, LeasesIf bool
	// Namespace and Service are those of the service that answers; "" if it is called by URL.
	Namespace, Service string
	// Endpoints is the number of ready addresses of its service.
	Endpoints Fact[int]
}

// MustApprove reports whether requests of that operation on the resource fail while no endpoint
// of the webhook's service answers. The resource is nodes, nodes/status or pods.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
func (w Webhook) MustApprove(resource, operation string) bool {
	return w.FailurePolicy == "Fail" && w.Service != "" && matches(w.Resources, resource) && (slices.Contains(w.Operations, operation) || slices.Contains(w.Operations, "*"))
}

// MayAskIn reports whether the webhook may be asked about objects of a namespace, by the name of the
// namespace.
func (w Webhook) MayAskIn(namespace string) bool {
	return !slices.ContainsFunc(w.Namespaces, func(r Requirement) bool { return !r.Allows(namespace) })
}

// matches reports whether a rule's resources include the resource: by name, or by a star for
// all resources, all subresources, or both.
func matches(rules []string, resource string) bool {
	names := []string{resource, "*/*", "*"}
	if resource == "nodes/status" {
		names = []string{resource, "*/*", "nodes/*", "*/status"}
	}
	return slices.ContainsFunc(rules, func(r string) bool { return slices.Contains(names, r) })
}
