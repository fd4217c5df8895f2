package dynamo

import (
	"slices"
	"testing"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/must"
)

// The table has no index of its clusters. A search for an instance covers the clusters
// whose size a check has written.
func TestTheClustersOfARegion(t *testing.T) {
	tb := newTable(t)
	l := ledger.NewDynamo(tb.client, tb.name)
	for _, name := range []string{"shop", "demo"} {
		must.Succeed(t, l.PutSize(ctx, "eu-west-1", name, 3))
	}
	must.Succeed(t, l.PutSize(ctx, "us-east-1", "demo", 3))
	got, err := l.Clusters(ctx, "111122223333", "eu-west-1")
	want := []roll.ClusterID{{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, {Account: "111122223333", Region: "eu-west-1", Name: "shop"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// A deployment remembers whether it ever read a policy, by the name of the parameter.
func TestThePolicyThatWasSeen(t *testing.T) {
	tb := newTable(t)
	l := ledger.NewDynamo(tb.client, tb.name)
	must.Succeed(t, l.SeePolicy(ctx, "/other/policy"))
	if seen, err := l.PolicySeen(ctx, "/rollcall/policy"); seen || err != nil {
		t.Errorf("before it was read: %v, %v", seen, err)
	}
	for range 2 {
		must.Succeed(t, l.SeePolicy(ctx, "/rollcall/policy"))
	}
	if seen, err := l.PolicySeen(ctx, "/rollcall/policy"); !seen || err != nil {
		t.Errorf("after it was read: %v, %v", seen, err)
	}
}
