package observe

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	callVolumes    = "ec2:DescribeVolumes"
	callInterfaces = "ec2:DescribeNetworkInterfaces"
	// leftSize is how many ids one request names, which is the maximum for a filter.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
	leftSize = 200
)

// outlives returns the ids of what EC2 keeps when an instance is terminated: the volumes and
// interfaces whose DeleteOnTermination is false.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html
func outlives(i *types.Instance) (ids []string) {
	for _, b := range i.BlockDeviceMappings {
		if b.Ebs != nil && b.Ebs.DeleteOnTermination != nil && !*b.Ebs.DeleteOnTermination && b.Ebs.VolumeId != nil {
			ids = append(ids, *b.Ebs.VolumeId)
		}
	}
	for _, n := range i.NetworkInterfaces {
		if n.Attachment != nil && n.Attachment.DeleteOnTermination != nil && !*n.Attachment.DeleteOnTermination && n.NetworkInterfaceId != nil {
			ids = append(ids, *n.NetworkInterfaceId)
		}
	}
	slices.Sort(ids)
	return ids
}

// Left reads into the snapshot which volumes and interfaces still exist, attached to nothing and
// claimed by no PersistentVolume. Those that could not be read are left out. The gap concerns
// details only and does not affect the verdict on an instance.
func (o *Observer) Left(ctx context.Context, s *roll.Snapshot, subjects []roll.InstanceID) {
	var volumes, interfaces []string
	for _, subject := range subjects {
		switch kind, name, _ := subject.Subject(); kind {
		case "volume":
			volumes = append(volumes, name)
		case "eni":
			interfaces = append(interfaces, name)
		}
	}
	s.Left, s.LeftRead = map[roll.InstanceID]roll.Leftover{}, map[roll.InstanceID]roll.Answer{}
	free, err := o.freeVolumes(ctx, volumes)
	if err != nil {
		o.fail(ctx, s, roll.ScopeDetail, callVolumes, err)
	} else {
		o.unclaimed(ctx, s, volumes, free)
	}
	if free, err = o.freeInterfaces(ctx, s.Cluster.ID.Account, interfaces); err != nil {
		o.fail(ctx, s, roll.ScopeDetail, callInterfaces, err)
		return
	}
	answerLeft(s, interfaces, free)
}

// freeVolumes returns those of the volumes that are attached to nothing. It requests them with a
// filter: for an id in VolumeIds that is gone, EC2 rejects the whole request with
// InvalidVolume.NotFound, and for one in a filter it returns nothing. Volumes that an operator such
// as EKS Auto Mode manages, and deletes, are not requested (IncludeManagedResources).
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVolumes.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func (o *Observer) freeVolumes(ctx context.Context, ids []string) (free []roll.Leftover, err error) {
	for batch := range slices.Chunk(ids, leftSize) {
		in := &ec2.DescribeVolumesInput{Filters: []types.Filter{{Name: aws.String("volume-id"), Values: batch}}}
		err := project.EachPage(ctx, limited(o, o.ec2.DescribeVolumes), in, func(out *ec2.DescribeVolumesOutput) {
			for _, v := range out.Volumes {
				if v.State == types.VolumeStateAvailable && len(v.Attachments) == 0 && !managed(v.Operator) {
					free = append(free, roll.Leftover{
						ID: aws.ToString(v.VolumeId), Zone: aws.ToString(v.AvailabilityZone), Type: string(v.VolumeType),
						Size: int(aws.ToInt32(v.Size)), IOPS: int(aws.ToInt32(v.Iops)), Throughput: int(aws.ToInt32(v.Throughput)),
					})
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return free, nil
}

// freeInterfaces returns those of the interfaces that are attached to nothing, belong to the
// account and were not created by an AWS service, which deletes its own.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaces.html
func (o *Observer) freeInterfaces(ctx context.Context, account string, ids []string) (free []roll.Leftover, err error) {
	for batch := range slices.Chunk(ids, leftSize) {
		in := &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{{Name: aws.String("network-interface-id"), Values: batch}}}
		err := project.EachPage(ctx, limited(o, o.ec2.DescribeNetworkInterfaces), in, func(out *ec2.DescribeNetworkInterfacesOutput) {
			for i := range out.NetworkInterfaces {
				n := &out.NetworkInterfaces[i]
				foreign := account != "" && n.OwnerId != nil && *n.OwnerId != account
				if n.Status == types.NetworkInterfaceStatusAvailable && n.Attachment == nil && !foreign && !aws.ToBool(n.RequesterManaged) && !managed(n.Operator) {
					free = append(free, roll.Leftover{
						ID: aws.ToString(n.NetworkInterfaceId), Zone: aws.ToString(n.AvailabilityZone), Subnet: aws.ToString(n.SubnetId), Public: publicAddresses(n),
					})
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return free, nil
}

func managed(o *types.OperatorResponse) bool { return o != nil && aws.ToBool(o.Managed) }

// publicAddresses returns the number of public IPv4 addresses of an interface. Each belongs to one
// of its private addresses. The first one is also in Association.
func publicAddresses(n *types.NetworkInterface) (count int) {
	for _, a := range n.PrivateIpAddresses {
		if a.Association != nil && aws.ToString(a.Association.PublicIp) != "" {
			count++
		}
	}
	if count == 0 && n.Association != nil && aws.ToString(n.Association.PublicIp) != "" {
		return 1
	}
	return count
}

// unclaimed notes which of the free volumes no PersistentVolume claims. PersistentVolumes are
// listed only if there is a free volume. If they cannot be read, no volume counts as left.
func (o *Observer) unclaimed(ctx context.Context, s *roll.Snapshot, asked []string, free []roll.Leftover) {
	if len(free) == 0 {
		answerLeft(s, asked, nil)
		return
	}
	client, err := o.Kube.Dial(s.Cluster)
	if err != nil {
		o.unread(ctx, s, roll.CallVolumes, err)
	} else if volumes, read := whole(ctx, o, s, roll.CallVolumes, client.Volumes); read == roll.Yes {
		claimed := volumes.EBS()
		answerLeft(s, asked, slices.DeleteFunc(free, func(l roll.Leftover) bool { return claimed[l.ID] }))
		return
	}
	// Volumes that are not free are not left, whoever claims them.
	known := slices.DeleteFunc(slices.Clone(asked), func(id string) bool {
		return slices.ContainsFunc(free, func(l roll.Leftover) bool { return l.ID == id })
	})
	answerLeft(s, known, nil)
}

// answerLeft notes which of the requested ids are left.
func answerLeft(s *roll.Snapshot, asked []string, left []roll.Leftover) {
	for _, id := range asked {
		if subject, ok := roll.LeftoverID(id); ok {
			s.LeftRead[subject] = roll.Yes
		}
	}
	for _, l := range left {
		if subject, ok := roll.LeftoverID(l.ID); ok {
			s.Left[subject] = l
		}
	}
}
