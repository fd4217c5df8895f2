package bundle

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// clients are those of a bundle, or of a recorder over them.
type clients struct {
	aws  aws.Config
	ec2  *ec2.Client
	eks  *eks.Client
	asg  *autoscaling.Client
	iam  *iam.Client
	arc  *arczonalshift.Client
	kube Dialer
}

func newClients(cfg aws.Config, dialer Dialer) clients {
	return clients{cfg, ec2.NewFromConfig(cfg), eks.NewFromConfig(cfg), autoscaling.NewFromConfig(cfg), iam.NewFromConfig(cfg), arczonalshift.NewFromConfig(cfg), dialer}
}

func of(b *Bundle) clients { return newClients(b.AWS(), b.Kube()) }

func (c clients) recorded(r *Recorder) clients { return newClients(r.AWS(c.aws), r.Kube(c.kube)) }

// askAll makes every request of a capture and returns the answers.
func (c clients) askAll(t *testing.T) map[string]any {
	t.Helper()
	ctx := t.Context()
	out := map[string]any{}
	put := func(name string) func(any, error) {
		return func(answer any, err error) {
			if err != nil {
				out[name] = err.Error()
				return
			}
			out[name] = answer
		}
	}
	id, role := aws.String("i-0f100000000000001"), aws.String("demo-node")
	put("instances")(c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}))
	put("status")(c.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{IncludeAllInstances: aws.Bool(true)}))
	put("user data")(c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: id, Attribute: types.InstanceAttributeNameUserData}))
	put("no user data")(c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f200000000000001"), Attribute: types.InstanceAttributeNameUserData}))
	put("protection")(c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: id, Attribute: types.InstanceAttributeNameDisableApiTermination}))
	put("stop protection")(c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: id, Attribute: types.InstanceAttributeNameDisableApiStop}))
	put("console")(c.ec2.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String("i-0f200000000000001")}))
	put("images")(c.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-0b1"}}))
	put("templates")(c.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a1"), Versions: []string{"3"}}))
	put("subnets")(c.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0a1"}}))
	put("tables")(c.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: filter("vpc-id", "vpc-0d1")}))
	put("acls")(c.ec2.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{Filters: filter("vpc-id", "vpc-0d1")}))
	put("groups")(c.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0c1"}}))
	put("nat")(c.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{"nat-0a1"}}))
	put("endpoints")(c.ec2.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", "vpc-0d1")}))
	put("vpcs")(c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0d1"}}))
	put("dhcp")(c.ec2.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{"dopt-0a1"}}))
	for _, a := range []types.VpcAttributeName{types.VpcAttributeNameEnableDnsSupport, types.VpcAttributeNameEnableDnsHostnames} {
		put(string(a))(c.ec2.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: aws.String("vpc-0d1"), Attribute: a}))
	}
	put("cluster")(c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("demo")}))
	put("node groups")(c.eks.ListNodegroups(ctx, &eks.ListNodegroupsInput{}))
	put("node group")(c.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{NodegroupName: aws.String("workers")}))
	put("no node group")(c.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{NodegroupName: aws.String("gone")}))
	put("entries")(c.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{}))
	put("entry")(c.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/demo-node")}))
	put("access policies")(c.eks.ListAssociatedAccessPolicies(ctx, &eks.ListAssociatedAccessPoliciesInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/demo-node")}))
	put("members")(c.asg.DescribeAutoScalingInstances(ctx, &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{"i-0f900000000000001", "i-0f100000000000001"}}))
	put("asgs")(c.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"workers"}}))
	put("activities")(c.asg.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers")}))
	put("profile")(c.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: role}))
	put("role")(c.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: role}))
	put("attached")(c.iam.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: role}))
	put("inline")(c.iam.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: role}))
	put("inline text")(c.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: role, PolicyName: aws.String("own")}))
	put("policy")(c.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: aws.String("arn:aws:iam::111122223333:policy/nodes")}))
	put("policy text")(c.iam.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: aws.String("arn:aws:iam::111122223333:policy/nodes"), VersionId: aws.String("v2")}))
	put("shifts")(c.arc.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{}))

	k, err := c.kube.Dial(roll.Cluster{})
	must.Succeed(t, err)
	for _, q := range []kube.Question{
		kube.AllNodes(), kube.ANode(node), kube.AllLeases(), kube.AwsAuth(), kube.EventsOfNode(node), kube.EventsOfNodeClaim("default-abc12"), kube.PodsOf(node), kube.PodsLike("shop", map[string]string{"app": "db"}), kube.AllBudgets(), kube.AllVolumes(), kube.ControllerAccounts(), kube.DaemonSets(),
		kube.NodeClaimsOf("default"), kube.NodeClaimsOf("gpu"), kube.ANodePool("default"), kube.ANodePool("gone"), kube.AnEC2NodeClass("default"), kube.Webhooks(), kube.EndpointSlicesOf("policy", "guard"),
	} {
		answer, err := k.Read(ctx, q)
		var read []any
		for _, item := range answer {
			var o any
			must.Succeed(t, json.Unmarshal(item.JSON(), &o))
			read = append(read, o)
		}
		put(q.String())(read, err)
	}
	return out
}

