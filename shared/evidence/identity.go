package evidence

import "time"

// Role is an IAM role, as iam:GetRole returns it.
type Role struct {
	ARN     string // with its path, as in IAM
	Name    string
	Created time.Time
	// TrustPolicy is the policy that says who may assume the role, as JSON text.
	TrustPolicy string
}

// InstanceProfile is an IAM instance profile.
type InstanceProfile struct {
	ARN   string
	Name  string
	Roles []string // names; IAM allows one at most, and there may be none
}

// Policies are the policies that grant a role its permissions.
type Policies struct {
	Attached []string // ARNs of the managed policies
	Inline   []string // names of the inline policies
}

// PolicyDocument is the text of a managed or inline policy of a role.
type PolicyDocument struct {
	Name string // of the inline policy, or the ARN of the managed one
	Text string // JSON
}

// ServiceAccount is a Kubernetes service account whose pods may assume an IAM role.
type ServiceAccount struct {
	Namespace, Name string
	RoleARN         string // annotation eks.amazonaws.com/role-arn, "" if it has none
}

// AccessEntry is an EKS access entry.
type AccessEntry struct {
	Type     string // STANDARD, EC2_LINUX, EC2_WINDOWS, EC2, FARGATE_LINUX, HYBRID_LINUX, HYPERPOD_LINUX
	Username string
	Created  time.Time
	// Policies are the ARNs of the associated access policies. If they were not read, Policies is
	// nil and PoliciesRead is false.
	Policies     []string
	PoliciesRead bool
}

// AccessEntries are a cluster's access entries as far as they were read.
type AccessEntries struct {
	// Principals are the ARNs of all entries.
	Principals []string
	// Entries are the entries that were read in full, by principal ARN. An entry in Principals but
	// not in Entries was not read.
	Entries map[string]Fact[AccessEntry]
}

// AwsAuth is the mapRoles part of the ConfigMap kube-system/aws-auth, as the
// authenticator of EKS reads it.
type AwsAuth struct {
	// Unparseable is why mapRoles as a whole cannot be read, "" if it can. The authenticator then
	// knows no role mapping at all.
	Unparseable string
	// Roles are the mappings in the order of the file, including those that a later mapping of the
	// same role replaces.
	Roles []RoleMapping
	// Users are the ARNs of mapUsers, in lower case. The authenticator compares them last, whatever
	// kind of ARN they are, so a role listed there is mapped too.
	Users []string
	// Rejected are the entries that the authenticator drops individually.
	Rejected []RejectedMapping
}

// RoleMapping is one entry of mapRoles.
type RoleMapping struct {
	Index    int    // in mapRoles, from 0
	ARN      string // rolearn as it is written
	Username string
	Groups   []string
	// Canonical is the ARN under which the authenticator keeps the mapping: lower case, as in its
	// comparison.
	Canonical string
	// Path reports whether the ARN carries an IAM path. The authenticator compares without one.
	Path bool
	// InstanceProfile reports whether the ARN is that of an instance profile.
	InstanceProfile bool
	// Effective reports whether no later entry of the same canonical ARN replaces it.
	Effective bool
}

// RejectedMapping is an entry of mapRoles that the authenticator rejects.
type RejectedMapping struct {
	Index int    // in mapRoles, from 0; -1 if unknown
	ARN   string // as written, "" if it has none
	Why   string
}
