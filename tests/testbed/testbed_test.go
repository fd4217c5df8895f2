package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// bed is the only bed of all tests in this package; each test empties it first.
var bed *Bed

func TestMain(m *testing.M) {
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	os.Exit(Main(m, Options{Log: log}, func(b *Bed) { bed = b }, nil))
}

// reset empties the bed. When the test ends, it fails the test if the emulator gave an
// unexpected answer.
func reset(t *testing.T) context.Context {
	t.Helper()
	ctx := t.Context()
	must.Succeed(t, bed.Reset(ctx))
	t.Cleanup(func() {
		unexpected, err := bed.Unexpected(context.Background())
		expect.Succeed(t, err)
		for _, u := range unexpected {
			t.Errorf("the emulator answered %d to %s %s: %s", u.Status, u.Service, u.Action, u.Body)
		}
	})
	return ctx
}

// asUser returns a Kubernetes client that authenticates as EKS users do, with a token for a cluster.
func asUser(t *testing.T, id Identity, cluster string) kubernetes.Interface {
	t.Helper()
	generator, err := token.NewGenerator(false, false)
	must.Succeed(t, err)
	cfg := bed.AWSConfigFor(id)
	cfg.BaseEndpoint = nil // a token is signed for the real STS host
	tok, err := generator.GetWithSTS(cluster, sts.NewFromConfig(cfg))
	must.Succeed(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: bed.APIServer(), BearerToken: tok.Token, TLSClientConfig: rest.TLSClientConfig{CAData: bed.CA()},
	})
	must.Succeed(t, err)
	return client
}

func TestViewerAuthenticatesByAWSAuth(t *testing.T) {
	ctx := reset(t)
	review, err := asUser(t, Viewer, ClusterName).AuthenticationV1().SelfSubjectReviews().
		Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must.Succeed(t, err)
	if user := review.Status.UserInfo; user.Username != ViewerUsername || !slices.Contains(user.Groups, ViewersGroup) {
		t.Errorf("authenticated as %q of groups %q, want %q of %q", user.Username, user.Groups, ViewerUsername, ViewersGroup)
	}
}

func TestRefusesUsersWithoutMapping(t *testing.T) {
	ctx := reset(t)
	must.Succeed(t, bed.SetAWSAuth(ctx, "[]"))
	t.Cleanup(func() {
		expect.Succeed(t, bed.ResetAWSAuth(context.Background()))
	})
	for name, id := range map[string]Identity{"viewer that is mapped no more": Viewer, "stranger": Stranger} {
		_, err := asUser(t, id, ClusterName).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		expect.That(t, apierrors.IsUnauthorized(err), "%s: got %v, want 401", name, err)
	}
}

func TestRefusesTokensOfOtherClusters(t *testing.T) {
	ctx := reset(t)
	_, err := asUser(t, Viewer, "other").CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	expect.That(t, apierrors.IsUnauthorized(err), "got %v, want 401", err)
}

func TestAppliedRoleIsWhatAViewerMayDo(t *testing.T) {
	ctx := reset(t)
	viewer := asUser(t, Viewer, ClusterName)
	if _, err := viewer.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("before: got %v, want 403", err)
	}
	const manifests = `# two documents, and a comment before them
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: testbed-viewers}
rules: [{apiGroups: [""], resources: [nodes], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: testbed-viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: testbed-viewers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "rollcall:viewers"}]
`
	must.Succeed(t, bed.Apply(ctx, manifests))
	t.Cleanup(func() {
		err := bed.Kube().RbacV1().ClusterRoleBindings().Delete(context.Background(), "testbed-viewers", metav1.DeleteOptions{})
		expect.Succeed(t, err)
	})
	err := poll(ctx, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error { // the authorizer watches bindings
		_, err := viewer.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
	expect.That(t, err == nil, "after: %v", err)
	if _, err := viewer.CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: got %v, want 403", err)
	}
}

