package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

// Begin implements Ledger. After any error other than its four refusals, it is unknown
// whether the intent was recorded. Then nothing may be done, and a later check settles the
// intent.
func (d *Dynamo) Begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	return d.retry(ctx, func() error { return d.begin(ctx, cluster, intent, budget) })
}

// begin reads, decides, and writes only if no other act began since it read.
func (d *Dynamo) begin(ctx context.Context, cluster roll.ClusterID, intent Action, budget Budget) error {
	// Read the budget item first: an act that begins after this changes its version.
	turn, err := d.turn(ctx, cluster)
	if err != nil {
		return err
	}
	acts, err := d.acts(ctx, cluster)
	if err != nil {
		return err
	}
	if err := turn.follows(acts, intent.At); err != nil {
		return fmt.Errorf("read acts of %s in table %s: %w", cluster, d.table, err)
	}
	s := State{Actions: actionsOf(acts)}
	if err := s.begin(intent, budget); err != nil {
		return err
	}
	pk, next := partition(cluster), turn.Version+1
	if len(acts) > 0 { // the budget item may have been deleted by hand
		next = max(next, acts[len(acts)-1].Turn+1)
	}
	intent.Outcome = nil
	act := actionItem{Action: intent, Turn: next}
	begun, err := encode(pk, act.sortKey(), part{"", act})
	if err != nil {
		return err
	}
	raised, err := encode(pk, kindBudget, part{"", budgetItem{Version: next, Last: act.sortKey(), LastAt: intent.At}})
	if err != nil {
		return err
	}
	put, bump := d.put(begun), d.put(raised)
	put.Put.ConditionExpression = aws.String("attribute_not_exists(pk)")
	bump.Put.ConditionExpression = aws.String("attribute_not_exists(pk)")
	if turn.Version > 0 {
		bump.Put.ConditionExpression = aws.String("#version = :read")
		bump.Put.ExpressionAttributeNames = map[string]string{"#version": "version"}
		bump.Put.ExpressionAttributeValues = item{":read": number(turn.Version)}
	}
	err = d.transact(ctx, unit{put, bump})
	if awserr.IsConditionFailed(err) {
		err = fmt.Errorf("%w: %w", errMoved, err)
	}
	if err != nil {
		return fmt.Errorf("begin %s of %s: %w", intent.Do, intent.Instance, err)
	}
	return nil
}

// turn returns the budget item, the zero value before the first act.
func (d *Dynamo) turn(ctx context.Context, cluster roll.ClusterID) (budgetItem, error) {
	out, err := d.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &d.table, Key: key(partition(cluster), kindBudget), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return budgetItem{}, fmt.Errorf("read budget of %s in table %s: %w", cluster, d.table, err)
	}
	if len(out.Item) == 0 {
		return budgetItem{}, nil
	}
	b, err := itemOf[budgetItem](out.Item, "version last lastAt")
	if err != nil {
		return b, fmt.Errorf("read budget of %s in table %s: %w", cluster, d.table, err)
	}
	return b, nil
}

// follows returns an error unless the act that wrote this version is among the acts that
// were read. During the commit of a transaction, a Query may see one of its items without
// the other; a decision without the last act could permit two acts. The last act is enough,
// since its own Begin saw the one before. An old act may have expired.
func (b budgetItem) follows(acts []actionItem, now time.Time) error {
	if b.Version == 0 || now.Sub(b.LastAt) >= ActionRetention {
		return nil
	}
	if slices.ContainsFunc(acts, func(a actionItem) bool { return a.sortKey() == b.Last }) {
		return nil
	}
	return fmt.Errorf("the last act, %s, is missing; if somebody deleted it, delete the item %s too: %w", b.Last, kindBudget, errMoved)
}

// acts returns the acts of a cluster in the order of their Begin.
func (d *Dynamo) acts(ctx context.Context, cluster roll.ClusterID) ([]actionItem, error) {
	items, err := d.query(ctx, cluster, kindAction+"#")
	if err != nil {
		return nil, err
	}
	var out []actionItem
	for _, it := range items {
		a, err := actionOf(it)
		if err != nil {
			return nil, fmt.Errorf("read acts of %s in table %s: %w", cluster, d.table, err)
		}
		out = append(out, a)
	}
	slices.SortFunc(out, byTurn)
	return out, nil
}

// Finish implements Ledger.
func (d *Dynamo) Finish(ctx context.Context, cluster roll.ClusterID, actionID string, outcome Outcome) error {
	return d.retry(ctx, func() error {
		acts, err := d.acts(ctx, cluster)
		if err != nil {
			return err
		}
		for _, a := range slices.Backward(acts) {
			if a.ID == actionID && a.Outcome == nil {
				return d.finish(ctx, cluster, a, outcome)
			}
			if a.ID == actionID {
				return nil // only the first outcome is recorded
			}
		}
		return fmt.Errorf("outcome of order %s: %w", actionID, ErrNotBegun)
	})
}

// finish writes the outcome of an act, if it still has none.
func (d *Dynamo) finish(ctx context.Context, cluster roll.ClusterID, a actionItem, outcome Outcome) error {
	pk := partition(cluster)
	sk := a.sortKey()
	value, err := encode(pk, sk, part{"outcome", outcome})
	if err != nil {
		return err
	}
	_, err = d.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: key(pk, sk),
		UpdateExpression:         aws.String("SET #outcome = :outcome, #expires = :expires"),
		ConditionExpression:      aws.String("attribute_exists(pk) AND attribute_not_exists(#outcome)"),
		ExpressionAttributeNames: map[string]string{"#outcome": "outcome", "#expires": attrExpires},
		ExpressionAttributeValues: item{
			":outcome": value["outcome"],
			":expires": number(expiry(a.Action, outcome)),
		},
	})
	if awserr.IsConditionFailed(err) {
		err = fmt.Errorf("%w: %w", errMoved, err)
	}
	if err != nil {
		return fmt.Errorf("record outcome of order %s in table %s: %w", a.ID, d.table, err)
	}
	return nil
}

// expiry returns when DynamoDB may delete an act: ActionRetention after the intent or the
// outcome, whichever is later. README.md explains why little else expires.
func expiry(a Action, o Outcome) int64 {
	last := a.At
	if o.At.After(last) {
		last = o.At
	}
	return last.Add(ActionRetention).Unix()
}
