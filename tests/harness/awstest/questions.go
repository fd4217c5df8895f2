package awstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedulertypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// Resources that do not exist.
const (
	absent     = "i-0123456789abcdef0"
	absentToo  = "i-0fedcba9876543210"
	absentARN  = "arn:aws:iam::111122223333:role/absent"
	absentArea = "arn:aws:eks:eu-west-1:111122223333:cluster/absent"
)

type ask = func(context.Context) (any, error)

// told makes an ask of a call and of what is read of its answer.
func told[I, O, F any](call project.Method[I, O, F], in *I, read func(*O) any) ask {
	return func(ctx context.Context) (any, error) {
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		return read(out), nil
	}
}

// done makes an ask of a call whose answer says nothing.
func done[I, O, F any](call project.Method[I, O, F], in *I) ask {
	return told(call, in, func(*O) any { return "done" })
}

// paged makes an ask of all pages of a list: the numbers of items of each page, and the items without repetition.
func paged[I, O, F any](call project.Method[I, O, F], in *I, items func(*O) []string) ask {
	return func(ctx context.Context) (any, error) {
		var sizes []int
		var all []string
		err := project.EachPage(ctx, call, in, func(out *O) {
			sizes = append(sizes, len(items(out)))
			all = append(all, items(out)...)
		})
		slices.Sort(all)
		return fmt.Sprint(sizes, " ", len(slices.Compact(all))), err
	}
}

func (a Account) questions() []question {
	return slices.Concat(a.reads(), a.states(), a.groups(), a.acts(), a.clusters(), a.others())
}

// look writes an instance as Rollcall reads it.
func look(i types.Instance) string {
	out := fmt.Sprintf("%s is %s", *i.InstanceId, i.State.Name)
	if r := i.StateReason; r != nil && aws.ToString(r.Code) != "" {
		out += fmt.Sprintf(", %s: %q", *r.Code, aws.ToString(r.Message))
	}
	for _, has := range []struct {
		name string
		it   bool
	}{
		{"image", i.ImageId != nil}, {"type", i.InstanceType != "" && i.Architecture != ""}, {"launch time", i.LaunchTime != nil}, {"tags", len(i.Tags) > 0},
		{"zone", i.Placement != nil && i.Placement.AvailabilityZone != nil && i.Placement.AvailabilityZoneId != nil},
		{"hop limit", i.MetadataOptions != nil && i.MetadataOptions.HttpPutResponseHopLimit != nil}, {"profile", i.IamInstanceProfile != nil},
		{"network", i.VpcId != nil && i.SubnetId != nil && len(i.SecurityGroups) > 0}, {"address", i.PrivateIpAddress != nil && aws.ToString(i.PrivateDnsName) != ""},
	} {
		if !has.it {
			out += ", without " + has.name
		}
	}
	return out
}

func looks(out *ec2.DescribeInstancesOutput) any {
	var all []string
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			all = append(all, look(i))
		}
	}
	return strings.Join(all, "; ")
}

func ids(out *ec2.DescribeInstancesOutput) (all []string) {
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			all = append(all, *i.InstanceId)
		}
	}
	return all
}