func TestSilentNodeBecomesUnknown(t *testing.T) {
	ctx := reset(t)
	for _, name := range []string{"beating", "silent"} {
		if _, err := bed.JoinNode(ctx, NodeSpec{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	bed.Silence("silent")
	must.Succeed(t, bed.WaitUnknown(ctx, "silent"))
	since := time.Now().Add(-40 * time.Minute).Truncate(time.Second)
	must.Succeed(t, bed.SetReady(ctx, "silent", corev1.ConditionUnknown, "NodeStatusUnknown", since))
	for name, want := range map[string]corev1.ConditionStatus{"beating": corev1.ConditionTrue, "silent": corev1.ConditionUnknown} {
		node, err := bed.Kube().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		must.Succeed(t, err)
		ready := readyCondition(t, node)
		expect.Equal(t, ready.Status, want, "node %s: Ready", name)
		if name == "silent" && !ready.LastTransitionTime.Time.Equal(since) {
			t.Errorf("node %s is Unknown since %s, want %s", name, ready.LastTransitionTime, since)
		}
	}
}

func readyCondition(t *testing.T, node *corev1.Node) corev1.NodeCondition {
	t.Helper()
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	t.Fatalf("node %s has no Ready condition", node.Name)
	return corev1.NodeCondition{}
}

func TestInstanceIsAsSpecified(t *testing.T) {
	ctx := reset(t)
	launched := time.Now().Add(-20 * time.Minute).Truncate(time.Second)
	id, err := bed.RunInstance(ctx, InstanceSpec{
		Name: "one", Cluster: ClusterName, Group: "workers", LaunchTime: launched, State: "stopped", Zone: "eu-west-1b",
		UserData: "#!/bin/sh\n", Protected: true, Tags: map[string]string{"team": "a"},
	})
	must.Succeed(t, err)
	cfg := bed.AWSConfig()
	out, err := ec2.NewFromConfig(cfg).DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must.Succeed(t, err)
	i := out.Reservations[0].Instances[0]
	expect.Equal(t, i.State.Name, ec2types.InstanceStateNameStopped, "state")
	expect.That(t, i.LaunchTime.Equal(launched), "launched at %s, want %s", i.LaunchTime, launched)
	expect.Equal(t, aws.ToString(i.Placement.AvailabilityZone), "eu-west-1b", "zone")
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[*tag.Key] = *tag.Value
	}
	for key, want := range map[string]string{
		"Name": "one", "team": "a", "kubernetes.io/cluster/demo": "owned", "aws:autoscaling:groupName": "workers",
	} {
		expect.Equal(t, tags[key], want, "tag %s", key)
	}
	groups, err := autoscaling.NewFromConfig(cfg).DescribeAutoScalingInstances(ctx,
		&autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{id}})
	must.Succeed(t, err)
	if len(groups.AutoScalingInstances) != 1 || aws.ToString(groups.AutoScalingInstances[0].AutoScalingGroupName) != "workers" {
		t.Errorf("memberships are %v, want one in workers", groups.AutoScalingInstances)
	}
	_, err = ec2.NewFromConfig(cfg).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	code := errorCode(err)
	expect.That(t, code == "OperationNotPermitted", "terminating a protected instance: got %v, want OperationNotPermitted", err)
}

func TestStatusChecksAndConsoleAreAsSet(t *testing.T) {
	ctx := reset(t)
	id, err := bed.RunInstance(ctx, InstanceSpec{})
	must.Succeed(t, err)
	err = bed.ChangeInstance(ctx, id, InstanceChange{InstanceStatus: aws.String("impaired"), Console: aws.String("kernel panic\n")})
	must.Succeed(t, err)
	client := ec2.NewFromConfig(bed.AWSConfig())
	status, err := client.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}})
	must.Succeed(t, err)
	s := status.InstanceStatuses[0]
	if s.InstanceStatus.Status != ec2types.SummaryStatusImpaired || s.SystemStatus.Status != ec2types.SummaryStatusOk {
		t.Errorf("instance status %s, system status %s; want impaired, ok", s.InstanceStatus.Status, s.SystemStatus.Status)
	}
	console, err := client.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id)})
	must.Succeed(t, err)
	expect.Equal(t, aws.ToString(console.Output), "a2VybmVsIHBhbmljCg==", "console")
}

func TestRebootNeedsARunningInstance(t *testing.T) {
	ctx := reset(t)
	id, err := bed.RunInstance(ctx, InstanceSpec{State: "stopped"})
	must.Succeed(t, err)
	_, err = ec2.NewFromConfig(bed.AWSConfig()).RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	code := errorCode(err)
	expect.That(t, code == "IncorrectInstanceState", "got %v, want IncorrectInstanceState", err)
}

