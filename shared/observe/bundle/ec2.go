package bundle

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

func instancesSpec(command string) spec {
	return spec{
		name: fileInstances, required: true, command: command, read: readInstances,
		table: func() filed {
			return newTable(fileInstances, func(i *instance) string { return aws.ToString(i.InstanceId) })
		},
		write: func(c *contents) (any, error) {
			return map[string]any{"Reservations": encodeAll(encoder{}, reservations(c.instances().sorted()))}, nil
		},
		calls: []operation{
			on(fileInstances, asksAll, func(c *contents, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
				// An instance that is missing in instances.json does not exist: the file lists all
				// there are.
				if err := c.unknown(in.InstanceIds...); err != nil {
					return nil, err
				}
				found, err := filtered(c.instances(), in.InstanceIds, in.Filters)
				return &ec2.DescribeInstancesOutput{Reservations: reservations(found)}, err
			}, func(c *contents, _ *ec2.DescribeInstancesInput, out *ec2.DescribeInstancesOutput) {
				c.instances().held = true
				for _, r := range out.Reservations {
					c.instances().put(instancesOf(r)...)
				}
			}),
			on("", nil, func(c *contents, in *ec2.GetConsoleOutputInput) (*ec2.GetConsoleOutputOutput, error) {
				text, err := c.document(folderConsole, in.InstanceId)
				return &ec2.GetConsoleOutputOutput{InstanceId: in.InstanceId, Output: inBase64(text)}, err
			}, func(c *contents, in *ec2.GetConsoleOutputInput, out *ec2.GetConsoleOutputOutput) {
				c.putDocument(folderConsole, in.InstanceId, out.Output)
			}),
			on("", nil, (*contents).commandInvocations, nil),
			on("", nil, (*contents).commandOutput, (*contents).recordCommandOutput),
			// A bundle has no terminated instances.
			on("", nil, func(*contents, *ec2.DescribeVolumesInput) (*ec2.DescribeVolumesOutput, error) {
				return nil, &awserr.NotCaptured{What: "volumes"}
			}, nil),
			on("", nil, func(*contents, *ec2.DescribeNetworkInterfacesInput) (*ec2.DescribeNetworkInterfacesOutput, error) {
				return nil, &awserr.NotCaptured{What: "network interfaces"}
			}, nil),
		},
	}
}

