package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/shared/sim/dynamo"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/ledgertest"
)

// asking calls DynamoDB within one invocation.
func asking(a *account, body func(dynamoAPI)) {
	v := a.environment(inspect)
	v.during(2*time.Minute, 0, false, func() { body(dynamoAPI{v}) })
}

// putting returns a transaction that puts items under sort keys, each with a text of that size.
func putting(size int, sks ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, sk := range sks {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{Item: item{"pk": text("p"), "sk": text(sk), "t": text(strings.Repeat("x", size))}}})
	}
	return in
}

// writing writes one item, under a condition if it is not "".
func writing(t *testing.T, d dynamoAPI, sk, value, condition string) error {
	put := &types.Put{Item: item{"pk": text("p"), "sk": text(sk), "t": text(value)}}
	if condition != "" {
		put.ConditionExpression = &condition
	}
	_, err := d.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: put}}})
	return err
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func itemNow(t *testing.T, d dynamoAPI, sk string, consistent bool) string {
	out, err := d.Query(t.Context(), &dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p AND sk = :s"), ExpressionAttributeValues: item{":p": text("p"), ":s": text(sk)}, ConsistentRead: &consistent})
	expect.Succeed(t, err)
	if err != nil || len(out.Items) == 0 {
		return ""
	}
	return dynamo.TextOf(out.Items[0]["t"])
}

// queried returns what a Query of everything shows, and its number of pages.
func queried(t *testing.T, d dynamoAPI, condition string, values item) (sks []string, pages int) {
	in := &dynamodb.QueryInput{KeyConditionExpression: &condition, ExpressionAttributeValues: values, ConsistentRead: aws.Bool(true)}
	for {
		out, err := d.Query(t.Context(), in)
		if err != nil {
			t.Error(err)
			return nil, 0
		}
		for _, it := range out.Items {
			sks = append(sks, dynamo.TextOf(it["sk"]))
		}
		pages++
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return sks, pages
		}
	}
}

func numbered(n int) (sks []string) {
	for i := range n {
		sks = append(sks, fmt.Sprintf("k#%03d", i))
	}
	return sks
}

func TestWhatATransactionTakes(t *testing.T) {
	twice := putting(1, "a", "a")
	keyless := putting(1, "")
	unused := putting(1, "a")
	unused.TransactItems[0].Put.ExpressionAttributeValues = item{":a": text("a")}
	const itemLimit = 400 << 10
	for _, tt := range []struct {
		name string
		in   *dynamodb.TransactWriteItemsInput
		ok   bool
	}{
		{"100 items", putting(1, numbered(100)...), true},
		{"101 items", putting(1, numbered(101)...), false},
		{"nothing", putting(1), false},
		{"400 KB", putting(itemLimit-len("pkpsk")-len("a")-len("t"), "a"), true},
		{"a byte more", putting(itemLimit-len("pkpsk")-len("a")-len("t")+1, "a"), false},
		{"4 MB", putting(395_000, numbered(10)...), true},
		{"more than 4 MB", putting(395_000, numbered(11)...), false},
		{"one item twice", twice, false},
		{"no key", keyless, false},
		{"a value that is not used", unused, false},
	} {
		a := bare(t, false)
		asking(a, func(d dynamoAPI) {
			_, err := d.TransactWriteItems(t.Context(), tt.in)
			got := err == nil
			expect.That(t, got == tt.ok && !awserr.IsConditionFailed(err) && !awserr.IsTransactionConflict(err), "%s: %v", tt.name, err)
			want := len(tt.in.TransactItems)
			if !tt.ok {
				want = 0
			}
			sks, _ := queried(t, d, "pk = :p", item{":p": text("p")})
			expect.That(t, len(sks) == want, "%s: %d items are there", tt.name, len(sks))
		})
	}
}

