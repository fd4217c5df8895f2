package lint

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
)

// launch is an instance that an input would launch.
type launch struct {
	name     string // of the input, for a person
	from     []*Source
	instance types.Instance
	userData string
	// unknown reports whether it is not known what user data the instance has.
	unknown bool
	// ownProfile reports whether its owner makes the instance profile, with this role.
	ownProfile bool
	role       string
	// onlyUserData reports whether no more than the user data is known.
	onlyUserData bool
	// part reports whether that user data names no cluster, so that EKS or Karpenter completes it.
	part bool
}

func (l *launch) id() string { return aws.ToString(l.instance.InstanceId) }

// Stand-ins for the addresses that EC2 gives an instance. Texts name them in words.
const (
	publicAddress = "203.0.113.77" // RFC 5737
	ipv6Address   = "2001:db8::77" // RFC 3849
)

// beforeLaunch is the reason for what only a running machine would show.
const beforeLaunch = "there is nothing before the launch"

// overlay answers calls about the launches, and leaves others to the account or the bundle.
type overlay struct {
	launches  map[roll.InstanceID]*launch
	templates []types.LaunchTemplateVersion
	images    map[string]types.Image // stand-ins for AMIs, by id
	entries   apistats.Interceptor   // answers from the access entries of a file; nil without one
}

func (o *overlay) intercept(ctx context.Context, in any, next apistats.Call) (any, error) {
	switch in := in.(type) {
	case *ec2.DescribeInstancesInput:
		asked := *in
		return besides(ctx, next, &asked, &asked.InstanceIds, func(id string) (out types.Reservation, own bool) {
			if l := o.launches[roll.InstanceID(id)]; l != nil {
				return types.Reservation{Instances: []types.Instance{l.instance}}, true
			}
			return out, false
		}, func(out *ec2.DescribeInstancesOutput) *[]types.Reservation { return &out.Reservations })
	case *ec2.DescribeInstanceStatusInput:
		rest := slices.DeleteFunc(slices.Clone(in.InstanceIds), func(id string) bool { return o.launches[roll.InstanceID(id)] != nil })
		if len(in.InstanceIds) > 0 && len(rest) == 0 {
			return &ec2.DescribeInstanceStatusOutput{}, nil
		}
		asked := *in
		asked.InstanceIds = rest
		return next(ctx, &asked)
	case *ec2.DescribeInstanceAttributeInput:
		if l := o.launches[roll.InstanceID(aws.ToString(in.InstanceId))]; l != nil {
			if l.unknown {
				return nil, &awserr.NotCaptured{What: "user data", Why: "is not in " + l.name}
			}
			return &ec2.DescribeInstanceAttributeOutput{UserData: &types.AttributeValue{Value: aws.String(base64.StdEncoding.EncodeToString([]byte(l.userData)))}}, nil
		}
	case *ec2.GetConsoleOutputInput:
		if o.launches[roll.InstanceID(aws.ToString(in.InstanceId))] != nil {
			return nil, &awserr.NotCaptured{What: "console output:", Why: beforeLaunch}
		}
	case *ec2.DescribeImagesInput:
		asked := *in
		return besides(ctx, next, &asked, &asked.ImageIds, func(id string) (types.Image, bool) {
			image, own := o.images[id]
			return image, own
		}, func(out *ec2.DescribeImagesOutput) *[]types.Image { return &out.Images })
	case *ec2.DescribeLaunchTemplateVersionsInput:
		asked := *in
		return besides(ctx, next, &asked, &asked.Versions, func(version string) (out types.LaunchTemplateVersion, own bool) {
			for _, v := range o.templates {
				if aws.ToString(v.LaunchTemplateId) == aws.ToString(in.LaunchTemplateId) && fmt.Sprint(aws.ToInt64(v.VersionNumber)) == version {
					return v, true
				}
			}
			return out, false
		}, func(out *ec2.DescribeLaunchTemplateVersionsOutput) *[]types.LaunchTemplateVersion {
			return &out.LaunchTemplateVersions
		})
	case *iam.GetInstanceProfileInput:
		for _, l := range o.launches {
			if !l.ownProfile || roll.LastPart(aws.ToString(l.instance.IamInstanceProfile.Arn)) != aws.ToString(in.InstanceProfileName) {
				continue
			}
			if l.role == "" {
				return nil, &awserr.NotCaptured{What: "the role", Why: "that EKS gives the instances is that of a node group, of which none was found"}
			}
			return &iam.GetInstanceProfileOutput{InstanceProfile: &iamtypes.InstanceProfile{
				Arn: l.instance.IamInstanceProfile.Arn, InstanceProfileName: in.InstanceProfileName, Roles: []iamtypes.Role{{RoleName: aws.String(roll.LastPart(l.role))}},
			}}, nil
		}
	case *eks.ListAccessEntriesInput, *eks.DescribeAccessEntryInput, *eks.ListAssociatedAccessPoliciesInput:
		if o.entries != nil {
			return o.entries(ctx, in, next)
		}
	}
	return next(ctx, in)
}

// besides answers a call by ids: the own ones, and what next answers about the others. ids points to the field of
// asked that holds the ids; besides leaves only the others in it. list returns the answer's list.
func besides[O, T any](ctx context.Context, next apistats.Call, asked any, ids *[]string, own func(id string) (T, bool), list func(*O) *[]T) (any, error) {
	var found []T
	others := slices.DeleteFunc(slices.Clone(*ids), func(id string) bool {
		one, ok := own(id)
		if ok {
			found = append(found, one)
		}
		return ok
	})
	if len(found) > 0 && len(others) == 0 {
		out := new(O)
		*list(out) = found
		return out, nil
	}
	*ids = others
	answer, err := next(ctx, asked)
	if out, ok := answer.(*O); ok && err == nil {
		*list(out) = append(*list(out), found...)
	}
	return answer, err
}

// tree is an object as kubectl prints it.
type tree = map[string]any

func (l *launch) node() string { return "node-of-" + l.id() }

// nodeObject returns the node as its kubelet would register it: with the taints in the user data,
// and without a network plugin yet.
func (l *launch) nodeObject() tree {
	at := l.instance.LaunchTime.Format(time.RFC3339)
	taints := []tree{{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}}
	for _, j := range userdata.Read([]byte(l.userData)).Joins {
		for _, t := range j.Kubelet.Registered() {
			taints = append(taints, tree{"key": t.Key, "effect": t.Effect})
		}
	}
	return tree{
		"apiVersion": "v1", "kind": "Node", "metadata": tree{"name": l.node(), "creationTimestamp": at},
		"spec": tree{"taints": taints},
		"status": tree{"conditions": []tree{{
			"type": "Ready", "status": "False", "reason": "KubeletNotReady", "lastTransitionTime": at,
			"message": "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
		}}},
	}
}
