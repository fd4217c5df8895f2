package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/ledgertest"
	"rollcall/tests/harness/must"
)

var (
	ctx       = context.Background()
	cluster   = ledgertest.Cluster
	t0        = ledgertest.T0
	errKilled = errors.New("the function was killed here")
	notice    = ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
)

func read(t *testing.T, l *ledger.Dynamo) ledger.State {
	t.Helper()
	s, err := l.Read(ctx, cluster)
	must.Succeed(t, err)
	return s
}

// storm is a check with many changes: it turns remediate on, most findings change their
// kind, an instance is found again, and the whole cluster has a problem.
func storm() (before, changes ledger.Changes) {
	before = ledgertest.Findings(150)
	before.Put.Checked = t0.Add(-time.Hour)
	before.Put.Missing = map[roll.InstanceID]time.Time{ledgertest.InstanceID(0): t0.Add(-time.Hour)}
	changes = ledger.Changes{
		Put: ledger.State{
			RemediateSince:  map[roll.Group]time.Time{"asg/w": t0},
			GroupsWithNodes: map[roll.Origin]time.Time{"asg/w": t0, "lt-1": t0},
			Findings:        map[roll.FindingKey]ledger.Finding{},
			NotReady:        map[roll.InstanceID]ledger.NotReady{},
			Rests:           map[roll.InstanceID]ledger.Rest{ledgertest.InstanceID(900): {}},
			Notices:         map[ledger.NoticeKey]ledger.Notice{notice: ledgertest.Notice(20_000)},
			Checked:         t0,
			First:           t0.Add(-time.Hour),
			Groups:          map[roll.Group]ledger.GroupMemory{"asg/w": {Good: t0}},
			Trouble:         &ledger.Trouble{Reason: "UnhealthyShare", Since: t0, Last: t0},
		},
		Drop: ledger.Drops{
			Rests:   []roll.InstanceID{ledgertest.InstanceID(901)},
			Missing: []roll.InstanceID{ledgertest.InstanceID(0)},
		},
	}
	for _, f := range before.Put.Findings {
		changes.Drop.Findings = append(changes.Drop.Findings, f.Key())
		f.Kind = roll.NotReady
		changes.Put.Findings[f.Key()] = f
		changes.Put.NotReady[f.Instance] = ledger.NotReady{Since: t0, Status: roll.ConditionFalse, Transition: t0}
	}
	return before, changes
}

func TestAFunctionKilledBetweenTheWritesOfARecordLosesNothing(t *testing.T) {
	before, changes := storm()
	var want ledger.State
	want.Apply(before)
	want.Apply(changes)
	for survived := 0; ; survived++ {
		tb := newTable(t)
		l, w := tb.open()
		must.Succeed(t, l.Record(ctx, cluster, before))
		first := w.count("TransactWriteItems")
		w.before = func(op string, n int) error {
			if op == "TransactWriteItems" && n > first+survived {
				return errKilled
			}
			return nil
		}
		err := l.Record(ctx, cluster, changes)
		if err == nil {
			if survived < 4 {
				t.Errorf("%d writes, want some more to be killed between", survived)
			}
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		again, _ := tb.open()
		s := read(t, again)
		anew := 0
		for k, f := range s.Findings {
			if k.Kind != roll.NotReady {
				continue
			}
			anew++
			if s.RemediateSince[f.Group].IsZero() || s.NotReady[f.Instance].Since.IsZero() || s.Trouble == nil || len(s.Missing) > 0 {
				t.Errorf("after %d writes: finding %v is there without what holds it back", survived, k)
			}
		}
		if s.Checked.Equal(t0) && anew < len(changes.Put.Findings) {
			t.Errorf("after %d writes: the check counts as done, with %d of %d findings", survived, anew, len(changes.Put.Findings))
		}
		if len(s.Groups) > 0 && (len(s.Findings) > anew || !s.Checked.Equal(t0)) {
			t.Errorf("after %d writes: the group's good node counts before the rest is there", survived)
		}
		for i := range 150 {
			id := ledgertest.InstanceID(i)
			_, old := s.Findings[roll.FindingKey{Instance: id, Kind: roll.Unknown}]
			_, anew := s.Findings[roll.FindingKey{Instance: id, Kind: roll.NotReady}]
			if !old && !anew {
				t.Errorf("after %d writes: %s is in no finding", survived, id)
			}
		}
		if n := len(s.Notices[notice].Members); n != 0 && n != 20_000 {
			t.Errorf("after %d writes: %d members of a notice of 20,000", survived, n)
		}
		must.Succeed(t, again.Record(ctx, cluster, changes))
		if diff := cmp.Diff(want, read(t, again)); diff != "" {
			t.Errorf("after %d writes and another try (-want +got):\n%.2000s", survived, diff)
		}
	}
}

func TestWritesOnlyWhatChanges(t *testing.T) {
	l, w := newTable(t).open()
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Findings(10)))
	w.writes = nil
	must.Succeed(t, l.Record(ctx, cluster, ledger.Changes{
		Put: ledgertest.Findings(1).Put, Drop: ledger.Drops{Findings: []roll.FindingKey{{Instance: ledgertest.InstanceID(5), Kind: roll.Unknown}}},
	}))
	if len(w.writes) != 2 || w.writes[0].Put == nil || w.writes[1].Delete == nil {
		t.Errorf("wrote %+v, want one put and one deletion", w.writes)
	}
	must.Succeed(t, l.Record(ctx, cluster, ledger.Changes{}))
	if len(w.writes) != 2 || w.count("Query") != 0 {
		t.Errorf("no changes: %d writes, %d queries", len(w.writes), w.count("Query"))
	}
}

