package sim

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// shop returns an account with a cluster of three groups, each with another owner, in which nothing
// happens at random.
func shop(t *testing.T) (*account, *cluster) {
	t.Helper()
	a := bare(t, false)
	a.found(ClusterSpec{Name: "shop", Mode: "remediate", Groups: []GroupSpec{
		{Name: "general", Owner: "karpenter", Type: "m5.large", Desired: 3},
		{Name: "system", Owner: "managed-nodegroup", Type: "m6g.large", Desired: 2, Repair: true},
		{Name: "batch", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 2},
	}})
	return a, a.clusters[0]
}

// need stops a test on an unexpected error.
func need[T any](t *testing.T, what T, err error) T {
	t.Helper()
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	return what
}

func instancesOf(cluster string, size int32, token *string) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{
		Filters:                 []types.Filter{{Name: aws.String("tag-key"), Values: []string{roll.ClusterTagPrefix + cluster}}},
		IncludeManagedResources: aws.Bool(true), MaxResults: aws.Int32(size), NextToken: token,
	}
}

func byIDs(ids ...string) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{InstanceIds: ids, IncludeManagedResources: aws.Bool(true)}
}

// listed returns all instances of a cluster, read page by page.
func listed(t *testing.T, v *env, cluster string, size int32) []types.Instance {
	t.Helper()
	var all []types.Instance
	var token *string
	for {
		out, err := ec2API{v}.DescribeInstances(context.Background(), instancesOf(cluster, size, token))
		need(t, out, err)
		for _, r := range out.Reservations {
			all = append(all, r.Instances...)
		}
		if token = out.NextToken; token == nil {
			return all
		}
	}
}

func idsOf(instances []types.Instance) []string {
	return roll.Map(instances, func(i types.Instance) string { return *i.InstanceId })
}

func TestInstancesAreToldAsEC2Does(t *testing.T) {
	a, c := shop(t)
	m := c.group("system").members[0]
	inside(t, a, inspect, func(v *env) {
		out, err := ec2API{v}.DescribeInstances(context.Background(), byIDs(m.id))
		i := need(t, out, err).Reservations[0].Instances[0]
		for _, tt := range []struct{ what, got, want string }{
			{"id", *i.InstanceId, m.id},
			{"state", string(i.State.Name), "running"},
			{"zone", *i.Placement.AvailabilityZone, m.zone},
			{"zone id", *i.Placement.AvailabilityZoneId, zoneID(m.zone)},
			{"type", string(i.InstanceType), "m6g.large"},
			{"architecture", string(i.Architecture), "arm64"},
			{"image", *i.ImageId, m.template.ami},
			{"name", *i.PrivateDnsName, m.dnsName},
			{"profile", *i.IamInstanceProfile.Arn, "arn:aws:iam::111122223333:instance-profile/shop-system-node"},
			{"subnet", *i.SubnetId, c.subnet(m.zone)},
			{"VPC", *i.VpcId, c.vpc()},
			{"hop limit", fmt.Sprint(*i.MetadataOptions.HttpPutResponseHopLimit), "2"},
		} {
			expect.Equal(t, tt.got, tt.want, "%s", tt.what)
		}
		expect.That(t, i.LaunchTime.Equal(m.launched.Truncate(time.Second)) && len(i.Tags) == len(m.tags), "launched %s with %d tags", i.LaunchTime, len(i.Tags))
	})
}