func TestPageCapPages(t *testing.T) {
	ctx := reset(t)
	for range 5 {
		if _, err := bed.RunInstance(ctx, InstanceSpec{Cluster: ClusterName}); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, bed.SetPageSize(ctx, 2))
	var pages []int
	p := ec2.NewDescribeInstancesPaginator(ec2.NewFromConfig(bed.AWSConfig()), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(1000)})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		must.Succeed(t, err)
		pages = append(pages, len(page.Reservations))
	}
	expect.List(t, pages, []int{2, 2, 1}, "pages of those named")
}

func TestAutoModeInstancesHide(t *testing.T) {
	ctx := reset(t)
	plain, err := bed.RunInstance(ctx, InstanceSpec{})
	must.Succeed(t, err)
	tagged, err := bed.RunInstance(ctx, InstanceSpec{Tags: map[string]string{"eks:kubernetes-node-pool-name": "general"}})
	must.Succeed(t, err)
	marked, err := bed.RunInstance(ctx, InstanceSpec{Managed: true})
	must.Succeed(t, err)
	client := ec2.NewFromConfig(bed.AWSConfig())
	for name, c := range map[string]struct {
		in   *ec2.DescribeInstancesInput
		want []string
	}{
		"list":                {&ec2.DescribeInstancesInput{}, []string{plain}},
		"list with managed":   {&ec2.DescribeInstancesInput{IncludeManagedResources: aws.Bool(true)}, []string{plain, tagged, marked}},
		"lookup with managed": {&ec2.DescribeInstancesInput{IncludeManagedResources: aws.Bool(true), InstanceIds: []string{marked}}, []string{marked}},
	} {
		out, err := client.DescribeInstances(ctx, c.in)
		must.That(t, err == nil, "%s: %v", name, err)
		var got []string
		for _, r := range out.Reservations {
			for _, i := range r.Instances {
				got = append(got, *i.InstanceId)
				managed := *i.InstanceId != plain
				if i.Operator == nil || aws.ToBool(i.Operator.Managed) != managed || (aws.ToString(i.Operator.Principal) != "") != managed {
					t.Errorf("%s: operator of %s is %+v, want managed %v", name, *i.InstanceId, i.Operator, managed)
				}
			}
		}
		expect.List(t, got, c.want, "%s", name)
	}
}

// impatient returns a configuration without retries.
func impatient() aws.Config {
	cfg := bed.AWSConfig()
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return cfg
}

func TestThrottleIsSeenBySDK(t *testing.T) {
	ctx := reset(t)
	must.Succeed(t, bed.Inject(ctx, Fault{Service: "ec2", Action: "DescribeInstances", Kind: Throttle, Times: 1}))
	client := ec2.NewFromConfig(impatient())
	_, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	expect.That(t, errorCode(err) == "RequestLimitExceeded", "got %v, want RequestLimitExceeded", err)
	expect.That(t, retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary, "the SDK does not take %v for a throttle", err)
	if _, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	calls, err := bed.Calls(ctx)
	must.Succeed(t, err)
	expect.That(t, len(calls) == 2 && calls[0].Injected && calls[0].Status == 503 && calls[0].ErrorCode == "RequestLimitExceeded" && calls[1].Status == 200, "logged %+v", calls)
}

func TestFaultOnSecondPage(t *testing.T) {
	ctx := reset(t)
	for range 3 {
		if _, err := bed.RunInstance(ctx, InstanceSpec{}); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, bed.SetPageSize(ctx, 1))
	must.Succeed(t, bed.Inject(ctx, Fault{Action: "DescribeInstances", Page: 2, Kind: Deny}))
	p := ec2.NewDescribeInstancesPaginator(ec2.NewFromConfig(impatient()), &ec2.DescribeInstancesInput{})
	if _, err := p.NextPage(ctx); err != nil {
		t.Fatalf("page 1: %v", err)
	}
	_, err := p.NextPage(ctx)
	expect.That(t, errorCode(err) == "UnauthorizedOperation", "page 2: got %v, want UnauthorizedOperation", err)
}

