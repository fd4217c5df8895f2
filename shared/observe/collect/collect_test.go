package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestEveryFactThatIsAskedForIsKnownInAHealthyAccount(t *testing.T) {
	a, in := oneOfEach()
	got := unknown(a.collector().Collect(t.Context(), in))
	want := []string{
		".Cluster.Controllers: not asked",
		".Cluster.DaemonSets: not asked",
		".Cluster.Networked: not asked",
		".Cluster.PodWebhooks: not asked",
		".Groups[nodegroup/workers].NodeClaims: not asked",
		".Groups[nodegroup/workers].NodeClass: not asked",
		".Groups[nodegroup/workers].NodePool: not asked",
		".Groups[nodepool/default].Activities: not asked",
		".Groups[nodepool/default].AutoScaling: not asked",
		".Groups[nodepool/default].NodeGroup: not asked",
		".Instances[i-00000000000000001].HostLogs: not asked",
		".Instances[i-00000000000000002].HostLogs: not asked",
		".Nodes[node-2].Budgets: not asked",
	}
	expect.That(t, slices.Equal(got, want), "not known:\n%s\nwant only what the owner or the kind has not:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// onlyKept is the entry of an action that only the recorder of kept evidence needs: no facts depend
// on it.
var onlyKept = []string{`-`}

// hangs lists which facts depend on an action, by the prefixes of their paths.
var hangs = map[string][]string{
	"ec2:DescribeInstances":                    {`Instances\[\S+\]\.Config`, `Profiles`, `Roles`, `Policies`, `Images`, `Templates`, `Network`, `Cluster\.AccessEntries`},
	"ec2:DescribeInstanceStatus":               {`Instances\[\S+\]\.Status`},
	"ec2:DescribeInstanceAttribute":            {`Instances\[\S+\]\.UserData`},
	"ec2:GetConsoleOutput":                     {`Instances\[\S+\]\.Console`},
	"ec2:DescribeImages":                       {`Images`},
	"ec2:DescribeLaunchTemplateVersions":       {`Templates`},
	"ec2:DescribeSubnets":                      {`Network\.Subnets`},
	"ec2:DescribeRouteTables":                  {`Network\.RouteTables`, `Network\.NATGateways`, `Network\.ACLs\[` + subnetNAT},
	"ec2:DescribeNetworkAcls":                  {`Network\.ACLs`},
	"ec2:DescribeSecurityGroups":               {`Network\.SecurityGroups`},
	"ec2:DescribeNatGateways":                  {`Network\.NATGateways`, `Network\.(RouteTables|ACLs)\[` + subnetNAT},
	"ec2:DescribeVpcEndpoints":                 {`Network\.VPCs\[\S+\]\.Endpoints`, `Network\.SecurityGroups\[` + endpointG},
	"ec2:DescribeVpcs":                         {`Network\.VPCs\[\S+\]\.DHCP`},
	"ec2:DescribeDhcpOptions":                  {`Network\.VPCs\[\S+\]\.DHCP`},
	"ec2:DescribeVpcAttribute":                 {`Network\.VPCs\[\S+\]\.DNS`},
	"eks:DescribeCluster":                      {`Cluster\.(Config|AwsAuth|AccessEntries)`, `Network\.SecurityGroups\[` + clusterSG, `Network\.(RouteTables|ACLs)`},
	"eks:DescribeNodegroup":                    {`Groups\[\S+\]\.NodeGroup`},
	"eks:ListAccessEntries":                    {`Cluster\.AccessEntries`},
	"eks:DescribeAccessEntry":                  {`Cluster\.AccessEntries`},
	"eks:ListAssociatedAccessPolicies":         {`Cluster\.AccessEntries`},
	"autoscaling:DescribeAutoScalingGroups":    {`Groups\[\S+\]\.AutoScaling`},
	"autoscaling:DescribeAutoScalingInstances": onlyKept,
	"autoscaling:DescribeScalingActivities":    {`Groups\[\S+\]\.Activities`},
	"iam:GetInstanceProfile":                   {`Profiles`, `Roles`, `Policies`, `Cluster\.AccessEntries`},
	"iam:GetRole":                              {`Roles`},
	"iam:ListAttachedRolePolicies":             {`Policies`},
	"iam:ListRolePolicies":                     {`Policies`},

	"nodes":                           {`Nodes\[\S+\]\.Object`},
	"leases":                          {`Nodes\[\S+\]\.Lease`},
	"events":                          {`Nodes\[\S+\]\.(Events|Pods)`, `Groups\[\S+\]\.NodeClaims`},
	"pods":                            {`Nodes\[\S+\]\.Pods`},
	"configmaps":                      {`Cluster\.AwsAuth`},
	"nodepools":                       {`Groups\[\S+\]\.(NodePool|NodeClass)`},
	"nodeclaims":                      {`Groups\[\S+\]\.NodeClaims`},
	"ec2nodeclasses":                  {`Groups\[\S+\]\.NodeClass`},
	"mutatingwebhookconfigurations":   {`Cluster\.Webhooks`},
	"validatingwebhookconfigurations": {`Cluster\.Webhooks`},
	"endpointslices":                  {`Cluster\.Webhooks`},
}

func TestAMissingPermissionIsToldWhereItIsMissedAndNowhereElse(t *testing.T) {
	base, in := detachedToo()
	whole := facts(base.collector().Collect(t.Context(), in))
	for action := range maps.Keys(base.calls) {
		expect.That(t, hangs[action] != nil, "nothing is known of %s", action)
	}
	for action, allowed := range hangs {
		a, in := detachedToo()
		if strings.Contains(action, ":") {
			a.fail[action] = denied(action)
		} else {
			a.api.denied[action] = true
		}
		got := facts(a.collector().Collect(t.Context(), in))
		changed := regexp.MustCompile(`^\.(` + strings.Join(allowed, "|") + `)`)
		told := false
		for path := range maps.Keys(whole) {
			text, there := got[path]
			told = told || strings.Contains(text, action)
			switch {
			case text == whole[path]:
			case !changed.MatchString(path):
				t.Errorf("without %s, %s became %q", action, path, text)
			case there && strings.HasPrefix(text, "absent"), there && text == "not asked":
				t.Errorf("without %s, %s is taken for %q", action, path, text)
			case strings.HasPrefix(text, "unreadable") && !strings.Contains(text, action):
				t.Errorf("without %s, %s does not name it: %q", action, path, text)
			}
		}
		if !told && !slices.Equal(allowed, onlyKept) {
			t.Errorf("without %s, nothing says so", action)
		}
	}
}

// What may hold secrets is left out without a call, and what rests on it is not checked, with the
// reason.
func TestWhatMayHoldSecretsIsLeftUnreadWhereItShallBe(t *testing.T) {
	secrets := []string{"ec2:DescribeInstanceAttribute", "ec2:GetConsoleOutput", "ec2:DescribeLaunchTemplateVersions"}
	a, in := detachedToo()
	read := facts(a.collector().Collect(t.Context(), in))
	for _, action := range secrets {
		expect.That(t, a.calls[action] != 0, "nothing of this account needs %s", action)
	}
	b, in := detachedToo()
	c := b.collector()
	c.WithoutSecrets = true
	left := facts(c.Collect(t.Context(), in))
	for _, action := range secrets {
		expect.That(t, b.calls[action] <= 0, "%s was called", action)
	}
	rests := regexp.MustCompile(`^\.(Instances\[\S+\]\.(UserData|Console)|Templates)`)
	for path, text := range read {
		switch got := left[path]; {
		case !rests.MatchString(path) && got != text:
			t.Errorf("%s became %q", path, got)
		case rests.MatchString(path) && strings.HasPrefix(text, "known") && (got == text || got != "" && !strings.Contains(got, "ReadConsoleAndUserData is false")):
			t.Errorf("%s is %q", path, got)
		}
	}
}

// detachedToo returns oneOfEach with an instance that its Auto Scaling group does not list.
func detachedToo() (*account, Input) {
	a, in := oneOfEach()
	a.launch(3, workers)
	a.scaling[0].Instances = slices.DeleteFunc(a.scaling[0].Instances, func(i asgtypes.Instance) bool { return aws.ToString(i.InstanceId) == string(instanceID(3)) })
	a.detached = append(a.detached, asgtypes.AutoScalingInstanceDetails{InstanceId: aws.String(string(instanceID(3))), AutoScalingGroupName: aws.String("eks-workers"), LifecycleState: aws.String("Detaching"), HealthStatus: aws.String("HEALTHY")})
	in.Findings = append(in.Findings, found(3, roll.Unregistered, workers))
	in.Snapshot = seen(in.Findings...)
	for i := range in.Snapshot.Instances {
		if in.Snapshot.Instances[i].Group == workers {
			in.Snapshot.Instances[i].ASG = "eks-workers"
		}
	}
	return a, in
}

// 500 instances that share one broken role, in 3 subnets and 2 groups.
func TestOneBrokenRoleCostsAHandfulOfCalls(t *testing.T) {
	for name, groups := range map[string][2]roll.Group{
		"Karpenter": {pool, "nodepool/batch"}, "managed node groups": {workers, "nodegroup/batch"}, "one of each": {pool, workers},
	} {
		a, in := manyUnregistered(500, groups)
		e := a.collector().Collect(t.Context(), in)
		if n := a.total(); n > 40 {
			t.Errorf("%s: %d AWS calls, want at most 40: %v", name, n, a.calls)
		}
		for _, action := range []string{"ec2:GetConsoleOutput", "ec2:DescribeInstanceAttribute"} {
			n := a.calls[action]
			expect.That(t, n >= 2*2 && n <= 2*3, "%s: %d calls of %s, want 2 or 3 for each group", name, n, action)
		}
		n := len(a.api.requests)
		expect.That(t, n <= 60, "%s: %d requests to the Kubernetes API, want at most 60", name, n)
		described := 0
		for _, i := range e.Instances {
			if i.Config.Known() {
				described++
			}
		}
		expect.That(t, described == 500 && e.Profiles[nodeProfile].Known() && e.Roles["demo-node"].Known() && len(e.Network.Subnets) == 3, "%s: %d instances, profiles %v, %d subnets", name, described, e.Profiles, len(e.Network.Subnets))
	}
}

func manyUnregistered(n int, groups [2]roll.Group) (*account, Input) {
	a := healthy()
	a.entries = nil // no principal has access
	for i := range 8 {
		a.entries = append(a.entries, ekstypes.AccessEntry{PrincipalArn: aws.String(fmt.Sprintf("arn:aws:iam::111122223333:role/karpenter-%d", i)), Type: aws.String("EC2_LINUX"), CreatedAt: aws.Time(at)})
		a.addRole(fmt.Sprintf("karpenter-%d", i), fmt.Sprintf("arn:aws:iam::111122223333:role/karpenter-%d", i))
	}
	a.api.put("/api/v1/namespaces/kube-system/configmaps/aws-auth", thing{"data": thing{"mapRoles": "[]"}})
	a.nodeGroups["batch"] = a.nodeGroups["workers"]
	a.scaling = append(a.scaling, asgtypes.AutoScalingGroup{AutoScalingGroupName: aws.String("eks-batch")})
	a.templates = append(a.templates, types.LaunchTemplateVersion{LaunchTemplateId: aws.String(id("lt", 2)), VersionNumber: aws.Int64(3)})
	a.api.put("/apis/karpenter.sh/v1/nodepools/batch", a.api.objects["/apis/karpenter.sh/v1/nodepools/default"])
	var findings []roll.Finding
	for i := 1; i <= n; i++ {
		group := groups[i%2]
		inst := a.launch(i, group)
		inst.SubnetId = aws.String([]string{subnetA, subnetB, subnetNAT}[i%3])
		if i%2 == 1 {
			for j := range inst.Tags {
				if aws.ToString(inst.Tags[j].Key) == "aws:ec2launchtemplate:id" {
					inst.Tags[j].Value = aws.String(id("lt", 2))
				}
			}
		}
		findings = append(findings, found(i, roll.Unregistered, group))
	}
	s := seen(findings...)
	for i := n + 1; i <= n+60; i++ { // healthy ones to compare with
		group := groups[i%2]
		a.launch(i, group)
		s.Instances = append(s.Instances, roll.Instance{ID: instanceID(i), Launched: at.Add(-24 * time.Hour), Owner: owner(group), Group: group})
		s.Nodes = append(s.Nodes, roll.Node{Name: nodeName(i), Compute: roll.ComputeEC2, Instance: instanceID(i), Ready: roll.Condition{Status: roll.ConditionTrue}})
	}
	return a, Input{Snapshot: s, Findings: findings}
}

func TestTheFirstOfAGroupAndKindAreSampled(t *testing.T) {
	a := healthy()
	e := a.collector().Collect(t.Context(), a.inTrouble(6, roll.Unregistered, pool))
	want := []string{string(instanceID(0)), string(instanceID(1)), string(instanceID(2))}
	expect.List(t, a.asked("ec2:GetConsoleOutput"), want, "console read of")
	expect.List(t, a.asked("ec2:DescribeInstanceAttribute"), want, "user data read of")
	why := "sampled: read from 3 instances of nodepool/default, not from this one"
	if i := e.Instances[instanceID(3)]; i.Console.Gap() != why || i.UserData.Gap() != why {
		t.Errorf("the fourth: %+v", i)
	}
	i := e.Instances[instanceID(2)]
	expect.That(t, i.UserData.Value.SHA256 != "" && i.UserData.Value.SHA256 == e.Instances[instanceID(0)].UserData.Value.SHA256 && i.ConsoleAt.Equal(at), "the third: %+v", i)
}

func TestNothingIsSampledWhereReadingIsFree(t *testing.T) {
	a := healthy()
	for n := range 12 {
		a.join(n)
	}
	c := a.collector()
	c.Free = true
	e := c.Collect(t.Context(), a.inTrouble(12, roll.Unknown, workers))
	for n := range 12 {
		i, node := e.Instances[instanceID(n)], e.Nodes[nodeName(n)]
		expect.That(t, i.Console.Known() && node.Object.Known() && node.Lease.Known() && node.Pods.Known() && node.Events.Known(), "%d: %+v %+v", n, i, node)
	}
}

func TestBoundsOfACheck(t *testing.T) {
	a := healthy()
	var findings []roll.Finding
	for n := range 1100 {
		group := roll.NodePoolGroup(fmt.Sprintf("p%d", n%20))
		a.launch(n, group)
		if n < 40 {
			a.join(n)
			a.claim(n, fmt.Sprintf("p%d", n%20))
			a.api.put(fmt.Sprintf("/apis/karpenter.sh/v1/nodepools/p%d", n%20), thing{"spec": thing{"template": thing{"spec": thing{"nodeClassRef": thing{"kind": "EC2NodeClass", "name": fmt.Sprintf("c%d", n%20)}}}}})
			a.api.put(fmt.Sprintf("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w%d", n), thing{"webhooks": []any{
				thing{"name": "w", "clientConfig": thing{"service": thing{"namespace": "policy", "name": fmt.Sprintf("s%d", n)}}, "rules": []any{thing{"apiGroups": []any{"*"}, "operations": []any{"*"}, "resources": []any{"*/*"}}}},
			}})
		}
		findings = append(findings, found(n, roll.Unknown, group))
	}
	e := a.collector().Collect(t.Context(), Input{Snapshot: seen(findings...), Findings: findings})
	if n := len(a.api.requests); n > 62 { // both kinds of webhooks are one question
		t.Errorf("%d requests to the Kubernetes API, want at most 60 questions", n)
	}
	expect.That(t, a.calls["ec2:DescribeInstances"] == 5 && a.calls["ec2:GetConsoleOutput"] == 20 && a.calls["ec2:DescribeInstanceStatus"] == 1, "calls %v", a.calls)
	var i evidence.Instance // which one depends on the time
	for _, i = range e.Instances {
		if !i.Config.Known() {
			break
		}
	}
	for what, gap := range map[string]string{"config": i.Config.Gap(), "status": i.Status.Gap(), "console": i.Console.Gap(), "node": e.Nodes[nodeName(30)].Object.Gap(), "lease of an unsampled one": e.Nodes[nodeName(99)].Lease.Gap(), "pool": e.Groups["nodepool/p19"].NodePool.Gap(), "claims": e.Groups["nodepool/p19"].NodeClaims.Gap()} {
		if gap == "" || gap == "it was not asked for" || !strings.Contains(gap, "check") && !strings.Contains(gap, "sampled") {
			t.Errorf("%s: %q tells no bound", what, gap)
		}
	}
}

func TestWhatMeetsEveryCallEndsTheAction(t *testing.T) {
	for name, err := range map[string]error{
		"a throttle":           apiError("RequestLimitExceeded", "Request limit exceeded."),
		"a missing permission": denied("ec2:GetConsoleOutput"),
		"expired credentials":  apiError("RequestExpired", "Request has expired."),
	} {
		a := healthy()
		a.fail["ec2:GetConsoleOutput"] = err
		e := a.collector().Collect(t.Context(), a.inTrouble(3, roll.Unregistered, pool))
		expect.That(t, a.calls["ec2:GetConsoleOutput"] == 1, "%s: %d calls", name, a.calls["ec2:GetConsoleOutput"])
		first, last := e.Instances[instanceID(0)].Console, e.Instances[instanceID(2)].Console
		expect.That(t, last.State == evidence.Unreadable && last.Why == first.Why && strings.Contains(last.Why, "ec2:GetConsoleOutput"), "%s: %+v", name, last)
		expect.That(t, e.Instances[instanceID(2)].UserData.Known(), "%s: it ended another action too", name)
	}
}

func TestWhatIsWrongWithOneThingKeepsNobodyElseFromBeingRead(t *testing.T) {
	a := healthy()
	a.fail["ec2:GetConsoleOutput "+string(instanceID(0))] = apiError("InternalError", "An internal error has occurred")
	a.fail["ec2:GetConsoleOutput "+string(instanceID(1))] = apiError("InvalidInstanceID.NotFound", "The instance ID '"+string(instanceID(1))+"' does not exist")
	e := a.collector().Collect(t.Context(), a.inTrouble(3, roll.Unregistered, pool))
	for n, want := range []evidence.State{evidence.Unreadable, evidence.Absent, evidence.Known} {
		expect.Equal(t, e.Instances[instanceID(n)].Console.State, want, "%d", n)
	}
}

func TestTheEndOfTimeIsToldAndCostsNothingMore(t *testing.T) {
	a, in := oneOfEach()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := a.collector().Collect(ctx, in)
	c := e.Cluster.Config
	expect.That(t, c.State == evidence.Unreadable && strings.Contains(c.Why, "eks:DescribeCluster"), "cluster: %+v", c)
	for path, text := range facts(e) {
		expect.That(t, !strings.HasPrefix(text, "absent"), "%s is taken for absent", path)
	}
	for action, n := range a.calls {
		expect.That(t, n <= 1, "%s was called %d times", action, n)
	}
}

// IAM has no endpoint in most networks without internet, and nothing answers there.
func TestAServiceThatNeverAnswersTakesNoTimeFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, in := oneOfEach()
		a.silent = map[string]bool{"iam:GetInstanceProfile": true}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		e := a.collector().Collect(ctx, in)
		took := time.Since(began)
		expect.That(t, took <= callTime, "it took %s", took)
		p := e.Profiles[nodeProfile]
		expect.That(t, p.State == evidence.Unreadable && strings.Contains(p.Why, "iam:GetInstanceProfile"), "%+v", p)
		expect.That(t, e.Network.SecurityGroups[nodeGroup1].Known() && e.Network.NATGateways[nat].Known() && e.Cluster.AccessEntries.Known(), "something else was not read for it")
	})
}