func TestListingsGoOnWhereThePageBeforeEnded(t *testing.T) {
	a, c := shop(t)
	inside(t, a, inspect, func(v *env) {
		whole := idsOf(listed(t, v, c.name, 1000))
		must.That(t, len(whole) == 7, "got %d instances", len(whole))
		paged := idsOf(listed(t, v, c.name, 3))
		expect.That(t, slices.Equal(paged, whole), "in pages %v, at once %v", paged, whole)
		first, err := ec2API{v}.DescribeInstances(context.Background(), instancesOf(c.name, 3, nil))
		need(t, first, err)
		c.machines[0].forget() // those after it move up
		second, err := ec2API{v}.DescribeInstances(context.Background(), instancesOf(c.name, 3, first.NextToken))
		if got := idsOf(need(t, second, err).Reservations[0].Instances); !slices.Equal(got, whole[3:6]) {
			t.Errorf("got %v after %v", got, whole[:3])
		}
		expect.List(t, idsOf(first.Reservations[0].Instances), whole[:3], "the page before turned into")
		c.machines[1].forget() // the last one of the page before
		second, err = ec2API{v}.DescribeInstances(context.Background(), instancesOf(c.name, 3, first.NextToken))
		if got := idsOf(need(t, second, err).Reservations[0].Instances); !slices.Contains(got, whole[3]) {
			t.Errorf("got %v, which lacks %s", got, whole[3])
		}
		got := listed(t, v, "another", 5)
		expect.That(t, len(got) == 0, "of no cluster: %v", got)
	})
}

func TestLookUps(t *testing.T) {
	a, c := shop(t)
	inside(t, a, inspect, func(v *env) {
		known, unknown := c.machines[0].id, "i-0123456789abcdef0"
		_, err := ec2API{v}.DescribeInstances(context.Background(), byIDs(known, unknown))
		if got := awserr.InvalidInstanceIDs(err); !slices.Equal(got, []string{unknown}) {
			t.Errorf("got %v for %v", got, err)
		}
		out, err := ec2API{v}.DescribeInstances(context.Background(), &ec2.DescribeInstancesInput{
			Filters:                 []types.Filter{{Name: aws.String("instance-id"), Values: []string{known, unknown}}},
			IncludeManagedResources: aws.Bool(true), MaxResults: aws.Int32(1000),
		})
		got := idsOf(need(t, out, err).Reservations[0].Instances)
		expect.That(t, slices.Equal(got, []string{known}), "got %v", got)
	})
}

func TestWhatIsNotSimulatedIsNotAnswered(t *testing.T) {
	a, c := shop(t)
	told := a.told()
	inside(t, a, inspect, func(v *env) {
		for name, ask := range map[string]func(){
			"another filter": func() {
				_, _ = ec2API{v}.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{IncludeManagedResources: aws.Bool(true), Filters: []types.Filter{{Name: aws.String("vpc-id")}}})
			},
			"managed ones not": func() {
				_, _ = ec2API{v}.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{c.machines[0].id}})
			},
			"every instance": func() { _, _ = v.ec2().DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{}) },
			"every tag removed": func() {
				_, _ = ec2API{v}.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{c.machines[0].id}})
			},
			"another attribute": func() {
				_, _ = v.ec2().DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{Attribute: types.InstanceAttributeNameKernel})
			},
			"all of the groups": func() {
				_, _ = autoscaling.NewFromConfig(v.aws()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
			},
		} {
			before := len(*told)
			func() {
				defer func() {
					expect.That(t, recover() != nil && len(*told) == before+1 && (*told)[before].Kind == EventViolated, "%s: it was answered", name)
				}()
				ask()
			}()
		}
	})
}

func TestStatusChecks(t *testing.T) {
	a, c := shop(t)
	ill := c.group("batch").members[1]
	ill.fall(impaired, false, false)
	failing := func(v *env, check string) []types.InstanceStatus {
		out, err := v.ec2().DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{
			Filters: []types.Filter{{Name: aws.String(check), Values: []string{"impaired"}}}, MaxResults: aws.Int32(1000), IncludeManagedResources: aws.Bool(true),
		})
		return need(t, out, err).InstanceStatuses
	}
	inside(t, a, inspect, func(v *env) {
		got := failing(v, "instance-status.status")
		expect.That(t, len(got) == 1 && *got[0].InstanceId == ill.id && got[0].InstanceStatus.Details[0].ImpairedSince.Equal(ill.since.Truncate(time.Second)), "got %+v", got)
		if got := failing(v, "system-status.status"); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
		out, err := v.ec2().DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{c.machines[0].id, ill.id}})
		of := need(t, out, err).InstanceStatuses
		expect.That(t, of[0].InstanceStatus.Status == types.SummaryStatusOk && of[1].InstanceStatus.Status == types.SummaryStatusImpaired && of[1].SystemStatus.Status == types.SummaryStatusOk, "got %+v", of)
		ill.end("a test")
		v.inv.wait(time.Minute)
		if got := failing(v, "instance-status.status"); len(got) != 0 {
			t.Errorf("what does not run fails %+v", got)
		}
		out, err = v.ec2().DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{ill.id}, IncludeAllInstances: aws.Bool(true)})
		if of := need(t, out, err).InstanceStatuses; of[0].InstanceStatus.Status != types.SummaryStatusNotApplicable {
			t.Errorf("got %+v", of)
		}
	})
}

