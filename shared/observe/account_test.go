package observe

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
)

var at = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const principal = "arn:aws:sts::111122223333:assumed-role/inspect/demo"

// account is one AWS account with one cluster: EC2, EKS, Auto Scaling and the Kubernetes API. They
// page, hide managed instances, reject what the real ones reject, and record every call in one log.
type account struct {
	mu  sync.Mutex
	log []string // every call, in order
	// fail makes the n-th call (from 1) of a kind fail.
	fail map[string]error // "ec2:DescribeInstances 2"
	// before is run before the n-th call of a kind is answered.
	before map[string]func()
	seen   map[string]int

	cluster     *ekstypes.Cluster
	clusters    []string
	instances   []types.Instance
	pageSize    int // the maximum page size of EC2, for any request
	named       int // how many unknown ids one refusal names
	scaling     map[string]asgtypes.AutoScalingInstanceDetails
	userData    map[string]string // as the API shows it, in base64
	protected   map[string]bool
	unstopped   map[string]bool // with stop protection
	nodes       []corev1.Node
	nodePage    int
	owner       string // of the reservations; "" is left out
	owners      map[string]string
	statuses    []types.InstanceStatus
	shifts      *arczonalshift.GetManagedResourceOutput
	nodeGroups  map[string]*ekstypes.Nodegroup
	groups      []asgtypes.AutoScalingGroup
	scalings    map[string][]asgtypes.Activity
	claims      []nodeClaim
	conditions  map[string][]map[string]any // of NodeClaims, by name
	noKarpenter bool
	ofCluster   []asgtypes.AutoScalingGroup // those with the cluster's tag
	events      []map[string]any
	pools       []map[string]any
	volumes     []types.Volume
	interfaces  []types.NetworkInterface

	untagged map[string]bool // instances that DescribeTags does not show yet
	leftTags []string        // instances that only DescribeTags shows still

	listings   []listing
	attributes []ec2.DescribeInstanceAttributeInput
	batches    [][]string
	checks     []ec2.DescribeInstanceStatusInput
	asked      []string    // the requested names of groups and other objects
	times      []time.Time // of DescribeInstances

	server *httptest.Server
}

