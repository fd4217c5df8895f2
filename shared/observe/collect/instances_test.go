package collect

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// checked collects evidence for findings of one kind about the given instances.
func checked(t *testing.T, a *account, kind roll.Kind, group roll.Group, instances ...int) *evidence.Evidence {
	t.Helper()
	var findings []roll.Finding
	for _, n := range instances {
		findings = append(findings, found(n, kind, group))
	}
	return a.collector().Collect(t.Context(), Input{Snapshot: seen(findings...), Findings: findings})
}

func TestWhatEC2SaysOfAnInstance(t *testing.T) {
	a := healthy()
	i := a.launch(1, workers)
	i.Ipv6Address, i.PublicIpAddress = aws.String("2001:db8::1"), aws.String("203.0.113.5")
	i.InstanceLifecycle, i.Platform = types.InstanceLifecycleTypeSpot, "Windows"
	i.StateReason = &types.StateReason{Message: aws.String("why")}
	i.MetadataOptions.HttpEndpoint = types.InstanceMetadataEndpointStateDisabled
	got := checked(t, a, roll.Unregistered, workers, 1).Instances[instanceID(1)].Config.Value
	want := evidence.InstanceConfig{
		State: "running", StateReason: "why", Launched: at.Add(-time.Hour), Type: "m5.large", Architecture: "x86_64", Platform: "windows", Image: ami,
		VPC: vpc, Subnet: subnetB, PrivateIP: "10.0.1.5", PublicIP: "203.0.113.5", IPv6: true,
		SecurityGroups: []string{nodeGroup1}, // of the primary interface, not those of pods
		ProfileARN:     nodeProfile, HopLimit: 1, IMDSDisabled: true, ClusterTags: []string{"demo"},
		Group: workers, NodeGroup: "workers", ASG: "eks-workers", LaunchTemplate: template, LaunchTemplateVersion: "3",
	}
	expect.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)
	i.Ipv6Address, i.MetadataOptions.HttpEndpoint = nil, types.InstanceMetadataEndpointStateEnabled
	card := types.InstanceNetworkInterface{Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(1)}, Groups: []types.GroupIdentifier{{GroupId: aws.String("sg-card")}}}
	i.NetworkInterfaces = append(i.NetworkInterfaces, card, types.InstanceNetworkInterface{})
	got = checked(t, a, roll.Unregistered, workers, 1).Instances[instanceID(1)].Config.Value
	expect.That(t, !got.IPv6 && !got.IMDSDisabled && slices.Equal(got.SecurityGroups, want.SecurityGroups), "got %+v", got)
	i.NetworkInterfaces[0].Ipv6Addresses = []types.InstanceIpv6Address{{Ipv6Address: aws.String("2001:db8::1")}}
	got = checked(t, a, roll.Unregistered, workers, 1).Instances[instanceID(1)].Config.Value
	expect.That(t, got.IPv6, "got %+v", got)
}

func TestAnInstanceThatIsGoneIsAbsentAndTheOthersAreRead(t *testing.T) {
	a := healthy()
	a.launch(2, pool)
	e := checked(t, a, roll.Unknown, pool, 1, 2)
	if i := e.Instances[instanceID(1)]; i.Config.State != evidence.Absent || i.Status.State != evidence.Absent {
		t.Errorf("%+v", i)
	}
	i := e.Instances[instanceID(2)]
	expect.That(t, i.Config.Known() && i.Status.Known(), "%+v", i)
}

func TestStatusChecks(t *testing.T) {
	a := healthy()
	a.launch(1, workers)
	since := at.Add(-20 * time.Minute)
	a.statuses[string(instanceID(1))] = types.InstanceStatus{
		InstanceStatus: &types.InstanceStatusSummary{Status: types.SummaryStatusImpaired, Details: []types.InstanceStatusDetails{{ImpairedSince: aws.Time(since)}, {ImpairedSince: aws.Time(since.Add(time.Minute))}, {}}},
		SystemStatus:   &types.InstanceStatusSummary{Status: types.SummaryStatusOk},
		Events:         []types.InstanceStatusEvent{{Code: types.EventCodeInstanceRetirement, Description: aws.String("The instance is running on degraded hardware")}, {Code: types.EventCodeSystemReboot, Description: aws.String("[Completed] reboot")}},
	}
	got := checked(t, a, roll.Impaired, workers, 1).Instances[instanceID(1)].Status.Value
	want := evidence.InstanceStatus{Instance: "impaired", System: "ok", InstanceSince: since, Events: []roll.Event{{Code: "instance-retirement"}}}
	expect.That(t, reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
}

// If there are more instances than one call takes, those that are known to fail come first.
func TestStatusOfImpairedInstancesIsReadFirst(t *testing.T) {
	a := healthy()
	in := a.inTrouble(120, roll.Unregistered, pool)
	in.Snapshot.Impaired = map[roll.InstanceID]roll.Impairment{instanceID(119): {}}
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, e.Instances[instanceID(119)].Status.Known() && e.Instances[instanceID(98)].Status.Known() && e.Instances[instanceID(99)].Status.State == evidence.NotAsked, "%+v", e.Instances[instanceID(119)].Status)
}