func TestAWriteFitsATransaction(t *testing.T) {
	l, w := newTable(t).open()
	var sizes []int
	w.before = func(op string, _ int) error {
		if op == "TransactWriteItems" {
			sizes = append(sizes, len(w.writes))
		}
		return nil
	}
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Findings(250)))
	if diff := cmp.Diff([]int{0, 99, 198}, sizes); diff != "" || len(w.writes) != 250 {
		t.Errorf("%d items written, beginnings of writes (-want +got):\n%s", len(w.writes), diff)
	}
}

func TestANoticeTooLargeForOneWriteIsRefusedClearly(t *testing.T) {
	l, w := newTable(t).open()
	err := l.Record(ctx, cluster, ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{notice: ledgertest.Notice(200_000)}}})
	if err == nil || !strings.Contains(err.Error(), "record notice#asg/w#Unknown has ") {
		t.Errorf("got %v, want an error that names the notice and its size", err)
	}
	if len(w.writes) != 0 {
		t.Errorf("%d items were written", len(w.writes))
	}
}

func TestALargeNoticeLeavesNothingBehind(t *testing.T) {
	tb := newTable(t)
	l, _ := tb.open()
	for _, step := range []struct{ members, items int }{{100_000, 7}, {20_000, 2}, {3, 1}, {20_000, 2}, {0, 0}} {
		n, want := step.members, step.items
		changes := ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{notice: ledgertest.Notice(n)}}}
		if n == 0 {
			changes = ledger.Changes{Drop: ledger.Drops{Notices: []ledger.NoticeKey{notice}}}
		}
		must.Succeed(t, l.Record(ctx, cluster, changes))
		if keys := slices.Sorted(maps.Keys(tb.items())); len(keys) != want {
			t.Errorf("notice of %d instances: items %q, want %d", n, keys, want)
		}
		if got := len(read(t, l).Notices[notice].Members); got != n {
			t.Errorf("notice of %d instances: %d are remembered", n, got)
		}
	}
}

func TestANoticeThatIsReplacedWhileItIsReadIsReadAgain(t *testing.T) {
	tb := newTable(t)
	writer, _ := tb.open()
	old, anew := ledgertest.Notice(16_000), ledgertest.Notice(32_000)
	put := func(n ledger.Notice) {
		must.Succeed(t, writer.Record(ctx, cluster, ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{notice: n}}}))
	}
	put(old)
	l, w := tb.open()
	w.limit = 1
	w.after = func(op string, n int) error {
		if op == "Query" && n == 1 { // the head has been read, its parts have not
			put(anew)
		}
		return nil
	}
	if diff := cmp.Diff(anew, read(t, l).Notices[notice]); diff != "" {
		t.Errorf("notice (-want +got):\n%.2000s", diff)
	}
	if w.pauses.Load() != 1 {
		t.Errorf("%d pauses, want 1", w.pauses.Load())
	}
	for sk, it := range tb.items() {
		if strings.HasPrefix(sk, "told#") {
			tb.remove(it)
		}
	}
	if _, err := l.Read(ctx, cluster); err == nil || !strings.Contains(err.Error(), "told#asg/w#Unknown#001") {
		t.Errorf("a part is missing for good: %v, want an error that names it", err)
	}
}