func TestTheSameAccountGivesTheSameEvidence(t *testing.T) {
	var first *evidence.Evidence
	for range 20 {
		a, in := detachedToo()
		a.fail["iam:GetRole"] = denied("iam:GetRole")
		e := a.collector().Collect(t.Context(), in)
		if first == nil {
			first = e
		}
		must.That(t, reflect.DeepEqual(e, first), "two collections differ")
	}
}

// A simulated account is not safe for concurrent use, and must be reproducible.
func TestInSeriesTheSameIsAskedInTheSameOrderAndByTheCaller(t *testing.T) {
	var first []string
	for range 20 {
		a, in := detachedToo()
		a.fail["iam:GetRole"] = denied("iam:GetRole")
		var log []string
		a.heard = func(what string) { log = append(log, goroutine()+": "+what) }
		a.api.heard = a.heard
		New(Options{AWS: a.aws(), Kube: a, Serial: true}).Collect(t.Context(), in)
		if first == nil {
			first = log
		}
		must.That(t, slices.Equal(log, first), "asked\n%s\nand another time\n%s", strings.Join(log, "\n"), strings.Join(first, "\n"))
		for _, line := range log {
			who, what, _ := strings.Cut(line, ": ")
			must.That(t, who == goroutine(), "%s is asked in another goroutine", what)
		}
	}
	expect.That(t, len(first) >= 40, "only %d questions", len(first))
}