// checks writes the status checks of instances.
func checks(out *ec2.DescribeInstanceStatusOutput) any {
	var all []string
	for i := range out.InstanceStatuses {
		s := &out.InstanceStatuses[i]
		read := project.InstanceStatus(s)
		text := fmt.Sprintf("%s %s: instance %s, system %s", *s.InstanceId, s.InstanceState.Name, read.Instance, read.System)
		if s.InstanceState.Name == types.InstanceStateNameRunning {
			text += ", volumes " + read.AttachedEBS
		}
		for _, e := range read.Events {
			text += fmt.Sprintf(", %s from %t to %t", e.Code, !e.NotBefore.IsZero(), !e.NotAfter.IsZero())
		}
		if !read.InstanceSince.IsZero() {
			text += ", since then"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func filter(name string, values ...string) []types.Filter {
	return []types.Filter{{Name: aws.String(name), Values: values}}
}

func (a Account) byID(ids ...string) ask {
	return told(ec2.NewFromConfig(a.Config).DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids, IncludeManagedResources: aws.Bool(true)}, looks)
}

func (a Account) statusOf(all bool, ids ...string) ask {
	in := &ec2.DescribeInstanceStatusInput{InstanceIds: ids, IncludeAllInstances: &all, IncludeManagedResources: aws.Bool(true)}
	return told(ec2.NewFromConfig(a.Config).DescribeInstanceStatus, in, checks)
}

// reads asks for what exists and what does not.
func (a Account) reads() []question {
	client, n := ec2.NewFromConfig(a.Config), a.Names
	yes := aws.Bool(true)
	listed := func(name string, value string) *ec2.DescribeInstancesInput {
		return &ec2.DescribeInstancesInput{Filters: filter(name, value), IncludeManagedResources: yes, MaxResults: aws.Int32(5)}
	}
	attribute := func(id string, name types.InstanceAttributeName) *ec2.DescribeInstanceAttributeInput {
		return &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: name}
	}
	rolled := &ec2.DescribeTagsInput{MaxResults: aws.Int32(5), Filters: append(filter("resource-type", "instance"), filter("key", roll.ClusterTagPrefix+Cluster, roll.TagPrefix+"*")...)}
	versions := func(id, version string) *ec2.DescribeLaunchTemplateVersionsInput {
		return &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{version}}
	}
	return []question{
		{name: "a running instance", ask: a.byID(n[Single]), want: "a single one is running"},
		{name: "an instance that is not there", ask: a.byID(n[Single], absent), want: "InvalidInstanceID.NotFound i-0123456789abcdef0"},
		{
			name: "what is no ID of an instance", ask: a.byID("node-1"), want: "InvalidInstanceID.Malformed node-1",
			moto: "InvalidInstanceID.NotFound", source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",
		},
		{name: "a filter by ID", ask: told(client.DescribeInstances, &ec2.DescribeInstancesInput{Filters: filter("instance-id", n[Single], absent), IncludeManagedResources: yes, MaxResults: aws.Int32(1000)}, func(out *ec2.DescribeInstancesOutput) any { return ids(out) }), want: "[a single one]"},
		{name: "the instances of a cluster", ask: paged(client.DescribeInstances, listed("tag-key", roll.ClusterTagPrefix+Cluster), ids), want: "[5 2] 7"},
		{name: "the instances of no cluster", ask: paged(client.DescribeInstances, listed("tag-key", roll.ClusterTagPrefix+"absent"), ids), want: "[0] 0"},
		{
			name: "the tags of a cluster", ask: paged(client.DescribeTags, rolled, func(out *ec2.DescribeTagsOutput) (all []string) {
				for _, t := range out.Tags {
					all = append(all, *t.ResourceId+*t.Key+*t.Value)
				}
				return all
			}), want: "[5 5 4] 14",
			moto: "[14] 14", source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeTags.html",
		},
		{name: "the user data of an instance that is not there", ask: done(client.DescribeInstanceAttribute, attribute(absent, types.InstanceAttributeNameUserData)), want: "InvalidInstanceID.NotFound i-0123456789abcdef0"},
		{name: "whether an instance is protected", ask: told(client.DescribeInstanceAttribute, attribute(n[Single], types.InstanceAttributeNameDisableApiTermination), func(out *ec2.DescribeInstanceAttributeOutput) any {
			return *out.DisableApiTermination.Value
		}), want: "false"},
		{name: "the console of an instance that is not there", ask: done(client.GetConsoleOutput, &ec2.GetConsoleOutputInput{InstanceId: aws.String(absent)}), want: "InvalidInstanceID.NotFound i-0123456789abcdef0"},
		{name: "an AMI that is not there", ask: done(client.DescribeImages, &ec2.DescribeImagesInput{ImageIds: []string{"ami-0123456789abcdef0"}, IncludeDeprecated: yes}), want: "InvalidAMIID.NotFound ami-0123456789abcdef0"},
		{name: "a launch template that is not there", ask: done(client.DescribeLaunchTemplateVersions, versions("lt-0123456789abcdef0", "1")), want: "InvalidLaunchTemplateId.NotFound lt-0123456789abcdef0"},
		{name: "a version of a launch template", ask: told(client.DescribeLaunchTemplateVersions, versions(n[Template], "1"), func(out *ec2.DescribeLaunchTemplateVersionsOutput) any {
			return len(out.LaunchTemplateVersions)
		}), want: "1"},
		{name: "a version that is not there", ask: done(client.DescribeLaunchTemplateVersions, versions(n[Template], "99")), want: "InvalidLaunchTemplateId.VersionNotFound the template"},
		{name: "a subnet that is not there", ask: done(client.DescribeSubnets, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0123456789abcdef0"}}), want: "InvalidSubnetID.NotFound subnet-0123456789abcdef0"},
		{name: "a security group that is not there", ask: done(client.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0123456789abcdef0"}}), want: "InvalidGroup.NotFound sg-0123456789abcdef0"},
		{
			name: "a NAT gateway that is not there", ask: done(client.DescribeNatGateways, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{"nat-0123456789abcdef0"}}), want: "NatGatewayNotFound nat-0123456789abcdef0",
			moto: "done", source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",
		},
		{name: "a VPC that is not there", ask: done(client.DescribeVpcs, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0123456789abcdef0"}}), want: "InvalidVpcID.NotFound vpc-0123456789abcdef0"},
		{name: "an attribute of a VPC that is not there", ask: done(client.DescribeVpcAttribute, &ec2.DescribeVpcAttributeInput{VpcId: aws.String("vpc-0123456789abcdef0"), Attribute: types.VpcAttributeNameEnableDnsSupport}), want: "InvalidVpcID.NotFound vpc-0123456789abcdef0"},
		{name: "DHCP options that are not there", ask: done(client.DescribeDhcpOptions, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{"dopt-0123456789abcdef0"}}), want: "InvalidDhcpOptionID.NotFound dopt-0123456789abcdef0"},
		{name: "a volume that is not there", ask: told(client.DescribeVolumes, &ec2.DescribeVolumesInput{Filters: filter("volume-id", "vol-0123456789abcdef0")}, func(out *ec2.DescribeVolumesOutput) any { return len(out.Volumes) }), want: "0"},
		{name: "a network interface that is not there", ask: told(client.DescribeNetworkInterfaces, &ec2.DescribeNetworkInterfacesInput{Filters: filter("network-interface-id", "eni-0123456789abcdef0")}, func(out *ec2.DescribeNetworkInterfacesOutput) any {
			return len(out.NetworkInterfaces)
		}), want: "0"},
		{name: "the checks of a running instance", ask: a.statusOf(false, n[Single]), want: "a single one running: instance ok, system ok, volumes ok"},
		{name: "the checks of instances that are not there", ask: a.statusOf(true, absentToo, n[Single], absent), want: "InvalidInstanceID.NotFound i-0123456789abcdef0 i-0fedcba9876543210"},
	}
}

// states asks how instances look in the states that people bring about.
func (a Account) states() []question {
	client, n := ec2.NewFromConfig(a.Config), a.Names
	filtered := func(name, value string) ask {
		return told(client.DescribeInstanceStatus, &ec2.DescribeInstanceStatusInput{Filters: filter(name, value), IncludeManagedResources: aws.Bool(true), MaxResults: aws.Int32(1000)}, checks)
	}
	return []question{
		{name: "the checks of an ill instance", ask: a.after(Impair, Ill, a.statusOf(false, n[Ill], n[Single])), want: "the ill one running: instance impaired, system ok, volumes ok, since then; a single one running: instance ok, system ok, volumes ok"},
		{name: "the ill instances", ask: filtered("instance-status.status", "impaired"), want: "the ill one running: instance impaired, system ok, volumes ok, since then"},
		{name: "instances whose systems are ill", ask: filtered("system-status.status", "impaired")},
		{name: "an instance with a scheduled event", ask: a.after(Retire, Guarded, a.statusOf(false, n[Guarded])), want: "the guarded one running: instance ok, system ok, volumes ok, instance-retirement from true to true"},
		{name: "the instances with scheduled events", ask: filtered("event.code", "instance-retirement"), want: "the guarded one running: instance ok, system ok, volumes ok, instance-retirement from true to true"},
		{name: "a stopped instance", ask: a.after(Stop, Sleeper, a.byID(n[Sleeper])), want: `the sleeper is stopped, Client.UserInitiatedShutdown: "Client.UserInitiatedShutdown: User initiated shutdown"`},
		{name: "the checks of a stopped instance", ask: a.statusOf(true, n[Sleeper]), want: "the sleeper stopped: instance not-applicable, system not-applicable"},
		{name: "the checks of instances of which one runs", ask: a.statusOf(false, n[Sleeper], n[Single]), want: "a single one running: instance ok, system ok, volumes ok"},
		{name: "an instance that was started again", ask: a.after(Start, Sleeper, a.byID(n[Sleeper])), want: "the sleeper is running"},
	}
}

// scaled writes an Auto Scaling group.
func scaled(out *autoscaling.DescribeAutoScalingGroupsOutput) any {
	var all []string
	for _, g := range out.AutoScalingGroups {
		text := fmt.Sprintf("%s: %d desired", *g.AutoScalingGroupName, *g.DesiredCapacity)
		slices.SortFunc(g.Instances, func(a, b asgtypes.Instance) int { return strings.Compare(*a.InstanceId, *b.InstanceId) })
		for _, i := range g.Instances {
			text += fmt.Sprintf(", %s %s", *i.InstanceId, i.LifecycleState)
			if *i.ProtectedFromScaleIn {
				text += " and protected"
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// groups asks how instances look in their Auto Scaling group.
func (a Account) groups() []question {
	client, n := autoscaling.NewFromConfig(a.Config), a.Names
	groups := told(client.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{Group, "absent"}}, scaled)
	carrying := func(key string) ask {
		in := &autoscaling.DescribeAutoScalingGroupsInput{Filters: []asgtypes.Filter{{Name: aws.String("tag-key"), Values: []string{key}}}}
		return told(client.DescribeAutoScalingGroups, in, func(out *autoscaling.DescribeAutoScalingGroupsOutput) any {
			return slices.ContainsFunc(out.AutoScalingGroups, func(g asgtypes.AutoScalingGroup) bool { return *g.AutoScalingGroupName == Group })
		})
	}
	members := func(ids ...string) ask {
		return told(client.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: ids}, func(out *autoscaling.DescribeAutoScalingInstancesOutput) any {
			var all []string
			for _, i := range out.AutoScalingInstances {
				all = append(all, fmt.Sprintf("%s in %s: %s", *i.InstanceId, *i.AutoScalingGroupName, *i.LifecycleState))
			}
			return strings.Join(all, "; ")
		})
	}
	activities := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("absent"), MaxRecords: aws.Int32(5), IncludeDeletedGroups: aws.Bool(true)}
	return []question{
		{name: "groups by name", ask: groups, want: "workers: 2 desired, a member InService, the other member InService"},
		{name: "groups by a tag", ask: carrying(roll.ClusterTagPrefix + Cluster), want: "true"},
		{name: "groups by a tag that none has", ask: carrying(roll.ClusterTagPrefix + "absent"), want: "false"},
		{name: "members, one in no group, and one that is not there", ask: members(n[Member], n[Single], absent), want: "a member in workers: InService"},
		{name: "a member protected from scale-in", ask: a.after(Shield, Member, groups), want: "workers: 2 desired, a member InService and protected, the other member InService"},
		{name: "a member in Standby", ask: a.after(Standby, Other, groups), want: "workers: 1 desired, a member InService and protected, the other member Standby"},
		{name: "the member in Standby, by its ID", ask: members(n[Other]), want: "the other member in workers: Standby"},
		{name: "a member back in service", ask: a.after(Return, Other, groups), want: "workers: 2 desired, a member InService and protected, the other member InService"},
		{name: "a member that its group terminated", ask: a.after(Drop, Other, groups), want: "workers: 1 desired, a member InService and protected"},
		{name: "the terminated member, by its ID", ask: members(n[Other])},
		{name: "activities of a group that is not there", ask: told(client.DescribeScalingActivities, activities, func(out *autoscaling.DescribeScalingActivitiesOutput) any { return len(out.Activities) }), want: "0"},
	}
}

// acts asks EC2 for what Rollcall does to instances.
func (a Account) acts() []question {
	client, n := ec2.NewFromConfig(a.Config), a.Names
	tagged := func(value string, ids ...string) ask {
		return done(client.CreateTags, &ec2.CreateTagsInput{Resources: ids, Tags: []types.Tag{{Key: aws.String(roll.TagFinding), Value: &value}}})
	}
	untagged := func(ids ...string) ask {
		return done(client.DeleteTags, &ec2.DeleteTagsInput{Resources: ids, Tags: []types.Tag{{Key: aws.String(roll.TagFinding)}}})
	}
	reboot := func(id string) ask {
		return done(client.RebootInstances, &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	}
	end := func(id string) ask {
		return done(client.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	}
	return []question{
		{name: "the longest tag", ask: tagged(strings.Repeat("é", 256), n[Single]), want: "done"},
		{
			name: "a tag that is too long", ask: tagged(strings.Repeat("é", 257), n[Single]), want: "InvalidParameterValue",
			moto: "done", source: "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions",
		},
		{
			name: "a tag of an instance that is not there", ask: tagged("a", n[Single], absent), want: "InvalidInstanceID.NotFound i-0123456789abcdef0",
			moto: "done", source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",
		},
		{name: "remove a tag", ask: untagged(n[Single]), want: "done"},
		{name: "remove a tag that is not there", ask: untagged(n[Single]), want: "done"},

		{name: "reboot a running instance", ask: reboot(n[Single]), want: "done"},
		{name: "reboot an instance that is not there", ask: reboot(absent), want: "InvalidInstanceID.NotFound i-0123456789abcdef0"},
		{name: "reboot a stopped instance", ask: a.after(Stop, Sleeper, reboot(n[Sleeper])), want: "IncorrectInstanceState"},
		{name: "terminate a protected instance", ask: a.after(Protect, Guarded, end(n[Guarded])), want: "OperationNotPermitted, protected"},
		{name: "terminate an instance that is not there", ask: end(absent), want: "InvalidInstanceID.NotFound i-0123456789abcdef0"},
		{name: "terminate a stopped instance", ask: end(n[Sleeper]), want: "done"},
		{name: "terminate an instance", ask: end(n[Gone]), want: "done"},
		{name: "terminate it again", ask: a.after(Nothing, Gone, end(n[Gone])), want: "done"},
		{
			name: "the same, terminated", ask: a.byID(n[Gone]), want: `the gone one is terminated, Client.UserInitiatedShutdown: "Client.UserInitiatedShutdown: User initiated shutdown", without profile, without network, without address`,
			moto: `the gone one is terminated, Client.UserInitiatedShutdown: "Client.UserInitiatedShutdown: User initiated shutdown", without profile`, source: "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html",
		},
		{name: "its checks", ask: a.statusOf(true, n[Gone]), want: "the gone one terminated: instance not-applicable, system not-applicable"},
		{name: "reboot it", ask: reboot(n[Gone]), want: "done"},
		{name: "tag it", ask: tagged("a", n[Gone]), want: "done"},
		{name: "the same, an hour later", ask: a.after(Forget, Gone, a.byID(n[Gone])), want: "InvalidInstanceID.NotFound the gone one"},
	}
}

// clusters asks EKS.
func (a Account) clusters() []question {
	client := eks.NewFromConfig(a.Config)
	cluster, none := aws.String(Cluster), aws.String("absent")
	return []question{
		{name: "a cluster that is not there", ask: done(client.DescribeCluster, &eks.DescribeClusterInput{Name: none}), want: "ResourceNotFoundException"},
		{name: "node groups", ask: paged(client.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: cluster, MaxResults: aws.Int32(1)}, func(out *eks.ListNodegroupsOutput) []string { return out.Nodegroups }), want: "[1 1] 2"},
		{
			name: "node groups of no cluster", ask: done(client.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: none}), want: "ResourceNotFoundException",
			moto: crashes, source: "https://docs.aws.amazon.com/eks/latest/APIReference/API_ListNodegroups.html",
		},
		{name: "a node group", ask: told(client.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: cluster, NodegroupName: aws.String(NodeGroup)}, func(out *eks.DescribeNodegroupOutput) any {
			return fmt.Sprint(*out.Nodegroup.NodegroupName, " ", out.Nodegroup.Status, " ", len(out.Nodegroup.Resources.AutoScalingGroups))
		}), want: "general ACTIVE 1"},
		{name: "a node group that is not there", ask: done(client.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: cluster, NodegroupName: none}), want: "ResourceNotFoundException"},
		{name: "a node group of no cluster", ask: done(client.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: none, NodegroupName: none}), want: "ResourceNotFoundException"},
		{name: "access entries of no cluster", ask: done(client.ListAccessEntries, &eks.ListAccessEntriesInput{ClusterName: none}), want: "ResourceNotFoundException"},
		{name: "an access entry that is not there", ask: done(client.DescribeAccessEntry, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: aws.String(absentARN)}), want: "ResourceNotFoundException"},
		{name: "policies of an access entry that is not there", ask: done(client.ListAssociatedAccessPolicies, &eks.ListAssociatedAccessPoliciesInput{ClusterName: cluster, PrincipalArn: aws.String(absentARN)}), want: "ResourceNotFoundException"},
		{name: "shifts of no cluster", ask: done(arczonalshift.NewFromConfig(a.Config).GetManagedResource, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(absentArea)}), want: "ResourceNotFoundException"},
	}
}

