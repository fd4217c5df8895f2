package bundle

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/awserr"
)

// EC2 answers as the SDK's EC2 client does, all on one page.
type EC2 struct {
	c *contents
}

// EC2 is the bundle's answers of EC2.
func (b *Bundle) EC2() *EC2 { return &EC2{b.c} }

// DescribeInstances answers from instances.json. What it does not have EC2 is taken not
// to know, as the file is the listing of what there is.
func (e *EC2) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	if err := e.unknown(in.InstanceIds); err != nil {
		return nil, err
	}
	found, err := e.c.instances.choose(in.InstanceIds, func(i *instance) (bool, error) {
		return matches(in.Filters, i.Tags, instanceAttributes(&i.Instance))
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeInstancesOutput{Reservations: reservations(found)}, nil
}

// reservations puts instances that follow each other in their reservation together.
func reservations(all []instance) []types.Reservation {
	var out []types.Reservation
	for _, i := range all {
		if n := len(out) - 1; n >= 0 && out[n].ReservationId != nil && aws.ToString(out[n].ReservationId) == aws.ToString(i.reservation.ReservationId) {
			out[n].Instances = append(out[n].Instances, i.Instance)
			continue
		}
		r := i.reservation
		r.Instances = []types.Instance{i.Instance}
		out = append(out, r)
	}
	return out
}

// unknown is EC2's refusal of a request for instances that it does not know, nil if it
// knows all.
func (e *EC2) unknown(ids []string) error {
	var unknown []string
	for _, id := range ids {
		if _, ok := e.c.instances.at[id]; !ok {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return awserr.UnknownInstances(unknown)
	}
	return nil
}

// DescribeInstanceStatus answers from instance-status.json.
func (e *EC2) DescribeInstanceStatus(_ context.Context, in *ec2.DescribeInstanceStatusInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	if err := e.c.statuses.listing(); err != nil {
		return nil, err
	}
	if err := e.unknown(in.InstanceIds); err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceStatusOutput{}
	for i := range e.c.statuses.rows {
		s := &e.c.statuses.rows[i]
		if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, aws.ToString(s.InstanceId)) {
			continue
		}
		if !aws.ToBool(in.IncludeAllInstances) && s.InstanceState != nil && s.InstanceState.Name != types.InstanceStateNameRunning {
			continue
		}
		ok, err := matches(in.Filters, nil, statusAttributes(s))
		if err != nil {
			return nil, err
		}
		if ok {
			out.InstanceStatuses = append(out.InstanceStatuses, *s)
		}
	}
	if len(in.Filters) > 0 {
		return out, nil
	}
	return out, e.statusesOf(in.InstanceIds)
}

// DescribeVolumes is not captured: a bundle holds no memory of instances that ended.
func (e *EC2) DescribeVolumes(context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error) {
	return nil, &awserr.NotCaptured{What: "volumes"}
}

// DescribeNetworkInterfaces is not captured either.
func (e *EC2) DescribeNetworkInterfaces(context.Context, *ec2.DescribeNetworkInterfacesInput, ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	return nil, &awserr.NotCaptured{What: "network interfaces"}
}

// statusesOf is an error if one of the instances runs and the file does not have it: EC2
// has a status of everything that runs.
func (e *EC2) statusesOf(ids []string) error {
	for _, id := range ids {
		i, err := e.c.instances.find(id)
		_, told := e.c.statuses.at[id]
		if err == nil && !told && i.State != nil && i.State.Name == types.InstanceStateNameRunning {
			return e.c.statuses.lacks(id)
		}
	}
	return nil
}

// DescribeInstanceAttribute answers from the folder user-data, and of termination
// protection from instance-attributes.json. No other file of a bundle can show that, so
// without this one it is taken to be off: whoever acts asks EC2 again.
func (e *EC2) DescribeInstanceAttribute(_ context.Context, in *ec2.DescribeInstanceAttributeInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceAttributeOutput, error) {
	id := aws.ToString(in.InstanceId)
	if err := e.unknown([]string{id}); err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceAttributeOutput{InstanceId: in.InstanceId}
	switch in.Attribute {
	case types.InstanceAttributeNameUserData:
		d, err := findDocument(&e.c.userData, id)
		if err != nil {
			return nil, err
		}
		out.UserData = &types.AttributeValue{}
		if len(d.text) > 0 {
			out.UserData.Value = aws.String(base64.StdEncoding.EncodeToString(d.text))
		}
	case types.InstanceAttributeNameDisableApiTermination:
		out.DisableApiTermination = &types.AttributeBooleanValue{Value: aws.Bool(false)}
		if e.c.protections.missing() != nil {
			return out, nil
		}
		p, err := e.c.protections.find(id)
		if err != nil {
			return nil, err
		}
		out.DisableApiTermination = p.DisableApiTermination
	default:
		return nil, fmt.Errorf("a bundle does not hold the attribute %s of instances", in.Attribute)
	}
	return out, nil
}

// findDocument is the text of an instance.
func findDocument(t *table[document], id string) (*document, error) {
	if at, ok := t.at[id]; ok {
		return &t.rows[at], nil
	}
	return nil, &awserr.NotCaptured{What: documentName(t.file, id)}
}

func documentName(folder, id string) string { return folder + "/" + id + ".txt" }

// GetConsoleOutput answers from the folder console.
func (e *EC2) GetConsoleOutput(_ context.Context, in *ec2.GetConsoleOutputInput, _ ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error) {
	id := aws.ToString(in.InstanceId)
	if err := e.unknown([]string{id}); err != nil {
		return nil, err
	}
	d, err := findDocument(&e.c.consoles, id)
	if err != nil {
		return nil, err
	}
	out := &ec2.GetConsoleOutputOutput{InstanceId: in.InstanceId}
	if len(d.text) > 0 {
		out.Output = aws.String(base64.StdEncoding.EncodeToString(d.text))
	}
	return out, nil
}

// DescribeImages answers from images.json.
func (e *EC2) DescribeImages(_ context.Context, in *ec2.DescribeImagesInput, _ ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	found, err := e.c.images.choose(in.ImageIds, func(i *types.Image) (bool, error) {
		return matches(in.Filters, i.Tags, attributes{"image-id": one(i.ImageId), "name": one(i.Name), "owner-id": one(i.OwnerId), "owner-alias": one(i.ImageOwnerAlias), "architecture": {string(i.Architecture)}, "state": {string(i.State)}})
	})
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeImagesOutput{Images: found}, nil
}

// DescribeLaunchTemplateVersions answers from launch-template-versions.json.
func (e *EC2) DescribeLaunchTemplateVersions(_ context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, _ ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	if err := e.c.templates.missing(); err != nil {
		return nil, err
	}
	var of []types.LaunchTemplateVersion
	latest := int64(0)
	for _, v := range e.c.templates.rows {
		if in.LaunchTemplateId != nil && aws.ToString(v.LaunchTemplateId) != *in.LaunchTemplateId || in.LaunchTemplateName != nil && aws.ToString(v.LaunchTemplateName) != *in.LaunchTemplateName {
			continue
		}
		of = append(of, v)
		latest = max(latest, aws.ToInt64(v.VersionNumber))
	}
	if len(in.Versions) == 0 {
		return &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: of}, nil
	}
	out := &ec2.DescribeLaunchTemplateVersionsOutput{}
	for _, wanted := range in.Versions {
		at := slices.IndexFunc(of, func(v types.LaunchTemplateVersion) bool {
			switch wanted {
			case "$Default":
				return aws.ToBool(v.DefaultVersion)
			case "$Latest":
				return aws.ToInt64(v.VersionNumber) == latest
			}
			return strconv.FormatInt(aws.ToInt64(v.VersionNumber), 10) == wanted
		})
		if at < 0 {
			return nil, e.c.templates.lacks("version " + wanted + " of the launch template " + aws.ToString(in.LaunchTemplateId) + aws.ToString(in.LaunchTemplateName))
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, of[at])
	}
	return out, nil
}
