// Package tags writes and removes the five tags with which Rollcall marks instances, and no
// others: the function's permissions cover exactly those keys.
package tags

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

type ec2API interface {
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
	DeleteTags(context.Context, *ec2.DeleteTagsInput, ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
}

// Marker writes and removes Rollcall's tags.
type Marker struct {
	ec2       ec2API
	principal func(context.Context) string
}

// New returns a Marker. principal returns whose credentials are used, for messages.
func New(api ec2API, principal func(context.Context) string) *Marker {
	return &Marker{ec2: api, principal: principal}
}

// Tag sets tags on instances. A key outside roll.MarkKeys is an error, and nothing is sent.
func (m *Marker) Tag(ctx context.Context, instances []roll.InstanceID, set map[string]string) error {
	keys := slices.Sorted(maps.Keys(set))
	if err := ours(keys); err != nil {
		return err
	}
	in := &ec2.CreateTagsInput{Resources: resources(instances)}
	in.Tags = roll.Map(keys, func(k string) types.Tag { return types.Tag{Key: aws.String(k), Value: aws.String(set[k])} })
	if _, err := m.ec2.CreateTags(ctx, in); err != nil {
		return errors.New(awserr.Describe(err, "ec2:CreateTags", m.principal(ctx)))
	}
	return nil
}

// Untag removes tags from instances. An empty list is an error, since a call without keys
// would remove every tag.
func (m *Marker) Untag(ctx context.Context, instances []roll.InstanceID, keys []string) error {
	if err := ours(keys); err != nil {
		return err
	}
	in := &ec2.DeleteTagsInput{Resources: resources(instances)}
	in.Tags = roll.Map(keys, func(k string) types.Tag { return types.Tag{Key: aws.String(k)} })
	if _, err := m.ec2.DeleteTags(ctx, in); err != nil {
		return errors.New(awserr.Describe(err, "ec2:DeleteTags", m.principal(ctx)))
	}
	return nil
}

func ours(keys []string) error {
	if len(keys) == 0 {
		return errors.New("no tag keys given")
	}
	for _, k := range keys {
		if !slices.Contains(roll.MarkKeys(), k) {
			return fmt.Errorf("%q is not one of Rollcall's tags", k)
		}
	}
	return nil
}

func resources(instances []roll.InstanceID) []string {
	out := make([]string, len(instances))
	for i, id := range instances {
		out[i] = string(id)
	}
	return out
}
