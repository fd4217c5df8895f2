package collect

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"

	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
)

var at = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const principal = "arn:aws:sts::111122223333:assumed-role/inspect/demo"

// account is one AWS account with one cluster, in memory. It applies ids and filters, pages,
// rejects a whole request for one unknown id, and counts calls.
type account struct {
	mu    sync.Mutex
	calls map[string]int
	log   []string
	// fail makes every call of an action fail. With "action 2" only its second call fails, with
	// "action id" only the one about that object.
	fail map[string]error
	// heard is called for every call, in the goroutine that makes it. It may be nil.
	heard func(what string)
	// silent are actions that are never answered.
	silent map[string]bool
	page   int // how much a listing that pages hands out at once

	cluster    *ekstypes.Cluster
	nodeGroups map[string]*ekstypes.Nodegroup
	entries    []ekstypes.AccessEntry
	access     map[string][]string // access policies by principal

	instances []types.Instance
	statuses  map[string]types.InstanceStatus
	userData  map[string]string
	consoles  map[string]string
	xen       map[string]bool // instances without the latest output
	images    []types.Image
	templates []types.LaunchTemplateVersion
	subnets   []types.Subnet
	tables    []types.RouteTable
	acls      []types.NetworkAcl
	groups    []types.SecurityGroup
	gateways  []types.NatGateway
	endpoints []types.VpcEndpoint
	vpcs      []types.Vpc
	dhcp      []types.DhcpOptions
	dns       map[string]bool // by "vpc attribute"

	scaling    []asgtypes.AutoScalingGroup
	detached   []asgtypes.AutoScalingInstanceDetails
	activities map[string][]asgtypes.Activity

	profiles map[string]*iamtypes.InstanceProfile
	roles    map[string]*iamtypes.Role
	attached map[string][]string
	inline   map[string][]string

	api *apiServer
}

func newAccount() *account {
	return &account{
		calls: map[string]int{}, fail: map[string]error{}, page: 100,
		nodeGroups: map[string]*ekstypes.Nodegroup{}, access: map[string][]string{},
		statuses: map[string]types.InstanceStatus{}, userData: map[string]string{}, consoles: map[string]string{}, xen: map[string]bool{}, dns: map[string]bool{},
		activities: map[string][]asgtypes.Activity{},
		profiles:   map[string]*iamtypes.InstanceProfile{}, roles: map[string]*iamtypes.Role{}, attached: map[string][]string{}, inline: map[string][]string{},
		api: newAPIServer(),
	}
}

func (a *account) collector() *Collector {
	return New(Options{AWS: a.aws(), Kube: a, Principal: func(context.Context) string { return principal }})
}

func (a *account) aws() aws.Config { return a.answers(a) }

// answers returns the configuration of clients whose calls the methods of api answer, each counted
// and logged with what it is about.
func (a *account) answers(api any) aws.Config {
	methods := apistats.Methods(api)
	return apistats.Intercept(aws.Config{Region: "eu-west-1"}, func(ctx context.Context, in any, next apistats.Call) (any, error) {
		if err := a.call(ctx, apistats.Action(ctx), about(in)); err != nil {
			return nil, err
		}
		return methods(ctx, in, next)
	})
}

// about returns the objects that a call names; of several instances their number.
func about(in any) string {
	call := reflect.ValueOf(in).Elem()
	if many := call.FieldByName("InstanceIds"); many.IsValid() {
		return fmt.Sprint(many.Len())
	}
	for _, name := range []string{"InstanceId", "ImageIds", "LaunchTemplateId", "SubnetIds", "GroupIds", "NatGatewayIds", "VpcIds", "VpcId", "DhcpOptionsIds", "NodegroupName", "PrincipalArn",
		"AutoScalingGroupNames", "AutoScalingGroupName", "InstanceProfileName", "PolicyName", "PolicyArn", "RoleName", "Name"} {
		if f := call.FieldByName(name); f.IsValid() {
			switch v := f.Interface().(type) {
			case *string:
				return aws.ToString(v)
			case []string:
				return strings.Join(v, ",")
			}
		}
	}
	return ""
}

// Dial implements dialer.
func (a *account) Dial(roll.Cluster) (*kube.Client, error) { return kube.NewInMemoryClient(a.api) }

// total is the number of AWS calls made.
func (a *account) total() (n int) {
	for _, c := range a.calls {
		n += c
	}
	return n
}