func newAccount(t *testing.T) *account {
	t.Helper()
	a := &account{
		fail: map[string]error{}, before: map[string]func(){}, seen: map[string]int{},
		scaling: map[string]asgtypes.AutoScalingInstanceDetails{}, userData: map[string]string{}, protected: map[string]bool{}, unstopped: map[string]bool{},
		owner: "111122223333", owners: map[string]string{}, nodeGroups: map[string]*ekstypes.Nodegroup{}, scalings: map[string][]asgtypes.Activity{},
		pageSize: 1000, named: 1000, nodePage: 1000,
	}
	a.server = httptest.NewTLSServer(http.HandlerFunc(a.serveKubernetes))
	t.Cleanup(a.server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	a.cluster = activeCluster()
	a.cluster.Endpoint = aws.String(a.server.URL)
	a.cluster.CertificateAuthority = &ekstypes.Certificate{Data: aws.String(base64.StdEncoding.EncodeToString(ca))}
	return a
}

func activeCluster() *ekstypes.Cluster {
	return &ekstypes.Cluster{
		Name: aws.String("demo"), Arn: aws.String("arn:aws:eks:eu-west-1:111122223333:cluster/demo"),
		Status: ekstypes.ClusterStatusActive, Version: aws.String("1.36"), Endpoint: aws.String("https://demo.example"),
		Tags: map[string]string{"rollcall:mode": "notify", "team": "web"},
	}
}

// observer reads the account without waiting between pages.
func (a *account) observer() *Observer {
	return New(Options{AWS: a.aws(), Kube: a, Principal: func(context.Context) string { return principal }, PageInterval: time.Nanosecond})
}

// aws returns the configuration of clients whose calls the account's methods answer, each recorded.
func (a *account) aws() aws.Config {
	methods := apistats.Methods(a)
	return apistats.Intercept(aws.Config{Region: "eu-west-1"}, func(ctx context.Context, in any, next apistats.Call) (any, error) {
		a.record(in)
		if err := a.call(apistats.Action(ctx)); err != nil {
			return nil, err
		}
		return methods(ctx, in, next)
	})
}

// record records what a call asks for, also of one that fails.
func (a *account) record(in any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch in := in.(type) {
	case *ec2.DescribeInstancesInput:
		kept := *in // the caller changes it for the next page
		kept.InstanceIds = slices.Clone(in.InstanceIds)
		a.listings, a.times = append(a.listings, kept), append(a.times, time.Now())
	case *ec2.DescribeInstanceStatusInput:
		a.checks, a.times = append(a.checks, *in), append(a.times, time.Now())
	case *ec2.DescribeInstanceAttributeInput:
		a.attributes = append(a.attributes, *in)
	case *autoscaling.DescribeAutoScalingInstancesInput:
		if in.NextToken == nil {
			a.batches = append(a.batches, slices.Clone(in.InstanceIds))
		}
	}
}

// Dial implements dialer, without authentication.
func (a *account) Dial(c roll.Cluster) (*kube.Client, error) {
	return kube.NewClient(c.Endpoint, c.CA, "test", nil)
}

// call records a call and returns its configured error.
func (a *account) call(name string) error {
	a.mu.Lock()
	a.log = append(a.log, name)
	a.seen[name]++
	nth := fmt.Sprintf("%s %d", name, a.seen[name])
	hook := a.before[nth]
	err := a.fail[nth]
	if err == nil {
		err = a.fail[name]
	}
	a.mu.Unlock()
	if hook != nil {
		hook()
	}
	return err
}

func apiError(service, operation, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func (a *account) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	if a.cluster == nil {
		return &eks.DescribeClusterOutput{}, nil
	}
	if aws.ToString(in.Name) != aws.ToString(a.cluster.Name) {
		return nil, &smithy.OperationError{ServiceID: "EKS", OperationName: "DescribeCluster", Err: &ekstypes.ResourceNotFoundException{Message: aws.String("No cluster found for name: " + aws.ToString(in.Name) + ".")}}
	}
	return &eks.DescribeClusterOutput{Cluster: a.cluster}, nil
}

// ListClusters returns two names per page.
func (a *account) ListClusters(_ context.Context, in *eks.ListClustersInput, _ ...func(*eks.Options)) (*eks.ListClustersOutput, error) {
	page, next := cut(a.clusters, aws.ToString(in.NextToken), 2)
	return &eks.ListClustersOutput{Clusters: page, NextToken: next}, nil
}

// cut returns one page of a list, and the token of the next.
func cut[T any](all []T, token string, size int) ([]T, *string) {
	from, _ := strconv.Atoi(strings.TrimPrefix(token, "from-"))
	all = all[from:]
	if len(all) <= size {
		return all, nil
	}
	return all[:size], aws.String(fmt.Sprintf("from-%d", from+size))
}

func (a *account) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, apiError("EC2", "DescribeInstances", "InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if unknown := slices.DeleteFunc(slices.Clone(in.InstanceIds), a.knows); len(unknown) > 0 {
		unknown = unknown[:min(len(unknown), a.named)]
		text := "The instance ID '" + unknown[0] + "' does not exist"
		if len(unknown) > 1 {
			text = "The instance IDs '" + strings.Join(unknown, ", ") + "' do not exist"
		}
		return nil, apiError("EC2", "DescribeInstances", "InvalidInstanceID.NotFound", text)
	}
	var found []types.Instance
	for _, i := range a.instances {
		if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, aws.ToString(i.InstanceId)) {
			continue
		}
		if i.Operator != nil && aws.ToBool(i.Operator.Managed) && !aws.ToBool(in.IncludeManagedResources) {
			continue
		}
		if !slices.ContainsFunc(in.Filters, func(f types.Filter) bool { return !matches(i, f) }) {
			found = append(found, i)
		}
	}
	size := a.pageSize
	if in.MaxResults != nil {
		size = min(size, int(*in.MaxResults))
	}
	page, next := cut(found, aws.ToString(in.NextToken), size)
	out := &ec2.DescribeInstancesOutput{NextToken: next}
	for _, i := range page {
		r := types.Reservation{Instances: []types.Instance{i}}
		if owner := cmp.Or(a.owners[aws.ToString(i.InstanceId)], a.owner); owner != "" {
			r.OwnerId = aws.String(owner)
		}
		out.Reservations = append(out.Reservations, r)
	}
	return out, nil
}

func (a *account) knows(id string) bool {
	return slices.ContainsFunc(a.instances, func(i types.Instance) bool { return aws.ToString(i.InstanceId) == id })
}

func matches(i types.Instance, f types.Filter) bool {
	switch aws.ToString(f.Name) {
	case "tag-key":
	case "private-dns-name":
		return slices.Contains(f.Values, aws.ToString(i.PrivateDnsName))
	case "operator.managed":
		return i.Operator != nil && slices.Contains(f.Values, strconv.FormatBool(aws.ToBool(i.Operator.Managed)))
	default:
		panic("the fake EC2 knows no filter " + aws.ToString(f.Name))
	}
	return slices.ContainsFunc(i.Tags, func(t types.Tag) bool { return slices.Contains(f.Values, aws.ToString(t.Key)) })
}