// others asks the services of which Rollcall uses little.
func (a Account) others() []question {
	n, none := a.Names, aws.String("absent")
	roles, queues := iam.NewFromConfig(a.Config), sqs.NewFromConfig(a.Config)
	send := func(queue, group, like string) ask {
		in := &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("a check")}
		if group != "" {
			in.MessageGroupId = &group
		}
		if like != "" {
			in.MessageDeduplicationId = &like
		}
		return told(queues.SendMessage, in, func(out *sqs.SendMessageOutput) any { return *out.MessageId != "" })
	}
	publish := func(topic, subject, attribute string) ask {
		return done(sns.NewFromConfig(a.Config).Publish, &sns.PublishInput{
			TopicArn: &topic, Subject: &subject, Message: aws.String(`{"default":"a notice"}`), MessageStructure: aws.String("json"),
			MessageAttributes: map[string]snstypes.MessageAttributeValue{"cluster": {DataType: aws.String("String"), StringValue: &attribute}},
		})
	}
	schedule := func(name, group, at string) ask {
		return done(scheduler.NewFromConfig(a.Config).CreateSchedule, &scheduler.CreateScheduleInput{
			Name: &name, GroupName: &group, ScheduleExpression: &at, ActionAfterCompletion: schedulertypes.ActionAfterCompletionDelete,
			FlexibleTimeWindow: &schedulertypes.FlexibleTimeWindow{Mode: schedulertypes.FlexibleTimeWindowModeOff},
			Target:             &schedulertypes.Target{Arn: aws.String(n[Target]), RoleArn: aws.String(n[Role]), Input: aws.String("{}"), SqsParameters: &schedulertypes.SqsParameters{MessageGroupId: aws.String("c")}},
		})
	}
	put := func(count int) ask {
		in := new(eventbridge.PutEventsInput)
		for range count {
			in.Entries = append(in.Entries, eventtypes.PutEventsRequestEntry{Source: aws.String("rollcall"), DetailType: aws.String("a test"), Detail: aws.String("{}")})
		}
		return done(eventbridge.NewFromConfig(a.Config).PutEvents, in)
	}
	const later = "at(2100-01-01T00:00:00)"
	return []question{
		{name: "a role that is not there", ask: done(roles.GetRole, &iam.GetRoleInput{RoleName: none}), want: "NoSuchEntity"},
		{name: "its policies", ask: done(roles.ListAttachedRolePolicies, &iam.ListAttachedRolePoliciesInput{RoleName: none}), want: "NoSuchEntity"},
		{name: "its inline policies", ask: done(roles.ListRolePolicies, &iam.ListRolePoliciesInput{RoleName: none}), want: "NoSuchEntity"},
		{name: "one of them", ask: done(roles.GetRolePolicy, &iam.GetRolePolicyInput{RoleName: none, PolicyName: none}), want: "NoSuchEntity"},
		{name: "an instance profile that is not there", ask: done(roles.GetInstanceProfile, &iam.GetInstanceProfileInput{InstanceProfileName: none}), want: "NoSuchEntity"},
		{name: "a policy that is not there", ask: done(roles.GetPolicy, &iam.GetPolicyInput{PolicyArn: aws.String("arn:aws:iam::111122223333:policy/absent")}), want: "NoSuchEntity"},
		{name: "a parameter that is not there", ask: done(ssm.NewFromConfig(a.Config).GetParameter, &ssm.GetParameterInput{Name: aws.String("/rollcall/absent"), WithDecryption: aws.Bool(true)}), want: "ParameterNotFound"},
		{
			name: "output of no command", ask: done(ssm.NewFromConfig(a.Config).GetCommandInvocation, &ssm.GetCommandInvocationInput{CommandId: aws.String("00000000-0000-4000-8000-00000000dead"), InstanceId: aws.String(n[Single])}), want: "InvocationDoesNotExist",
			moto: "InvalidCommandId", source: "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCommandInvocation.html",
		},

		{name: "a message that is deduplicated by its content", ask: send(n[Checks], "c", ""), want: "true"},
		{name: "a message of no group", ask: send(n[Checks], "", ""), want: "MissingParameter"},
		{name: "a message without a deduplication ID", ask: send(n[Orders], "c", ""), want: "InvalidParameterValue"},
		{name: "a message to no queue", ask: send(n[Checks]+"x", "c", "1"), want: "AWS.SimpleQueueService.NonExistentQueue"},
		{name: "a notice", ask: publish(n[Topic], "Rollcall", "demo"), want: "done"},
		{name: "a notice to no topic", ask: publish(n[Topic]+"x", "Rollcall", "demo"), want: "NotFound"},
		{name: "the longest subject", ask: publish(n[Topic], strings.Repeat("a", 100), "demo"), want: "done"},
		{name: "a subject that is too long", ask: publish(n[Topic], strings.Repeat("a", 101), "demo"), want: "InvalidParameter"},
		{name: "an empty attribute", ask: publish(n[Topic], "Rollcall", ""), want: "InvalidParameter"},
		{name: "ten events", ask: put(10), want: "done"},
		{name: "more events than a call may put", ask: put(11), want: "ValidationException"},
		{name: "a schedule", ask: schedule("a", n[Schedules], later), want: "done"},
		{name: "a schedule that is there", ask: schedule("a", n[Schedules], later), want: "ConflictException"},
		{
			name: "a schedule of no group", ask: schedule("b", "absent", later), want: "ResourceNotFoundException",
			moto: crashes, source: "https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html",
		},
		{
			name: "a schedule at no time", ask: schedule("b", n[Schedules], "at(tomorrow)"), want: "ValidationException",
			moto: "done", source: "https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html",
		},
		{
			name: "a schedule with a name that is too long", ask: schedule(strings.Repeat("a", 65), n[Schedules], later), want: "ValidationException",
			moto: "done", source: "https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html",
		},
	}
}
