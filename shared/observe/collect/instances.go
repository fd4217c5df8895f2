package collect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// describedTotal is how many instances are described per check.
	describedTotal = 1000
	// healthySample is how many instances without findings are described per group with findings,
	// for comparison.
	healthySample = 20
)

// readInstances describes the instances of findings, and in the same calls some instances of their
// groups without findings.
func (l *look) readInstances() {
	suspects := distinct(roll.Map(l.findings, func(f roll.Finding) string { return string(f.Instance) }))
	suspects = slices.DeleteFunc(suspects, func(id string) bool { return !roll.InstanceID(id).IsInstance() })
	facts := map[string]evidence.Fact[evidence.InstanceConfig]{}
	describe(l, facts, "ec2:DescribeInstances", describedTotal, "instances", append(slices.Clone(suspects), l.healthy()...), l.ec2.DescribeInstances,
		func(ids []string) *ec2.DescribeInstancesInput {
			return &ec2.DescribeInstancesInput{InstanceIds: ids, IncludeManagedResources: aws.Bool(true)}
		},
		func(out *ec2.DescribeInstancesOutput) []types.Instance {
			return slices.Concat(roll.Map(out.Reservations, func(r types.Reservation) []types.Instance { return r.Instances })...)
		}, func(i *types.Instance) *string { return i.InstanceId }, instanceConfig)
	for _, id := range suspects {
		l.instance(roll.InstanceID(id), func(i *evidence.Instance) { i.Config = facts[id] })
	}
	l.complete(facts)
}

func instanceConfig(i *types.Instance) evidence.InstanceConfig {
	out := evidence.InstanceConfig{
		Launched: aws.ToTime(i.LaunchTime).UTC(), Type: string(i.InstanceType), Architecture: string(i.Architecture), Platform: strings.ToLower(string(i.Platform)),
		Image: aws.ToString(i.ImageId), VPC: aws.ToString(i.VpcId), Subnet: aws.ToString(i.SubnetId),
		PrivateIP: aws.ToString(i.PrivateIpAddress), PublicIP: aws.ToString(i.PublicIpAddress), IPv6: aws.ToString(i.Ipv6Address) != "",
		SecurityGroups: groupIDs(i.SecurityGroups),
	}
	if i.State != nil {
		out.State = string(i.State.Name)
	}
	if i.StateReason != nil {
		out.StateReason = aws.ToString(i.StateReason.Message)
	}
	if i.IamInstanceProfile != nil {
		out.ProfileARN = aws.ToString(i.IamInstanceProfile.Arn)
	}
	if m := i.MetadataOptions; m != nil {
		out.HopLimit = int(aws.ToInt32(m.HttpPutResponseHopLimit))
		out.IMDSDisabled = m.HttpEndpoint == types.InstanceMetadataEndpointStateDisabled
	}
	for _, n := range i.NetworkInterfaces {
		out.IPv6 = out.IPv6 || len(n.Ipv6Addresses) > 0
		if primary(n) && len(n.Groups) > 0 {
			out.SecurityGroups = groupIDs(n.Groups)
		}
	}
	tags := project.Tags(i)
	_, out.Group = tags.Owner(project.Operator(i))
	out.ASG, out.NodeGroup, out.NodeClass, out.ClusterTags = tags.ASG, tags.NodeGroup, tags.NodeClass, tags.Claims
	out.LaunchTemplate, out.LaunchTemplateVersion = tags.Template, tags.TemplateVersion
	return out
}

// primary reports whether the interface is the one the instance itself uses; pods may have others.
func primary(n types.InstanceNetworkInterface) bool {
	return n.Attachment != nil && n.Attachment.DeviceIndex != nil && *n.Attachment.DeviceIndex == 0 && aws.ToInt32(n.Attachment.NetworkCardIndex) == 0
}

func groupIDs(groups []types.GroupIdentifier) []string {
	return roll.Map(groups, func(g types.GroupIdentifier) string { return aws.ToString(g.GroupId) })
}

// statusSize is the maximum number of ids per call, and per check.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html
const statusSize = 100

// readStatus reads EC2's status checks, starting with the instances that fail one according to the
// snapshot.
func (l *look) readStatus() {
	var ids []string
	for _, id := range l.instancesNeeding(needStatus) {
		if l.config(id).State == evidence.Absent {
			l.instance(id, func(i *evidence.Instance) { i.Status = evidence.None[evidence.InstanceStatus]() })
			continue
		}
		ids = append(ids, string(id))
	}
	slices.SortStableFunc(ids, func(a, b string) int { return l.soundness(a) - l.soundness(b) })
	ids, left := first(ids, l.most(statusSize))
	facts := byID(l.action("ec2:DescribeInstanceStatus"), ids, statusSize, l.ec2.DescribeInstanceStatus,
		func(ids []string) *ec2.DescribeInstanceStatusInput {
			return &ec2.DescribeInstanceStatusInput{InstanceIds: ids, IncludeAllInstances: aws.Bool(true), IncludeManagedResources: aws.Bool(true)}
		},
		func(out *ec2.DescribeInstanceStatusOutput) []types.InstanceStatus { return out.InstanceStatuses }, func(s *types.InstanceStatus) *string { return s.InstanceId }, project.InstanceStatus)
	skip(facts, left, fmt.Sprintf("sampled: the status checks of %d instances are read per check, the most urgent first", statusSize))
	for id, fact := range facts {
		l.instance(roll.InstanceID(id), func(i *evidence.Instance) { i.Status = fact })
	}
}

// soundness returns 0 for an instance that is known to fail a status check.
func (l *look) soundness(id string) int {
	if _, impaired := l.in.Snapshot.Impaired[roll.InstanceID(id)]; impaired {
		return 0
	}
	return 1
}