// call counts a call and returns its configured error.
func (a *account) call(ctx context.Context, action, about string) error {
	if a.heard != nil {
		a.heard(action + " " + about)
	}
	if a.silent[action] {
		<-ctx.Done()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[action]++
	a.log = append(a.log, action+" "+about)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", action, ctx.Err())
	}
	for _, key := range []string{action, fmt.Sprintf("%s %d", action, a.calls[action]), action + " " + about} {
		if err := a.fail[key]; err != nil {
			return err
		}
	}
	return nil
}

func apiError(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

// denied returns the service's error for a caller without permission for the action.
func denied(action string) error {
	code := map[string]string{"ec2": "UnauthorizedOperation", "eks": "AccessDeniedException"}[strings.Split(action, ":")[0]]
	if code == "" {
		code = "AccessDenied"
	}
	return apiError(code, "User: "+principal+" is not authorized to perform: "+action+" because no identity-based policy allows the "+action+" action")
}

// chosen returns the rows of the ids, or the error with which EC2 rejects unknown ids.
func chosen[T any](all []T, id func(*T) *string, ids []string, code, text string) ([]T, error) {
	var out []T
	var unknown []string
	for _, want := range ids {
		i := slices.IndexFunc(all, func(t T) bool { return aws.ToString(id(&t)) == want })
		if i < 0 {
			unknown = append(unknown, want)
			continue
		}
		out = append(out, all[i])
	}
	if len(unknown) > 0 {
		return nil, apiError(code, fmt.Sprintf(text, strings.Join(unknown, ", ")))
	}
	return out, nil
}

// cut returns one page of a list, and the token of the next.
func cut[T any](all []T, token *string, size int) ([]T, *string) {
	from := 0
	if token != nil {
		if _, err := fmt.Sscanf(*token, "from-%d", &from); err != nil {
			panic(err)
		}
	}
	all = all[from:]
	if len(all) <= size {
		return all, nil
	}
	return all[:size], aws.String(fmt.Sprintf("from-%d", from+size))
}

// inVPC keeps what the filter selects, which must be vpc-id.
func inVPC[T any](all []T, vpc func(*T) *string, filters []types.Filter) []T {
	if len(filters) != 1 || aws.ToString(filters[0].Name) != "vpc-id" {
		panic("the fake EC2 knows the filter vpc-id only")
	}
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !slices.Contains(filters[0].Values, aws.ToString(vpc(&t))) })
}

func (a *account) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	if len(in.InstanceIds) == 0 || !aws.ToBool(in.IncludeManagedResources) {
		panic("every instance of the region, or not the managed ones")
	}
	found, err := chosen(a.instances, func(i *types.Instance) *string { return i.InstanceId }, in.InstanceIds, "InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist")
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeInstancesOutput{Reservations: []types.Reservation{{Instances: found}}}, nil
}

func (a *account) DescribeVolumes(context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error) {
	panic("evidence asks for no volumes")
}

func (a *account) DescribeNetworkInterfaces(context.Context, *ec2.DescribeNetworkInterfacesInput, ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	panic("evidence asks for no network interfaces")
}

func (a *account) DescribeInstanceStatus(_ context.Context, in *ec2.DescribeInstanceStatusInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	if n := len(in.InstanceIds); n == 0 || n > 100 || !aws.ToBool(in.IncludeAllInstances) {
		panic("at most 100 instances, in whatever state")
	}
	if _, err := chosen(a.instances, func(i *types.Instance) *string { return i.InstanceId }, in.InstanceIds, "InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist"); err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceStatusOutput{}
	for _, id := range in.InstanceIds {
		s, ok := a.statuses[id]
		if !ok {
			fine := &types.InstanceStatusSummary{Status: types.SummaryStatusOk}
			s = types.InstanceStatus{InstanceStatus: fine, SystemStatus: fine}
		}
		s.InstanceId = aws.String(id)
		out.InstanceStatuses = append(out.InstanceStatuses, s)
	}
	return out, nil
}