func (a *account) DescribeInstanceAttribute(_ context.Context, in *ec2.DescribeInstanceAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error) {
	id := aws.ToString(in.InstanceId)
	out := &ec2.DescribeInstanceAttributeOutput{InstanceId: in.InstanceId}
	switch in.Attribute {
	case types.InstanceAttributeNameUserData:
		out.UserData = &types.AttributeValue{}
		if v, ok := a.userData[id]; ok {
			out.UserData.Value = aws.String(v)
		}
	case types.InstanceAttributeNameDisableApiTermination:
		if v, ok := a.protected[id]; ok {
			out.DisableApiTermination = &types.AttributeBooleanValue{Value: aws.Bool(v)}
		}
	case types.InstanceAttributeNameDisableApiStop:
		out.DisableApiStop = &types.AttributeBooleanValue{Value: aws.Bool(a.unstopped[id])}
	}
	return out, nil
}

func (a *account) DescribeLaunchTemplateVersions(_ context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	data := &types.ResponseLaunchTemplateData{UserData: aws.String(a.userData[aws.ToString(in.LaunchTemplateId)+":"+in.Versions[0]])}
	return &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: []types.LaunchTemplateVersion{{LaunchTemplateData: data}}}, nil
}

func (a *account) DescribeAutoScalingInstances(_ context.Context, in *autoscaling.DescribeAutoScalingInstancesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	if len(in.InstanceIds) > 50 {
		return nil, apiError("Auto Scaling", "DescribeAutoScalingInstances", "ValidationError", "at most 50 ids")
	}
	var found []asgtypes.AutoScalingInstanceDetails
	for _, id := range in.InstanceIds {
		if d, ok := a.scaling[id]; ok {
			found = append(found, d)
		}
	}
	page, next := cut(found, aws.ToString(in.NextToken), 30)
	return &autoscaling.DescribeAutoScalingInstancesOutput{AutoScalingInstances: page, NextToken: next}, nil
}

// DescribeVolumes returns volumes by a filter for their ids, one per page.
func (a *account) DescribeVolumes(_ context.Context, in *ec2.DescribeVolumesInput, _ ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error) {
	found := slices.DeleteFunc(slices.Clone(a.volumes), func(v types.Volume) bool {
		return len(in.Filters) != 1 || aws.ToString(in.Filters[0].Name) != "volume-id" || !slices.Contains(in.Filters[0].Values, *v.VolumeId)
	})
	page, next := cut(found, aws.ToString(in.NextToken), 1)
	return &ec2.DescribeVolumesOutput{Volumes: page, NextToken: next}, nil
}

// DescribeNetworkInterfaces returns interfaces by a filter for their ids, one per page.
func (a *account) DescribeNetworkInterfaces(_ context.Context, in *ec2.DescribeNetworkInterfacesInput, _ ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	found := slices.DeleteFunc(slices.Clone(a.interfaces), func(n types.NetworkInterface) bool {
		return len(in.Filters) != 1 || aws.ToString(in.Filters[0].Name) != "network-interface-id" || !slices.Contains(in.Filters[0].Values, *n.NetworkInterfaceId)
	})
	page, next := cut(found, aws.ToString(in.NextToken), 1)
	return &ec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: page, NextToken: next}, nil
}

// DescribeInstanceStatus requires every filter to match. Only running instances have a status.
func (a *account) DescribeInstanceStatus(_ context.Context, in *ec2.DescribeInstanceStatusInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if unknown := slices.DeleteFunc(slices.Clone(in.InstanceIds), a.knows); len(unknown) > 0 {
		return nil, apiError("EC2", "DescribeInstanceStatus", "InvalidInstanceID.NotFound", "The instance ID '"+unknown[0]+"' does not exist")
	}
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, apiError("EC2", "DescribeInstanceStatus", "InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	var found []types.InstanceStatus
	for _, s := range a.statuses {
		of := func(name string) (all []string) {
			switch name {
			case "instance-status.status":
				return []string{string(s.InstanceStatus.Status)}
			case "system-status.status":
				return []string{string(s.SystemStatus.Status)}
			case "attached-ebs-status.status":
				if s.AttachedEbsStatus != nil {
					all = []string{string(s.AttachedEbsStatus.Status)}
				}
				return all
			case "application-status.status":
				if s.ApplicationStatus != nil {
					all = []string{string(s.ApplicationStatus.Status)}
				}
				return all
			case "event.code":
				for _, e := range s.Events {
					all = append(all, string(e.Code))
				}
				return all
			}
			panic("the fake EC2 knows no filter " + name)
		}
		if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, aws.ToString(s.InstanceId)) {
			continue
		}
		if !slices.ContainsFunc(in.Filters, func(f types.Filter) bool {
			return !slices.ContainsFunc(of(aws.ToString(f.Name)), func(v string) bool { return slices.Contains(f.Values, v) })
		}) {
			found = append(found, s)
		}
	}
	size := a.pageSize
	if in.MaxResults != nil {
		size = min(size, int(*in.MaxResults))
	}
	page, next := cut(found, aws.ToString(in.NextToken), size)
	return &ec2.DescribeInstanceStatusOutput{InstanceStatuses: page, NextToken: next}, nil
}