func asFS(files map[string][]byte) fstest.MapFS {
	out := fstest.MapFS{}
	for name, data := range files {
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

func written(t *testing.T, r *Recorder) map[string][]byte {
	t.Helper()
	files, err := r.Files()
	must.Succeed(t, err)
	return files
}

var captured = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// A recording answers the same questions in the same way, down to the files.
func TestARecordingAnswersAsItsSourceDid(t *testing.T) {
	source := opened(t, small(t))
	r := NewRecorder(captured)
	nodes, _ := source.Remembered()
	for name, n := range nodes {
		n.GroupPressures = []evidence.Pressure{{Instance: "i-9", Node: "gone", Type: "MemoryPressure", Since: captured.Add(-time.Hour)}}
		nodes[name] = n
	}
	r.Remember(nodes)
	want := of(source).recorded(r).askAll(t)
	files := written(t, r)
	lacks := r.Lacks()
	expect.That(t, len(lacks) == 0, "lacks %v", lacks)
	again := opened(t, asFS(files))
	if at, ok := again.At(); !ok || !at.Equal(captured) {
		t.Errorf("the time is %v", at)
	}
	if got, _ := again.Remembered(); !cmp.Equal(got, nodes) {
		t.Errorf("remembered: %s", cmp.Diff(nodes, got))
	}
	second := NewRecorder(captured)
	second.Remember(nodes)
	got := of(again).recorded(second).askAll(t)
	for name := range want {
		expect.Same(t, plainly(t, got[name]), plainly(t, want[name]), "%s", name)
	}
	expect.Same(t, texts(written(t, second)), texts(files), "a recording of the recording")
	for i := range specs {
		_, ok := files[specs[i].name]
		expect.That(t, ok, "%s was not written", specs[i].name)
	}
}

func texts(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, data := range files {
		out[name] = string(data)
	}
	return out
}

// plainly returns an answer as JSON, in which an empty list equals none.
func plainly(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	must.Succeed(t, err)
	var out any
	must.Succeed(t, json.Unmarshal(data, &out))
	return withoutEmpty(out)
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, item any) bool { return key == "resourceVersion" || empty(withoutEmpty(item)) })
		for key := range v {
			v[key] = withoutEmpty(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	case string: // a policy, of which the order of the fields does not matter
		said, err := url.PathUnescape(v)
		var policy map[string]any
		if err == nil && json.Unmarshal([]byte(said), &policy) == nil {
			return policy
		}
	}
	return v
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func TestFilesHaveTheShapesOfTheCLI(t *testing.T) {
	r := NewRecorder(captured)
	of(opened(t, small(t))).recorded(r).askAll(t)
	files := written(t, r)
	for file, want := range map[string]string{
		"at.txt":                            "2026-03-02T12:00:00Z\n",
		"vpc-attributes.json":               "{\n    \"vpc-0d1\": {\n        \"EnableDnsHostnames\": {\n            \"Value\": false\n        },\n        \"EnableDnsSupport\": {\n            \"Value\": true\n        }\n    }\n}\n",
		"role-policies.json":                "{\n    \"demo-node\": {\n        \"PolicyNames\": [\n            \"extra\"\n        ]\n    }\n}\n",
		"user-data/i-0f200000000000001.txt": "",
		"user-data/i-0f100000000000001.txt": "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n",
		"dhcp-options.json":                 "{\n    \"DhcpOptions\": [\n        {\n            \"DhcpConfigurations\": [\n                {\n                    \"Key\": \"domain-name-servers\",\n                    \"Values\": [\n                        {\n                            \"Value\": \"AmazonProvidedDNS\"\n                        }\n                    ]\n                }\n            ],\n            \"DhcpOptionsId\": \"dopt-0a1\"\n        }\n    ]\n}\n",
	} {
		got, ok := files[file]
		expect.That(t, ok && string(got) == want, "%s: got\n%s", file, got)
	}
	for file, parts := range map[string][]string{
		"cluster.json":        {`"createdAt": "2026-01-05T08:30:00.123Z"`, `"serviceIpv4Cidr": "10.100.0.0/16"`, `"rollcall:mode": "notify"`, `"authenticationMode": "API_AND_CONFIG_MAP"`},
		"instances.json":      {`"Key": "empty",`, `"Value": ""`, `"HttpTokens": "required"`, `"LaunchTime": "2026-03-02T11:20:00Z"`, `"ReservationId": "r-0e1"`},
		"roles.json":          {`"Service": "ec2.amazonaws.com"`},
		"access-entries.json": {"        \"arn:aws:iam::111122223333:role/admin\",\n", `"kubernetesGroups"`},
		"aws-auth.json":       {`"kind": "ConfigMap"`, `- rolearn: arn:aws:iam::111122223333:role/other\n  username: system:node:{{EC2PrivateDNSName}}\n`},
		"nodes.json":          {`"kind": "List"`},
		"nodegroups.json":     {`"a/b": "c"`},
	} {
		for _, part := range parts {
			expect.That(t, strings.Contains(string(files[file]), part), "%s lacks %s:\n%s", file, part, files[file])
		}
	}
	expect.That(t, !strings.Contains(string(files["cluster.json"]), "ResultMetadata") && !strings.Contains(string(files["cluster.json"]), "null"), "got %s", files["cluster.json"])
}

// stub returns configured EC2 answers, or fails.
type stub struct {
	err  error
	tags []types.Tag
	data string // user data, also of launch templates
	text string // the console
}

// over returns a client whose stub answers the recorder records.
func (r *Recorder) over(s *stub) *ec2.Client {
	return ec2.NewFromConfig(r.AWS(apistats.Intercept(aws.Config{}, apistats.Methods(s))))
}

func (s *stub) DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	i := types.Instance{InstanceId: aws.String("i-0f100000000000001"), Tags: s.tags, StateTransitionReason: aws.String("password=" + secret)}
	return &ec2.DescribeInstancesOutput{Reservations: []types.Reservation{{Instances: []types.Instance{i}}}}, s.err
}

func (s *stub) DescribeInstanceAttribute(context.Context, *ec2.DescribeInstanceAttributeInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error) {
	return &ec2.DescribeInstanceAttributeOutput{UserData: &types.AttributeValue{Value: aws.String(base64.StdEncoding.EncodeToString([]byte(s.data)))}}, s.err
}

func (s *stub) GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error) {
	return &ec2.GetConsoleOutputOutput{Output: aws.String(base64.StdEncoding.EncodeToString([]byte(s.text)))}, s.err
}