func TestReadsAllPages(t *testing.T) {
	tb := newTable(t)
	l, w := tb.open()
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Changes()))
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Findings(40)))
	for i := range 10 {
		must.Succeed(t, l.Begin(ctx, cluster, ledgertest.Intent(fmt.Sprint(i), ledgertest.InstanceID(i), t0), ledgertest.Wide))
	}
	want := read(t, l)
	w.limit = 3
	queries := w.count("Query")
	if diff := cmp.Diff(want, read(t, l)); diff != "" {
		t.Errorf("by small pages (-want +got):\n%s", diff)
	}
	if n := w.count("Query") - queries; n < 15 {
		t.Errorf("%d queries, want many pages", n)
	}
	if err := l.Begin(ctx, cluster, ledgertest.Intent("x", "i-x", t0), ledger.Budget{Max: 10}); !errors.Is(err, ledger.ErrBudgetSpent) {
		t.Errorf("begin by small pages: %v, want ErrBudgetSpent", err)
	}
	must.Succeed(t, l.Finish(ctx, cluster, "9", ledger.Outcome{Result: ledger.Done, At: t0}))
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func TestItemsOfALaterVersionAreIgnored(t *testing.T) {
	tb := newTable(t)
	l, _ := tb.open()
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Changes()))
	want := read(t, l)
	for _, it := range tb.items() {
		it["invention"] = text("of a later version")
		it["value"] = text(strings.Replace(valueOf(it), `{"key":`, `{"invention":1,"key":`, 1))
		tb.put(it)
	}
	pk := text("cluster#" + cluster.String())
	tb.put(map[string]types.AttributeValue{"pk": pk, "sk": text("drain#i-00000001"), "instance": text("i-00000001")})
	tb.put(map[string]types.AttributeValue{"pk": pk, "sk": text("findings"), "n": text("1")})
	if diff := cmp.Diff(want, read(t, l)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func valueOf(it map[string]types.AttributeValue) string {
	if s, ok := it["value"].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func TestAMalformedItemIsAnErrorThatNamesIt(t *testing.T) {
	tb := newTable(t)
	l, _ := tb.open()
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Changes()))
	must.Succeed(t, l.RaiseNotices(ctx, cluster, 0))
	must.Succeed(t, l.Begin(ctx, cluster, intent("a", 1), ledgertest.Wide))
	for sk, good := range tb.items() {
		for what, bad := range map[string]types.AttributeValue{
			"missing": nil, "bytes": &types.AttributeValueMemberB{Value: []byte("{}")}, "no JSON": text("nonsense"), "no value": text("{}"), "another key": text(`{"key":{},"value":{}}`),
		} {
			if sk == "notices" {
				continue // its version is all that it has
			}
			it := maps.Clone(good)
			if it["value"] = bad; bad == nil {
				delete(it, "value")
			}
			tb.put(it)
			if _, err := l.Read(ctx, cluster); sk != "budget" && (err == nil || !strings.Contains(err.Error(), sk)) {
				t.Errorf("%s: value %s: read says %v, want an error that names the item", sk, what, err)
			}
			if err := l.Begin(ctx, cluster, intent("b", 1), ledger.Budget{}); (sk == "budget" || strings.HasPrefix(sk, "action#")) && (err == nil || !strings.Contains(err.Error(), sk)) {
				t.Errorf("%s: value %s: begin says %v, want an error that names the item", sk, what, err)
			}
		}
		tb.put(good)
	}
	read(t, l)
	for _, sk := range []string{"budget", "notices"} {
		it := tb.items()[sk]
		delete(it, "version")
		tb.put(it)
	}
	if err := l.Begin(ctx, cluster, intent("b", 2), ledgertest.Wide); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Errorf("begin without the budget's version: %v", err)
	}
	if _, err := l.Read(ctx, cluster); err == nil || !strings.Contains(err.Error(), "record notices is malformed") {
		t.Errorf("read without the notices' version: %v", err)
	}
}

func TestOnlySettledActsExpire(t *testing.T) {
	tb := newTable(t)
	l, _ := tb.open()
	must.Succeed(t, l.Record(ctx, cluster, ledgertest.Changes()))
	must.Succeed(t, l.Record(ctx, cluster, ledger.Changes{Put: ledger.State{Notices: map[ledger.NoticeKey]ledger.Notice{{Group: "asg/b", Kind: roll.Unknown}: ledgertest.Notice(20_000)}}}))
	for i, id := range []string{"open", "quick", "slow"} {
		must.Succeed(t, l.Begin(ctx, cluster, ledgertest.Intent(id, ledgertest.InstanceID(i), t0), ledgertest.Wide))
	}
	late := t0.Add(40 * 24 * time.Hour)
	must.Succeed(t, l.Finish(ctx, cluster, "quick", ledger.Outcome{Result: ledger.Done, At: t0}))
	must.Succeed(t, l.Finish(ctx, cluster, "slow", ledger.Outcome{Result: ledger.Failed, At: late}))
	got := map[string]string{}
	kinds := map[string]bool{}
	for sk, it := range tb.items() {
		kind, _, _ := strings.Cut(sk, "#")
		kinds[kind] = true
		if e, ok := it["expires"]; ok {
			n, isNumber := e.(*types.AttributeValueMemberN)
			if !isNumber {
				t.Fatalf("%s expires %v: DynamoDB heeds numbers only", sk, e)
			}
			got[strings.Split(sk, "#")[2]] = n.Value
		}
	}
	want := map[string]string{
		"quick": fmt.Sprint(t0.Add(ledger.ActionRetention).Unix()),
		"slow":  fmt.Sprint(late.Add(ledger.ActionRetention).Unix()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what expires (-want +got):\n%s", diff)
	}
	if len(kinds) != 17 {
		t.Errorf("%d kinds of items, want all 17: %v", len(kinds), kinds)
	}
}

// The table may be emulated, but its TTL attribute is the one that the ledger writes.
func TestTheTableTakesTheTTLAttribute(t *testing.T) {
	tb := newTable(t)
	_, err := tb.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &tb.name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	must.Succeed(t, err)
}