func TestAttributesAndConsole(t *testing.T) {
	a, c := shop(t)
	m := c.group("general").members[0]
	m.protected = true
	text := func(v *env) string {
		out, err := v.ec2().GetConsoleOutput(t.Context(), &ec2.GetConsoleOutputInput{InstanceId: &m.id, Latest: aws.Bool(true)})
		plain, err := base64.StdEncoding.DecodeString(aws.ToString(need(t, out, err).Output))
		return string(need(t, plain, err))
	}
	inside(t, a, inspect, func(v *env) {
		out, err := v.ec2().DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &m.id, Attribute: types.InstanceAttributeNameUserData})
		if got, _ := base64.StdEncoding.DecodeString(*need(t, out, err).UserData.Value); string(got) != m.template.userData {
			t.Errorf("got %s", got)
		}
		out, err = v.ec2().DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &m.id, Attribute: types.InstanceAttributeNameDisableApiTermination})
		expect.That(t, *need(t, out, err).DisableApiTermination.Value, "it is not protected")
		m.unstoppable = true
		for _, attribute := range []types.InstanceAttributeName{types.InstanceAttributeNameDisableApiTermination, types.InstanceAttributeNameDisableApiStop} {
			out, err = v.ec2().DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &m.id, Attribute: attribute})
			got := need(t, out, err)
			expect.That(t, got.DisableApiTermination == nil || !*got.DisableApiTermination.Value, "it has termination protection")
			expect.That(t, got.DisableApiStop == nil || *got.DisableApiStop.Value, "it has no stop protection")
		}
		if got := text(v); !strings.Contains(got, " login: ") || strings.Contains(got, "Out of memory") {
			t.Errorf("got %s", got)
		}
		m.starve(time.Second, false)
		v.inv.wait(2 * time.Second)
		if got := text(v); !strings.Contains(got, "Out of memory: Killed process") {
			t.Errorf("got %s", got)
		}
		m.template.breaks, m.template.console = neverJoins, "it broke"
		expect.Equal(t, text(v), "it broke", "text(v)")
	})
}

func TestTags(t *testing.T) {
	a, c := shop(t)
	m := c.machines[0]
	write := func(v *env, key, value string) error {
		_, err := ec2API{v}.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{m.id}, Tags: []types.Tag{{Key: &key, Value: &value}}})
		return err
	}
	inside(t, a, inspect, func(v *env) {
		if err := write(v, "rollcall:hold", "true"); !awserr.IsDenied(err) {
			t.Errorf("a tag of people is written: %v", err)
		}
		if err := write(v, roll.TagNext, strings.Repeat("é", 257)); err == nil || awserr.IsDenied(err) {
			t.Errorf("a value that is too long: %v", err)
		}
		for _, err := range []error{write(v, roll.TagFinding, "Unknown"), write(v, roll.TagOrder, "one"), write(v, roll.TagOrder, "two")} {
			need(t, "", err)
		}
		if got, _ := get(m.tags, roll.TagOrder); got != "two" {
			t.Errorf("got %q", got)
		}
		v.inv.wait(atTimes)
		got, _ := get(m.shownTags, roll.TagOrder)
		expect.That(t, got == "two", "shown is %q", got)
		_, err := ec2API{v}.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{m.id}, Tags: []types.Tag{{Key: aws.String(roll.TagOrder)}}})
		need(t, "", err)
		if _, ok := get(m.tags, roll.TagOrder); ok {
			t.Error("the tag is there")
		}
		_, err = ec2API{v}.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{m.id, "i-0123456789abcdef0"}, Tags: []types.Tag{{Key: aws.String(roll.TagOrder), Value: aws.String("three")}}})
		_, ok := get(m.tags, roll.TagOrder)
		expect.That(t, !ok && awserr.IsNotFound(err), "of an instance that is not there: %v, written %t", err, ok)
		keys := map[string]int{}
		var token *string
		for {
			out, err := v.ec2().DescribeTags(t.Context(), &ec2.DescribeTagsInput{NextToken: token, MaxResults: aws.Int32(5), Filters: []types.Filter{
				{Name: aws.String("resource-type"), Values: []string{"instance"}}, {Name: aws.String("key"), Values: []string{roll.ClusterTagPrefix + "*"}},
			}})
			for _, tag := range need(t, out, err).Tags {
				keys[*tag.Key]++
			}
			if token = out.NextToken; token == nil {
				break
			}
		}
		expect.That(t, len(keys) == 1 && keys[roll.ClusterTagPrefix+c.name] == len(c.machines), "got %v", keys)
	})
}