func (a *account) DescribeInstanceAttribute(_ context.Context, in *ec2.DescribeInstanceAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error) {
	id := aws.ToString(in.InstanceId)
	out := &ec2.DescribeInstanceAttributeOutput{UserData: &types.AttributeValue{}}
	if text, ok := a.userData[id]; ok {
		out.UserData.Value = aws.String(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return out, nil
}

func (a *account) GetConsoleOutput(_ context.Context, in *ec2.GetConsoleOutputInput, _ ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error) {
	id := aws.ToString(in.InstanceId)
	if aws.ToBool(in.Latest) && a.xen[id] {
		return nil, apiError("UnsupportedOperation", "This instance type does not support retrieving the latest console logs. Only supported instance types: ...")
	}
	out := &ec2.GetConsoleOutputOutput{InstanceId: in.InstanceId, Timestamp: aws.Time(at)}
	if text, ok := a.consoles[id]; ok {
		out.Output = aws.String(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return out, nil
}

func (a *account) DescribeImages(_ context.Context, in *ec2.DescribeImagesInput, _ ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	if !aws.ToBool(in.IncludeDeprecated) {
		panic("deprecated AMIs run too")
	}
	found, err := chosen(a.images, func(i *types.Image) *string { return i.ImageId }, in.ImageIds, "InvalidAMIID.NotFound", "The image ids '[%s]' do not exist")
	return &ec2.DescribeImagesOutput{Images: found}, err
}

func (a *account) DescribeLaunchTemplateVersions(_ context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	id := aws.ToString(in.LaunchTemplateId)
	out := &ec2.DescribeLaunchTemplateVersionsOutput{}
	for _, v := range in.Versions {
		i := slices.IndexFunc(a.templates, func(t types.LaunchTemplateVersion) bool {
			return aws.ToString(t.LaunchTemplateId) == id && fmt.Sprint(aws.ToInt64(t.VersionNumber)) == v
		})
		if i < 0 {
			return nil, apiError("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version "+v+" for the launch template with ID "+id+".")
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, a.templates[i])
	}
	return out, nil
}

func (a *account) DescribeSubnets(_ context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	found, err := chosen(a.subnets, func(s *types.Subnet) *string { return s.SubnetId }, in.SubnetIds, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
	return &ec2.DescribeSubnetsOutput{Subnets: found}, err
}

func (a *account) DescribeRouteTables(_ context.Context, in *ec2.DescribeRouteTablesInput, _ ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error) {
	page, next := cut(inVPC(a.tables, func(t *types.RouteTable) *string { return t.VpcId }, in.Filters), in.NextToken, a.page)
	return &ec2.DescribeRouteTablesOutput{RouteTables: page, NextToken: next}, nil
}

func (a *account) DescribeNetworkAcls(_ context.Context, in *ec2.DescribeNetworkAclsInput, _ ...func(*ec2.Options)) (*ec2.DescribeNetworkAclsOutput, error) {
	page, next := cut(inVPC(a.acls, func(t *types.NetworkAcl) *string { return t.VpcId }, in.Filters), in.NextToken, a.page)
	return &ec2.DescribeNetworkAclsOutput{NetworkAcls: page, NextToken: next}, nil
}

func (a *account) DescribeSecurityGroups(_ context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	found, err := chosen(a.groups, func(g *types.SecurityGroup) *string { return g.GroupId }, in.GroupIds, "InvalidGroup.NotFound", "The security group '%s' does not exist")
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: found}, err
}

func (a *account) DescribeNatGateways(_ context.Context, in *ec2.DescribeNatGatewaysInput, _ ...func(*ec2.Options)) (*ec2.DescribeNatGatewaysOutput, error) {
	found, err := chosen(a.gateways, func(g *types.NatGateway) *string { return g.NatGatewayId }, in.NatGatewayIds, "NatGatewayNotFound", "NatGateway %s was not found")
	return &ec2.DescribeNatGatewaysOutput{NatGateways: found}, err
}

func (a *account) DescribeVpcEndpoints(_ context.Context, in *ec2.DescribeVpcEndpointsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	page, next := cut(inVPC(a.endpoints, func(e *types.VpcEndpoint) *string { return e.VpcId }, in.Filters), in.NextToken, a.page)
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: page, NextToken: next}, nil
}

func (a *account) DescribeVpcs(_ context.Context, in *ec2.DescribeVpcsInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error) {
	found, err := chosen(a.vpcs, func(v *types.Vpc) *string { return v.VpcId }, in.VpcIds, "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")
	return &ec2.DescribeVpcsOutput{Vpcs: found}, err
}

func (a *account) DescribeDhcpOptions(_ context.Context, in *ec2.DescribeDhcpOptionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error) {
	found, err := chosen(a.dhcp, func(o *types.DhcpOptions) *string { return o.DhcpOptionsId }, in.DhcpOptionsIds, "InvalidDhcpOptionID.NotFound", "The dhcpOption ID '%s' does not exist")
	return &ec2.DescribeDhcpOptionsOutput{DhcpOptions: found}, err
}

func (a *account) DescribeVpcAttribute(_ context.Context, in *ec2.DescribeVpcAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error) {
	v := &types.AttributeBooleanValue{Value: aws.Bool(a.dns[aws.ToString(in.VpcId)+" "+string(in.Attribute)])}
	if in.Attribute == types.VpcAttributeNameEnableDnsSupport {
		return &ec2.DescribeVpcAttributeOutput{EnableDnsSupport: v}, nil
	}
	return &ec2.DescribeVpcAttributeOutput{EnableDnsHostnames: v}, nil
}

func (a *account) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	if a.cluster == nil || aws.ToString(in.Name) != aws.ToString(a.cluster.Name) {
		return nil, &ekstypes.ResourceNotFoundException{Message: aws.String("No cluster found for name: " + aws.ToString(in.Name) + ".")}
	}
	return &eks.DescribeClusterOutput{Cluster: a.cluster}, nil
}

func (a *account) DescribeNodegroup(_ context.Context, in *eks.DescribeNodegroupInput, _ ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	name := aws.ToString(in.NodegroupName)
	if g, ok := a.nodeGroups[name]; ok {
		return &eks.DescribeNodegroupOutput{Nodegroup: g}, nil
	}
	return nil, &ekstypes.ResourceNotFoundException{Message: aws.String("No node group found for name: " + name + ".")}
}

func (a *account) ListAccessEntries(_ context.Context, in *eks.ListAccessEntriesInput, _ ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error) {
	var arns []string
	for _, e := range a.entries {
		arns = append(arns, aws.ToString(e.PrincipalArn))
	}
	page, next := cut(arns, in.NextToken, a.page)
	return &eks.ListAccessEntriesOutput{AccessEntries: page, NextToken: next}, nil
}

func (a *account) DescribeAccessEntry(_ context.Context, in *eks.DescribeAccessEntryInput, _ ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error) {
	arn := aws.ToString(in.PrincipalArn)
	for i := range a.entries {
		if aws.ToString(a.entries[i].PrincipalArn) == arn {
			return &eks.DescribeAccessEntryOutput{AccessEntry: &a.entries[i]}, nil
		}
	}
	return nil, &ekstypes.ResourceNotFoundException{Message: aws.String("The specified principalArn could not be found.")}
}

func (a *account) ListAssociatedAccessPolicies(_ context.Context, in *eks.ListAssociatedAccessPoliciesInput, _ ...func(*eks.Options)) (*eks.ListAssociatedAccessPoliciesOutput, error) {
	arn := aws.ToString(in.PrincipalArn)
	out := &eks.ListAssociatedAccessPoliciesOutput{}
	for _, p := range a.access[arn] {
		out.AssociatedAccessPolicies = append(out.AssociatedAccessPolicies, ekstypes.AssociatedAccessPolicy{PolicyArn: aws.String(p)})
	}
	return out, nil
}

func (a *account) DescribeAutoScalingInstances(_ context.Context, in *autoscaling.DescribeAutoScalingInstancesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	if n := len(in.InstanceIds); n == 0 || n > 50 {
		return nil, apiError("ValidationError", "at most 50 ids")
	}
	all := slices.Clone(a.detached)
	for _, g := range a.scaling {
		for _, i := range g.Instances {
			all = append(all, asgtypes.AutoScalingInstanceDetails{InstanceId: i.InstanceId, AutoScalingGroupName: g.AutoScalingGroupName, LifecycleState: aws.String(string(i.LifecycleState)), HealthStatus: aws.String("HEALTHY")})
		}
	}
	out := &autoscaling.DescribeAutoScalingInstancesOutput{}
	for _, i := range all {
		if slices.Contains(in.InstanceIds, aws.ToString(i.InstanceId)) {
			out.AutoScalingInstances = append(out.AutoScalingInstances, i)
		}
	}
	return out, nil
}

func (a *account) DescribeAutoScalingGroups(_ context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	var found []asgtypes.AutoScalingGroup
	for _, g := range a.scaling {
		if slices.Contains(in.AutoScalingGroupNames, aws.ToString(g.AutoScalingGroupName)) {
			found = append(found, g)
		}
	}
	page, next := cut(found, in.NextToken, a.page)
	return &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: page, NextToken: next}, nil
}

func (a *account) DescribeScalingActivities(_ context.Context, in *autoscaling.DescribeScalingActivitiesInput, _ ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	name := aws.ToString(in.AutoScalingGroupName)
	all, _ := first(a.activities[name], int(aws.ToInt32(in.MaxRecords)))
	return &autoscaling.DescribeScalingActivitiesOutput{Activities: all}, nil
}

func noSuch(kind, name string) error {
	return &iamtypes.NoSuchEntityException{Message: aws.String("The " + kind + " with name " + name + " cannot be found.")}
}

func (a *account) GetInstanceProfile(_ context.Context, in *iam.GetInstanceProfileInput, _ ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error) {
	name := aws.ToString(in.InstanceProfileName)
	if p, ok := a.profiles[name]; ok {
		return &iam.GetInstanceProfileOutput{InstanceProfile: p}, nil
	}
	return nil, noSuch("instance profile", name)
}

func (a *account) GetRole(_ context.Context, in *iam.GetRoleInput, _ ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	name := aws.ToString(in.RoleName)
	if r, ok := a.roles[name]; ok {
		return &iam.GetRoleOutput{Role: r}, nil
	}
	return nil, noSuch("role", name)
}

func (a *account) ListAttachedRolePolicies(_ context.Context, in *iam.ListAttachedRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	name := aws.ToString(in.RoleName)
	if _, ok := a.roles[name]; !ok {
		return nil, noSuch("role", name)
	}
	var all []iamtypes.AttachedPolicy
	for _, p := range a.attached[name] {
		all = append(all, iamtypes.AttachedPolicy{PolicyArn: aws.String(p)})
	}
	page, next := cut(all, in.Marker, a.page)
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: page, Marker: next, IsTruncated: next != nil}, nil
}

