package tags

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// tagged is a fake EC2 that stores the tags of its instances.
type tagged struct {
	tags  map[string]map[string]string
	calls int
	err   error
}

func (e *tagged) CreateTags(_ context.Context, in *ec2.CreateTagsInput, _ ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	e.calls++
	if e.err != nil {
		return nil, e.err
	}
	for _, id := range in.Resources {
		if e.tags[id] == nil {
			e.tags[id] = map[string]string{}
		}
		for _, t := range in.Tags {
			e.tags[id][aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return &ec2.CreateTagsOutput{}, nil
}

// DeleteTags behaves like EC2: a call without tags removes every tag, and a tag with a
// value is removed only if it has that value.
func (e *tagged) DeleteTags(_ context.Context, in *ec2.DeleteTagsInput, _ ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	e.calls++
	if e.err != nil {
		return nil, e.err
	}
	for _, id := range in.Resources {
		if len(in.Tags) == 0 {
			clear(e.tags[id])
		}
		for _, t := range in.Tags {
			if t.Value == nil || *t.Value == e.tags[id][aws.ToString(t.Key)] {
				delete(e.tags[id], aws.ToString(t.Key))
			}
		}
	}
	return &ec2.DeleteTagsOutput{}, nil
}

const one, two = roll.InstanceID("i-00000000000000001"), roll.InstanceID("i-00000000000000002")

func setUp() (*tagged, *Marker) {
	e := &tagged{tags: map[string]map[string]string{string(one): {"Name": "web-1", roll.TagHold: "true"}}}
	return e, New(e, func(context.Context) string { return "arn:aws:sts::111122223333:assumed-role/inspect/demo" })
}

func TestWritesAndRemovesItsFiveTagsAndLeavesTheOthers(t *testing.T) {
	e, m := setUp()
	set := map[string]string{}
	for _, k := range roll.MarkKeys() {
		set[k] = "value of " + k
	}
	must.Succeed(t, m.Tag(t.Context(), []roll.InstanceID{one, two}, set))
	if e.calls != 1 || len(e.tags[string(one)]) != 7 || len(e.tags[string(two)]) != 5 || e.tags[string(two)][roll.TagOrder] != "value of rollcall:order" {
		t.Errorf("after %d calls: %v", e.calls, e.tags)
	}
	must.Succeed(t, m.Untag(t.Context(), []roll.InstanceID{one, two}, roll.MarkKeys()))
	if e.calls != 2 || len(e.tags[string(one)]) != 2 || len(e.tags[string(two)]) != 0 {
		t.Errorf("after %d calls: %v", e.calls, e.tags)
	}
}

func TestTagsAreSentInOneOrder(t *testing.T) {
	spy := &keysSeen{}
	m := New(spy, func(context.Context) string { return "" })
	for range 20 {
		must.Succeed(t, m.Tag(t.Context(), []roll.InstanceID{one}, map[string]string{roll.TagSince: "s", roll.TagFinding: "f", roll.TagNext: "n"}))
		if !slices.Equal(spy.keys, []string{roll.TagFinding, roll.TagNext, roll.TagSince}) {
			t.Fatalf("keys %v", spy.keys)
		}
	}
}

type keysSeen struct {
	tagged
	keys []string
}

func (s *keysSeen) CreateTags(_ context.Context, in *ec2.CreateTagsInput, _ ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	s.keys = nil
	for _, t := range in.Tags {
		s.keys = append(s.keys, aws.ToString(t.Key))
	}
	return &ec2.CreateTagsOutput{}, nil
}

func TestKeysThatAreNotItsOwnAreRefusedAndNothingIsSent(t *testing.T) {
	for _, key := range []string{"Name", roll.TagHold, roll.TagIgnore, roll.TagMode, "rollcall:", "rollcall:Order", "rollcall:order ", "", "kubernetes.io/cluster/demo"} {
		e, m := setUp()
		want := `"` + key + `" is not one of Rollcall's tags`
		if err := m.Tag(t.Context(), []roll.InstanceID{one}, map[string]string{roll.TagOrder: "0011", key: "x"}); err == nil || err.Error() != want {
			t.Errorf("Tag with %q: %v, want %s", key, err, want)
		}
		if err := m.Untag(t.Context(), []roll.InstanceID{one}, []string{roll.TagOrder, key}); err == nil || err.Error() != want {
			t.Errorf("Untag with %q: %v, want %s", key, err, want)
		}
		if e.calls != 0 {
			t.Errorf("%q: %d calls, want 0", key, e.calls)
		}
	}
}

// EC2 interprets a call without keys as every tag of the instance.
func TestNoKeysAreRefusedAndNothingIsSent(t *testing.T) {
	e, m := setUp()
	for name, err := range map[string]error{
		"Tag with nil":     m.Tag(t.Context(), []roll.InstanceID{one}, nil),
		"Tag with empty":   m.Tag(t.Context(), []roll.InstanceID{one}, map[string]string{}),
		"Untag with nil":   m.Untag(t.Context(), []roll.InstanceID{one}, nil),
		"Untag with empty": m.Untag(t.Context(), []roll.InstanceID{one}, []string{}),
	} {
		if err == nil || err.Error() != "no tag keys given" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e.calls != 0 || len(e.tags[string(one)]) != 2 {
		t.Errorf("%d calls, tags %v", e.calls, e.tags)
	}
}

func TestRemovesATagWhateverItsValue(t *testing.T) {
	e, m := setUp()
	e.tags[string(one)][roll.TagOrder] = "0011223344556677"
	if err := m.Untag(t.Context(), []roll.InstanceID{one}, []string{roll.TagOrder}); err != nil || e.tags[string(one)][roll.TagOrder] != "" {
		t.Errorf("%v, tags %v", err, e.tags)
	}
}

func TestAFailureIsASentenceThatNamesCallAndCaller(t *testing.T) {
	e, m := setUp()
	e.err = &smithy.OperationError{ServiceID: "EC2", OperationName: "CreateTags", Err: &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation. Encoded authorization failure message: AAAA"}}
	err := m.Tag(t.Context(), []roll.InstanceID{one}, map[string]string{roll.TagOrder: "0011"})
	if want := "ec2:CreateTags was denied to arn:aws:sts::111122223333:assumed-role/inspect/demo: allow ec2:CreateTags for that role"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	e.err = errors.New("unexpected EOF")
	if err = m.Untag(t.Context(), []roll.InstanceID{one}, []string{roll.TagOrder}); err == nil || !strings.HasPrefix(err.Error(), "ec2:DeleteTags failed: ") {
		t.Errorf("got %v", err)
	}
}

var _ ec2API = (*ec2.Client)(nil)