func TestOnlyWhatCarriesAnOrderIsEndedOrRebooted(t *testing.T) {
	a, c := shop(t)
	order := func(m *machine) { m.tags = with(m.tags, tag{roll.TagOrder, "one"}); m.touch() }
	inside(t, a, inspect, func(v *env) {
		end := func(m *machine) error {
			_, err := ec2API{v}.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{m.id}})
			return err
		}
		reboot := func(m *machine) error {
			_, err := ec2API{v}.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{m.id}})
			return err
		}
		m, protected := c.machines[0], c.machines[1]
		if err := end(m); !awserr.IsDenied(err) || m.state != running {
			t.Errorf("without an order: %v, %s", err, m.state)
		}
		if err := reboot(m); !awserr.IsDenied(err) || m.booting {
			t.Errorf("without an order: %v", err)
		}
		protected.protected = true
		order(m)
		order(protected)
		v.inv.wait(atTimes)
		if err := reboot(m); err != nil || !m.booting {
			t.Errorf("reboot: %v", err)
		}
		if err := end(protected); !awserr.IsTerminationProtected(err) || protected.state != running {
			t.Errorf("protected: %v, %s", err, protected.state)
		}
		protected.unstoppable = true
		if err := end(protected); !awserr.IsTerminationProtected(err) || protected.state != running {
			t.Errorf("protected from a stop: %v, %s", err, protected.state)
		}
		for range 2 {
			err := end(m)
			expect.That(t, err == nil && m.state == shuttingDown, "end: %v, %s", err, m.state)
		}
		err := reboot(m)
		expect.That(t, awserr.IsIncorrectState(err), "reboot of what is ended: %v", err)
	})
}