func (a *account) GetManagedResource(_ context.Context, in *arczonalshift.GetManagedResourceInput, _ ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error) {
	a.asked = append(a.asked, aws.ToString(in.ResourceIdentifier))
	return a.shifts, nil
}

// ListNodegroups returns two names per page.
func (a *account) ListNodegroups(_ context.Context, in *eks.ListNodegroupsInput, _ ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error) {
	page, next := cut(slices.Sorted(maps.Keys(a.nodeGroups)), aws.ToString(in.NextToken), 2)
	return &eks.ListNodegroupsOutput{Nodegroups: page, NextToken: next}, nil
}

func (a *account) DescribeNodegroup(_ context.Context, in *eks.DescribeNodegroupInput, _ ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	if g, ok := a.nodeGroups[aws.ToString(in.NodegroupName)]; ok && aws.ToString(in.ClusterName) == "demo" {
		return &eks.DescribeNodegroupOutput{Nodegroup: g}, nil
	}
	return nil, &smithy.OperationError{ServiceID: "EKS", OperationName: "DescribeNodegroup", Err: &ekstypes.ResourceNotFoundException{Message: aws.String("No node group found for name: " + aws.ToString(in.NodegroupName) + ".")}}
}

// DescribeAutoScalingGroups omits groups that do not exist.
func (a *account) DescribeAutoScalingGroups(_ context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	if len(in.Filters) > 0 {
		return &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: a.ofCluster}, nil
	}
	if n := len(in.AutoScalingGroupNames); n == 0 || n > 50 {
		return nil, apiError("Auto Scaling", "DescribeAutoScalingGroups", "ValidationError", fmt.Sprint(n, " names"))
	}
	var found []asgtypes.AutoScalingGroup
	for _, g := range a.groups {
		if slices.Contains(in.AutoScalingGroupNames, aws.ToString(g.AutoScalingGroupName)) {
			found = append(found, g)
		}
	}
	page, next := cut(found, aws.ToString(in.NextToken), 2)
	return &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: page, NextToken: next}, nil
}

func (a *account) DescribeScalingActivities(_ context.Context, in *autoscaling.DescribeScalingActivitiesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	a.asked = append(a.asked, aws.ToString(in.AutoScalingGroupName))
	page, next := cut(a.scalings[aws.ToString(in.AutoScalingGroupName)], "", int(aws.ToInt32(in.MaxRecords)))
	return &autoscaling.DescribeScalingActivitiesOutput{Activities: page, NextToken: next}, nil
}

// nodeClaim is one of Karpenter's NodeClaims.
type nodeClaim struct {
	name, pool string
	instance   int
}