func instancesOf(r types.Reservation) []instance {
	all := r.Instances
	r.Instances = nil
	return roll.Map(all, func(i types.Instance) instance { return instance{Instance: i, reservation: r} })
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
func (c *contents) unknown(ids ...string) error {
	if unknown := slices.DeleteFunc(slices.Clone(ids), c.instances().has); len(unknown) > 0 {
		return awserr.UnknownInstances(unknown)
	}
	return nil
}

func statusesSpec(command string) spec {
	out := listing[types.InstanceStatus](shape{file: fileStatuses, command: command, list: "InstanceStatuses", id: "InstanceId"})
	out.calls = []operation{on(fileStatuses, func(in *ec2.DescribeInstanceStatusInput) bool { return len(in.Filters) > 0 }, (*contents).instanceStatus, (*contents).recordStatus)}
	return out
}

func (c *contents) instanceStatus(in *ec2.DescribeInstanceStatusInput) (*ec2.DescribeInstanceStatusOutput, error) {
	statuses := tableOf[types.InstanceStatus](c, fileStatuses)
	if err := statuses.missing(); err != nil {
		return nil, err
	}
	if err := c.unknown(in.InstanceIds...); err != nil {
		return nil, err
	}
	// One that is missing in the file may not run.
	ids := slices.DeleteFunc(slices.Clone(in.InstanceIds), func(id string) bool { return !statuses.has(id) })
	var found []types.InstanceStatus
	if len(ids) > 0 || len(in.InstanceIds) == 0 {
		var err error
		if found, err = filtered(statuses, ids, in.Filters); err != nil {
			return nil, err
		}
	}
	out := &ec2.DescribeInstanceStatusOutput{}
	for _, s := range found {
		if aws.ToBool(in.IncludeAllInstances) || s.InstanceState == nil || s.InstanceState.Name == types.InstanceStateNameRunning {
			out.InstanceStatuses = append(out.InstanceStatuses, s)
		}
	}
	if len(in.Filters) > 0 {
		return out, nil
	}
	// EC2 has a status of every running instance.
	for _, id := range in.InstanceIds {
		i, err := c.instances().find(id)
		if err == nil && !statuses.has(id) && i.State != nil && i.State.Name == types.InstanceStateNameRunning {
			return out, statuses.lacks(id)
		}
	}
	return out, nil
}

// recordStatus records the statuses of the cluster's instances: a listing of the region has those
// of other clusters too.
func (c *contents) recordStatus(in *ec2.DescribeInstanceStatusInput, out *ec2.DescribeInstanceStatusOutput) {
	for _, s := range out.InstanceStatuses {
		if len(in.InstanceIds) > 0 || c.instances().has(aws.ToString(s.InstanceId)) {
			tableOf[types.InstanceStatus](c, fileStatuses).put(s)
		}
	}
}

func attributesSpec() spec {
	out := perName[ec2.DescribeInstanceAttributeOutput](fileAttributes, "aws ec2 describe-instance-attribute --attribute disableApiTermination", "DisableApiTermination")
	out.calls = []operation{on("", nil, (*contents).instanceAttribute, (*contents).recordAttribute)}
	return out
}

// instanceAttribute answers from the folder user-data, and about termination and stop protection from
// instance-attributes.json. No other file of a bundle can show that, so without this one protection
// counts as off: whoever acts asks EC2 again.
func (c *contents) instanceAttribute(in *ec2.DescribeInstanceAttributeInput) (*ec2.DescribeInstanceAttributeOutput, error) {
	out := &ec2.DescribeInstanceAttributeOutput{InstanceId: in.InstanceId}
	switch in.Attribute {
	case types.InstanceAttributeNameUserData:
		text, err := c.document(folderUserData, in.InstanceId)
		out.UserData = &types.AttributeValue{Value: inBase64(text)}
		return out, err
	case types.InstanceAttributeNameDisableApiTermination, types.InstanceAttributeNameDisableApiStop:
		if err := c.unknown(aws.ToString(in.InstanceId)); err != nil {
			return nil, err
		}
		off := &types.AttributeBooleanValue{Value: aws.Bool(false)}
		all := tableOf[ec2.DescribeInstanceAttributeOutput](c, fileAttributes)
		known, err := all.find(aws.ToString(in.InstanceId))
		if all.missing() != nil {
			known, err = &ec2.DescribeInstanceAttributeOutput{DisableApiTermination: off}, nil
		}
		if in.Attribute == types.InstanceAttributeNameDisableApiTermination {
			out.DisableApiTermination = known.DisableApiTermination
		} else { // earlier versions did not record it
			out.DisableApiStop = cmp.Or(known.DisableApiStop, off)
		}
		return out, err
	}
	return nil, fmt.Errorf("a bundle does not hold the attribute %s of instances", in.Attribute)
}

func (c *contents) recordAttribute(in *ec2.DescribeInstanceAttributeInput, out *ec2.DescribeInstanceAttributeOutput) {
	switch in.Attribute {
	case types.InstanceAttributeNameDisableApiTermination, types.InstanceAttributeNameDisableApiStop:
		all := tableOf[ec2.DescribeInstanceAttributeOutput](c, fileAttributes)
		known, _ := all.find(aws.ToString(in.InstanceId)) // the other attribute, if it was read before
		all.set(aws.ToString(in.InstanceId), ec2.DescribeInstanceAttributeOutput{
			DisableApiTermination: cmp.Or(out.DisableApiTermination, known.DisableApiTermination), DisableApiStop: cmp.Or(out.DisableApiStop, known.DisableApiStop),
		})
	case types.InstanceAttributeNameUserData:
		var said *string
		if out.UserData != nil {
			said = out.UserData.Value
		}
		c.putDocument(folderUserData, in.InstanceId, said)
	}
}

func (c *contents) document(folder string, id *string) ([]byte, error) {
	if err := c.unknown(aws.ToString(id)); err != nil {
		return nil, err
	}
	t := tableOf[[]byte](c, folder)
	at, ok := t.at[aws.ToString(id)]
	if !ok {
		return nil, &awserr.NotCaptured{What: documentName(folder, aws.ToString(id))}
	}
	return t.rows[at], nil
}

// inBase64 returns a text in base64, as the API does; nil for an empty one.
func inBase64(text []byte) *string {
	if len(text) == 0 {
		return nil
	}
	return aws.String(base64.StdEncoding.EncodeToString(text))
}

// putDocument records a text that the API returns in base64; nil is an empty one. Text that is not
// base64 is not recorded, because it could not be searched for secrets.
func (c *contents) putDocument(folder string, id, said *string) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(aws.ToString(said)), ""))
	if err == nil {
		tableOf[[]byte](c, folder).set(aws.ToString(id), data)
	}
}

func documentName(folder, id string) string { return folder + "/" + id + ".txt" }

func (c *contents) templateVersions(in *ec2.DescribeLaunchTemplateVersionsInput) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	templates := tableOf[types.LaunchTemplateVersion](c, fileTemplates)
	if err := templates.listing(); err != nil {
		return nil, err
	}
	var found []types.LaunchTemplateVersion
	latest := int64(0)
	for _, v := range templates.rows {
		if in.LaunchTemplateId != nil && aws.ToString(v.LaunchTemplateId) != *in.LaunchTemplateId || in.LaunchTemplateName != nil && aws.ToString(v.LaunchTemplateName) != *in.LaunchTemplateName {
			continue
		}
		found = append(found, v)
		latest = max(latest, aws.ToInt64(v.VersionNumber))
	}
	if len(in.Versions) == 0 {
		return &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: found}, nil
	}
	out := &ec2.DescribeLaunchTemplateVersionsOutput{}
	for _, wanted := range in.Versions {
		at := slices.IndexFunc(found, func(v types.LaunchTemplateVersion) bool {
			switch wanted {
			case "$Default":
				return aws.ToBool(v.DefaultVersion)
			case "$Latest":
				return aws.ToInt64(v.VersionNumber) == latest
			}
			return strconv.FormatInt(aws.ToInt64(v.VersionNumber), 10) == wanted
		})
		if at < 0 {
			return nil, templates.lacks("version " + wanted + " of the launch template " + aws.ToString(in.LaunchTemplateId) + aws.ToString(in.LaunchTemplateName))
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, found[at])
	}
	return out, nil
}