func (s *stub) DescribeLaunchTemplateVersions(context.Context, *ec2.DescribeLaunchTemplateVersionsInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	d := &types.ResponseLaunchTemplateData{UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(s.data)))}
	return &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: []types.LaunchTemplateVersion{{LaunchTemplateId: aws.String("lt-1"), VersionNumber: aws.Int64(1), LaunchTemplateData: d}}}, s.err
}

func (s *stub) DescribeVpcEndpoints(context.Context, *ec2.DescribeVpcEndpointsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error) {
	return &ec2.DescribeVpcEndpointsOutput{}, s.err
}

const secret = "Tr0ub4dor-and-3x"

// The bundle contains what prevents the disruption of a node, so its readers reach the same
// verdict.
func TestWhatKeepsANodeIsWritten(t *testing.T) {
	for _, key := range []string{"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/scale-down-disabled", "cluster-autoscaler.kubernetes.io/safe-to-evict"} {
		value := map[bool]string{true: "false", false: "true"}[strings.HasSuffix(key, "safe-to-evict")]
		r := NewRecorder(captured)
		r.note(kube.AllNodes(), []*kube.Item{kube.NewItem(json.RawMessage(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "creationTimestamp": "2026-03-02T11:19:40Z", "annotations": {"` + key + `": "` + value + `", "other": "x"}}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T11:19:40Z"}]}}`))}, nil)
		r.note(kube.PodsOf("n"), nil, nil)
		files := least(t)
		for file, text := range written(t, r) {
			files[file] = &fstest.MapFile{Data: text}
		}
		client, err := opened(t, files).Kube().Dial(roll.Cluster{})
		must.Succeed(t, err)
		var by string
		err = client.Nodes(t.Context(), roll.Watch{}, func(n roll.Node) { by = n.NotToDisrupt }, func() {})
		want := key + "=" + value
		expect.That(t, err == nil && by == want, "%s: kept by %q, %v", want, by, err)
	}
}

// The lease of an instance without a node in the snapshot is read by name. Its content is evidence
// too.
func TestTheLeaseOfAnInstanceWithoutANodeIsWritten(t *testing.T) {
	r := NewRecorder(captured)
	if _, err := r.over(&stub{}).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
		t.Fatal(err)
	}
	renewed := captured.Add(-17 * time.Minute)
	details := map[roll.InstanceID]roll.Detail{
		"i-0f100000000000001": {LeaseRead: roll.Yes, LeaseOf: "ip-10-0-1-6.eu-west-1.compute.internal", LeaseRenewed: renewed},
		"i-0f100000000000009": {LeaseRead: roll.Yes, LeaseOf: "ip-10-0-1-9.eu-west-1.compute.internal", LeaseRenewed: renewed}, // not in the bundle
	}
	must.Succeed(t, r.Snapshot(&roll.Snapshot{Details: details}))
	leases := string(written(t, r)["leases.json"])
	expect.That(t, strings.Contains(leases, "ip-10-0-1-6.") && strings.Contains(leases, renewed.UTC().Format("2006-01-02T15:04:05.000000Z")) && !strings.Contains(leases, "ip-10-0-1-9."), "leases.json: %s", leases)
}

// token has the form of what aws ecr get-login-password prints.
var token = base64.StdEncoding.EncodeToString([]byte(`{"payload":"CZTVpSHzFNE5NIMHt8qxFw3SkU2F1GAFP1Y808QlNegrUWx0Cb7Kq9","version":"2","type":"` + secret + `"}`))

// The same secret under names that announce it, in all recorded data.
func TestNoSecretIsWritten(t *testing.T) {
	script := "#!/bin/bash\nexport DB_PASSWORD=" + secret + "\n" + token + "\n/etc/eks/bootstrap.sh demo\n"
	for name, data := range map[string]string{"plain": script, "gzip": string(zip([]byte(script)))} {
		r := NewRecorder(captured)
		e := r.over(&stub{data: data, text: script, tags: []types.Tag{{Key: aws.String("db-password"), Value: aws.String(secret)}, {Key: aws.String("note"), Value: aws.String("api_key: " + secret)}, {Key: aws.String("password"), Value: aws.String("two lines\n" + secret)}}})
		ctx := t.Context()
		calls := []error{}
		call := func(_ any, err error) { calls = append(calls, err) }
		call(e.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}))
		call(e.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String("i-0f100000000000001"), Attribute: types.InstanceAttributeNameUserData}))
		call(e.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String("i-0f100000000000001")}))
		call(e.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"1"}}))
		r.Remember(map[string]evidence.Remembered{"n1": {Conditions: []evidence.Condition{{Type: "Ready", Message: "password: " + secret}}}})
		r.note(kube.AllNodes(), []*kube.Item{
			kube.NewItem(json.RawMessage(object1("v1", "Node", `"labels": {"db-password": "`+secret+`"}, "annotations": {"karpenter.sh/token": "`+secret+`", "other": "`+secret+`"}, "managedFields": [{"x": "`+secret+`"}]`, `"status": {"conditions": [{"type": "Ready", "message": "secret_key=`+secret+`"}]}`))),
			kube.NewItem(json.RawMessage(object1("v1", "Event", "", `"message": "failed with password=`+secret+`"`))),
			kube.NewItem(json.RawMessage(object1("karpenter.k8s.aws/v1", "EC2NodeClass", "", `"spec": {"userData": `+quoted(script)+`, "tags": {"db_password": "`+secret+`"}}`))),
			kube.NewItem(json.RawMessage(object1("karpenter.k8s.aws/v1", "EC2NodeClass", "", `"spec": {"userData": `+quoted(base64.StdEncoding.EncodeToString([]byte(script)))+`}`))),
			kube.NewItem(json.RawMessage(object1("v1", "Pod", `"annotations": {"karpenter.sh/x": "`+secret+`"}`, `"spec": {"nodeName": "n", "volumes": [{"csi": {"volumeAttributes": {"x": "`+secret+`"}}}], "containers": [{"name": "a", "image": "b", "env": [{"name": "X", "value": "`+secret+`"}], "args": ["`+secret+`"], "command": ["`+secret+`"]}]}, "status": {"containerStatuses": [{"name": "a", "state": {"terminated": {"reason": "Error", "message": "`+secret+`"}}}]}`))),
			kube.NewItem(json.RawMessage(object1("karpenter.sh/v1", "NodeClaim", `"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "`+secret+`"}`, ""))),
		}, nil)
		for _, o := range []kube.Question{kube.EventsOfNode("n"), kube.AnEC2NodeClass("n"), kube.PodsOf("n"), kube.NodeClaimsOf("n")} {
			r.note(o, nil, nil) // their files are written
		}
		must.Succeed(t, errors.Join(calls...))
		files := written(t, r)
		for _, file := range []string{"instances.json", "launch-template-versions.json", "user-data/i-0f100000000000001.txt", "console/i-0f100000000000001.txt", "nodes.json", "k8s-events.json", "ec2nodeclasses.json", "pods.json", "nodeclaims.json", "ledger.json"} {
			expect.That(t, len(files[file]) != 0, "%s: %s was not written", name, file)
		}
		for file, text := range files {
			expect.That(t, !leaks(text), "%s: %s holds the secret:\n%s", name, file, text)
		}
		clean, _, ok := unzip(files["user-data/i-0f100000000000001.txt"])
		expect.That(t, ok && strings.Contains(string(clean), "/etc/eks/bootstrap.sh demo"), "%s: too much is gone: %s", name, clean)
	}
}