func (a *account) ListRolePolicies(_ context.Context, in *iam.ListRolePoliciesInput, _ ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error) {
	name := aws.ToString(in.RoleName)
	page, next := cut(a.inline[name], in.Marker, a.page)
	return &iam.ListRolePoliciesOutput{PolicyNames: page, Marker: next, IsTruncated: next != nil}, nil
}

func (a *account) GetRolePolicy(_ context.Context, in *iam.GetRolePolicyInput, _ ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error) {
	name := aws.ToString(in.PolicyName)
	return &iam.GetRolePolicyOutput{RoleName: in.RoleName, PolicyName: in.PolicyName, PolicyDocument: aws.String("%7B%22Id%22%3A%22" + name + "%22%7D")}, nil
}

func (a *account) GetPolicy(_ context.Context, in *iam.GetPolicyInput, _ ...func(*iam.Options)) (*iam.GetPolicyOutput, error) {
	return &iam.GetPolicyOutput{Policy: &iamtypes.Policy{Arn: in.PolicyArn, DefaultVersionId: aws.String("v3")}}, nil
}

func (a *account) GetPolicyVersion(_ context.Context, in *iam.GetPolicyVersionInput, _ ...func(*iam.Options)) (*iam.GetPolicyVersionOutput, error) {
	return &iam.GetPolicyVersionOutput{PolicyVersion: &iamtypes.PolicyVersion{VersionId: in.VersionId, Document: aws.String("%7B%22Id%22%3A%22" + aws.ToString(in.VersionId) + "%22%7D")}}, nil
}

// asked returns the objects that the calls of an action were about, sorted.
func (a *account) asked(action string) []string {
	var out []string
	for _, entry := range a.log {
		if about, ok := strings.CutPrefix(entry, action+" "); ok {
			out = append(out, about)
		}
	}
	slices.Sort(out)
	return out
}

func id(kind string, n int) string { return fmt.Sprintf("%s-%017x", kind, n) }

func instanceID(n int) roll.InstanceID { return roll.InstanceID(id("i", n)) }

func tags(all ...string) []types.Tag {
	var out []types.Tag
	for _, t := range all {
		key, value, _ := strings.Cut(t, "=")
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return out
}
