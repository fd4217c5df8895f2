package sim

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
)

const rollcall = "Rollcall" // the name under which Rollcall's terminations and reboots are recorded

// TerminateInstances terminates instances, except those already shutting down or terminated.
func (e ec2API) TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, _ ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	const call = "ec2:TerminateInstances"
	inv := e.v.inv
	out := new(ec2.TerminateInstancesOutput)
	err := e.v.call(ctx, call, writes, "", func() error {
		machines, err := e.v.a.leashed(call, in.InstanceIds)
		for _, m := range machines {
			if m.protected && m.state != shuttingDown && m.state != terminated {
				return badRequest("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its '%s' instance attribute and try again.", m.id, m.protection())
			}
		}
		for _, m := range machines {
			before := m.state
			if before != shuttingDown && before != terminated {
				inv.did(actTerminate, m.c, m, m.node)
				m.end(rollcall)
			}
			out.TerminatingInstances = append(out.TerminatingInstances, types.InstanceStateChange{
				InstanceId: aws.String(m.id), PreviousState: instanceStates[before], CurrentState: instanceStates[m.state],
			})
		}
		return err
	})
	return answered(out, err)
}

// protection returns the attribute with which people protect the instance. Stop protection refuses a termination too.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-stop-protection.html
func (m *machine) protection() types.InstanceAttributeName {
	if m.unstoppable {
		return types.InstanceAttributeNameDisableApiStop
	}
	return types.InstanceAttributeNameDisableApiTermination
}

// RebootInstances reboots instances. It ignores terminated ones; others must be running.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RebootInstances.html
func (e ec2API) RebootInstances(ctx context.Context, in *ec2.RebootInstancesInput, _ ...func(*ec2.Options)) (*ec2.RebootInstancesOutput, error) {
	const call = "ec2:RebootInstances"
	inv := e.v.inv
	err := e.v.call(ctx, call, writes, "", func() error {
		machines, err := e.v.a.leashed(call, in.InstanceIds)
		for _, m := range machines {
			if m.state != running && m.state != terminated {
				return badRequest("IncorrectInstanceState", "The instance '%s' is not in the 'running' state.", m.id)
			}
		}
		for _, m := range machines {
			if m.state != terminated {
				inv.did(actReboot, m.c, m, m.node)
				m.reboot()
			}
		}
		return err
	})
	return answered(new(ec2.RebootInstancesOutput), err)
}

// leashed returns the machines, or the error if one lacks an order's tag: the stack may touch no others.
func (a *account) leashed(call string, ids []string) ([]*machine, error) {
	machines, err := a.allKnown(ids)
	for _, m := range machines {
		if _, ok := get(m.shownTags, roll.TagOrder); !ok {
			return nil, notAllowed(call)
		}
	}
	return machines, err
}

const tagValue = 256 // the maximum length of a tag's value, in characters

// CreateTags writes tags of instances. The stack may write only Rollcall's tags.
func (e ec2API) CreateTags(ctx context.Context, in *ec2.CreateTagsInput, _ ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	const call = "ec2:CreateTags"
	err := e.v.tags(ctx, call, actTag, in.Resources, in.Tags, func(m *machine) {
		for _, t := range in.Tags {
			m.tags = with(m.tags, tag{aws.ToString(t.Key), aws.ToString(t.Value)})
		}
	})
	return answered(new(ec2.CreateTagsOutput), err)
}

// DeleteTags removes tags of instances, whatever their values.
func (e ec2API) DeleteTags(ctx context.Context, in *ec2.DeleteTagsInput, _ ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	const call = "ec2:DeleteTags"
	if slices.ContainsFunc(in.Tags, func(t types.Tag) bool { return t.Value != nil }) {
		e.v.unsimulated(in) // with a value, it removes only tags that have the value
	}
	err := e.v.tags(ctx, call, actUntag, in.Resources, in.Tags, func(m *machine) {
		m.tags = slices.DeleteFunc(slices.Clone(m.tags), func(old tag) bool {
			return slices.ContainsFunc(in.Tags, func(t types.Tag) bool { return aws.ToString(t.Key) == old.key })
		})
	})
	return answered(new(ec2.DeleteTagsOutput), err)
}

func (v *env) tags(ctx context.Context, call string, what act, ids []string, tags []types.Tag, change func(*machine)) error {
	if len(ids) == 0 || len(tags) == 0 {
		v.unsimulated(&ec2.DeleteTagsInput{Resources: ids, Tags: tags}) // without keys, DeleteTags removes all tags
	}
	inv := v.inv
	return v.call(ctx, call, writes, "", func() error {
		for _, t := range tags {
			switch {
			case !slices.Contains(roll.MarkKeys(), aws.ToString(t.Key)):
				return notAllowed(call)
			case utf8.RuneCountInString(aws.ToString(t.Value)) > tagValue:
				return badRequest("InvalidParameterValue", "Tag value exceeds the maximum length of %d characters", tagValue)
			}
		}
		machines, err := v.a.allKnown(ids)
		for _, m := range machines {
			if what == actTag && m.full && slices.ContainsFunc(tags, func(t types.Tag) bool { return !m.hasTag(aws.ToString(t.Key)) }) {
				return badRequest("TagLimitExceeded", "The maximum number of Tags for this resource has been reached.")
			}
		}
		for _, m := range machines {
			inv.did(what, m.c, m, m.node)
			change(m)
			m.touch()
		}
		return err
	})
}

// with returns the tags and one more, which replaces a tag with the same key.
func with(tags []tag, t tag) []tag {
	tags = slices.Clone(tags)
	if i := slices.IndexFunc(tags, func(old tag) bool { return old.key == t.key }); i >= 0 {
		tags[i] = t
		return tags
	}
	return append(tags, t)
}