func object1(apiVersion, kind, metadata, rest string) string {
	objects++
	m := fmt.Sprintf(`"name": "n%d"`, objects)
	if metadata != "" {
		m += ", " + metadata
	}
	if rest != "" {
		rest = ", " + rest
	}
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {%s}%s}`, apiVersion, kind, m, rest)
}

var objects int

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// leaks searches for the secret in a text, in base64 in it, and in gzip in that.
func leaks(data []byte) bool {
	if plain, zipped, ok := unzip(data); ok && zipped {
		data = plain
	}
	if bytes.Contains(data, []byte(secret)) {
		return true
	}
	for _, word := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '"' || r == ' ' || r == '\n' }) {
		decoded, err := base64.StdEncoding.DecodeString(word)
		if err != nil || len(decoded) == 0 {
			continue
		}
		plain, _, _ := unzip(decoded)
		if bytes.Contains(plain, []byte(secret)) {
			return true
		}
	}
	return false
}

// planted puts the secret into every text of a value, as a person might write one.
func planted(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		planted(v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			v.Set(reflect.ValueOf(captured))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(policyFields, f.Name) {
				planted(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		planted(v.Index(0))
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		planted(item)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("db_password").Convert(v.Type().Key()), item)
	case reflect.String:
		v.SetString("db_password=" + secret)
	}
}

func TestNoTextOfAnAnswerIsLeftOut(t *testing.T) {
	c := newContents()
	// Instances of EC2 nest deep, but none contains itself.
	plant(c.instances())
	plant(tableOf[types.Image](c, fileImages))
	plant(tableOf[types.Subnet](c, fileSubnets))
	plant(tableOf[types.LaunchTemplateVersion](c, fileTemplates))
	plant(tableOf[asgtypes.AutoScalingGroup](c, fileASGs))
	plant(tableOf[asgtypes.Activity](c, fileActivities))
	plant(c.nodeGroups())
	plant(tableOf[iamtypes.Role](c, fileRoles))
	plant(tableOf[iamtypes.InstanceProfile](c, fileProfiles))
	plant(tableOf[iam.ListAttachedRolePoliciesOutput](c, fileAttached))
	plant(c.cluster())
	r := NewRecorder(captured)
	r.c = c
	for file, text := range written(t, r) {
		expect.That(t, !strings.Contains(string(text), secret), "%s holds the secret:\n%s", file, text)
		if strings.HasSuffix(file, ".json") && !strings.Contains(string(text), "[redacted: ") {
			t.Errorf("%s holds nothing that was redacted, so nothing was tried:\n%s", file, text)
		}
	}
}

func plant[T any](t *table[T]) {
	var row T
	planted(reflect.ValueOf(&row).Elem())
	t.set("one", row)
}

// A file with a missing answer would mean that there is nothing.
func TestWhatFailedTearsItsFile(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"}
	r := NewRecorder(captured)
	s := &stub{}
	e := r.over(s)
	if _, err := e.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", "vpc-1")}); err != nil {
		t.Fatal(err)
	}
	if _, ok := written(t, r)["vpc-endpoints.json"]; !ok {
		t.Fatal("the first answer was not kept")
	}
	s.err = denied
	_, err := e.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", "vpc-2")})
	must.That(t, err != nil, "the error was lost")
	r.note(kube.PodsOf("a"), nil, nil)
	r.note(kube.PodsOf("b"), nil, errors.New("forbidden"))
	r.note(kube.AllNodes(), nil, nil)
	r.note(kube.ANode("b"), nil, errors.New("forbidden"))
	files := written(t, r)
	if _, ok := files["vpc-endpoints.json"]; ok {
		t.Error("the endpoints of one VPC were written as those of all")
	}
	if _, ok := files["pods.json"]; ok {
		t.Error("the pods of one node were written as those of all")
	}
	_, ok := files["nodes.json"]
	expect.That(t, ok, "the list of all nodes was thrown away")
	lacks := r.Lacks()
	expect.That(t, len(lacks) == 2 && strings.Contains(lacks["vpc-endpoints.json"], "denied") && lacks["pods.json"] == "list pods of node b: forbidden", "lacks %v", lacks)
}

// A cluster whose API server does not answer is worth a bundle: it reports the same again.
func TestARecordingOfNodesThatFailedFailsAgain(t *testing.T) {
	for code, kind := range map[int]roll.GapKind{503: roll.GapClusterUnreachable, 401: roll.GapUnauthorized, 403: roll.GapDenied, 500: roll.GapClusterUnreachable} {
		fsys := with(small(t), "nodes.json", fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": %q, "code": %d}`, reasons[code], code))
		r := NewRecorder(captured)
		of(opened(t, fsys)).recorded(r).askAll(t)
		s := look(t, opened(t, asFS(written(t, r))))
		expect.That(t, !s.Whole() && len(s.Gaps) != 0 && s.Gaps[0].Kind == kind, "%d: got %+v", code, s.Gaps)
	}
}