func TestEKSAutoScalingIAMAndARC(t *testing.T) {
	a, c := shop(t)
	ng, asg := c.group("system"), c.group("batch")
	asg.suspended = true
	asg.active(false, "InsufficientInstanceCapacity")
	c.shifted = "eu-west-1b"
	name := &c.name
	inside(t, a, inspect, func(v *env) {
		clusters, err := v.eks().ListClusters(t.Context(), &eks.ListClustersInput{})
		expect.List(t, need(t, clusters, err).Clusters, []string{"shop"}, "clusters")
		cluster, err := v.eks().DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: name})
		if got := need(t, cluster, err).Cluster; *got.Arn != c.arn() || got.Status != "ACTIVE" || got.Tags[roll.TagMode] != "remediate" {
			t.Errorf("cluster %+v", got)
		}
		group, err := v.eks().DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: name, NodegroupName: &ng.name})
		if got := need(t, group, err).Nodegroup; !*got.NodeRepairConfig.Enabled || *got.Resources.AutoScalingGroups[0].Name != ng.asgName() || got.AmiType != "AL2023_ARM_64_STANDARD" || *got.ReleaseVersion != "1.33.8-20260215" {
			t.Errorf("node group %+v", got)
		}
		if _, err := v.eks().DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: name, NodegroupName: &asg.name}); !awserr.IsNotFound(err) {
			t.Errorf("an Auto Scaling group is a node group: %v", err)
		}
		entries, err := v.eks().ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{ClusterName: name})
		arn := need(t, entries, err).AccessEntries[0]
		entry, err := v.eks().DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: name, PrincipalArn: &arn})
		if got := need(t, entry, err).AccessEntry; *got.Type != "STANDARD" {
			t.Errorf("access entry %+v", got)
		}
		allowed, err := v.eks().ListAssociatedAccessPolicies(t.Context(), &eks.ListAssociatedAccessPoliciesInput{ClusterName: name, PrincipalArn: &arn})
		need(t, allowed, err)
		if _, err := v.eks().DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: name, PrincipalArn: aws.String(roleARN(ng.role))}); !awserr.IsNotFound(err) {
			t.Errorf("a node role has an access entry: %v", err)
		}

		groups, err := autoscaling.NewFromConfig(v.aws()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{ng.asgName(), "batch", "none"}})
		if got := need(t, groups, err).AutoScalingGroups; len(got) != 2 || len(got[0].Instances) != 2 || len(got[0].SuspendedProcesses) != 0 || *got[1].SuspendedProcesses[0].ProcessName != "Launch" {
			t.Errorf("groups %+v", got)
		}
		members, err := autoscaling.NewFromConfig(v.aws()).DescribeAutoScalingInstances(t.Context(), &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{asg.members[0].id, c.group("general").members[0].id}})
		if got := need(t, members, err).AutoScalingInstances; len(got) != 1 || *got[0].AutoScalingGroupName != "batch" || *got[0].LifecycleState != "InService" {
			t.Errorf("members %+v", got)
		}
		of := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("batch"), MaxRecords: aws.Int32(20)}
		activities, err := autoscaling.NewFromConfig(v.aws()).DescribeScalingActivities(t.Context(), of)
		if got := need(t, activities, err).Activities; len(got) != 3 || got[0].StatusCode != "Failed" || *got[0].StatusMessage != "InsufficientInstanceCapacity" || got[1].StatusCode != "Successful" {
			t.Errorf("activities %+v", got)
		}

		profile, err := iam.NewFromConfig(v.aws()).GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: &asg.role})
		if got := need(t, profile, err).InstanceProfile; *got.Roles[0].RoleName != asg.role {
			t.Errorf("profile %+v", got)
		}
		role, err := iam.NewFromConfig(v.aws()).GetRole(t.Context(), &iam.GetRoleInput{RoleName: &asg.role})
		if got := need(t, role, err).Role; *got.Arn != roleARN(asg.role) || !strings.Contains(*got.AssumeRolePolicyDocument, "ec2.amazonaws.com") || !got.CreateDate.Before(c.created) {
			t.Errorf("role %+v", got)
		}
		attached, err := iam.NewFromConfig(v.aws()).ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &asg.role})
		if got := need(t, attached, err).AttachedPolicies; len(got) != 3 {
			t.Errorf("policies %+v", got)
		}
		inline, err := iam.NewFromConfig(v.aws()).ListRolePolicies(t.Context(), &iam.ListRolePoliciesInput{RoleName: &asg.role})
		need(t, inline, err)
		controller := aws.String("KarpenterControllerRole-shop")
		if _, err := iam.NewFromConfig(v.aws()).GetRole(t.Context(), &iam.GetRoleInput{RoleName: controller}); !awserr.IsNotFound(err) {
			t.Errorf("a role that nothing names: %v", err)
		}
		c.mapped = append(c.mapped, *controller)
		role, err = iam.NewFromConfig(v.aws()).GetRole(t.Context(), &iam.GetRoleInput{RoleName: controller})
		if got := need(t, role, err).Role; strings.Contains(*got.AssumeRolePolicyDocument, "ec2.amazonaws.com") {
			t.Errorf("the controller's role is a node's: %+v", got)
		}

		shift, err := arczonalshift.NewFromConfig(v.aws()).GetManagedResource(t.Context(), &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(c.arn())})
		if got := need(t, shift, err).ZonalShifts; len(got) != 1 || *got[0].AwayFrom != "euw1-az2" {
			t.Errorf("shifts %+v", got)
		}

		c.delete()
		if _, err := v.eks().DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: name}); !awserr.IsNotFound(err) {
			t.Errorf("a deleted cluster: %v", err)
		}
		groups, err = autoscaling.NewFromConfig(v.aws()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{ng.asgName(), "batch"}})
		got := need(t, groups, err).AutoScalingGroups
		expect.That(t, len(got) == 1 && *got[0].AutoScalingGroupName == "batch", "what outlives a cluster: %+v", got)
	})
}