func TestATransactionIsMadeWhollyOrNotAtAll(t *testing.T) {
	a := bare(t, false)
	asking(a, func(d dynamoAPI) {
		in := putting(1, "a", "b", "c")
		in.TransactItems[1].Put.ConditionExpression = aws.String("pk = :p")
		in.TransactItems[1].Put.ExpressionAttributeValues = item{":p": text("p")}
		_, err := d.TransactWriteItems(t.Context(), in)
		var cancelled *types.TransactionCanceledException
		expect.That(t, awserr.IsConditionFailed(err) && errors.As(err, &cancelled) && *cancelled.CancellationReasons[0].Code == "None" && *cancelled.CancellationReasons[1].Code == "ConditionalCheckFailed", "%v", err)
		if sks, _ := queried(t, d, "pk = :p", item{":p": text("p")}); len(sks) != 0 {
			t.Errorf("%q are there", sks)
		}
		in.TransactItems[1].Put.ConditionExpression, in.TransactItems[1].Put.ExpressionAttributeValues = nil, nil
		in.ClientRequestToken = aws.String("one")
		for range 2 { // the second one with the same token changes nothing
			if _, err := d.TransactWriteItems(t.Context(), in); err != nil {
				t.Error(err)
			}
			expect.Equal(t, itemNow(t, d, "b", true), "x", "b is")
			expect.Succeed(t, writing(t, d, "b", "x", ""))
		}
		in = &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Delete: &types.Delete{Key: item{"pk": text("p"), "sk": text("a")}}},
			{Put: &types.Put{Item: item{"pk": text("p"), "sk": text("c"), "t": text("y")}}},
		}}
		if _, err := d.TransactWriteItems(t.Context(), in); err != nil {
			t.Error(err)
		}
		sks, _ := queried(t, d, "pk = :p", item{":p": text("p")})
		expect.That(t, len(sks) == 2 && itemNow(t, d, "c", true) == "y", "%q are there", sks)
	})
}

func TestAnEventuallyConsistentReadIsOldForASecondAtMost(t *testing.T) {
	a := bare(t, false)
	old := 0
	asking(a, func(d dynamoAPI) {
		for n := range 20 {
			value := fmt.Sprint(n)
			expect.Succeed(t, writing(t, d, "a", value, ""))
			expect.Equal(t, itemNow(t, d, "a", true), value, "a strongly consistent read shows")
			if itemNow(t, d, "a", false) != value {
				old++
			}
			d.v.inv.wait(dynamo.StaleFor)
			expect.Equal(t, itemNow(t, d, "a", false), value, "after a second a read shows")
		}
	})
	expect.That(t, old >= 5, "%d of 20 reads right after a write are old", old)
}

func TestAQueryHasPages(t *testing.T) {
	a := bare(t, false)
	asking(a, func(d dynamoAPI) {
		for _, sks := range [][]string{numbered(8), {"j", "k", "k#", "l"}} {
			_, err := d.TransactWriteItems(t.Context(), putting(300_000, sks...))
			expect.Succeed(t, err)
		}
		for condition, want := range map[string][2]int{"pk = :p": {12, 4}, "pk = :p AND begins_with(sk, :k)": {9, 3}} {
			values := item{":p": text("p")}
			if strings.Contains(condition, ":k") {
				values[":k"] = text("k#")
			}
			sks, pages := queried(t, d, condition, values)
			expect.That(t, len(sks) == want[0] && pages == want[1], "%s: %d items on %d pages, want %v", condition, len(sks), pages, want)
		}
	})
}

func TestATableThatIsNotThere(t *testing.T) {
	a := bare(t, false)
	asking(a, func(d dynamoAPI) {
		expect.Succeed(t, writing(t, d, "a", "x", ""))
		d.table().Drop()
		_, read := d.Query(t.Context(), &dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: item{":p": text("p")}})
		_, transacted := d.TransactWriteItems(t.Context(), putting(1, "a"))
		for _, err := range []error{read, transacted} {
			expect.That(t, awserr.IsNotFound(err), "%v", err)
		}
		d.table().Create()
		expect.Equal(t, itemNow(t, d, "a", true), "", "the new table has")
	})
}

// The SDK retries a transaction whose answer is lost, with its token.
func TestAWriteThatIsLostAndTriedAgain(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(40) {
		a := bare(t, false)
		a.d = newDice(seed)
		a.weather.spells = []spell{{from: dawn, to: dawn.Add(time.Hour), what: FaultLostAnswers, share: 1}}
		asking(a, func(d dynamoAPI) {
			err := writing(t, d, "b", "x", "attribute_not_exists(pk)")
			met[fmt.Sprint("a transaction: made ", err == nil, ", timeout ", awserr.IsTimeout(err))]++
			sks, _ := queried(t, d, "pk = :p", item{":p": text("p")})
			expect.That(t, len(sks) == 1, "seed %d: %q are there", seed, sks)
			expect.That(t, d.v.inv.failed, "seed %d: nobody knows that an answer was lost", seed)
		})
	}
	for _, want := range []string{
		"a transaction: made true, timeout false", "a transaction: made false, timeout true",
	} {
		expect.That(t, met[want] >= 5, "%s: %d of 40", want, met[want])
	}
	expect.That(t, len(met) == 2, "%v", met)
}