func TestAccessEntriesAreWrittenOnlyIfAllWereListed(t *testing.T) {
	source := opened(t, small(t))
	r := NewRecorder(captured)
	k := of(source).recorded(r).eks
	if _, err := k.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::111122223333:role/demo-node")}); err != nil {
		t.Fatal(err)
	}
	_, ok := written(t, r)["access-entries.json"]
	expect.That(t, !ok, "one entry was written as all of them")
	if _, err := k.ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{}); err != nil {
		t.Fatal(err)
	}
	text := string(written(t, r)["access-entries.json"])
	expect.That(t, strings.Contains(text, `"type": "EC2_LINUX"`) && strings.Contains(text, "role/admin"), "got %s", text)
}

func TestThatAClusterHasNoAccessEntriesIsWritten(t *testing.T) {
	fsys := with(small(t), "access-entries.json", `{"accessEntries": []}`)
	r := NewRecorder(captured)
	if _, err := of(opened(t, fsys)).recorded(r).eks.ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{}); err != nil {
		t.Fatal(err)
	}
	text, ok := written(t, r)["access-entries.json"]
	expect.That(t, ok && strings.Contains(string(text), `"accessEntries": []`), "got %s", text)
}

func TestUserDataThatNotesMakeTooLongStaysReadable(t *testing.T) {
	line := "P_PASSWORD=a1\n" // shorter than the note in its place
	script := []byte("#!/bin/bash\n" + strings.Repeat(line, (16<<10-12)/len(line)))
	clean, ok := scrubbed(script)
	plain, zipped, _ := unzip(clean)
	expect.That(t, ok && zipped && len(clean) <= 16<<10 && len(plain) > 16<<10, "%d bytes became %d, zipped %v, which hold %d", len(script), len(clean), zipped, len(plain))
	if _, ok := scrubbed([]byte("\x1f\x8bbroken")); ok {
		t.Error("gzip that cannot be undone was passed on")
	}
}

