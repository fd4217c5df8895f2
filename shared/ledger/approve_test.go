package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// manyClusters is a memory of several clusters.
type manyClusters struct {
	*Memory
	names []string
	err   error
}

func (m manyClusters) Clusters(_ context.Context, account, region string) ([]roll.ClusterID, error) {
	return roll.Map(m.names, func(name string) roll.ClusterID {
		return roll.ClusterID{Account: account, Region: region, Name: name}
	}), m.err
}

// reads is a store that notes which partitions are read whole, and cannot read the broken one.
type reads struct {
	store
	whole  []string
	broken string
}

func (r *reads) read(ctx context.Context, partition, prefix string) ([]record, error) {
	if partition == r.broken {
		return nil, errors.New("throttled")
	}
	if prefix == "" {
		r.whole = append(r.whole, partition)
	}
	return r.store.read(ctx, partition, prefix)
}

// A chat waits fifteen seconds for the approval, and an account may have hundreds of clusters.
func TestOnlyTheClusterThatAskedIsReadWhole(t *testing.T) {
	ctx := t.Context()
	m := manyClusters{NewMemory(), []string{"a", "b", "c"}, nil}
	r := &reads{store: m.store}
	m.store = r
	f := Finding{Instance: "i-0123456789abcdef0", Kind: roll.Unknown, Group: "asg/w", Stage: roll.Overdue, FirstSeen: noon, Since: noon, Began: noon}
	q := ApprovalRequest{Order: "0123456789abcdef", Instance: f.Instance, Group: f.Group, Kind: f.Kind, Acts: []string{"reboot"}, At: noon, Until: noon.Add(time.Hour)}
	last := roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "c"}
	must.Succeed(t, m.Record(ctx, last, Changes{Put: State{Findings: map[roll.FindingKey]Finding{f.Key(): f}, Questions: map[string]ApprovalRequest{q.Order: q}}}))

	r.broken = partition(roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "a"})
	c, got, err := ApproveAnywhere(ctx, m, "111122223333", "eu-west-1", q.Order, Approval{By: "somebody", How: WayChat, At: noon})
	expect.That(t, err == nil && c == last && got.Order == q.Order, "%s, %+v, %v: the memory of another cluster is unreadable", c, got, err)
	expect.That(t, len(r.whole) == 1 && r.whole[0] == partition(last), "read whole: %q", r.whole)
	again := func(order string) (roll.ClusterID, error) {
		c, _, err := ApproveAnywhere(ctx, m, "111122223333", "eu-west-1", order, Approval{By: "somebody", How: WayChat, At: noon})
		return c, err
	}
	if c, err := again(q.Order); c != last || !errors.Is(err, ErrApproved) {
		t.Errorf("%s, %v: it was approved", c, err)
	}
	const other = "fedcba9876543210"
	if _, err := again(other); errors.Is(err, ErrNotAsked) || err == nil || !strings.Contains(err.Error(), "throttled") {
		t.Errorf("%v: the unreadable memory may have the question", err)
	}
	r.broken = ""
	if _, err := again(other); !errors.Is(err, ErrNotAsked) {
		t.Errorf("%v: nobody asked", err)
	}
	m.err = errors.New("the clusters are not known")
	if _, err := again(q.Order); !errors.Is(err, m.err) {
		t.Errorf("%v, want %v", err, m.err)
	}
}
