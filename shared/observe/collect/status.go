package collect

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

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