// goroutine returns the name of the caller's goroutine, as in a stack trace.
func goroutine() string {
	name, _, _ := strings.Cut(string(debug.Stack()), " [")
	return name
}

func TestACollectorServesSeveralChecksAtOnce(t *testing.T) {
	a, in := oneOfEach()
	c := a.collector()
	done := make(chan *evidence.Evidence)
	for range 4 {
		go func() { done <- c.Collect(t.Context(), in) }()
	}
	one := <-done
	for range 3 {
		other := <-done
		expect.That(t, reflect.DeepEqual(one, other), "two collections differ")
	}
}

func TestNoTextOfUserDataOrConsoleOrSecretsOfEventsIsKept(t *testing.T) {
	a, in := oneOfEach()
	a.consoles[string(instanceID(1))] = "cloud-init: export DB_PASSWORD=hunter2hunter2\n"
	text := fmt.Sprintf("%+v", *a.collector().Collect(t.Context(), in))
	expect.That(t, !strings.Contains(text, "hunter2") && !strings.Contains(text, "DB_PASSWORD"), "a secret is in the evidence")
	expect.That(t, strings.Contains(text, "System OOM encountered"), "the event's message is not there at all, so nothing was tried")
}

func TestOnlyWhatIsPastWatchingIsDiagnosed(t *testing.T) {
	a, in := oneOfEach()
	for i := range in.Findings {
		in.Findings[i].Stage = roll.Watching
	}
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, a.total() == 0 && len(a.api.requests) == 0 && len(e.Findings) == 2 && len(e.Zones) == 1, "%v, %d findings, zones %+v", a.calls, len(e.Findings), e.Zones)
	in.Whole = true
	if e := a.collector().Collect(t.Context(), in); !e.Instances[instanceID(1)].Config.Known() {
		t.Error("with Whole, it was not read either")
	}
}