// Of two that begin an act at the same time, one succeeds. Without conditions both do.
func TestTwoIntentsAtOnce(t *testing.T) {
	begun := func(g Guards, seed uint64) (n, conflicts int) {
		a := bare(t, false)
		a.d, a.dep.guards = newDice(seed), g
		for i := range 2 {
			a.spawn(0, func(p *process) {
				v := a.environment(remediator)
				v.inv = &invocation{process: p, v: v, d: a.d.nth(i), name: "remediate#test"}
				err := a.dep.newLedger(v).Begin(context.Background(), ledgertest.Cluster, ledgertest.Intent("a", "i-00000001", ledgertest.T0), ledgertest.Wide)
				switch {
				case err == nil:
					n++
				case !errors.Is(err, ledger.ErrBegun):
					t.Errorf("seed %d: %v", seed, err)
				}
				conflicts += max(0, v.inv.calls-3)
			})
		}
		a.pass(time.Minute)
		return n, conflicts
	}
	both, met := 0, 0
	for seed := range uint64(30) {
		n, conflicts := begun(Guards{}, seed)
		expect.That(t, n == 1, "seed %d: %d begin it", seed, n)
		met += min(conflicts, 1)
		if n, _ := begun(Guards{Table: func(t Table) Table { return unconditional{t} }}, seed); n == 2 {
			both++
		}
	}
	expect.That(t, both >= 5 && met >= 10, "without conditions both begin it in %d of 30, and in %d one meets the other", both, met)
}

// Two deliveries write the same items concurrently. Both succeed, and the last write remains.
func TestTwoRecordsAtOnce(t *testing.T) {
	for seed := range uint64(10) {
		a := bare(t, false)
		a.d = newDice(seed)
		for i := range 2 {
			a.spawn(0, func(p *process) {
				v := a.environment(inspect)
				v.inv = &invocation{process: p, v: v, d: a.d.nth(i), name: "inspect#test"}
				err := a.dep.newLedger(v).Record(context.Background(), ledgertest.Cluster, ledgertest.Findings(250))
				expect.That(t, err == nil, "seed %d: %v", seed, err)
			})
		}
		a.pass(2 * time.Minute)
		n := len(a.dep.table.state(ledgertest.Cluster).Findings)
		expect.That(t, n == 250, "seed %d: %d findings", seed, n)
	}
}

// A record that is too large for one transaction is written in several, of 4 MB each.
func TestARecordOfManyMegabytes(t *testing.T) {
	a := bare(t, false)
	v := a.environment(inspect)
	notices := map[ledger.NoticeKey]ledger.Notice{}
	for i := range 6 {
		notices[ledger.NoticeKey{Group: roll.Group(fmt.Sprint("asg/", i)), Kind: roll.Unknown}] = ledgertest.Notice(50_000)
	}
	inv := v.within(0, false, func() {
		expect.Succeed(t, a.dep.newLedger(v).Record(t.Context(), ledgertest.Cluster, ledger.Changes{Put: ledger.State{Notices: notices}}))
	})
	got := a.dep.table.state(ledgertest.Cluster).Notices
	expect.That(t, len(got) == 6 && inv.calls >= 3, "%d notices in %d calls", len(got), inv.calls)
	for key, n := range got {
		expect.That(t, len(n.Members) == 50_000, "%v names %d", key, len(n.Members))
	}
}

// Of all invocations that read one version of the notices, one may report. What an invocation reads
// after it raised the version, another may read first.
func TestTheVersionOfTheNoticesIsTheOneReadBeforeItWasRaised(t *testing.T) {
	a := bare(t, false)
	v := a.environment(inspect)
	for range 3 {
		v.within(0, false, func() {
			l := a.dep.newLedger(v)
			s, err := l.Read(t.Context(), ledgertest.Cluster)
			if err == nil {
				err = l.RaiseNotices(t.Context(), ledgertest.Cluster, s.NoticesVersion)
			}
			if err == nil {
				_, err = l.Read(t.Context(), ledgertest.Cluster)
			}
			expect.Succeed(t, err)
			expect.That(t, v.inv.seen.notices == s.NoticesVersion, "the auditor takes %d for the version that was read, not %d", v.inv.seen.notices, s.NoticesVersion)
		})
	}
}