func TestRefusalsHaveTheCodeOfTheProtocol(t *testing.T) {
	ctx := reset(t)
	cfg := impatient()
	calls := map[string]func() error{
		"AccessDenied": func() error {
			_, err := autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
			return err
		},
		"AccessDeniedException": func() error {
			_, err := eks.NewFromConfig(cfg).ListClusters(ctx, &eks.ListClustersInput{})
			return err
		},
		"AuthorizationError": func() error {
			_, err := sns.NewFromConfig(cfg).Publish(ctx, &sns.PublishInput{TopicArn: aws.String("arn:aws:sns:eu-west-1:123456789012:none"), Message: aws.String("m")})
			return err
		},
	}
	must.Succeed(t, bed.Inject(ctx, Fault{Kind: Deny}))
	for want, call := range calls {
		err := call()
		expect.That(t, errorCode(err) == want, "got %v, want %s", err, want)
	}
}

func TestFaultMatchesParameters(t *testing.T) {
	ctx := reset(t)
	spared, err := bed.RunInstance(ctx, InstanceSpec{})
	must.Succeed(t, err)
	refused, err := bed.RunInstance(ctx, InstanceSpec{})
	must.Succeed(t, err)
	err = bed.Inject(ctx, Fault{Action: "TerminateInstances", Kind: Custom, Code: "IncorrectInstanceState", Params: map[string]string{"InstanceId.*": refused}})
	must.Succeed(t, err)
	client := ec2.NewFromConfig(impatient())
	_, err = client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{refused}})
	expect.That(t, errorCode(err) == "IncorrectInstanceState", "got %v, want IncorrectInstanceState", err)
	if _, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{spared}}); err != nil {
		t.Error(err)
	}
	calls, err := bed.Calls(ctx)
	must.Succeed(t, err)
	for i, want := range []string{refused, spared} {
		if c := calls[i]; c.Service != "ec2" || c.Action != "TerminateInstances" || c.AccessKeyID != ViewerAccessKeyID || !slices.Contains(c.Resources, want) {
			t.Errorf("call %d is logged as %+v, want a termination of %s", i, c, want)
		}
	}
}

func TestClusterIsTheBedsOwn(t *testing.T) {
	ctx := reset(t)
	client := eks.NewFromConfig(bed.AWSConfig())
	describe := func() *eks.DescribeClusterOutput {
		t.Helper()
		out, err := client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(ClusterName)})
		must.Succeed(t, err)
		return out
	}
	c := describe().Cluster
	if aws.ToString(c.Endpoint) != bed.APIServer() || c.Status != "ACTIVE" || c.AccessConfig == nil || c.AccessConfig.AuthenticationMode != "API_AND_CONFIG_MAP" {
		t.Errorf("cluster is %+v", c)
	}
	must.Succeed(t, bed.SetCluster(ctx, ClusterName, ClusterChange{Status: "UPDATING"}))
	expect.Equal(t, describe().Cluster.Status, "UPDATING", "status")
}

func TestAccessEntries(t *testing.T) {
	ctx := reset(t)
	client := eks.NewFromConfig(bed.AWSConfig())
	err := bed.SetAccessEntries(ctx, ClusterName,
		AccessEntry{PrincipalARN: NodeRoleARN, Type: "EC2_LINUX", Username: "system:node:{{EC2PrivateDNSName}}", KubernetesGroups: []string{"system:nodes"}},
		AccessEntry{PrincipalARN: ViewerRoleARN})
	must.Succeed(t, err)
	var listed []string
	p := eks.NewListAccessEntriesPaginator(client, &eks.ListAccessEntriesInput{ClusterName: aws.String(ClusterName), MaxResults: aws.Int32(1)})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		must.Succeed(t, err)
		listed = append(listed, page.AccessEntries...)
	}
	expect.List(t, listed, []string{NodeRoleARN, ViewerRoleARN}, "listed")
	out, err := client.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(ClusterName), PrincipalArn: aws.String(NodeRoleARN)})
	must.Succeed(t, err)
	e := out.AccessEntry
	expect.That(t, aws.ToString(e.Type) == "EC2_LINUX" && aws.ToString(e.PrincipalArn) == NodeRoleARN && e.CreatedAt != nil, "described %+v", e)
	_, err = client.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(ClusterName), PrincipalArn: aws.String(StrangerRoleARN)})
	expect.That(t, errorCode(err) == "ResourceNotFoundException", "got %v, want ResourceNotFoundException", err)
	calls, err := bed.Calls(ctx)
	must.Succeed(t, err)
	last := calls[len(calls)-1]
	expect.That(t, last.Action == "DescribeAccessEntry" && last.Params["principalArn"] == StrangerRoleARN, "last call is logged as %+v", last)
}