func TestAsksOnlyWhatTheKindIsDiagnosedBy(t *testing.T) {
	for kind, want := range map[roll.Kind][]string{
		roll.Orphaned: {"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities", "ec2:DescribeInstances", "eks:DescribeCluster", "eks:DescribeNodegroup"},
		roll.Ghost:    {"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities", "ec2:DescribeInstances", "eks:DescribeCluster", "eks:DescribeNodegroup"},
		roll.Impaired: {"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities", "ec2:DescribeInstanceStatus", "ec2:DescribeInstances", "ec2:GetConsoleOutput", "eks:DescribeCluster", "eks:DescribeNodegroup"},
	} {
		a := healthy()
		a.launch(1, workers)
		a.join(1)
		findings := []roll.Finding{found(1, kind, workers)}
		a.collector().Collect(t.Context(), Input{Snapshot: seen(findings...), Findings: findings})
		expect.List(t, slices.Sorted(maps.Keys(a.calls)), want, "%s", kind)
	}
	for _, kind := range roll.Kinds() {
		_, ok := needs[kind]
		expect.That(t, ok, "nothing is known of %s", kind)
	}
}

func TestAGoneClusterIsAbsentAndItsAPIIsNotAsked(t *testing.T) {
	a, in := oneOfEach()
	a.cluster = nil
	in.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone, Detail: "there is no EKS cluster \"demo\""}}
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, e.Cluster.Config.State == evidence.Absent && len(a.api.requests) == 0, "%+v, %v", e.Cluster.Config, a.api.requests)
	expect.Equal(t, e.Nodes[nodeName(2)].Lease.Gap(), "there is no EKS cluster \"demo\"", "lease")
}

