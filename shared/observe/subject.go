package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

// Subject is an object of a cluster, other than an instance, that a person asks about.
type Subject struct {
	// Exists reports whether the cluster has it.
	Exists bool
	// Related are the other ids under which a finding about it may be filed: its instance, or its
	// group.
	Related []roll.InstanceID
	// Names are the names of all objects of its kind in the cluster, sorted.
	Names []string
}

// Subject looks up an object in the cluster of a snapshot. After an error it is unknown whether it
// exists.
func (o *Observer) Subject(ctx context.Context, s *roll.Snapshot, id roll.InstanceID) (Subject, error) {
	kind, name, _ := id.Subject()
	related := map[string][]roll.InstanceID{} // by the existing names
	add := func(name string, ids ...roll.InstanceID) { related[name] = append(related[name], ids...) }
	for i := range s.Instances {
		inst := &s.Instances[i]
		if g, ok := inst.Group.NodePool(); ok && kind == "nodepool" {
			add(g)
		}
		if g, ok := inst.Group.NodeGroup(); ok && kind == "nodegroup" {
			add(g)
		}
		if inst.ASG != "" && kind == "asg" {
			add(inst.ASG, roll.InstanceID(inst.Group))
		}
	}
	var err error
	switch kind {
	case "node":
		for i := range s.Nodes {
			add(s.Nodes[i].Name, s.Nodes[i].Instance)
		}
		if !s.Has(roll.ScopeNodes) {
			err = errors.New("the nodes could not be read")
		}
	case "nodeclaim", "nodepool":
		err = o.karpenters(ctx, s, kind, name, add)
	case "nodegroup":
		var names []string
		names, err = o.nodeGroups(ctx, s.Cluster.ID.Name)
		for _, n := range names {
			add(n)
		}
		err = o.described(ctx, err, roll.CallNodegroups)
	case "asg":
		err = o.described(ctx, o.eachScalingGroup(ctx, s.Cluster.ID.Name, func(g evidence.AutoScalingGroup) {
			group, _ := groupOf(g)
			add(g.Name, roll.InstanceID(group))
		}), roll.CallAutoScalingGroups)
	}
	ids, exists := related[name]
	if exists {
		err = nil // other objects do not matter
	}
	slices.Sort(ids)
	return Subject{Exists: exists, Related: slices.Compact(ids), Names: slices.Sorted(maps.Keys(related))}, err
}

// karpenters adds the NodeClaims or the node pools of a cluster. A NodeClaim without an instance is
// reported under its node pool.
func (o *Observer) karpenters(ctx context.Context, s *roll.Snapshot, kind, name string, add func(string, ...roll.InstanceID)) error {
	client, err := o.Kube.Dial(s.Cluster)
	if err != nil {
		return err
	}
	claims, err := client.NodeClaimsByName(ctx)
	if errors.Is(err, kube.ErrNoNodeClaims) {
		return nil
	}
	for claim, c := range claims {
		switch pool, ok := c.Group.NodePool(); {
		case kind == "nodepool" && ok:
			add(pool)
		case kind == "nodeclaim" && c.Instance == "":
			add(claim, roll.InstanceID(c.Group))
		case kind == "nodeclaim":
			add(claim, c.Instance)
		}
	}
	if kind == "nodepool" {
		if _, read := client.Read(ctx, kube.ANodePool(name)); read == nil {
			add(name) // it has no NodeClaim yet
		}
	}
	if err != nil {
		_, detail := kube.Fault(s.Cluster, err, o.Principal(ctx))
		return errors.New(detail)
	}
	return nil
}

// eachScalingGroup reads the Auto Scaling groups that carry the cluster's tag.
func (o *Observer) eachScalingGroup(ctx context.Context, cluster string, read func(evidence.AutoScalingGroup)) error {
	return o.scalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{
		Filters:    []asgtypes.Filter{{Name: aws.String("tag-key"), Values: []string{roll.ClusterTagPrefix + cluster}}},
		MaxRecords: aws.Int32(autoScalingBatch),
	}, read)
}

func (o *Observer) scalingGroups(ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, read func(evidence.AutoScalingGroup)) error {
	return project.EachPage(ctx, direct(o, o.autoScaling.DescribeAutoScalingGroups), in, func(out *autoscaling.DescribeAutoScalingGroupsOutput) {
		for _, g := range out.AutoScalingGroups {
			read(project.ScalingGroup(g))
		}
	})
}

// described returns the error of an AWS call with a message for people.
func (o *Observer) described(ctx context.Context, err error, call string) error {
	var missing *awserr.NotCaptured
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("%s: %w", call, missing)
	}
	return errors.New(awserr.Describe(err, call, o.Principal(ctx)))
}
