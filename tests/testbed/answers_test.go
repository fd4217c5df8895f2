package testbed

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/tests/harness/awstest"
	"rollcall/tests/harness/must"
)

// The simulator's account is held to the same contract.
func TestAWSAnswersAsTheSimulatorDoes(t *testing.T) {
	ctx := reset(t)
	cfg := impatient()
	names := map[string]string{awstest.Schedules: "rollcall-schedules", awstest.Role: NodeRoleARN, awstest.Target: "arn:aws:sqs:" + Region + ":" + AccountID + ":checks.fifo"}
	for _, g := range []string{awstest.NodeGroup, awstest.Spare} {
		must.Succeed(t, bed.SetNodeGroup(ctx, awstest.Cluster, g, NodeGroupChange{}))
	}
	tags := map[string]string{"rollcall:order": "one"}
	for _, name := range []string{awstest.Member, awstest.Other} {
		names[name] = runOne(t, InstanceSpec{Group: awstest.Group, Tags: tags})
	}
	for _, name := range []string{awstest.Single, awstest.Sleeper, awstest.Guarded, awstest.Ill, awstest.Gone} {
		names[name] = runOne(t, InstanceSpec{Tags: tags, LaunchedAgo: time.Hour})
	}
	groups, err := autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{awstest.Group}})
	must.Succeed(t, err)
	names[awstest.Template] = *groups.AutoScalingGroups[0].LaunchTemplate.LaunchTemplateId
	queues := sqs.NewFromConfig(cfg)
	for name, attributes := range map[string]map[string]string{
		awstest.Checks: {"FifoQueue": "true", "ContentBasedDeduplication": "true"}, awstest.Orders: {"FifoQueue": "true"},
	} {
		q, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name[4:] + ".fifo"), Attributes: attributes})
		must.Succeed(t, err)
		names[name] = *q.QueueUrl
	}
	topic, err := sns.NewFromConfig(cfg).CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("rollcall")})
	must.Succeed(t, err)
	names[awstest.Topic] = *topic.TopicArn
	_, err = scheduler.NewFromConfig(cfg).CreateScheduleGroup(ctx, &scheduler.CreateScheduleGroupInput{Name: aws.String(names[awstest.Schedules])})
	must.Succeed(t, err)
	must.Succeed(t, bed.ChangeGroup(ctx, awstest.Group, GroupChange{Tags: map[string]string{"kubernetes.io/cluster/" + awstest.Cluster: "owned"}}))
	awstest.Contract(t, awstest.Account{Config: cfg, Names: names, Moto: true, Do: func(act awstest.Act, id string) { do(t, act, id) }})
}

// do makes an act with moto.
func do(t *testing.T, act awstest.Act, id string) {
	t.Helper()
	ctx, one, group, yes := t.Context(), []string{id}, awstest.Group, aws.Bool(true)
	instances, groups := ec2.NewFromConfig(impatient()), autoscaling.NewFromConfig(impatient())
	var err error
	switch act {
	case awstest.Protect:
		_, err = instances.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: &id, DisableApiTermination: &ec2types.AttributeBooleanValue{Value: yes}})
	case awstest.Impair:
		since := time.Now()
		err = bed.ChangeInstance(ctx, id, InstanceChange{InstanceStatus: aws.String("impaired"), ImpairedSince: &since})
	case awstest.Retire:
		at := time.Now().Add(24 * time.Hour)
		err = bed.ChangeInstance(ctx, id, InstanceChange{Events: &[]ScheduledEvent{{ID: "instance-event-0d59937288b749b32", Code: "instance-retirement", Description: "scheduled", NotBefore: at, NotAfter: at.Add(2 * time.Hour)}}})
	case awstest.Stop:
		_, err = instances.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: one})
	case awstest.Start:
		_, err = instances.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: one})
	case awstest.Shield:
		_, err = groups.SetInstanceProtection(ctx, &autoscaling.SetInstanceProtectionInput{AutoScalingGroupName: &group, InstanceIds: one, ProtectedFromScaleIn: yes})
	case awstest.Standby:
		_, err = groups.EnterStandby(ctx, &autoscaling.EnterStandbyInput{AutoScalingGroupName: &group, InstanceIds: one, ShouldDecrementDesiredCapacity: yes})
	case awstest.Return:
		_, err = groups.ExitStandby(ctx, &autoscaling.ExitStandbyInput{AutoScalingGroupName: &group, InstanceIds: one})
	case awstest.Drop:
		_, err = groups.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &id, ShouldDecrementDesiredCapacity: yes})
	case awstest.Forget:
		err = bed.ForgetInstance(ctx, id)
	}
	must.Succeed(t, err)
}
