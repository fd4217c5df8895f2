package ledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// policyPartition is the partition key of the policy parameters that were read.
const policyPartition = "policy"

// PolicySeen reports whether a parameter has ever been read.
func (d *Dynamo) PolicySeen(ctx context.Context, parameter string) (bool, error) {
	out, err := d.api.Query(ctx, &dynamodb.QueryInput{
		TableName:                 &d.table,
		KeyConditionExpression:    aws.String("pk = :pk AND sk = :sk"),
		ExpressionAttributeValues: item{":pk": text(policyPartition), ":sk": text(parameter)},
		ConsistentRead:            aws.Bool(true),
	})
	if err != nil {
		return false, fmt.Errorf("look in table %s whether there was a policy before: %w", d.table, err)
	}
	return len(out.Items) > 0, nil
}

// SeePolicy records that a parameter was read.
func (d *Dynamo) SeePolicy(ctx context.Context, parameter string) error {
	_, err := d.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &d.table,
		Key:                       key(policyPartition, parameter),
		UpdateExpression:          aws.String("SET seen = :yes"),
		ExpressionAttributeValues: item{":yes": &types.AttributeValueMemberBOOL{Value: true}},
	})
	if err != nil {
		return fmt.Errorf("record in table %s that there is a policy: %w", d.table, err)
	}
	return nil
}
