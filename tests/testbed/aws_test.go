package testbed

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// runOne runs one instance of the cluster.
func runOne(t *testing.T, spec InstanceSpec) string {
	t.Helper()
	spec.Cluster = ClusterName
	id, err := bed.RunInstance(t.Context(), spec)
	must.Succeed(t, err)
	return id
}

func changeOne(t *testing.T, id string, change InstanceChange) {
	t.Helper()
	must.Succeed(t, bed.ChangeInstance(t.Context(), id, change))
}

func TestStatusChecksAreFilteredAndPaged(t *testing.T) {
	ctx := reset(t)
	since := time.Now().Add(-20 * time.Minute).UTC().Truncate(time.Second)
	var impaired []string
	for i := range 4 {
		id := runOne(t, InstanceSpec{})
		if i > 0 {
			impaired = append(impaired, id)
			changeOne(t, id, InstanceChange{InstanceStatus: aws.String("impaired"), ImpairedSince: &since})
		}
	}
	managed := runOne(t, InstanceSpec{Managed: true})
	changeOne(t, managed, InstanceChange{InstanceStatus: aws.String("impaired")})
	stopped := runOne(t, InstanceSpec{State: "stopped"})
	changeOne(t, stopped, InstanceChange{InstanceStatus: aws.String("impaired")})

	filter := []ec2types.Filter{{Name: aws.String("instance-status.status"), Values: []string{"impaired"}}}
	var got []string
	pages := ec2.NewDescribeInstanceStatusPaginator(ec2.NewFromConfig(bed.AWSConfig()), &ec2.DescribeInstanceStatusInput{Filters: filter, MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		must.Succeed(t, err)
		for _, s := range page.InstanceStatuses {
			got = append(got, *s.InstanceId)
			if d := s.InstanceStatus.Details; len(d) != 1 || !aws.ToTime(d[0].ImpairedSince).Equal(since) {
				t.Errorf("%s is impaired since %+v, want %s", *s.InstanceId, d, since)
			}
		}
	}
	expect.List(t, got, impaired, "impaired")
	out, err := ec2.NewFromConfig(bed.AWSConfig()).DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{Filters: filter, IncludeManagedResources: aws.Bool(true)})
	expect.That(t, err == nil && len(out.InstanceStatuses) == 4, "with managed ones %d, %v, want 4", len(out.InstanceStatuses), err)
	out, err = ec2.NewFromConfig(bed.AWSConfig()).DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{Filters: []ec2types.Filter{{Name: aws.String("system-status.status"), Values: []string{"impaired"}}}})
	expect.That(t, err == nil && len(out.InstanceStatuses) == 0, "%d systems are impaired, %v, want none", len(out.InstanceStatuses), err)
}

func TestInstancesAsChosen(t *testing.T) {
	ctx := reset(t)
	client := ec2.NewFromConfig(impatient())
	describe := func(ids ...string) ([]ec2types.Reservation, error) {
		out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
		if err != nil {
			return nil, err
		}
		return out.Reservations, nil
	}
	id := runOne(t, InstanceSpec{Zone: "eu-west-1b", Group: "workers"})
	changeOne(t, id, InstanceChange{
		OwnerID: aws.String("111122223333"), Platform: aws.String("windows"), Purchase: aws.String("capacity-block"), Lifecycle: aws.String("Standby"),
		InstanceStatus: aws.String("impaired"), OnReboot: &InstanceChange{InstanceStatus: aws.String("ok")},
	})
	all, err := describe(id)
	must.Succeed(t, err)
	i := all[0].Instances[0]
	if aws.ToString(all[0].OwnerId) != "111122223333" || aws.ToString(i.Placement.AvailabilityZoneId) != "euw1-az1" || i.Platform != "windows" || i.InstanceLifecycle != "capacity-block" {
		t.Errorf("the reservation of %s has the instance %+v in %+v", aws.ToString(all[0].OwnerId), i, i.Placement)
	}
	member, err := autoscaling.NewFromConfig(bed.AWSConfig()).DescribeAutoScalingInstances(ctx, &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{id}})
	if err != nil || len(member.AutoScalingInstances) != 1 || aws.ToString(member.AutoScalingInstances[0].LifecycleState) != "Standby" {
		t.Errorf("its membership is %+v, %v", member, err)
	}
	if _, err := client.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Error(err)
	}
	status, err := client.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}})
	expect.That(t, err == nil && status.InstanceStatuses[0].InstanceStatus.Status == "ok", "after the reboot: %+v, %v", status, err)

	changeOne(t, id, InstanceChange{Hidden: hide(FromListing)})
	listed, err := describe()
	expect.That(t, err == nil && len(listed) == 0, "hidden from listings: %+v, %v", listed, err)
	if known, err := describe(id); err != nil || len(known) != 1 {
		t.Errorf("hidden from listings, looked up: %+v, %v", known, err)
	}
	changeOne(t, id, InstanceChange{Hidden: hide(Everywhere)})
	if _, err := describe(id); errorCode(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("hidden everywhere: %v", err)
	}
	changeOne(t, id, InstanceChange{Hidden: hide(Shown)})
	must.Succeed(t, bed.ForgetInstance(ctx, id))
	if _, err := describe(id); errorCode(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("forgotten: %v", err)
	}
}