func (a *account) listNodeClaims(w http.ResponseWriter, r *http.Request) {
	selector := r.URL.Query().Get("labelSelector")
	if selector != "" {
		a.asked = append(a.asked, selector)
	}
	if a.noKarpenter {
		http.NotFound(w, r)
		return
	}
	wanted, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	type object = map[string]any
	items := []object{}
	for _, c := range a.claims {
		if wanted.Matches(labels.Set{"karpenter.sh/nodepool": c.pool}) {
			items = append(items, object{"metadata": object{"name": c.name, "uid": "uid-" + c.name, "labels": object{"karpenter.sh/nodepool": c.pool}}, "status": object{"providerID": "aws:///eu-west-1a/" + instanceID(c.instance), "conditions": a.conditions[c.name]}})
		}
	}
	write(w, object{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaimList", "metadata": object{}, "items": items})
}

// serveKubernetes answers in JSON.
func (a *account) serveKubernetes(w http.ResponseWriter, r *http.Request) {
	name := map[string]string{"/api/v1/nodes": "kubernetes:ListNodes", "/apis/karpenter.sh/v1/nodeclaims": "kubernetes:ListNodeClaims", "/apis/karpenter.sh/v1/nodepools": "kubernetes:ListNodePools", "/api/v1/namespaces/default/events": "kubernetes:ListEvents", "/apis": "kubernetes:ListGroups"}[r.URL.Path]
	err := a.call(name)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var code int
		var reason, message string
		if _, scanErr := fmt.Sscanf(err.Error(), "%d %s", &code, &reason); scanErr != nil {
			panic(scanErr)
		}
		message = strings.TrimSpace(strings.TrimPrefix(err.Error(), fmt.Sprintf("%d %s", code, reason)))
		w.WriteHeader(code)
		write(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: metav1.StatusReason(reason), Message: message})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch name {
	case "kubernetes:ListNodeClaims":
		a.listNodeClaims(w, r)
		return
	case "kubernetes:ListEvents":
		write(w, map[string]any{"kind": "EventList", "apiVersion": "v1", "items": a.events})
		return
	case "kubernetes:ListNodePools":
		write(w, map[string]any{"kind": "NodePoolList", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{}, "items": a.pools})
		return
	case "kubernetes:ListGroups":
		write(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	page, next := cut(a.nodes, r.URL.Query().Get("continue"), min(limit, a.nodePage))
	write(w, corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{Continue: aws.ToString(next), ResourceVersion: "1"}, Items: page})
}

func write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func instanceID(n int) string { return fmt.Sprintf("i-%017x", n) }

// listing is a call of DescribeInstances.
type listing = ec2.DescribeInstancesInput

// DescribeTags returns the tags of instances with one of the keys, page by page.
func (a *account) DescribeTags(_ context.Context, in *ec2.DescribeTagsInput, _ ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []string
	for _, f := range in.Filters {
		switch aws.ToString(f.Name) {
		case "key":
			keys = f.Values
		case "resource-type":
		default:
			panic("the fake EC2 knows no filter " + aws.ToString(f.Name))
		}
	}
	wanted := func(key string) bool {
		return slices.ContainsFunc(keys, func(k string) bool {
			prefix, wild := strings.CutSuffix(k, "*")
			return k == key || wild && strings.HasPrefix(key, prefix)
		})
	}
	var found []types.TagDescription
	for _, i := range a.instances {
		for _, t := range i.Tags {
			if wanted(aws.ToString(t.Key)) && !a.untagged[aws.ToString(i.InstanceId)] {
				found = append(found, types.TagDescription{ResourceId: i.InstanceId, ResourceType: types.ResourceTypeInstance, Key: t.Key, Value: t.Value})
			}
		}
	}
	for _, id := range a.leftTags {
		found = append(found, types.TagDescription{ResourceId: aws.String(id), ResourceType: types.ResourceTypeInstance, Key: aws.String("kubernetes.io/cluster/demo")})
	}
	page, next := cut(found, aws.ToString(in.NextToken), min(a.pageSize, int(aws.ToInt32(in.MaxResults))))
	return &ec2.DescribeTagsOutput{Tags: page, NextToken: next}, nil
}

// launch adds a running instance with the tags, "key" or "key=value" each.
func (a *account) launch(n int, tags ...string) *types.Instance {
	i := types.Instance{
		InstanceId: aws.String(instanceID(n)),
		State:      &types.InstanceState{Name: types.InstanceStateNameRunning}, LaunchTime: aws.Time(at.Add(-time.Hour)),
		Placement: &types.Placement{AvailabilityZone: aws.String("eu-west-1a"), AvailabilityZoneId: aws.String("euw1-az1")},
	}
	for _, t := range tags {
		key, value, _ := strings.Cut(t, "=")
		i.Tags = append(i.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	a.instances = append(a.instances, i)
	return &a.instances[len(a.instances)-1]
}

// join adds the ready node of an instance.
func (a *account) join(n int) *corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n), CreationTimestamp: metav1.NewTime(at.Add(-30 * time.Minute))}}
	node.Spec.ProviderID = "aws:///eu-west-1a/" + instanceID(n)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at.Add(-29 * time.Minute))}}
	a.nodes = append(a.nodes, node)
	return &a.nodes[len(a.nodes)-1]
}

const owned = "kubernetes.io/cluster/demo=owned"

func ids(s *roll.Snapshot) []string {
	out := []string{}
	for _, i := range s.Instances {
		out = append(out, string(i.ID))
	}
	return out
}

func names(s *roll.Snapshot) []string {
	out := []string{}
	for _, n := range s.Nodes {
		out = append(out, n.Name)
	}
	return out
}
