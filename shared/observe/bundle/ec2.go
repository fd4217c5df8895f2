package bundle

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
)

// answerEC2 returns all results on one page.
func (c *contents) answerEC2(in any) (any, error) {
	switch in := in.(type) {
	case *ec2.DescribeInstancesInput:
		// An instance that is missing in instances.json does not exist: the file lists all there
		// are.
		if err := c.unknown(in.InstanceIds); err != nil {
			return nil, err
		}
		found, err := filtered(&c.instances, in.InstanceIds, in.Filters)
		return &ec2.DescribeInstancesOutput{Reservations: reservations(found)}, err
	case *ec2.DescribeInstanceStatusInput:
		return c.instanceStatus(in)
	case *ec2.DescribeInstanceAttributeInput:
		return c.instanceAttribute(in)
	case *ec2.GetConsoleOutputInput:
		encoded, err := c.document(&c.consoles, aws.ToString(in.InstanceId))
		return &ec2.GetConsoleOutputOutput{InstanceId: in.InstanceId, Output: encoded}, err
	case *ec2.DescribeVolumesInput: // a bundle has no terminated instances
		return nil, &awserr.NotCaptured{What: "volumes"}
	case *ec2.DescribeNetworkInterfacesInput:
		return nil, &awserr.NotCaptured{What: "network interfaces"}
	case *ec2.DescribeLaunchTemplateVersionsInput:
		return c.templateVersions(in)
	}
	return c.answerNetwork(in)
}

// reservations groups consecutive instances of the same reservation.
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

// unknown returns EC2's error for instances that it does not know, nil if it knows all.
func (c *contents) unknown(ids []string) error {
	var unknown []string
	for _, id := range ids {
		if !c.instances.has(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return awserr.UnknownInstances(unknown)
	}
	return nil
}

func (c *contents) instanceStatus(in *ec2.DescribeInstanceStatusInput) (*ec2.DescribeInstanceStatusOutput, error) {
	if err := c.statuses.missing(); err != nil {
		return nil, err
	}
	if err := c.unknown(in.InstanceIds); err != nil {
		return nil, err
	}
	if len(in.InstanceIds) == 0 {
		if err := c.statuses.listing(); err != nil {
			return nil, err
		}
	}
	for _, id := range in.InstanceIds {
		if err := c.statuses.cutDown(id); err != nil {
			return nil, err
		}
	}
	out := &ec2.DescribeInstanceStatusOutput{}
	for i := range c.statuses.rows {
		s := &c.statuses.rows[i]
		if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, aws.ToString(s.InstanceId)) {
			continue
		}
		if !aws.ToBool(in.IncludeAllInstances) && s.InstanceState != nil && s.InstanceState.Name != types.InstanceStateNameRunning {
			continue
		}
		ok, err := matches(in.Filters, s)
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
	return out, c.statusesOf(in.InstanceIds)
}

// statusesOf returns an error if one of the instances runs and is missing in the file: EC2 has a
// status of every running instance.
func (c *contents) statusesOf(ids []string) error {
	for _, id := range ids {
		i, err := c.instances.find(id)
		if err == nil && !c.statuses.has(id) && i.State != nil && i.State.Name == types.InstanceStateNameRunning {
			return c.statuses.lacks(id)
		}
	}
	return nil
}

// instanceAttribute answers from the folder user-data, and about termination protection from
// instance-attributes.json. No other file of a bundle can show that, so without this one protection
// counts as off: whoever acts asks EC2 again.
func (c *contents) instanceAttribute(in *ec2.DescribeInstanceAttributeInput) (*ec2.DescribeInstanceAttributeOutput, error) {
	id := aws.ToString(in.InstanceId)
	out := &ec2.DescribeInstanceAttributeOutput{InstanceId: in.InstanceId}
	switch in.Attribute {
	case types.InstanceAttributeNameUserData:
		encoded, err := c.document(&c.userData, id)
		out.UserData = &types.AttributeValue{Value: encoded}
		return out, err
	case types.InstanceAttributeNameDisableApiTermination:
		if err := c.unknown([]string{id}); err != nil {
			return nil, err
		}
		out.DisableApiTermination = &types.AttributeBooleanValue{Value: aws.Bool(false)}
		if c.protections.missing() != nil {
			return out, nil
		}
		p, err := c.protections.find(id)
		if err == nil {
			out.DisableApiTermination = p.DisableApiTermination
		}
		return out, err
	}
	return nil, fmt.Errorf("a bundle does not hold the attribute %s of instances", in.Attribute)
}

// document returns the text of an instance, in base64; nil for an empty one.
func (c *contents) document(t *table[document], id string) (*string, error) {
	if err := c.unknown([]string{id}); err != nil {
		return nil, err
	}
	at, ok := t.at[id]
	if !ok {
		return nil, &awserr.NotCaptured{What: documentName(t.file, id)}
	}
	if len(t.rows[at].text) == 0 {
		return nil, nil
	}
	return aws.String(base64.StdEncoding.EncodeToString(t.rows[at].text)), nil
}

func documentName(folder, id string) string { return folder + "/" + id + ".txt" }

func (c *contents) templateVersions(in *ec2.DescribeLaunchTemplateVersionsInput) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	if err := c.templates.listing(); err != nil {
		return nil, err
	}
	var of []types.LaunchTemplateVersion
	latest := int64(0)
	for _, v := range c.templates.rows {
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
			return nil, c.templates.lacks("version " + wanted + " of the launch template " + aws.ToString(in.LaunchTemplateId) + aws.ToString(in.LaunchTemplateName))
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, of[at])
	}
	return out, nil
}