func TestGroupsAsChosen(t *testing.T) {
	ctx := reset(t)
	runOne(t, InstanceSpec{Group: "workers"})
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	failed := Activity{ActivityID: "a-2", Description: "Launching a new EC2 instance", Cause: "a <test>", StartTime: at, StatusCode: "Failed", StatusMessage: "Insufficient capacity.", Progress: 100}
	err := bed.ChangeGroup(ctx, "workers", GroupChange{Suspended: &[]string{"Launch"}, Activities: &[]Activity{failed, {ActivityID: "a-1", Description: "x", Cause: "y", StartTime: at, StatusCode: "Successful"}}})
	must.Succeed(t, err)
	client := autoscaling.NewFromConfig(bed.AWSConfig())
	groups, err := client.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"workers"}})
	if err != nil || len(groups.AutoScalingGroups) != 1 || aws.ToString(groups.AutoScalingGroups[0].SuspendedProcesses[0].ProcessName) != "Launch" {
		t.Errorf("groups %+v, %v", groups, err)
	}
	var got []string
	pages := autoscaling.NewDescribeScalingActivitiesPaginator(client, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers"), MaxRecords: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		must.Succeed(t, err)
		for _, a := range page.Activities {
			got = append(got, *a.ActivityId)
			expect.That(t, a.StartTime.Equal(at) && *a.AutoScalingGroupName == "workers", "activity %+v", a)
		}
	}
	expect.List(t, got, []string{"a-2", "a-1"}, "activities")

	must.Succeed(t, bed.SetNodeGroup(ctx, ClusterName, "managed", NodeGroupChange{NodeRepair: true}))
	group, err := eks.NewFromConfig(bed.AWSConfig()).DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String(ClusterName), NodegroupName: aws.String("managed")})
	if err != nil || group.Nodegroup.NodeRepairConfig == nil || !aws.ToBool(group.Nodegroup.NodeRepairConfig.Enabled) {
		t.Errorf("node group %+v, %v, want one with node repair", group, err)
	}
}

func TestZonalShifts(t *testing.T) {
	ctx := reset(t)
	client := arczonalshift.NewFromConfig(bed.AWSConfig())
	arn := "arn:aws:eks:" + Region + ":" + AccountID + ":cluster/" + ClusterName
	read := func() (*arczonalshift.GetManagedResourceOutput, error) {
		return client.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
	}
	if _, err := read(); errorCode(err) != "ResourceNotFoundException" {
		t.Errorf("not enabled: %v, want ResourceNotFoundException", err)
	}
	must.Succeed(t, bed.SetCluster(ctx, ClusterName, ClusterChange{ZonalShift: aws.Bool(true)}))
	out, err := read()
	expect.That(t, err == nil && len(out.ZonalShifts)+len(out.Autoshifts) == 0 && aws.ToString(out.Arn) == arn, "enabled: %+v, %v", out, err)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	err = bed.SetShifts(ctx, ClusterName,
		Shift{AwayFrom: "euw1-az1", AppliedStatus: "APPLIED", StartTime: time.Now(), ExpiryTime: &expires},
		Shift{AwayFrom: "euw1-az2", AppliedStatus: "NOT_APPLIED", StartTime: time.Now()})
	must.Succeed(t, err)
	out, err = read()
	must.That(t, err == nil && len(out.ZonalShifts) == 1 && len(out.Autoshifts) == 1, "shifted: %+v, %v", out, err)
	if s := out.ZonalShifts[0]; aws.ToString(s.AwayFrom) != "euw1-az1" || s.AppliedStatus != "APPLIED" || !aws.ToTime(s.ExpiryTime).Equal(expires) || out.AppliedWeights["euw1-az1"] != 0 || out.AppliedWeights["euw1-az2"] != 1 {
		t.Errorf("shifted: %+v with weights %v", s, out.AppliedWeights)
	}
	calls, err := bed.Calls(ctx)
	must.Succeed(t, err)
	c := calls[len(calls)-1]
	expect.That(t, c.Service == "arc-zonal-shift" && c.Action == "GetManagedResource" && c.Params["resourceIdentifier"] == arn, "logged as %+v", c)
	cluster, err := eks.NewFromConfig(bed.AWSConfig()).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(ClusterName)})
	expect.That(t, err == nil && cluster.Cluster.ZonalShiftConfig != nil && aws.ToBool(cluster.Cluster.ZonalShiftConfig.Enabled), "cluster %+v, %v", cluster, err)
	must.Succeed(t, bed.DeleteCluster(ctx, ClusterName))
	if _, err := read(); errorCode(err) != "ResourceNotFoundException" {
		t.Errorf("deleted: %v, want ResourceNotFoundException", err)
	}
}

func hide(h Hiding) *Hiding { return &h }
