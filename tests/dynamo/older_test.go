package dynamo

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/ledger/ledgertest"
	"rollcall/shared/roll"
)

// older are the items as the version before checked, missing, flips, pressure, memory and
// trouble wrote them.
func older() []map[string]types.AttributeValue {
	const at, earlier = "2026-03-10T12:00:00Z", "2026-03-10T11:00:00Z"
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	object := func(m map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: m}
	}
	items := map[string]map[string]types.AttributeValue{
		"finding#i-00000001#Unknown": {
			"instance": text("i-00000001"), "kind": text("Unknown"), "node": text("n"), "group": text("asg/w"), "stage": text("overdue"),
			"firstSeen": text(at), "opened": text(at), "since": text(earlier), "began": text(earlier),
		},
		"notready#i-00000001": {"instance": text("i-00000001"), "since": text(earlier), "status": text("Unknown"), "transition": text(earlier)},
		"notice#asg/w#Unknown": {
			"group": text("asg/w"), "kind": text("Unknown"), "sentAt": text(at), "parts": number("0"), "stamp": text("0123456789abcdef"),
			"told": &types.AttributeValueMemberL{Value: []types.AttributeValue{object(map[string]types.AttributeValue{
				"said": text("overdue"), "instances": &types.AttributeValueMemberSS{Value: []string{"i-00000001"}},
			})}},
		},
		"action#2026-03-10T12:00:00.000000000Z#a#1": {
			"id": text("a"), "do": text("terminate"), "instance": text("i-00000001"), "node": text("n"), "group": text("asg/w"), "kind": text("Unknown"),
			"at": text(at), "turn": number("1"), "expires": number("1775736000"),
			"outcome": object(map[string]types.AttributeValue{"result": text("done"), "at": text(at), "detail": text("asked")}),
		},
		"budget": {"version": number("1"), "last": text("action#2026-03-10T12:00:00.000000000Z#a#1"), "lastAt": text(at)},
	}
	var out []map[string]types.AttributeValue
	for sk, it := range items {
		it = maps.Clone(it)
		it["pk"], it["sk"] = text("cluster#"+cluster.String()), text(sk)
		out = append(out, it)
	}
	return out
}

func TestItemsOfAnEarlierVersionAreRead(t *testing.T) {
	tb := newTable(t)
	for _, it := range older() {
		tb.put(it)
	}
	l, _ := tb.open()
	earlier := t0.Add(-time.Hour)
	f := ledger.Finding{Instance: "i-00000001", Kind: roll.Unknown, Node: "n", Group: "asg/w", Stage: roll.Overdue, FirstSeen: t0, Opened: t0, Since: earlier, Began: earlier}
	var want ledger.State
	want.Apply(ledger.Changes{
		PutFindings: []ledger.Finding{f},
		PutNotReady: map[roll.InstanceID]ledger.NotReady{"i-00000001": {Since: earlier, Status: roll.ConditionUnknown, Transition: earlier}},
		PutNotices:  map[ledger.NoticeKey]ledger.Notice{notice: {SentAt: t0, Members: map[roll.InstanceID]string{"i-00000001": "overdue"}}},
	})
	want.Actions = []ledger.Action{{ID: "a", Do: "terminate", Instance: "i-00000001", Node: "n", Group: "asg/w", Kind: roll.Unknown, At: t0,
		Outcome: &ledger.Outcome{Result: ledger.Done, At: t0, Detail: "asked"}}}
	if diff := cmp.Diff(want, read(t, l)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}

	// What is written now stands beside it, and acts go on in their order.
	f.Condition = "KernelReady"
	changes := ledgertest.Changes()
	changes.PutFindings = []ledger.Finding{f}
	must(t, l.Record(ctx, cluster, changes))
	want.Apply(changes)
	next := ledgertest.Intent("b", "i-00000002", t0)
	next.Free = true
	must(t, l.Begin(ctx, cluster, next, ledger.Budget{}))
	want.Actions = append(want.Actions, next)
	if diff := cmp.Diff(want, read(t, l)); diff != "" {
		t.Errorf("after writes (-want +got):\n%s", diff)
	}
}