func TestAConsoleIsWrittenWithoutItsColoursAndItsCutLine(t *testing.T) {
	const id = "i-0f100000000000001"
	line := "[   12.345678] cloud-init[1]: \x1b[32mDB_PASSWORD \x1b[0m=" + secret + "\n"
	short := "first line\n" + line
	long := secret + " and more\n" + strings.Repeat(line, 1000)
	for name, text := range map[string]string{"short": short, "cut": long} {
		r := NewRecorder(captured)
		_, err := r.over(&stub{text: text}).GetConsoleOutput(t.Context(), &ec2.GetConsoleOutputInput{InstanceId: aws.String(id)})
		must.Succeed(t, err)
		got := string(written(t, r)[documentName(folderConsole, id)])
		expect.That(t, !strings.Contains(got, secret) && strings.Contains(got, "cloud-init[1]: DB_PASSWORD =[redacted: password]"), "%s: written %.300q", name, got)
		expect.That(t, strings.Count(got, "\n") == strings.Count(text, "\n") && console.Cut(got) == console.Cut(text), "%s: %d bytes became %d, %d lines", name, len(text), len(got), strings.Count(got, "\n"))
		expect.That(t, strings.HasPrefix(got, "first line\n") == (name == "short"), "%s: begins with %.100q", name, got)
		expect.Equal(t, redactedLog(folderConsole, got), got, "%s again", name)
	}
}

func TestWritesPrivately(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "bundle")
	files := map[string][]byte{"at.txt": []byte("2026-03-02T12:00:00Z\n"), "user-data/i-0f100000000000001.txt": []byte("#!/bin/bash\n")}
	must.Succeed(t, Write(dir, files))
	for name, mode := range map[string]os.FileMode{".": 0o700, "at.txt": 0o600, "user-data": 0o700, "user-data/i-0f100000000000001.txt": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		expect.That(t, err == nil && info.Mode().Perm() == mode, "%s: %v, %v", name, info, err)
	}
	entries, _ := os.ReadDir(dir)
	expect.That(t, len(entries) == 2, "left behind: %v", entries)
	err := Write(dir, files)
	expect.That(t, err != nil && strings.HasSuffix(err.Error(), "there is something in it already (at.txt): name another directory, or empty this one"), "written over: %v", err)
}

func TestWritesNothingOutsideOfTheDirectory(t *testing.T) {
	parent := t.TempDir()
	err := Write(filepath.Join(parent, "bundle"), map[string][]byte{"../out.txt": []byte("x")})
	expect.That(t, err != nil, "a name led out of the directory")
	entries, _ := os.ReadDir(parent)
	expect.That(t, !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "bundle" }), "written: %v", entries)
}