func TestAnAPIServerThatDoesNotAnswerIsAskedOnce(t *testing.T) {
	a, in := oneOfEach()
	in.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Detail: "the Kubernetes API of demo did not answer in time"}}
	e := a.collector().Collect(t.Context(), in)
	if len(a.api.requests) != 0 || e.Nodes[nodeName(2)].Object.Gap() != in.Snapshot.Gaps[0].Detail || e.Cluster.AwsAuth.Gap() != in.Snapshot.Gaps[0].Detail {
		t.Errorf("%v: %+v", a.api.requests, e.Nodes)
	}

	for _, g := range []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapDenied, Detail: "nodes may not be listed"}, {Scope: roll.ScopeDetail, Kind: roll.GapClusterUnreachable, Detail: "one lease"}} {
		a, in = oneOfEach()
		in.Snapshot.Gaps = []roll.Gap{g}
		e = a.collector().Collect(t.Context(), in)
		expect.That(t, e.Cluster.AwsAuth.Known(), "after %q: %+v", g.Detail, e.Cluster.AwsAuth)
	}

	a, in = oneOfEach()
	a.api.down = errors.New("no route to host")
	e = a.collector().Collect(t.Context(), in)
	if n := len(a.api.requests); n > 4*11 { // client-go itself tries again
		t.Errorf("%d requests", n)
	}
	gap := e.Cluster.AwsAuth.Gap()
	expect.That(t, strings.Contains(gap, "no route to host"), "aws-auth: %q", gap)
}