func TestConsoleFallsBackWhereThereIsNoLatestOutput(t *testing.T) {
	a := healthy()
	for n := 1; n <= 3; n++ {
		a.launch(n, pool)
		a.xen[string(instanceID(n))] = true
	}
	e := checked(t, a, roll.Unregistered, pool, 1, 2, 3)
	for n := 1; n <= 3; n++ {
		i := e.Instances[instanceID(n)]
		expect.That(t, i.Console.Known() && i.Console.Value.Lines != 0, "%d: %+v", n, i.Console)
	}
	if a.calls["ec2:GetConsoleOutput"] != 4 { // two calls for the first instance of a type
		t.Errorf("%d calls", a.calls["ec2:GetConsoleOutput"])
	}
}

func TestAConsoleWithoutOutputYetSaysNothing(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	delete(a.consoles, string(instanceID(1)))
	c := checked(t, a, roll.Unregistered, pool, 1).Instances[instanceID(1)].Console
	expect.That(t, c.Known() && c.Value.Lines == 0, "%+v", c)
}

func TestUserData(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	delete(a.userData, string(instanceID(1)))
	u := checked(t, a, roll.Unregistered, pool, 1).Instances[instanceID(1)].UserData
	expect.That(t, u.State == evidence.Absent, "%+v", u)
	f := boot("%%%", "there")
	expect.That(t, f.State == evidence.Unreadable && f.Why == "there: user data is not valid base64", "%+v", f)
}

func TestImagesAndLaunchTemplatesThatAreGone(t *testing.T) {
	a := healthy()
	for n := 1; n <= 3; n++ {
		a.launch(n, pool)
	}
	a.instances[0].ImageId = aws.String(id("ami", 7))
	for i, tag := range a.instances[1].Tags {
		if aws.ToString(tag.Key) == "aws:ec2launchtemplate:version" {
			a.instances[1].Tags[i].Value = aws.String("2")
		}
	}
	e := checked(t, a, roll.Unregistered, pool, 1, 2, 3)
	expect.That(t, e.Images[id("ami", 7)].State == evidence.Absent && e.Images[ami].Known() && e.Images[ami].Value.Kubernetes == "1.36" && e.Images[ami].Value.EKS, "%+v", e.Images)
	expect.That(t, e.Templates[template+":2"].State == evidence.Absent && e.Templates[template+":3"].Known(), "%+v", e.Templates)
	v := e.Templates[template+":3"].Value
	expect.That(t, v.HasUserData && v.UserData.Known() && v.Image == ami, "%+v", v)
	if got := a.asked("ec2:DescribeLaunchTemplateVersions"); len(got) != 3 { // at once, then one by one
		t.Errorf("%v", got)
	}
}

func TestWhatAutoScalingAndEKSReportOfAGroup(t *testing.T) {
	a, in := detachedToo()
	e := a.collector().Collect(t.Context(), in)
	expect.List(t, a.asked("autoscaling:DescribeAutoScalingInstances"), []string{"1"}, "instances asked about")
	if got := e.Groups[workers]; got.AutoScaling.Value.Lifecycles[instanceID(2)] != "InService" || len(got.AutoScaling.Value.Subnets) != 2 || len(got.Activities.Value) != 1 || got.NodeGroup.Value.Issues[0].Code != "NodeCreationFailure" {
		t.Errorf("%+v", got)
	}
}

func TestGroupsThatAreGoneAreAbsent(t *testing.T) {
	a := healthy()
	a.launch(1, workers)
	a.nodeGroups, a.scaling = nil, nil
	g := checked(t, a, roll.Orphaned, workers, 1).Groups[workers]
	expect.That(t, g.NodeGroup.State == evidence.Absent && g.AutoScaling.State == evidence.Absent, "%+v", g)
}

// A finding about no instance leads to no call to EC2 or other services about instances.
func TestWhatIsNoInstanceIsNotAskedOfEC2(t *testing.T) {
	a, in := oneOfEach()
	want := maps.Clone(func() map[string]int { a.collector().Collect(t.Context(), in); return a.calls }())
	for _, kind := range roll.Kinds() {
		for _, id := range []roll.InstanceID{roll.SubjectID("nodepool", "default"), roll.SubjectID("node", "n"), roll.SubjectID("eni", "eni-0123")} {
			more := in
			a, _ = oneOfEach()
			more.Findings = append(slices.Clone(in.Findings), roll.Finding{Instance: id, Kind: kind, Group: roll.GroupNone, Stage: roll.Overdue})
			e := a.collector().Collect(t.Context(), more)
			if _, ok := e.Instances[id]; ok || a.calls["ec2:DescribeInstances"] != want["ec2:DescribeInstances"] || a.calls["ec2:DescribeInstanceStatus"] != want["ec2:DescribeInstanceStatus"] || a.calls["autoscaling:DescribeAutoScalingInstances"] != want["autoscaling:DescribeAutoScalingInstances"] {
				t.Errorf("%s of %s: %v, without it %v", kind, id, a.calls, want)
			}
		}
	}
}
