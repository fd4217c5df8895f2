package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A Call is one AWS API call that the emulator received.
type Call struct {
	Time        time.Time `json:"time"`
	Service     string    `json:"service"` // the signing name: ec2, eks, autoscaling, sns, ...
	Action      string    `json:"action"`  // the API operation: DescribeInstances, ...
	Region      string    `json:"region"`
	AccessKeyID string    `json:"accessKeyId"`
	Status      int       `json:"status"`    // HTTP status of the answer
	ErrorCode   string    `json:"errorCode"` // AWS error code of the answer, empty on success
	Injected    bool      `json:"injected"`  // answered by a Fault
	// Params are the call's parameters, flattened: "InstanceId.1", "Filter.1.Name", "tags.env".
	Params map[string]string `json:"params"`
	// Resources are the IDs, names and ARNs among the parameters that identify the call's
	// resources.
	Resources []string `json:"resources"`
}

// Calls returns the calls made since the last [Bed.Reset] or [Bed.ForgetCalls], in order of arrival,
// without the bed's own.
func (b *Bed) Calls(ctx context.Context) ([]Call, error) {
	var all []Call
	if err := b.control(ctx, http.MethodGet, "calls", nil, &all); err != nil {
		return nil, err
	}
	calls := all[:0]
	for _, c := range all {
		if c.AccessKeyID != SeederAccessKeyID {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// ForgetCalls empties the call logs of AWS and Kubernetes.
func (b *Bed) ForgetCalls(ctx context.Context) error {
	if err := b.forgetAudit(ctx); err != nil {
		return err
	}
	return b.control(ctx, http.MethodDelete, "calls", nil, nil)
}

// Unexpected is an answer that AWS would not have given: a crash or a gap in the emulator. A test with one has
// tested the emulator's fault, however the SDK handled it.
type Unexpected struct {
	Time    time.Time `json:"time"`
	Service string    `json:"service"`
	Action  string    `json:"action"`
	Status  int       `json:"status"`
	Body    string    `json:"body"` // truncated to its beginning
}

// Unexpected returns the unexpected answers since the last [Bed.Reset]; tests fail if there are any.
func (b *Bed) Unexpected(ctx context.Context) ([]Unexpected, error) {
	var u []Unexpected
	err := b.control(ctx, http.MethodGet, "unexpected", nil, &u)
	return u, err
}

// FaultKind is the AWS error that a [Fault] imitates.
type FaultKind string

// The kinds of faults. Code, status and body follow the service's protocol.
const (
	Throttle FaultKind = "throttle" // EC2: RequestLimitExceeded, 503; others ThrottlingException or Throttling, 400
	Deny     FaultKind = "denied"   // EC2: UnauthorizedOperation; JSON: AccessDeniedException; query: AccessDenied
	Custom   FaultKind = "custom"   // Code, Status and Message as given
)

// A Fault is a rule by which the emulator refuses calls. The first rule that matches wins; the bed's own calls are
// never refused.
type Fault struct {
	Service     string    `json:"service,omitempty"`     // signing name; empty matches any
	Action      string    `json:"action,omitempty"`      // operation; empty matches any
	AccessKeyID string    `json:"accessKeyId,omitempty"` // caller; empty matches any
	Page        int       `json:"page,omitempty"`        // only the n-th page of a paged listing, from 1
	Nth         int       `json:"nth,omitempty"`         // only from the n-th call on that matches the rest, from 1
	Times       int       `json:"times,omitempty"`       // how many calls to refuse; 0 means all
	Kind        FaultKind `json:"kind"`
	Code        string    `json:"code,omitempty"`    // Custom: the AWS error code; otherwise overrides the usual one
	Status      int       `json:"status,omitempty"`  // Custom: the HTTP status, 400 if unset
	Message     string    `json:"message,omitempty"` // overrides the usual text
	// Params must all be among the call's parameters with exactly these values; see [Call.Params] for the keys. A key
	// that ends in "*" matches any key with that prefix: {"InstanceId.*": "i-1"}.
	Params map[string]string `json:"params,omitempty"`
}

// Inject adds fault rules; they stay until [Bed.ClearFaults] or [Bed.Reset].
func (b *Bed) Inject(ctx context.Context, faults ...Fault) error {
	for _, f := range faults {
		if err := b.control(ctx, http.MethodPost, "faults", f, nil); err != nil {
			return err
		}
	}
	return nil
}

// ClearFaults removes all fault rules.
func (b *Bed) ClearFaults(ctx context.Context) error {
	return b.control(ctx, http.MethodDelete, "faults", nil, nil)
}

// SetPageSize limits the pages of DescribeInstances listings to n reservations, so that a small fleet needs several.
// 0 removes the limit. RunInstance makes one reservation per instance.
func (b *Bed) SetPageSize(ctx context.Context, n int) error {
	return b.control(ctx, http.MethodPut, "page-size", map[string]int{"size": n}, nil)
}

// ClusterChange is a change of an EKS cluster for [Bed.SetCluster]; empty fields are unchanged.
type ClusterChange struct {
	Endpoint string            `json:"endpoint,omitempty"`
	CA       string            `json:"ca,omitempty"`     // base64 of PEM, as DescribeCluster gives it
	Status   string            `json:"status,omitempty"` // ACTIVE, CREATING, UPDATING, DELETING, FAILED
	Version  string            `json:"version,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	// CreatedAt is RFC 3339 in UTC.
	CreatedAt string `json:"createdAt,omitempty"`
	// AuthenticationMode is API, API_AND_CONFIG_MAP or CONFIG_MAP.
	AuthenticationMode string `json:"authenticationMode,omitempty"`
	// Network replaces the fields of resourcesVpcConfig that it sets.
	Network *ClusterNetwork `json:"network,omitempty"`
	// ZonalShift reports whether ARC may shift the cluster away from a zone; see
	// [Bed.SetShifts].
	ZonalShift *bool `json:"zonalShift,omitempty"`
}

// ClusterNetwork is the resourcesVpcConfig of an EKS cluster; nil or empty fields are unchanged.
type ClusterNetwork struct {
	VPCID                  string   `json:"vpcId,omitempty"`
	SubnetIDs              []string `json:"subnetIds,omitempty"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty"`
	SecurityGroupIDs       []string `json:"securityGroupIds,omitempty"`
	PublicAccess           *bool    `json:"endpointPublicAccess,omitempty"`
	PrivateAccess          *bool    `json:"endpointPrivateAccess,omitempty"`
	PublicAccessCIDRs      []string `json:"publicAccessCidrs,omitempty"`
}

// SetCluster changes what DescribeCluster returns for an existing cluster.
func (b *Bed) SetCluster(ctx context.Context, name string, change ClusterChange) error {
	return b.control(ctx, http.MethodPut, "clusters/"+name, change, nil)
}

// DeleteCluster removes a cluster from EKS; its instances keep running.
func (b *Bed) DeleteCluster(ctx context.Context, name string) error {
	return b.control(ctx, http.MethodDelete, "clusters/"+name, nil, nil)
}

// A Shift is a zonal shift that ARC reports for a cluster; one that does not expire is an
// autoshift.
type Shift struct {
	AwayFrom      string     `json:"awayFrom"` // a zone ID, such as euw1-az1
	AppliedStatus string     `json:"appliedStatus"`
	StartTime     time.Time  `json:"startTime"`
	ExpiryTime    *time.Time `json:"expiryTime,omitempty"`
}

// SetShifts replaces the zonal shifts of a cluster. ARC must be allowed to shift it.
func (b *Bed) SetShifts(ctx context.Context, cluster string, shifts ...Shift) error {
	if shifts == nil {
		shifts = []Shift{}
	}
	return b.control(ctx, http.MethodPut, "clusters/"+cluster+"/shifts", shifts, nil)
}

// NodeGroupChange is a change of a managed node group for [Bed.SetNodeGroup]; empty fields are
// unchanged.
type NodeGroupChange struct {
	NodeRepair bool              `json:"nodeRepair"`       // EKS repairs its nodes
	Status     string            `json:"status,omitempty"` // such as CREATE_FAILED; ACTIVE by default
	Issues     *[]NodeGroupIssue `json:"issues,omitempty"` // its health issues
}

// NodeGroupIssue is a health issue of a managed node group.
type NodeGroupIssue struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// SetNodeGroup changes what EKS returns for a managed node group of the cluster, and creates the group if needed.
// Instances become members of it by their tags; see [InstanceSpec].
func (b *Bed) SetNodeGroup(ctx context.Context, cluster, name string, change NodeGroupChange) error {
	return b.control(ctx, http.MethodPut, "clusters/"+cluster+"/nodegroups/"+name, change, nil)
}

// An Activity is a scaling activity of an Auto Scaling group.
type Activity struct {
	ActivityID    string    `json:"ActivityId"`
	Description   string    `json:"Description"` // such as "Launching a new EC2 instance"
	Cause         string    `json:"Cause"`
	StartTime     time.Time `json:"StartTime"`
	StatusCode    string    `json:"StatusCode"` // Successful, Failed, Cancelled, ...
	StatusMessage string    `json:"StatusMessage,omitempty"`
	Progress      int       `json:"Progress"`
}

// GroupChange is a change of an Auto Scaling group for [Bed.ChangeGroup]; nil fields are unchanged.
type GroupChange struct {
	Suspended  *[]string   `json:"suspended,omitempty"`  // names of processes, such as Launch
	Activities *[]Activity `json:"activities,omitempty"` // the latest first
	// Desired is the desired capacity, for which nothing is launched. Tags replace the existing tags.
	Desired *int              `json:"desired,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// ChangeGroup changes what Auto Scaling returns for a group that has had a member.
func (b *Bed) ChangeGroup(ctx context.Context, name string, change GroupChange) error {
	return b.control(ctx, http.MethodPut, "groups/"+name, change, nil)
}

// An AccessEntry is an EKS access entry as DescribeAccessEntry returns it.
type AccessEntry struct {
	PrincipalARN     string            `json:"principalArn"`
	Type             string            `json:"type"` // STANDARD, EC2_LINUX, EC2_WINDOWS, FARGATE_LINUX, EC2
	Username         string            `json:"username"`
	KubernetesGroups []string          `json:"kubernetesGroups"`
	Tags             map[string]string `json:"tags"`
	// Policies are the ARNs of the associated access policies.
	Policies []string `json:"policies"`
}

// SetAccessEntries replaces the access entries of an EKS cluster. Only the EKS API returns them: the bed's API
// server authenticates by aws-auth alone.
func (b *Bed) SetAccessEntries(ctx context.Context, cluster string, entries ...AccessEntry) error {
	return b.control(ctx, http.MethodPut, "clusters/"+cluster+"/access-entries", entries, nil)
}

// InstanceChange is a change of an instance for [Bed.ChangeInstance]; nil fields are unchanged.
type InstanceChange struct {
	LaunchTime *time.Time `json:"launchTime,omitempty"`
	// State is the EC2 state name: pending, running, shutting-down, terminated, stopping, stopped.
	State *string `json:"state,omitempty"`
	// InstanceStatus and SystemStatus are the status checks: ok, impaired, initializing, insufficient-data.
	InstanceStatus    *string `json:"instanceStatus,omitempty"`
	SystemStatus      *string `json:"systemStatus,omitempty"`
	AttachedEBSStatus *string `json:"attachedEbsStatus,omitempty"`
	// Events are the events that EC2 has scheduled; an empty list removes them.
	Events *[]ScheduledEvent `json:"events,omitempty"`
	// ImpairedSince is the time since which the impaired checks have been impaired.
	ImpairedSince *time.Time `json:"impairedSince,omitempty"`
	Console       *string    `json:"console,omitempty"` // the decoded result of GetConsoleOutput
	// Managed marks the instance as managed by EKS Auto Mode: EC2 omits it from answers to calls that do not set
	// IncludeManagedResources. The tag eks:kubernetes-node-pool-name does the same.
	Managed  *bool   `json:"managed,omitempty"`
	Platform *string `json:"platform,omitempty"` // "windows", or empty
	Purchase *string `json:"purchase,omitempty"` // spot, capacity-block, ...; empty is on demand
	// OwnerID is the account that launched the instance, if not [AccountID].
	OwnerID *string `json:"ownerId,omitempty"`
	// Hidden says which EC2 calls do not find the instance.
	Hidden *Hiding `json:"hidden,omitempty"`
	// Lifecycle is the state in its Auto Scaling group: InService, Standby, Warmed:Running, ...
	Lifecycle *string `json:"lifecycle,omitempty"`
	// OnReboot is the change that each reboot makes.
	OnReboot *InstanceChange `json:"onReboot,omitempty"`
}

// ScheduledEvent is an event that EC2 has scheduled for an instance, as
// DescribeInstanceStatus returns it.
type ScheduledEvent struct {
	ID          string `json:"InstanceEventId"`
	Code        string
	Description string
	NotBefore   time.Time
	NotAfter    time.Time
}

// Hiding says which EC2 calls do not find an instance.
type Hiding string

// The values of Hiding.
const (
	Shown       Hiding = ""
	FromListing Hiding = "listing"    // a query by its ID still finds it
	Everywhere  Hiding = "everywhere" // a query by its ID answers InvalidInstanceID.NotFound
)

// ChangeInstance changes what EC2 returns for an instance, without the side effects of a change by the EC2 API.
func (b *Bed) ChangeInstance(ctx context.Context, id string, change InstanceChange) error {
	return b.control(ctx, http.MethodPut, "instances/"+id, change, nil)
}

// ForgetInstance removes an instance from EC2, as EC2 does an hour after a termination.
func (b *Bed) ForgetInstance(ctx context.Context, id string) error {
	return b.control(ctx, http.MethodDelete, "instances/"+id, nil, nil)
}

// EmitStateChange puts the "EC2 Instance State-change Notification" event of an instance onto the default event bus,
// as EC2 does; rules with an SQS target deliver it.
func (b *Bed) EmitStateChange(ctx context.Context, id, state string) error {
	return b.control(ctx, http.MethodPost, "events", map[string]string{"instance": id, "state": state}, nil)
}

// EmitSpot puts an EC2 event about a Spot Instance, of that detail-type, onto the default event bus.
func (b *Bed) EmitSpot(ctx context.Context, id, detailType string) error {
	return b.control(ctx, http.MethodPost, "events", map[string]string{"instance": id, "announced": detailType}, nil)
}

// setIdentities sets the identity that GetCallerIdentity returns for each access key.
func (b *Bed) setIdentities(ctx context.Context, identities []Identity) error {
	type caller struct {
		ARN    string `json:"arn"`
		UserID string `json:"userId"`
	}
	callers := make(map[string]caller, len(identities))
	for _, i := range identities {
		arn, userID := i.caller()
		callers[i.AccessKeyID] = caller{arn, userID}
	}
	return b.control(ctx, http.MethodPut, "identities", callers, nil)
}

// control calls the emulator's control API. If in is nil, it sends no body; if out is nil, it
// ignores the answer's body.
func (b *Bed) control(ctx context.Context, method, path string, in, out any) error {
	subject := strings.ToLower(method) + " " + path + " on the emulator"
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode %s: %w", subject, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.awsEndpoint+"/_rollcall/"+path, body)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", subject, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s (log: %s)", subject, resp.Status, bytes.TrimSpace(data), b.logPath("emulator"))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", subject, err)
	}
	return nil
}