// A listing may take too long, and custom resources may need a conversion webhook that fails: that says
// nothing about other kinds.
func TestAKindThatIsNotAnsweredLeavesTheOthers(t *testing.T) {
	set := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	karpenters := set("nodeclaims", "nodepools", "ec2nodeclasses")
	for name, tt := range map[string]struct {
		broken, slow map[string]bool
		others       bool // are read
	}{
		"all is well": {nil, nil, true},
		"the conversion webhook of Karpenter's objects fails": {karpenters, nil, true},
		"or does not answer":                         {nil, karpenters, true},
		"there are too many events":                  {nil, set("events"), true},
		"two kinds cannot be read from etcd":         {set("leases", "pods"), nil, true},
		"one of Karpenter's and one other are slow":  {nil, set("nodeclaims", "leases"), true},
		"after the nodes were listed it went silent": {nil, set("leases", "events", "pods", "nodes"), false},
	} {
		a, in := oneOfEach()
		a.api.broken, a.api.slow = tt.broken, tt.slow
		e := a.collector().Collect(t.Context(), in)
		expect.That(t, e.Cluster.AwsAuth.Known() == tt.others, "%s: aws-auth: %q", name, e.Cluster.AwsAuth.Gap())
		for resource := range tt.slow {
			n := len(slices.DeleteFunc(slices.Clone(a.api.requests), func(path string) bool { return resourceOf(path) != resource }))
			expect.That(t, n <= 1, "%s: %s were asked for %d times", name, resource, n)
		}
	}
}

func TestMembersOfAGroup(t *testing.T) {
	a, in := manyUnregistered(4, [2]roll.Group{pool, pool})
	a.instances[len(a.instances)-1].ImageId = aws.String(id("ami", 2)) // 64, launched last
	in.Snapshot.Instances[len(in.Snapshot.Instances)-1].Launched = at
	e := a.collector().Collect(t.Context(), in)
	g := e.Groups[pool]
	must.That(t, len(g.Members) == 64, "%d members", len(g.Members))
	described := 0
	for _, m := range g.Members {
		if m.Healthy && m.Image != "" {
			described++
		}
	}
	last := g.Members[63]
	expect.That(t, described == 20 && last.Image == id("ami", 2) && last.Healthy && last.LaunchTemplateVersion == "3", "%d healthy ones described; the latest: %+v", described, last)
	if m := g.Members[0]; m.Healthy || m.Finding != roll.Unregistered || m.Image != ami || cmp.Or(m.LaunchTemplate, "-") == "-" {
		t.Errorf("the first: %+v", m)
	}
	m := g.Members[40]
	expect.That(t, m.Healthy && m.LaunchTemplate == "", "one that was not described: %+v", m)
}