func TestFaultsAreTheServicesOwn(t *testing.T) {
	for service := range manners {
		for what, is := range map[string]func(error) bool{
			faultThrottle: awserr.IsThrottled, faultDenied: awserr.IsDenied,
			faultServer: func(err error) bool {
				return err != nil && !awserr.IsThrottled(err) && !awserr.IsDenied(err) && !awserr.IsNotFound(err) && !awserr.IsTimeout(err)
			},
		} {
			err := awsFault(what, service+":Something")
			expect.That(t, is(err), "%s of %s: %v", what, service, err)
		}
	}
	err := errTimeout("ec2:DescribeInstances")
	expect.That(t, awserr.IsTimeout(err) && errors.Is(err, context.DeadlineExceeded), "no answer: %v", err)
}

// rolled returns what DescribeTags shows of a cluster, read page by page: the keys of each instance.
func rolled(t *testing.T, v *env, cluster string, size int32) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	in := &ec2.DescribeTagsInput{MaxResults: aws.Int32(size), Filters: []types.Filter{
		{Name: aws.String("resource-type"), Values: []string{"instance"}},
		{Name: aws.String("key"), Values: []string{roll.ClusterTagPrefix + cluster, roll.TagPrefix + "*"}},
	}}
	for {
		out, err := ec2API{v}.DescribeTags(context.Background(), in)
		need(t, out, err)
		for _, tag := range out.Tags {
			all[*tag.ResourceId] = append(all[*tag.ResourceId], *tag.Key)
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return all
		}
	}
}

// DescribeTags shows a change up to half a minute after DescribeInstances, and may omit an instance.
func TestTheRollOfAClusterLagsAndOmits(t *testing.T) {
	a, c := shop(t)
	m := c.group("system").members[0]
	inside(t, a, inspect, func(v *env) {
		got := rolled(t, v, c.name, 3)
		expect.That(t, len(got) == 7, "%v", got)
	})
	a.sc.Quiet = false
	late, omitted := 0, 0
	for range 400 {
		m.tags = slices.Clone(m.tags)
		m.tags = with(m.tags, tag{roll.TagHold, a.Now().String()})
		m.touch()
		a.until(a.Now().Add(mostly + atTimes))
		for _, after := range []time.Duration{0, 31 * time.Second} {
			a.until(a.Now().Add(after))
			inside(t, a, inspect, func(v *env) {
				got := rolled(t, v, c.name, 1000)
				omitted += 7 - len(got)
				if keys, ok := got[m.id]; ok && !slices.Contains(keys, roll.TagHold) {
					late++
					must.That(t, after <= 0, "a tag is shown later than half a minute")
				}
			})
		}
		m.tags = slices.DeleteFunc(slices.Clone(m.tags), func(t tag) bool { return t.key == roll.TagHold })
		m.touch()
		a.until(a.Now().Add(time.Minute))
	}
	expect.That(t, late != 0 && omitted != 0 && omitted <= 7*800/20, "%d late, %d omitted", late, omitted)
}

func (v *env) ec2() *ec2.Client { return ec2.NewFromConfig(v.aws()) }
func (v *env) eks() *eks.Client { return eks.NewFromConfig(v.aws()) }