func TestEmulatorKnowsCallers(t *testing.T) {
	ctx := reset(t)
	out, err := sts.NewFromConfig(bed.AWSConfigFor(Stranger)).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	must.Succeed(t, err)
	expect.Equal(t, aws.ToString(out.Arn), "arn:aws:sts::123456789012:assumed-role/stranger/testbed", "caller")
}

func TestTopicDelivers(t *testing.T) {
	ctx := reset(t)
	topic, read, err := bed.Topic(ctx)
	must.Succeed(t, err)
	_, err = sns.NewFromConfig(bed.AWSConfig()).Publish(ctx, &sns.PublishInput{
		TopicArn: aws.String(topic), Subject: aws.String("s"), Message: aws.String("m"),
		MessageAttributes: map[string]snstypes.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("Silent")}},
	})
	must.Succeed(t, err)
	notices, err := read(ctx)
	must.Succeed(t, err)
	expect.That(t, len(notices) == 1 && notices[0].Subject == "s" && notices[0].Message == "m" && notices[0].Attributes["kind"] == "Silent", "read %+v", notices)
	if again, err := read(ctx); err != nil || len(again) != 0 {
		t.Errorf("read %+v, %v again", again, err)
	}
}

// post calls an emulated service for which the module has no client.
func post(t *testing.T, service, target, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bed.AWSEndpoint(), strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+ViewerAccessKeyID+"/20260102/eu-west-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(t, err)
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	must.That(t, err == nil && resp.StatusCode == http.StatusOK, "%s: %s: %s, %v", target, resp.Status, answer, err)
	return string(answer)
}

func TestStateChangeReachesQueue(t *testing.T) {
	ctx := reset(t)
	queues := sqs.NewFromConfig(bed.AWSConfig())
	queue, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("events")})
	must.Succeed(t, err)
	post(t, "events", "AWSEvents.PutRule", `{"Name": "launches", "EventPattern":
		"{\"source\": [\"aws.ec2\"], \"detail\": {\"state\": [\"running\"]}}"}`)
	post(t, "events", "AWSEvents.PutTargets",
		`{"Rule": "launches", "Targets": [{"Id": "queue", "Arn": "arn:aws:sqs:eu-west-1:123456789012:events"}]}`)
	for _, state := range []string{"pending", "running"} {
		must.Succeed(t, bed.EmitStateChange(ctx, "i-0123456789abcdef0", state))
	}
	out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10})
	must.Succeed(t, err)
	must.That(t, len(out.Messages) == 1, "%d messages, want the one that the rule matches", len(out.Messages))
	var event struct {
		Account, Region, Source string
		DetailType              string `json:"detail-type"`
		Time                    time.Time
		Resources               []string
		Detail                  struct {
			InstanceID string `json:"instance-id"`
			State      string
		}
	}
	must.Succeed(t, json.Unmarshal([]byte(aws.ToString(out.Messages[0].Body)), &event))
	if event.Account != AccountID || event.Region != Region || event.Source != "aws.ec2" || event.DetailType != "EC2 Instance State-change Notification" ||
		event.Detail.InstanceID != "i-0123456789abcdef0" || event.Detail.State != "running" || time.Since(event.Time) > time.Minute || len(event.Resources) != 1 {
		t.Errorf("got %+v", event)
	}
}

func TestEmulatorFaultIsRecorded(t *testing.T) {
	must.Succeed(t, bed.Reset(t.Context()))
	_, err := ec2.NewFromConfig(bed.AWSConfig()).DescribeMacHosts(t.Context(), &ec2.DescribeMacHostsInput{}) // moto does not implement it
	expect.That(t, errorCode(err) == "EmulatorFault", "got %v, want EmulatorFault", err)
	unexpected, err := bed.Unexpected(t.Context())
	must.Succeed(t, err)
	expect.That(t, len(unexpected) == 1 && unexpected[0].Action == "DescribeMacHosts", "recorded %+v, want one call", unexpected)
}

func errorCode(err error) string {
	var apiErr smithy.APIError
	if errors.As(err, &apiErr) {
		return apiErr.ErrorCode()
	}
	return ""
}
